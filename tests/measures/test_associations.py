"""RND, RNSB, MAC, ECT and RIPA: the definition, the neutral value, and rows of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import entropy, spearmanr

from wordbias import Embedding, WordbiasError
from wordbias.draws import with_holm
from wordbias.measures.associations import MEASURES, measure_queries
from wordbias.measures.weat import (
    Settings,
    divergence,
    ect,
    mac,
    mac_of_words,
    negative_probabilities,
    relation,
    ripa,
    ripa_of_words,
    rnd,
    rnd_of_words,
    rnsb,
    similarities,
)
from wordbias.results import Row
from wordbias.wordlists.queries import Query, choose_query, load_queries

Array = NDArray[np.float64]
NEUTRAL = {"weat": 0, "rnd": 0, "rnsb": 0, "mac": 1, "ect": 1, "ripa": 0}


def _sets(seed: int, sizes: tuple[int, ...] = (5, 4, 3, 6), dim: int = 7) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, dim)) + rng.normal(size=dim) for n in sizes]


def _cos(u: Array, v: Array) -> float:
    return float(u @ v / np.sqrt((u @ u) * (v @ v)))


# --- each from its definition ----------------------------------------------------------------


def test_rnd_is_the_mean_difference_of_distances() -> None:
    w, x, y, _ = _sets(0)
    distance = np.linalg.norm
    expected = [float(distance(v - x.mean(0)) - distance(v - y.mean(0))) for v in w]
    np.testing.assert_allclose(rnd_of_words(w, x, y), expected, rtol=1e-12)
    assert rnd(w, x, y) == pytest.approx(np.mean(expected))
    assert rnd(w, y, x) == pytest.approx(-rnd(w, x, y))
    assert rnd(w, x, x) == 0


def test_rnd_is_positive_nearer_to_the_second_group() -> None:
    x, y = np.array([[0.0, 0], [0, 2]]), np.array([[10.0, 0], [10, 2]])
    assert rnd([[9.0, 1]], x, y) == pytest.approx(8)


def test_mac_is_the_mean_distance_with_equal_weight_to_each_set() -> None:
    t, a, b, c = _sets(1)
    per_set = [[np.mean([1 - _cos(w, v) for v in s]) for s in (a, b, c)] for w in t]
    np.testing.assert_allclose(mac_of_words(t, [a, b, c]), np.mean(per_set, axis=1), rtol=1e-12)
    assert mac(t, [a, b, c]) == pytest.approx(np.mean(per_set))


def test_mac_of_unrelated_words_is_1_and_it_lies_between_0_and_2() -> None:
    e = np.eye(4)
    assert mac(e[:2], [e[2:3], e[3:]]) == 1
    assert mac(e[:1], [e[:1]]) == 0
    assert mac(e[:1], [-e[:1]]) == 2
    with pytest.raises(WordbiasError, match="at least one set"):
        mac(e, [])


def test_ect_is_spearmans_correlation_of_the_cosines_with_the_means() -> None:
    w, x, y, _ = _sets(2, (9, 4, 3, 1))
    lists = [[_cos(v, g.mean(0)) for v in w] for g in (x, y)]
    np.testing.assert_allclose(similarities(w, x, y), lists, rtol=1e-12)
    assert ect(w, x, y) == pytest.approx(spearmanr(*lists).statistic, abs=1e-12)
    assert ect(w, x, x) == pytest.approx(1)
    assert ect(w, x, -x) == pytest.approx(-1)


def test_ripa_of_one_pair_is_the_inner_product_with_the_unit_difference() -> None:
    w, x, y, _ = _sets(3)
    b = relation(x[:1], y[:1])
    difference = x[0] - y[0]
    expected = w @ difference / np.sqrt(difference @ difference)
    np.testing.assert_allclose(ripa_of_words(w, b), expected, rtol=1e-12)
    assert ripa(w, b) == pytest.approx(expected.mean())
    np.testing.assert_allclose(relation(y[:1], x[:1]), -b, atol=1e-15)
    assert ripa(3 * w, b) == pytest.approx(3 * ripa(w, b))


def test_ripa_of_several_pairs_takes_their_first_component_not_centred() -> None:
    rng = np.random.default_rng(0)
    along = np.array([3.0, 0, 0, 4]) / 5
    y = rng.normal(size=(6, 4))
    b = relation(y + 2 * along + 0.01 * rng.normal(size=(6, 4)), y)
    assert b @ along == pytest.approx(1, abs=1e-3)
    d = rng.normal(size=(6, 4))
    values, vectors = np.linalg.eigh(d.T @ d)
    assert abs(relation(y + 9 * d, y) @ vectors[:, values.argmax()]) == pytest.approx(1)


def test_ripa_refuses_pairs_without_a_difference() -> None:
    x = np.ones((2, 3))
    for y in (x, x + 1e-3):
        with pytest.raises(WordbiasError, match="differ by less than"):
            relation(x, y)
    with pytest.raises(WordbiasError, match="shapes"):
        relation(x, np.ones((3, 3)))


def test_rnsb_is_the_divergence_of_negative_probabilities_from_uniform() -> None:
    t, a, b, _ = _sets(4, (8, 6, 3, 1))
    p = negative_probabilities(t, a, b)
    assert ((p > 0) & (p < 1)).all()
    assert rnsb(t, a, b) == pytest.approx(entropy(p / p.sum(), np.full(8, 1 / 8)), rel=1e-9)
    np.testing.assert_allclose(negative_probabilities(t, b, a), 1 - p, atol=1e-4)
    assert negative_probabilities(b, a, b).mean() > 0.8
    assert negative_probabilities(a, a, b).mean() < 0.2


def test_rnsb_of_equally_negative_words_is_0() -> None:
    assert divergence(np.full(5, 0.3)) == 0
    assert divergence(np.array([0.0, 0, 0, 1])) == pytest.approx(np.log(4))
    assert np.isnan(divergence(np.zeros(3)))


def test_rnsb_gives_the_same_every_time() -> None:
    """WEFE splits at random and labels by the other set's size, wrongly for |A| ≠ |B|."""
    t, a, b, _ = _sets(5, (8, 9, 3, 1))
    assert len({rnsb(t, a, b) for _ in range(3)}) == 1
    labels = [-1] * len(b) + [1] * len(a)
    assert labels != [-1] * len(a) + [1] * len(b)


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_all_are_invariant_under_rotation(seed: int) -> None:
    sets = _sets(seed)
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(7, 7)))[0]
    turned = [v @ q for v in sets]

    def values(x: Array, y: Array, a: Array, b: Array) -> list[float]:
        c = relation(x[:4], y)
        return [rnd(a, x, y), mac(x, [a, b]), ect(b, x, y), ripa(a, c), rnsb(x, a, b)]

    np.testing.assert_allclose(values(*turned), values(*sets), rtol=1e-3, atol=1e-9)


# --- on an embedding -------------------------------------------------------------------------


def _queries(name: str = "weat7") -> tuple[Query, ...]:
    return choose_query(load_queries(), name)


def _row(rows: list[Row], measure: str, words: str | None = None) -> Row:
    (row,) = (r for r in rows if r.measure == measure and r.details.get("words") == words)
    return row


def test_every_measure_of_one_query() -> None:
    rows = measure_queries(Embedding.sample(), _queries(), MEASURES)
    measured = [(row.measure, row.details.get("words")) for row in rows]
    assert measured == [
        ("weat", None),
        ("rnd", "male"),
        ("rnd", "female"),
        ("rnsb", None),
        ("mac", "math"),
        ("mac", "arts"),
        ("ect", "male"),
        ("ect", "female"),
        ("ripa", "male"),
        ("ripa", "female"),
    ]
    for row in rows:
        assert row.details["neutral"] == NEUTRAL[row.measure]
        assert row.details["better"] in ("neutral", "lower", "higher")
        assert row.details["low"] <= row.value <= row.details["high"]  # type: ignore[operator]
        assert row.details["set"] == "weat7"
        assert sum(row.details["n"].values()) == 32


def test_rows_are_the_functions_on_the_vectors_found() -> None:
    sample, (query,) = Embedding.sample(), _queries("weat6")
    x, y, a, b = (sample.take(words.found) for words in query.find(sample).sets)
    rows = measure_queries(sample, [query], MEASURES)
    along = relation(x, y)
    expected = {
        ("rnd", "career"): rnd(a, x, y),
        ("ect", "family"): ect(b, x, y),
        ("ripa", "career"): ripa(a, along),
        ("mac", "female_names"): mac(y, [a, b]),
        ("rnsb", None): rnsb(np.concatenate([x, y]), a, b),
    }
    for (measure, words), value in expected.items():
        assert _row(rows, measure, words).value == pytest.approx(value, rel=1e-12)
    assert _row(rows, "ripa", "career").details["units"] == 8


def test_a_query_that_lacks_words_has_a_reason_and_the_others_a_value() -> None:
    sample = Embedding.sample()
    words = [w for q in _queries("weat7") for w in q.candidates() if w in sample]
    rows = measure_queries(sample.subset(words), load_queries(), ("weat", "mac"))
    values = {row.details["set"] for row in rows if row.value is not None}
    assert values == {"weat7"}
    reasons = [row.details["reason"] for row in rows if row.value is None]
    assert all("undefined: sample: weat" in reason for reason in reasons)
    assert any("of 25 words found (at least 2 needed)" in reason for reason in reasons)


def test_no_usable_query_is_an_error() -> None:
    with pytest.raises(WordbiasError, match="weat1: flowers: 0 of 25 words found"):
        measure_queries(Embedding.sample().subset(["she", "he"]), load_queries())


@pytest.mark.parametrize(
    ("measures", "message"), [(("wat",), "'wat': expected one of"), ((), "no")]
)
def test_unknown_measures_are_refused(measures: tuple[str, ...], message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        measure_queries(Embedding.sample(), _queries(), measures)


def _query(x: str, y: str) -> Query:
    targets = (("x", tuple(x.split())), ("y", tuple(y.split())))
    return Query("own", targets, (("a", ("he", "his")), ("b", ("she", "her"))))


def test_ripa_without_pairs_has_a_reason() -> None:
    rows = measure_queries(
        Embedding.sample(), [_query("math algebra calculus", "art dance")], ["ripa"]
    )
    assert [row.value for row in rows] == [None, None]
    assert (
        "pairs are the i-th words of both target sets, found 3 x, 2 y" in rows[0].details["reason"]
    )


def test_ripa_of_lost_pairs_has_a_reason_and_of_some_their_number() -> None:
    lost = _query("math zzyzxq algebra zzyzxr", "zzyzxs art zzyzxt dance")
    (row, _) = measure_queries(Embedding.sample(), [lost], ["ripa"])
    assert row.value is None
    assert "has both words of none of the pairs" in row.details["reason"]
    partial = _query("math zzyzxq algebra", "poetry art dance")
    (row, _) = measure_queries(Embedding.sample(), [partial], ["ripa"])
    assert row.value is not None
    assert row.details["units"] == 2
    assert row.details["missing"] == {"x": ["zzyzxq"]}


def test_vectors_that_are_all_alike_are_undefined_or_neutral() -> None:
    (query,) = _queries()
    words = sorted(query.candidates())
    rows = measure_queries(Embedding(words, np.ones((len(words), 4))), [query], MEASURES)
    for row in rows:
        assert row.value is not None or row.details["reason"].startswith("undefined")
    assert [row.value for row in rows if row.measure in ("rnd", "rnsb")] == [0, 0, 0]


def test_settings_reach_weat_and_the_seed_every_interval() -> None:
    sample = Embedding.sample()
    chosen = Settings(ddof=0, alternative="two-sided", seed=1)
    first, second = (measure_queries(sample, _queries(), MEASURES, s) for s in (None, chosen))
    assert second[0].details["alternative"] == "two-sided"
    assert second[0].details["ddof"] == 0
    for row, other in zip(first[1:], second[1:], strict=True):
        assert row.value == other.value
    assert sum(a.details["low"] != b.details["low"] for a, b in zip(first, second, strict=True)) > 5
    assert measure_queries(sample, _queries(), MEASURES) == first


def test_a_value_does_not_depend_on_what_else_is_measured() -> None:
    sample = Embedding.sample()
    alone = measure_queries(sample, _queries("weat6"), ["ect"])
    among = measure_queries(sample, load_queries(), MEASURES, Settings(samples=50))
    assert alone == [r for r in among if (r.measure, r.details["set"]) == ("ect", "weat6")]


def test_rows_are_corrected_within_their_embedding() -> None:
    rows = [
        Row("one", "weat", 1.0, {"p": 0.01}),
        Row("one", "mac", 1.0, {}),
        Row("one", "weat", 1.0, {"p": 0.02}),
        Row("two", "weat", 1.0, {"p": 0.02}),
        Row("two", "weat", None, {"p": None}),
    ]
    done = with_holm(rows)
    assert [row.details.get("p_holm") for row in done] == [0.02, None, 0.02, 0.02, None]
    assert [row.details.get("tests") for row in done] == [2, None, 2, 1, None]
    assert rows[0].details == {"p": 0.01}
