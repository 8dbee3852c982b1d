"""One block of embedding text, `word v1 … vd` a line, to words and rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.formats.decimal import PAD, BadNumber, parse_decimals

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
    gaps = np.flatnonzero(buffer <= _SPACE)
    kind = buffer[gaps]
    if not ((kind == _SPACE) | (kind == _NEWLINE)).all():
        gaps = gaps[(kind == _SPACE) | (kind == _NEWLINE)]
        kind = buffer[gaps]
    line_ends = np.flatnonzero(kind == _NEWLINE)
    fields = np.diff(line_ends, prepend=-1)
    starts = np.append(PAD, gaps[line_ends[:-1]] + 1)
    lines = np.arange(len(line_ends))
    problems = [
        Problem(i, f"expected {dim} values, found {max(fields[i] - 1, 0)}")
        for i in np.flatnonzero(fields <= dim).tolist()
    ]
    good = fields > dim
    line_ends, starts, lines = line_ends[good], starts[good], lines[good]
    # column j of a line is bounded by the gaps before and behind it
    bounds = gaps[line_ends[:, None] + np.arange(-dim, 1)]
    words = [
        text[a:b]
        for a, b in zip(
            *(column.tolist() for column in (starts - PAD, bounds[:, 0] - PAD)), strict=True
        )
    ]
    spaced = np.flatnonzero(fields[good] > dim + 1).tolist()
    excess = [i for i in spaced if _is_number(words[i].rpartition(b" ")[2])]
    for i in excess:
        found = dim + _trailing_numbers(words[i])
        problems.append(Problem(int(lines[i]), f"expected {dim} values, found {found}"))
    keep = np.delete(np.arange(len(words)), excess)
    return _parse_rows(buffer, words, bounds, lines, keep, problems)


def _parse_rows(
    buffer: NDArray[np.uint8],
    words: list[bytes],
    bounds: NDArray[np.intp],
    lines: NDArray[np.intp],
    keep: NDArray[np.intp],
    problems: list[Problem],
) -> Block:
    dim = bounds.shape[1] - 1
    while True:
        kept = bounds[keep]
        try:
            values = parse_decimals(buffer, (kept[:, :-1] + 1).ravel(), kept[:, 1:].ravel())
            break
        except BadNumber as bad:
            row, column = divmod(bad.index, dim)
            where = int(lines[keep[row]])
            problems.append(Problem(where, f"column {column + 2}: {bad}"))
            keep = np.delete(keep, row)
    if len(keep) != len(words):
        words = [words[i] for i in keep.tolist()]
    return Block(words, values.reshape(-1, dim), sorted(problems))


def _is_number(token: bytes) -> bool:
    try:
        return float(token) == float(token)
    except ValueError:
        return False


def _trailing_numbers(word: bytes) -> int:
    """Count the numbers a too long line has before its last `dim` fields, but for its word."""
    return max(1, sum(map(_is_number, word.split(b" ")[1:])))
