"""Primitives of pictures: scales, ticks, and drawings that can be read out."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wordbias.pages.panel import Look
from wordbias.pages.svg import (
    Scale,
    axis,
    drawing,
    fitted,
    hovered,
    label,
    legend,
    mark,
    scale,
    signed,
    ticks,
)

NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_every_value_has_a_place_within_the_picture_and_order_is_kept(values: list[float]) -> None:
    along = scale(values, 10, 350)
    places = [along(value) for value in sorted(values)]
    assert all(10 <= place <= 350 for place in places)
    assert places == sorted(places)


@given(NUMBERS, st.floats(1e-3, 1e6), st.integers(2, 8))
def test_ticks_are_few_round_and_within(low: float, span: float, count: int) -> None:
    high = low + span
    tick_values = ticks(low, high, count)
    slack = 1e-6 * span
    assert all(low - slack <= value <= high + slack for value in tick_values)
    assert len(tick_values) <= count + 1
    steps = {round(b - a, 9) for a, b in pairwise(tick_values)}
    for step in steps:
        mantissa = step / 10 ** math.floor(math.log10(step) + 1e-6)
        assert min(abs(mantissa - known) for known in (1, 2, 5, 10)) < 1e-3
    assert max(steps, default=0) - min(steps, default=0) <= 1e-6 * span


def test_zero_is_written_without_a_sign() -> None:
    assert ticks(-1, 1, 2) == [-1, 0, 1]
    assert [signed(value) for value in (-0.0, -0.25, 2)] == ["0", "−0.25", "2"]


def test_equal_values_get_some_room() -> None:
    along = scale([3.0, 3.0], 0, 100)
    assert along.low < 3 < along.high
    assert along(3.0) == pytest.approx(50)


def test_a_drawing_is_well_formed_and_says_what_it_is() -> None:
    along = Scale(0, 1, 10, 350)
    marks = [mark(20, 20, "a", shape=shape) for shape in ("circle", "square", "diamond")]
    text = drawing(
        100,
        "a <title>",
        "what & why",
        axis(along, 10, 80, "x < 1", {}),
        hovered("a & b", *marks, label(5, 5, "<word>", anchor="end", class_="name")),
        legend([("before", Look("a"))], 4, 12),
    )
    root = ElementTree.fromstring(text)
    assert root.attrib["role"] == "img"
    assert root.attrib["viewBox"] == "0 0 360 100"
    assert [child.tag for child in root][:2] == ["title", "desc"]
    assert [child.text for child in root][:2] == ["a <title>", "what & why"]
    assert root.attrib["aria-label"] == "a <title>. what & why"
    assert "<word>" in [element.text for element in root.iter("text")]
    assert root.find(".//g/title") is not None


def test_text_is_cut_to_its_room() -> None:
    assert fitted("nurse", 100) == "nurse"
    assert fitted("n" * 100, 100).endswith("…")
    assert len(fitted("n" * 100, 100)) == 16
    assert fitted("nurse", 1) == "…"


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=4))
@example([0.0, 5e-324])
@example([1e17, 1e17 + 16])
def test_a_scale_of_any_values_has_room_and_ticks(values: list[float]) -> None:
    axis_scale = scale(values, 0, 100)
    assert axis_scale.low < min(values) <= max(values) < axis_scale.high
    slack = 1e-6 * (axis_scale.high - axis_scale.low)
    assert all(
        axis_scale.low - slack <= tick <= axis_scale.high + slack for tick in axis_scale.ticks()
    )
