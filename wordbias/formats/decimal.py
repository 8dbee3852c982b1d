"""Conversion of decimal text to float32, many numbers at a time, without a loop or a compiler.

A number such as ``-0.038194`` is one machine word. The eight bytes that end it are loaded as one
unsigned integer, and bytes before the decimal point are masked away. Three multiplications add up
the digits (the "SIMD within a register" technique). Numpy does this for tens of thousands of
numbers at a time and lets other threads run meanwhile.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError

PAD = 16
"""Bytes that must precede the first number in the buffer, so that its window can be loaded."""

_AT_ONCE = 1 << 14  # temporaries stay in the second-level cache and in the heap
_DIGITS = 15  # integers of up to 15 digits, and powers of ten up to 22, are exact in float64
_POWER = 10.0 ** np.arange(_DIGITS + 1)
_KEEP = np.array([(2**64 - 1) >> (64 - 8 * k) << (64 - 8 * k) for k in range(9)], np.uint64)
_ZEROS = np.uint64(0x3030303030303030)
_ABOVE_NINE = np.uint64(0x7676767676767676)
_HIGH_BITS = np.uint64(0x8080808080808080)
_TOO_LARGE = 3.4028235677973366e38  # halfway from the largest float32 to the next, rounds up
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class BadNumber(WordbiasError):
    """A token that is no finite float32; `index` is its position among the numbers of the block."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


def parse_decimals(
    buffer: NDArray[np.uint8],
    starts: NDArray[np.intp],
    ends: NDArray[np.intp],
    bad: list[BadNumber] | None = None,
    a_row: int = 1,
) -> NDArray[np.float32]:
    """Parse the numbers ``buffer[starts[i]:ends[i]]``, as ``np.float32(float(text))`` does."""
    # One digit before the point and up to 14 behind it is the fast case; any other valid number is
    # parsed by Python. At least `PAD` bytes precede the first number. `bad` collects bad numbers;
    # without it the first one is raised.
    result = np.empty(len(starts), np.float32)
    slow: list[int] = []
    for i in range(0, len(starts), _AT_ONCE):
        part = slice(i, i + _AT_ONCE)
        result[part], fast = _parse_fast(buffer, starts[part], ends[part])
        if not fast.all():
            slow += (np.flatnonzero(~fast) + i).tolist()
    for i in slow:
        if bad and bad[-1].index // a_row == i // a_row:
            continue
        try:
            result[i] = _parse_slowly(buffer[starts[i] : ends[i]].tobytes(), i)
        except BadNumber as error:
            if bad is None:
                raise
            bad.append(error)
    return result


def _parse_fast(
    buffer: NDArray[np.uint8], starts: NDArray[np.intp], ends: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return values, and which of them are right: those with one digit before the point."""
    negative = buffer[starts] == ord("-")
    point = starts + negative
    lead = buffer[point] - np.uint8(ord("0"))
    point += 1
    length = ends - point - 1
    # an index just past the buffer is possible for an empty last token
    fast = buffer.take(point, mode="clip") == ord(".")
    fast &= (length > 0) & (length < _DIGITS) & (lead <= 9)
    length = np.where(fast, length, 0)
    fraction, valid = _digits(buffer, ends, length)
    fast &= valid
    scale = _POWER[length]
    value = (fraction + lead * scale) / scale
    np.negative(value, out=value, where=negative)
    return value, fast


def _digits(
    buffer: NDArray[np.uint8], ends: NDArray[np.intp], length: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the value of the last `length` digits before `ends`, and whether all are digits."""
    value, valid = _eight_digits(buffer, ends, np.minimum(length, 8))
    long = np.flatnonzero(length > 8)
    if len(long):
        high, high_valid = _eight_digits(buffer, ends[long] - 8, length[long] - 8)
        value[long] += high * 1e8
        valid[long] &= high_valid
    return value, valid


def _eight_digits(
    buffer: NDArray[np.uint8], ends: NDArray[np.intp], length: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    words = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))
    x = words[ends - 8]
    x ^= _ZEROS
    x &= _KEEP[length]
    valid = (((x + _ABOVE_NINE) | x) & _HIGH_BITS) == 0
    x *= np.uint64(10 * 2**8 + 1)  # neighbouring digits to pairs, pairs to fours, fours to eight
    x >>= np.uint64(8)
    x &= np.uint64(0x00FF00FF00FF00FF)
    x *= np.uint64(100 * 2**16 + 1)
    x >>= np.uint64(16)
    x &= np.uint64(0x0000FFFF0000FFFF)
    x *= np.uint64(10000 * 2**32 + 1)
    x >>= np.uint64(32)
    return x.astype(np.float64), valid


def is_decimal(token: bytes) -> bool:
    """Return whether a token is a number; Python would also accept ``1_0`` and ``infinity``."""
    return _NUMBER.fullmatch(token) is not None


def _parse_slowly(token: bytes, index: int) -> float:
    excerpt = repr(token.decode("utf-8", "backslashreplace")[:40])
    try:
        value = float(token)
    except ValueError:
        raise BadNumber(index, f"{excerpt} is not a number") from None
    if value != value or abs(value) == float("inf"):
        raise BadNumber(index, f"{excerpt} is not a finite number")
    if abs(value) >= _TOO_LARGE:
        raise BadNumber(index, f"{excerpt} is beyond the range of float32")
    if not is_decimal(token):
        raise BadNumber(index, f"{excerpt} is not a number")
    return value
