"""Pairs of texts: how data sets of them are written, and their one reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from wordbias.columns import TableLike, picked
from wordbias.errors import WordbiasError
from wordbias.formats.source import Digest
from wordbias.formats.tables import SNIFF, Wanted
from wordbias.text_files import Source

INFERENCE, NEXT_SENTENCE = "inference", "next sentence"
RATED, PARTNERS, STEREOTYPES = "rated", "partners", "stereotypes"
UNDECIDED = "-"
"""Label of a pair without one."""
FIRST, SECOND, LABEL = "first", "second", "label"


@dataclass(frozen=True)
class Layout:
    """How a data set of pairs is written."""

    # `inference` (premise and hypothesis), `next sentence`, `rated` (texts that are more or less
    # similar), `partners` (texts that belong together) or `stereotypes` (a sentence that says more,
    # and one that says less of a stereotype)
    task: str
    # possible names of the columns of the texts and of the label or rating; none where pairs have
    # no label
    first: Sequence[str]
    second: Sequence[str]
    label: Sequence[str] = ()
    # for each label in the file, in small letters, that of the task; by default any is kept
    words: Mapping[str, str] = field(default_factory=dict)
    # possible names of further columns, by the name of each
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # names of the columns in the order of a file without a header, if it may have none
    unnamed: Sequence[str] = ()
    blank: bool = False  # allow empty texts

    @cached_property
    def wanted(self) -> Wanted:
        """Columns to be read: the label if there is one, the texts, and the others."""
        columns = {LABEL: self.label} if self.label else {}
        columns |= {FIRST: self.first, SECOND: self.second, **self.others}
        ragged = self.task == INFERENCE  # copies of SNLI leave out what annotators said
        return Wanted(columns, unnamed=self.unnamed, ragged=ragged, strip=True)


_INFERENCES = {word: word for word in ("neutral", "entailment", "contradiction", UNDECIDED)}
_TEXTS = (
    ("sentence1", "sentence_1", "sentence_A", "text1", "text_1", "query", "anchor", "question",
     "premise", "first", "s1"),
    ("sentence2", "sentence_2", "sentence_B", "text2", "text_2", "positive", "answer", "passage",
     "document", "hypothesis", "second", "s2"),
)  # fmt: skip
LAYOUTS = [
    Layout(INFERENCE, ("premise",), ("hypothesis",), ("label",), _INFERENCES,
           unnamed=("label", "premise", "hypothesis"), blank=True),
    # SNLI and MultiNLI
    Layout(INFERENCE, ("sentence1",), ("sentence2",), ("gold_label",), _INFERENCES, blank=True),
    # adversarial NLI (Nie et al. 2020)
    Layout(INFERENCE, ("context",), ("hypothesis",), ("label",), blank=True,
           words={**_INFERENCES, "n": "neutral", "e": "entailment", "c": "contradiction"}),
    Layout(NEXT_SENTENCE, ("first", "sentence1"), ("second", "sentence2"), ("label",),
           {word: word for word in ("is_next", "not_next")}, unnamed=("label", "first", "second")),
    # the STS benchmark, SICK, and what sentence-transformers are trained on
    Layout(RATED, *_TEXTS,
           ("score", "similarity", "similarity_score", "relatedness_score", "rating", "label")),
    Layout(PARTNERS, *_TEXTS),
    # CrowS-Pairs (Nangia et al. 2020)
    Layout(STEREOTYPES, ("sent_more",), ("sent_less",), ("stereo_antistereo",),
           {word: word for word in ("stereo", "antistereo")}, others={"bias_type": ("bias_type",)}),
]  # fmt: skip
"""Known layouts; of one task, the first whose columns are all there is taken."""


def layouts_of(*tasks: str) -> list[Layout]:
    """Return the layouts of some tasks."""
    return [layout for layout in LAYOUTS if layout.task in tasks]


def read_pairs(
    source: TableLike | Source,
    task: str,
    *,
    name: str = "pairs in memory",
    digest: Digest | None = None,
) -> Iterator[tuple[str, ...]]:
    """Yield the label of each pair, if it has one, the first text, the second, and the others."""
    layouts = layouts_of(task)
    layout = layouts[0]

    def choose(names: Sequence[str]) -> Wanted:
        nonlocal layout
        layout = min(layouts, key=lambda candidate: len(candidate.wanted.lacking(names)))
        return layout.wanted

    path, unit, rows = picked(source, choose, name, kind=SNIFF, digest=digest)
    for number, cells, problem in rows:
        label: str | None = ""
        if layout.words and not problem:
            label = layout.words.get(cells[0] or UNDECIDED)
            label = label or layout.words.get((cells[0] or "").strip().lower())
        if problem or label is None or None in cells or "" in cells:
            problem = problem or _problem(layout, cells, label)
            if problem:
                raise WordbiasError(f"{path}: {unit} {number}: {problem}")
        yield (label, *cells[1:]) if label else tuple(cells)


def _problem(layout: Layout, cells: Sequence[Any], label: str | None) -> str:
    """Return what is wrong with a pair."""
    if label is None:
        words = [word for word in dict.fromkeys(layout.words.values()) if word != UNDECIDED]
        none = f", or {UNDECIDED} for none" if UNDECIDED in layout.words else ""
        return f"unknown label {cells[0]!r:.60}; expected one of {', '.join(words)}{none}"
    first, second = cells[1:3] if layout.label else cells[:2]
    if first is None or (not first and not layout.blank):
        return f"has no {layout.first[0]!r}"
    if second is None or (not second and not layout.blank):
        return f"has no {layout.second[0]!r}"
    for name, cell in zip(layout.others, cells[len(cells) - len(layout.others) :], strict=True):
        if not cell:
            return f"has no {name!r}"
    return ""
