"""Gender-preserving debiasing where torch is not installed: importing, applying, the message."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from quick_cases import examples

from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Fitted
from wordbias.methods.gender_preserving import fit
from wordbias.methods.gender_preserving.networks import TanhEncoder

MODULES = [
    "gender_preserving",
    *(f"gender_preserving.{name}" for name in ("networks", "words")),
]


@pytest.fixture
def step() -> TanhEncoder:
    rng = np.random.default_rng(0)
    return TanhEncoder(rng.normal(size=(4, 4)), rng.normal(size=4))


def test_nothing_imports_torch() -> None:
    imports = "; ".join(f"import wordbias.methods.{module}" for module in MODULES)
    code = f"import sys; sys.modules['torch'] = None; {imports}"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_fitting_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(WordbiasError) as raised:
        fit(Embedding(["she", "he"], np.eye(2)))
    assert str(raised.value) == (
        'Gender-preserving debiasing needs torch; install it with: pip install "wordbias[torch]" '
        '(in a checkout: pip install ".[torch]")'
    )


def test_applying_needs_no_torch(monkeypatch: pytest.MonkeyPatch, step: TanhEncoder) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    embedding = Embedding(list("abcde"), np.random.default_rng(1).normal(size=(5, 4)))
    debiased = Fitted("gender-preserving", (step,))(embedding)
    np.testing.assert_array_equal(debiased.vectors, step(embedding.vectors))


@settings(max_examples=examples(60), deadline=None)
@given(arrays(np.float64, (3, 2, 4), elements=st.floats(-50, 50)))
def test_the_formula(x: Any) -> None:
    weight, bias = np.random.default_rng(0).normal(size=(4, 5)), np.arange(5.0)
    before = x.copy()
    encoded = TanhEncoder(weight, bias)(x)
    assert encoded.shape == (3, 2, 5)
    for place in np.ndindex(3, 2):
        for k in range(5):
            expected = np.tanh(sum(x[place][i] * weight[i, k] for i in range(4)) + bias[k])
            assert encoded[*place, k] == pytest.approx(expected, abs=1e3 * np.finfo(float).eps)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_float_type_is_kept(step: TanhEncoder, dtype: Any) -> None:
    encoded = step(np.ones((2, 4), dtype))
    assert encoded.dtype == dtype
    assert (np.abs(encoded) <= 1).all()


def test_integers_become_floats(step: TanhEncoder) -> None:
    np.testing.assert_array_equal(step(np.ones((2, 4), int)), step(np.ones((2, 4))))


def test_a_row_of_zeros_becomes_the_bias(step: TanhEncoder) -> None:
    np.testing.assert_array_equal(step(np.zeros(4)), np.tanh(step.bias))


def test_it_cannot_be_changed(step: TanhEncoder) -> None:
    weight = np.eye(4)
    copied = TanhEncoder(weight, np.zeros(4))
    weight[0, 0] = 5
    assert copied.weight[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        step.weight[0, 0] = 1


@pytest.mark.parametrize("shape", [(3,), (2, 5), (4, 1)])
def test_a_wrong_width(step: TanhEncoder, shape: tuple[int, ...]) -> None:
    with pytest.raises(WordbiasError, match="expected rows of 4 values"):
        step(np.zeros(shape))


@pytest.mark.parametrize(("weight", "bias"), [((4, 4), (3,)), ((4,), (4,)), ((4, 3), (4,))])
def test_shapes_that_do_not_fit(weight: tuple[int, ...], bias: tuple[int, ...]) -> None:
    with pytest.raises(WordbiasError, match=r"weight of shape \(d, k\) and k biases, got"):
        TanhEncoder(np.zeros(weight), np.zeros(bias))
