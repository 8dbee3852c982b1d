"""Batches on a device: padded there, without waiting for it, and projected as on the host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from wordbias.nli.lexicon import Encoded, Lexicon
from wordbias.nli.model import DecomposableAttention
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
def test_padding_puts_sentences_under_each_other(
    sentences: list[tuple[str, ...]], models: int, size: int, data: st.DataObject
) -> None:
    """Padding is NULL, the number 0, which every sentence begins with."""
    lexicon = Lexicon.of(sentences)
    encoded = Encoded.of(Pairs(sentences, sentences, np.zeros(len(sentences), int)), lexicon)
    place = st.integers(0, len(sentences) - 1)
    drawn = data.draw(st.lists(place, min_size=models * size, max_size=models * size))
    chosen = encoded.premise[np.array(drawn).reshape(models, size)]
    ids, real = Tokens.of(encoded, CPU).side(chosen)
    longest = max(1 + len(sentences[i]) for i in drawn)
    assert ids.shape == real.mask.shape == (models, size, longest)
    for i, own, there in zip(drawn, ids.flatten(0, 1), real.mask.flatten(0, 1), strict=True):
        wanted = lexicon.encode(sentences[i]).tolist()
        assert there.tolist() == [True] * len(wanted) + [False] * (longest - len(wanted))
        assert own.tolist() == wanted + [0] * (longest - len(wanted))
    assert real.counts == tuple(real.mask.sum((1, 2)).tolist())


def _gradients(task: NLITask, by_word: bool) -> tuple[Tensor, list[Tensor]]:
    """Return log-probabilities and gradients, with words projected once each or at each place."""
    rows = [np.arange(40)]
    generators = [torch.Generator().manual_seed(3)]
    if by_word:
        found = task.predict(task.train, rows, generators)
    else:
        vectors, masks = [], []
        for side in (task.train.premise, task.train.hypothesis):
            ids, real = Tokens.of(task.train, CPU).side(side[rows[0]][None])
            vectors.append(task.tables[0][ids])
            masks.append(real.mask)
        found = task.model(*vectors, *masks, generators)
    task.model.zero_grad()
    found[..., 1].sum().backward()
    return found.detach(), [one.grad.clone() for one in task.model.parameters()]


def test_a_word_that_is_projected_once_is_projected_as_at_each_place(snli: Pairs) -> None:
    """With dropout: its masks are drawn of each place, after the projection. In float64."""
    task = learning(snli, recipe(), (0,), CPU, torch.float64)
    task.model.train()
    once, every = _gradients(task, True), _gradients(task, False)
    torch.testing.assert_close(once[0], every[0], rtol=1e-10, atol=1e-12)
    for one, other in zip(once[1], every[1], strict=True):
        assert one.abs().max() > 0
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


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
        ends.append([one.detach().clone() for one in task.model.parameters()])
    for one, other in zip(*ends, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-10)


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


@cuda
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
        ends.append([one.detach().cpu() for one in task.model.parameters()])
    for one, other in zip(*ends, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-10)
