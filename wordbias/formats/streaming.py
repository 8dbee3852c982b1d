"""File to file in constant memory: the second pass of a streamed run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import IO, Literal

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats import binary, tensors, text
from wordbias.formats.atomic import compressing, replacing
from wordbias.formats.file import Tally, VectorFile
from wordbias.formats.holding import check_rows
from wordbias.formats.layout import BOM
from wordbias.formats.lines import Block

RowFormat = Literal["glove", "word2vec", "word2vec-binary"]
ROW_FORMATS: tuple[RowFormat, ...] = ("glove", "word2vec", "word2vec-binary")
StreamFormat = RowFormat | Literal["safetensors"]
BlockMap = Callable[[Block], NDArray[np.float32]]


def stream(
    file: VectorFile,
    output: str | os.PathLike[str],
    transform: BlockMap,
    *,
    to: StreamFormat,
    rows: int,
    dim: int,
    skip_bad: bool = False,
    finish: Callable[[Tally], None] | None = None,
) -> Tally:
    """Transform every row of a file and write it under another name, or under its own.

    Order, duplicates and odd tokens stay as they are; but safetensors, which has one row for each
    word, gets the first of its rows. The output takes its name only when it is complete. Memory
    does not grow with the file, but for the words of safetensors.

    Parameters
    ----------
    file
        Where the rows come from.
    output
        Where they go; compressed if its suffix is .gz, .bz2, .xz or .zip.
    transform
        Map of a block of words and rows to new rows; called in several threads.
    to
        Format to write.
    rows
        Number of good rows in the file, for the header of the word2vec formats.
    dim
        Values a row has after the transform.
    skip_bad
        Drop and count rows that cannot be used.
    finish
        Called when all is written but has no name yet; if it fails, nothing gets one.

    Raises
    ------
    WordbiasError
        See `VectorFile.map`, `replacing` and `check_rows`.
    """

    def changed(block: Block) -> NDArray[np.float32]:
        with np.errstate(over="ignore", invalid="ignore"):  # refused with its word
            rows = np.ascontiguousarray(transform(block))
        try:
            check_rows(block.words, rows, to)
        except WordbiasError as error:
            raise WordbiasError(f"{file.source.name}: {error}") from None
        return rows

    tally = Tally()
    what = f"writing {os.path.basename(output)}"
    with replacing(output) as raw:
        if to == "safetensors":
            pairs = file.map(lambda b: (b.words, changed(b)), tally, what=what, skip_bad=skip_bad)
            _, tally.duplicates = tensors.write_rows(raw, pairs, dim)
        else:
            with compressing(raw, os.fspath(output)) as out:
                parts = file.map(
                    lambda b: _encoder(to)(b.words, changed(b)),
                    tally,
                    what=what,
                    skip_bad=skip_bad,
                )
                write_rows(out, parts, to, rows, dim)
        if finish is not None:
            finish(tally)
    return tally


def encode(words: list[bytes], rows: NDArray[np.float32], to: RowFormat) -> bytes:
    """Format rows; refuse what the format cannot hold."""
    check_rows(words, rows, to)
    return _encoder(to)(words, rows)


def _encoder(to: RowFormat) -> Callable[[list[bytes], NDArray[np.float32]], bytes]:
    return binary.encode if to == "word2vec-binary" else text.encode


def write_rows(
    out: IO[bytes], encoded: Iterable[bytes], to: RowFormat, rows: int, dim: int
) -> None:
    """Write a header, where the format has one, and the encoded rows."""
    if to != "glove":
        out.write(b"%d %d\n" % (rows, dim))
    for i, part in enumerate(encoded):
        if i == 0 and to == "glove" and part.startswith(BOM):
            out.write(BOM)  # the reader takes one away
        out.write(part)
