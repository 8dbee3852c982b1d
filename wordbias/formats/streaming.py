"""File to file in constant memory: the second pass of a streamed run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wordbias.formats import binary, text
from wordbias.formats.atomic import compressing, replacing
from wordbias.formats.file import Tally, VectorFile
from wordbias.formats.lines import Block

RowFormat = Literal["glove", "word2vec", "word2vec-binary"]
ROW_FORMATS: tuple[RowFormat, ...] = ("glove", "word2vec", "word2vec-binary")
RowMap = Callable[[NDArray[np.float32]], NDArray[np.float32]]


def stream(
    file: VectorFile,
    output: str | os.PathLike[str],
    transform: RowMap,
    *,
    to: RowFormat,
    rows: int,
    skip_bad: bool = False,
) -> Tally:
    """Transform every row of a file and write it under another name, or under its own.

    Order, duplicates and odd tokens stay as they are. The output takes its name only when it is
    complete. Memory does not grow with the file.

    Parameters
    ----------
    file
        Where the rows come from.
    output
        Where they go; compressed if its suffix is .gz, .bz2, .xz or .zip.
    transform
        Row-wise map ``(n, d) -> (n, d)``; called in several threads.
    to
        Format to write.
    rows
        Number of good rows in the file, for the header of the word2vec formats.
    skip_bad
        Drop and count rows that cannot be used.

    Raises
    ------
    WordbiasError
        See `VectorFile.map`, `replacing`, and `binary.encode`.
    """
    room: Any = binary if to == "word2vec-binary" else text

    def work(block: Block) -> bytes:
        encoded: bytes = room.encode(block.words, np.ascontiguousarray(transform(block.rows)))
        return encoded

    tally = Tally()
    with replacing(output) as raw, compressing(raw, os.fspath(output)) as out:
        out.write(header(to, rows, file.layout.dim))
        what = f"writing {os.path.basename(output)}"
        for encoded in file.map(work, tally, what=what, skip_bad=skip_bad):
            out.write(encoded)
    return tally


def header(to: RowFormat, rows: int, dim: int) -> bytes:
    """Return the first line of a format; GloVe has none."""
    return b"" if to == "glove" else b"%d %d\n" % (rows, dim)
