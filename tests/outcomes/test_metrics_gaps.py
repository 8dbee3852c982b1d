"""Counts, rates and gaps: against their definitions, scikit-learn, and tables done by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rates_of_counts import rates

from wordbias import WordbiasError
from wordbias.outcomes.confusion import RATES, Confusion
from wordbias.outcomes.metrics import gap_correlation, gaps, undefined_because

Examples = list[tuple[str, str, str]]

examples = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"), st.sampled_from("FMX")), min_size=4
).filter(
    lambda rows: (
        len({group for *_, group in rows}) >= 2 and len({y for row in rows for y in row[:2]}) >= 2
    )
)


def _counted(rows: Sequence[tuple[str, str, str]], **options: object) -> Confusion:
    return Confusion.of(*zip(*rows, strict=True), **options)  # type: ignore[arg-type]


def _share(part: int, whole: int) -> float:
    return part / whole if whole else np.nan


def _by_definition(rows: Examples, group: str, label: str, published: bool) -> dict[str, float]:
    """Rates of one class in one group, by counting examples one by one."""
    own = [(y, r) for y, r, z in rows if z == group]
    tp = sum(y == r == label for y, r in own)
    fp = sum(y != label and r == label for y, r in own)
    fn = sum(y == label and r != label for y, r in own)
    tn = sum(y != label and r != label for y, r in own)
    class_rates = {"tpr": _share(tp, tp + fn), "fpr": _share(fp, fp + tn)}
    if not published:
        f1 = _share(2 * tp, 2 * tp + fp + fn)
        return {**class_rates, "precision": _share(tp, tp + fp), "f1": f1}
    p, r = tp / len(rows), class_rates["tpr"]
    f1 = np.nan if np.isnan(r) else 0.0 if p * r == 0 else 2 * p * r / (p + r)
    return {**class_rates, "precision": p, "f1": f1}


@settings(deadline=None)
@given(examples, st.booleans())
def test_rates_are_those_of_the_definition(rows: Examples, published: bool) -> None:
    counted = _counted(rows)
    computed = rates(counted.counts, as_published=published)
    for i, group in enumerate(counted.groups):
        for j, label in enumerate(counted.classes):
            expected = _by_definition(rows, group, label, published)
            for name in RATES:
                assert computed[name][i, j] == pytest.approx(expected[name], nan_ok=True), name


@settings(deadline=None)
@given(examples)
def test_rates_are_those_of_scikit_learn(rows: Examples) -> None:
    from sklearn.metrics import precision_recall_fscore_support

    counted = _counted(rows)
    computed = rates(counted.counts)
    for i, group in enumerate(counted.groups):
        y, r = zip(*((y, r) for y, r, z in rows if z == group), strict=True)
        p, recall, f1, _ = precision_recall_fscore_support(
            y, r, labels=counted.classes, zero_division=np.nan
        )
        np.testing.assert_allclose(computed["tpr"][i], recall)
        np.testing.assert_allclose(computed["precision"][i], p)
        np.testing.assert_allclose(computed["f1"][i], f1)


def test_a_table_done_by_hand() -> None:
    """Women: nurses 8 of 10 right, surgeons 6 of 10; men: nurses 3 of 5, surgeons 18 of 20."""
    cells = {
        ("F", "nurse", "nurse"): 8,
        ("F", "nurse", "surgeon"): 2,
        ("F", "surgeon", "nurse"): 4,
        ("F", "surgeon", "surgeon"): 6,
        ("M", "nurse", "nurse"): 3,
        ("M", "nurse", "surgeon"): 2,
        ("M", "surgeon", "nurse"): 2,
        ("M", "surgeon", "surgeon"): 18,
    }
    rows = [(y, r, z) for (z, y, r), n in cells.items() for _ in range(n)]
    counted = _counted(rows)
    assert (counted.groups, counted.classes) == (("F", "M"), ("nurse", "surgeon"))
    gap = {name: gaps(rate) for name, rate in rates(counted.counts).items()}
    np.testing.assert_allclose(gap["tpr"], [0.8 - 0.6, 0.6 - 0.9])
    np.testing.assert_allclose(gap["fpr"], [4 / 10 - 2 / 20, 2 / 10 - 2 / 5])
    np.testing.assert_allclose(gap["precision"], [8 / 12 - 3 / 5, 6 / 8 - 18 / 20])
    np.testing.assert_allclose(gap["f1"], [16 / 22 - 6 / 10, 12 / 18 - 36 / 40])
    published = {k: gaps(v) for k, v in rates(counted.counts, as_published=True).items()}
    np.testing.assert_allclose(published["precision"], [(8 - 3) / 45, (6 - 18) / 45])
    np.testing.assert_allclose(counted.first_shares(), [10 / 15, 10 / 30])


@settings(deadline=None)
@given(examples)
def test_the_order_of_two_groups_is_the_sign(rows: Examples) -> None:
    groups = sorted({z for *_, z in rows})[:2]
    there = _counted(rows, order=groups, classes="abcd")
    back = _counted(rows, order=groups[::-1], classes="abcd")
    for name, rate in rates(there.counts).items():
        np.testing.assert_array_equal(gaps(rate), -gaps(rates(back.counts)[name]))


@settings(deadline=None)
@given(examples)
def test_gaps_of_more_groups_are_the_largest_of_any_two(rows: Examples) -> None:
    rows = [*rows, ("a", "b", "F"), ("b", "a", "M"), ("a", "a", "X")]
    for rate in rates(_counted(rows).counts).values():
        pairs = [np.abs(a - b) for a in rate for b in rate]
        np.testing.assert_array_equal(gaps(rate), np.max(pairs, axis=0))


def test_samples_are_computed_side_by_side() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, (7, 2, 3, 4))
    together = {name: gaps(rate) for name, rate in rates(counts).items()}
    for i, sample in enumerate(counts):
        for name, rate in rates(sample).items():
            np.testing.assert_array_equal(gaps(rate), together[name][i])


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(-1, 1, allow_subnormal=False) | st.just(np.nan),
            st.floats(0, 1, allow_subnormal=False),
        ),
        min_size=3,
    )
)
def test_correlation_is_that_of_scipy(pairs: list[tuple[float, float]]) -> None:
    from scipy.stats import pearsonr

    gap, shares = np.array(pairs).T
    there = ~np.isnan(gap)
    r = gap_correlation(gap, shares)
    because = undefined_because(gap, shares, 2)
    assert bool(because) == bool(np.isnan(r))
    spreads = [np.ptp(values[there]) if there.any() else 0 for values in (gap, shares)]
    if there.sum() >= 3 and min(spreads) > 1e-3:
        expected = pearsonr(gap[there], shares[there]).statistic
        assert r == pytest.approx(expected, abs=1e-9)
        assert r == pytest.approx(gap_correlation(gap, 100 * shares + 5), abs=1e-9)


@pytest.mark.parametrize(
    ("gap", "shares", "groups", "because"),
    [
        ([0.1, 0.2], [0.5, 0.9], 2, "2 classes have a gap and a share, needed are 3"),
        ([0.1, np.nan, 0.3], [0.5, 0.9, 0.1], 2, "2 classes have a gap"),
        ([0.1, 0.2, 0.4], [0.5, 0.5, 0.5], 2, "the share is the same in every class"),
        ([0.1, 0.1, 0.1], [0.5, 0.4, 0.5], 2, "the gap is the same in every class"),
        ([0.1, 0.2, 0.4], [0.5, 0.4, 0.5], 3, "3 groups have no signed gap"),
    ],
)
def test_why_nothing_correlates(
    gap: list[float], shares: list[float], groups: int, because: str
) -> None:
    assert because in undefined_because(np.array(gap), np.array(shares), groups)
    if groups == 2:
        assert np.isnan(gap_correlation(np.array(gap), np.array(shares)))


def test_other_groups_are_counted_and_left_out() -> None:
    rows = [("a", "a", "F"), ("b", "a", "M"), ("a", "b", "X"), ("b", "b", "X")]
    counted = _counted(rows, order=["M", "F"])
    assert (counted.groups, len(counted), counted.left_out) == (("M", "F"), 2, 2)
    assert _counted(rows).left_out == 0


def test_numbers_are_in_their_order() -> None:
    counted = Confusion.of([2, 10, 1], [10, 2, 1], [0, 1, 1])
    assert counted.classes == ("1", "2", "10")
    assert Confusion.of(["b10", "b9"], ["b9", "b9"], "FM").classes == ("b10", "b9")


def test_what_is_empty_is_named() -> None:
    counted = _counted([("a", "a", "F"), ("b", "a", "F"), ("a", "a", "M"), ("a", "a", "M")])
    assert counted.empty() == {"M": ["b"]}
    assert counted.unpredicted() == ["b"]


def test_no_answer_is_an_outcome_but_no_class() -> None:
    rows = [("a", "None", "F"), ("b", "b", "F"), ("a", "a", "M"), ("b", "None", "M")]
    counted = _counted(rows, abstentions=["None"])
    assert (counted.classes, counted.outcomes) == (("a", "b"), ("a", "b", "None"))
    computed = rates(counted.counts)
    np.testing.assert_array_equal(computed["tpr"], [[0, 1], [1, 0]])
    np.testing.assert_array_equal(computed["precision"], [[np.nan, 1], [1, np.nan]])


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (("ab", "ab", "FFF"), {}, "found 2 labels, 2 predictions and 3 groups"),
        (("ab", "ab", "FF"), {}, "two groups at least, found only 'F'"),
        (("", "", ""), {}, "two groups at least, found none"),
        (("ab", "ab", "FM"), {"order": ["F"]}, "found only 'F'"),
        (("ab", "ab", "FM"), {"order": ["F", "X"]}, "of the group 'X'; groups there are: F, M"),
        (("aa", "aa", "FM"), {}, "all labels and predictions are a; to classify takes two classes"),
        (("ab", "ab", "FM"), {"abstentions": ["a"]}, "a: is both a label and no answer"),
    ],
)
def test_what_cannot_be_counted(
    columns: tuple[str, str, str], options: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(WordbiasError, match=message):
        Confusion.of(*columns, **options)  # type: ignore[arg-type]
