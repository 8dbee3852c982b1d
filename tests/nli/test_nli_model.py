"""Decomposable attention: as the paper's equations have it, whatever is beside or behind a pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples
from torch import Generator, Tensor

from wordbias.nli.files import shapes
from wordbias.nli.model import DecomposableAttention, Dropout, random_bytes

DIM, HIDDEN = 6, 12
TIGHT: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-11}
"""Float64 keeps 16 digits; sums of some thousand terms lose three or four of them."""


def _filled(model: DecomposableAttention, seed: int = 0) -> DecomposableAttention:
    """Draw weights large enough to matter, biases that keep most hidden units above zero."""
    source = Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = torch.randn(parameter.shape, generator=source)
            parameter.copy_(0.3 * drawn + (0.5 if name.endswith("bias") else 0))
    return model.double().eval()


def _words(length: int, seed: int) -> Tensor:
    return torch.randn(length, DIM, generator=Generator().manual_seed(seed), dtype=torch.float64)


def _padded(sentences: Sequence[Tensor], length: int = 0) -> tuple[Tensor, Tensor]:
    """Put sentences under each other; padding is full of large numbers, to be seen if it leaks."""
    length = max(length, *(len(x) for x in sentences))
    out = torch.full((1, len(sentences), length, DIM), 50.0, dtype=torch.float64)
    real = torch.zeros(1, len(sentences), length, dtype=torch.bool)
    for i, x in enumerate(sentences):
        out[0, i, : len(x)] = x
        real[0, i, : len(x)] = True
    return out, real


def _run(
    model: DecomposableAttention, pairs: Sequence[tuple[Tensor, Tensor]], more: tuple[int, int]
) -> Tensor:
    """Predict pairs in one batch, padded by as much as is asked for."""
    (p, real_p), (q, real_q) = (
        _padded([pair[i] for pair in pairs], max(len(pair[i]) for pair in pairs) + more[i])
        for i in (0, 1)
    )
    with torch.no_grad():
        predictions: Tensor = model(p, q, real_p, real_q)[0]
    return predictions


def _mlp(w: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    y = torch.relu(x @ w[f"{name}.first.weight"] + w[f"{name}.first.bias"][0])
    return torch.relu(y @ w[f"{name}.second.weight"] + w[f"{name}.second.bias"][0])


def _self_aligned(w: dict[str, Tensor], words: Tensor) -> list[Tensor]:
    """Section 3.4: a sentence attends to itself, with a bias for every distance below 10."""
    x = [word @ w["project.weight"] for word in words]
    if "distance" not in w:
        return x
    out = []
    for i in range(len(x)):
        scores = [
            _mlp(w, "intra", x[i]) @ _mlp(w, "intra", x[j]) + w["distance"][min(abs(i - j), 10)]
            for j in range(len(x))
        ]
        total = sum(torch.exp(score) for score in scores)
        mixed = sum(
            torch.exp(score) / total * other for score, other in zip(scores, x, strict=True)
        )
        out.append(torch.cat([x[i], mixed]))
    return out


def by_the_paper(w: dict[str, Tensor], premise: Tensor, hypothesis: Tensor) -> Tensor:
    """Write Parikh et al. (2016), equations (1) to (7), out for one pair, word by word."""
    a, b = _self_aligned(w, premise), _self_aligned(w, hypothesis)
    e = [[_mlp(w, "attend", x) @ _mlp(w, "attend", y) for y in b] for x in a]
    first, second = torch.zeros(HIDDEN).double(), torch.zeros(HIDDEN).double()
    for i in range(len(a)):
        total = sum(torch.exp(e[i][k]) for k in range(len(b)))
        beta = sum(torch.exp(e[i][j]) / total * b[j] for j in range(len(b)))
        first = first + _mlp(w, "compare", torch.cat([a[i], beta]))
    for j in range(len(b)):
        total = sum(torch.exp(e[k][j]) for k in range(len(a)))
        alpha = sum(torch.exp(e[i][j]) / total * a[i] for i in range(len(a)))
        second = second + _mlp(w, "compare", torch.cat([b[j], alpha]))
    y = _mlp(w, "aggregate", torch.cat([first, second]))
    scores = y @ w["classify.weight"] + w["classify.bias"][0]
    return torch.log(torch.exp(scores) / torch.exp(scores).sum())


@pytest.mark.parametrize(("intra", "count"), [(True, 582_214), (False, 381_803)])
def test_the_number_of_parameters_is_the_published_one(intra: bool, count: int) -> None:
    model = DecomposableAttention(300, intra=intra)
    assert sum(parameter.numel() for parameter in model.parameters()) == count


@pytest.mark.parametrize("intra", [True, False])
def test_parameters_have_the_names_and_shapes_of_the_file(intra: bool) -> None:
    model = DecomposableAttention(7, 4, intra=intra, models=3)
    sizes = {name: tuple(value.shape) for name, value in model.named_parameters()}
    assert sizes == {name: (3, *shape) for name, shape in shapes(7, 4, intra).items()}


@pytest.mark.parametrize("intra", [True, False])
@pytest.mark.parametrize("lengths", [(1, 1), (1, 4), (5, 2), (3, 3), (14, 12)])
def test_a_pair_is_predicted_by_the_equations(intra: bool, lengths: tuple[int, int]) -> None:
    model = _filled(DecomposableAttention(DIM, HIDDEN, intra=intra))
    weights = {name: value.detach()[0] for name, value in model.named_parameters()}
    premise, hypothesis = _words(lengths[0], 1), _words(lengths[1], 2)
    predicted = _run(model, [(premise, hypothesis)], (0, 0))[0]
    expected = by_the_paper(weights, premise, hypothesis)
    torch.testing.assert_close(predicted, expected, **TIGHT)
    torch.testing.assert_close(predicted.exp().sum(), torch.tensor(1.0).double(), **TIGHT)


def test_the_small_model_separates_pairs() -> None:
    """Were its hidden units all below zero, the tests here would pass by saying nothing."""
    model = _filled(DecomposableAttention(DIM, HIDDEN))
    predictions = _run(model, [(_words(3, i), _words(3, 10 + i)) for i in range(5)], (0, 0))
    assert (predictions.std(0) > 1e-3).all()


LENGTHS = st.lists(st.tuples(st.integers(1, 13), st.integers(1, 13)), min_size=1, max_size=5)


@settings(max_examples=examples(40), deadline=None)
@given(LENGTHS, st.tuples(st.integers(0, 4), st.integers(0, 4)), st.booleans())
def test_padding_never_changes_a_result(
    lengths: list[tuple[int, int]], more: tuple[int, int], intra: bool
) -> None:
    model = _filled(DecomposableAttention(DIM, HIDDEN, intra=intra))
    pairs = [(_words(p, 2 * i), _words(q, 2 * i + 1)) for i, (p, q) in enumerate(lengths)]
    alone = torch.cat([_run(model, [pair], (0, 0)) for pair in pairs])
    torch.testing.assert_close(_run(model, pairs, (0, 0)), alone, **TIGHT)
    torch.testing.assert_close(_run(model, pairs, more), alone, **TIGHT)


def test_padding_takes_part_in_no_gradient() -> None:
    model = _filled(DecomposableAttention(DIM, HIDDEN))
    (p, real_p), (q, real_q) = _padded([_words(2, 0), _words(5, 1)]), _padded([_words(4, 2)] * 2)
    p, q = (torch.cat([x, x], 2)[:, :, :7].requires_grad_() for x in (p, q))
    masks = [torch.nn.functional.pad(real, (0, 7 - real.shape[2])) for real in (real_p, real_q)]
    model(p, q, *masks)[0, :, 0].sum().backward()
    for x, real in zip((p, q), masks, strict=True):
        assert (x.grad[~real] == 0).all()
        assert (x.grad[real].abs().sum(-1) > 0).all()


def test_distances_of_ten_and_more_share_a_bias() -> None:
    model = _filled(DecomposableAttention(DIM, HIDDEN))
    pair = [(_words(13, 0), _words(12, 1))]
    weights = {name: value.detach()[0] for name, value in model.named_parameters()}
    before = _run(model, pair, (0, 0))[0]
    with torch.no_grad():
        model.distance[0, 10] += 1  # only pairs of places that lie 10 or more apart
    after = _run(model, pair, (0, 0))[0]
    assert not torch.allclose(before, after)
    torch.testing.assert_close(after, by_the_paper(weights, *pair[0]), **TIGHT)
    short = [(_words(10, 0), _words(9, 1))]  # nothing lies 10 apart
    weights["distance"] = weights["distance"] - torch.eye(11).double()[10]
    torch.testing.assert_close(
        _run(model, short, (0, 0))[0], by_the_paper(weights, *short[0]), **TIGHT
    )


@pytest.mark.parametrize("intra", [True, False])
def test_a_stack_computes_what_its_models_compute(intra: bool) -> None:
    models = [_filled(DecomposableAttention(DIM, HIDDEN, intra=intra), k) for k in range(3)]
    stack = DecomposableAttention(DIM, HIDDEN, intra=intra, models=3).double().eval()
    parts = [model.state_dict() for model in models]
    stack.load_state_dict({name: torch.cat([part[name] for part in parts]) for name in parts[0]})
    sides = [
        [_padded([_words(3 + k, 9 * k + i), _words(6 - k, 9 * k + 3 + i)], 6) for k in range(3)]
        for i in (0, 1)
    ]
    (p, real_p), (q, real_q) = ([torch.cat(x) for x in zip(*side, strict=True)] for side in sides)
    with torch.no_grad():
        together = stack(p, q, real_p, real_q)
        for k, model in enumerate(models):
            own = slice(k, k + 1)
            alone = model(p[own], q[own], real_p[own], real_q[own])
            torch.testing.assert_close(together[own], alone, **TIGHT)


def _dropped(dropout: Dropout, counts: Sequence[int], rows: int, width: int, seed: int) -> Tensor:
    """Return the factors of models of consecutive seeds, shape (K, rows, width)."""
    generators = [Generator().manual_seed(seed + k) for k in range(len(counts))]
    factors = dropout(rows, width, counts, generators, torch.float32)
    assert factors.shape == (len(counts), rows, width)
    return factors


@pytest.mark.parametrize("width", [7, 8])
def test_factors_depend_on_a_models_tokens_only(width: int) -> None:
    """Also those that are drawn next: spare rows, and models beside it, draw nothing of its own."""
    dropout = Dropout(0.5).train()
    ends = []
    for rows, others in ((6, ()), (9, ()), (9, (4, 9))):
        generators = [Generator().manual_seed(s) for s in range(1 + len(others))]
        counts = (6, *others)
        ends.append(
            [dropout(rows, width, counts, generators, torch.float32)[0, :6] for _ in range(2)]
        )
    assert not torch.equal(*ends[0])
    for end in ends[1:]:
        assert torch.equal(end[0], ends[0][0])
        assert torch.equal(end[1], ends[0][1])


def test_models_of_a_stack_draw_the_same_as_single_models() -> None:
    dropout = Dropout(0.3).train()
    stacked = _dropped(dropout, (5, 3), 8, 9, 5)
    for k, count in enumerate((5, 3)):
        alone = _dropped(dropout, (count,), count, 9, 5 + k)
        assert torch.equal(stacked[k, :count], alone[0])


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.5])
def test_the_rate_is_rounded_to_a_256th(rate: float) -> None:
    count = 400_000
    factors = _dropped(Dropout(rate).train(), (count // 100,), count // 100, 100, 0)
    rounded = round(256 * rate) / 256
    assert abs(rounded - rate) <= 1 / 512
    assert factors.unique().tolist() == pytest.approx([0, 1 / (1 - rounded)])
    dropped = float((factors == 0).double().mean())
    assert abs(dropped - rounded) < 5 * (rounded * (1 - rounded) / count) ** 0.5


def test_no_rate_drops_everything() -> None:
    factors = _dropped(Dropout(0.9999).train(), (100,), 100, 100, 0)
    assert factors.unique().tolist() == [0, 256]


def test_nothing_is_dropped_in_evaluation_or_at_rate_0() -> None:
    assert Dropout(0.5).eval()(4, 3, (4,), (), torch.float32) is None
    assert Dropout(0.0).train()(4, 3, (4,), (), torch.float32) is None


def test_random_bytes_are_uniform() -> None:
    """Pearson's statistic of 256 classes has mean 255 and variance 2 · 255."""
    drawn = random_bytes(1000, 1000, 333, Generator().manual_seed(0))
    assert drawn.shape == (1000, 333)
    counts = torch.bincount(drawn.flatten().long(), minlength=256).double()
    statistic = float(((counts - 1300.78125) ** 2 / 1300.78125).sum())
    assert counts.sum() == 333_000 == 1300.78125 * 256
    assert abs(statistic - 255) < 5 * (2 * 255) ** 0.5


def test_dropout_reaches_every_feedforward_network() -> None:
    """Each linear map of the four networks sees a mask, as the code of the paper has it."""
    model = _filled(DecomposableAttention(DIM, HIDDEN, dropout=0.5)).train()
    seen: list[int] = []
    for module in model.modules():
        if isinstance(module, Dropout):
            module.register_forward_hook(lambda _m, args, _out: seen.append(args[1]))
    (p, real_p), (q, real_q) = _padded([_words(3, 0)]), _padded([_words(2, 1)])
    model(p, q, real_p, real_q, [Generator().manual_seed(0)])
    intra, attend, compare = [HIDDEN, HIDDEN], [2 * HIDDEN, HIDDEN], [4 * HIDDEN, HIDDEN]
    assert seen == [*intra, *attend, *compare, 2 * HIDDEN, HIDDEN]
