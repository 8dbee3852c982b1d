"""The phases of gender-preserving debiasing: who is trained on, how often, and how it is judged."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch

from wordbias.devices import set_threads
from wordbias.methods.gender_preserving.networks import (
    Networks,
    by_name,
    debiasing_terms,
    dropped,
    from_names,
    generator,
    initial_networks,
    reconstruction_loss,
)
from wordbias.methods.gender_preserving.training import Autoencoding, Classifying, Corpus, Debiasing
from wordbias.methods.gender_preserving.words import Part

N, D = 3000, 4
PUBLISHED = [False, True]


def _generator(seed: int = 0) -> Any:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Vectors whose first value is their row number."""
    vectors = np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)
    vectors[:, 0] = np.arange(N)
    return Corpus(vectors)


@pytest.fixture(scope="module")
def ordinary() -> Corpus:
    return Corpus(np.random.default_rng(1).normal(size=(N, D)).astype(np.float32))


@pytest.fixture(scope="module")
def words() -> tuple[Part, Part]:
    """Seven pairs, five stereotypes and twelve neutral words; 3, 2 and 5 held out."""
    train = Part(np.arange(14).reshape(7, 2), np.arange(14, 19), np.arange(19, 31))
    return train, Part(np.arange(40, 46).reshape(3, 2), np.arange(46, 48), np.arange(48, 53))


@pytest.fixture
def networks() -> Networks:
    return initial_networks(D, _generator())


def _classifying(corpus: Corpus, words: tuple[Part, Part], networks: Networks) -> Classifying:
    return Classifying(networks, *(Part(*map(corpus.take, part)) for part in words))


def _debiasing(
    corpus: Corpus, words: tuple[Part, Part], networks: Networks, **settings: Any
) -> Debiasing:
    return Debiasing(networks, *(Part(*map(corpus.take, part)) for part in words), **settings)


def _rows(phase: Autoencoding, epoch: int = 0) -> list[list[int]]:
    return [rows.tolist() for rows in phase.batches(epoch)[0]]


@pytest.mark.parametrize("published", PUBLISHED)
def test_every_word_is_trained_once_an_epoch(
    corpus: Corpus, networks: Networks, published: bool
) -> None:
    phase = Autoencoding(networks, corpus, as_published=published)
    batches = _rows(phase)
    assert len(batches) == phase.steps()
    trained = [row for batch in batches for row in batch]
    assert sorted([*trained, *phase.dev.tolist()]) == list(range(N))
    assert Counter(map(len, batches)) == Counter({512: 4, N * 4 // 5 - 4 * 512: 1})


def test_a_fifth_or_5000_words_are_held_out(networks: Networks) -> None:
    for n, held in ((10, 2), (3000, 600), (25_000, 5000), (26_000, 5000)):
        phase = Autoencoding(networks, Corpus(np.zeros((n, 1), np.float32)))
        assert len(phase.dev) == held


def test_batches_are_made_anew_every_epoch(corpus: Corpus, networks: Networks) -> None:
    phase = Autoencoding(networks, corpus)
    first, second = (_rows(phase, epoch) for epoch in (0, 1))
    assert {frozenset(batch) for batch in first}.isdisjoint(map(frozenset, second))
    assert first == _rows(phase, 0)
    assert first != _rows(Autoencoding(networks, corpus, seed=1), 0)


def test_as_published_the_words_of_a_batch_stay_together(
    corpus: Corpus, networks: Networks
) -> None:
    phase = Autoencoding(networks, corpus, as_published=True)
    first, second = (_rows(phase, epoch) for epoch in (0, 1))
    assert sorted(first) == sorted(second)
    assert first != second


@pytest.mark.parametrize("published", PUBLISHED)
def test_reconstruction_is_judged_on_all_held_out_words_alike(
    ordinary: Corpus, networks: Networks, published: bool
) -> None:
    silent = from_names({name: torch.zeros_like(t) for name, t in by_name(networks).items()})
    phase = Autoencoding(silent, ordinary, as_published=published)
    x = ordinary.vectors[phase.dev].astype(float) ** 2  # nothing but zeros is reconstructed
    assert len(x) == 600
    mean = np.mean([x[:512].mean(), x[512:].mean()]) if published else x.mean()
    other = x.mean() if published else np.mean([x[:512].mean(), x[512:].mean()])
    loss = -phase.score().item()
    eps = float(np.finfo(np.float32).eps)
    assert loss == pytest.approx(mean, rel=512 * D * eps)
    assert abs(mean - other) > 2 * 512 * D * eps * mean


def test_each_classifier_tells_one_group_from_all_others(
    corpus: Corpus, words: tuple[Part, Part], networks: Networks
) -> None:
    phase = _classifying(corpus, words, networks)
    for part, (x, gold) in zip(words, (phase.train, phase.dev), strict=True):
        labels = {
            **{int(row): [1, 0] for row in part.pairs[:, 0]},
            **{int(row): [0, 1] for row in part.pairs[:, 1]},
            **{int(row): [0, 0] for row in part.neutral},
        }
        assert {int(row): y for row, y in zip(x[:, 0], gold.tolist(), strict=True)} == labels


def test_every_word_is_classified_once_an_epoch(
    corpus: Corpus, words: tuple[Part, Part], networks: Networks
) -> None:
    phase = _classifying(corpus, words, networks)
    order = phase.order(0)
    assert sorted(order) == list(range(2 * 7 + 12))
    assert order != sorted(order)


def test_accuracy_is_balanced(corpus: Corpus, words: tuple[Part, Part]) -> None:
    networks = initial_networks(D, _generator(3))
    phase = _classifying(corpus, words, networks)
    predicted = networks.classifiers(networks.encode(phase.dev[0])).numpy() > 0
    gold = phase.dev[1].numpy() > 0
    for i, accuracy in enumerate(phase.accuracy(networks).tolist()):
        inside = [s == g for s, g in zip(predicted[:, i], gold[:, i], strict=True) if g]
        outside = [s == g for s, g in zip(predicted[:, i], gold[:, i], strict=True) if not g]
        assert accuracy == pytest.approx((np.mean(inside) + np.mean(outside)) / 2)


def test_a_constant_classifier_has_an_accuracy_of_one_half(
    corpus: Corpus, words: tuple[Part, Part], networks: Networks
) -> None:
    phase = _classifying(corpus, words, networks)
    for bias in (-9.0, 9.0):
        weight, biases = networks.classifiers
        constant = networks._replace(
            classifiers=networks.classifiers._replace(
                weight=torch.zeros_like(weight), bias=torch.full_like(biases, bias)
            )
        )
        assert phase.accuracy(constant).tolist() == [0.5, 0.5]


def _quadruples(phase: Debiasing, epoch: int = 0) -> list[tuple[int, ...]]:
    return [tuple(map(int, quadruple[:, 0])) for quadruple in phase.quadruples(epoch)[0]]


def test_every_word_of_every_list_takes_part(
    corpus: Corpus, words: tuple[Part, Part], networks: Networks
) -> None:
    phase = _debiasing(corpus, words, networks)
    quadruples = _quadruples(phase)
    assert len(quadruples) == phase.steps() == 12
    first, second, *others = zip(*quadruples, strict=True)
    pairs = Counter(zip(first, second, strict=True))
    assert set(pairs) == set(map(tuple, words[0].pairs.tolist()))
    assert set(pairs.values()) == {1, 2}
    for column, rows in zip(others, words[0][1:], strict=True):
        times = Counter(column)
        assert set(times) == set(rows.tolist())
        assert max(times.values()) - min(times.values()) <= 1


def test_as_published_the_shortest_list_ends_the_epoch(
    corpus: Corpus, words: tuple[Part, Part], networks: Networks
) -> None:
    phase = _debiasing(corpus, words, networks, as_published=True)
    quadruples = _quadruples(phase)
    assert len(quadruples) == phase.steps() == 5
    first, second, stereotypes, neutral = zip(*quadruples, strict=True)
    assert sorted(stereotypes) == words[0].stereotypes.tolist()
    assert set(zip(first, second, strict=True)) < set(map(tuple, words[0].pairs.tolist()))
    assert set(neutral) < set(words[0].neutral.tolist())
    assert len(set(neutral)) == len(set(first)) == 5
    assert set(_quadruples(phase, 1)) != set(quadruples)


def test_the_quadruples_are_new_every_epoch(
    corpus: Corpus, words: tuple[Part, Part], networks: Networks
) -> None:
    phase = _debiasing(corpus, words, networks)
    assert _quadruples(phase) == _quadruples(phase)
    assert _quadruples(phase) != _quadruples(phase, 1)


@pytest.mark.parametrize("published", PUBLISHED)
def test_held_out_words_are_judged_along_the_difference_of_now(
    ordinary: Corpus, words: tuple[Part, Part], networks: Networks, published: bool
) -> None:
    phase = _debiasing(ordinary, words, networks, as_published=published, weight=1.0)
    next(phase.losses(0))
    networks.encoder.weight.mul_(-2)
    score = phase.score().item()
    next(phase.losses(0))
    assert (phase.score().item() == score) is not published


def test_stereotypes_along_the_difference(
    ordinary: Corpus, words: tuple[Part, Part], networks: Networks
) -> None:
    measured = _debiasing(ordinary, words, networks).stereotypes_along(networks)
    weight, bias = (tensor.numpy().astype(float) for tensor in networks.encoder)
    h = np.tanh(ordinary.vectors @ weight + bias)
    v = np.mean([h[m] - h[f] for f, m in words[0].pairs], axis=0)
    for name, part in zip(("train", "held-out"), words, strict=True):
        along = np.array([abs(h[row] @ v) for row in part.stereotypes])
        cosine = along / (np.linalg.norm(h[part.stereotypes], axis=1) * np.linalg.norm(v))
        slack = 100 * D * float(np.finfo(np.float32).eps)
        shortest = np.linalg.norm(h[part.stereotypes], axis=1).min() * np.linalg.norm(v)
        np.testing.assert_allclose(measured[name][0], along, rtol=0, atol=slack)
        np.testing.assert_allclose(measured[name][1], cosine, rtol=0, atol=2 * slack / shortest)


def test_wide_vectors_may_use_several_threads(networks: Networks) -> None:
    set_threads(3)
    for d, expected in ((100, 1), (300, 3)):
        assert Autoencoding(networks, Corpus(np.zeros((10, d), np.float32))).threads == expected


def test_dropout_is_applied_only_in_training(
    ordinary: Corpus, words: tuple[Part, Part], networks: Networks
) -> None:
    autoencoding = Autoencoding(networks, ordinary)
    debiasing = _debiasing(ordinary, words, networks, weight=1.0)
    batches, _ = autoencoding.batches(4)
    rng = generator(0, 0, 4)
    torch.randperm(len(autoencoding.train), generator=rng)  # which comes before the dropout
    x = ordinary.take(batches[0])
    expected = reconstruction_loss(networks, x, dropped(x, 0.05, rng))
    assert next(autoencoding.losses(4)).item() == expected.item()
    assert expected != reconstruction_loss(networks, x, x)
    quadruples, rng = debiasing.quadruples(4)
    x = quadruples[:1]
    loss = next(debiasing.losses(4)).item()
    expected = debiasing_terms(networks, x, dropped(x, 0.01, rng), debiasing.v).total(1.0)
    assert loss == expected.item()
    for phase in (autoencoding, debiasing):
        assert torch.equal(phase.score(), phase.score())


def test_optimizers_are_the_published_ones(
    ordinary: Corpus, words: tuple[Part, Part], networks: Networks
) -> None:
    tensors = [torch.zeros(1, requires_grad=True)]
    for phase in (Autoencoding(networks, ordinary), _classifying(ordinary, words, networks)):
        adam = phase.optimizer(tensors)
        assert isinstance(adam, torch.optim.Adam)
        assert adam.defaults["lr"] == 2e-4
    descent = _debiasing(ordinary, words, networks).optimizer(tensors)
    assert isinstance(descent, torch.optim.SGD)
    assert (descent.defaults["lr"], descent.defaults["momentum"]) == (0.1, 0)


def test_rows_are_scaled(ordinary: Corpus) -> None:
    rows = Corpus(ordinary.vectors, scale=4.0).take([[5, 6]])
    np.testing.assert_array_equal(rows, ordinary.vectors[[[5, 6]]] / 4)


def test_vectors_are_neither_changed_nor_shared(corpus: Corpus) -> None:
    taken = corpus.take([3, 1])
    taken += 1
    assert corpus.vectors[[3, 1], 0].tolist() == [3, 1]
