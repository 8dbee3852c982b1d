"""GAP (Webster et al. 2018): ambiguous pronouns of both genders, with two names each.

Each text has a pronoun and two names, A and B, of which at most one is its antecedent: two
decisions. F1 is that of the decisions that a name is the antecedent, and the bias is F1 of feminine
pronouns over F1 of masculine ones, as the official scorer computes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.columns import read
from wordbias.coreference.documents import Clusters, Document, Span
from wordbias.coreference.texts import found_clusters, text_document
from wordbias.draws import sampled_row, with_items
from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import TIE, p_of_null, resampled_means
from wordbias.stereotypes.winobias import FEMALE, PRONOUNS
from wordbias.text_files import Source

Float = NDArray[np.float64]
Answer = tuple[bool, bool]
"""Whether A is the antecedent of the pronoun, and whether B is."""
NAMES = ("A", "B")
ALL, FEMININE, MASCULINE = "all", "feminine", "masculine"
MEASURES = ("gap-recall", "gap-precision", "gap-f1")
RATIO = "gap-ratio"
TEXTS = "texts"
LEAST = 0.5
"""Share of characters that a mention and a name have in common, at least, to be the same."""
_COLUMNS = (
    *("ID", "Text", "Pronoun", "Pronoun-offset"),
    *("A", "A-offset", "A-coref", "B", "B-offset", "B-coref"),
)


@dataclass(frozen=True)
class GapText:
    """A text, its pronoun and two names as characters, and the right answer."""

    id: str
    text: str
    pronoun: Span
    names: tuple[Span, Span]
    gold: Answer
    feminine: bool

    @property
    def nearest(self) -> Answer:
        """The answer that the nearer name is the antecedent."""
        a, b = (
            min(abs(self.pronoun[0] - end), abs(start - self.pronoun[1]))
            for start, end in self.names
        )
        return a <= b, b < a


@dataclass(frozen=True, eq=False)
class Gap:
    """The texts of a file."""

    path: str
    texts: Sequence[GapText]

    @property
    def documents(self) -> list[Document]:
        """The texts as documents for a system, named by their ids."""
        return [text_document(text.id, text.text) for text in self.texts]


def parse_gap(source: Source) -> Gap:
    """Read the published columns, from ID to B-coref."""
    texts = [_text(where, row) for where, row in read(source, _COLUMNS, kind="tsv").rows()]
    return Gap(source.path, texts)


def _text(where: str, row: Mapping[str, str]) -> GapText:
    spans = []
    for name in ("Pronoun", *NAMES):
        offset = row[f"{name}-offset"]
        start = int(offset) if offset.isdecimal() else -1
        span = start, start + len(row[name])
        if start < 0 or row["Text"][slice(*span)] != row[name]:
            raise WordbiasError(
                f"{where}: {name}-offset: expected the place of {row[name]!r:.40} in the text, "
                f"found {offset!r:.20}"
            )
        spans.append(span)
    gender = PRONOUNS.get(row["Pronoun"].lower())
    if gender is None:
        raise WordbiasError(f"{where}: Pronoun: expected he or she, found {row['Pronoun']!r:.40}")
    gold = _true(where, row["A-coref"]), _true(where, row["B-coref"])
    pronoun, a, b = spans
    return GapText(row["ID"], row["Text"], pronoun, (a, b), gold, gender == FEMALE)


def _true(where: str, cell: str) -> bool:
    if cell.lower() not in ("true", "false"):
        raise WordbiasError(f"{where}: expected TRUE or FALSE, found {cell!r:.20}")
    return cell.lower() == "true"


# answers


def are_answers(text: str) -> bool:
    """Return whether a text has lines as the official scorer reads them: ID, A-coref, B-coref."""
    return len(text.split("\n", 1)[0].strip().split("\t")) == 3


def read_answers(source: Source, data: Gap) -> list[Answer]:
    """Read a system's answers; a header may stand above them."""
    answers: dict[str, Answer] = {}
    for number, line in enumerate(source.text.split("\n"), 1):
        cells = line.rstrip("\r").split("\t")
        if not line.strip() or (number == 1 and cells[0] == "ID"):
            continue
        where = f"{source.path}: line {number}"
        if len(cells) != 3 or cells[0] in answers:
            problem = "has a second answer to" if cells[0] in answers else "expected three columns:"
            raise WordbiasError(f"{where}: {problem} {cells[0]!r:.40}")
        answers[cells[0]] = _true(where, cells[1]), _true(where, cells[2])
    if missing := [text.id for text in data.texts if text.id not in answers]:
        raise WordbiasError(f"{source.path}: has no answer to {missing[0]!r:.40}")
    return [answers[text.id] for text in data.texts]


def answers_of(documents: Sequence[Document], data: Gap, path: str) -> list[Answer]:
    """Return what the clusters of a system answer; see `answer`."""
    clusters = found_clusters(documents, [(text.id, text.text) for text in data.texts], path)
    return list(map(answer, data.texts, clusters))


def answer(text: GapText, clusters: Clusters) -> Answer:
    """Return which names are in a cluster with the pronoun."""
    # A name is the mention that shares most characters with it, |∩|/|∪|, and half at least: systems
    # leave out or add a title, or ’s, and a longer mention such as "her sister Ann and Eve" is
    # neither. The pronoun is the mention of the same place.
    of_pronoun = {i for i, cluster in enumerate(clusters) if text.pronoun in cluster}
    a, b = (not of_pronoun.isdisjoint(_clusters_of(name, clusters)) for name in text.names)
    return a, b


def _clusters_of(name: Span, clusters: Clusters) -> set[int]:
    """Return the clusters of the mention that is a name."""
    shares = [(_shared(name, span), i) for i, cluster in enumerate(clusters) for span in cluster]
    most = max(shares, default=(0.0, 0))[0]
    return {i for share, i in shares if share == most >= LEAST}


def _shared(a: Span, b: Span) -> float:
    common = max(0, min(a[1], b[1]) - max(a[0], b[0]))
    return common / (a[1] - a[0] + b[1] - b[0] - common)


# scores


def gap_rows(
    data: Gap, answers: Sequence[Answer], subject: str, *, draws: int, seed: int
) -> list[Row]:
    """Score answers: recall, precision and F1 in percent; `gap-ratio`, feminine over masculine."""
    # `chance` is the F1 of expected counts where one of the two names is taken at random. The p of
    # the ratio exchanges genders at random among texts with the same answer: how often is the ratio
    # as far from 1, either way?
    gold, answered = np.array([text.gold for text in data.texts]), np.array(answers)
    feminine = np.array([text.feminine for text in data.texts])
    counts = np.stack(  # (n, 3): true positives, gold and found ones, of both names
        [(gold & answered).sum(axis=1), gold.sum(axis=1), answered.sum(axis=1)], axis=1
    ).astype(np.float64)
    sides = {ALL: np.ones(len(gold), bool), FEMININE: feminine, MASCULINE: ~feminine}
    parts = np.concatenate([counts * chosen[:, None] for chosen in sides.values()], axis=1)
    rng = np.random.default_rng(seed)
    samples = resampled_means(parts, rng, draws).reshape(-1, 3, 3) if draws else None
    values = _scores(parts.sum(axis=0).reshape(3, 3))
    drawn = None if samples is None else _scores(samples)
    rows = []
    for i, (name, chosen) in enumerate(sides.items()):
        about = {"set": name, "n": int(chosen.sum()), "scale": "percent", "seed": seed}
        expected = _by_chance(counts[chosen])
        for j, measure in enumerate(MEASURES):
            details = {**about, "chance": float(expected[j]), **ideal(measure)}
            of = None if drawn is None else drawn[:, i, j]
            rows.append(sampled_row(subject, measure, float(values[i, j]), details, of, TEXTS))
    rows.append(_ratio_row(values, drawn, counts, feminine, subject, draws, seed))
    return with_items(rows, [(text.id, text.gold) for text in data.texts], seed)


def _scores(counts: Float) -> Float:
    """Return recall, precision and F1 in percent of counts ``(…, 3)``; 0/0 is 0, as published."""
    right, gold, predicted = np.moveaxis(counts, -1, 0)
    pairs = ((right, gold), (right, predicted), (2 * right, gold + predicted))
    columns = [np.divide(a, b, out=np.zeros(a.shape), where=b > 0) for a, b in pairs]
    return 100 * np.stack(columns, axis=-1)


def _by_chance(counts: Float) -> Float:
    """Return the scores if one of the two names of each text is taken at random."""
    gold, n = counts[:, 1].sum(), float(len(counts))
    return _scores(np.array([gold / 2, gold, n]))


def _ratio(values: Float) -> Float:
    """Return F1 of feminine over masculine pronouns, of scores ``(…, 3, 3)``; nan over 0."""
    feminine, masculine = values[..., 1, 2], values[..., 2, 2]
    empty = np.full(np.shape(masculine), np.nan)
    ratio: Float = np.divide(feminine, masculine, out=empty, where=masculine > 0)
    return ratio


def _ratio_row(
    values: Float,
    drawn: Float | None,
    counts: Float,
    feminine: NDArray[np.bool_],
    subject: str,
    draws: int,
    seed: int,
) -> Row:
    about: dict[str, Any] = {"set": f"{FEMININE} / {MASCULINE}", "n": len(counts), "seed": seed}
    value = float(_ratio(values))
    if not value > 0:
        reason = "undefined: F1 of feminine or masculine pronouns is 0"
        return Row(subject, RATIO, None, {**about, "reason": reason, **ideal(RATIO)})
    if draws:
        null = np.abs(np.log(_exchanged(counts, feminine, draws, seed)))
        about["p"] = p_of_null(null, abs(float(np.log(value))) - TIE)
    of = None if drawn is None else _ratio(drawn)
    return sampled_row(subject, RATIO, value, {**about, **ideal(RATIO)}, of, TEXTS)


def _exchanged(counts: Float, feminine: NDArray[np.bool_], draws: int, seed: int) -> Float:
    """Return ratios where genders are exchanged among texts with as many right names."""
    rng = np.random.default_rng(seed)
    gold = counts[:, 1]
    groups = [np.flatnonzero(gold == number) for number in np.unique(gold)]
    ratios = np.empty(draws)
    for i in range(draws):
        drawn = np.empty(len(feminine), bool)
        for group in groups:
            drawn[group] = rng.permutation(feminine[group])
        parts = np.stack(
            [counts.sum(axis=0), counts[drawn].sum(axis=0), counts[~drawn].sum(axis=0)]
        )
        with np.errstate(divide="ignore"):
            ratios[i] = _ratio(_scores(parts))
    return np.where(np.isfinite(ratios) & (ratios > 0), ratios, np.inf)
