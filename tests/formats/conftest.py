"""What the tests of the formats share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from wordbias.formats import source
from wordbias.wordlists import common_names

Vectors = tuple[list[str], NDArray[np.float32]]

ODD_WORDS = [
    ". . .",
    "at name@domain.com",
    "nan",
    "null",
    "NA",
    "inf",
    "-",
    '"',
    "'",
    "#",
    "\x85",
    "\xa0",
    "a\xa0b",
    "\u2028",
    "\u2029",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x0b7",
    "2\r",
    "\x00",
    "\r",
    "",
    "x  ",
    "1.5",
    "2020",
    "-7",
    "1e5",
    "naïve",
    "日本語",
    "👩🏽‍🔬",
    "\udcff\udcfe",
    "caf\udce9",
    "a::b",
]
"""Words that published vectors have and that trip readers; lone surrogates are no UTF-8."""


@pytest.fixture
def odd() -> Vectors:
    """Return all odd words behind a plain one, with values that are easy to lose."""
    words = ["the", *ODD_WORDS]
    rng = np.random.default_rng(7)
    vectors = rng.standard_normal((len(words), 5)).astype(np.float32)
    limits = np.finfo(np.float32)
    vectors[1] = [limits.max, -limits.max, limits.tiny, limits.smallest_subnormal, -0.0]
    vectors[2] = [1e-7, 123456.79, 1e16, 0.1, np.nextafter(np.float32(1), np.float32(2))]
    return words, vectors


@pytest.fixture
def people() -> Vectors:
    """Return an embedding that misp can work on: names, pronouns and made-up words."""
    female, male = common_names()
    words = [name.lower() for name in (*female, *male)] + ["she", "he", "woman", "man"]
    letters = "abcdefghijklmnopqrstuvwxyz"
    words += [f"zq{letters[i // 26]}{letters[i % 26]}" for i in range(400)]
    vectors = np.random.default_rng(3).standard_normal((len(words), 20)).astype(np.float32)
    return words, vectors


@pytest.fixture
def write_text(tmp_path: Path) -> Callable[..., Path]:
    """Write text vectors with Python's own `repr`, independently of the package."""

    def write(
        words: Sequence[str | bytes],
        vectors: NDArray[np.float32],
        name: str = "vectors.txt",
        *,
        header: bool = False,
        end: bytes = b"\n",
        between: bytes = b" ",
        start: bytes = b"",
    ) -> Path:
        lines = [b"%d %d" % vectors.shape] if header else []
        for word, row in zip(words, vectors, strict=True):
            encoded = word if isinstance(word, bytes) else word.encode("utf-8", "surrogateescape")
            lines.append(between.join([encoded, *(repr(float(x)).encode() for x in row)]))
        path = tmp_path / name
        path.write_bytes(start + b"".join(line + end for line in lines))
        return path

    return write


@pytest.fixture
def chunk(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Set how many bytes are read at once."""

    def set_size(size: int) -> None:
        monkeypatch.setattr(source, "CHUNK", size)

    return set_size


@pytest.fixture
def same_bits() -> Callable[[NDArray[np.float32], NDArray[np.float32]], None]:
    """Assert that two float32 matrices are equal in every bit."""

    def check(got: NDArray[np.float32], expected: NDArray[np.float32]) -> None:
        assert got.dtype == expected.dtype == np.float32
        assert got.shape == expected.shape
        ours, theirs = (np.ascontiguousarray(x).view(np.uint32) for x in (got, expected))
        assert np.array_equal(ours, theirs)

    return check
