from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wordbias.errors import WordbiasError
from wordbias.statistics import bootstrap
from wordbias.stereotypes.scores import (
    distances,
    extremes,
    icat,
    language_score,
    preferred,
    stereotype_score,
    strengths,
    tail_mean,
)

probabilities = st.integers(1, 30).flatmap(
    lambda n: arrays(np.float64, (n, 3, 2), elements=st.floats(0, 1))
)
scores = st.integers(1, 30).flatmap(
    lambda n: arrays(np.float64, (n, 3), elements=st.sampled_from([-2.0, 0.0, 0.5, 1.0]))
)


def triple(stereo: float, anti: float, stereo_swapped: float, anti_swapped: float) -> np.ndarray:
    """Probabilities of one triple; "swapped" is the swapped text of the same row."""
    return np.array([[[stereo, stereo_swapped], [anti, anti_swapped], [0, 0]]])


def test_the_printed_strengths() -> None:
    """Table 3; there, the swapped text of the stereotype is called Anti."""
    a = triple(stereo=0.9994, anti=0.9836, stereo_swapped=0.9997, anti_swapped=0.9894)
    b = triple(stereo=0.9986, anti=0.0253, stereo_swapped=0.9930, anti_swapped=0.9888)
    # four printed digits are each right to 5e-5, and there are four of them
    assert strengths(a)[0] == pytest.approx(0.006, abs=5e-4 + 2e-4)
    assert strengths(b)[0] == pytest.approx(0.969, abs=5e-4 + 2e-4)
    assert strengths(a)[0] == pytest.approx(0.9994 - 0.9836 - 0.9997 + 0.9894, abs=1e-15)


@pytest.mark.parametrize(
    ("p", "swapped", "d"), [(0.0151, 0.9985, 0.9834), (0.2752, 0.9955, 0.7203)]
)
def test_the_printed_distances(p: float, swapped: float, d: float) -> None:
    """Table 4."""
    x = np.zeros((1, 3, 2))
    x[0, 2] = p, swapped
    assert distances(x)[0] == pytest.approx(d, abs=1e-12)


@given(probabilities)
def test_strength_and_distance_are_what_their_definitions_say(p: np.ndarray) -> None:
    for i, ((stereo, stereo_), (anti, anti_), (other, other_)) in enumerate(p):
        assert strengths(p)[i] == pytest.approx((stereo - anti) - (stereo_ - anti_), abs=1e-15)
        assert distances(p)[i] == abs(other - other_)
    assert (np.abs(strengths(p)) <= 2).all()


@given(probabilities)
def test_exchanging_labels_or_genders_turns_the_sign_of_strength(p: np.ndarray) -> None:
    s = strengths(p)
    np.testing.assert_allclose(strengths(p[:, [1, 0, 2]]), -s, rtol=0, atol=1e-15)
    np.testing.assert_allclose(strengths(p[:, :, ::-1]), -s, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(distances(p[:, :, ::-1]), distances(p))


@given(probabilities)
def test_a_model_that_does_not_see_gender_has_no_bias(p: np.ndarray) -> None:
    blind = np.repeat(p[:, :, :1], 2, axis=2)
    assert (strengths(blind) == 0).all()
    assert (distances(blind) == 0).all()


@given(st.integers(1, 2000), st.integers(1, 100))
def test_the_number_of_extremes_is_the_rounded_share(n: int, percent: int) -> None:
    exact = Fraction(percent, 100) * n
    expected = {
        "down": floor(exact),
        "up": ceil(exact),
        "nearest": floor(exact + Fraction(1, 2)),
    }
    for rounding, k in expected.items():
        assert extremes(n, percent / 100, rounding) == max(1, k)  # type: ignore[arg-type]


def test_a_tenth_of_the_published_triples() -> None:
    assert extremes(234) == extremes(234, 0.1, "down") == 23
    assert extremes(234, 0.1, "up") == 24
    assert extremes(30, 0.1, "up") == 3  # 0.1 · 30 is more than 3 in floating point


@pytest.mark.parametrize("share", [0.0, -0.1, 1.5, float("nan")])
def test_a_share_that_is_none(share: float) -> None:
    with pytest.raises(WordbiasError, match=r"share .*: expected a number above 0 and at most 1"):
        extremes(10, share)


def test_nothing_has_no_extremes() -> None:
    with pytest.raises(WordbiasError, match="no triple"):
        extremes(0)


@given(arrays(np.float64, st.integers(1, 40), elements=st.floats(-2, 2)), st.data())
def test_a_tail_mean_is_the_mean_of_the_largest(values: np.ndarray, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    assert tail_mean(values, k) == pytest.approx(np.mean(sorted(values)[-k:]), abs=1e-12)
    assert tail_mean(values, k) >= tail_mean(values, len(values)) - 1e-12
    assert tail_mean(values, k) == pytest.approx(tail_mean(values[::-1], k), abs=1e-12)


@given(scores)
def test_stereotype_scores_are_counted_by_hand(x: np.ndarray) -> None:
    stereo, anti, other = x.T
    n = len(x)
    more = sum(a > b for a, b in zip(stereo, anti, strict=True))
    same = sum(a == b for a, b in zip(stereo, anti, strict=True))
    assert stereotype_score(stereo, anti) == pytest.approx((more + same / 2) / n)
    assert stereotype_score(stereo, anti, ties=0) == pytest.approx(more / n)
    assert stereotype_score(anti, stereo) == pytest.approx(1 - stereotype_score(stereo, anti))
    both = [(a, c) for side in (stereo, anti) for a, c in zip(side, other, strict=True)]
    sensible = [(a > c) + 0.5 * (a == c) for a, c in both]
    assert language_score(stereo, anti, other) == pytest.approx(np.mean(sensible))


@given(scores, st.data())
def test_shares_of_terms_are_averaged(x: np.ndarray, data: st.DataObject) -> None:
    terms = data.draw(st.lists(st.sampled_from("abc"), min_size=len(x), max_size=len(x)))
    by_term = {
        term: [a > b for (a, b, _), other in zip(x, terms, strict=True) if other == term]
        for term in set(terms)
    }
    expected = np.mean([np.mean(preferences) for preferences in by_term.values()])
    score = stereotype_score(x[:, 0], x[:, 1], targets=np.array(terms), ties=0)
    assert score == pytest.approx(expected)


def test_icat_of_the_extremes() -> None:
    """Nadeem et al. (2021): an ideal model has 1, one that always or never stereotypes has 0."""
    assert icat(1, 0.5) == 1
    assert icat(1, 1) == icat(1, 0) == 0
    assert icat(0.5, 0.5) == 0.5  # a random one
    assert icat(0.8, 0.6) == pytest.approx(icat(0.8, 0.4)) == pytest.approx(0.64)


def test_preferring_neither_is_half() -> None:
    shares = preferred(np.array([1.0, 2.0, 2.0]), np.array([2.0, 1.0, 2.0]))
    np.testing.assert_array_equal(shares, [0, 1, 0.5])


def test_resampling_is_of_whole_samples_and_seeded() -> None:
    values = np.arange(50.0)
    means, repeated = (
        bootstrap(lambda rows: values[rows].mean(-1), 50, np.random.default_rng(4), 3000)
        for _ in range(2)
    )
    np.testing.assert_array_equal(means, repeated)
    # a mean of n draws has sd σ/√n; six standard errors of 3,000 of them
    se = values.std() / np.sqrt(50)
    assert abs(means.mean() - values.mean()) < 6 * se / np.sqrt(3000)
    assert means.std() == pytest.approx(se, rel=6 / np.sqrt(2 * 3000))


@pytest.mark.parametrize(
    ("p", "message"),
    [
        (np.zeros((4, 2, 2)), r"shape \(n, 3, 2\).*got \(4, 2, 2\)"),
        (np.zeros((4, 3)), r"got \(4, 3\)"),
        (np.full((1, 3, 2), 1.1), "numbers from 0 to 1"),
        (np.full((1, 3, 2), np.nan), "numbers from 0 to 1"),
    ],
)
def test_what_is_no_probability_is_refused(p: np.ndarray, message: str) -> None:
    for measure in (strengths, distances):
        with pytest.raises(WordbiasError, match=message):
            measure(p)
