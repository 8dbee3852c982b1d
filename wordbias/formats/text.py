"""GloVe and word2vec text: one word and its values ``word v1 … vd`` a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats.decimal import PAD, BadNumber, is_decimal, parse_decimals
from wordbias.formats.layout import Layout, mended
from wordbias.formats.source import Digest, Source

_SPACE, _NEWLINE = ord(" "), ord("\n")
LONGEST_WORD = 1 << 16
"""Largest length of a word in bytes."""


class Problem(NamedTuple):
    """An unusable row: its index in the block, from 0, and what is wrong with it."""

    place: int
    message: str


@dataclass(frozen=True)
class Block:
    """Consecutive rows of an embedding, without the unusable ones."""

    words: list[bytes]  # the words as bytes
    rows: NDArray[np.float32]  # their vectors, shape `(len(words), d)`
    bad: int = 0  # number of unusable rows, which are left out
    problem: Problem | None = None  # the first unusable row


def jobs(
    source: Source, layout: Layout, what: str, digest: Digest | None = None
) -> Iterator[bytes]:
    """Cut the file into jobs of about half a megabyte of whole lines."""
    # Empty lines at the end of the file are left out; elsewhere they are unusable rows.
    skip, empty, size = layout.skip, 0, 0
    for text in source.lines(what, layout.longest, digest):
        clean = mended(text[skip:], layout.mend)
        skip = 0
        last = len(clean.rstrip(b" \t\r\n"))
        rows = clean[: clean.find(b"\n", last) + 1] if last else b""
        if rows:
            yield b"\n" * empty + rows
            empty = size = 0
        empty += clean.count(b"\n", len(rows))
        size += len(clean) - len(rows)
        if size > layout.longest:
            raise WordbiasError(
                f"{source.name}: over {layout.longest:,} bytes of empty lines follow each other; "
                "is that a file of vectors, with a line for each word?"
            )


def parse(job: bytes, dim: int) -> Block:
    """Parse whole lines of text, each ended by a line feed."""
    # The last `dim` fields of a line are its values and all before them is the word: a token may
    # contain spaces (". . ." in GloVe 840B), but not begin with one. Only the space and the line
    # feed separate: U+0085 and U+00A0 are words.
    if not job:
        return Block([], np.empty((0, dim), np.float32))
    buffer = np.frombuffer(b"0" * PAD + job, np.uint8)
    split = _split(buffer, dim)
    begin, end = (split.starts - PAD).tolist(), (split.bounds[:, 0] - PAD).tolist()
    words = [job[a:b] for a, b in zip(begin, end, strict=True)]
    numbers: list[BadNumber] = []
    starts, ends = split.bounds[:, :-1] + 1, split.bounds[:, 1:]
    values = parse_decimals(buffer, starts.ravel(), ends.ravel(), numbers, a_row=dim)
    unusable = {error.index // dim: error for error in numbers}
    wrong = sorted({*unusable, *_bad_words(words, split.fields, dim)})
    bad = len(wrong) + len(split.short)
    if not bad:
        return Block(words, values.reshape(-1, dim))
    firsts = [int(split.lines[row]) for row in wrong[:1]] + [int(i) for i in split.short[:1]]
    place = min(firsts)
    if wrong and place == firsts[0]:
        row = wrong[0]
        message = _problem(words[row], int(split.fields[row]), dim, unusable.get(row))
    else:
        message = f"expected {dim} values, found {max(int(split.few[0]) - 1, 0)}"
    if wrong:
        dropped = set(wrong)
        words = [word for row, word in enumerate(words) if row not in dropped]
    rows = np.delete(values.reshape(-1, dim), wrong, axis=0)
    return Block(words, rows, bad, Problem(place, message))


class _Split(NamedTuple):
    """Positions of the fields in a text."""

    starts: NDArray[np.intp]  # start of each line that has enough fields
    # positions of the `dim + 1` separators around the values of such a line
    bounds: NDArray[np.intp]
    fields: NDArray[np.intp]  # number of fields of such a line
    lines: NDArray[np.intp]  # index of such a line in the text
    short: NDArray[np.intp]  # indices of the other lines, and their numbers of fields
    few: NDArray[np.intp]


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
    good = np.flatnonzero(fields > dim)
    bounds = gaps[line_ends[good, None] + np.arange(-dim, 1)]
    return _Split(starts[good], bounds, fields[good], good, short, fields[short])


def _bad_words(words: list[bytes], fields: NDArray[np.intp], dim: int) -> list[int]:
    """Return the rows whose word begins with a space, ends in a number or is too long."""
    bad_rows = [
        row
        for row in np.flatnonzero(fields > dim + 1).tolist()
        if words[row].startswith(b" ") or is_decimal(words[row].rpartition(b" ")[2])
    ]
    return bad_rows + [row for row, word in enumerate(words) if len(word) > LONGEST_WORD]


def _problem(word: bytes, fields: int, dim: int, number: BadNumber | None) -> str:
    """Return what is wrong with a row."""
    if len(word) > LONGEST_WORD:
        return f"its word is {len(word):,} bytes long, more than {LONGEST_WORD:,}"
    if fields > dim + 1 and word.startswith(b" "):
        return "begins with a space, expected a word there"
    if fields > dim + 1 and is_decimal(word.rpartition(b" ")[2]):
        extra = max(1, sum(map(is_decimal, word.split(b" ")[1:])))
        return f"expected {dim} values, found {dim + extra}"
    assert number is not None
    return f"column {number.index % dim + 2}: {number}"


_TO_LINES = bytes.maketrans(b",]", b" \n")


def encode(words: list[bytes], rows: NDArray[np.float32]) -> bytes:
    """Encode rows as lines, each float32 with the fewest digits that read back as the same."""
    if not words:
        return b""
    json = orjson.dumps(rows, option=orjson.OPT_SERIALIZE_NUMPY).translate(_TO_LINES)
    # "[[0.1 0.2\n [0.3 0.4\n\n": views, because splitting would copy every line
    begin = np.flatnonzero(np.frombuffer(json, np.uint8) == ord("["))[1:] + 1
    end = np.append(begin[1:] - 2, len(json) - 1)
    view = memoryview(json)
    bounds = zip(words, begin.tolist(), end.tolist(), strict=True)
    return b"".join([part for word, i, j in bounds for part in (word, b" ", view[i:j])])
