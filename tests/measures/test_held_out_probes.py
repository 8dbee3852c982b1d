"""The best of several probes on held-out groups: by scikit-learn's classifiers, fold by fold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics import balanced_accuracy_score

from wordbias.errors import WordbiasError
from wordbias.measures import held_out_probes as module
from wordbias.measures.held_out_probes import (
    BEST,
    FOLDS,
    LINEAR,
    NOT_CODED,
    PENALTIES,
    PROBES,
    RBF,
    WIDTHS,
    HeldOut,
    Probed,
    _kernels,
    _left_out,
    read_groups,
)
from wordbias.results import Row
from wordbias.statistics import Z95

pytestmark = pytest.mark.usefixtures("one_thread")

Floats = NDArray[np.float64]
GROUPS, TIMES, D = 60, 3, 8
UNIT = np.repeat(np.arange(GROUPS), TIMES)


def vectors(size: float, seed: int = 0) -> tuple[Floats, NDArray[np.str_]]:
    """Make rows in groups of one label, which the first coordinate tells of the group."""
    rng = np.random.default_rng(seed)
    label = np.where(np.arange(GROUPS) % 2 == 0, "f", "m")[UNIT]
    x = np.repeat(rng.normal(size=(GROUPS, D)), TIMES, axis=0) + rng.normal(size=(len(UNIT), D)) / 3
    x[:, 0] += size * (label == "f")
    return x, label


def of(found: HeldOut, measure: str) -> Probed:
    (probed,) = [probe for probe in found.probes if probe.measure == measure]
    return probed


def rows(found: HeldOut, **others: Any) -> dict[str, Row]:
    return {row.measure: row for row in found.rows("x", {"stage": "after"}, **others)}


def test_rows_left_out_are_predicted_as_kernel_ridge_does_that_never_saw_them() -> None:
    x, _ = vectors(1.0)
    rng = np.random.default_rng(1)
    y = rng.normal(size=(len(x), 3))
    folds = [np.flatnonzero(fold == UNIT % FOLDS) for fold in range(FOLDS)]
    for _, kernel in _kernels(x):
        outer, inner = _left_out(kernel, 0.1, y, folds)
        model = KernelRidge(alpha=0.1, kernel="precomputed")
        for j, tested in enumerate(folds):
            known = np.setdiff1d(np.arange(len(x)), tested)
            model.fit(kernel[np.ix_(known, known)], y[known])
            np.testing.assert_allclose(
                outer[tested], model.predict(kernel[np.ix_(tested, known)]), rtol=1e-7, atol=1e-9
            )
            for k in set(range(FOLDS)) - {j}:
                without = np.setdiff1d(known, folds[k])
                model.fit(kernel[np.ix_(without, without)], y[without])
                np.testing.assert_allclose(
                    inner[j, folds[k]],
                    model.predict(kernel[np.ix_(folds[k], without)]),
                    rtol=1e-7,
                    atol=1e-9,
                )


def test_the_kernels_are_those_of_scikit_learn() -> None:
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.preprocessing import KernelCenterer

    x, _ = vectors(1.0)
    x -= x.mean(0)
    squares = ((x[:, None] - x) ** 2).sum(2)
    median = np.median(squares[np.triu_indices(len(x), 1)])
    expected = [x @ x.T, *(rbf_kernel(x, gamma=1 / (w * median)) for w in WIDTHS)]
    for (_, kernel), plain in zip(_kernels(x), expected, strict=True):
        centred = KernelCenterer().fit_transform(plain)
        np.testing.assert_allclose(kernel, centred / np.diag(centred).mean() + 1, atol=1e-10)


def test_the_linear_probe_is_the_ridge_classifier_of_scikit_learn_tuned_on_inner_folds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The whole of it again, without kernels: nested folds by group, tuned by hand."""
    monkeypatch.setattr(module, "DRAWS", 19)
    seen: list[Any] = []

    def watched(kernel: Any, penalty: float, y: Any, folds: Any) -> Any:
        seen[:] = [folds]
        return _left_out(kernel, penalty, y, folds)

    monkeypatch.setattr(module, "_left_out", watched)
    x, label = vectors(1.2)
    probes = read_groups(x, label, UNIT)
    (folds,) = seen
    z = (x - x.mean(0)) / x.std(0)
    z = np.concatenate([z / np.sqrt(D), np.ones((len(z), 1))], axis=1)  # mean diagonal 1, intercept
    y = np.where(label == "m", 1.0, -1.0)
    guessed = np.empty(len(y))
    for tested in folds:
        inner = [fold for fold in folds if fold is not tested]
        best = (-1.0, 0.0, 0.0)
        for penalty in PENALTIES:
            scores = np.empty(len(y))
            model = Ridge(alpha=penalty, fit_intercept=False)
            for fold in inner:
                fit = np.concatenate([part for part in inner if part is not fold])
                scores[fold] = model.fit(z[fit], y[fit]).predict(z[fold])
            known = np.concatenate(inner)
            middle = np.mean([scores[known][y[known] == sign].mean() for sign in (-1, 1)])
            accuracy = balanced_accuracy_score(y[known], np.sign(scores[known] - middle))
            if accuracy > best[0] + 1e-12:
                best = (accuracy, penalty, middle)
        model = Ridge(alpha=best[1], fit_intercept=False).fit(z[known], y[known])
        guessed[tested] = np.sign(model.predict(z[tested]) - best[2])
    assert of(probes, LINEAR).value == pytest.approx(balanced_accuracy_score(y, guessed), abs=1e-12)


def test_groups_are_never_divided_and_what_only_a_group_has_is_not_read() -> None:
    rng = np.random.default_rng(0)
    own = np.repeat(rng.normal(size=(GROUPS, 40)), TIMES, axis=0)
    x = own + rng.normal(size=own.shape) / 10
    label = np.where(np.arange(GROUPS) % 2 == 0, "f", "m")[UNIT]
    assert of(read_groups(x, label), BEST).value > 0.95  # a probe that saw the group remembers it
    unseen = read_groups(x, label, UNIT)
    assert unseen.p(of(unseen, BEST)) > 0.05
    # permuted over rows the chance would be too narrow
    assert np.std(of(unseen, BEST).null) > 1.3 * np.std(
        of(read_groups(rng.normal(size=x.shape), label), BEST).null
    )


def test_versions_of_a_text_are_in_one_fold_and_permuted_among_themselves() -> None:
    """What all versions share tells nothing of their label: no probe is above or below chance."""
    rng = np.random.default_rng(0)
    block, label = np.repeat(np.arange(30), 3), np.tile(["a", "b", "c"], 30)
    alike = np.repeat(rng.normal(size=(30, 8)), 3, axis=0)
    same = read_groups(alike, label, blocks=block)
    for probe in same.probes:
        assert probe.value == pytest.approx(1 / 3, abs=1e-9)
        np.testing.assert_allclose(probe.null, 1 / 3, atol=1e-9)
    (row, *_) = same.rows("x", {})
    assert (row.details["groups"], row.details["n"]) == (30, 90)
    # without them a probe has seen the other versions, whose labels are not the one that is left
    assert of(read_groups(alike, label), RBF).value < 0.3
    apart = alike + 4 * np.eye(8)[np.tile([0, 1, 2], 30)]
    held_out = read_groups(apart, label, blocks=block)
    assert held_out.p(of(held_out, BEST)) <= 0.05
    assert of(held_out, BEST).value > 0.9


def test_an_interval_over_blocks_is_that_of_their_means() -> None:
    rng = np.random.default_rng(1)
    block, label = np.repeat(np.arange(40), 2), np.tile(["a", "b"], 40)
    x = rng.normal(size=(80, 6)) + 1.2 * np.where(label == "a", 1, -1)[:, None] * np.eye(6)[0]
    held_out = read_groups(x, label, blocks=block)
    probe = of(held_out, LINEAR)
    row = next(row for row in held_out.rows("x", {}) if row.measure == LINEAR)
    z2 = Z95**2 / 2
    means = np.append(probe.shares.reshape(40, 2).mean(1), [0, 1])
    times = np.append(np.ones(40), [z2, z2])
    mean = np.average(means, weights=times)
    n = 40 + 2 * z2
    error = np.sqrt((times * (means - mean) ** 2).sum() / (n - 1) / 40)
    assert row.value == pytest.approx(probe.shares.mean())
    assert row.details["high"] - row.value == pytest.approx(Z95 * error, rel=1e-9)


@pytest.mark.slow
def test_any_probe_is_beyond_chance_as_often_as_the_level_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without anything to read the least p is uniform on 1/20 … 20/20, whatever is tuned."""
    monkeypatch.setattr(module, "DRAWS", 19)
    p = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        label = np.where(np.arange(40) % 2 == 0, "f", "m")[np.repeat(np.arange(40), 2)]
        x = np.repeat(rng.normal(size=(40, 5)), 2, axis=0) + rng.normal(size=(80, 5)) / 2
        held_out = read_groups(x, label, np.repeat(np.arange(40), 2), seed=seed)
        p.append([held_out.p(of(held_out, measure)) for measure in (BEST, *PROBES)])
    least = np.min(p, axis=1)
    assert np.mean(least <= 0.05) <= 0.13  # binomial(100, .05): beyond 13 in 1 of 3,000
    assert 0.38 < np.mean(least) < 0.67  # mean .525, standard error .029


def test_an_exclusive_or_is_read_by_the_non_linear_probe_which_is_then_the_best() -> None:
    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, 1.0], (300, 2)) + rng.normal(size=(300, 2)) / 5
    held_out = read_groups(x, x[:, 0] * x[:, 1] > 0)
    assert of(held_out, LINEAR).value < 0.85  # no line is right for more than .75
    assert of(held_out, RBF).value > 0.95
    assert of(held_out, BEST).value > 0.95
    assert held_out.p(of(held_out, BEST)) == 1 / 100


@pytest.mark.parametrize("shares", [(0.9, 0.1), (0.7, 0.2, 0.1)])
def test_classes_weigh_alike_however_rare(shares: tuple[float, ...]) -> None:
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(len(shares)), (np.array(shares) * 400).astype(int))
    means = 3 * np.eye(6)[: len(shares)]
    x = rng.normal(size=(len(code), 6)) + means[code]
    held_out = read_groups(x, code)
    row = rows(held_out)[LINEAR]
    assert row.details["neutral"] == pytest.approx(1 / len(shares))
    assert row.details["chance"] == pytest.approx(1 / len(shares), abs=0.03)
    # the best possible: the nearest mean, of three classes and of two
    rule = ((x[:, None] - means) ** 2).sum(2).argmin(1)
    assert row.value == pytest.approx(balanced_accuracy_score(code, rule), abs=0.05)


def test_the_interval_is_over_groups_and_the_share_left_that_of_the_formula() -> None:
    x, label = vectors(3.0)
    weaker, _ = vectors(1.0)
    before, after = (read_groups(matrix, label, UNIT) for matrix in (x, weaker))
    old, new = rows(before), rows(after, before=before)
    for measure in (BEST, *PROBES):
        a, b = new[measure], old[measure]
        chance = [row.details["chance"] for row in (a, b)]
        assert a.value is not None
        assert b.value is not None
        left = (a.value - chance[0]) / (b.value - chance[1])
        assert a.details["left"] == pytest.approx(max(0, left))
        assert a.details["left_low"] < a.details["left"] < a.details["left_high"]
        assert a.details["change"] == pytest.approx(a.value - b.value)
        assert a.details["n"], a.details["groups"] == (len(UNIT), GROUPS)
        shares = of(after, measure).shares
        error = np.sqrt(np.var(shares[after.classes == 0], ddof=1) / 30 / 4
                        + np.var(shares[after.classes == 1], ddof=1) / 30 / 4)  # fmt: skip
        width = a.details["high"] - a.details["low"]
        assert width == pytest.approx(2 * 1.96 * error, rel=0.25)  # wider by four added groups
        null = np.sort(of(after, measure).null)
        largest = np.sort(np.max([probe.null for probe in after.probes], axis=0))
        assert (a.details["chance_low"], a.details["chance_high"]) == (null[4], largest[-5])
        assert a.details["beyond_chance"] == (a.details["p"] <= 0.05) == (a.value > largest[-5])


def test_more_rows_than_are_read_are_drawn_in_turn_from_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "ROWS", 90)
    monkeypatch.setattr(module, "DRAWS", 19)
    x, label = vectors(2.0)
    held_out = read_groups(x, label, UNIT)
    assert held_out.n == 90
    assert list(np.bincount(held_out.classes)) == [GROUPS / 2, GROUPS / 2]
    assert held_out.notes == ("90 of 180 rows are read, drawn in turn from each group",)
    monkeypatch.setattr(module, "ROWS", 30)
    assert list(np.bincount(read_groups(x, label, UNIT).classes)) == [15, 15]
    rare = np.where(UNIT < 8, "rare", "other")
    assert list(np.bincount(read_groups(x, rare, UNIT).classes)) == [22, 8]


@pytest.mark.parametrize("rows", [1, 7, 20, 41, 60])
def test_no_group_has_two_rows_more_than_another_that_has_them(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS", rows)
    units = np.repeat(np.arange(12), [1, 9, 2, 5, 5, 5, 9, 9, 3, 3, 9, 1])
    codes = (units % 3 == 0).astype(np.intp)
    drawn = module._drawn(np.arange(len(units)), codes, units, np.random.default_rng(rows))
    assert list(drawn) == sorted(set(drawn))
    assert len(drawn) == rows
    taken, there = (np.bincount(units[places], minlength=12) for places in (drawn, ...))
    assert min(taken[taken < there], default=9) >= taken.max() - 1


def test_classes_of_few_groups_are_named_and_not_read() -> None:
    x, label = vectors(2.0)
    label = np.where(UNIT < 3, "few", label)
    held_out = read_groups(x, label, UNIT)
    assert held_out.notes == ("classes of fewer than 5 groups are not read: few",)
    assert len(held_out.classes) == GROUPS - 3


def test_what_cannot_be_read_is_refused() -> None:
    x, label = vectors(1.0)
    mixed = label.copy()
    mixed[0] = "m"
    with pytest.raises(WordbiasError, match="a group has the labels 'f' and 'm'"):
        read_groups(x, mixed, UNIT)
    with pytest.raises(
        WordbiasError, match="need 5 groups in each of two classes at least; 1 of 2"
    ):
        read_groups(x, np.where(UNIT < 4, "a", "b"), UNIT)


def test_nothing_is_read_where_rows_are_alike_or_differ_by_rounding() -> None:
    _, label = vectors(0.0)
    same = np.full((len(label), D), 0.1, np.float32)
    by_rounding = same + np.where(label == "f", 3e-8, 0)[:, None].astype(np.float32)
    for x in (same, by_rounding):
        assert of(read_groups(x, label, UNIT), BEST).value == 0.5
    assert NOT_CODED.startswith("at chance")


def test_arguments_are_not_changed_and_a_seed_repeats_the_values() -> None:
    x, label = vectors(1.0)
    original = x.copy()
    first, second = (read_groups(x, label, UNIT, seed=3) for _ in range(2))
    np.testing.assert_array_equal(x, original)
    for probe, other in zip(first.probes, second.probes, strict=True):
        assert probe.value == other.value
        np.testing.assert_array_equal(probe.null, other.null)
