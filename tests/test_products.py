"""Products by oneDNN are those of torch, and stand where they are said to stand."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from tests.tiny_encoders import build  # noqa: E402
from wordbias import products as module  # noqa: E402
from wordbias.models.model_like import evaluating  # noqa: E402
from wordbias.products import products  # noqa: E402

pytestmark = pytest.mark.skipif(
    not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="this torch has no oneDNN"
)

EPSILON = torch.finfo(torch.float32).eps


class _OfAnotherLibrary(torch.Tensor):
    """Type with products of its own, such as those of quantised weights."""


@pytest.fixture
def calls(monkeypatch):
    """Let every product of any size be computed by oneDNN; return the shapes of those that were."""
    shapes = []
    inner = module.fast_product

    def counted(x, weight, bias=None):
        shapes.append((tuple(x.shape), tuple(weight.shape)))
        return inner(x, weight, bias)

    monkeypatch.setattr(module, "has_one_dnn", lambda: True)
    monkeypatch.setattr(module, "LEAST", 0)
    monkeypatch.setattr(module, "fast_product", counted)
    return shapes


def bound(x, weight):
    """Bound of the rounding error of a product: γₙ |x| |W|ᵀ, for any order of its sums."""
    return x.shape[-1] * EPSILON * (x.abs() @ weight.abs().T) + EPSILON


@settings(deadline=None, max_examples=50)
@given(
    rows=st.lists(st.integers(1, 9), min_size=1, max_size=2),
    n=st.integers(1, 70),
    m=st.integers(1, 70),
    has_bias=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_values_and_gradients_are_those_of_float64(rows, n, m, has_bias, seed):
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(*rows, n, generator=rng)
    weight = torch.randn(m, n, generator=rng)
    bias = torch.randn(m, generator=rng) if has_bias else None
    of_y = torch.randn(*rows, m, generator=rng)
    leaves = [y.clone().requires_grad_() for y in (x, weight, bias) if y is not None]
    y = module._Linear.apply(*leaves)
    y.backward(of_y)
    wide = [leaf.detach().double().requires_grad_() for leaf in leaves]
    exact = nn.functional.linear(*wide)
    exact.backward(of_y.double())
    flat, flat_of_y = x.reshape(-1, n), of_y.reshape(-1, m)
    bounds = [
        bound(of_y, weight.T),
        bound(flat_of_y.T, flat.T),
        len(flat) * EPSILON * flat_of_y.abs().sum(0) + EPSILON,
    ]
    assert y.shape == exact.shape
    more = EPSILON * (1 + exact.abs())  # of the bias
    assert bool(((y - exact).abs() <= bound(x, weight) + more).all())
    for leaf, exact_leaf, most in zip(leaves, wide, bounds, strict=False):
        assert bool(((leaf.grad - exact_leaf.grad).abs() <= most).all())


def test_only_what_asks_for_a_gradient_has_one(calls):
    x, weight = torch.randn(3, 4), torch.randn(5, 4, requires_grad=True)
    with products("cpu"):
        y = nn.functional.linear(x, weight)
    y.sum().backward()
    assert len(calls) == 2  # the product, and the gradient of the weight alone
    torch.testing.assert_close(weight.grad, torch.ones(3, 5).T @ x)


def test_a_model_that_is_evaluated_has_the_vectors_of_torch(calls):
    model = build("bert", "Model")
    inputs = {"input_ids": torch.tensor([[1, 2, 3], [4, 5, 6]])}
    with torch.inference_mode():
        expected = model(**inputs).last_hidden_state
        assert not calls
        with evaluating(model):
            y = model(**inputs).last_hidden_state
    assert calls
    torch.testing.assert_close(y, expected, rtol=1e-5, atol=1e-6)


def test_a_training_step_is_that_of_torch(calls):
    ours = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 2))
    theirs = copy.deepcopy(ours)
    x = torch.randn(4, 6)
    with products("cpu"):
        loss = ours(x).square().sum()
    loss.backward()
    theirs(x).square().sum().backward()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)
    assert len(calls) == 2 + 3  # the first layer's inputs have no gradient


@pytest.mark.parametrize(
    "why", ["float64", "bfloat16", "autocast", "another type", "switched off", "small", "processor"]
)
def test_other_products_are_torchs(calls, why, monkeypatch):
    layer, x, half = nn.Linear(8, 8), torch.randn(4, 8), why == "autocast"
    if why in ("float64", "bfloat16"):
        layer, x = layer.to(getattr(torch, why)), x.to(getattr(torch, why))
    if why == "another type":
        layer.weight = nn.Parameter(layer.weight.detach().as_subclass(_OfAnotherLibrary))
    if why == "switched off":
        monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    if why == "small":
        monkeypatch.setattr(module, "LEAST", 4 * 8 * 8 + 1)
    if why == "processor":
        monkeypatch.setattr(module, "has_one_dnn", lambda: False)
    expected = layer(x)
    with products("cpu", half=half), products("cpu"):
        y = layer(x)
    assert not calls
    if not half:
        assert torch.equal(y, expected)
