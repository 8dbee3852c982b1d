"""Arguments that no function can use: one error that names the argument, from every function."""

from __future__ import annotations

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
    ],
)
def test_it_is_named(call: Any, name: str) -> None:
    with pytest.raises((WordbiasError, TypeError)) as error:
        call()
    assert str(error.value).startswith(f"{name}:") or f"{name}: " in str(error.value)
    assert "\n" not in str(error.value)


def test_options_without_effect_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=r"^mirror=: give the names"):
        wb.fetch(mirror="https://example.org")
    (tmp_path / "pro_stereotyped_type1.txt.dev").write_text("1 [The cook] saw [he].\n")
    with pytest.raises(WordbiasError, match=r"^shares=: is for the scores of a system"):
        wb.winobias(tmp_path, shares={"cook": 40.0})
