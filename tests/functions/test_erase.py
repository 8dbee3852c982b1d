"""`erase`: what is fitted on which rows, what is refused, and what stays as it was."""

from __future__ import annotations

import importlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import wordbias as wb
from wordbias import WordbiasError
from wordbias.batches import map_rows
from wordbias.columns import Column
from wordbias.labelled import Labelled
from wordbias.methods.rows import fit_moments
from wordbias.methods.settings import ROW_METHODS
from wordbias.moments import Moments
from wordbias.results import Row
from wordbias.splits import TRAIN

pytestmark = pytest.mark.usefixtures("one_thread", "short_probes")
erasing = importlib.import_module("wordbias.functions.erase")
Floats = NDArray[np.float32]


def rows(n: int = 300, d: int = 6, k: int = 2) -> tuple[Floats, Any]:
    rng = np.random.default_rng(0)
    codes = rng.integers(k, size=n)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    x[:, :k] += 6 * np.eye(k)[codes]
    return x.astype(np.float32), np.array(list("fmxyz"))[codes]


def found(report: wb.Report, measure: str, stage: str = "after", of: str | None = None) -> Row:
    (row,) = [
        row
        for row in report[measure]
        if row.details["stage"] == stage and of in (None, row.details.get("concept"))
    ]
    return row


def parts(x: Floats, y: Any, **given: Any) -> Any:
    """Return the rows that a call fitted on and held out, by what it says of them."""
    return wb.erase(x, y, **given).report.inputs["vectors"]


# what it does


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("method", ROW_METHODS)
def test_each_method_makes_a_label_unreadable_on_held_out_rows(method: str, k: int) -> None:
    x, y = rows(600, k=k)
    named = f"{method}:dims={k - 1}" if method in ("mhd", "misp") else method
    eraser = wb.erase(x, y, methods=named)
    before, after = (found(eraser.report, "linear-probe", stage) for stage in ("before", "after"))
    assert before.value is not None
    assert after.value is not None
    assert before.details["low"] > before.details["neutral"]
    if method != "misp":  # which weakens directions, and a probe scales them
        assert after.value < before.value
    if method in ("leace", "inlp", "hard"):
        assert after.details["low"] <= after.details["neutral"]
    assert type(eraser).__name__.lower() == method.replace("-", "")
    assert eraser.transform(x).dtype == np.float32


@pytest.mark.slow
def test_it_is_fitted_on_the_training_rows_alone() -> None:
    x, y = rows()
    split = np.where(np.arange(300) % 3 == 0, "test", "train")
    eraser = wb.erase(x, y, split_column=split)
    learned = split == "train"
    expected = fit_moments("leace", Moments.of(x[learned], y[learned]))
    np.testing.assert_array_equal(map_rows(eraser.fitted_, x), map_rows(expected, x), strict=True)
    other = x.copy()
    other[~learned] += 100  # held-out rows decide nothing
    np.testing.assert_array_equal(
        map_rows(wb.erase(other, y, split_column=split).fitted_, x), map_rows(expected, x)
    )


def test_a_class_of_one_row_is_trained_on() -> None:
    x, y = rows()
    y = np.where(np.arange(300) == 7, "once", y)
    assert Labelled.of(x, y).split(0.5, 0)[7] == TRAIN
    (note,) = wb.erase(x, y).report.notes
    assert "label: fewer than 30 held-out rows of" in note
    assert "once (0)" in note


@pytest.mark.slow
def test_several_labels_are_erased_together() -> None:
    x, y = rows(800)
    z = np.where(x[:, 3] > np.median(x[:, 3]), "high", "low")
    eraser = wb.erase(x, {"gender": y, "height": z}, also={"task": np.where(x[:, 4] > 0, 1, 0)})
    for concept in ("gender", "height"):
        before = found(eraser.report, "linear-probe", "before", concept)
        after = found(eraser.report, "linear-probe", "after", concept)
        assert before.details["low"] > before.details["neutral"]
        assert after.value is not None
        assert after.value - after.details["neutral"] < 0.12
    assert [row.details["column"] for row in eraser.report["task-accuracy"]] == ["task", "task"]
    assert "gender: a linear probe was right for" in str(eraser.report)
    assert "height: a linear probe was right for" in str(eraser.report)
    assert eraser.fitted_.settings["labels"] == {"gender": ["f", "m"], "height": ["high", "low"]}


@pytest.mark.slow
def test_rows_without_a_label_are_refused_or_only_mapped() -> None:
    x, y = rows()
    gaps: list[Any] = [None if i in (3, 9) else label for i, label in enumerate(y)]
    gaps[5] = float("nan")
    with pytest.raises(WordbiasError, match=r"3 of 300 rows have no label, the first is row 4; .*"):
        wb.erase(x, gaps)
    eraser = wb.erase(x, gaps, missing="drop")
    counted = eraser.report.inputs["vectors"]
    assert (counted["missing"], counted["training"] + counted["held_out"]) == (3, 297)
    there = np.array([i for i in range(300) if i not in (3, 5, 9)])
    far = x.copy()
    far[[3, 5, 9]] += 1000
    np.testing.assert_array_equal(
        wb.erase(far, gaps, missing="drop").transform(x), eraser.transform(x)
    )
    assert eraser.transform(x)[there].shape == (297, 6)
    assert "3 rows without a label only mapped" in str(eraser.report)


@pytest.mark.slow
def test_the_callers_arrays_stay_and_the_seed_decides() -> None:
    x, y = rows()
    before = x.copy(), y.copy()
    first, repeated, other = (wb.erase(x, y, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])
    np.testing.assert_array_equal(first.transform(x), repeated.transform(x))
    assert first.report.to_dict()["rows"] == repeated.report.to_dict()["rows"]
    assert not np.array_equal(first.transform(x), other.transform(x))


def test_what_is_returned_is_an_estimator_that_is_saved_pickled_and_applied(tmp_path: Path) -> None:
    x, y = rows()
    np.save(tmp_path / "x.npy", x)
    eraser = wb.erase(
        tmp_path / "x.npy", y, output=tmp_path / "clean.npy", save_transform=tmp_path / "m.st"
    )
    expected = map_rows(eraser.fitted_, x)
    np.testing.assert_array_equal(np.load(tmp_path / "clean.npy"), expected, strict=True)
    loaded = wb.load(tmp_path / "m.st")
    for method in (loaded, pickle.loads(pickle.dumps(eraser))):
        np.testing.assert_allclose(method.transform(x), expected, rtol=0, atol=1e-5)
        assert (method.n_features_in_, method.origin_.size) == (6, 240)
    assert loaded.origin_.name == "240 training rows of x"
    assert (tmp_path / "m.st").stat().st_size < 1_000_000
    with pytest.raises(ValueError, match="6 features"):
        loaded.transform(x[:, :4])
    with pytest.raises(AttributeError, match="has a report only after"):
        _ = loaded.report


@pytest.mark.slow
def test_tables_and_representations_bring_their_labels() -> None:
    x, y = rows()
    reps = wb.Representations(x[None], (6,), {"gender": Column.of(y.tolist())}, name="bios")
    found_by_name = wb.erase(reps, "gender")
    np.testing.assert_array_equal(found_by_name.transform(x), wb.erase(x, y).transform(x))
    table = wb.erase({"v": x, "gender": y, "race": y[::-1]}, ["gender", "race"])
    assert list(table.report.inputs["vectors"]["labels"]) == ["gender", "race"]


# what it says


def test_the_report_is_json_with_the_rows_that_are_promised() -> None:
    x, y = rows()
    report = wb.erase(x, y, also=np.where(x[:, 4] > 0, "up", "down")).report
    names = [row.measure for row in report]
    assert set(names) == {
        "best-probe", "ridge-probe", "rbf-probe", "linear-probe", "mlp-probe",
        "training-rows-probe", "compression", "neighbour-recall", "cosine", "task-accuracy",
    }  # fmt: skip
    assert {row.details["stage"] for row in report["linear-probe"]} == {"before", "after"}
    assert report.to_dict()["command"] == "erase"
    for to in ("json", "csv", "md", "latex", "table"):
        assert "linear" in report.render(to)
    assert "Linear erasure does not stop non-linear classifiers" in str(report)


def test_a_readable_label_is_called_readable() -> None:
    from wordbias.functions.erase_tables import verdicts

    def row(measure: str, value: float, low: float, stage: str = "after", **more: Any) -> Row:
        known = {"neutral": 0.9, "low": low, "balanced": 0.8, "balanced_low": 0.7,
                 "balanced_neutral": 0.5, "concept": "g", "stage": stage, **more}  # fmt: skip
        return Row("x", measure, value, known)

    linear_rows = [row("linear-probe", 0.97, 0.96, "before"), row("linear-probe", 0.9, 0.88)]
    hidden = {"balanced_low": 0.4}
    (text,) = verdicts([*linear_rows, row("mlp-probe", 0.95, 0.94)])
    assert text == (
        "g: a linear probe was right for 97 % of the held-out rows before and for 90 % after; "
        "always guessing the most frequent label is right for 90 %. With every class counted "
        "alike, the linear probe is right for 80 %, where chance is 50 %. A non-linear probe still "
        "reads it: it is right for 95 %."
    )
    (text,) = verdicts([linear_rows[0], row("linear-probe", 0.9, 0.88, **hidden),
                        row("mlp-probe", 0.91, 0.89, **hidden)])  # fmt: skip
    assert text.endswith("right for 90 %. A non-linear probe is right for 91 %.")
    (text,) = verdicts([linear_rows[0], row("linear-probe", 0.9961, 0.995, neutral=0.9932),
                        row("mlp-probe", 1, 0.995, neutral=0.9932)])  # fmt: skip
    assert "for 99.6 % after; always guessing the most frequent label is right for 99.3 %." in text
    assert text.endswith("A non-linear probe still reads it: it is right for 100 %.")


def test_the_share_left_is_that_of_the_worst_probe_and_nothing_left_needs_all_at_chance() -> None:
    from wordbias.functions.erase_tables import verdicts

    def rows_of(measure: str, **after: Any) -> list[Row]:
        known: dict[str, Any] = {"concept": "g", "neutral": 0.5, "balanced_neutral": 0.5}
        known |= {"balanced": 0.9, "balanced_low": 0.85, "chance_low": 0.46, "chance_high": 0.54}
        known |= {"low": 0.85, "beyond_chance": True}
        stages = [{**known, "stage": "before"}, {**known, "stage": "after", **after}]
        return [Row("x", measure, details["balanced"], details) for details in stages]

    gone: dict[str, Any] = {"balanced": 0.5, "balanced_low": 0.45, "low": 0.45, "left": 0.0}
    gone |= {"beyond_chance": False}
    names = ("best-probe", "ridge-probe", "rbf-probe", "linear-probe", "mlp-probe")
    code = Row("x", "compression", 0.99, {"concept": "g", "stage": "after", "neutral": 1.0})
    texts = {}
    for name in ("none", *names):
        left = {"left": 0.75, "balanced": 0.8, "balanced_low": 0.7, "beyond_chance": True}
        probe_rows = [
            row for probe in names for row in rows_of(probe, **(left if probe == name else gone))
        ]
        texts[name] = verdicts([*probe_rows, code])[0]
    assert texts["none"].endswith("(every class counts alike; permuted labels: 46 % to 54 %). No "
                                  "probe reads it beyond chance.")  # fmt: skip
    below = gone | {"low": 0.3, "high": 0.399, "classes": 2, "beyond_chance": False}
    probe_rows = [
        row
        for probe in names
        for row in rows_of(probe, **(below if probe == "mlp-probe" else gone))
    ]
    assert verdicts(probe_rows)[0].endswith("No probe reads it beyond chance, but backwards.")
    for name, title in (("rbf-probe", "RBF ridge probe"), ("mlp-probe", "non-linear probe")):
        assert (
            f"75% of what the {title} read beyond chance is left. Compression, 0.99, is at"
            in (texts[name])
        )


@pytest.mark.slow
@pytest.mark.parametrize(("n", "said"), [(300, True), (600, False)])
def test_a_compression_that_is_not_given_has_its_reason_below(n: int, said: bool) -> None:
    report = wb.erase(*rows(n)).report
    assert ("60 examples are too few for 11 blocks" in report.tables[0].note) == said
    assert ("they need 100." in report.tables[0].note) == said
    assert "fractions=" not in str(report)


# limits of data


@pytest.mark.slow
def test_a_column_that_is_the_label_itself_is_erased() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=400)
    x = rng.normal(size=(400, 5)).astype(np.float32)
    x[:, 2] = codes
    for method in ROW_METHODS:
        named = "mhd:dims=1" if method == "mhd" else method
        eraser = wb.erase(x, codes, methods=named)
        before, after = (
            found(eraser.report, "linear-probe", stage) for stage in ("before", "after")
        )
        assert before.value is not None
        assert before.value > 0.98
        if method in ("leace", "hard"):
            assert after.details["low"] <= after.details["neutral"]
            mlp = found(eraser.report, "mlp-probe")
            assert mlp.details["low"] <= mlp.details["neutral"]


def test_fewer_rows_than_dimensions_and_one_dimension() -> None:
    x, y = rows(24, 40)
    eraser = wb.erase(x, y, held_out=0.25)
    assert np.isfinite(eraser.transform(x)).all()
    with pytest.raises(WordbiasError, match="leace: every direction in which the rows vary is rem"):
        wb.erase(x[:, :1], y)


def test_constant_vectors_have_nothing_to_erase() -> None:
    _, y = rows()
    with pytest.raises(WordbiasError, match="do not differ in their means"):
        wb.erase(np.ones((300, 4)), y)
    with pytest.raises(WordbiasError, match="inlp found no classifier better than chance"):
        wb.erase(np.ones((300, 4)), y, methods="inlp")


def test_classes_that_are_none_are_refused() -> None:
    x, y = rows()
    with pytest.raises(WordbiasError, match="label needs two classes at least; all are 'f'"):
        wb.erase(x, ["f"] * 300)
    with pytest.raises(WordbiasError, match="label has 300 classes in 300 rows, such as '0'"):
        wb.erase(x, np.arange(300))
    with pytest.raises(WordbiasError, match="label needs two classes at least; no row has one"):
        wb.erase(x, [None] * 300, missing="drop")
    with pytest.raises(WordbiasError, match="4 labelled rows leave none to hold out"):
        wb.erase(x[:4], y[[0, 0, 1, 1]] if y[0] != y[1] else list("aabb"), held_out=0.1)
    with pytest.raises(WordbiasError, match="the training part has only 'f' of label"):
        wb.erase(x, y, split_column=np.where(y == "f", "train", "test"))


# what is refused


@pytest.mark.parametrize(
    ("labels", "given", "message"),
    [
        (None, {}, "vectors: no labels given: name them with labels=COLUMN"),
        ("gnder", {}, "labels=.*gnder.*: neither a column of vectors"),
        (["f", "m"], {}, "300 rows, but 2 values of labels="),
        (3, {}, "labels=: expected a column's name, a file or a value for each row"),
        (np.zeros((300, 2)), {}, r"got ndarray of shape \(300, 2\)"),
        ("y", {"methods": "ran"}, "method 'ran': expected one of leace, inlp, misp"),
        ("y", {"missing": "keep"}, "missing=: expected one of refuse, drop"),
        ("y", {"held_out": 0}, "held_out=: expected a number above 0 and at most 0.9"),
        ("y", {"held_out": 0.95}, "held_out=: expected a number above 0 and at most 0.9"),
        ("y", {"methods": "leace:dims=2"}, "found 'dims'; dims is for: misp, mhd"),
        (
            "y",
            {"methods": wb.INLP(per_class=9)},
            "'per-class' is not for this command, in which inlp takes rounds",
        ),
        (
            "y",
            {"split_column": ["train"] * 300, "held_out": 0.3},
            "split_column= and held_out=: choose one",
        ),
        ("y", {"split_column": ["train"] * 300}, "split_column=: no row is test"),
        (
            "y",
            {"split_column": ["left", "right"] * 150},
            "split_column=: 'left' is not train, dev or test",
        ),
        ("y", {"also": "job"}, "also=.*job.*: neither a column"),
        ("y", {"sts": "sts.tsv"}, "sts= is for model="),
        ("y", {"texts": "t.tsv"}, "model=, texts= and labels= go together"),
        ("y", {"model": "m", "texts": "t.tsv"}, "give vectors, or model= and texts="),
        ("y", {"output": "clean.npy"}, "map those in memory with what is returned"),
        ("y", {"methods": wb.MHD(dims=7)}, "7 components cannot be fitted: the vectors have 6"),
    ],
)
def test_bad_arguments_are_refused(labels: Any, given: Any, message: str) -> None:
    x, y = rows()
    with pytest.raises(WordbiasError, match=message):
        wb.erase(x, y.tolist() if isinstance(labels, str) and labels == "y" else labels, **given)


def test_no_vectors_are_refused() -> None:
    with pytest.raises(WordbiasError, match="give rows of vectors, or model= and texts="):
        wb.erase()


def test_an_output_that_could_not_be_written_is_refused_before_anything_is_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = rows()
    np.save(tmp_path / "x.npy", x)
    monkeypatch.setattr(erasing, "Labelled", None)
    for given, message in (
        ({"output": tmp_path / "x.npy"}, "x.npy"),
        ({"output": tmp_path / "x.parquet"}, "rows keep their format, npy"),
        ({"output": tmp_path / "no" / "x.npy"}, "no such folder|folder"),
        ({"save_transform": tmp_path}, "is a folder"),
        ({"output": tmp_path / "a.npy", "save_transform": tmp_path / "a.npy"}, "a.npy"),
    ):
        with pytest.raises(WordbiasError, match=message):
            wb.erase(tmp_path / "x.npy", y, **given)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.npy"]


# many rows


def test_inlp_says_how_many_rows_it_was_fitted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = rows(600)
    monkeypatch.setattr("wordbias.functions.erase_fit.ROUNDS_NUMBERS", 6 * 100)
    eraser = wb.erase(x, y, methods="inlp")
    assert "fitted on 100 of 480 training rows of vectors" in str(eraser.report)
    assert eraser.origin_.size == 480


def test_rows_are_read_in_blocks_and_give_the_fit_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    from wordbias.formats.rows import Rows

    x, y = rows()
    whole = wb.erase(x, y)
    blocks = Rows.blocks
    monkeypatch.setattr(Rows, "blocks", lambda self, columns=(): blocks(self, columns, rows=7))
    np.testing.assert_allclose(wb.erase(x, y).transform(x), whole.transform(x), atol=1e-5)


def test_vectors_of_half_precision_are_reported_as_they_are_written(tmp_path: Path) -> None:
    x, y = rows()
    np.save(tmp_path / "x.npy", x.astype(np.float16))
    eraser = wb.erase(tmp_path / "x.npy", y, output=tmp_path / "clean.npy")
    assert np.load(tmp_path / "clean.npy").dtype == np.float16
    row = found(eraser.report, "linear-probe")
    assert row.details["low"] <= row.details["neutral"]
