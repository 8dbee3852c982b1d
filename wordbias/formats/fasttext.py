"""Whether a fastText ``.bin`` file is whole, before gensim reads it.

gensim reads words until it meets their end, for ever where a file is cut off among them, and
believes the sizes that a header names. This walks over the file without reading its vectors.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from wordbias.errors import WordbiasError

_HEADER = struct.Struct("<2i12id")
_SIZES = struct.Struct("<3i2q")
_MATRIX = struct.Struct("<?2q")
_COUNT_AND_TYPE, _PRUNED = 9, 8
_LONGEST = 1_000
"""Characters of a part of a word; fastText's own default is 6."""


def check_fasttext(path: Path) -> None:
    """Hold the sizes in a file against what is there.

    Raises
    ------
    WordbiasError
        If it is cut off, longer than its sizes say, or these are impossible.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            fault = _fault(data)
        except (struct.error, OverflowError):  # sizes beyond the end, or beyond any file
            fault = "it is cut off"
    if fault:
        raise WordbiasError(
            f"{path}: is a damaged fastText model: {fault}; fetch or make the file again"
        )


def _fault(data: mmap.mmap) -> str:
    """Say what is wrong, or nothing."""
    dim, maxn = (_HEADER.unpack_from(data)[i] for i in (2, 12))
    count, _, _, _, pruned = _SIZES.unpack_from(data, _HEADER.size)
    if not (0 < dim < 1 << 20 and maxn <= _LONGEST and count > 0):
        return f"its header says {count} words of {dim} values, parts of up to {maxn} letters"
    end = _words_end(data, _HEADER.size + _SIZES.size, count) + _PRUNED * max(0, pruned)
    for what in ("vectors", "output"):
        quantised, rows, columns = _MATRIX.unpack_from(data, end)
        if quantised:
            return "its vectors are quantised (.ftz), which gensim does not read"
        if columns != dim or rows < 0:
            return f"its {what} have the shape ({rows}, {columns}), expected {dim} columns"
        end += _MATRIX.size + 4 * rows * columns
        if end > len(data):
            return f"it is cut off in its {what}"
    return "" if end == len(data) else f"{len(data) - end:,} bytes follow its end"


def _words_end(data: mmap.mmap, at: int, count: int) -> int:
    """Return where the vocabulary ends: words, a zero byte behind each, their counts and types."""
    for _ in range(count):
        zero = data.find(b"\0", at)
        if zero < 0:
            raise struct.error
        at = zero + 1 + _COUNT_AND_TYPE
    return at
