"""Stacked probes are what a plain loop over them is, however they are stacked."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reference_probe_loop import loop

from wordbias.devices import set_threads
from wordbias.probes import train as trainer
from wordbias.probes.linear import LinearProbes
from wordbias.probes.mdl import block_ends, nested
from wordbias.probes.train import (
    Job,
    Recipe,
    Result,
    Stack,
    StoppedError,
    cross_entropy,
    train_jobs,
)

SHARES = (0.05, 0.11, 0.3, 0.62, 1.0)
QUICK = Recipe(epochs=12, rate=0.01, tolerance=0.05)


def _data(n: int, d: int, k: int, layers: int = 1, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((layers, n, d)).astype(np.float32)
    score = x[:, :, :k].mean(0) + 0.8 * rng.standard_normal((n, k))
    return x, score.argmax(1)


def _jobs(labels: Any, layers: int = 1, seeds: int = 1, shares: Any = SHARES) -> list[Job]:
    n = len(labels)
    schedule = nested(block_ends(n, shares))
    orders = [np.random.default_rng(seed).permutation(n) for seed in range(seeds)]
    return [
        Job(layer, labels, orders[seed], schedule, seed)
        for layer in range(layers)
        for seed in range(seeds)
    ]


@pytest.mark.each_once("k")
@pytest.mark.parametrize("probe", ["linear", "mlp"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("last", [False, True])
def test_equal_to_a_plain_loop(probe: str, k: int, last: bool) -> None:
    x, y = _data(331, 12, k)
    recipe = Recipe(probe, epochs=25, rate=0.01, tolerance=0.05, decay=0.1, last=last)
    (job,) = _jobs(y)
    assert all(size % recipe.batch for size in job.schedule.train)
    (ours,) = train_jobs(x, [job], k, recipe, device="cpu")
    single, double = (loop(x[0], job, k, recipe, dtype) for dtype in (torch.float32, torch.float64))
    assert [block.epochs for block in ours] == [block.epochs for block in double]
    assert len({block.epochs for block in ours}) > 2, "blocks that stop together prove less"
    for mine, near, exact in zip(ours, single, double, strict=True):
        # as far from the exact loop as torch's own float32 is, give or take the order of sums
        rounding = max(abs(near.loss - exact.loss), np.finfo(np.float32).eps * mine.n)
        assert abs(mine.loss - exact.loss) <= 20 * rounding
        assert mine.right == exact.right


def test_two_mirrored_rows_are_their_difference() -> None:
    """AdamW on both rows of weights, and on their difference with twice the rate: the same."""
    x, y = _data(90, 7, 2)
    recipe = Recipe(epochs=9, rate=0.02, decay=0.3, last=True, patience=99)
    (job,) = _jobs(y, shares=(0.5, 1.0))
    stack = Stack(LinearProbes, x, [job], 2, recipe)
    stack.train(lambda count: None, threading.Event())
    probes: Any = stack.probes
    (looped,) = loop(x[0], job, 2, recipe, torch.float64)
    rows = np.concatenate([looped.weights[0], looped.weights[1][:, None]], axis=1)
    assert rows.sum() != pytest.approx(0, abs=1e-3), "their mean must not vanish by chance"
    steps = 9 * -(-job.schedule.train[0] // recipe.batch)
    # each step moves a weight by less than twice the rate, and rounds it once or twice
    tolerance = steps * 2 * np.finfo(np.float32).eps
    np.testing.assert_allclose(probes.kept[0, 0, 0], rows[1] - rows[0], atol=tolerance, rtol=0)


def _losses(found: list[list[Result]]) -> np.ndarray:
    return np.array([[probe.loss for probe in row] for row in found])


@pytest.mark.parametrize("rows", [1, 2, 5, 100])
def test_chunks_do_not_matter(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = _data(260, 10, 2, layers=3)
    jobs = _jobs(y, layers=3, seeds=2)
    expected = train_jobs(x, jobs, 2, QUICK)
    monkeypatch.setattr(trainer, "ROWS", rows)
    chunked = train_jobs(x, jobs, 2, QUICK)
    np.testing.assert_allclose(_losses(chunked), _losses(expected), rtol=1e-4)
    assert [[probe.epochs for probe in row] for row in chunked] == [
        [probe.epochs for probe in row] for row in expected
    ]


@pytest.mark.slow
@pytest.mark.parametrize("probe", ["linear", "mlp"])
def test_threads_change_no_bit(probe: str) -> None:
    x, y = _data(200, 8, 3, layers=4)
    jobs = _jobs(y, layers=4, seeds=3)
    recipe = Recipe(probe, epochs=3)
    by_threads = []
    for count in (1, 2, 5):
        set_threads(count)
        by_threads.append(train_jobs(x, jobs, 3, recipe, device="cpu"))
    assert by_threads[0] == by_threads[1] == by_threads[2]


def test_layers_that_are_trained_together_do_not_change_each_other() -> None:
    x, y = _data(300, 9, 2, layers=3)
    jobs = _jobs(y, layers=3, seeds=2)
    together = train_jobs(x, jobs, 2, QUICK)
    alone = [
        row
        for layer in range(3)
        for row in train_jobs(x[layer : layer + 1], _jobs(y, seeds=2), 2, QUICK)
    ]
    np.testing.assert_allclose(_losses(together), _losses(alone), rtol=1e-4)
    assert len(np.unique(_losses(together)[:, -1])) == len(jobs)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_types_are_read_as_float32(dtype: Any) -> None:
    x, y = _data(200, 6, 2)
    given = x.astype(dtype)
    jobs = _jobs(y)
    expected = train_jobs(given.astype(np.float32), jobs, 2, QUICK)
    assert train_jobs(given, jobs, 2, QUICK) == expected


def test_a_read_only_map_of_a_file_is_enough(tmp_path: Path) -> None:
    x, y = _data(200, 6, 2)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert train_jobs(np.asarray(mapped), _jobs(y), 2, QUICK) == train_jobs(x, _jobs(y), 2, QUICK)


def test_arguments_are_not_changed() -> None:
    x, y = _data(150, 5, 3)
    before = x.copy(), y.copy()
    jobs = _jobs(y)
    order = jobs[0].order.copy()
    train_jobs(x, jobs, 3, QUICK)
    for now, then in zip((x, y, jobs[0].order), (*before, order), strict=True):
        np.testing.assert_array_equal(now, then)


def test_large_scores_do_not_overflow() -> None:
    x, y = _data(100, 4, 2)
    (row,) = train_jobs(x * np.float32(1e6), _jobs(y, shares=(0.5, 1.0)), 2, QUICK)
    (three,) = train_jobs(x * np.float32(1e6), _jobs(y, shares=(0.5, 1.0)), 3, QUICK)
    assert np.isfinite([probe.loss for probe in (*row, *three)]).all()


def test_scoring_in_small_tiles_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = _data(220, 6, 2)
    expected = train_jobs(x, _jobs(y), 2, QUICK)
    # private: sizes of the blocks of a numerical kernel, which may change no value
    monkeypatch.setattr("wordbias.probes.train._TILE", 7 * 6)
    tiled = train_jobs(x, _jobs(y), 2, QUICK)
    np.testing.assert_allclose(_losses(tiled), _losses(expected), rtol=1e-5)


def test_a_stack_can_be_stopped() -> None:
    x, y = _data(100, 4, 2)
    stop = threading.Event()
    stop.set()
    with pytest.raises(StoppedError):
        Stack(LinearProbes, x, _jobs(y), 2, QUICK).train(lambda count: None, stop)


@pytest.mark.slow
def test_a_failure_in_one_thread_is_the_one_that_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = _data(120, 4, 2, layers=4)
    monkeypatch.setattr(trainer, "ROWS", 1)
    train, calls = Stack.train, []

    def failing(self: Stack, *arguments: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise MemoryError("no room")
        train(self, *arguments)

    monkeypatch.setattr(Stack, "train", failing)
    with pytest.raises(MemoryError, match="no room"):
        train_jobs(x, _jobs(y, layers=4), 2, Recipe(epochs=2000, tolerance=-1e9))


def test_cross_entropy_is_its_definition() -> None:
    rng = np.random.default_rng(0)
    z, y = rng.standard_normal((4, 5, 3)), rng.integers(0, 3, (4, 5))
    p = np.exp(z) / np.exp(z).sum(-1, keepdims=True)
    expected = [[-np.log(p[i, j, y[i, j]]) for j in range(5)] for i in range(4)]
    np.testing.assert_allclose(cross_entropy(z, y), expected, rtol=1e-12)
    assert cross_entropy(np.array([[500.0, -500.0]], np.float32), np.array([1])) == 1000


def test_the_best_epoch_is_the_one_before_the_patience() -> None:
    x, y = _data(331, 12, 2)
    probes = [probe for row in train_jobs(x, _jobs(y), 2, QUICK) for probe in row]
    stopped = [probe for probe in probes if probe.epochs < QUICK.epochs]
    assert stopped
    assert all(probe.epochs - probe.best == QUICK.patience + 1 for probe in stopped)
    assert all(a.n < b.n for a, b in pairwise(probes))
