"""The training task of NLI: stacked models end like models trained one by one, and learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch
from torch import Tensor

from wordbias.nli.lexicon import Encoded, Lexicon
from wordbias.nli.model import DecomposableAttention
from wordbias.nli.pairs import Pairs
from wordbias.nli.recipes import FAST, PUBLISHED, RECIPES, Recipe
from wordbias.nli.train import NLITask, generator, initialise, make_optimizer
from wordbias.training import TrainingState, train

WORDS = [f"w{i}" for i in range(20)]
DIM = 8
RECIPE = replace(FAST, batch=8, epochs=3, hidden=6, rate=0.01)


def toy(count: int, seed: int) -> Pairs:
    """Entailment: words of the premise again; contradiction: a certain word; neutral: others."""
    rng = np.random.default_rng(seed)
    premises, hypotheses, labels = [], [], rng.integers(0, 3, count)
    for label in labels:
        premise = rng.choice(WORDS[:10], rng.integers(2, 7))
        own = {0: rng.choice(WORDS[10:19], 2), 1: premise[:2], 2: [premise[0], "w19"]}[int(label)]
        premises.append(tuple(map(str, premise)))
        hypotheses.append(tuple(map(str, own[: rng.integers(1, 3) + (label == 2)])))
    return Pairs(premises, hypotheses, labels)


TRAIN, DEV = toy(61, 0), toy(40, 1)
LEXICON = Lexicon.of([WORDS])


def tables(count: int) -> Tensor:
    source = torch.Generator().manual_seed(9)
    return torch.randn(count, len(WORDS) + 1, DIM, generator=source, dtype=torch.float64)


def learning(
    seeds: Sequence[int], recipe: Recipe, vectors: Tensor, half: bool = False
) -> tuple[NLITask, torch.optim.Optimizer]:
    model = DecomposableAttention(
        DIM, recipe.hidden, intra=recipe.intra, dropout=recipe.dropout, models=len(seeds)
    )
    initialise(model, recipe, seeds)
    model.to(vectors.dtype)
    pairs = (Encoded.of(pairs, LEXICON) for pairs in (TRAIN, DEV))
    task = NLITask(model, vectors, *pairs, recipe, seeds, half)
    return task, make_optimizer(model, recipe)


def trained(
    seeds: Sequence[int], recipe: Recipe, vectors: Tensor, **options: Any
) -> tuple[TrainingState, DecomposableAttention]:
    task, optimizer = learning(seeds, recipe, vectors)
    state = train(task.model, optimizer, task, epochs=recipe.epochs, **options)
    return state, task.model


@pytest.mark.each_once("intra")
@pytest.mark.each_once("intra")
@pytest.mark.parametrize("name", list(RECIPES))
@pytest.mark.parametrize("intra", [True, False])
def test_stacked_models_end_as_models_trained_one_by_one(name: str, intra: bool) -> None:
    """In float64 rounding is 1e-16 a step; steps below divide by no gradient that small."""
    recipe = replace(RECIPES[name], batch=8, epochs=3, hidden=6, intra=intra)
    seeds, vectors = (3, 4, 4), tables(3)
    state, together = trained(seeds, recipe, vectors)
    for k, seed in enumerate(seeds):
        own, alone = trained((seed,), recipe, vectors[k : k + 1])
        assert own.score[0] == state.score[k]
        assert own.epoch[0] == state.epoch[k]
        for (name, all_k), (_, single) in zip(
            together.named_parameters(), alone.named_parameters(), strict=True
        ):
            torch.testing.assert_close(all_k[k], single[0], rtol=1e-8, atol=1e-10)
            torch.testing.assert_close(
                state.best[name][k], own.best[name][0], rtol=1e-8, atol=1e-10
            )
        losses = [[entry["loss"][i] for entry in c.history] for c, i in ((state, k), (own, 0))]
        assert losses[0] == pytest.approx(losses[1], rel=1e-10)
    start, _ = learning(seeds, recipe, vectors)
    for (_, before), (_, after) in zip(
        start.model.named_parameters(), together.named_parameters(), strict=True
    ):
        assert not torch.allclose(before, after, atol=1e-6)


def test_seeds_and_tables_decide_the_model() -> None:
    vectors = tables(2)[[0, 0, 1, 0]]
    _, model = trained((5, 5, 5, 6), RECIPE, vectors)
    weight = model.compare.first.weight
    assert torch.allclose(weight[0], weight[1], rtol=1e-8, atol=1e-10)
    assert not torch.allclose(weight[0], weight[2], atol=1e-4)
    assert not torch.allclose(weight[0], weight[3], atol=1e-4)


def test_nothing_is_drawn_from_the_global_generator() -> None:
    torch.manual_seed(0)
    _, first = trained((1,), RECIPE, tables(1))
    torch.manual_seed(1)
    state = torch.random.get_rng_state()
    _, second = trained((1,), RECIPE, tables(1))
    assert torch.equal(torch.random.get_rng_state(), state)
    for parameter, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(parameter, other)


def test_the_loss_is_the_negative_log_likelihood_of_the_labels() -> None:
    recipe = replace(RECIPE, dropout=0.0, batch=61)
    task, _ = learning((0, 1), recipe, tables(2))
    (loss,) = task.losses(0)
    for k in range(2):
        total = 0.0
        for i in range(len(TRAIN)):
            (row,) = task.predict(task.train, [np.array([i])] * 2)[k].detach()
            total -= float(row[TRAIN.labels[i]])
        assert float(loss.detach()[k]) == pytest.approx(total / len(TRAIN), rel=1e-9)


def test_the_number_of_steps_is_that_of_the_batches() -> None:
    task, _ = learning((0, 1), RECIPE, tables(2))
    assert len(list(task.losses(0))) == task.steps() == 8  # of 8 pairs, the last of 5


def test_the_accuracy_is_the_share_of_pairs_that_are_right() -> None:
    task, _ = learning((0, 1), RECIPE, tables(2))
    task.model.eval()
    with torch.no_grad():
        accuracies = task.accuracy(task.dev)
        for k in range(2):
            right = [
                int(task.predict(task.dev, [np.array([i])] * 2)[k, 0].argmax()) == DEV.labels[i]
                for i in range(len(DEV))
            ]
            assert float(accuracies[k]) == sum(right) / len(DEV)
    assert accuracies.dtype == torch.float64


@pytest.mark.slow
@pytest.mark.parametrize("half", [False, True])
def test_a_model_learns_a_simple_task(half: bool) -> None:
    recipe = replace(RECIPE, epochs=25, hidden=16, dropout=0.1)
    task, optimizer = learning((0,), recipe, tables(1).float(), half)
    state = train(task.model, optimizer, task, epochs=recipe.epochs)
    assert state.score[0] > 0.8  # chance is a third
    assert all(value.dtype == torch.float32 for value in state.best.values())


@pytest.mark.parametrize("seed", [0, 7])
def test_initial_parameters_are_drawn_as_the_recipe_says(seed: int) -> None:
    normal, glorot = (DecomposableAttention(60, 50, models=2) for _ in range(2))
    initialise(normal, PUBLISHED, (seed, seed + 1))
    initialise(glorot, FAST, (seed, seed + 1))
    values = torch.cat([value.detach().flatten() for value in normal.parameters()]).double()
    n = len(values)
    assert abs(values.mean()) < 5 * 0.01 / n**0.5
    assert abs(values.std() / 0.01 - 1) < 5 / (2 * n) ** 0.5
    for name, value in glorot.named_parameters():
        if not name.endswith("weight"):
            assert (value == 0).all()
            continue
        bound = (6 / (value.shape[1] + value.shape[2])) ** 0.5  # Glorot and Bengio (2010), (16)
        spread = bound / 3**0.5
        assert value.abs().max() <= bound
        assert abs(value.double().std() / spread - 1) < 5 / value.numel() ** 0.5
    for model in (normal, glorot):
        assert not torch.equal(model.project.weight[0], model.project.weight[1])


def test_initial_parameters_do_not_depend_on_other_models() -> None:
    pair, alone = DecomposableAttention(6, 4, models=2), DecomposableAttention(6, 4)
    initialise(pair, PUBLISHED, (3, 8))
    initialise(alone, PUBLISHED, (8,))
    for both, single in zip(pair.parameters(), alone.parameters(), strict=True):
        assert torch.equal(both[1], single[0])


def test_generators_differ_between_seeds_and_epochs() -> None:
    device = torch.device("cpu")
    seeds = [generator(device, seed, epoch).initial_seed() for seed in range(5) for epoch in
             range(5)]  # fmt: skip
    assert len(set(seeds)) == 25
    assert generator(device, 2, 3).initial_seed() == generator(device, 2, 3).initial_seed()
