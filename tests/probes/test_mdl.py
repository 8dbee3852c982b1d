"""MDL online codes: properties, faults of the published code, errors, several processes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from reference_probe_loop import loop

from wordbias.errors import WordbiasError
from wordbias.labelled import Labelled
from wordbias.probes.mdl import (
    FRACTIONS,
    LN2,
    block_ends,
    nested,
    online_code,
    online_codes,
    online_codes_in_processes,
)
from wordbias.probes.train import Job, Recipe
from wordbias.workers import Workers


def _noise(n: int, d: int, k: int = 2, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)).astype(np.float32), rng.integers(0, k, n)


def _signal(n: int, d: int, seed: int = 0, noise: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)).astype(np.float32)
    return x, np.where(x[:, :3].sum(1) + noise * rng.standard_normal(n) > 0, "f", "m")


@pytest.mark.parametrize(
    ("n", "d", "k"), [(100, 3, 2), (300, 200, 2), (1000, 2, 2), (1500, 64, 3), (4000, 8, 5)]
)
def test_random_labels_never_compress(n: int, d: int, k: int) -> None:
    code = online_code(*_noise(n, d, k), recipe=Recipe(epochs=20))
    assert code.compression <= 1.02


@pytest.mark.slow
def test_a_true_code_saves_bits_as_rarely_as_a_code_must() -> None:
    """Kraft: under fair coins a decodable code saves b bits or more with probability ≤ 2^-b."""
    saved = []
    for seed in range(60):
        code = online_code(*_noise(120, 2, seed=seed), recipe=Recipe(epochs=30, rate=0.01))
        saved.append(code.uniform - code.codelength)
    assert max(saved) < 30, "which happens to one set of codes in 18 million"
    # at most a quarter saves two bits; six standard deviations of a share of sixty above it
    assert np.mean(np.array(saved) >= 2) <= 0.25 + 6 * np.sqrt(0.25 * 0.75 / 60)
    # E[2^saved] ≤ 1, so E[saved] ≤ 0 by Jensen; five standard errors above it
    assert np.mean(saved) <= 5 * np.std(saved) / np.sqrt(60)


def test_random_labels_are_memorised_where_there_are_many_dimensions() -> None:
    assert online_code(*_noise(600, 300)).compression < 0.98


def test_random_labels_of_many_examples_read_one() -> None:
    code = online_code(*_noise(50_000, 4), recipe=Recipe(epochs=4, batch=64))
    assert code.compression == pytest.approx(1, abs=0.02)


@pytest.mark.slow
def test_separable_labels_approach_the_limit() -> None:
    """The limit is one by the first block's share; a longer training comes nearer to it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1500)
    x = ((2 * y - 1)[:, None] * np.ones((1, 4))).astype(np.float32)
    reached = [
        online_code(x, y, recipe=Recipe(epochs=epochs, rate=0.05, tolerance=0)).compression
        for epochs in (3, 30, 300)
    ]
    assert reached[0] < reached[1] < reached[2] < 50
    assert reached[2] > 0.95 * 50


@pytest.mark.slow
def test_a_label_that_says_more_compresses_more() -> None:
    compressions = [
        online_code(*_signal(900, 12, noise=noise)).compression for noise in (8, 3, 1, 0.1)
    ]
    assert compressions == sorted(compressions)


@pytest.mark.parametrize("names", ["abc", "bca", "cab", "acb", "xyz"])
def test_the_labels_names_do_not_matter(names: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the first weights, of which each class gets its own; here they are all 0."""
    monkeypatch.setattr(
        "wordbias.probes.linear.initial_weights",
        lambda seed, block, d, classes: np.zeros((classes, d + 1), np.float32),
    )
    x, y = _noise(400, 5, 3)
    y = np.where(x[:, 0] > 0.5, 2, y)
    code, renamed = (
        online_code(x, np.array(list(given))[y], recipe=Recipe(epochs=5))
        for given in ("abc", names)
    )
    assert renamed.classes == 3
    assert renamed.compression == pytest.approx(code.compression, rel=1e-5)
    assert renamed.accuracy == code.accuracy


def test_equal_to_the_plain_loop_with_the_published_blocks() -> None:
    x, y = _signal(700, 16)
    recipe = Recipe(epochs=8, rate=0.01)
    code = online_code(x, y, seed=5, recipe=recipe)
    codes = (y == "m").astype(np.intp)
    order = np.random.default_rng(5).permutation(700)
    schedule = nested(block_ends(700, FRACTIONS["published"]))
    looped = loop(x, Job(0, codes, order, schedule, 5), 2, recipe)
    nats = sum(block.loss for block in looped)
    assert code.first == 14
    assert code.codelength == pytest.approx(14 + nats / LN2, rel=1e-4)
    assert code.accuracy == looped[-1].right / (700 - 473)


def test_b8_units() -> None:
    """Released code adds nats to bits: chance looks like compression there, and not in bits."""
    code = online_code(*_noise(1200, 3), recipe=Recipe(epochs=10))
    assert code.compression <= 1.02 < 1.3 < code.compression_as_published
    f1 = code.first / code.n
    bits = 1 / (f1 + (1 / code.compression_as_published - f1) / math.log(2))
    assert code.compression == pytest.approx(bits, rel=1e-9)


@pytest.mark.parametrize("probe", ["linear", "mlp"])
def test_b9_the_last_weights_are_worse_than_the_best(probe: str) -> None:
    """Wide probes of few examples overfit while they wait for an improvement on dev."""
    x, y = _signal(500, 80, noise=2)
    best, last = (
        online_code(x, y, recipe=Recipe(probe, rate=0.005, last=last), device="cpu")
        for last in (False, True)
    )
    assert [block.epochs for block in best.blocks] == [block.epochs for block in last.blocks]
    assert all(block.best == block.epochs for block in last.blocks)
    assert best.codelength < last.codelength


def test_b10_a_probe_that_names_one_class_does_not_change_their_number() -> None:
    """The released code counts the classes that were named: one, so a uniform code of no bits."""
    rng = np.random.default_rng(0)
    y = (rng.random(1000) < 0.03).astype(int)
    x = rng.standard_normal((1000, 2)).astype(np.float32)
    code = online_code(x, y, recipe=Recipe(epochs=10))
    assert code.accuracy == 1 - y[np.random.default_rng(0).permutation(1000)[676:]].mean()
    assert (code.classes, code.uniform) == (2, 1000)
    assert code.compression > 1


def test_equal_seeds_give_equal_codes() -> None:
    x, y = _signal(400, 6)
    assert online_code(x, y, seed=1) == online_code(x, y, seed=1)
    assert online_code(x, y, seed=1) != online_code(x, y, seed=2)


def test_several_layers_and_seeds_do_not_change_each_other() -> None:
    x, y = _signal(400, 6)
    layers = np.stack([x, x[:, ::-1], 0 * x])
    codings = online_codes(Labelled.of(layers, y, layers=(0, 6, 12)), seeds=(3, 4))
    assert [(coding.code.layer, coding.code.seed) for coding in codings] == [
        (layer, seed) for layer in (0, 6, 12) for seed in (3, 4)
    ]
    alone = online_code(layers[1], y, seed=4)
    assert codings[3].code.compression == pytest.approx(alone.compression, rel=1e-4)
    assert codings[4].code.compression <= 1.02
    for controlled in codings:
        assert controlled.control is not None
        assert controlled.selectivity == controlled.code.accuracy - controlled.control.accuracy


def test_groups_are_sent_one_by_one() -> None:
    """Labels that only a group's own examples teach cannot be read off those of another group."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 30, 1500)
    of_group = rng.integers(0, 2, 30)
    x = np.eye(30, dtype=np.float32)[groups]
    mixed = online_code(x, of_group[groups], recipe=Recipe(rate=0.05))
    sorted_ = online_code(x, of_group[groups], groups=groups, recipe=Recipe(rate=0.05))
    assert mixed.compression > 3
    assert sorted_.compression < 1.02
    sizes = np.bincount(groups)
    order = np.random.default_rng(0)
    order.permutation(1500)
    stops = np.cumsum(sizes[order.permutation(30)])
    assert set(sorted_.ends().tolist()) <= set(stops.tolist())


@pytest.mark.slow
def test_orders_with_other_blocks_do_not_change_each_other() -> None:
    x, y = _signal(500, 6)
    groups = np.random.default_rng(2).integers(0, 25, 500)
    layers = np.stack([x, x * 0.5])
    codings = online_codes(Labelled.of(layers, y), seeds=(0, 1), groups=groups, control=False)
    assert codings[0].code.first != codings[1].code.first
    for coding in codings:
        alone = online_code(layers[coding.code.layer], y, seed=coding.code.seed, groups=groups)
        assert coding.code.ends().tolist() == alone.ends().tolist()
        np.testing.assert_allclose(coding.code.bits(), alone.bits(), rtol=1e-3)


def test_voita_and_titov_s_blocks() -> None:
    x, y = _signal(2500, 5)
    code = online_code(x, y, fractions="voita", recipe=Recipe(epochs=5))
    assert code.ends().tolist() == [2, 5, 10, 20, 40, 80, 156, 312, 625, 1250, 2500]
    assert code.compression > 1


def test_an_external_dev_set_is_used_for_early_stopping_and_not_sent() -> None:
    x, y = _signal(600, 8)
    dev, recipe = np.arange(0, 600, 6), Recipe(epochs=12, rate=0.01)
    code = online_code(x, y, dev=dev, recipe=recipe)
    assert (code.n, code.first) == (500, 10)
    sent = np.random.default_rng(0).permutation(np.setdiff1d(np.arange(600), dev))
    schedule = nested(block_ends(500, FRACTIONS["published"]), (500, 600))
    job = Job(0, (y == "m").astype(np.intp), np.concatenate([sent, dev]), schedule, 0)
    nats = sum(block.loss for block in loop(x, job, 2, recipe))
    assert code.codelength == pytest.approx(10 + nats / LN2, rel=1e-4)
    assert code.codelength != online_code(x[sent], y[sent], recipe=recipe).codelength


@pytest.mark.parametrize("dev", [[], [1, 1], [-1], [600]])
def test_a_dev_set_of_unknown_or_repeated_examples_is_refused(dev: list[int]) -> None:
    with pytest.raises(WordbiasError, match="the dev set: expected some of 600 examples"):
        online_code(*_signal(600, 8), dev=dev)


def _nan(x: Any) -> Any:
    x[1, 41, 2] = np.nan
    return x


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x, y: (x, y[:-1]), r"v: 200 rows, but 199 values of label"),
        (lambda x, y: (x, ["f"] * 200), r"v: label needs two classes at least; all are 'f'"),
        (lambda x, y: (x, range(200)), r"v: label has 200 classes in 200 rows"),
        (lambda x, y: (x[:, :, :0], y), r"v: expected numbers of shape"),
        (lambda x, y: (_nan(x), y), r"v: layer 5, row 42 holds nan; probes need finite"),
        (lambda x, y: (x[0, 0], y), r"v: expected numbers of shape"),
        (lambda x, y: (x.astype(str), y), r"v: expected numbers of shape"),
        (lambda x, y: (x, [list(y)]), r"v: expected one label for each row"),
        (lambda x, y: (x * 1e16, y), r"v: layer 4, row 1 holds .*up to 1e\+15"),
    ],
)
def test_vectors_and_labels_that_do_not_fit_are_refused(make: Any, message: str) -> None:
    x, y = _signal(200, 4)
    vectors, labels = make(np.stack([x, x]), y)
    with pytest.raises(WordbiasError, match=message):
        Labelled.of(vectors, labels, layers=(4, 5), name="v")


def test_half_precision_and_whole_numbers_are_numbers() -> None:
    x, y = _signal(200, 4)
    assert Labelled.of(x.astype(np.float16), y).vectors.dtype == np.float16
    assert Labelled.of((10 * x).astype(int), y).vectors.dtype == np.float32
    with pytest.raises(WordbiasError, match="row 1 holds inf"):
        Labelled.of(np.full((200, 4), np.inf, np.float16), y)


def test_vectors_are_not_copied() -> None:
    x, y = _signal(200, 4)
    assert np.shares_memory(Labelled.of(x, y).vectors, x)


def test_too_few_examples_and_unknown_fractions_are_refused() -> None:
    x, y = _signal(99, 4)
    with pytest.raises(WordbiasError, match="99 examples are too few for 11 blocks"):
        online_code(x, y)
    assert online_code(x, y, fractions=(0.1, 0.5, 1)).n == 99
    with pytest.raises(WordbiasError, match="fractions 'orgad': expected published, voita"):
        online_code(x, y, fractions="orgad")
    with pytest.raises(WordbiasError, match=r"x: expected shape \(n, d\)"):
        online_code(np.stack([x, x]), y)


def test_rare_classes_are_named() -> None:
    x, _ = _signal(10, 2)
    (note,) = Labelled.of(x, [*"aaaaabbbbc"]).once()
    assert note.startswith("vectors: 1 of 3 classes occur only once (c); ")


def _three_classes() -> Labelled:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    vectors = rng.normal(size=(2, 300, 8)).astype(np.float32)
    vectors[1, :, 0] += labels
    return Labelled.of(vectors, labels, layers=[5, 6])


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of clusters that start and stop
@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_codes_of_several_processes_are_those_of_one(
    backend: str, join: Callable[[str], None]
) -> None:
    join(backend)
    examples, recipe = _three_classes(), Recipe(epochs=5)
    codings = online_codes_in_processes(examples, Workers(2, backend), seeds=[0, 1], recipe=recipe)
    assert [(coding.code.layer, coding.code.seed) for coding in codings] == [
        (5, 0),
        (5, 1),
        (6, 0),
        (6, 1),
    ]
    assert codings == online_codes_in_processes(examples, Workers(2), seeds=[0, 1], recipe=recipe)
    here = online_codes(examples, seeds=[0, 1], recipe=recipe)
    lengths = [[coding.code.codelength for coding in codes] for codes in (codings, here)]
    np.testing.assert_allclose(*lengths, rtol=1e-6)  # of products in float32


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_settings_reach_the_probes() -> None:
    examples = _three_classes()
    settings = {"dev": np.arange(30), "control": False, "fractions": [0.1, 0.4, 1.0]}
    settings["recipe"] = Recipe(epochs=2)
    expected = online_codes(examples, seeds=[3], **settings)
    assert online_codes_in_processes(examples, Workers(2), seeds=[3], **settings) == expected
    assert all(coding.control is None for coding in expected)
