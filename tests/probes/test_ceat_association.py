"""Draws of contexts and their effect sizes, beside WEAT and a loop written from the definition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from wordbias import Embedding, devices
from wordbias.errors import WordbiasError
from wordbias.measures.weat import effect_size, weat
from wordbias.probes.ceat import Contexts, associate
from wordbias.probes.ceat.association import (
    draw_places,
    drawn_associations,
    drawn_effects,
    in_sample_variances,
    standard_error_squared,
)
from wordbias.wordlists.queries import load_queries

SIZES = (3, 4, 2, 5)
EPS = float(np.finfo(np.float32).eps)


def _sets(
    rng: np.random.Generator, d: int = 24, sizes: Sequence[int] = SIZES, most: int = 7
) -> list[list[np.ndarray]]:
    return [
        [
            rng.standard_normal((rng.integers(1, most + 1), d)) + rng.standard_normal(d)
            for _ in range(size)
        ]
        for size in sizes
    ]


def _cosine(u: np.ndarray, v: np.ndarray) -> float:
    return float(u @ v / np.sqrt((u @ u) * (v @ v)))


def _loop(sets: list[list[np.ndarray]], places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The definition: one draw after another, one word after another."""
    effects, deviations = [], []
    for row in places:
        chosen = iter(row)
        x, y, a, b = ([word[next(chosen)] for word in words] for words in sets)

        def s(w: np.ndarray, a: list[np.ndarray] = a, b: list[np.ndarray] = b) -> float:
            return float(np.mean([_cosine(w, v) for v in a]) - np.mean([_cosine(w, v) for v in b]))

        s_x, s_y = [s(w) for w in x], [s(w) for w in y]
        sd = float(np.std(s_x + s_y, ddof=1))
        effects.append((np.mean(s_x) - np.mean(s_y)) / sd)
        deviations.append(sd)
    return np.array(effects), np.array(deviations)


def _tolerance(contexts: Contexts, deviations: np.ndarray) -> np.ndarray:
    """An effect is at most 2√(n + m) deviations; each part of it is off by the rounding of s."""
    n, m = contexts.sizes[:2]
    return 4 * (1 + np.sqrt(n + m)) * contexts.rounding / deviations


@pytest.mark.parametrize("seed", range(3))
def test_draws_equal_a_plain_loop_over_the_same_sentences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sets = _sets(rng)
    contexts = Contexts.of(sets)
    places = draw_places(contexts.counts, 150, rng)
    drawn = drawn_effects(contexts, places)
    effects, deviations = _loop(sets, places)
    assert drawn.undefined == 0
    assert (abs(drawn.effects - effects) <= _tolerance(contexts, deviations)).all()
    assert (abs(drawn.deviations - deviations) <= 2 * contexts.rounding).all()
    assert np.array_equal(drawn.places, places)


def test_with_one_sentence_a_word_every_draw_is_weat() -> None:
    sample = Embedding.sample()
    for query in load_queries():
        (row,) = weat(sample, query)
        words = query.find(sample).sets
        contexts = Contexts.of([[sample.take([w]) for w in word_set.found] for word_set in words])
        result = associate(contexts, draws=20)
        bound = float(_tolerance(contexts, result.drawn.deviations).max())
        assert np.ptp(result.drawn.effects) <= bound
        assert result.combined.effect == pytest.approx(row.value, abs=bound)
        assert result.sentence_se is None
        assert "every word has only one sentence" in result.reason
        assert result.combined.tau2 == 0


def test_the_denominator_is_that_of_a_sample() -> None:
    rng = np.random.default_rng(3)
    contexts = Contexts.of(_sets(rng))
    places = draw_places(contexts.counts, 5, rng)
    s = drawn_associations(contexts, places)
    assert s.dtype == np.float64
    expected = [effect_size(row[:3], row[3:], ddof=1) for row in s]
    assert drawn_effects(contexts, places).effects == pytest.approx(expected, rel=1e-12)


def test_the_length_of_vectors_does_not_matter_and_they_are_not_changed() -> None:
    rng = np.random.default_rng(4)
    sets = _sets(rng)
    before = [[word.copy() for word in words] for words in sets]
    longer = [[word * rng.uniform(0.1, 50, (len(word), 1)) for word in words] for words in sets]
    plain, scaled = (associate(Contexts.of(word_sets), draws=500) for word_sets in (sets, longer))
    bound = _tolerance(Contexts.of(sets), plain.drawn.deviations).max()
    assert scaled.drawn.effects == pytest.approx(plain.drawn.effects, abs=float(bound))
    for words, copies in zip(sets, before, strict=True):
        for word, copy in zip(words, copies, strict=True):
            assert np.array_equal(word, copy)


def test_float32_vectors_of_the_caller_are_not_changed() -> None:
    rng = np.random.default_rng(5)
    word = rng.standard_normal((1, 6)).astype(np.float32)
    others = [[rng.standard_normal((1, 6)) for _ in range(2)] for _ in range(3)]
    copy = word.copy()
    Contexts.of([[word, others[0][0]], *others])
    assert np.array_equal(word, copy)


def test_swapped_sets_turn_the_sign() -> None:
    x, y, a, b = _sets(np.random.default_rng(6), sizes=(3, 3, 3, 3), most=1)
    plain, turned, both = (
        associate(Contexts.of(sets), draws=2).combined.effect
        for sets in ([x, y, a, b], [y, x, a, b], [y, x, b, a])
    )
    assert turned == pytest.approx(-plain, rel=1e-4)
    assert both == pytest.approx(plain, rel=1e-4)


def test_a_seed_gives_the_same_draws_whatever_the_threads(one_thread: None) -> None:
    contexts = Contexts.of(_sets(np.random.default_rng(7)))
    alone = associate(contexts, draws=700, seed=3)
    devices.set_threads(3)
    together = associate(contexts, draws=700, seed=3)
    other = associate(contexts, draws=700, seed=4)
    assert np.array_equal(alone.drawn.effects, together.drawn.effects)
    assert alone.details() == together.details()
    assert not np.array_equal(alone.drawn.effects, other.drawn.effects)


def test_every_sentence_of_a_word_is_as_likely_as_another() -> None:
    from scipy.stats import chi2

    counts = [1, 2, 7, 40]
    draws = 20_000
    places = draw_places(counts, draws, np.random.default_rng(0))
    assert not places[:, 0].any()
    for place, n in zip(places.T[1:], counts[1:], strict=True):
        seen = np.bincount(place, minlength=n)
        assert len(seen) == n
        statistic = ((seen - draws / n) ** 2 / (draws / n)).sum()
        assert chi2.sf(statistic, n - 1) > 1e-6
    pairs = np.corrcoef(places[:, 1:], rowvar=False)[np.triu_indices(3, 1)]
    assert (abs(pairs) < 5 / np.sqrt(draws)).all()


def test_draws_in_which_all_targets_are_alike_are_counted_and_left_out() -> None:
    rng = np.random.default_rng(8)
    same = rng.standard_normal(12)
    targets = [[np.stack([same, same + rng.standard_normal(12)]) for _ in "ab"] for _ in "xy"]
    attributes = [[rng.standard_normal((1, 12)) for _ in "ab"] for _ in "ab"]
    contexts = Contexts.of([*targets, *attributes])
    places = draw_places(contexts.counts, 400, rng)
    alike = int((places[:, :4] == 0).all(axis=1).sum())
    drawn = drawn_effects(contexts, places)
    assert alike > 0
    assert (drawn.undefined, len(drawn.effects), len(drawn.places)) == (alike, *2 * [400 - alike])
    with pytest.raises(WordbiasError, match="all target words are associated alike"):
        associate(Contexts.of([*[[w[:1] for w in t] for t in targets], *attributes]), draws=10)


def test_rounding_makes_no_effect() -> None:
    """Equal directions of different lengths become unit vectors that differ by rounding alone."""
    rng = np.random.default_rng(11)
    same = rng.standard_normal(40)
    targets = [[same[None] * rng.uniform(0.1, 9) for _ in range(4)] for _ in range(2)]
    attributes = [[rng.standard_normal((3, 40)) for _ in range(3)] for _ in range(2)]
    contexts = Contexts.of([*targets, *attributes])
    drawn = drawn_effects(contexts, draw_places(contexts.counts, 200, rng))
    assert (drawn.undefined, len(drawn.effects)) == (200, 0)


def test_the_variance_is_that_of_a_standardised_mean_difference() -> None:
    """Simulated: d of normal groups, its variance against the formula (large groups)."""
    rng = np.random.default_rng(9)
    n, m, delta, times = 60, 40, 0.8, 20_000
    x, y = rng.standard_normal((times, n)) + delta, rng.standard_normal((times, m))
    pooled = np.sqrt(((n - 1) * x.var(1, ddof=1) + (m - 1) * y.var(1, ddof=1)) / (n + m - 2))
    d = (x.mean(1) - y.mean(1)) / pooled
    expected = float(standard_error_squared(np.array([delta]), n, m)[0])
    # the variance of a variance, 2/times, and the formula's own error, of order 1/(n + m)
    assert d.var() == pytest.approx(expected, rel=4 * np.sqrt(2 / times) + 3 / (n + m))


def test_variances_by_name() -> None:
    rng = np.random.default_rng(10)
    contexts = Contexts.of(_sets(rng))
    drawn = drawn_effects(contexts, draw_places(contexts.counts, 9, rng))
    released = in_sample_variances(drawn, 3, 4, "released")
    usual = in_sample_variances(drawn, 3, 4, "standard-error")
    assert np.array_equal(released, drawn.deviations**2)
    assert usual == pytest.approx(7 / 12 + drawn.effects**2 / 14)
    with pytest.raises(WordbiasError, match="'other': expected one of standard-error, released"):
        in_sample_variances(drawn, 3, 4, "other")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((1, 4)), "jo: one of its vectors is zero"),
        (np.array([[1.0, np.nan, 0, 0]]), "jo: one of its vectors holds a value that is no finite"),
        (np.array([[1.0, np.inf, 0, 0]]), "jo: one of its vectors holds a value that is no finite"),
        (np.ones(4), "its vectors, shape"),
        (np.ones((0, 4)), "its vectors, shape"),
    ],
)
def test_vectors_that_cannot_be_used_name_their_word(bad: np.ndarray, message: str) -> None:
    good = np.eye(4)
    sets = [[good, good], [good, bad], [good], [good]]
    with pytest.raises(WordbiasError, match=message):
        Contexts.of(sets, ["al", "bo", "cy", "jo", "ed", "fy"])


def test_too_few_words_or_draws_are_refused() -> None:
    word = np.eye(4)
    with pytest.raises(WordbiasError, match="two words or more in X and Y"):
        Contexts.of([[word], [word, word], [word], [word]])
    with pytest.raises(WordbiasError, match="1 draws: expected two or more"):
        associate(Contexts.of([[word] * 2, [word] * 2, [word], [word]]), draws=1)
