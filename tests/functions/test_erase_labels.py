"""`erase`: balanced rows, groups, and folds that are mapped by the method fitted on the others."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from quick_cases import first_quick
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import wordbias as wb
from wordbias import WordbiasError
from wordbias.results import Row

pytestmark = pytest.mark.usefixtures("one_thread", "short_probes")
Floats = NDArray[np.float32]
ESTIMATORS = {"leace": wb.LEACE, "hard": wb.Hard, "mhd": wb.MHD, "misp": wb.MISP, "inlp": wb.INLP}


def rows(n: int = 400, d: int = 60, apart: float = 1.0) -> tuple[Floats, Any]:
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=n)
    x = rng.normal(size=(n, d)) + apart * np.outer(codes, rng.normal(size=d)) / d**0.5
    return x.astype(np.float32), np.array(["f", "m"])[codes]


def found(report: wb.Report, measure: str, stage: str) -> Row:
    (row,) = [row for row in report[measure] if row.details["stage"] == stage]
    assert row.value is not None
    return row


def fold_of(key: bytes, k: int) -> int:
    """The fold of a row, written down again: it must not change between versions."""
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big") % k


# training rows


def test_training_rows_tell_the_label_backwards_and_cross_fitting_lessens_it() -> None:
    """As scikit-learn's own cross-validation of the same rows finds it."""
    x, y = rows()
    training = np.arange(400) < 320
    eraser = wb.erase(x, y, split_column=np.where(training, "train", "test"), cross_fit=5)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    accuracies = {}
    mapped = {"after": eraser.transform(x), "cross-fit": eraser.cross_fitted_}
    for stage, after in mapped.items():
        predicted = cross_val_predict(model, after[training], y[training], cv=5)
        expected = float((predicted == y[training]).mean())
        row = found(eraser.report, "training-rows-probe", stage)
        assert (row.details["n"], row.details["better"]) == (320, "neutral")
        assert row.details["neutral"] == np.unique(y[training], return_counts=True)[1].max() / 320
        assert row.value == pytest.approx(expected, abs=4 * (0.25 / 320) ** 0.5)
        accuracies[stage] = expected
    assert accuracies["after"] < 0.25
    assert accuracies["after"] < accuracies["cross-fit"] - 0.15
    text = " ".join(str(eraser.report).split())
    assert "in the training rows after: a logistic regression cross-validated on them" in text
    assert "Read backwards it is right for" in text
    assert "Do not train on the rows that the method was fitted on" in text


def test_a_probe_far_below_chance_is_read_backwards_on_held_out_rows_too() -> None:
    from wordbias.functions.erase_tables import verdicts

    def row(measure: str, value: float, stage: str) -> Row:
        known = {"neutral": 0.52, "low": value - 0.03, "high": value + 0.03, "balanced": value,
                 "balanced_low": value - 0.03, "balanced_neutral": 0.5, "classes": 2}  # fmt: skip
        return Row("x", measure, value, {**known, "concept": "g", "stage": stage})

    probe_rows = [row("linear-probe", 0.97, "before"), row("mlp-probe", 0.5, "after")]
    (text,) = verdicts([*probe_rows, row("linear-probe", 0.41, "after")])
    assert "is right for 52 %. Read backwards it is right for 59 %." in text
    (text,) = verdicts([*probe_rows, row("linear-probe", 0.47, "after")])
    assert "backwards" not in text


# folds


@pytest.mark.parametrize("method", first_quick(ESTIMATORS))
def test_each_fold_is_mapped_by_the_method_fitted_on_the_others(method: str) -> None:
    """All other rows are mapped by the method fitted on all training rows, which is what is saved.

    Of the INLP of an estimator the random split is that of the same rows.
    """
    x, y = rows(apart=4.0)
    split = np.array(["train", "train", "train", "test", "dev"] * 80)
    given: dict[str, Any] = {"dims": 1} if method in ("mhd", "misp") else {}
    named = f"{method}:dims=1" if given else method
    eraser = wb.erase(x, y, methods=named, split_column=split, cross_fit=3)
    training = split == "train"
    folds = np.array([fold_of(row.astype(np.float64).tobytes(), 3) for row in x])
    assert {*np.unique(folds[training])} == {0, 1, 2}
    given |= {"random_state": 0} if method == "inlp" else {}
    whole = ESTIMATORS[method](**given).fit(x[training], y[training])
    expected = np.array(whole.transform(x))
    np.testing.assert_allclose(eraser.transform(x), expected, rtol=0, atol=1e-4)
    for fold in range(3):
        others, these = training & (folds != fold), training & (folds == fold)
        fitted = ESTIMATORS[method](**given).fit(x[others], y[others])
        expected[these] = fitted.transform(x[these])
    np.testing.assert_allclose(eraser.cross_fitted_, expected, rtol=0, atol=1e-4)
    assert np.abs(eraser.cross_fitted_ - eraser.transform(x))[training].max() > 1e-3
    assert "each of 3 folds" in str(eraser.report)
    assert eraser.report.inputs["vectors"]["folds"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["npy", "parquet", "arrow", "csv"])
def test_a_row_has_the_same_fold_and_values_however_rows_are_sharded(
    suffix: str, tmp_path: Path
) -> None:
    x, y = rows(120, 6)
    people = np.arange(120) % 30
    for groups in (None, people):
        given: dict[str, Any] = {"cross_fit": 4, "unit": groups}
        expected = wb.erase(x, y, **given).cross_fitted_
        written = []
        for name, jobs, parts in (("one", None, [x]), ("many", 2, np.split(x, [7, 50, 51]))):
            source = tmp_path / f"{name}-{groups is None}"
            source.mkdir()
            for number, part in enumerate(parts):
                _write(source / f"{number}.{suffix}", part)
            clean = tmp_path / f"{name}-{groups is None}-clean"
            with wb.config(jobs=jobs):
                wb.erase(source, y, output=clean, **given)
            written.append(_read(clean))
        np.testing.assert_allclose(written[0], written[1], rtol=0, atol=1e-5)
        np.testing.assert_allclose(written[0], expected, rtol=0, atol=1e-5)


def _write(path: Path, x: Floats) -> None:
    if path.suffix == ".npy":
        np.save(path, x)
    elif path.suffix == ".csv":
        lines = [",".join(map(repr, row)) for row in x.tolist()]
        path.write_text("\n".join(["d0,d1,d2,d3,d4,d5", *lines]) + "\n")
    else:
        pa = pytest.importorskip("pyarrow")
        feather, parquet = map(pytest.importorskip, ("pyarrow.feather", "pyarrow.parquet"))
        table = pa.table({"v": pa.array(x.tolist(), pa.list_(pa.float32()))})
        if path.suffix == ".parquet":
            parquet.write_table(table, path)
        else:
            feather.write_feather(table, str(path))


def _read(folder: Path) -> Any:
    from wordbias.formats.rows import open_rows

    return open_rows(folder).vectors()


@pytest.mark.slow
def test_a_folder_is_not_resumed_with_other_folds(tmp_path: Path) -> None:
    x, y = rows(120, 6)
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in" / "a.npy", x)
    wb.erase(tmp_path / "in", y, output=tmp_path / "out", cross_fit=4)
    resumed = wb.erase(tmp_path / "in", y, output=tmp_path / "out", cross_fit=4)
    assert "1 of them by an earlier call" in str(resumed.report)
    for given in ({}, {"cross_fit": 5}, {"cross_fit": 4, "unit": np.arange(120) % 9}):
        with pytest.raises(WordbiasError, match="is of another method or array"):
            wb.erase(tmp_path / "in", y, output=tmp_path / "out", **given)


def test_what_is_in_memory_is_returned_as_it_came() -> None:
    x, y = rows(120, 6)
    eraser = wb.erase({"v": x, "gender": y}, "gender", cross_fit=2)
    assert list(eraser.cross_fitted_) == ["v", "gender"]
    of_array = wb.erase(x, y, cross_fit=2).cross_fitted_
    np.testing.assert_array_equal(eraser.cross_fitted_["v"], of_array)


# groups


def test_groups_are_held_out_and_in_a_fold_as_a_whole() -> None:
    x, y = rows(apart=4.0)
    people = np.array([f"p{number}" for number in np.random.default_rng(1).integers(80, size=400)])
    x[people == "p3"] = x[0]  # rows that are alike, of which values would make one fold
    eraser = wb.erase(x, y, unit=people, cross_fit=4)
    saved, crossed = eraser.transform(x), eraser.cross_fitted_
    held = [bool(np.allclose(saved[people == person], crossed[people == person], atol=1e-6))
            for person in np.unique(people)]  # fmt: skip
    counts = eraser.report.inputs["vectors"]
    sizes = [int((people == person).sum()) for person in np.unique(people)]
    assert sum(n for n, is_held in zip(sizes, held, strict=True) if is_held) == counts["held_out"]
    assert 80 <= counts["held_out"] < 80 + max(sizes)
    folds = np.array([fold_of(person.encode(), 4) for person in people])
    training = ~np.isin(people, np.unique(people)[held])
    for fold in range(4):
        others, these = training & (folds != fold), training & (folds == fold)
        expected = wb.LEACE().fit(x[others], y[others]).transform(x[these])
        np.testing.assert_allclose(crossed[these], expected, rtol=0, atol=1e-4)


def test_rows_without_a_group_and_too_few_groups_are_refused() -> None:
    x, y = rows(100, 6)
    with pytest.raises(WordbiasError, match="1 of 100 rows have no group, the first is row 3"):
        wb.erase(x, y, unit=["a", "b", "", *["c"] * 97])
    split = ["train"] * 80 + ["test"] * 20
    with pytest.raises(WordbiasError, match=r"without fold . of 2 \(cross_fit=\): no row is left"):
        wb.erase(x, y, unit=["a"] * 100, split_column=split, cross_fit=2)
    with pytest.raises(WordbiasError, match=r"are of one class.*; choose another number"):
        wb.erase(x, y, unit=y, split_column=split, cross_fit=9)


# balance


def _tied() -> tuple[Floats, Any, Any]:
    """Rows in which nine of ten of a task are of one class, and both are plain to read."""
    rng = np.random.default_rng(0)
    task = rng.integers(2, size=3000)
    label = np.where(rng.random(3000) < 0.9, task, 1 - task)
    x = rng.normal(size=(3000, 8))
    x[:, 0] += 4 * task
    x[:, 1] += 4 * label
    return x.astype(np.float32), np.array(["f", "m"])[label], np.array(["n", "s"])[task]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["leace", "hard"])
def test_balanced_rows_keep_the_task_and_what_it_tells(method: str) -> None:
    x, y, task = _tied()
    usual, balanced = (
        wb.erase(x, y, methods=method, also=task, balance=is_balanced)
        for is_balanced in (False, True)
    )
    accuracies = [found(eraser.report, "task-accuracy", "after") for eraser in (usual, balanced)]
    before = found(balanced.report, "task-accuracy", "before")
    assert balanced.report.inputs["vectors"]["training"] == 2400
    assert accuracies[0].details["high"] < accuracies[1].details["low"]
    if method == "leace":
        assert accuracies[1].details["high"] > before.details["low"]
    read = found(balanced.report, "linear-probe", "after")
    assert read.details["low"] < 0.9 < read.details["high"]  # what the task tells of the label
    text = " ".join(str(balanced.report).split())
    assert "training rows of vectors, equally many of each label within each also, tested" in text


def test_as_many_rows_of_each_class_are_fitted_on_within_each_task() -> None:
    """The map is that of the rows that are left when each cell is cut to the smallest of its task.

    Of a task of which one class is missing, or whose name is, no row is fitted on.
    """
    x, y, _ = _tied()
    x, y = x[:90], np.array(["f"] * 30 + ["m"] * 20 + ["f"] * 10 + ["m"] * 20 + ["f"] * 10)
    task = np.array(["a"] * 30 + ["a"] * 20 + ["b"] * 10 + [""] * 20 + ["c"] * 10)
    test_x, test_y = rows(20, 8)
    split = ["train"] * 90 + ["test"] * 20
    eraser = wb.erase(
        np.concatenate([x, test_x]), [*y, *test_y], also=[*task, *["a"] * 20], balance=True,
        split_column=split, cross_fit=2,
    )  # fmt: skip
    assert eraser.report.inputs["vectors"]["fitted"] == eraser.origin_.size == 40
    changed = (
        np.abs(eraser.cross_fitted_ - eraser.transform(np.concatenate([x, test_x]))).max(1) > 1e-6
    )
    assert changed[:50].sum() == 40
    assert changed[30:50].all()  # all 20 of the rarer class, and 20 of the other
    assert not changed[50:].any()  # what was not fitted on is mapped by the saved method


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"balance": True}, "balance=True needs also="),
        ({"balance": True, "also": "y"}, "no class of also has training rows of every class of"),
        (
            {"cross_fit": 1},
            "cross_fit=: expected",
        ),
        ({"cross_fit": 101}, "cross_fit=: expected"),
        ({"cross_fit": 2, "model": "m", "texts": "t.tsv"}, "cross_fit= is for vectors"),
        ({"unit": "person"}, "unit=.*person.*: neither a column"),
    ],
)
def test_bad_arguments_are_refused(given: dict[str, Any], message: str) -> None:
    x, y = rows(100, 6)
    given = {key: y if argument == "y" else argument for key, argument in given.items()}
    with pytest.raises(WordbiasError, match=message):
        wb.erase(None if "model" in given else x, y, **given)
