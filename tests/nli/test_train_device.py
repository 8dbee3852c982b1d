"""Batches on a device: padded there, without waiting for it, and projected as on the host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from wordbias.nli.lexicon import Encoded, Lexicon
from wordbias.nli.model import SPARE, DecomposableAttention, Rows, Similarities, softmax
from wordbias.nli.pairs import Pairs, load_pairs
from wordbias.nli.recipes import RECIPES, Recipe
from wordbias.nli.train import NLITask, Tokens, initialise, make_optimizer
from wordbias.training import load_optimizer, optimizer_state, train

CPU = torch.device("cpu")
cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no card")


@pytest.fixture(scope="module")
def snli(shared_data: Path) -> Pairs:
    return load_pairs(shared_data / "nli" / "snli_dev.tsv.gz").head(120)


def learning(
    pairs: Pairs, recipe: Recipe, seeds: tuple[int, ...], device: torch.device, dtype: torch.dtype
) -> NLITask:
    """Return the task of models with random vectors."""
    lexicon = Lexicon.of([*pairs.premises, *pairs.hypotheses])
    source = torch.Generator().manual_seed(5)
    size = (len(seeds), len(lexicon.tokens), 12)
    tables = torch.randn(size, generator=source, dtype=dtype)
    model = DecomposableAttention(12, recipe.hidden, dropout=recipe.dropout, models=len(seeds))
    initialise(model, replace(recipe, initial="glorot"), seeds)
    model.to(device, dtype)
    encoded = Encoded.of(pairs, lexicon)
    return NLITask(model, tables.to(device), encoded, encoded, recipe, seeds)


def recipe(name: str = "fast") -> Recipe:
    return replace(RECIPES[name], hidden=8, batch=16, epochs=2)


SENTENCES = st.lists(st.lists(st.sampled_from("abcdef"), max_size=7).map(tuple), min_size=1)


@settings(deadline=None)
@given(SENTENCES, st.integers(1, 3), st.integers(1, 4), st.data())
def test_rows_are_the_tokens_of_each_model(
    sentences: list[tuple[str, ...]], models: int, size: int, data: st.DataObject
) -> None:
    """Premises, then hypotheses, in their order; padded and packed again they are the same."""
    lexicon = Lexicon.of(sentences)
    encoded = Encoded.of(Pairs(sentences, sentences, np.zeros(len(sentences), int)), lexicon)
    place = st.integers(0, len(sentences) - 1)
    drawn = st.lists(place, min_size=models * size, max_size=models * size)
    p, q = (encoded.premise[np.array(data.draw(drawn)).reshape(models, size)] for _ in range(2))
    words, rows = Tokens.of(encoded, CPU).rows(p, q)
    own = encoded.sentences
    texts = [own.flat[own.start[i] : own.start[i] + own.length[i]] for i in range(len(own.start))]
    assert len(words) == models
    for k in range(models):
        wanted = np.concatenate([texts[i] for i in (*p[k], *q[k])])
        assert rows.counts[k] == len(wanted)
        assert words[k, : len(wanted)].tolist() == wanted.tolist()
        assert not words[k, len(wanted) :].any()
    assert words.shape[1] % SPARE == 0 or words.shape[1] == min(rows.counts)
    assert words.shape[1] < max(rows.counts) + 1 + SPARE
    both = rows.padded(words[..., None])
    for chosen, padded, side in zip((p, q), both, (rows.premise, rows.hypothesis), strict=True):
        assert padded.shape[:3] == side.shape
        for i, (k, b) in zip(chosen.ravel(), np.ndindex(models, size), strict=True):
            assert padded[k, b, : len(texts[i]), 0].tolist() == texts[i].tolist()
            if side.mask is not None:
                assert side.mask[k, b].nonzero().flatten().tolist() == list(range(len(texts[i])))
    assert torch.equal(rows.packed(*both)[..., 0], words)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(1, 6), min_size=4, max_size=4), min_size=1, max_size=3))
def test_padding_and_packing_are_adjoint(lengths: list[list[int]]) -> None:
    """<pad x, y> = <x, pack y> for x that is zero at spare rows and y at padding."""
    p, q = np.split(np.array(lengths), 2, axis=1)
    rows = Rows.of([torch.from_numpy(p), torch.from_numpy(q)], [p, q])
    source = torch.Generator().manual_seed(0)
    y = [torch.randn(*side.shape, 3, generator=source) for side in (rows.premise, rows.hypothesis)]
    for side, block in zip((rows.premise, rows.hypothesis), y, strict=True):
        if side.mask is not None:
            block.mul_(side.mask[..., None])
    packed = rows.packed(*(leaf.requires_grad_() for leaf in y))
    x = torch.randn(packed.shape, generator=source)
    for k, count in enumerate(rows.counts):
        assert not packed[k, count:].any()
        x[k, count:] = 0
    padded = rows.padded(x.requires_grad_())
    sums = [(x * packed).sum(), sum((a * b).sum() for a, b in zip(padded, y, strict=True))]
    torch.testing.assert_close(*sums)
    for block, padded_side in zip(torch.autograd.grad(packed, y, x), padded, strict=True):
        assert torch.equal(block, padded_side)
    (back,) = torch.autograd.grad(padded, x, [leaf.detach() for leaf in y])
    assert torch.equal(back, packed)


@pytest.mark.parametrize("items", [1, 7, 16])
def test_the_softmax_is_torchs_own(items: int) -> None:
    source = torch.Generator().manual_seed(0)
    e = 40 * torch.randn(2, 3, 4, items, generator=source, dtype=torch.float64)
    mask = torch.rand(2, 3, items, generator=source) < 0.7
    mask[..., 0] = True
    wanted = e.clone().requires_grad_()
    plain = wanted.masked_fill(~mask[:, :, None], -torch.inf).softmax(-1)
    above = torch.randn(e.shape, generator=source, dtype=torch.float64)
    for given_e in (e, e.mT.contiguous().mT):
        own = given_e.clone(memory_format=torch.preserve_format).requires_grad_()
        ours = softmax(own, mask)
        torch.testing.assert_close(ours, plain, rtol=1e-12, atol=1e-14)
        grads = [torch.autograd.grad(y, x, above, retain_graph=True) for y, x in
                 ((ours, own), (plain, wanted))]  # fmt: skip
        torch.testing.assert_close(*grads, rtol=1e-11, atol=1e-13)


def test_similarities_of_a_sentence_are_products() -> None:
    f = torch.randn(2, 3, 5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert torch.autograd.gradcheck(Similarities.apply, (f.requires_grad_(),))
    assert torch.equal(Similarities.apply(f), f @ f.mT)


def _gradients(task: NLITask, by_word: bool) -> tuple[Tensor, list[Tensor]]:
    """Return log-probabilities and gradients, with words projected once each or at each place."""
    chosen = np.arange(40)
    generators = [torch.Generator().manual_seed(3)]
    if by_word:
        log_p = task.predict(task.train, [chosen], generators)
    else:
        vectors, masks = [], []
        own = task.train.sentences
        for side in (task.train.premise[chosen], task.train.hypothesis[chosen]):
            place = np.arange(own.length[side].max())
            mask = place < own.length[side][:, None]
            ids = own.flat[np.where(mask, own.start[side][:, None] + place, 0)]
            vectors.append(task.tables[0][torch.from_numpy(ids).long()][None])
            masks.append(torch.from_numpy(mask)[None])
        log_p = task.model(*vectors, *masks, generators)
    task.model.zero_grad()
    log_p[..., 1].sum().backward()
    return log_p.detach(), [parameter.grad.clone() for parameter in task.model.parameters()]


def test_a_word_that_is_projected_once_is_projected_as_at_each_place(snli: Pairs) -> None:
    """With dropout: its masks are drawn of each place, after the projection. In float64."""
    task = learning(snli, recipe(), (0,), CPU, torch.float64)
    task.model.train()
    once, every = _gradients(task, True), _gradients(task, False)
    torch.testing.assert_close(once[0], every[0], rtol=1e-10, atol=1e-12)
    for gradient, other in zip(once[1], every[1], strict=True):
        assert gradient.abs().max() > 0
        torch.testing.assert_close(gradient, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", list(RECIPES))
def test_optimizers_go_on_from_states_that_others_stored(name: str, snli: Pairs) -> None:
    """Checkpoints of versions whose optimizers passed several times over a parameter."""
    ends = []
    for fused in (True, False):
        task = learning(snli, recipe(name), (0,), CPU, torch.float64)
        optimizer = make_optimizer(task.model, task.recipe)
        for group in optimizer.param_groups:
            group["fused"] = fused
        train(task.model, optimizer, task, epochs=1)
        after = make_optimizer(task.model, task.recipe)
        load_optimizer(after, optimizer_state(optimizer))
        train(task.model, after, task, epochs=1)
        ends.append([parameter.detach().clone() for parameter in task.model.parameters()])
    for weights, other in zip(*ends, strict=True):
        torch.testing.assert_close(weights, other, rtol=1e-8, atol=1e-10)


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """Make everything that waits for the card an error."""
    torch.cuda.set_sync_debug_mode("error")
    yield
    torch.cuda.set_sync_debug_mode("default")


def _steps(task: NLITask, optimizer: torch.optim.Optimizer) -> None:
    for losses in task.losses(0):
        optimizer.zero_grad(set_to_none=True)
        losses.sum().backward()
        optimizer.step()


class Waits(TorchDispatchMode):
    """Notes the operations for which a host would wait for a card: they return host's values."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(func.overloadpacket)
        if name.removeprefix("aten.") in WAITING:
            self.found.append(name)
        if any(
            isinstance(index, Tensor) and index.dtype == torch.bool
            for index in indices_of(name, args)
        ):
            self.found.append(f"{name} by a mask")
        return func(*args, **(kwargs or {}))


WAITING = {
    "_local_scalar_dense", "nonzero", "masked_select", "_unique2", "unique_dim", "bincount",
    "is_nonzero", "equal", "repeat_interleave",
}  # fmt: skip


def indices_of(name: str, args: Any) -> Any:
    """Return the indices of an indexing operation."""
    return args[1] if name in ("aten.index", "aten.index_put", "aten.index_put_") else ()


@pytest.mark.parametrize("name", list(RECIPES))
def test_no_operation_of_a_step_needs_a_value_on_the_host(name: str, snli: Pairs) -> None:
    """Stacked models run the same operations on a CPU as on a card."""
    task = learning(snli, recipe(name), (0, 1, 2), CPU, torch.float32)
    task.model.train()
    with Waits() as waits:
        for losses in task.losses(0):
            losses.sum().backward()
        for parameter in task.model.parameters():
            assert parameter.grad is not None
    assert waits.found == []


def test_waits_are_noticed() -> None:
    x = torch.arange(4)
    with Waits() as waits:
        x.sum().item()
        x[x > 1]
        torch.unique(x)
    assert waits.found == ["aten._local_scalar_dense", "aten.index by a mask", "aten._unique2"]


@cuda
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
@pytest.mark.parametrize("name", list(RECIPES))
def test_no_step_waits_for_the_card(name: str, snli: Pairs, request: pytest.FixtureRequest) -> None:
    task = learning(snli, recipe(name), (0, 1, 2), torch.device("cuda"), torch.float32)
    optimizer = make_optimizer(task.model, task.recipe)
    task.model.train()
    _steps(task, optimizer)  # sentences are moved once, libraries are loaded
    request.getfixturevalue("no_waiting")
    _steps(task, optimizer)


@cuda
def test_stacked_models_on_a_card_end_as_single_ones_on_a_cpu(snli: Pairs) -> None:
    """Without dropout, whose numbers each kind of device draws by itself; in float64."""
    chosen, seeds = replace(recipe(), dropout=0.0), (0, 1, 2)
    ends = []
    for device in (torch.device("cuda"), CPU):
        task = learning(snli, chosen, seeds, device, torch.float64)
        train(task.model, make_optimizer(task.model, chosen), task, epochs=2)
        ends.append([parameter.detach().cpu() for parameter in task.model.parameters()])
    for weights, other in zip(*ends, strict=True):
        torch.testing.assert_close(weights, other, rtol=1e-8, atol=1e-10)
