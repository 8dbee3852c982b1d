"""The arithmetic of the online code, and its figure as published."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.probes.mdl import (
    OnlineCode,
    online_codelength,
    published_codelength,
    share_compression,
    to_published,
    uniform_codelength,
)
from wordbias.probes.train import Result


def to_bits(published: float, f1: float) -> float:
    """The inverse of `to_published`."""
    return 1 / (f1 + (1 / published - f1) / math.log(2))


losses = st.lists(st.floats(0, 1e5), min_size=1, max_size=12)


def _code(first: int, sizes: list[int], nats: list[float], k: int = 2) -> OnlineCode:
    blocks = [Result(loss, 0, n, 1, 1) for loss, n in zip(nats, sizes, strict=True)]
    return OnlineCode(k, first, tuple(blocks))


@given(st.integers(1, 500), losses, st.integers(2, 30))
def test_published_and_bits_obey_the_conversion(first: int, nats: list[float], k: int) -> None:
    code = _code(first, [100] * len(nats), nats, k)
    f1 = first / code.n
    converted = to_bits(code.compression_as_published, f1)
    assert converted == pytest.approx(code.compression, rel=1e-9)
    assert to_published(code.compression, f1) == pytest.approx(
        code.compression_as_published, rel=1e-9
    )


@pytest.mark.parametrize("f1", [0.02, 0.001])
@pytest.mark.parametrize("k", [2, 3, 28])
def test_an_ideal_uninformative_probe(f1: float, k: int) -> None:
    """It gives every label 1/K: neutral is 1 in bits and 1 / (f + (1 - f) ln 2) as published."""
    n = 10_000
    first = int(f1 * n)
    code = _code(first, [n - first], [(n - first) * math.log(k)], k)
    assert code.compression == pytest.approx(1, rel=1e-12)
    expected = 1 / (f1 + (1 - f1) * math.log(2))
    assert code.compression_as_published == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx({0.02: 1.430, 0.001: 1.442}[f1], abs=5e-4)


@given(st.lists(st.integers(1, 400), min_size=2, max_size=9), st.floats(0.001, 0.9))
def test_a_probe_that_knows_the_shares_alone_is_neutral(counts: list[int], f1: float) -> None:
    """It gives every label its share; with equal shares that is 1/K, and neutral is 1."""
    labels = np.repeat(np.arange(len(counts)), counts)
    n, k = len(labels), len(counts)
    first = max(1, int(f1 * n))
    nats = -np.log(np.array(counts) / n)[labels].mean()
    code = _code(first, [n - first], [(n - first) * nats], k)
    neutral = share_compression(labels, first / n)
    assert code.compression == pytest.approx(neutral, rel=1e-9)
    assert neutral == 1 if len({*counts}) == 1 and k == 2 else neutral >= 1
    published = to_published(neutral, first / n)
    assert code.compression_as_published == pytest.approx(published, rel=1e-9)


def test_labels_of_one_class_have_nothing_to_compress() -> None:
    assert share_compression(np.zeros(5), 0.02) == 1


def test_the_upper_bound_is_one_by_the_first_block() -> None:
    assert _code(20, [980], [0.0]).compression == pytest.approx(50)


@pytest.mark.parametrize(
    ("printed", "bits", "digits"),
    [
        (4.121, 2.93, 2),
        (8.522, 6.23, 2),
        (3.568, 2.53, 2),
        (1.699, 1.19, 2),
        (1.984, 1.39, 2),
        (2.073, 1.46, 2),
        (1.502, 1.05, 2),
        (1.540, 1.08, 2),
        (3.570, 2.530, 2),
    ],
)
def test_the_published_figures_in_bits(printed: float, bits: float, digits: int) -> None:
    """Orgad et al. (2022), Tables 2 and 3, whose first block is 2 %."""
    assert round(to_bits(printed, 0.02), digits) == pytest.approx(bits, abs=0.0101)


def test_a_code_computed_by_hand() -> None:
    """Two of eight sent at a bit each; the others guessed with probabilities ½ and ¼."""
    code = _code(2, [2, 4], [2 * math.log(2), 4 * math.log(4)])
    assert code.codelength == pytest.approx(2 + 2 + 8)
    assert code.uniform == 8
    assert code.compression == pytest.approx(8 / 12)
    assert code.bits() == pytest.approx([2, 2, 8])
    assert code.ends().tolist() == [2, 4, 8]
    assert code.compression_as_published == pytest.approx(8 / (2 + 10 * math.log(2)))


@given(st.integers(1, 99), st.integers(2, 40), st.floats(0, 1e4))
def test_the_functions_are_what_the_object_says(t1: int, k: int, nats: float) -> None:
    code = _code(t1, [50], [nats], k)
    assert code.codelength == online_codelength(t1, k, nats)
    assert code.uniform == uniform_codelength(t1 + 50, k)
    published = published_codelength(t1, k, nats)
    assert code.compression_as_published == pytest.approx(code.uniform / published)
    assert published <= code.codelength, "nats are fewer than bits"
    assert np.sum(code.bits()) == pytest.approx(code.codelength)
