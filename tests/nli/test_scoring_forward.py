"""The forward pass without torch: the same numbers as with torch, whatever the batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch

from wordbias.devices import set_threads
from wordbias.nli.files import Model
from wordbias.nli.lexicon import Encoded, Lexicon
from wordbias.nli.model import DecomposableAttention
from wordbias.nli.pairs import Pairs
from wordbias.nli.scoring import probabilities, softmax

DIM, HIDDEN = 20, 16
WORDS = [f"w{i}" for i in range(50)]
LEXICON = Lexicon.of([WORDS])
EPS = float(np.finfo(np.float32).eps)


def trained(intra: bool) -> tuple[DecomposableAttention, Model]:
    """Make a model with weights that tell pairs apart, for torch and without it."""
    network = DecomposableAttention(DIM, HIDDEN, intra=intra).eval()
    source = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            drawn = torch.randn(parameter.shape, generator=source)
            parameter.copy_(0.25 * drawn + (0.3 if name.endswith("bias") else 0))
    weights = {name: value.detach()[0].numpy() for name, value in network.named_parameters()}
    return network, Model(weights, DIM, HIDDEN, intra)


def vectors() -> np.ndarray:
    x = np.random.default_rng(1).normal(size=(len(WORDS) + 1, DIM))
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def make(lengths: Sequence[tuple[int, int]], seed: int = 2) -> Encoded:
    """Pairs of sentences with so many words; 0 words leave the NULL token alone."""
    rng = np.random.default_rng(seed)
    sides = [[tuple(map(str, rng.choice(WORDS, n[i]))) for n in lengths] for i in (0, 1)]
    return Encoded.of(Pairs(*sides, np.zeros(len(lengths), np.int64)), LEXICON)


def with_torch(network: DecomposableAttention, pairs: Encoded, dtype: torch.dtype) -> np.ndarray:
    """Predict one pair after the other."""
    network = network.to(dtype)
    table = torch.from_numpy(vectors()).to(dtype)
    s, out = pairs.sentences, []
    for sides in zip(pairs.premise, pairs.hypothesis, strict=True):
        words = [
            table[torch.from_numpy(s.flat[s.start[i] : s.start[i] + s.length[i]]).long()]
            for i in sides
        ]
        masks = [torch.ones(1, 1, len(x), dtype=torch.bool) for x in words]
        with torch.no_grad():
            out.append(network(*(x[None, None] for x in words), *masks)[0, 0].exp().numpy())
    return np.array(out)


LENGTHS = [(0, 0), (0, 5), (7, 0), (1, 1), (3, 3), (3, 3), (12, 9), (30, 4), (4, 30), (90, 70)]


@pytest.mark.parametrize("intra", [True, False])
def test_the_same_numbers_as_with_torch(intra: bool) -> None:
    """Both round to float32, in different orders: both must be as near to float64.

    How far float32 takes torch from its own float64 result is what rounding costs in this model;
    another order of the same sums may cost a few times as much.
    """
    network, model = trained(intra)
    pairs = make(LENGTHS * 6)
    single = with_torch(network, pairs, torch.float32)
    exact = with_torch(network, pairs, torch.float64)
    cost = np.abs(single - exact).max()
    predicted = probabilities(model, vectors(), pairs)
    assert 0 < cost < 100 * EPS
    assert np.abs(predicted - exact).max() <= 4 * cost
    assert exact.std(0).min() > 1000 * cost  # or any numbers would do


def test_probabilities_are_float32_and_sum_to_one() -> None:
    predicted = probabilities(trained(True)[1], vectors(), make(LENGTHS))
    assert (predicted.dtype, predicted.shape) == (np.float32, (len(LENGTHS), 3))
    np.testing.assert_allclose(predicted.sum(1), 1, rtol=4 * EPS)
    assert (predicted >= 0).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_a_prediction_does_not_depend_on_the_batch(threads: int) -> None:
    _, model = trained(True)
    rng = np.random.default_rng(5)
    pairs = make([(int(a), int(b)) for a, b in rng.integers(0, 9, (600, 2))])
    set_threads(threads)
    together = probabilities(model, vectors(), pairs)
    for i in range(0, 600, 60):
        pair = Encoded(
            pairs.sentences, pairs.premise[[i]], pairs.hypothesis[[i]], pairs.labels[[i]]
        )
        np.testing.assert_allclose(
            probabilities(model, vectors(), pair)[0], together[i], atol=100 * EPS
        )


def test_pairs_and_vectors_are_not_changed() -> None:
    _, model = trained(True)
    pairs, x = make(LENGTHS), vectors()
    x.flags.writeable = False
    weights = {name: weight.copy() for name, weight in model.weights.items()}
    probabilities(model, x, pairs)
    for name, weight in weights.items():
        np.testing.assert_array_equal(model.weights[name], weight)


def test_large_scores_do_not_overflow() -> None:
    e = np.array([[1e30, -1e30, 1e30], [-3e38, -3e38, -3e38]], np.float32)
    np.testing.assert_allclose(softmax(e), [[0.5, 0, 0.5], [1 / 3] * 3], rtol=4 * EPS)
