"""Decimals are read exactly as Python's own `float` reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import examples

from wordbias.formats.decimal import PAD, BadNumber, parse_decimals

OVERFLOW = 2.0**128 - 2.0**103
"""Half way between the largest float32 and what would follow: from here on it is infinite."""

FORMS = ["{!r}", "{:.5f}", "{:.9g}", "{:.15f}", "{:.0f}", "{:+.6f}", "{:e}", "{:.12E}", "{:.17g}"]
WRITTEN = r"[+-]?([0-9]{1,25}\.[0-9]{0,25}|\.[0-9]{1,25}|[0-9]{1,25})([eE][+-]?[0-9]{1,2})?"


def parse(tokens: Sequence[bytes]) -> NDArray[np.float32]:
    text = b"0" * PAD + b" ".join(tokens) + b"\n"
    lengths = np.array([len(token) for token in tokens])
    ends = PAD + np.cumsum(lengths + 1) - 1
    return parse_decimals(np.frombuffer(text, np.uint8), ends - lengths, ends)


def bits(values: NDArray[np.float32]) -> list[int]:
    return values.view(np.uint32).tolist()


def expected(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.array([np.float32(float(text)) for text in texts], np.float32)


def in_range(text: str) -> bool:
    return abs(float(text)) < OVERFLOW


single = st.floats(width=32, allow_nan=False, allow_infinity=False)
double = st.floats(-3e38, 3e38)
printed = st.builds(lambda form, x: form.format(x), st.sampled_from(FORMS), single | double)
written = st.from_regex(WRITTEN, fullmatch=True).filter(in_range)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(300))
@given(st.lists(printed | written, min_size=1, max_size=30))
@example(["0.0", "-0.0", "-0", "+0.0", "00.5", "000012.50", "5.", ".5", "-.5", "+.5e1"])
@example(["9.99999999999999", "0.00000000000001", "1.123456789012345", "7.0000000000000000001"])
@example(["1e-45", "-1.4012984643e-45", "7e-46", "3.4028234663852886e38", "1e-400"])
@example(["16777217.0", "0.1000000014901161", "1.00000005960464477539", "123456789012345678901"])
def test_every_way_to_print_a_number_reads_as_float_does(texts: list[str]) -> None:
    assert bits(parse([text.encode() for text in texts])) == bits(expected(texts))


def test_more_numbers_than_are_parsed_at_once() -> None:
    values = np.random.default_rng(0).normal(0, 0.3, 40_000)
    texts = [FORMS[i % len(FORMS)].format(x) for i, x in enumerate(values.tolist())]
    assert bits(parse([text.encode() for text in texts])) == bits(expected(texts))


@pytest.mark.parametrize("digits", range(12, 19))
def test_numbers_half_way_between_two_float32(digits: int) -> None:
    below = np.random.default_rng(digits).uniform(0.1, 9.9, 20_000).astype(np.float32)
    middle = (below.astype(np.float64) + np.nextafter(below, np.float32(10))) / 2
    texts = [f"{x:.{digits}f}" for x in middle.tolist()]
    assert bits(parse([text.encode() for text in texts])) == bits(expected(texts))


NO_NUMBERS = """- + . -. +. e5 .e5 1e 1e+ 1.5e- 1..2 1.2.3 1-2 1.5-2 --1 +-1 -+1.5 0x1 0x1p3 1_000
1_0.5 0.1_5 1,5 1.5f 1.5d 1.5j 0.1234567: 0.123/56 0.:2345678 /.5 :.5 1.23456789: nan NaN -nan inf
-inf +inf Infinity infinity 1e400 -1e400 1e39 3.5e38 word ²  0.5² ١ ١.٥ １.５ 1.٥ 1.5\x00 \x00
1\x00.5 1.5\t \t1.5 1.5\r \x0b1.5 1.5\x85 (1.5) "1.5" 1.5% ½ −1.5""".replace("\n", " ").split(" ")


@pytest.mark.parametrize("bad", sorted({*NO_NUMBERS, ""}))
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_no_number_is_named_with_its_index(bad: str, place: int) -> None:
    tokens = [b"0.5", b"-1.25"]
    tokens.insert(place, bad.encode())
    with pytest.raises(BadNumber) as caught:
        parse(tokens)
    assert caught.value.index == place
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", [repr(OVERFLOW), repr(-OVERFLOW), "3.5e38", "9" * 39])
def test_what_float32_cannot_hold_is_no_number(text: str) -> None:
    with pytest.raises(BadNumber):
        parse([text.encode()])


def test_a_very_long_token_does_not_flood_the_message() -> None:
    with pytest.raises(BadNumber) as caught:
        parse([b"9" * 5000])
    assert len(str(caught.value)) < 200


def test_the_largest_double_that_still_rounds_to_a_finite_float32() -> None:
    below = repr(float(np.nextafter(OVERFLOW, 0)))
    assert parse([below.encode()]).tolist() == [float(np.finfo(np.float32).max)]


def is_decimal(text: str) -> bool:
    """Say with `float` whether a token is a decimal in the narrow sense."""
    try:
        return np.isfinite(float(text)) and re.search("[^0-9.eE+-]", text) is None
    except ValueError:
        return False


@settings(deadline=None, max_examples=examples(500))
@given(st.text("0159.-+eE/:_;x\x00\xb2", max_size=20))
def test_exactly_the_decimals_are_accepted(text: str) -> None:
    if is_decimal(text) and in_range(text):
        assert bits(parse([text.encode()])) == bits(expected([text]))
    elif is_decimal(text):
        with pytest.raises(BadNumber):
            parse([text.encode()])
    else:
        with pytest.raises(BadNumber):
            parse([text.encode("latin-1")])
