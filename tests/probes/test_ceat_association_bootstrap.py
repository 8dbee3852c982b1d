"""The spread over sentences: beside exact sums, beside a bootstrap that resamples, and in use."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from wordbias.probes.ceat import Association, Contexts, associate
from wordbias.probes.ceat.association import (
    combine_effects,
    contributions,
    draw_places,
    in_sample_variances,
    sentence_spread,
)
from wordbias.statistics import Interval

Table = dict[tuple[int, ...], float]


def _exact_first_order(table: np.ndarray) -> float:
    """Sum over words of the variance of the mean value given the word's sentence, over n − 1."""
    total = 0.0
    for axis, n in enumerate(table.shape):
        if n > 1:
            others = tuple(i for i in range(table.ndim) if i != axis)
            total += float(table.mean(axis=others).var()) / (n - 1)
    return total


def _exact_jackknife(table: np.ndarray) -> float:
    """The multi-sample jackknife: leave one sentence of a word out, for all words."""
    total = 0.0
    for axis, n in enumerate(table.shape):
        if n > 1:
            left = [np.delete(table, i, axis=axis).mean() for i in range(n)]
            total += (n - 1) / n * float(((np.array(left) - np.mean(left)) ** 2).sum())
    return total


@pytest.mark.parametrize("shape", [(2, 3), (4, 1, 3), (2, 2, 2, 2)])
def test_the_exact_variance_is_that_of_the_jackknife(shape: tuple[int, ...]) -> None:
    table = np.random.default_rng(len(shape)).standard_normal(shape)
    assert _exact_first_order(table) == pytest.approx(_exact_jackknife(table))


@pytest.mark.parametrize("draws", [30, 100])
def test_the_estimate_from_draws_is_unbiased_however_few_they_are(draws: int) -> None:
    rng = np.random.default_rng(draws)
    table = rng.standard_normal((3, 4, 2)) + 2 * rng.standard_normal((3, 1, 1)) + 7
    times = 3_000
    variances = np.empty(times)
    for t in range(times):
        places = draw_places(table.shape, draws, rng)
        e = table[tuple(places.T)]
        variances[t] = sentence_spread(e - e.mean(), places, table.shape).variance
    expected = _exact_first_order(table)
    error = variances.std() / np.sqrt(times)
    # centring at the mean of the draws leaves a bias of order 1/draws
    assert variances.mean() == pytest.approx(expected, abs=4 * error + expected / draws)


def test_many_draws_find_the_exact_variance() -> None:
    rng = np.random.default_rng(1)
    table = rng.standard_normal((5, 3, 4)) + 3 * rng.standard_normal((5, 1, 1))
    places = draw_places(table.shape, 200_000, rng)
    e = table[tuple(places.T)]
    spread = sentence_spread(e - e.mean(), places, table.shape)
    assert spread.is_clear
    assert spread.variance == pytest.approx(_exact_first_order(table), rel=0.03)


def test_noise_is_the_error_of_the_variance_where_sentences_do_not_matter() -> None:
    rng = np.random.default_rng(2)
    counts, times = [5, 40, 3], 800
    spreads = []
    for _ in range(times):
        places = draw_places(counts, 200, rng)
        e = rng.standard_normal(200)
        spreads.append(sentence_spread(e - e.mean(), places, counts))
    sd = np.std([spread.variance for spread in spreads])
    assert np.mean([spread.noise for spread in spreads]) == pytest.approx(
        sd, rel=4 / np.sqrt(times)
    )
    assert np.mean([spread.is_clear for spread in spreads]) < 0.06


def test_without_two_draws_of_a_sentence_there_is_no_spread() -> None:
    places = np.arange(4)[:, None]
    spread = sentence_spread(np.array([1.0, -1, 2, -2]), places, [100])
    assert not spread.is_clear


def _clouds(seed: int, n: int, d: int = 12, words: int = 3, apart: float = 0.6) -> Contexts:
    """Sets of words with n contexts each; X and A lie on one side, Y and B on the other."""
    return _population(seed, d, words, apart)(n, np.random.default_rng(seed))


def _population(
    seed: int, d: int, words: int, apart: float
) -> Callable[[int, np.random.Generator], Contexts]:
    """Return what makes contexts of words whose means are fixed."""
    rng = np.random.default_rng(seed)
    axis = rng.standard_normal(d)
    sides = (apart, -apart, apart, -apart)
    means = [[rng.standard_normal(d) + side * axis for _ in range(words)] for side in sides]

    def sample(n: int, rng: np.random.Generator) -> Contexts:
        return Contexts.of(
            [[mean + rng.standard_normal((n, d)) for mean in group] for group in means]
        )

    return sample


def _resampled(contexts: Contexts, rng: np.random.Generator) -> Contexts:
    starts = np.cumsum(contexts.counts) - contexts.counts
    rows = np.concatenate(
        [s + rng.integers(0, n, n) for s, n in zip(starts, contexts.counts, strict=True)]
    )
    return Contexts(contexts.vectors[rows], contexts.counts, contexts.sizes)


@pytest.mark.slow
@pytest.mark.parametrize("variance", ["standard-error", "released"])
def test_the_variance_is_that_of_a_bootstrap_that_resamples_and_draws_again(variance: str) -> None:
    n, resamples, draws = 25, 300, 2_000
    contexts = _clouds(0, n)
    rng = np.random.default_rng(0)
    effects, noise = [], []
    for seed in range(resamples):
        association = associate(
            _resampled(contexts, rng),
            draws=draws,
            variance=variance,  # type: ignore[arg-type]
            seed=seed,
        )
        effects.append(association.combined.effect)
        noise.append(association.monte_carlo_se**2)
    simulated = np.var(effects, ddof=1) - np.mean(noise)  # the law of total variance
    ours = associate(contexts, draws=50_000, variance=variance)  # type: ignore[arg-type]
    assert ours.sentence_se is not None
    expected = ours.sentence_se**2 * (n - 1) / n
    # four times the error of a simulated variance, and the second order in 1/n
    assert simulated == pytest.approx(expected, rel=4 * np.sqrt(2 / resamples) + 2 / n)


def test_the_interval_does_not_shrink_with_the_number_of_draws() -> None:
    contexts = _clouds(1, 40)
    associations = [associate(contexts, draws=draws) for draws in (4_000, 16_000, 64_000)]
    model = [association.combined.se for association in associations]
    drawing = [association.monte_carlo_se for association in associations]
    sentences = [association.sentence_se for association in associations]
    for first, second in itertools.pairwise(range(3)):
        assert model[first] / model[second] == pytest.approx(2, rel=0.05)
        assert drawing[first] / drawing[second] == pytest.approx(2, rel=0.1)
        assert sentences[first] == pytest.approx(sentences[second], rel=0.1)


def test_the_interval_shrinks_with_the_number_of_sentences() -> None:
    sample = _population(2, 12, 3, 0.6)
    rng = np.random.default_rng(2)
    few, many = (associate(sample(n, rng), draws=40_000).sentence_se for n in (30, 480))
    assert few is not None
    assert many is not None
    assert few / many == pytest.approx(4, rel=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("apart", [0.0, 0.5])
def test_the_interval_covers_what_all_sentences_would_give(apart: float) -> None:
    sample = _population(3, 12, 3, apart)
    truth = associate(sample(20_000, np.random.default_rng(9)), draws=150_000).combined.effect
    times = 200
    rng = np.random.default_rng(3)
    intervals = [_interval(associate(sample(25, rng), draws=4_000)) for _ in range(times)]
    covered = np.mean([interval.low <= truth <= interval.high for interval in intervals])
    # nominally 0.95 or a little more: four standard errors of a share of `times` allowed below
    assert covered > 0.95 - 4 * np.sqrt(0.95 * 0.05 / times)
    assert covered < 1 or apart == 0


@pytest.mark.slow
def test_the_random_effects_interval_does_not_cover_it() -> None:
    sample = _population(3, 12, 3, 0.5)
    truth = associate(sample(20_000, np.random.default_rng(9)), draws=150_000).combined.effect
    rng = np.random.default_rng(4)
    intervals = [
        associate(sample(25, rng), draws=10_000, variance="released").combined.interval
        for _ in range(40)
    ]
    assert np.mean([interval.low <= truth <= interval.high for interval in intervals]) < 0.5


def test_no_association_gives_an_effect_around_0() -> None:
    """Sets of words from one population: over many such sets the effect averages 0."""
    rng = np.random.default_rng(5)
    effects = []
    for seed in range(120):
        sets = [
            [rng.standard_normal(10) + rng.standard_normal((6, 10)) for _ in range(4)]
            for _ in range(4)
        ]
        effects.append(associate(Contexts.of(sets), draws=300, seed=seed).combined.effect)
    assert abs(np.mean(effects)) < 4 * np.std(effects) / np.sqrt(len(effects))


def test_equal_contexts_leave_no_width() -> None:
    rng = np.random.default_rng(6)
    sets = [[np.tile(rng.standard_normal(8), (5, 1)) for _ in range(3)] for _ in range(4)]
    association = associate(Contexts.of(sets), draws=500)
    assert association.sentence_se == 0
    low, high = _interval(association)
    assert low == high == association.combined.effect


def test_too_few_draws_give_a_reason() -> None:
    association = associate(_clouds(7, 400), draws=20)
    assert association.sentence_se is None
    assert "too few draws" in association.reason
    details = association.details()
    assert details["low"] is details["high"] is None
    assert details["reason"] == association.reason


def test_contributions_have_mean_0_and_move_the_effect_as_the_draws_do() -> None:
    contexts = _clouds(8, 10)
    drawn = associate(contexts, draws=400).drawn
    combined = combine_effects(drawn.effects, in_sample_variances(drawn, 3, 3, "standard-error"))
    r = contributions(drawn.effects, combined)
    assert r.mean() == pytest.approx(0, abs=1e-12)
    weights = combined.weights / combined.weights.sum()
    heavier = weights.copy()
    heavier[0] *= 1 + 1e-6
    moved = (heavier @ drawn.effects / heavier.sum() - combined.effect) / 1e-6
    assert moved == pytest.approx(r[0] / len(r), rel=1e-3, abs=1e-9)


def _interval(found: Association) -> Interval:
    details = found.details()
    return Interval(details["low"], details["high"])
