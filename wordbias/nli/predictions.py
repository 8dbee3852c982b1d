"""Predictions of any NLI system for test sets: a file, a frame or an array."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.calls import path_of
from wordbias.columns import TableLike, picked
from wordbias.errors import WordbiasError
from wordbias.formats.tables import Wanted, is_parquet, kind_of
from wordbias.nli.test_sets import Pair, TestSet

Float32 = NDArray[np.float32]
_SLACK = 0.002
"""Three numbers that were rounded to three digits add up to 1 within this."""


_COLUMNS = {
    "premise": ("premise",),
    "hypothesis": ("hypothesis",),
    "neutral": ("neutral*",),
    "entailment": ("entail*",),
    "contradiction": ("contradict*",),
}


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of some system for sentence pairs."""

    name: str
    sha256: str
    place: dict[Pair, int]  # row of each pair in `probabilities`
    probabilities: Float32  # (N, E, C), shape `(n, 3)`

    @classmethod
    def load(cls, source: TableLike) -> Predictions:
        """Read a table (see `wordbias.columns`); a file is CSV or tabbed, of any other suffix."""
        # Columns begin with neutral, entail and contradict, in any order; others are not read.
        path, digest = path_of(source), hashlib.sha256()
        known = path is not None and (is_parquet(Path(path)) or kind_of(Path(path)) == "jsonl")
        name, unit, rows = picked(
            source,
            Wanted(_COLUMNS, ragged=True),
            "predictions",
            kind=None if known else "csv",
            digest=digest,
        )
        place: dict[Pair, int] = {}
        probabilities: list[tuple[float, ...]] = []
        for number, cells, problem in rows:
            try:
                if problem:
                    raise WordbiasError(problem)
                premise, hypothesis, *given = (cell or "" for cell in cells)
                pair, values = _plain(premise, hypothesis), _checked(given)
                row = place.setdefault(pair, len(probabilities))
                if row == len(probabilities):
                    probabilities.append(values)
                elif probabilities[row] != values:
                    raise WordbiasError(
                        f"says something else of a pair than a {unit} above it ({_pair_text(pair)})"
                    )
            except WordbiasError as error:
                raise WordbiasError(f"{name}: {unit} {number}: {error}") from None
        if not probabilities:
            raise WordbiasError(f"{name}: holds no prediction, only a line of names")
        sha256 = "" if path is None else digest.hexdigest()
        return cls(name, sha256, place, np.array(probabilities, np.float32))

    def __len__(self) -> int:
        return len(self.place)

    def for_set(self, test: TestSet) -> Float32:
        """Return (N, E, C) of each pair of a test set in its order, shape ``(n, 3)``."""
        # Sentences are compared without regard to capitals and spaces.
        places = [self.place.get(_plain(*pair), -1) for pair in test]
        missing = [i for i, place in enumerate(places) if place < 0]
        if missing:
            first = next(pair for i, pair in enumerate(test) if i == missing[0])
            raise WordbiasError(
                f"{self.name}: lacks {len(missing):,} of the {len(test):,} pairs of the set "
                f"{test.name}; the first is {_pair_text(first)}; predict the pairs that wordbias "
                "mab-eval --write writes, with the same --lists and --as-published"
            )
        return self.probabilities[places]

    def count_others(self, tests: Sequence[TestSet]) -> int:
        """Return the number of pairs that belong to none of the test sets."""
        known = {_plain(*pair) for test in tests for pair in test}
        return len(self.place.keys() - known)


def split_by_set(probabilities: ArrayLike, tests: Sequence[TestSet]) -> list[Float32]:
    """Split an array of the (N, E, C) of all pairs of some test sets, in their order, by set."""
    try:
        if np.iscomplexobj(probabilities):
            raise TypeError
        triples = np.asarray(probabilities, np.float32)
    except (TypeError, ValueError):
        raise WordbiasError(
            f"expected predictions: a file, a frame or an array; got {type(probabilities).__name__}"
        ) from None
    sizes = [len(test) for test in tests]
    if triples.shape != (sum(sizes), 3):
        names = ", ".join(f"{test.name} {size:,}" for test, size in zip(tests, sizes, strict=True))
        raise WordbiasError(
            f"predictions: expected shape ({sum(sizes)}, 3), (N, E, C) of each pair ({names}), got "
            f"{triples.shape}"
        )
    wrong = np.flatnonzero(~((triples >= 0).all(1) & (abs(triples.sum(1) - 1) <= _SLACK)))
    if len(wrong):
        raise WordbiasError(
            f"predictions: row {wrong[0]}: expected three probabilities that add up to 1 (softmax "
            "of the system's scores)"
        )
    return np.split(triples, np.cumsum(sizes)[:-1])


def _plain(premise: str, hypothesis: str) -> Pair:
    """Normalise what copies of a set differ in: capitals, and the space before the full stop."""
    return Pair(*(" ".join(x.lower().replace(".", " . ").split()) for x in (premise, hypothesis)))


def _checked(cells: Sequence[str]) -> tuple[float, ...]:
    try:
        values = tuple(map(float, cells))
    except ValueError:
        raise WordbiasError(f"{', '.join(cells)}: expected three probabilities") from None
    if not (min(values) >= 0 and abs(sum(values) - 1) <= _SLACK):  # nan is neither
        raise WordbiasError(
            f"{', '.join(cells)}: expected three probabilities that add up to 1 (softmax of the "
            "system's scores)"
        )
    return values


def _pair_text(pair: Pair) -> str:
    return f"{pair.premise!r} → {pair.hypothesis!r}"
