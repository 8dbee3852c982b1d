"""Arguments that no function can use: one error that names the argument, from every function."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias.errors import WordbiasError

LOOP: list[Any] = ["she"]
LOOP.append(LOOP)
RING: dict[str, Any] = {}
RING["female"] = [RING]
MASKED = np.ma.masked_array(np.eye(6), np.eye(6, dtype=bool))
LABELS = np.array([0, 1] * 3)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: wb.measure(groups=RING), "groups="),
        (lambda: wb.measure(LOOP), "embeddings="),
        (lambda: wb.measure(groups={}), "groups="),
        (lambda: wb.quality(LOOP), "embeddings="),
        (lambda: wb.erase(MASKED, LABELS), "vectors="),
        (lambda: wb.erase(np.eye(6), np.ma.masked_array(LABELS, LABELS)), "labels="),
        (lambda: wb.erase(np.array(3.0), LABELS), "vectors="),
        (lambda: wb.probe({}, LABELS), "vectors="),
        (lambda: wb.fairness(np.ma.masked_array(LABELS, LABELS), LABELS, LABELS), "predictions="),
        (lambda: wb.LEACE().fit(MASKED, LABELS), "X"),
        (lambda: wb.LEACE().fit(np.eye(6), np.ma.masked_array(LABELS, LABELS)), "y"),
        (lambda: wb.LEACE(groups=np.eye(3)).fit(np.eye(6), LABELS), "LEACE: groups="),
        (lambda: wb.Hard(groups=RING).fit(wb.Embedding.sample()), "groups="),
        (lambda: wb.erase(object(), LABELS), "vectors"),
        (lambda: wb.erase({"x": None}, LABELS), "column 'x'"),
        (lambda: wb.erase(np.eye(6), " "), "labels="),
        (lambda: wb.fairness(LABELS, LABELS, LABELS, costs=np.full((2, 2), 1j)), "costs="),
        (lambda: wb.from_fairlearn({"x": None}), "frame="),
        (lambda: wb.load_method(5), "path="),
        (lambda: wb.probe(np.eye(6), LABELS, adapter=np.eye(3)), "adapter="),
        (lambda: wb.push(wb.MHD(), "me/x", report=5), "report="),
        (lambda: wb.report(""), "rows="),
        (lambda: wb.rewrite("scrub", {"she": "a text"}), "DATA"),
    ],
)
def test_it_is_named(call: Any, name: str) -> None:
    with pytest.raises((WordbiasError, TypeError)) as error:
        call()
    assert str(error.value).startswith(name)
    assert "\n" not in str(error.value)


def test_a_text_that_is_too_long_for_a_name_of_a_file() -> None:
    with pytest.raises(WordbiasError, match="File name too long"):
        wb.Hard(groups="z" * 100_000).fit(wb.Embedding.sample())


def test_a_fraction_is_a_number() -> None:
    words = ["nurse", "doctor", "she", "he", "her", "him", "woman", "man"]
    small = wb.Embedding.sample().subset(words)
    first, second = (
        wb.RAN(words=["nurse", "doctor"], theta=theta, iterations=2).fit(small).transform(small)
        for theta in (Fraction(1, 20), 0.05)
    )
    np.testing.assert_array_equal(first.vectors, second.vectors)


def test_options_without_effect_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=r"^mirror=: give the names"):
        wb.fetch(mirror="https://example.org")
    (tmp_path / "pro_stereotyped_type1.txt.dev").write_text("1 [The cook] saw [he].\n")
    with pytest.raises(WordbiasError, match=r"^shares=: is for the scores of a system"):
        wb.winobias(tmp_path, shares={"cook": 40.0})
