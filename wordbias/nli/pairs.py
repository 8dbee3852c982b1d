"""Labelled sentence pairs, from SNLI's own jsonl or tabbed text, and their tokens."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from sys import intern
from typing import cast

import numpy as np
from numpy.typing import NDArray

from wordbias.columns import TableLike, is_table
from wordbias.errors import WordbiasError
from wordbias.formats.source import Digest
from wordbias.text_pairs import INFERENCE, UNDECIDED, read_pairs

LABELS = ("neutral", "entailment", "contradiction")
"""Labels in the order of every probability vector: (N, E, C), as in the papers."""
IN_MEMORY = "pairs in memory"
Tokens = tuple[str, ...]

_STEMS = ("neutral", "entail", "contradict")
_NUMBER = {label: i for i, label in enumerate(LABELS)}


PairsLike = TableLike | Iterable[Sequence[str]]
"""Labelled pairs: a file, triples of (label, premise, hypothesis), or columns by name."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Sentence pairs."""

    premises: Sequence[Tokens]  # tokens of each sentence; equal sentences are one object
    hypotheses: Sequence[Tokens]
    labels: NDArray[np.int64]  # places in `LABELS`, shape `(n,)`
    dropped: int = 0  # number of pairs without a label (`-`), which are left out
    # hash of the file's content, uncompressed; for pairs in memory, of their tabbed text
    sha256: str = ""

    def __len__(self) -> int:
        return len(self.labels)

    def head(self, count: int) -> Pairs:
        """Return the first `count` pairs."""
        part = slice(count)
        return Pairs(self.premises[part], self.hypotheses[part], self.labels[part], 0, self.sha256)


def load_pairs(path: PairsLike) -> Pairs:
    """Read pairs from a file of any form that `wordbias.columns` reads, or from memory."""
    # Text without a header has label, premise and hypothesis. In memory, pairs are triples of
    # these, or columns by name.
    premises: list[Tokens] = []
    hypotheses: list[Tokens] = []
    labels, dropped = [], 0
    known: dict[str, Tokens] = {}
    digest = hashlib.sha256()
    for label, premise, hypothesis in labelled_rows(path, digest):
        if label == UNDECIDED:
            dropped += 1
            continue
        labels.append(_NUMBER[label])
        for text, sentences in ((premise, premises), (hypothesis, hypotheses)):
            if text not in known:
                known[text] = tuple(map(intern, tokenise(text)))  # one object for each word
            sentences.append(known[text])
    if not labels:
        among = f" among {dropped} without a label" if dropped else ""
        raise WordbiasError(f"{pairs_name(path)}: holds no labelled pair{among}")
    return Pairs(premises, hypotheses, np.array(labels), dropped, digest.hexdigest())


def pairs_name(pairs: PairsLike) -> str:
    """Return the file of pairs, or "pairs in memory"."""
    return os.fspath(pairs) if isinstance(pairs, (str, os.PathLike)) else IN_MEMORY


def labelled_rows(pairs: PairsLike, digest: Digest) -> Iterator[tuple[str, ...]]:
    """Yield label, premise and hypothesis of every line or row that is not empty."""
    if isinstance(pairs, (str, os.PathLike)):
        yield from read_pairs(pairs, INFERENCE, digest=digest)
        return
    table = pairs if is_table(pairs) else _columns_of(cast("Iterable[Sequence[str]]", pairs))
    for row in read_pairs(table, INFERENCE, name=IN_MEMORY):
        label, premise, hypothesis = row[0], row[1].strip(), row[2].strip()
        digest.update(f"{label}\t{premise}\t{hypothesis}\n".encode("utf-8", "surrogatepass"))
        yield label, premise, hypothesis


def _columns_of(triples: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """Return the columns of triples."""
    if not isinstance(triples, Iterable):
        raise WordbiasError(
            "expected pairs: a file, a list of (label, premise, hypothesis) or a frame; got "
            f"{type(triples).__name__}"
        )
    columns: dict[str, list[str]] = {"label": [], "premise": [], "hypothesis": []}
    for number, row in enumerate(triples, 1):
        cells = [] if isinstance(row, str) or not isinstance(row, Sequence) else row
        if len(cells) != len(columns) or not all(isinstance(cell, str) for cell in cells):
            raise WordbiasError(
                f"{IN_MEMORY}: row {number}: expected the texts label, premise and hypothesis, "
                f"got {row!r}"
            )
        for column, cell in zip(columns.values(), cells, strict=True):
            column.append(cell)
    return columns


# Tokens

_QUOTES = str.maketrans({"’": "'", "‘": "'", "´": "'", "“": '"', "”": '"', "`": "'"})
_TOKEN = re.compile(
    r"""
    \.\.\.                                  # an ellipsis
    | n't\b | '(?:s|re|ve|ll|d|m)\b         # the rest of a contraction: is n't, she 's
    | can(?=not(?:n't)?\b)                  # cannot is can not
    | \w+?(?=n't\b)                         # the word before n't
    | \d+(?:[.,:]\d+)+                      # 3.5, 10,000, 7:30
    | (?:[^\W\d_]\.){2,}(?!\w)              # U.S., p.m.
    | \w+(?:[-.&]\w+)*                      # well-known, R&B
    | [^\w\s]                               # any other mark by itself
    """,
    re.VERBOSE | re.IGNORECASE,
)


def tokenise(text: str) -> list[str]:
    """Split a sentence into words, contractions and marks, as the Penn Treebank does."""
    # The case is kept. Tokenising tokens joined with spaces gives the same tokens: raw and
    # tokenised texts, which copies of SNLI mix, have the same ones. Quotes of every kind become
    # straight ones; a pair of single quotes becomes a double one. "She isn't at Tom's house." has
    # She is n't at Tom 's house.
    return _TOKEN.findall(text.translate(_QUOTES).replace("''", '"'))


def label_indices(names: Sequence[str]) -> tuple[int, int, int] | None:
    """Return the indices of neutral, entailment and contradiction in names that have each once."""
    lower = [name.strip().lower() for name in names]
    places = [[i for i, name in enumerate(lower) if name.startswith(stem)] for stem in _STEMS]
    n, e, c = places
    return (n[0], e[0], c[0]) if len(n) == len(e) == len(c) == 1 else None
