"""What happens to files: cut, flipped, doubled, lost and inserted bytes, and other numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from hypothesis import strategies as st

_PLACES = 1 << 20
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
MAGIC = (
    b"",
    b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', ",
    b"PK\x03\x04",
    b"\x1f\x8b\x08\x00",
    b"BZh9",
    b"\xfd7zXZ\x00",
    b"\x20\x00\x00\x00\x00\x00\x00\x00{",
    b"\xba\x16\x4f\x2f\x0c\x00\x00\x00",
    b"\x80\x04\x95",
    b"3 4\n",
    b'{"',
    b"[[",
    b"\xef\xbb\xbf",
    b"text\tlabel\n",
    b'"',
)
INSERTED = {
    "nul": b"\x00",
    "no utf-8": b"\xff\xfe",
    "surrogate": b"\xed\xa0\x80",
    "escaped surrogate": b"\\ud800",
    "byte order mark": b"\xef\xbb\xbf",
    "unicode line ends": "\u2028\x85\u00a0".encode(),
    "line feed": b"\n",
    "carriage return": b"\r",
    "blank lines": b"\r\n\r\n",
    "tab": b"\t",
    "space": b" ",
    "comma": b",",
    "quote": b'"',
    "apostrophe": b"'",
    "backslash": b"\\",
    "opening": b"[",
    "closing": b"]",
    "braces": b"{}",
    "null": b"null",
    "nan": b"NaN",
    "negative": b"-1",
    "true": b"true",
    "infinite": b"1e999",
    "25 digits": b"9" * 25,
    "5,000 digits": b"9" * 5_000,
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "long": b"x" * 400_000,
    "many columns": b"\xc3\xa9\t" * 10_000,
}
"""By name, so that a failing example can be read."""
NUMBERS = (
    b"0",
    b"-1",
    b"1.5",
    b"1e400",
    b"nan",
    b"1000000000000",
    b"99999999999999999999",
    b"9" * 5_000,
    b"null",
    b'"x"',
    b"[]",
    b"{}",
)


class Mutation(NamedTuple):
    """One change: what is done, how far into the file, how much, and with what."""

    kind: str
    at: int
    size: int
    what: str

    def __call__(self, data: bytes) -> bytes:
        return _KINDS[self.kind](
            data, self.at * len(data) // _PLACES, self.size, INSERTED[self.what]
        )


def _truncate(data: bytes, at: int, size: int, what: bytes) -> bytes:
    return data[:at]


def _flip(data: bytes, at: int, size: int, what: bytes) -> bytes:
    return data[:at] + bytes(byte ^ size % 255 + 1 for byte in data[at : at + 1]) + data[at + 1 :]


def _delete(data: bytes, at: int, size: int, what: bytes) -> bytes:
    return data[:at] + data[at + size :]


def _duplicate(data: bytes, at: int, size: int, what: bytes) -> bytes:
    return data[: at + size] + data[at:]


def _insert(data: bytes, at: int, size: int, what: bytes) -> bytes:
    return data[:at] + what + data[at:]


def _overwrite(data: bytes, at: int, size: int, what: bytes) -> bytes:
    return data[:at] + what[:64] + data[at + len(what[:64]) :]


def _renumber(data: bytes, at: int, size: int, what: bytes) -> bytes:
    """Replace the next number; a header keeps its length where there is room for it."""
    number = _NUMBER.search(data, at) or _NUMBER.search(data)
    if number is None:
        return data
    return data[: number.start()] + NUMBERS[size % len(NUMBERS)] + data[number.end() :]


def _digit(data: bytes, at: int, size: int, what: bytes) -> bytes:
    """Change digits in place, which keeps every length right."""
    number = _NUMBER.search(data, at) or _NUMBER.search(data)
    if number is None:
        return data
    other = re.sub(rb"\d", b"%d" % (size % 10), number.group())
    return data[: number.start()] + other + data[number.end() :]


def _swap_lines(data: bytes, at: int, size: int, what: bytes) -> bytes:
    lines = data.split(b"\n")
    i, j = at % len(lines), size % len(lines)
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


_KINDS: dict[str, Callable[[bytes, int, int, bytes], bytes]] = {
    "truncate": _truncate,
    "flip": _flip,
    "delete": _delete,
    "duplicate": _duplicate,
    "insert": _insert,
    "overwrite": _overwrite,
    "renumber": _renumber,
    "digit": _digit,
    "swap lines": _swap_lines,
}

mutations = st.lists(
    st.builds(
        Mutation,
        st.sampled_from(list(_KINDS)),
        st.integers(0, _PLACES),
        st.one_of(st.integers(1, 40), st.integers(1, 3_000)),
        st.sampled_from(list(INSERTED)),
    ),
    min_size=1,
    max_size=4,
)
"""Some changes, one after another."""

contents = st.builds(bytes.__add__, st.sampled_from(MAGIC), st.binary(max_size=200))
"""Any bytes, many of them behind the beginning of some format."""
