"""Predictions of any NLI system for test sets: a file, a frame or an array."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError
from wordbias.nli.pairs import label_indices
from wordbias.nli.test_sets import Pair, TestSet
from wordbias.text_files import read_bounded

Float32 = NDArray[np.float32]
_SLACK = 0.002
"""Three numbers that were rounded to three digits add up to 1 within this."""


class PredictionsFrame(Protocol):
    """Pandas frame with the columns of a file of predictions."""

    columns: Any
    itertuples: Any


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of some system for sentence pairs.

    Attributes
    ----------
    name, sha256
        Name of the file, and the hash of its content.
    place
        Row of each pair in `probabilities`.
    probabilities
        (N, E, C), shape ``(n, 3)``.
    """

    name: str
    sha256: str
    place: dict[Pair, int]
    probabilities: Float32

    @classmethod
    def load(cls, path: str | Path) -> Predictions:
        """Read a CSV file, its columns separated by commas or tabs and named by its first line.

        There must be ``premise``, ``hypothesis`` and three columns whose names begin with
        ``neutral``, ``entail`` and ``contradict``, in any order; others are not read.

        Raises
        ------
        WordbiasError
            If a column is missing; or, with its line, if a row is too short, holds no three
            probabilities that add up to 1, or contradicts another row about the same pair.
        """
        try:
            data = read_bounded(Path(path))
        except OSError as error:
            raise WordbiasError(f"{path}: cannot be read: {error.strerror}") from None
        return cls._of(_file_rows(data), str(path), hashlib.sha256(data).hexdigest())

    @classmethod
    def from_frame(cls, frame: PredictionsFrame) -> Predictions:
        """Take the predictions of a frame, whose columns are those of a file.

        Raises
        ------
        WordbiasError
            As `load` does, with the number of the row.
        """
        rows = enumerate(frame.itertuples(index=False, name=None))
        found = _cells(map(str, frame.columns), ((f"row {i}", row) for i, row in rows))
        return cls._of(found, "predictions", "")

    @classmethod
    def _of(
        cls, rows: Iterator[tuple[str, Pair, tuple[float, ...]]], name: str, sha256: str
    ) -> Predictions:
        place: dict[Pair, int] = {}
        found: list[tuple[float, ...]] = []
        try:
            for where, pair, values in rows:
                row = place.setdefault(pair, len(found))
                if row == len(found):
                    found.append(values)
                elif found[row] != values:
                    raise WordbiasError(
                        f"{where}: says something else of a pair than a {where.split()[0]} above "
                        f"it ({_shown(pair)})"
                    )
        except WordbiasError as error:
            raise WordbiasError(f"{name}: {error}") from None
        if not found:
            raise WordbiasError(f"{name}: holds no prediction, only a line of names")
        return cls(name, sha256, place, np.array(found, np.float32))

    def __len__(self) -> int:
        return len(self.place)

    def for_set(self, test: TestSet) -> Float32:
        """Return (N, E, C) of each pair of a test set in its order, shape ``(n, 3)``.

        Sentences are compared without regard to capitals and spaces.

        Raises
        ------
        WordbiasError
            If pairs are missing, with their number and the first of them.
        """
        places = [self.place.get(_plain(*pair), -1) for pair in test]
        missing = [i for i, place in enumerate(places) if place < 0]
        if missing:
            first = next(pair for i, pair in enumerate(test) if i == missing[0])
            raise WordbiasError(
                f"{self.name}: lacks {len(missing):,} of the {len(test):,} pairs of the set "
                f"{test.name}; the first is {_shown(first)}; predict the pairs that wordbias "
                "mab-eval --write writes, with the same --lists and --as-published"
            )
        return self.probabilities[places]

    def count_others(self, tests: Sequence[TestSet]) -> int:
        """Return the number of pairs that belong to none of the test sets."""
        known = {_plain(*pair) for test in tests for pair in test}
        return len(self.place.keys() - known)


def split_by_set(probabilities: ArrayLike, tests: Sequence[TestSet]) -> list[Float32]:
    """Split an array of the (N, E, C) of all pairs of some test sets, in their order, by set.

    Raises
    ------
    WordbiasError
        If the shape is not ``(n, 3)``, or a row is no three probabilities that add up to 1.
    """
    try:
        if np.iscomplexobj(probabilities):
            raise TypeError
        found = np.asarray(probabilities, np.float32)
    except (TypeError, ValueError):
        raise WordbiasError(
            f"expected predictions: a file, a frame or an array; got {type(probabilities).__name__}"
        ) from None
    sizes = [len(test) for test in tests]
    if found.shape != (sum(sizes), 3):
        names = ", ".join(f"{test.name} {size:,}" for test, size in zip(tests, sizes, strict=True))
        raise WordbiasError(
            f"predictions: expected shape ({sum(sizes)}, 3), (N, E, C) of each pair ({names}), got "
            f"{found.shape}"
        )
    wrong = np.flatnonzero(~((found >= 0).all(1) & (abs(found.sum(1) - 1) <= _SLACK)))
    if len(wrong):
        raise WordbiasError(
            f"predictions: row {wrong[0]}: expected three probabilities that add up to 1 (softmax "
            "of the system's scores)"
        )
    return np.split(found, np.cumsum(sizes)[:-1])


def _file_rows(data: bytes) -> Iterator[tuple[str, Pair, tuple[float, ...]]]:
    """Yield the line, the pair and (N, E, C) of each row."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise WordbiasError(f"line {line}: is not UTF-8") from None
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        header = next(reader, [])
        yield from _cells(header, ((f"line {reader.line_num}", row) for row in reader))
    except csv.Error as error:
        raise WordbiasError(f"line {reader.line_num}: is no CSV: {error}") from None


def _cells(
    header: Iterable[str], rows: Iterable[tuple[str, Sequence[Any]]]
) -> Iterator[tuple[str, Pair, tuple[float, ...]]]:
    """Yield the line, the pair and (N, E, C) of rows of cells."""
    premise, hypothesis, *labels = places = _columns(header)
    for where, row in rows:
        if len(row) > max(places):
            pair = _plain(str(row[premise]), str(row[hypothesis]))
            yield where, pair, _checked([str(row[i]) for i in labels], where)
        elif row:
            raise WordbiasError(
                f"{where}: has {len(row)} columns, expected at least {max(places) + 1}"
            )


def _columns(header: Iterable[str]) -> tuple[int, ...]:
    header = list(header)
    names = [name.strip().lower() for name in header]
    labels = label_indices(names)
    if labels is None or names.count("premise") != 1 or names.count("hypothesis") != 1:
        raise WordbiasError(
            "expected the columns premise, hypothesis and one each that begins with neutral, "
            f"entail and contradict, found {', '.join(header) or 'none'}"
        )
    return (names.index("premise"), names.index("hypothesis"), *labels)


def _plain(premise: str, hypothesis: str) -> Pair:
    """Normalise what copies of a set differ in: capitals, and the space before the full stop."""
    return Pair(*(" ".join(x.lower().replace(".", " . ").split()) for x in (premise, hypothesis)))


def _checked(cells: Sequence[str], where: str) -> tuple[float, ...]:
    try:
        values = tuple(map(float, cells))
    except ValueError:
        raise WordbiasError(f"{where}: {', '.join(cells)}: expected three probabilities") from None
    if not (min(values) >= 0 and abs(sum(values) - 1) <= _SLACK):  # nan is neither
        raise WordbiasError(
            f"{where}: {', '.join(cells)}: expected three probabilities that add up to 1 "
            "(softmax of the system's scores)"
        )
    return values


def _shown(pair: Pair) -> str:
    return f"{pair.premise!r} → {pair.hypothesis!r}"
