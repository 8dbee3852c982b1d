"""What probes read from held-out rows: on rows whose answer is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

import wordbias as wb
from wordbias.measures.held_out_probes import read_groups
from wordbias.probes import held_out as module
from wordbias.probes.held_out import _balanced, choose_rows, held_out_rows
from wordbias.probes.mdl import online_code
from wordbias.results import Row

pytestmark = pytest.mark.usefixtures("one_thread")

Floats = NDArray[np.float32]


def rows(n: int = 600, d: int = 6, k: int = 2, size: float = 3.0) -> tuple[Floats, Any, Any]:
    """Return rows whose first coordinates tell their labels, and which of them are held out."""
    rng = np.random.default_rng(0)
    codes = rng.integers(k, size=n)
    x = rng.normal(size=(n, d))
    x[:, :k] += size * np.eye(k)[codes]
    held_out = np.arange(n) % 3 == 0
    return x.astype(np.float32), np.array(list("abcdef"))[codes], held_out


def found(reported: list[Row], measure: str, stage: str = "after", of: str | None = None) -> Row:
    (row,) = [
        row
        for row in reported
        if (row.measure, row.details["stage"]) == (measure, stage)
        and of in (None, row.details.get("concept"), row.details.get("column"))
    ]
    return row


@pytest.mark.slow
def test_a_label_is_read_before_and_not_after_its_coordinates_are_gone() -> None:
    x, y, held_out = rows()
    after = x * np.array([0, 0, 1, 1, 1, 1], np.float32)
    reported = held_out_rows("x", x, after, held_out, {"gender": y})
    for measure in ("linear-probe", "mlp-probe"):
        before, then = (found(reported, measure, stage) for stage in ("before", "after"))
        assert before.value is not None
        assert before.value > 0.95
        assert then.details["low"] <= then.details["neutral"]
        assert then.details["neutral"] == max(np.mean(y[held_out] == name) for name in "ab")
        assert (then.details["n"], then.details["trained_on"]) == (200, 400)
        assert then.details["balanced_low"] <= 0.5 == then.details["balanced_neutral"]
    assert found(reported, "compression", "before").value > 1.3  # type: ignore[operator]
    assert found(reported, "compression").value < 1.1  # type: ignore[operator]


def test_a_linear_probe_is_a_logistic_regression_of_scaled_rows() -> None:
    x, y, held_out = rows(k=3, size=1.0)
    reported = held_out_rows("x", x, x, held_out, {"y": y})
    scale = StandardScaler().fit(x[~held_out].astype(float))
    probe = LogisticRegression(max_iter=1000)
    probe.fit(scale.transform(x[~held_out].astype(float)), y[~held_out])
    tested = scale.transform(x[held_out].astype(float))
    row = found(reported, "linear-probe")
    assert row.value == pytest.approx(probe.score(tested, y[held_out]), abs=0.011)
    share = np.array([np.mean(y[~held_out] == name) for name in probe.classes_])
    weighted = probe.classes_[(probe.predict_proba(tested) / share).argmax(1)]
    expected = balanced_accuracy_score(y[held_out], weighted)
    assert row.details["balanced"] == pytest.approx(expected, abs=0.011)
    assert row.details["balanced_low"] < expected < row.details["balanced_high"]


@pytest.mark.slow
def test_an_exclusive_or_is_read_by_the_non_linear_probe_only() -> None:
    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, 1.0], (1200, 2)) + rng.normal(size=(1200, 2)) / 10
    y = np.where(x[:, 0] * x[:, 1] > 0, "same", "other")
    reported = held_out_rows("x", x, x, np.arange(1200) % 4 == 0, {"y": y})
    linear, mlp = (found(reported, measure) for measure in ("linear-probe", "mlp-probe"))
    assert linear.value is not None
    assert mlp.value is not None
    assert linear.value < 0.65
    assert mlp.value > 0.95


@pytest.mark.slow
def test_with_few_of_a_class_the_balanced_accuracy_shows_what_the_accuracy_hides() -> None:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(3000) % 30 == 0, "rare", "frequent")
    x = rng.normal(size=(3000, 3)) + 1.2 * (y == "rare")[:, None] * [1, 0, 0]
    reported = held_out_rows("x", x, x, rng.random(3000) < 0.3, {"y": y})
    row = found(reported, "linear-probe")
    assert row.details["low"] <= row.details["neutral"]
    assert row.details["balanced_low"] > 0.55


@pytest.mark.slow
def test_what_is_left_is_read_by_probes_that_saw_no_row_of_the_fit() -> None:
    """LEACE leaves the means of its own rows equal, so that probes of them read nothing linear."""
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=600)
    x = rng.normal(size=(600, 300)) + 0.35 * codes[:, None] * (np.arange(300) < 60)
    held_out = np.arange(600) % 2 == 0
    y = np.array(["f", "m"])[codes]
    after = wb.LEACE().fit(x[~held_out], y[~held_out]).transform(x)
    reported = held_out_rows("x", x, after, held_out, {"gender": y})
    assert found(reported, "linear-probe").details["low"] <= 0.5
    row = found(reported, "best-probe")
    assert row.details["beyond_chance"] is True
    assert row.details["n"] == 300
    assert row.details["left"] > 0.2
    expected = read_groups(after[held_out], y[held_out]).probes[0]
    assert row.value == pytest.approx(expected.value, abs=0.02)


@pytest.mark.slow
def test_what_only_a_non_linear_probe_reads_is_left() -> None:
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (600, 2))
    x = np.column_stack([signs, 2 * signs.prod(1)]) + rng.normal(size=(600, 3)) / 5
    y = np.where(signs.prod(1) > 0, "same", "other")
    reported = held_out_rows("x", x, x * [1, 1, 0], np.arange(600) % 2 == 0, {"y": y})
    ridge, rbf = (found(reported, measure) for measure in ("ridge-probe", "rbf-probe"))
    assert ridge.value is not None
    assert ridge.value < 0.85  # no line is right for more than .75 of an exclusive or
    assert rbf.details["left"] > 0.9


@pytest.mark.slow
def test_rounding_is_no_label() -> None:
    """A copy of the label, erased up to rounding, must not be scaled up and read again."""
    x, y, held_out = rows()
    after = x.copy()
    after[:, 0] = 0.5 + np.where(y == "a", 3e-8, 0)
    after[:, 1] = 1 / 3
    reported = held_out_rows("x", x, after, held_out, {"y": y})
    for measure in ("linear-probe", "mlp-probe"):
        row = found(reported, measure)
        assert row.details["low"] <= row.details["neutral"]
    coarse = held_out_rows(
        "x", x, np.where(after == 0.5, 0.5005, after), held_out, {"y": y}, rounding=2**-10
    )
    row = found(coarse, "linear-probe")
    assert row.details["low"] <= row.details["neutral"]


@pytest.mark.slow
def test_one_large_coordinate_hides_no_other_of_half_precision() -> None:
    x, y, held_out = rows()
    x[:, 5] = 2000 + 50 * x[:, 5]
    half = x.astype(np.float16)
    reported = held_out_rows(
        "x", half, half, held_out, {"y": y}, rounding=float(np.finfo(np.float16).eps)
    )
    for measure in ("linear-probe", "mlp-probe"):
        row = found(reported, measure)
        assert row.value is not None
        assert row.value > 0.95


@pytest.mark.parametrize("counts", [(500, 1), (500, 2), (500, 3), (200, 200, 200, 1), (2,) * 20])
def test_guesses_are_seldom_above_chance_however_rare_a_class(counts: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    true = np.repeat(np.arange(len(counts)), counts)
    guessed = rng.integers(len(counts), size=(1000, len(true)))
    balanced = [_balanced(guesses == true, true) for guesses in guessed]
    above = np.mean([score["balanced_low"] > score["balanced_neutral"] for score in balanced])
    assert above < 0.05


def test_the_balanced_interval_of_many_rows_is_the_normal_one() -> None:
    true = np.repeat([0, 1], [40_000, 10_000])
    right = np.arange(50_000) % 5 > 0
    row = _balanced(right, true)
    error = np.sqrt(0.8 * 0.2 * (1 / 40_000 + 1 / 10_000)) / 2
    assert row["balanced"] == pytest.approx(0.8)
    assert row["balanced_high"] - 0.8 == pytest.approx(1.96 * error, rel=1e-3)
    assert 0.8 - row["balanced_low"] == pytest.approx(1.96 * error, rel=1e-3)


def test_neighbours_and_cosines_are_those_of_scikit_learn() -> None:
    x, y, held_out = rows()
    after = x + np.random.default_rng(1).normal(size=x.shape).astype(np.float32) / 3
    reported = held_out_rows("x", x, after, held_out, {"y": y})
    nearest = [
        NearestNeighbors(n_neighbors=11, metric="cosine", algorithm="brute")
        .fit(vectors[held_out])
        .kneighbors(vectors[held_out], return_distance=False)[:, 1:]
        for vectors in (x, after)
    ]
    shared = [len({*a} & {*b}) / 10 for a, b in zip(*nearest, strict=True)]
    recall, cosine = found(reported, "neighbour-recall"), found(reported, "cosine")
    assert recall.value == pytest.approx(np.mean(shared), abs=1e-6)
    a, b = x[held_out].astype(float), after[held_out].astype(float)
    expected = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert cosine.value == pytest.approx(expected.mean(), abs=1e-6)
    assert (recall.details["neutral"], cosine.details["neutral"]) == (1, 1)
    assert recall.details["low"] < recall.value < recall.details["high"]  # type: ignore[operator]


@pytest.mark.slow
def test_nothing_changed_means_nothing_lost() -> None:
    x, y, held_out = rows()
    reported = held_out_rows("x", x, x, held_out, {"y": y}, also={"task": y})
    assert found(reported, "neighbour-recall").value == 1
    assert found(reported, "cosine").value == pytest.approx(1, abs=1e-6)
    for measure in ("linear-probe", "mlp-probe", "compression", "task-accuracy"):
        before, after = (found(reported, measure, stage) for stage in ("before", "after"))
        assert before.value == after.value


@pytest.mark.slow
def test_compression_is_that_of_probe() -> None:
    x, y, held_out = rows()
    reported = held_out_rows("x", x, x, held_out, {"y": y}, seed=3)
    apart = x[held_out] - x[held_out].mean(0)
    z = (apart / np.sqrt((apart**2).mean())).astype(np.float32)
    expected = online_code(z, y[held_out], seed=3)
    row = found(reported, "compression")
    assert row.value == pytest.approx(expected.compression, rel=1e-4)
    assert row.details["codelength"] == pytest.approx(expected.codelength, rel=1e-4)


@pytest.mark.slow
def test_compression_does_not_depend_on_the_length_of_vectors() -> None:
    x, y, held_out = rows()
    values = [
        found(held_out_rows("x", vectors, vectors, held_out, {"y": y}), "compression").value or 0
        for vectors in (x, x * np.float32(20) + 3)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_compression_is_not_above_chance_where_nothing_is_read(share: float) -> None:
    """A code that learns only that a class is rare is shorter, whatever the vectors are."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(1500) < share, "rare", "other")
    x = rng.normal(size=(1500, 3)).astype(np.float32)
    row = found(held_out_rows("x", x, x, np.arange(1500) >= 300, {"y": y}), "compression")
    p = np.mean(y[300:] == "rare")
    entropy = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    assert row.details["neutral"] == pytest.approx(1200 / (24 + 1176 * entropy), rel=1e-12)
    assert row.value is not None
    assert row.value <= 1.02 * row.details["neutral"]


@pytest.mark.slow
def test_a_task_is_probed_on_the_rows_that_have_its_label() -> None:
    x, y, held_out = rows()
    task = np.where(np.arange(len(x)) % 5 == 0, "", np.where(x[:, 3] > 0, "up", "down"))
    row = found(held_out_rows("x", x, x, held_out, {"y": y}, also={"task": task}), "task-accuracy")
    assert (row.details["column"], row.details["better"]) == ("task", "higher")
    assert row.details["n"] == (held_out & (task != "")).sum()
    assert row.value is not None
    assert row.value > 0.9


def test_more_rows_than_the_report_needs_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    training, held_out = np.arange(0, 100, 2), np.arange(1, 100, 2)
    places, tested = choose_rows(training, held_out, 0)
    np.testing.assert_array_equal(places, np.arange(100))
    np.testing.assert_array_equal(tested, places % 2 == 1)
    monkeypatch.setattr(module, "TRAINING_ROWS", 20)
    monkeypatch.setattr(module, "HELD_OUT_ROWS", 10)
    places, tested = choose_rows(training, held_out, 0)
    assert (len(places), tested.sum(), len(set(places))) == (30, 10, 30)
    np.testing.assert_array_equal(tested, places % 2 == 1)
    repeated, other = choose_rows(training, held_out, 0)[0], choose_rows(training, held_out, 1)[0]
    assert np.array_equal(places, repeated)
    assert not np.array_equal(places, other)


def test_what_cannot_be_measured_has_a_reason() -> None:
    x, y, _ = rows(n=12)
    y[:12] = list("aabb") * 3
    reported = held_out_rows(
        "x", x, x, np.arange(12) >= 8, {"y": y}, also={"one": np.full(12, "a")}
    )
    assert "20 held-out rows" in found(reported, "neighbour-recall").details["reason"]
    assert "too few" in found(reported, "compression").details["reason"]
    assert "two classes" in found(reported, "task-accuracy").details["reason"]
    assert found(reported, "linear-probe").value is not None
    zero = held_out_rows("x", x, 0 * x, np.arange(12) >= 8, {"y": y})
    assert found(zero, "cosine").value is None


@pytest.mark.parametrize("d", [1, 3])
def test_constant_rows_and_classes_of_one_row(d: int) -> None:
    x = np.full((60, d), 0.1, np.float32)
    y = np.where(np.arange(60) == 0, "once", np.where(np.arange(60) % 2 == 0, "a", "b"))
    reported = held_out_rows("x", x, x, np.arange(60) >= 30, {"y": y})
    for measure in ("linear-probe", "mlp-probe"):
        row = found(reported, measure)
        assert row.details["low"] <= row.details["neutral"] <= row.details["high"]
