"""Objectives: gradients by finite differences, and steps equal to a plain loop over the cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from wordbias.glove.cooccurrence import Batch  # noqa: E402
from wordbias.glove.objectives import (  # noqa: E402
    Gendered,
    GloVe,
    GNGloVe,
    PublishedGNGloVe,
    Recipe,
)

WORDS, DIM = 9, 4
RECIPE = Recipe(dim=DIM, rate=0.2, x_max=5, seed=3)
GENDERED = Gendered(first=(0, 2, 7), second=(1, 3), pairs=((0, 1), (2, 3)), listed=5)
Array = np.ndarray[Any, np.dtype[np.float64]]


def cells(n: int = 60, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    rows, columns = (rng.integers(WORDS, size=n).astype(np.int32) for _ in range(2))
    return Batch(rows, columns, rng.uniform(0.3, 12, n).astype(np.float32))


def each(batch: Batch) -> Iterator[tuple[int, int, float]]:
    yield from zip(*(part.tolist() for part in batch), strict=True)


def made(kind: type[GloVe], recipe: Recipe = RECIPE) -> Any:
    given = () if kind is GloVe else (GENDERED,)
    model = kind(WORDS, recipe, *given, dtype=torch.float64)
    rng = np.random.default_rng(5)  # larger than at the beginning, so that every term counts
    for table in (model.words, model.contexts):
        table.values += torch.from_numpy(rng.normal(0, 0.6, (WORDS, DIM + 1)))
    return model


def numbers(model: GloVe) -> tuple[Array, Array]:
    return model.words.values.numpy().copy(), model.contexts.values.numpy().copy()


def group(word: int) -> int:
    return (word in GENDERED.first) - (word in GENDERED.second)


def weighted(x: float, recipe: Recipe) -> float:
    return min(1.0, (x / recipe.x_max) ** recipe.alpha)


def mean_difference(w: Array, c: Array) -> Array:
    both = [(w[i, :-2] + c[i, :-2] - w[j, :-2] - c[j, :-2]) / 2 for i, j in GENDERED.pairs]
    return np.mean(both, axis=0)


def cost(
    w: Array, c: Array, v: Array | None, cell: tuple[int, int, float], recipe: Recipe
) -> float:
    """Return what one cell adds to J, from the formulas; `v` is a constant, None for GloVe."""
    i, j, x = cell
    difference = w[i, :-1] @ c[j, :-1] + w[i, -1] + c[j, -1] - math.log(x)
    total = weighted(x, recipe) * difference**2 / 2
    if v is None:
        return float(total)
    for word, vector in ((i, w[i, :-1]), (j, c[j, :-1])):
        side = group(word)
        if side == 0:
            total += recipe.lambda_e * float(v @ vector[:-1]) ** 2
        elif recipe.distance == "l1":
            total -= recipe.lambda_d * side * vector[-1]
        else:
            total += recipe.lambda_d * (side - vector[-1]) ** 2
    return float(total)


def numeric_gradient(f: Callable[[Array, Array], float], w: Array, c: Array) -> list[Array]:
    gradients = [np.zeros_like(w), np.zeros_like(c)]
    for which, matrix in enumerate((w, c)):
        for at in np.ndindex(*matrix.shape):
            ends = []
            for sign in (1, -1):
                moved = [w.copy(), c.copy()]
                moved[which][at] += sign * 1e-5
                ends.append(f(*moved))
            gradients[which][at] = (ends[0] - ends[1]) / 2e-5
    return gradients


@pytest.mark.parametrize(
    ("kind", "recipe"),
    [
        (GloVe, RECIPE),
        (GNGloVe, replace(RECIPE, distance="l2")),
        (GNGloVe, replace(RECIPE, distance="l2", lambda_d=0.0, lambda_e=2.0)),
        (GNGloVe, replace(RECIPE, distance="l2", lambda_d=3.0, lambda_e=0.0)),
    ],
)
def test_a_step_of_a_batch_goes_down_the_gradient_of_the_formulas(
    kind: type[GloVe], recipe: Recipe
) -> None:
    model, batch = made(kind, recipe), cells()
    w, c = numbers(model)
    v = None if kind is GloVe else mean_difference(w, c)
    expected = numeric_gradient(
        lambda a, b: sum(cost(a, b, v, cell, recipe) for cell in each(batch)), w, c
    )
    loss = model.step(batch)
    assert float(loss) == pytest.approx(sum(cost(w, c, None, cell, recipe) for cell in each(batch)))
    for before, after, gradient in zip((w, c), numbers(model), expected, strict=True):
        np.testing.assert_allclose((before - after) / recipe.rate, gradient, rtol=1e-6, atol=1e-7)


def test_l1_goes_down_its_gradient_within_the_bounds() -> None:
    recipe = replace(RECIPE, rate=1e-3)
    model, batch = made(GNGloVe, recipe), cells(20)
    for table in (model.words, model.contexts):
        table.values[:, -2] /= 10
    w, c = numbers(model)
    v = mean_difference(w, c)
    expected = numeric_gradient(
        lambda a, b: sum(cost(a, b, v, cell, recipe) for cell in each(batch)), w, c
    )
    model.step(batch)
    for before, after, gradient in zip((w, c), numbers(model), expected, strict=True):
        np.testing.assert_allclose((before - after) / recipe.rate, gradient, rtol=1e-6, atol=1e-7)


def loop_of_adagrad(model: GloVe, batch: Batch, recipe: Recipe, gendered: bool) -> list[Array]:
    """Go through the cells one at a time, as the program of GloVe does."""
    w, c = numbers(model)
    squares = [np.ones_like(w), np.ones_like(c)]
    for i, j, x in each(batch):
        v = mean_difference(w, c) if gendered else None
        error = weighted(x, recipe) * (w[i, :-1] @ c[j, :-1] + w[i, -1] + c[j, -1] - math.log(x))
        steps = []
        for own, other, word in ((w[i], c[j], i), (c[j], w[i], j)):
            gradient = error * np.append(other[:-1], 1.0)
            if v is not None and group(word) == 0:
                gradient[:-2] += 2 * recipe.lambda_e * (v @ own[:-2]) * v
            elif v is not None and recipe.distance == "l1":
                gradient[-2] -= recipe.lambda_d * group(word)
            elif v is not None:
                gradient[-2] += 2 * recipe.lambda_d * (own[-2] - group(word))
            steps.append(recipe.rate * gradient)
        for table, sums, word, step in zip((w, c), squares, (i, j), steps, strict=True):
            table[word] -= step / np.sqrt(sums[word])
            sums[word] += step**2
            if v is not None and recipe.distance == "l1" and group(word):
                table[word, -2] = min(1.0, max(-1.0, table[word, -2]))
    return [w, c, *squares]


@pytest.mark.parametrize("distance", ["l1", "l2"])
@pytest.mark.parametrize("kind", [GloVe, GNGloVe])
def test_one_cell_at_a_time_is_the_plain_loop(kind: type[GloVe], distance: Any) -> None:
    recipe = replace(RECIPE, distance=distance)
    model, batch = made(kind, recipe), cells(300)
    expected = loop_of_adagrad(model, batch, recipe, kind is GNGloVe)
    for n in range(300):
        model.step(Batch(*(part[n : n + 1] for part in batch)))
    arrays = [*numbers(model), model.words.squares.numpy(), model.contexts.squares.numpy()]
    for array, other in zip(arrays, expected, strict=True):
        np.testing.assert_allclose(array, other, rtol=1e-9, atol=1e-12)


def loop_as_published(
    w: Array, c: Array, v: Array, batch: Batch, recipe: Recipe
) -> tuple[Array, Array]:
    """Go through the cells one at a time, as the program of GN-GloVe does."""
    for i, j, x in each(batch):
        error = weighted(x, recipe) * (w[i, :-1] @ c[j, :-1] + w[i, -1] + c[j, -1] - math.log(x))
        steps = [recipe.rate * error * np.append(other[:-1], 1.0) for other in (c[j], w[i])]
        for table, word, step in zip((w, c), (i, j), steps, strict=True):
            table[word] -= step
            if group(word):
                table[word, -2] += recipe.rate * recipe.lambda_d * group(word)
            else:
                along = 2 * recipe.lambda_e * (table[word, :-2] @ v)
                table[word, :-2] -= recipe.rate * along * v
            table[word, :-1] = table[word, :-1].clip(-1, 1)
    return w, c


def test_as_published_one_cell_at_a_time_is_the_plain_loop() -> None:
    model, batch = made(PublishedGNGloVe), cells(300)
    w, c = numbers(model)
    v = np.zeros(DIM - 1)
    for epoch in range(3):
        v = (v + sum(w[i, :-2] - w[j, :-2] for i, j in GENDERED.pairs)) / GENDERED.listed
        w, c = loop_as_published(w, c, v, batch, RECIPE)
        model.start_epoch()
        np.testing.assert_allclose(model.direction().numpy(), v, rtol=1e-9)
        for n in range(300):
            model.step(Batch(*(part[n : n + 1] for part in batch)))
        for matrix, other in zip(numbers(model), (w, c), strict=True):
            np.testing.assert_allclose(matrix, other, rtol=1e-9, atol=1e-12, err_msg=str(epoch))
    assert np.abs(w[:, :-1]).max() == 1.0  # the bound is reached


def test_as_published_the_terms_of_a_word_that_is_often_in_a_batch_are_repeated() -> None:
    recipe = replace(RECIPE, x_max=1e12)  # f is zero in all but name: the terms alone
    model = made(PublishedGNGloVe, recipe)
    model.words.values[:, :-1] /= 10
    model.start_epoch()
    single = made(PublishedGNGloVe, recipe)
    single.load({name: x.clone() for name, x in model.state().items()})
    batch = Batch(
        np.array([4] * 6 + [0] * 3, np.int32), np.arange(9, dtype=np.int32), np.ones(9, np.float32)
    )
    model.step(batch)
    for n in range(9):
        single.step(Batch(*(part[n : n + 1] for part in batch)))
    for name, value in model.state().items():
        np.testing.assert_allclose(value, single.state()[name], atol=1e-6, err_msg=name)


def test_initial_values_are_gloves_and_those_of_the_seed() -> None:
    recipe = replace(RECIPE, dim=99)
    model, twin = GloVe(200, recipe), GloVe(200, recipe)
    other = GloVe(200, replace(recipe, seed=4))
    for name, value in model.state().items():
        assert torch.equal(value, twin.state()[name])
        if "squares" in name:
            assert bool((value == 1).all())
        else:
            assert not torch.equal(value, other.state()[name])
            assert value.abs().max() <= 0.5 / 100
            assert value.std() * 100 == pytest.approx(12**-0.5, rel=0.02)
    published = PublishedGNGloVe(200, recipe, GENDERED)
    assert published.words.values[[0, 2, 7, 1, 3], 98].tolist() == [1, 1, 1, -1, -1]
    for table in ("words", "contexts"):
        same = getattr(published, table).values == getattr(model, table).values
        assert int((~same).sum()) == (5 if table == "words" else 0)


def test_a_word_of_both_groups_has_no_term_of_either() -> None:
    model = GNGloVe(WORDS, RECIPE, Gendered((0, 2), (1, 2), ((0, 1),), 1))
    assert model.side.tolist() == [1, -1, 0, 0, 0, 0, 0, 0, 0]
    assert model.neutral.tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 1]


def test_vectors_are_words_plus_contexts_without_biases() -> None:
    model = made(GloVe)
    w, c = numbers(model)
    np.testing.assert_allclose(model.vectors(), (w + c)[:, :-1], rtol=1e-6)
    assert model.vectors().dtype == np.float32
