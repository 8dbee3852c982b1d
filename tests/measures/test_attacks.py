"""The attacks of a certificate: by scikit-learn's classifiers, one fit at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from quick_cases import first_quick
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

import wordbias as wb
from wordbias.measures import attacks as module
from wordbias.measures import held_out_probes
from wordbias.measures.attacks import NEIGHBOURS, attacks
from wordbias.measures.held_out_probes import (
    ATTACKS,
    BEST,
    BOOSTING,
    FOLDS,
    LINEAR,
    NEAREST,
    NETWORK,
    PROBES,
    RBF,
    Design,
    HeldOut,
    read_groups,
)
from wordbias.rendering import as_text

pytestmark = pytest.mark.usefixtures("one_thread")
Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train for a moment: that more trees and steps read more is scikit-learn's matter.

    One setting each: a test of its own has several.
    """
    monkeypatch.setattr(module, "_TREES", 3)
    monkeypatch.setattr(module, "_UPDATES", 3)
    for name, grid in module.GRIDS.items():
        monkeypatch.setitem(module.GRIDS, name, grid[:1])


def design(n: int = 60, k: int = 2, draws: int = 2) -> tuple[Floats, Design]:
    """Rows and folds, with labels that are permuted within these."""
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(k), n // k)
    fold_of = np.arange(n) % FOLDS
    labels = np.repeat(classes[:, None], draws + 1, axis=1)
    for draw in range(1, draws + 1):
        for fold in range(FOLDS):
            places = np.flatnonzero(fold_of == fold)
            labels[places, draw] = classes[rng.permutation(places)]
    x = rng.normal(size=(n, 4)) + 2 * np.eye(k, 4)[classes]
    folds = [np.flatnonzero(fold_of == fold) for fold in range(FOLDS)]
    return x, Design(folds, labels, classes, np.arange(n))


def of(found: HeldOut, measure: str) -> Any:
    (probed,) = [probe for probe in found.probes if probe.measure == measure]
    return probed


@pytest.mark.parametrize("k", first_quick([2, 3]))
def test_the_nearest_neighbours_vote_as_those_of_scikit_learn(k: int) -> None:
    """Of classes of one size in every fold, whose votes weigh alike; and tuned on inner folds."""
    x, plan = design(60 if k == 2 else 90, k)
    every = np.arange(len(x))
    for number, (name, accuracies, right) in zip(NEIGHBOURS, module._nearest(x, plan), strict=True):
        assert name == NEAREST
        for draw, labels in enumerate(plan.labels.T):
            for outer, tested in enumerate(plan.folds):
                known = np.setdiff1d(every, tested)
                model = KNeighborsClassifier(min(number, len(known))).fit(x[known], labels[known])
                expected = model.predict(x[tested]) == labels[tested]
                sure = np.ptp(np.sort(model.predict_proba(x[tested]))[:, -2:], axis=1) > 0.05
                np.testing.assert_array_equal(right[tested, draw][sure], expected[sure])
                inner = np.empty(len(x))
                for fold in set(range(FOLDS)) - {outer}:
                    rest = np.setdiff1d(known, plan.folds[fold])
                    model = KNeighborsClassifier(min(number, len(rest)))
                    model.fit(x[rest], labels[rest])
                    inner[plan.folds[fold]] = model.predict(x[plan.folds[fold]])
                expected_tuned = balanced_accuracy_score(labels[known], inner[known])
                # a tie is a row or two, which the smaller class number wins in both
                assert accuracies[outer, draw] == pytest.approx(expected_tuned, abs=0.07)


@pytest.mark.slow
def test_the_network_is_tuned_on_the_next_fold_and_tested_on_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, plan = design(60)  # the first 48 are one batch, so that steps are epochs
    grid = ({"alpha": 1e3}, {"alpha": 1e-4})
    monkeypatch.setitem(module.GRIDS, NETWORK, grid)
    (name, accuracies, right) = list(attacks(x, plan))[-1]
    assert name == NETWORK
    single = x.astype(np.float32)
    for draw, labels in enumerate(plan.labels.T):
        for outer, tested in enumerate(plan.folds):
            following = plan.folds[(outer + 1) % FOLDS]
            known = np.setdiff1d(np.arange(len(x)), tested)
            rest = np.setdiff1d(known, following)
            scores, answers = [], []
            for setting in grid:
                model = MLPClassifier(
                    (50,), max_iter=3, batch_size=len(rest), learning_rate_init=0.003,
                    random_state=0, **setting,
                )  # fmt: skip
                with pytest.warns(match="Maximum iterations"):
                    model.fit(single[rest], labels[rest])
                guessed = model.predict(single[following])
                scores.append(balanced_accuracy_score(labels[following], guessed))
                with pytest.warns(match="Maximum iterations"):
                    model.set_params(batch_size=len(known)).fit(single[known], labels[known])
                answers.append(model.predict(single[tested]) == labels[tested])
            assert accuracies[outer, draw] == pytest.approx(max(scores))
            np.testing.assert_array_equal(right[tested, draw], answers[int(np.argmax(scores))])


@pytest.mark.slow
def test_classes_count_alike_however_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that tells nothing is not given to the larger class; no chance level is looked at."""
    monkeypatch.setattr(held_out_probes, "FEWEST_DRAWS", 1)
    rng = np.random.default_rng(0)
    labels = np.where(np.arange(300) % 10 == 0, "rare", "usual")
    held_out = read_groups(rng.normal(size=(300, 3)), labels, attacks=attacks)
    apart = read_groups(
        rng.normal(size=(300, 3)) + 4 * (labels == "rare")[:, None], labels, attacks=attacks
    )
    for measure in (NEAREST, BOOSTING):
        assert 0.3 < of(held_out, measure).value < 0.7
        assert of(apart, measure).value > 0.9
        (row,) = [row for row in held_out.rows("x", {}) if row.measure == measure]
        assert row.details["neutral"] == 0.5


def test_groups_are_never_divided_and_what_only_a_group_has_is_not_read() -> None:
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(40), 3)
    x = np.repeat(rng.normal(size=(40, 30)), 3, axis=0) + rng.normal(size=(120, 30)) / 20
    label = np.where(np.arange(40) % 2 == 0, "f", "m")[unit]
    assert (
        of(read_groups(x, label, attacks=module._nearest), NEAREST).value > 0.75
    )  # it knows the group
    unseen = read_groups(x, label, unit, attacks=module._nearest)
    assert unseen.p(of(unseen, NEAREST)) > 0.05


@pytest.mark.slow
def test_of_labels_that_are_independent_of_the_rows_the_best_attack_finds_nothing() -> None:
    """Its p is uniform on 1/20 … 20/20, since true labels are one more permutation."""
    least = []
    for seed in range(24):  # those that are trained anew for each permutation once: all are alike
        further = module._nearest if seed else attacks
        x = np.random.default_rng(seed).normal(size=(40, 4))
        held_out = read_groups(x, np.arange(40) % 2, seed=seed, attacks=further)
        tried = [NEAREST] if seed else ATTACKS
        assert [probe.measure for probe in held_out.probes] == [BEST, *PROBES, *tried]
        values = np.stack([[probe.value, *probe.null] for probe in held_out.probes]).max(0)
        least.append(min(held_out.p(probe) for probe in held_out.probes))
        assert least[-1] == np.mean(values >= values[0] - 1e-9)  # the permutation test itself
    assert np.sum(np.array(least) <= 0.05) <= 5  # binomial(24, .05): beyond 5 in 1 of 1000
    assert 0.35 < np.mean(least) < 0.70  # mean .525, standard error .059


@pytest.mark.slow
def test_an_exclusive_or_is_left_by_leace_and_read_by_what_is_not_linear(
    short_probes: None,
) -> None:
    """Also in the training rows that are cross-fitted; the table has the best attack first."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1, 1], (400, 2))
    label = np.where(signs[:, 0] * signs[:, 1] > 0, "f", "m")
    x = 3 * signs + rng.normal(size=(400, 2)) / 2 + (label == "f")[:, None] / 2
    report = wb.erase(x, label, held_out=0.5, cross_fit=2, certify=True).report
    for stage, n in (("after", 200), ("cross-fit", 200)):
        rows = {
            row.measure: row
            for measure in (BEST, *PROBES, *ATTACKS)
            for row in report[measure]
            if row.details["stage"] == stage
        }
        assert rows[LINEAR].value < 0.7
        assert rows[RBF].value > 0.9
        assert rows[NEAREST].value > 0.9
        assert rows[BEST].details["beyond_chance"]
        assert rows[BEST].details["n"] == n
        assert rows[BEST].details["p"] == 0.05
    text = str(report)
    for title in ("Certificate: label, new rows", "Certificate: label, training rows, cross-fit"):
        assert text.count(title) == 1
    values = [float(line[2]) for line in report.tables[0].cells]
    assert values == sorted(values, reverse=True)
    assert len(values) == 6
    for table in report.tables[:2]:
        assert max(map(len, as_text(table, 80).splitlines())) <= 80
    assert "before" not in report.tables[1].columns
    assert "best probe" not in [line[1] for line in report.tables[2].cells]


def test_a_certificate_of_cross_fitted_rows_that_cannot_be_made_is_said(
    short_probes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training person has two labels, which cannot be permuted over persons."""
    monkeypatch.setattr("wordbias.probes.held_out.attacks", module._nearest)
    rng = np.random.default_rng(0)
    label = np.array(["f", "m"] * 30)
    x = rng.normal(size=(60, 3)) + (label == "f")[:, None]
    person = np.arange(60)
    person[1] = 0
    split = np.where(np.arange(60) < 30, "train", "test")
    report = wb.erase(x, label, unit=person, split_column=split, cross_fit=2, certify=True).report
    message = "label: no certificate of the cross-fitted rows: a group has the labels 'f' and 'm';"
    assert message in " ".join(str(report).split())
    assert "Certificate: label, new rows" in str(report)
