"""Linear maps by oneDNN: the products and gradients of the plain formulas, to rounding."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples
from torch import Generator, Tensor

from wordbias import products
from wordbias.nli.model import Feedforward, Linear, TwoLayers, product
from wordbias.products import has_fast_products

EPS = float(torch.finfo(torch.float32).eps)
WIDTHS = st.integers(1, 40)

available = pytest.mark.skipif(
    not has_fast_products(torch.zeros(1)), reason="torch has no oneDNN with AVX-512 here"
)


def _within_rounding(found: Tensor, exact: Tensor, bound: Tensor, terms: int) -> None:
    """Higham (2002), (3.5): a sum of n products errs by at most n·u/(1 - n·u) of their sizes.

    A result in bfloat16 is rounded once more, to 8 bits.
    """
    n = terms + 1
    share = n * EPS / (1 - n * EPS) + (2.0**-8 if found.dtype == torch.bfloat16 else 0)
    assert ((found.double() - exact).abs() <= share * bound).all()


@available
@settings(max_examples=examples(60), deadline=None)
@given(
    st.integers(1, 3), WIDTHS, WIDTHS, WIDTHS, st.booleans(), st.booleans(), st.booleans(),
    st.integers(0, 99),
)  # fmt: skip
def test_a_product_is_that_of_the_formula(
    models: int, rows: int, inputs: int, outputs: int, bias: bool, relu: bool, half: bool, seed: int
) -> None:
    source = Generator().manual_seed(seed)
    sizes = (models, rows, inputs), (models, inputs, outputs), (models, 1, outputs)
    kind = (
        torch.bfloat16 if half and has_fast_products(torch.zeros(1).bfloat16()) else torch.float32
    )
    x, w, b = (torch.randn(size, generator=source).to(kind) for size in sizes)
    computed = product(x, w, b if bias else None, relu)
    assert computed.dtype == kind
    x, w, b = (tensor.double() for tensor in (x, w, b))
    exact, size = x @ w + bias * b, x.abs() @ w.abs() + bias * b.abs()
    _within_rounding(computed, exact.relu() if relu else exact, size, inputs)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 3), WIDTHS, WIDTHS, WIDTHS, st.booleans(), st.integers(0, 99))
def test_gradients_of_a_linear_map_are_those_of_the_formulas(
    models: int, rows: int, inputs: int, outputs: int, has_bias: bool, seed: int
) -> None:
    source = Generator().manual_seed(seed)
    x = torch.randn(models, rows, inputs, generator=source).requires_grad_()
    linear = Linear(models, inputs, outputs, has_bias)
    with torch.no_grad():
        for parameter in linear.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=source))
    weight, bias = linear.weight, linear.bias
    above = torch.randn(models, rows, outputs, generator=source)
    linear(x).backward(above)
    exact, w, g = (tensor.detach().double() for tensor in (x, weight, above))
    _within_rounding(x.grad, g @ w.mT, g.abs() @ w.mT.abs(), outputs)
    _within_rounding(weight.grad, exact.mT @ g, exact.mT.abs() @ g.abs(), rows)
    if bias is not None:
        _within_rounding(bias.grad, g.sum(1, True), g.abs().sum(1, True), rows)


def test_an_input_that_is_not_learnt_has_no_gradient() -> None:
    linear = Linear(1, 5, 4)
    torch.nn.init.ones_(linear.weight)
    torch.nn.init.zeros_(linear.bias)
    words = torch.ones(1, 3, 5)
    linear(words).sum().backward()
    assert words.grad is None
    assert torch.equal(linear.weight.grad, torch.full((1, 5, 4), 3.0))


def _two_layers(
    models: int, rows: int, widths: list[int], hidden: int, seed: int
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Return factors of dropout, parameters and parts of the input, in float64."""
    source = Generator().manual_seed(seed)
    inputs = sum(widths)
    factors = [
        torch.randint(0, 2, (models, rows, width), generator=source) * 1.25
        for width in (inputs, hidden)
    ]
    sizes = [(inputs, hidden), (1, hidden), (hidden, hidden), (1, hidden)]
    parameters, parts = (
        [
            torch.randn(models, *size, generator=source, dtype=torch.float64).requires_grad_()
            for size in all_sizes
        ]
        for all_sizes in (sizes, [(rows, width) for width in widths])
    )
    return [factor.double() for factor in factors], parameters, parts


@pytest.mark.parametrize("drops", [True, False])
@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 3), st.integers(1, 9), st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.integers(1, 9), st.integers(0, 99),
)  # fmt: skip
def test_two_layers_are_those_of_the_formulas(
    drops: bool, models: int, rows: int, widths: list[int], hidden: int, seed: int
) -> None:
    """[Dropout, linear, ReLU] twice, and what torch's own operations have for gradients."""
    factors, parameters, parts = _two_layers(models, rows, widths, hidden, seed)
    w1, b1, w2, b2 = parameters
    x = torch.cat(parts, 2)
    plain = (x * factors[0] if drops else x) @ w1 + b1
    plain = plain.relu() * factors[1] if drops else plain.relu()
    plain = (plain @ w2 + b2).relu()
    ours = TwoLayers.apply(*(factors if drops else (None, None)), 1.25, *parameters, *parts)
    torch.testing.assert_close(ours, plain, rtol=1e-12, atol=1e-13)
    above = torch.randn(ours.shape, generator=Generator().manual_seed(seed), dtype=torch.float64)
    for gradient, wanted in zip(
        *(torch.autograd.grad(y, [*parameters, *parts], above) for y in (ours, plain)),
        strict=True,
    ):
        torch.testing.assert_close(gradient, wanted, rtol=1e-11, atol=1e-12)


def test_parameters_keep_their_type_in_bfloat16() -> None:
    """A gradient in bfloat16 is within two per cent, for positive terms do not cancel."""
    factors, parameters, parts = _two_layers(1, 40, [9, 7], 12, 0)
    ends = []
    for dtype in (torch.float64, torch.bfloat16):
        own = [tensor.detach().abs().float().requires_grad_() for tensor in [*parameters, *parts]]
        given_parts = [part.to(dtype) for part in own[4:]]
        y = TwoLayers.apply(*(factor.to(dtype) for factor in factors), 1.25, *own[:4], *given_parts)
        assert y.dtype == dtype
        y.double().sum().backward()
        assert all(tensor.grad.dtype == torch.float32 for tensor in own)
        ends.append([tensor.grad for tensor in own])
    for exact, gradient in zip(*ends, strict=True):
        torch.testing.assert_close(gradient, exact, rtol=0.02, atol=0)


@available
def test_only_types_that_one_dnn_computes_with_fully_on_a_cpu_are_its_own() -> None:
    assert not has_fast_products(torch.zeros(1, dtype=torch.float64))
    assert not has_fast_products(torch.zeros(1, device="meta"))
    half = bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    assert has_fast_products(torch.zeros(1, dtype=torch.bfloat16)) == half


def test_without_one_dnn_torch_multiplies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever multiplies, a network computes the same."""
    network = Feedforward(2, 7, 5, 0.0)
    source = Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.rand(parameter.shape, generator=source))
    x = torch.rand(2, 9, 7, generator=source)
    fast = network([x], (9, 9), ())
    monkeypatch.setattr(products, "has_one_dnn", lambda: False)
    assert not has_fast_products(x)
    plain = network([x], (9, 9), ())
    torch.testing.assert_close(fast, plain, rtol=1e-5, atol=0)  # positive terms: no cancellation
