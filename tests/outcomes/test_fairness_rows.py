"""Bootstrap over cells, samples that treat groups alike, intervals, and the rows made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wordbias import WordbiasError, statistics
from wordbias.draws import change_keys
from wordbias.outcomes import confusion as cells
from wordbias.outcomes import confusion as counting
from wordbias.outcomes import fairness as measuring
from wordbias.outcomes.confusion import Cells, Confusion
from wordbias.outcomes.fairness import (
    ACCURACY,
    ALL,
    CORRELATION,
    DIVERGENCES,
    GAPS,
    SUM,
    bootstrap_interval,
    expected_alike,
    fairness_rows,
)
from wordbias.outcomes.metrics import (
    Distance,
    Settings,
    along_positions,
    metrics,
    sampled,
    total_variation,
)
from wordbias.results import Row


def _made(
    counts: NDArray[np.int64] | list[object], groups: tuple[str, ...] = ("F", "M")
) -> Confusion:
    table = np.asarray(counts, dtype=np.int64)
    names = tuple(chr(ord("a") + i) for i in range(table.shape[2]))
    return _named(table, names[: table.shape[1]], names, groups)


def _named(
    table: NDArray[np.int64],
    classes: tuple[str, ...],
    outcomes: tuple[str, ...],
    groups: tuple[str, ...] = ("F", "M"),
) -> Confusion:
    cells = np.repeat(np.arange(table.size), table.ravel())
    return Confusion(classes, outcomes, groups, table, cells)


def _random(seed: int, *shape: int, most: int = 30) -> Confusion:
    rng = np.random.default_rng(seed)
    return _made(rng.integers(0, most, shape or (2, 4, 4)))


def _by_key(rows: list[Row]) -> dict[tuple[str, str], Row]:
    return {(row.measure, row.details["set"]): row for row in rows}


def _whole(blocks: Iterable[Cells]) -> NDArray[np.int64]:
    return np.concatenate([block.dense() for block in blocks])


def _many_classes(kinds: int, n: int = 600) -> Confusion:
    rng = np.random.default_rng(0)
    gold, groups = rng.integers(kinds, size=n), rng.integers(2, size=n)
    predicted = np.where(rng.random(n) < 0.5, gold, rng.integers(kinds, size=n))
    predicted[gold < 3] = rng.integers(kinds, size=int((gold < 3).sum()))
    predicted[rng.random(n) < 0.3] = 0  # one prediction of nearly every class
    return Confusion.of(gold, predicted, groups)


@pytest.mark.parametrize("kinds", [100, 200, 500])
def test_work_is_that_of_the_examples_whatever_the_classes(kinds: int) -> None:
    table = _many_classes(kinds)
    for blocks in (table.resampled(40, rng := np.random.default_rng(0)), table.alike(40, rng)):
        held = 0
        for block in blocks:
            held += block.counts.size
            for rows in (block.by_class(), block.by_outcome()):
                filled = sum(counts.size for _, counts in rows)
                assert filled <= 2 * block.counts.size
        assert held <= 40 * 2 * len(table)  # of 40 · 2 · kinds² cells of whole tables


@pytest.mark.parametrize("distance", [total_variation, along_positions(np.arange(60.0))])
@pytest.mark.parametrize("published", [False, True])
def test_classes_in_pieces_give_what_all_at_once_give(
    distance: Distance, published: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _many_classes(60)
    block = next(table.resampled(9, np.random.default_rng(1)))
    settings = Settings(as_published=published)
    whole = metrics(block.dense(), table.first_shares(), settings, distance)
    even = _whole(table.alike(9, np.random.default_rng(2)))
    # private: sizes of the blocks of a numerical kernel, which may change no value
    monkeypatch.setattr(cells, "_SMALL", 0)
    monkeypatch.setattr(counting, "_AT_ONCE", 1)
    for name, metric in metrics(block, table.first_shares(), settings, distance).items():
        np.testing.assert_allclose(metric.joined(), whole[name].joined(), rtol=1e-9, atol=1e-12)
    pieces = _whole(table.alike(9, np.random.default_rng(2)))
    np.testing.assert_array_equal(pieces.sum(axis=3), even.sum(axis=3))
    assert not pieces[:, :, table.counts.sum(axis=0) == 0].any()


def test_samples_have_as_many_examples_and_no_new_cells() -> None:
    counts = _random(0).counts
    counts[0, 1, 2] = 0
    table = _made(counts)
    drawn = _whole(table.resampled(50, np.random.default_rng(0)))
    assert drawn.shape == (50, 2, 4, 4)
    assert set(drawn.sum(axis=(1, 2, 3))) == {len(table)}
    assert not drawn[:, table.counts == 0].any()


def test_samples_have_the_mean_and_the_variance_of_a_multinomial() -> None:
    table = _random(4)
    drawn, n = _whole(table.resampled(4000, np.random.default_rng(0))), len(table)
    p = table.counts / n
    variance = n * p * (1 - p)
    # within five standard errors; the fourth moment of a binomial is 3 variance² + less than it
    assert np.all(np.abs(drawn.mean(0) - table.counts) <= 5 * np.sqrt(variance / 4000))
    error = np.sqrt((2 * variance**2 + variance) / 4000)
    assert np.all(np.abs(drawn.var(0) - variance) <= 5 * error)


def test_samples_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    table = _random(1)
    whole = list(table.resampled(50, np.random.default_rng(0)))
    even = _whole(table.alike(50, np.random.default_rng(0)))
    # private: sizes of the blocks of a numerical kernel, which may change no value
    monkeypatch.setattr(counting, "_AT_ONCE", 7 * table.counts.size)
    monkeypatch.setattr(statistics, "_AT_ONCE", 7 * len(table))
    parts = list(table.resampled(50, np.random.default_rng(0)))
    assert len(whole) == 1
    assert len(parts) >= 8
    np.testing.assert_array_equal(_whole(whole), _whole(parts))
    np.testing.assert_array_equal(even, _whole(table.alike(50, np.random.default_rng(0))))


def test_even_samples_keep_the_classes_of_each_group() -> None:
    counts = _random(2).counts
    counts[:, 3] = 0  # nobody is of the last class
    table = _made(counts)
    drawn = _whole(table.alike(2000, np.random.default_rng(0)))
    n = table.counts.sum(axis=2)
    np.testing.assert_array_equal(drawn.sum(axis=3), np.broadcast_to(n, (2000, *n.shape)))
    of_class = table.counts.sum(axis=0)
    p = of_class / np.maximum(of_class.sum(axis=1, keepdims=True), 1)
    expected = n[..., None] * p
    # the mean of 2,000 binomial counts, within five standard errors
    error = np.sqrt(n[..., None] * p * (1 - p) / 2000)
    assert np.all(np.abs(drawn.mean(axis=0) - expected) <= 5 * error + 1e-9)


def test_metrics_of_a_block_are_those_of_its_samples() -> None:
    table = _random(3)
    shares = table.first_shares()
    block = _whole(table.resampled(5, np.random.default_rng(0)))
    together = sampled([block], shares, Settings(), total_variation)
    for i, sample in enumerate(block):
        alone = metrics(sample[None], shares, Settings(), total_variation)
        for name, metric in alone.items():
            np.testing.assert_array_equal(metric.joined()[0], together[name][i])


@pytest.mark.slow
def test_the_interval_of_a_gap_is_as_wide_as_theory_says() -> None:
    """A TPR gap is a difference of two proportions of known sizes.

    Their sizes are drawn too, which changes the variance by a relative 1/n; and the deviation of
    4,000 draws is off by a relative 1/sqrt(8,000) or so, here five times.
    """
    n, p = 2000, (0.9, 0.7)
    counts = [[[int(n * q), n - int(n * q)], [n // 10, n - n // 10]] for q in p]
    rows = fairness_rows(_made(counts), "x", Settings(draws=4000))
    row = _by_key(rows)["tpr-gap", "a"]
    sd = np.sqrt(sum(q * (1 - q) / n for q in p))
    assert row.value == pytest.approx(0.2)
    width = (row.details["high"] - row.details["low"]) / (2 * 1.96)
    assert width == pytest.approx(sd, rel=5 * (1 / np.sqrt(8000) * 2 + 1 / n))


def test_a_sum_has_an_interval_only_where_resampling_does_not_change_it() -> None:
    samples = np.array([1.0, 2, 3, 4, 5, np.nan])
    low, high = np.percentile(samples[:5], [2.5, 97.5])
    interval = {"low": low, "high": high, "interval": "bootstrap", "unit": "x", "draws": 5}
    sd = np.sqrt(2)
    assert bootstrap_interval(0.0, samples, "x", biased=False) == interval
    assert bootstrap_interval(3 - 0.24 * sd, samples, "x", biased=True) == interval
    assert bootstrap_interval(3 - 0.26 * sd, samples, "x", biased=True) == {
        "low": None,
        "high": None,
        "unit": "x",
        "reason": "undefined: resampling itself changes the value, to 3 on average",
        "draws": 5,
    }
    assert bootstrap_interval(1.0, np.full(3, np.nan), "x", biased=False) == {
        "low": None,
        "high": None,
        "unit": "x",
        "draws": 0,
    }


def test_no_interval_excludes_its_own_value() -> None:
    """Of forty classes whose true gaps are 0: both groups are predicted from the same P(r|y)."""
    rng = np.random.default_rng(0)
    p = 0.7 * np.eye(40) + 0.3 / 40
    rows = fairness_rows(
        _made(np.stack([rng.multinomial(40, p), rng.multinomial(40, p)])),
        "x",
        shares=np.linspace(0, 1, 40),
    )
    for row in rows:
        if row.details["low"] is not None:
            assert row.details["low"] <= row.value <= row.details["high"], row
    by_key = _by_key(rows)
    for name in (*GAPS, *DIVERGENCES):
        assert by_key[name, SUM].details["low"] is None
        assert "resampling itself changes" in by_key[name, SUM].details["reason"]
        assert by_key[name, SUM].details["p"] > 0.01


def test_the_p_value_counts_as_many_or_more() -> None:
    chance = expected_alike(2.0, np.array([1.0, 2, 3, 0, np.nan]))
    assert chance == {"chance": 1.5, "p": (1 + 2) / (1 + 4)}
    assert expected_alike(2.0, np.full(3, np.nan)) == {}


@pytest.mark.slow
def test_an_even_handed_classifier_is_rarely_suspected() -> None:
    """Of 300 p-values as many are below .1 as a binomial allows with probability 1 − 2e-6."""
    from scipy.stats import binom

    rng = np.random.default_rng(0)
    n = np.array([[40, 80, 30], [70, 20, 60]])
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    low = 0
    for seed in range(300):
        table = _made(rng.multinomial(n, p))
        even = sampled(
            table.alike(99, np.random.default_rng(seed)),
            table.first_shares(),
            Settings(),
            total_variation,
        )
        measured = metrics(table.counts[None], table.first_shares(), Settings(), total_variation)
        value = measured["tpr-gap"].total[0]
        low += expected_alike(float(value), even["tpr-gap"][:, 0])["p"] <= 0.1
    assert low <= binom.isf(1e-6, 300, 0.1)
    assert low >= binom.ppf(1e-6, 300, 0.1)


def test_a_classifier_that_favours_a_group_is_found_out() -> None:
    counts = [[[90, 10], [10, 90]], [[60, 40], [10, 90]]]
    by_key = _by_key(fairness_rows(_made(counts), "x"))
    assert by_key["tpr-gap", SUM].details["p"] == 1 / 201
    assert by_key["tpr-gap", "a"].details["low"] > 0
    assert by_key["tpr-gap", SUM].value > 3 * by_key["tpr-gap", SUM].details["chance"]


# units: pairs, and persons with several rows


def _pairs(n: int, kinds: int, seed: int) -> tuple[list[str], list[str], list[str], list[int]]:
    """Return gold, prediction, group and pair of both members: most pairs have one prediction."""
    rng = np.random.default_rng(seed)
    gold = np.arange(n) % kinds
    both = np.where(rng.random(n) < 0.6, gold, rng.integers(kinds, size=n))
    member = np.where(rng.random(n) < 0.3, rng.integers(kinds, size=n), both)
    first = rng.random(n) < 0.5 + 0.3 * (gold == 0)
    women, men = np.where(first, both, member), np.where(first, member, both)
    y = [*map(str, gold), *map(str, gold)]
    return y, [*map(str, women), *map(str, men)], ["F"] * n + ["M"] * n, [*range(n), *range(n)]


def _sum_of_tpr_gaps(women: Any, men: Any, gold: Any, kinds: int) -> float:
    """Return S from predictions, without the table of counts."""
    gaps = [
        np.mean(women[gold == y] == y) - np.mean(men[gold == y] == y)
        for y in range(kinds)
        if (gold == y).any()
    ]
    return float(np.abs(gaps).sum())


def test_the_chance_level_of_pairs_is_scipys() -> None:
    """All 2¹² exchanges by scipy; our 200 differ from them by five standard errors at most."""
    from scipy.stats import permutation_test

    y, r, z, pair = _pairs(12, 2, 3)
    gold, women, men = (np.array(column, int) for column in (y[:12], r[:12], r[12:]))
    exact = permutation_test(
        (women, men),
        lambda a, b: _sum_of_tpr_gaps(a, b, gold, 2),
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
    )
    row = _by_key(fairness_rows(Confusion.of(y, r, z, units=pair), "x", unit="pairs"))[
        "tpr-gap", SUM
    ]
    null, p = exact.null_distribution, exact.pvalue
    assert len(null) == 2**12
    assert row.value == pytest.approx(exact.statistic)
    assert row.details["unit"] == "pairs"
    assert abs(row.details["chance"] - null.mean()) <= 5 * null.std() / np.sqrt(200)
    assert 0.01 < p < 0.99
    assert abs(row.details["p"] - p) <= 5 * np.sqrt(p * (1 - p) / 200) + 1 / 201


def test_the_interval_of_pairs_is_scipys() -> None:
    """Ends are quantiles of samples, here 2,000 of ours and of scipy's, within five errors.

    The error of the quantile q of B normal draws is σ √(q(1 − q)/B) / φ(z).
    """
    from scipy.stats import bootstrap, norm

    y, r, z, pair = _pairs(600, 3, 1)
    gold, women, men = (np.array(column, int) for column in (y[:600], r[:600], r[600:]))

    def gap(a: Any, b: Any, of: Any) -> float:
        return float(np.mean(a[of == 0] == 0) - np.mean(b[of == 0] == 0))

    theirs = bootstrap(
        (women, men, gold),
        gap,
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    sd = theirs.standard_error
    error = sd * np.sqrt(0.025 * 0.975 * 2 / 2000) / norm.pdf(norm.ppf(0.025))
    settings = Settings(draws=2000)
    ours, of_rows = (
        _by_key(fairness_rows(Confusion.of(y, r, z, units=units), "x", settings))["tpr-gap", "0"]
        for units in (pair, None)
    )
    assert ours.value == pytest.approx(gap(women, men, gold))
    for end in ("low", "high"):
        theirs_end = getattr(theirs.confidence_interval, end)
        assert abs(ours.details[end] - theirs_end) <= 5 * error
        assert abs(of_rows.details[end] - theirs_end) > 5 * error


@pytest.mark.slow
def test_a_system_that_ignores_the_group_is_rarely_suspected_within_pairs() -> None:
    """Of 300 p-values no more are below .1 than a binomial allows with probability 1 − 1e-6."""
    from scipy.stats import binom

    low = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        y, r, z, pair = _pairs(40, 2, seed)
        exchanged = rng.random(40) < 0.5
        women, men = np.array(r[:40]), np.array(r[40:])
        drawn = [*np.where(exchanged, men, women), *np.where(exchanged, women, men)]
        table = Confusion.of(y, drawn, z, units=pair)
        even = sampled(table.alike(99, rng), table.first_shares(), Settings(), total_variation)
        measured = metrics(table.counts[None], table.first_shares(), Settings(), total_variation)
        value = float(measured["tpr-gap"].total[0])
        low += expected_alike(value, even["tpr-gap"][:, 0])["p"] <= 0.1
    assert low <= binom.isf(1e-6, 300, 0.1)


def test_persons_are_exchanged_as_wholes() -> None:
    """Ten persons with three rows each; exact over the C(10, 5) groupings by scipy."""
    from scipy.stats import permutation_test

    right = np.array([3, 3, 2, 3, 0, 0, 3, 0, 1, 0])  # of the rows of each, women first
    y, r, z, person = [], [], [], []
    for i, count in enumerate(right):
        y += ["a"] * 3
        r += ["a"] * count + ["b"] * (3 - count)
        z += ["FM"[i >= 5]] * 3
        person += [i] * 3
    y, r, z = [*y, "b", "b"], [*r, "b", "b"], [*z, "F", "M"]  # nothing to exchange: both right
    person += [10, 11]
    exact = permutation_test(
        (right[:5] / 3, right[5:] / 3),
        lambda a, b: abs(a.mean() - b.mean()),
        permutation_type="independent",
        alternative="greater",
        n_resamples=np.inf,
    )
    null, p = exact.null_distribution, exact.pvalue
    by_person, by_row = (
        _by_key(fairness_rows(Confusion.of(y, r, z, units=units), "x"))["tpr-gap", SUM]
        for units in (person, None)
    )
    assert by_person.value == pytest.approx(exact.statistic) == by_row.value
    assert abs(by_person.details["chance"] - null.mean()) <= 5 * null.std() / np.sqrt(200)
    assert abs(by_person.details["p"] - p) <= 5 * np.sqrt(p * (1 - p) / 200) + 1 / 201
    assert by_row.details["chance"] < 0.75 * null.mean()  # thirty rows say more than ten persons


def test_units_that_cannot_be_exchanged_have_no_chance_level() -> None:
    """Each class is of one group: nothing that is exchanged would keep the classes of a group."""
    table = Confusion.of(["a", "a", "b", "b"], ["a", "b", "b", "b"], "FFMM", units=[1, 1, 2, 2])
    row = _by_key(fairness_rows(table, "x"))["independence", SUM]
    assert not {"chance", "p"} & set(row.details)
    with pytest.raises(WordbiasError, match="expected a unit of each of 2 examples, found 1"):
        Confusion.of("ab", "ab", "FM", units=[1])


def test_one_person_in_each_group_has_no_interval() -> None:
    """Draws with both persons are all alike, and those without one have no gap."""
    classes, predicted = ["a", "b"] * 10, ["b", "b"] * 2 + ["a", "b"] * 8
    table = Confusion.of(classes, predicted, ["F"] * 10 + ["M"] * 10, units=[1] * 10 + [2] * 10)
    row = _by_key(fairness_rows(table, "x"))["tpr-gap", "a"]
    assert row.value == pytest.approx(-0.4)
    assert (row.details["low"], row.details["high"]) == (None, None)
    assert row.details["reason"].startswith("undefined: a group has too few")
    assert row.details["draws"] < 1000


def test_different_classes_make_an_expected_gap_of_precision() -> None:
    """P(r|y) is the same for both groups; only what they are differs."""
    p = np.array([[0.9, 0.1], [0.1, 0.9]])
    n = np.array([[9000, 1000], [1000, 9000]])
    counts = np.round(n[..., None] * p).astype(np.int64)
    by_key = _by_key(fairness_rows(_made(counts), "x"))
    row = by_key["precision-gap", SUM]
    expected = 2 * (8100 / 8200 - 900 / 1800)
    assert row.value == pytest.approx(expected)
    assert row.details["chance"] == pytest.approx(expected, rel=0.01)
    assert by_key["tpr-gap", SUM].value == pytest.approx(0, abs=1e-12)


def test_rows_say_what_they_are() -> None:
    table = _random(4)
    rows = fairness_rows(table, "clf", Settings(draws=20, seed=3))
    keys = [(row.measure, row.details["set"]) for row in rows]
    expected = [(ACCURACY, part) for part in (ALL, "F", "M")]
    for gap in GAPS:
        expected += [(gap, part) for part in (SUM, CORRELATION, *"abcd")]
    expected += [(DIVERGENCES[0], part) for part in (SUM, "F", "M")]
    expected += [(name, part) for name in DIVERGENCES[1:] for part in (SUM, *"abcd")]
    assert keys == expected
    by_key = _by_key(rows)
    for row in rows:
        assert row.subject == "clf"
        assert {"neutral", "better", "n", "seed", "groups", "low", "high", "draws"} <= set(
            row.details
        )
        assert row.details["seed"] == 3
    assert by_key["tpr-gap", "a"].details["better"] == "neutral"
    assert by_key["tpr-gap", SUM].details["better"] == "lower"
    n = table.counts.sum(axis=2)[:, 0]
    assert by_key["tpr-gap", "a"].details["n"] == {"F": n[0], "M": n[1]}
    others = table.counts[:, 1:].sum(axis=(1, 2))
    assert by_key["fpr-gap", "a"].details["n"] == {"F": others[0], "M": others[1]}
    called = table.counts.sum(axis=1)[:, 0]
    assert by_key["sufficiency", "a"].details["n"] == {"F": called[0], "M": called[1]}
    for name in (*GAPS, *DIVERGENCES):
        parts = [row.value for (measure, part), row in by_key.items() if measure == name]
        parts = parts[2 if name in GAPS else 1 :]
        assert by_key[name, SUM].value == pytest.approx(sum(map(abs, parts)))


def test_the_same_seed_gives_the_same_rows() -> None:
    first, repeat, other = (
        [row.to_dict() for row in fairness_rows(_random(5), "x", Settings(draws=30, seed=seed))]
        for seed in (1, 1, 2)
    )
    assert first == repeat
    assert [row["value"] for row in first] == [row["value"] for row in other]
    assert first != other


def test_no_draws_no_intervals() -> None:
    for row in fairness_rows(_random(6), "x", Settings(draws=0)):
        assert not {"low", "high", "chance", "p"} & set(row.details)


def test_what_is_empty_is_reported_and_left_out_of_sums() -> None:
    counts = _random(7, 2, 4, 4).counts + 1
    counts[0, 1] = 0  # no woman of class b
    counts[:, :, 3] = 0  # nobody is predicted as d
    by_key = _by_key(fairness_rows(_made(counts), "x", Settings(draws=50)))
    assert by_key["tpr-gap", "b"].value is None
    assert by_key["tpr-gap", "b"].details["reason"] == "a group has no example of it"
    assert by_key["tpr-gap", "b"].details["n"]["F"] == 0
    assert by_key["tpr-gap", SUM].details["left_out"] == ["b"]
    assert by_key["precision-gap", "d"].value is None
    assert by_key["precision-gap", SUM].details["left_out"] == ["d"]
    assert by_key["f1-gap", "d"].value == 0  # examples there are, so F1 is 0 in both groups
    assert by_key["sufficiency", "d"].value is None
    assert by_key["separation", "b"].value == 0
    others = [by_key["tpr-gap", name].value for name in "acd"]
    assert by_key["tpr-gap", SUM].value == pytest.approx(sum(map(abs, others)))
    assert "left_out" not in by_key["fpr-gap", SUM].details


def test_as_published_leaves_out_what_one_group_lacks() -> None:
    counts = _random(7, 2, 4, 4).counts + 1
    counts[0, 1] = 0  # no woman of class b
    counts[1, :, 3] = 0  # no man is predicted as d
    by_key = _by_key(fairness_rows(_made(counts), "x", Settings(as_published=True, draws=20)))
    assert by_key["separation", "b"].details["reason"] == "a group has no example of it"
    assert by_key["sufficiency", "d"].details["reason"] == "in a group nobody is predicted as it"
    assert by_key["separation", SUM].details["left_out"] == ["b"]
    assert by_key["precision-gap", "d"].value is not None  # TP/N has no empty denominator


def test_a_class_called_as_a_total_is_refused() -> None:
    table = Confusion.of(["sum", "b"], ["b", "sum"], "FM")
    with pytest.raises(WordbiasError, match=r"a class is called 'sum'.* rename it"):
        fairness_rows(table, "x")


def test_two_classes_have_no_correlation() -> None:
    row = _by_key(fairness_rows(_random(8, 2, 2, 2), "x"))["tpr-gap", CORRELATION]
    assert row.value is None
    assert row.details["reason"] == "2 classes have a gap and a share, needed are 3"


def test_balanced_examples_have_no_shares_to_correlate_with() -> None:
    counts = np.zeros((2, 4, 4), np.int64)
    rng = np.random.default_rng(0)
    counts[:] = rng.multinomial(100, np.full(4, 0.25), (2, 4))
    table = _made(counts)
    row = _by_key(fairness_rows(table, "x"))["tpr-gap", CORRELATION]
    assert row.value is None
    assert "the same in every class; give those of the training data" in row.details["reason"]
    shares = np.array([0.1, 0.9, 0.4, 0.5])
    given = _by_key(fairness_rows(table, "x", shares=shares))["tpr-gap", CORRELATION]
    assert given.value is not None


def test_three_groups_where_the_definition_allows() -> None:
    table = _made(_random(9, 3, 4, 4).counts + 1, ("F", "M", "X"))
    by_key = _by_key(fairness_rows(table, "x", Settings(draws=20)))
    assert by_key["tpr-gap", "a"].details["better"] == "lower"
    assert all((r.details["low"] or 0) >= 0 for r in by_key.values() if r.value is not None)
    assert "3 groups have no signed gap" in by_key["tpr-gap", CORRELATION].details["reason"]
    assert by_key["independence", "X"].value is not None
    with pytest.raises(WordbiasError, match="difference of two groups, found 3"):
        fairness_rows(table, "x", Settings(as_published=True))


def test_as_published_is_the_released_arithmetic() -> None:
    """TP/N, Σ|D(F) − D(M)|, and Wasserstein over positions, written out in loops."""
    from scipy.stats import entropy, wasserstein_distance

    table = _made(_random(10).counts + 1)
    by_key = _by_key(fairness_rows(table, "x", Settings(as_published=True, draws=0)))
    counts, k, n = table.counts, 4, len(table)
    precision = [(counts[0, y, y] - counts[1, y, y]) / n for y in range(k)]
    assert by_key["precision-gap", SUM].value == pytest.approx(np.abs(precision).sum())
    apart, moved = 0.0, 0.0
    for c in range(k):
        d = [entropy(counts[z, c], counts[:, c].sum(axis=0)) for z in range(2)]
        apart += abs(d[0] - d[1])
        w = [
            wasserstein_distance(range(k), range(k), counts[z, :, c], counts[:, :, c].sum(axis=0))
            for z in range(2)
        ]
        moved += abs(w[0] - w[1])
    assert by_key["separation", SUM].value == pytest.approx(apart)
    assert by_key["sufficiency", SUM].value == pytest.approx(moved)


def test_no_answer_is_left_out_of_separation_only_as_published() -> None:
    counts = _random(11, 2, 3, 4).counts + 1
    table = _named(counts, ("a", "b", "c"), ("a", "b", "c", "None"))
    answered = _named(counts[..., :3], table.classes, table.classes)
    published = Settings(as_published=True, draws=0)
    key = ("separation", SUM)
    assert _by_key(fairness_rows(table, "x", published))[key].value == pytest.approx(
        _by_key(fairness_rows(answered, "x", published))[key].value
    )
    plain = Settings(draws=0)
    assert _by_key(fairness_rows(table, "x", plain))[key].value != pytest.approx(
        _by_key(fairness_rows(answered, "x", plain))[key].value
    )
    assert ("sufficiency", "None") in _by_key(fairness_rows(table, "x", plain))
    assert ("tpr-gap", "None") not in _by_key(fairness_rows(table, "x", plain))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings(distance="kl"), "distance 'kl': expected one of total-variation, positions"),
        (Settings(distance="costs"), r"expected costs of shape \(4, 4\), found None"),
        (Settings(costs=np.eye(3)), r"expected costs of shape \(4, 4\), found \(3, 3\)"),
    ],
)
def test_distances_that_cannot_be(settings: Settings, message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        fairness_rows(_random(12), "x", settings)


def test_a_bar_is_moved_by_each_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[int] = []

    class Counting:
        def update(self, n: int = 1) -> None:
            moved.append(n)

    @contextmanager
    def shown(what: str, total: int, unit: str) -> Iterator[Counting]:
        yield Counting()
        assert sum(moved) == total == 30 + 30

    monkeypatch.setattr(measuring, "progress", shown)
    table = Confusion.of(["a", "b"] * 6, ["a", "b"] * 6, ["F", "F", "M"] * 4)
    assert fairness_rows(table, "made up", Settings(draws=30))


# changes between two classifiers of the same examples


def _two(n: int = 300) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return classes, groups, and the predictions of two classifiers that differ for one group."""
    rng = np.random.default_rng(5)
    y, z = rng.choice(["a", "b", "c"], n), rng.choice(["F", "M"], n)
    first = np.where(rng.random(n) < 0.8, y, rng.choice(["a", "b", "c"], n))
    second = np.where((rng.random(n) < 0.7) | (z == "F"), first, "a")
    return y.tolist(), z.tolist(), first.tolist(), second.tolist()


def _accuracies(*predicted: list[str], units: Any = None, draws: int = 200) -> list[Row]:
    y, z, *_ = _two()
    settings = Settings(draws=draws)
    tables = [Confusion.of(y, r, z, units=units) for r in predicted]
    return [_by_key(fairness_rows(table, "x", settings))["accuracy", "all"] for table in tables]


@pytest.mark.parametrize("several", [False, True])
def test_a_change_of_accuracy_is_paired_example_by_example(several: bool) -> None:
    y, _, first, second = _two()
    units = [i // 3 for i in range(300)] if several else None
    before, after = _accuracies(first, second, units=units)
    change = change_keys(before, after, certain=True)
    right = [np.array([a == b for a, b in zip(y, r, strict=True)], float) for r in (first, second)]
    differences = (right[1] - right[0]).reshape(-1, 3 if several else 1).mean(1)
    rows = np.random.default_rng(0).integers(len(differences), size=(200, len(differences)))
    expected = np.percentile(differences[rows].mean(1), [2.5, 97.5])
    # JSON holds draws in single precision
    assert [change["change_low"], change["change_high"]] == pytest.approx(expected, abs=1e-6)


def test_a_group_that_is_predicted_the_same_does_not_change() -> None:
    y, z, first, second = _two()
    rows = [_by_key(fairness_rows(Confusion.of(y, r, z), "x")) for r in (first, second)]
    key = "accuracy", "F"
    change = change_keys(rows[0][key], rows[1][key], certain=True)
    assert (change["change"], change["change_low"], change["change_high"]) == (0, 0, 0)


def test_other_examples_are_not_paired() -> None:
    y, z, first, _ = _two()
    (before,) = _accuracies(first)
    (other,) = (
        row
        for row in fairness_rows(Confusion.of(y[::-1], first, z), "x", Settings(draws=200))
        if (row.measure, row.details["set"]) == ("accuracy", "all")
    )
    assert "change_low" not in change_keys(before, other, certain=True)


def test_a_row_without_an_interval_has_no_draws() -> None:
    """A sum of absolute gaps of noise alone is raised by resampling; so would be its change."""
    rng = np.random.default_rng(0)
    p = 0.7 * np.eye(40) + 0.3 / 40
    table = np.stack([rng.multinomial(40, p), rng.multinomial(40, p)])
    rows = fairness_rows(_made(table), "x", shares=np.linspace(0, 1, 40))
    assert all(("sample" in row.draws) == (row.details.get("low") is not None) for row in rows)
    assert not _by_key(rows)["tpr-gap", SUM].draws
