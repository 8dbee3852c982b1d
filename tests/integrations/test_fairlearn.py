"""`to_fairlearn` and `from_fairlearn`: what fairlearn computes is what `fairness` reports."""

from __future__ import annotations

import csv
import doctest
import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from integrations_page import ROOT

import wordbias as wb
from wordbias.errors import UsageError, WordbiasError

metrics = pytest.importorskip("fairlearn.metrics")
pd = pytest.importorskip("pandas")
sys.path.append(str(ROOT / "integrations" / "fairlearn"))

import wordbias_fairlearn  # noqa: E402
from wordbias_fairlearn import from_fairlearn, to_fairlearn  # noqa: E402

CLASSES = ("model", "nurse", "surgeon")
GAPS = {"tpr": "tpr-gap", "fpr": "fpr-gap", "precision": "precision-gap", "f1": "f1-gap"}


def _examples(n: int = 600, groups: str = "FM") -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    y, r, z = (rng.choice(names, n) for names in (CLASSES, CLASSES, list(groups)))
    return y, np.where(rng.random(n) < 0.6, y, r), z


@pytest.fixture(scope="module")
def biographies(shared_data: Path) -> tuple[Any, Any, Any]:
    """Return profession, prediction and gender of the test biographies of a linear classifier."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import RidgeClassifier

    with gzip.open(shared_data / "bios" / "bios_surgeon_nurse.tsv.gz", "rt", encoding="utf-8") as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    read = HashingVectorizer(n_features=2**14)
    train, test = ([row for row in rows if row["split"] == part] for part in ("train", "test"))
    fitted = RidgeClassifier().fit(
        read.transform(row["text"] for row in train), [row["profession"] for row in train]
    )
    y, z = (np.array([row[key] for row in test]) for key in ("profession", "gender"))
    return y, fitted.predict(read.transform(row["text"] for row in test)), z


def _gaps(found: Any) -> dict[tuple[str, str], float]:
    return {(name, row.details["set"]): row.value for name in GAPS for row in found[GAPS[name]]}


@pytest.mark.slow
def test_on_real_biographies_both_find_the_same_gaps(biographies: tuple[Any, Any, Any]) -> None:
    y, r, z = biographies
    ours = _gaps(wb.fairness(y, r, z, draws=0))
    theirs = to_fairlearn(y, r, z)
    for job in ("nurse", "surgeon"):
        for name in GAPS:
            by_group = theirs.by_group[f"{job}: {name}"]
            assert by_group["F"] - by_group["M"] == pytest.approx(ours[name, job], abs=1e-12)
    difference = theirs.difference(method="between_groups")
    odds = metrics.equalized_odds_difference(y == "surgeon", r == "surgeon", sensitive_features=z)
    gaps = [abs(ours[name, "surgeon"]) for name in ("tpr", "fpr")]
    assert max(gaps) == pytest.approx(odds, abs=1e-12)
    assert max(gaps) > 0.01
    parity = metrics.demographic_parity_difference(
        y == "surgeon", r == "surgeon", sensitive_features=z
    )
    selected = [float((r[z == group] == "surgeon").mean()) for group in "FM"]
    assert difference["surgeon: selection_rate"] == pytest.approx(parity, abs=1e-12)
    assert abs(selected[0] - selected[1]) == pytest.approx(parity, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("groups", ["FM", "FMX"])
def test_rates_of_every_class_and_group(groups: str) -> None:
    y, r, z = _examples(groups=groups)
    ours = _gaps(wb.fairness(y, r, z, draws=0))
    theirs = to_fairlearn({"label": y, "predicted": r, "group": z})
    report = from_fairlearn(theirs)
    for job in CLASSES:
        for name in GAPS:
            (row,) = (row for row in report[f"{job}: {name}"] if row.details["set"] == "difference")
            assert row.value == pytest.approx(ours[name, job], abs=1e-12)
            expected = theirs.difference(method="between_groups")[f"{job}: {name}"]
            assert abs(row.value) == pytest.approx(expected, abs=1e-12)
    assert next(row.value for row in report["accuracy"]) == pytest.approx((y == r).mean())


@pytest.mark.slow
def test_a_class_of_ones_own_and_two_of_three_groups() -> None:
    y, r, z = _examples(groups="FMX")
    frame = to_fairlearn(y, r, z, values=["F", "X"], positive="nurse")
    assert list(frame.by_group.columns)[:2] == ["tpr", "fpr"]
    assert list(frame.by_group.index) == ["F", "X"]
    numbers = [CLASSES.index(label) for label in y], [CLASSES.index(label) for label in r]
    numbered = to_fairlearn(*numbers, z, values=["F", "X"], positive=1)
    assert numbered.difference().to_dict() == frame.difference().to_dict()


@pytest.mark.slow
def test_the_interval_and_the_chance_level_of_a_frame() -> None:
    """Groups that are treated alike have a difference as by chance, others a larger one."""
    rng = np.random.default_rng(1)
    y, z = rng.integers(0, 2, 400), rng.choice(["F", "M"], 400)
    fair = np.where(rng.random(400) < 0.8, y, 1 - y)
    unfair = np.where((z == "F") & (rng.random(400) < 0.5), 0, y)
    rates = {"tpr": metrics.true_positive_rate, "fpr": metrics.false_positive_rate}
    gaps = {}
    for name, r in (("fair", fair), ("unfair", unfair)):
        frame = metrics.MetricFrame(metrics=rates, y_true=y, y_pred=r, sensitive_features=z)
        report = from_fairlearn(frame, rates, y, r, z, draws=99)
        (gaps[name],) = (row for row in report["tpr"] if row.details["set"] == "difference")
        assert gaps[name].details["n"] == {"F": int((z == "F").sum()), "M": int((z == "M").sum())}
    assert gaps["fair"].details["low"] < 0 < gaps["fair"].details["high"]
    assert gaps["fair"].details["p"] > 0.05
    assert gaps["unfair"].details["high"] < -0.3
    assert gaps["unfair"].details["p"] == 1 / 100
    assert 0 < gaps["unfair"].details["chance"] < 0.2


def test_the_chance_level_is_that_of_fairness() -> None:
    """Permuting groups within classes and drawing predictions alike have the same mean gap."""
    y, r, z = _examples(2000)
    rates = {"tpr": lambda y, r: float((r[y == "nurse"] == "nurse").mean())}
    frame = metrics.MetricFrame(metrics=rates, y_true=y, y_pred=r, sensitive_features=z)
    (gap,) = (
        row
        for row in from_fairlearn(frame, rates, y, r, z, draws=400)
        if row.details["set"] == "difference"
    )
    n = [int(((z == group) & (y == "nurse")).sum()) for group in "FM"]
    share = float((r[y == "nurse"] == "nurse").mean())
    spread = np.sqrt(share * (1 - share) * (1 / n[0] + 1 / n[1]))
    assert gap.details["chance"] == pytest.approx(spread * np.sqrt(2 / np.pi), rel=0.15)


def test_one_metric_by_itself_and_values_only() -> None:
    y, r, z = _examples()

    def frame_metric(y: Any, r: Any) -> float:
        return float((y == r).mean())

    frame = metrics.MetricFrame(metrics=frame_metric, y_true=y, y_pred=r, sensitive_features=z)
    report = from_fairlearn(frame)
    assert [row.details["set"] for row in report] == ["overall", "F", "M", "difference"]
    assert "low" not in report.rows[-1].details
    without = from_fairlearn(frame, frame_metric, y, r, z, draws=0)
    for printed in (report, without):
        assert "neither an interval nor a chance level" in str(printed)
    with pytest.raises(UsageError, match="draws=: expected a whole number from 0 on, got -1"):
        from_fairlearn(frame, frame_metric, y, r, z, draws=-1)


def test_what_cannot_be_used() -> None:
    y, r, z = _examples()
    rate = {"accuracy": lambda y, r: float((y == r).mean())}
    frame = metrics.MetricFrame(metrics=rate, y_true=y, y_pred=r, sensitive_features=z)
    with pytest.raises(UsageError, match="expected a MetricFrame of fairlearn, got list"):
        from_fairlearn([])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="y_pred= is missing"):
        from_fairlearn(frame, rate, y)
    with pytest.raises(WordbiasError, match="expected those of the frame, accuracy; found tpr"):
        from_fairlearn(frame, {"tpr": rate["accuracy"]}, y, r, z)
    with pytest.raises(WordbiasError, match=r"accuracy of overall is \S+, in the frame"):
        from_fairlearn(frame, rate, y, y, z)
    with pytest.raises(WordbiasError, match=r"found \(600,\), \(600,\) and \(599,\)"):
        from_fairlearn(frame, rate, y, r, z[1:])
    with pytest.raises(WordbiasError, match="expected classes, at most 100, found 600 values"):
        from_fairlearn(frame, rate, np.arange(600), r, z)
    with pytest.raises(UsageError, match="or a mapping of names to functions, got str"):
        from_fairlearn(frame, "accuracy", y, r, z)  # type: ignore[arg-type]
    with pytest.raises(WordbiasError, match="groups of the frame, F, M; found F, M, X"):
        from_fairlearn(frame, rate, y, r, ["X", *z[1:]])
    for place, (name, missing) in enumerate(
        {"y_true": None, "y_pred": float("nan"), "sensitive_features": pd.NA}.items()
    ):
        given = [np.array(column, object) for column in (y, r, z)]
        given[place][3] = missing
        with pytest.raises(WordbiasError, match=f"{name}=: 1 value missing, .* of example 3;"):
            from_fairlearn(frame, rate, *given)
    two = metrics.MetricFrame(
        metrics=rate, y_true=y, y_pred=r, sensitive_features={"gender": z, "also": z}
    )
    with pytest.raises(WordbiasError, match="one sensitive feature and no control feature"):
        from_fairlearn(two)
    with pytest.raises(WordbiasError, match="positive=: no class 'poet'; there are model"):
        to_fairlearn(y, r, z, positive="poet")


def test_examples_are_true() -> None:
    outcome = doctest.testmod(wordbias_fairlearn)
    assert outcome.attempted
    assert not outcome.failed
