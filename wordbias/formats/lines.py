"""One block of embedding text, `word v1 … vd` a line, to words and rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.formats.decimal import PAD, BadNumber, is_decimal, parse_decimals

_SPACE, _NEWLINE = ord(" "), ord("\n")


class Problem(NamedTuple):
    """A row that cannot be used: its place in the block (from 0) and what is wrong with it."""

    place: int
    message: str


@dataclass(frozen=True)
class Block:
    """Consecutive rows of an embedding: `words` as bytes, `rows` of shape ``(len(words), d)``."""

    words: list[bytes]
    rows: NDArray[np.float32]
    problems: list[Problem] = field(default_factory=list)


def parse_block(text: bytes, dim: int) -> Block:
    """Parse whole lines of text, each ended by a line feed.

    The last `dim` fields of a line are its values and all before them is the word, so that a
    token may contain spaces (``. . .`` in GloVe 840B). Only the space and the line feed separate:
    U+0085 and U+00A0 are words.

    Parameters
    ----------
    text
        Complete lines; the last one ends with a line feed.
    dim
        Number of values a line must have.

    Returns
    -------
    Block
        The good rows in order; lines that are not usable are in `problems`.
    """
    if not text:
        return Block([], np.empty((0, dim), np.float32))
    buffer = np.frombuffer(b"0" * PAD + text, np.uint8)
    split = _split(buffer, dim)
    begin, end = (split.starts - PAD).tolist(), (split.bounds[:, 0] - PAD).tolist()
    words = [text[a:b] for a, b in zip(begin, end, strict=True)]
    unusable = _long_lines(words, split.fields, dim)
    bad: list[BadNumber] = []
    starts, ends = split.bounds[:, :-1] + 1, split.bounds[:, 1:]
    values = parse_decimals(buffer, starts.ravel(), ends.ravel(), bad)
    for error in bad:
        row, column = divmod(error.index, dim)
        unusable.setdefault(row, f"column {column + 2}: {error}")
    problems = [Problem(int(split.lines[row]), message) for row, message in unusable.items()]
    return _good_rows(
        words, values.reshape(-1, dim), unusable, sorted([*split.problems, *problems])
    )


class _Split(NamedTuple):
    """Lines with enough fields: where each starts, and the `dim + 1` gaps around its values."""

    starts: NDArray[np.intp]
    bounds: NDArray[np.intp]
    fields: NDArray[np.intp]
    lines: NDArray[np.intp]
    problems: list[Problem]


def _split(buffer: NDArray[np.uint8], dim: int) -> _Split:
    gaps = np.flatnonzero(buffer <= _SPACE)
    kind = buffer[gaps]
    separates = (kind == _SPACE) | (kind == _NEWLINE)
    if not separates.all():  # other control characters are parts of words
        gaps, kind = gaps[separates], kind[separates]
    line_ends = np.flatnonzero(kind == _NEWLINE)
    fields = np.diff(line_ends, prepend=-1)
    starts = np.append(PAD, gaps[line_ends[:-1]] + 1)
    short = np.flatnonzero(fields <= dim)
    problems = [
        Problem(i, f"expected {dim} values, found {max(int(fields[i]) - 1, 0)}")
        for i in short.tolist()
    ]
    good = np.flatnonzero(fields > dim)
    bounds = gaps[line_ends[good, None] + np.arange(-dim, 1)]
    return _Split(starts[good], bounds, fields[good], good, problems)


def _long_lines(words: list[bytes], fields: NDArray[np.intp], dim: int) -> dict[int, str]:
    """Tell words that contain spaces from lines with too many values."""
    found = {}
    for row in np.flatnonzero(fields > dim + 1).tolist():
        if is_decimal(words[row].rpartition(b" ")[2]):
            values = dim + _trailing_numbers(words[row])
            found[row] = f"expected {dim} values, found {values}"
    return found


def _good_rows(
    words: list[bytes],
    rows: NDArray[np.float32],
    unusable: dict[int, str],
    problems: list[Problem],
) -> Block:
    if unusable:
        keep = [i for i in range(len(words)) if i not in unusable]
        words, rows = [words[i] for i in keep], rows[keep]
    return Block(words, rows, problems)


def _trailing_numbers(word: bytes) -> int:
    """Count the numbers a too long line has before its last `dim` fields, but for its word."""
    return max(1, sum(map(is_decimal, word.split(b" ")[1:])))
