"""RAN's batched Adam: the same runs as one torch optimiser a word makes."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples, first_quick

from wordbias import Attribute, Embedding
from wordbias.arrays import unit
from wordbias.devices import set_threads
from wordbias.measures.direction import find_direction
from wordbias.methods.ran import optimise, repulsion_sets
from wordbias.methods.ran.optimise import Objective, Pull, Sets, descend, minimise
from wordbias.vocabulary import choose_vocabulary

STEPS = 300
RATE = 0.01
WEIGHTS = (1 / 8, 6 / 8, 1 / 8)


class Words(NamedTuple):
    """Real words: half with a repulsion set, half without."""

    vectors: Any
    rows: Any
    sets: Sets
    g: Any

    def objective(self, published: bool = False, dtype: type = np.float32) -> Objective:
        """In float64 the vectors are of length one to its precision."""
        vectors = self.vectors if dtype is np.float32 else _unit(self.vectors)
        return Objective(vectors, self.g.astype(dtype), WEIGHTS, published)

    @property
    def w(self) -> Any:
        return self.vectors[self.rows]


@pytest.fixture(scope="module")
def words() -> Words:
    sample = Embedding.sample()
    units = sample.with_vectors(unit(sample.vectors))
    g = find_direction(units, Attribute.load(), "pca").defined()
    rows = units.rows(choose_vocabulary([sample], Attribute.load())[:600])[0]
    sets = repulsion_sets(units.vectors, rows, g).sets
    filled = [i for i, members in enumerate(sets) if len(members)][:3]
    none = [i for i, members in enumerate(sets) if not len(members)][:3]
    chosen = [i for both in zip(filled, none, strict=True) for i in both]
    return Words(units.vectors, rows[chosen], [sets[i] for i in chosen], g.basis[0])


def _torch_run(w: Any, repelled: Any, objective: Objective, steps: int = STEPS) -> tuple[Any, Any]:
    """One word by autograd and torch's Adam, in float64; also the least |cos(X, g)| on the way."""
    import torch

    w, s, g = (torch.tensor(np.array(array, float)) for array in (w, repelled, objective.g))
    first, second, third = objective.weights
    x = w.clone().requires_grad_(True)
    optimiser = torch.optim.Adam([x], lr=RATE)
    least = np.inf
    for _ in range(steps):
        optimiser.zero_grad()
        cosine = torch.nn.functional.cosine_similarity
        loss = second * (cosine(x, w, dim=0) - 1).abs() / 2
        loss = loss + (
            second * (x @ g).abs() if objective.as_published else third * cosine(x, g, dim=0).abs()
        )
        if len(s):
            loss = loss + first * cosine(x[None], s).abs().mean()
        loss.backward()
        least = min(least, abs(float((x.detach() @ g) / x.detach().norm())))
        optimiser.step()
    return x.detach().numpy(), least


def _unit(x: Any) -> Any:
    x = np.array(x, float)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


@pytest.mark.parametrize("published", first_quick([False, True]))
def test_the_runs_are_those_of_torch(words: Words, published: bool) -> None:
    """In float64 every one of 300 steps; in float32 wherever rounding decides no sign.

    A step rounds X once, which turns it by ε at most; so do its terms, times the rate.
    """
    exact, fast = (words.objective(published, dtype) for dtype in (np.float64, np.float32))
    in_double = _unit(minimise(exact, words.rows, words.sets))
    in_single = _unit(minimise(fast, words.rows, words.sets))
    compared = 0
    for i, (row, s) in enumerate(zip(words.rows, words.sets, strict=True)):
        x, least = _torch_run(exact.vectors[row], exact.vectors[s], exact)
        error = STEPS * np.finfo(np.float64).eps
        assert np.linalg.norm(in_double[i] - _unit(x)) < error
        if least > words.vectors.shape[1] * np.finfo(np.float32).eps / 2:
            error = STEPS * float(np.finfo(np.float32).eps)
            assert np.linalg.norm(in_single[i] - _unit(x)) < error
            assert in_single[i] @ _unit(x) > 1 - error**2
            compared += 1
    assert compared >= len(words.rows) / 2


def test_the_runs_are_those_of_torch_where_signs_of_the_set_change() -> None:
    """Vectors at random, half of them behind X, and weights that drive it across their kinks."""
    rng = np.random.default_rng(1)
    vectors = _unit(rng.normal(size=(40, 12)))
    objective = Objective(vectors, _unit(rng.normal(size=12)), (0.8, 0.1, 0.1))
    sets: Sets = [np.arange(5, 40), np.arange(20, 30), np.array([9])]
    x = descend(objective, vectors[:3], sets, 60)
    for i, s in enumerate(sets):
        wanted, _ = _torch_run(vectors[i], vectors[s], objective, 60)
        assert (np.sign(vectors[s] @ wanted) != np.sign(vectors[s] @ vectors[i])).any()
        assert np.linalg.norm(_unit(x[i]) - _unit(wanted)) < 60 * np.finfo(float).eps


def test_the_first_step_moves_every_coordinate_by_the_rate(words: Words) -> None:
    """Adam's first step is − rate · gradient / (|gradient| + ε)."""
    objective = words.objective(dtype=np.float64)
    w = words.w.astype(float)
    slope = np.empty_like(w)
    ones = np.ones(len(w))
    inverse = ones / np.linalg.norm(w, axis=1)
    objective.slope(w, inverse, Pull(objective, w, w, words.sets).value, slope, np.empty_like(w))
    moved = descend(objective, w, words.sets, 1) - w
    assert np.allclose(moved, -RATE * slope / (np.abs(slope) + 1e-8), rtol=1e-9, atol=1e-16)


def _signed_mean(objective: Objective, x: Any, w: Any, s: Any) -> Any:
    v = objective.vectors[s]
    first, second, _ = objective.weights
    return first * np.sign(v @ x) @ v / len(s) - second / 2 * w


@given(st.integers(0, 2**32 - 1), st.floats(0.001, 1))
@settings(max_examples=examples(50), deadline=None)
def test_the_signs_are_those_of_the_current_vectors(seed: int, stride: float) -> None:
    """Wherever X walks, the pull is what a look at the whole set gives."""
    rng = np.random.default_rng(seed)
    vectors = _unit(rng.normal(size=(30, 5)))
    objective = Objective(vectors, vectors[0], WEIGHTS)
    sets: Sets = [np.arange(10), np.arange(10, 12), np.arange(0), np.array([29])]
    w = _unit(rng.normal(size=(4, 5)))
    x = w.copy()
    pull = Pull(objective, x, w, sets)
    for _ in range(20):
        x += stride * rng.normal(size=x.shape)
        pull.follow(x, 1 / np.linalg.norm(x, axis=1))
        for i, s in enumerate(sets):
            wanted = _signed_mean(objective, x[i], w[i], s) if len(s) else -6 / 16 * w[i]
            assert np.allclose(pull.value[i], wanted, rtol=0, atol=1e-14)


def test_few_sets_are_computed_in_full(words: Words, monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes the runs fast: most steps do not touch the sets at all."""
    pulls: list[Pull] = []

    class Spy(Pull):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            pulls.append(self)

    monkeypatch.setattr(optimise, "Pull", Spy)
    minimise(words.objective(), words.rows, words.sets)
    with_set = sum(len(members) > 0 for members in words.sets)
    assert with_set <= sum(pull.looks for pull in pulls) < with_set * STEPS / 20


@pytest.mark.slow
def test_the_returned_vector_is_the_one_that_is_repelled_and_neutralised(words: Words) -> None:
    """B3: elsewhere the parameter that feels all three terms is a twin of the vector returned.

    The returned one is only attracted to that twin, and ends at a higher objective.
    """
    import torch

    objective = words.objective(dtype=np.float64)

    def total(x: Any) -> Any:
        return objective.total(objective.parts(x, words.w, words.sets))

    theirs = []
    cosine = torch.nn.functional.cosine_similarity
    g = torch.tensor(objective.g)
    for w, s in zip(words.w, words.sets, strict=True):
        repelled = torch.tensor(objective.vectors[s])
        returned, twin = (torch.tensor(w.astype(float)).requires_grad_(True) for _ in range(2))
        optimiser = torch.optim.Adam([returned, twin], lr=RATE)
        for _ in range(STEPS):
            optimiser.zero_grad()
            loss = 6 / 8 * (cosine(twin, returned, dim=0) - 1).abs() / 2
            loss = loss + 1 / 8 * cosine(twin, g, dim=0).abs()
            if len(s):
                loss = loss + 1 / 8 * cosine(twin[None], repelled).abs().mean()
            loss.backward()
            optimiser.step()
        theirs.append(returned.detach().numpy())
    ours = total(minimise(words.objective(), words.rows, words.sets))
    assert (ours < total(words.w)).all()
    assert (ours < total(np.array(theirs))).all()


@pytest.mark.parametrize("published", [False, True])
def test_chunks_order_and_threads_change_no_bit(
    words: Words, published: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    objective = words.objective(published)
    whole = minimise(objective, words.rows, words.sets)
    for values, threads in ((1, 1), (3 * words.vectors.shape[1], 1), (700, 2), (1 << 20, 2)):
        monkeypatch.setattr(optimise, "VALUES", values)
        set_threads(threads)
        assert minimise(objective, words.rows, words.sets).tobytes() == whole.tobytes()
    back = minimise(objective, words.rows[::-1], list(words.sets)[::-1])
    assert back[::-1].tobytes() == whole.tobytes()


def test_arguments_stay_as_they_are(words: Words) -> None:
    w, objective = words.w, words.objective()
    before = w.tobytes(), objective.vectors.tobytes()
    x = descend(objective, w, words.sets, 5)
    assert (w.tobytes(), objective.vectors.tobytes()) == before
    assert x.dtype == w.dtype == np.float32
    assert x.shape == w.shape


def test_an_interrupt_leaves_no_thread_behind(
    words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(optimise, "VALUES", 1)
    monkeypatch.setattr(optimise, "descend", interrupted)
    set_threads(2)
    alive = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        minimise(words.objective(), words.rows, words.sets)
    assert threading.active_count() == alive
