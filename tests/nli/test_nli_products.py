"""Linear maps by oneDNN: the products and gradients of the plain formulas, to rounding."""

from __future__ import annotations

from itertools import pairwise

import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator, Tensor

from wordbias.nli import model as network
from wordbias.nli.model import Linear, has_fast_products

EPS = float(torch.finfo(torch.float32).eps)
WIDTHS = st.integers(1, 40)

available = pytest.mark.skipif(
    not has_fast_products(torch.zeros(1)), reason="torch has no oneDNN with AVX-512 here"
)


def _within_rounding(found: Tensor, exact: Tensor, bound: Tensor, terms: int) -> None:
    """Higham (2002), (3.5): a sum of n products errs by at most n·u/(1 - n·u) of their sizes."""
    n = terms + 1
    assert ((found.double() - exact).abs() <= n * EPS / (1 - n * EPS) * bound).all()


@available
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), WIDTHS, WIDTHS, WIDTHS, st.booleans(), st.booleans(), st.integers(0, 99))
def test_products_and_gradients_are_those_of_the_formulas(
    models: int, rows: int, inputs: int, outputs: int, has_bias: bool, relu: bool, seed: int
) -> None:
    source = Generator().manual_seed(seed)
    x = torch.randn(models, rows, inputs, generator=source).requires_grad_()
    linear = Linear(models, inputs, outputs, has_bias, relu)
    with torch.no_grad():
        for parameter in linear.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=source))
    weight, bias = linear.weight, linear.bias
    y = linear(x)
    assert type(y.grad_fn).__name__ == "ProductsBackward"
    above = torch.randn(models, rows, outputs, generator=source)
    y.backward(above)
    exact, w, g = (one.detach().double() for one in (x, weight, above))
    expected, size = exact @ w, exact.abs() @ w.abs()
    if bias is not None:
        expected, size = expected + bias.detach(), size + bias.detach().abs()
    if relu:
        expected, g = expected.relu(), g * (y.detach() > 0)
    _within_rounding(y.detach(), expected, size, inputs)
    _within_rounding(x.grad, g @ w.mT, g.abs() @ w.mT.abs(), outputs)
    _within_rounding(weight.grad, exact.mT @ g, exact.mT.abs() @ g.abs(), rows)
    if bias is not None:
        _within_rounding(bias.grad, g.sum(1, True), g.abs().sum(1, True), rows)


@available
def test_an_input_that_is_not_learnt_has_no_gradient() -> None:
    linear = Linear(1, 5, 4)
    torch.nn.init.ones_(linear.weight)
    torch.nn.init.zeros_(linear.bias)
    words = torch.ones(1, 3, 5)
    linear(words).sum().backward()
    assert words.grad is None
    assert torch.equal(linear.weight.grad, torch.full((1, 5, 4), 3.0))


@available
def test_only_float32_on_a_cpu_is_multiplied_by_one_dnn() -> None:
    assert not has_fast_products(torch.zeros(1, dtype=torch.float64))
    assert not has_fast_products(torch.zeros(1, device="meta"))
    with torch.autocast("cpu", torch.bfloat16):
        assert not has_fast_products(torch.zeros(1))


def test_without_one_dnn_torch_multiplies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever multiplies, a network of some layers computes the same."""
    layers = [Linear(2, a, b, relu=True) for a, b in pairwise((7, 5, 6, 4))]
    source = Generator().manual_seed(0)
    with torch.no_grad():
        for layer in layers:
            for parameter in layer.parameters():
                parameter.copy_(torch.rand(parameter.shape, generator=source))
    chain = torch.nn.Sequential(*layers)
    x = torch.rand(2, 9, 7, generator=source)
    fast = chain(x)
    monkeypatch.setattr(network, "_has_one_dnn", lambda: False)
    plain = chain(x)
    assert "Products" not in type(plain.grad_fn).__name__
    torch.testing.assert_close(fast, plain, rtol=1e-5, atol=0)  # positive terms: no cancellation
