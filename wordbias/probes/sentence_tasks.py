"""Quality of sentence vectors on pairs of texts: rated similarity (STS), or retrieval.

A file of two texts and a rating in each row is STS: Spearman's correlation of the model's
similarity with the ratings, as in Agirre et al. (2012). A file of pairs that belong together, such
as a question and its answer, is retrieval within the file: for each first text all distinct second
ones are ranked.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import FLOAT32_ROUNDING, normalise
from wordbias.columns import BadRows, TableLike, open_table
from wordbias.draws import with_change
from wordbias.errors import WordbiasError
from wordbias.formats.tables import Line
from wordbias.probes.estimates import Estimate
from wordbias.results import Row
from wordbias.statistics import (
    LEAST_PAIRS,
    is_constant,
    resampled_means,
    resampled_spearman,
    spearman,
)
from wordbias.text_pairs import FIRST, LABEL, PARTNERS, RATED, SECOND, layouts_of

STS, RECALL, RANK = "sts", "retrieval-recall", "retrieval-rank"
NEAREST = 10
"""Number of texts that are retrieved."""
_EXPECTED = (
    "expected two columns of texts and one of ratings, such as sentence1, sentence2 and score; or "
    "two columns of texts that belong together, such as query and positive"
)
_BLOCK = 256
_ROUNDING = 1e-12
"""Difference of two inner products of unit vectors that rounding may make."""
Array = NDArray[np.float64]
Vectors = NDArray[np.float32]
TextPairsLike = TableLike
"""A file of pairs of texts, or its columns."""


@dataclass(frozen=True, eq=False)
class TextPairs:
    """Pairs of texts, with a rating of how similar they are or without."""

    name: str
    # the texts; without ratings, second texts that belong to the first
    first: tuple[str, ...] = field(repr=False)
    second: tuple[str, ...] = field(repr=False)
    ratings: Array | None = field(default=None, repr=False)  # shape `(n,)`; None for retrieval

    def __len__(self) -> int:
        return len(self.first)

    def sha256(self) -> str:
        """Return a hash of the pairs."""
        ratings = [] if self.ratings is None else self.ratings.tolist()
        return hashlib.sha256(json.dumps([self.first, self.second, ratings]).encode()).hexdigest()

    def rows(
        self,
        subject: str,
        before: tuple[Vectors, Vectors],
        after: tuple[Vectors, Vectors],
        *,
        similarity: str = "cosine",
        seed: int = 0,
    ) -> list[Row]:
        """Return the quality of two models on the pairs, and the change with its interval."""
        # `sts` is Spearman's correlation with the ratings; `retrieval-recall` the share of a text's
        # partners among the ten most similar second texts, `retrieval-rank` the mean reciprocal
        # rank of its best one.
        estimates = [self._estimates(*both, similarity, seed) for both in (before, after)]
        rows = []
        for measure, old in estimates[0].items():
            n = len(self) if measure == STS else len(set(self.first))
            about = {"set": self.name, "n": n, "similarity": similarity, "seed": seed}
            about |= {} if measure == STS else {"texts": len(set(self.second)), "k": NEAREST}
            first = old.row(subject, measure, {**about, "stage": "before"})
            second = estimates[1][measure].row(subject, measure, {**about, "stage": "after"})
            rows += [first, with_change(first, second)]
        return rows

    def _estimates(
        self, first: Vectors, second: Vectors, similarity: str, seed: int
    ) -> dict[str, Estimate]:
        rng = np.random.default_rng(seed)
        x, y = (_comparable(part, similarity) for part in (first, second))
        if self.ratings is not None:
            similarities = np.einsum("nd,nd->n", x, y)
            if np.ptp(similarities) <= FLOAT32_ROUNDING * np.abs(similarities).max():
                similarities[:] = 0  # they differ by rounding: they are in no order
            samples = resampled_spearman(similarities, self.ratings, rng)
            return {STS: Estimate(spearman(similarities, self.ratings), samples, "pairs")}
        values = np.array(list(self._retrieved(x, y)))
        samples, means = resampled_means(values, rng), values.mean(axis=0)
        return {
            measure: Estimate(float(means[i]), samples[:, i], "queries")
            for i, measure in enumerate((RECALL, RANK))
        }

    def _retrieved(self, x: Array, y: Array) -> Iterator[tuple[float, float]]:
        """Yield recall and reciprocal rank of each distinct first text."""
        # Equally similar texts, up to rounding, count as ranked before its partners; the text
        # itself is not ranked.
        queries = {text: i for i, text in reversed([*enumerate(self.first)])}
        texts = {text: i for i, text in reversed([*enumerate(self.second)])}
        places = {text: place for place, text in enumerate(texts)}
        partners: dict[str, set[int]] = {}
        for query, text in zip(self.first, self.second, strict=True):
            partners.setdefault(query, set()).add(places[text])
        candidates = y[list(texts.values())]
        query_texts = list(queries)
        longest = np.linalg.norm(candidates, axis=1).max()
        for start in range(0, len(query_texts), _BLOCK):
            block = query_texts[start : start + _BLOCK]
            scores = x[[queries[text] for text in block]] @ candidates.T
            for query, row in zip(block, scores, strict=True):
                mine = sorted(partners[query])
                own = row[mine] - _ROUNDING * longest * np.linalg.norm(x[queries[query]])
                if query in places and places[query] not in partners[query]:
                    row[places[query]] = -np.inf
                ranks = (row[None, :] >= own[:, None]).sum(axis=1)
                yield float((ranks <= NEAREST).mean()), 1 / float(ranks.min())


def _comparable(x: Vectors, similarity: str) -> Array:
    """Return vectors in float64, of length one where their cosine is wanted."""
    wide = x.astype(np.float64)
    return wide if similarity == "dot" else normalise(wide)


# reading


def load_text_pairs(source: TextPairsLike) -> TextPairs:
    """Read pairs of texts: TSV, CSV, JSON lines, Parquet, or columns in memory."""
    # The columns are found by their names, such as sentence1, sentence2 and score, or query and
    # positive; else a table of exactly two or three columns is taken in order, the ratings being
    # the one that has numbers only.
    file = Path(source) if isinstance(source, (str, os.PathLike)) else None
    opened = open_table(source, "pairs")
    lines, bad = list(opened.lines), BadRows(opened.name)
    for line in lines:
        if line.problem:
            bad.add(f"{opened.unit} {line.number}", line.problem)
    if opened.plain or not lines:
        raise WordbiasError(f"{opened.name}: {opened.plain or 'holds no row'}; {_EXPECTED}")
    names = list(lines[0].cells)
    first, second, rating = _columns(opened.name, names, lines)
    for line in lines:
        for name in filter(None, (first, second, rating)):
            if line.lacks(name) or not line.cells[name].strip():
                bad.add(f"{opened.unit} {line.number}", line.lacks(name) or f"{name!r} is empty")
    left, right = (tuple(line.cells[name] for line in lines) for name in (first, second))
    name = opened.name if file is None else file.name.partition(".")[0]
    if rating is None:
        if len(set(right)) <= NEAREST:
            raise WordbiasError(
                f"{opened.name}: has {len(set(right))} different second texts, of which "
                f"{NEAREST} are retrieved; give more pairs"
            )
        return TextPairs(name, left, right)
    ratings = np.array([_number(f"{opened.name}: {opened.unit}", line, rating) for line in lines])
    if len(lines) < LEAST_PAIRS or is_constant(ratings):
        raise WordbiasError(
            f"{opened.name}: {len(lines)} pairs with {len(set(ratings.tolist()))} different ratings"
            f"; a rank correlation needs at least {LEAST_PAIRS} pairs, and ratings that differ"
        )
    return TextPairs(name, left, right, ratings)


def _columns(
    where: str, names: Sequence[str], lines: Sequence[Line]
) -> tuple[str, str, str | None]:
    """Return the columns of the two texts and, if there is one, of the ratings."""
    for layout in layouts_of(RATED, PARTNERS):
        if not layout.wanted.lacking(names):
            known = layout.wanted.names_in(where, names)
            return str(known[FIRST]), str(known[SECOND]), known.get(LABEL)
    numbers = [name for name in names if all(_is_number(line.cells.get(name)) for line in lines)]
    texts = [name for name in names if name not in numbers]
    if len(texts) == 2 and len(numbers) == len(names) - 2 <= 1:
        return texts[0], texts[1], numbers[0] if numbers else None
    raise WordbiasError(f"{where}: has the columns {', '.join(names):.200}; {_EXPECTED}")


def _is_number(cell: str | None) -> bool:
    try:
        return math.isfinite(float(cell or "nan"))
    except ValueError:
        return False


def _number(where: str, line: Line, name: str) -> float:
    cell = line.cells[name]
    if _is_number(cell):
        return float(cell)
    raise WordbiasError(
        f"{where} {line.number}: {name} is {cell!r:.40}, expected a number, a rating; for "
        "retrieval leave that column out, and all pairs that do not belong together"
    )
