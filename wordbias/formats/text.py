"""GloVe and word2vec text: jobs of whole lines, parsed by `lines.parse_block`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import orjson
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats.digest import Digest
from wordbias.formats.layout import Layout, mended
from wordbias.formats.lines import Block, parse_block
from wordbias.formats.source import Source


def jobs(
    source: Source, layout: Layout, what: str, digest: Digest | None = None
) -> Iterator[bytes]:
    """Cut the file into jobs: about half a megabyte of whole lines.

    Empty lines at its end are left out; elsewhere they stay, and are rows that cannot be used.

    Raises
    ------
    WordbiasError
        While a line is read that is longer than `Layout.longest`, or as many empty lines.
    """
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
    """Parse one job."""
    return parse_block(job, dim)


def encode(words: list[bytes], rows: NDArray[np.float32]) -> bytes:
    """Format rows as lines, each number with the fewest digits that read back as the same float32.

    Parameters
    ----------
    words
        One a row, UTF-8.
    rows
        Shape ``(len(words), d)``, float32, C-contiguous.
    """
    if not words:
        return b""
    json = orjson.dumps(rows, option=orjson.OPT_SERIALIZE_NUMPY).translate(_TO_LINES)
    # "[[0.1 0.2\n [0.3 0.4\n\n": views, because splitting would copy every line
    begin = np.flatnonzero(np.frombuffer(json, np.uint8) == ord("["))[1:] + 1
    end = np.append(begin[1:] - 2, len(json) - 1)
    view = memoryview(json)
    bounds = zip(words, begin.tolist(), end.tolist(), strict=True)
    return b"".join([part for word, i, j in bounds for part in (word, b" ", view[i:j])])


_TO_LINES = bytes.maketrans(b",]", b" \n")
