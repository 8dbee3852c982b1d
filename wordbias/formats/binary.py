"""word2vec binary: for each word its text, a space, its float32 values and maybe a line feed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats.layout import Layout
from wordbias.formats.source import Digest, Source
from wordbias.formats.text import LONGEST_WORD, Block, Problem


class BinaryJob(NamedTuple):
    """Consecutive words, and their values as bytes."""

    words: list[bytes]
    values: bytes


def jobs(
    source: Source, layout: Layout, what: str, digest: Digest | None = None
) -> Iterator[BinaryJob]:
    """Cut the file into jobs of whole rows."""
    rest, row, skip = b"", 1, layout.skip
    for chunk in source.chunks(what, digest):
        data = rest + chunk[skip:]
        skip = max(0, skip - len(chunk))
        job, end = _cut(data, layout, row)
        rest = data[end:]
        if job.words:
            row += len(job.words)
            yield job
        _check_rest(source, layout, row, rest)
    if row <= (layout.count or 0):
        raise WordbiasError(
            f"{source.name}: is cut off: the header promises {layout.count} words, "
            f"word {row} is not complete; fetch or make the file again"
        )


def _cut(data: bytes, layout: Layout, row: int) -> tuple[BinaryJob, int]:
    """Return the complete rows at the beginning of `data`, and the position where they end."""
    size = 4 * layout.dim
    remaining = (layout.count or 0) - row + 1
    words: list[bytes] = []
    values: list[bytes] = []
    end = 0
    while len(words) < remaining:
        space = data.find(b" ", end)
        start = space + 1
        if space < 0 or start + size > len(data):
            break
        words.append(data[end:space].lstrip(b"\n"))
        end = start + size
        values.append(data[start:end])
    return BinaryJob(words, b"".join(values)), end


def _check_rest(source: Source, layout: Layout, row: int, rest: bytes) -> None:
    """Refuse data after the last row, and a word that does not end."""
    if row > (layout.count or 0) and rest.strip(b"\n\r "):
        raise WordbiasError(
            f"{source.name}: goes on behind the {layout.count} words that its header promises; "
            "the header or the dimension in it is wrong"
        )
    if len(rest) > 4 * layout.dim + LONGEST_WORD and b" " not in rest[:LONGEST_WORD]:
        raise WordbiasError(f"{source.name}: is damaged: word {row} is over 65,536 bytes long")


def parse(job: BinaryJob, dim: int) -> Block:
    """Return the words and rows of a job, without rows that have a nan or an infinity."""
    rows = np.frombuffer(job.values, "<f4").reshape(-1, dim)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if not len(bad):
        return Block(job.words, rows.astype(np.float32, copy=False))
    problem = Problem(int(bad[0]), "its vector holds a nan or an infinity")
    dropped = set(bad.tolist())
    words = [word for i, word in enumerate(job.words) if i not in dropped]
    return Block(words, np.delete(rows, bad, axis=0), len(bad), problem)


def encode(words: list[bytes], rows: NDArray[np.float32]) -> bytes:
    """Encode rows without line feeds between them, as in the published GoogleNews vectors."""
    data = rows.astype("<f4", copy=False).tobytes()
    size = 4 * rows.shape[1]
    parts = [
        part
        for i, word in enumerate(words)
        for part in (word, b" ", data[i * size : (i + 1) * size])
    ]
    return b"".join(parts)
