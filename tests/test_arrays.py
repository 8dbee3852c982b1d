"""From numpy to torch and back: types, and what is not copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wordbias.arrays import like

FLOATS = [np.float16, np.float32, np.float64]


@pytest.fixture
def fitted() -> np.ndarray[Any, Any]:
    values = np.random.default_rng(0).normal(size=(2, 5))
    values.flags.writeable = False
    return values


@pytest.mark.parametrize("kind", [*FLOATS, np.int32, np.bool_])
def test_numpy_takes_the_float_type_of_the_rows_and_of_others_float64(
    fitted: Any, kind: Any
) -> None:
    cast = like(fitted, np.zeros(3, kind))
    assert cast.dtype == (kind if kind in FLOATS else np.float64)
    assert (cast == fitted.astype(cast.dtype)).all()


def test_what_fits_is_not_copied(fitted: Any) -> None:
    assert like(fitted, np.zeros(1)) is fitted
    assert like(fitted, np.zeros(1, np.float32)) is not fitted


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_torch_takes_the_type_of_the_tensor_and_a_copy(fitted: Any, kind: str) -> None:
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    before = fitted.copy()
    cast = like(fitted, torch.zeros(1, dtype=getattr(torch, kind)))
    assert cast.dtype == getattr(torch, kind)
    assert cast.tolist() == torch.tensor(before).to(cast.dtype).tolist()
    cast += 1
    assert (fitted == before).all()


def test_there_and_back_is_the_same(fitted: Any) -> None:
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    wide = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    there = like(fitted, wide)
    assert like(there, wide) is there
    assert (like(there, np.zeros(1)) == fitted).all()
    assert like(there, np.zeros(1, np.float32)).dtype == np.float32
