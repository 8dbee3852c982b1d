"""`wordbias.sweep` on a task: what is chosen, what is reported, what is written."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tiny_tasks

import wordbias as wb
from wordbias.calls import WordbiasWarning
from wordbias.contextual import table7
from wordbias.errors import WordbiasError
from wordbias.functions.task_texts import joined_units
from wordbias.reports import Report
from wordbias.results import Draws, Row

pytest.importorskip("torch")
pytest.importorskip("transformers")

pytestmark = pytest.mark.usefixtures("one_thread")
SHOWN = ("tpr-gap", "fpr-gap", "separation", "sufficiency", "accuracy")
ROWS = tiny_tasks.texts(1300, 11)
SETTINGS = {"methods": "leace misp:dims=2", "drop": 0.3, "null": 4}


class Swept(NamedTuple):
    """A sweep of a small classifier, and its files."""

    folder: Path
    report: wb.Report

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def values(self, **where: Any) -> dict[str, Any]:
        """Rows of the report by measure."""
        return {
            row.measure: row
            for row in self.report
            if all(row.details.get(key) == value for key, value in where.items())
        }

    @property
    def chosen(self) -> str:
        return next(row.details["setting"] for row in self.report if row.details.get("chosen"))


@pytest.fixture(scope="module")
def inputs(job_classifier: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small classifier, its three tables, and those that are refused."""
    folder = tmp_path_factory.mktemp("task")
    (folder / "model").symlink_to(job_classifier, target_is_directory=True)
    names = {"label": "job", "group": "gender"}
    rows, texts = ROWS, tiny_tasks.texts(200, 20)
    rare = [text for text in texts if (text.group, text.label) == ("M", "nurse")][1:]
    for name, table in {
        "dev": rows[:500],
        "test": rows[500:900],
        "train": rows[900:],
        "small": tiny_tasks.texts(150, 12, biased=0.6),
        "one_group": [text for text in texts if text.group == "F"],
        "told": [text for text in texts if (text.group == "F") == (text.label == "nurse")],
        "few": [text for text in texts if text not in rare],
        "blank": [texts[0], texts[1]._replace(group=""), *texts[2:]],
        "no_text": [texts[0], texts[1]._replace(text=" "), *texts[2:]],
        "same_person": [texts[0]._replace(text="a cup .", person="0")],
    }.items():
        tiny_tasks.table(folder / f"{name}.tsv", table, **names)
    lines: list[dict[str, str | None]] = [
        {"job": text.label, "gender": text.group, "text": text.text} for text in texts
    ]
    lines[1]["gender"] = None
    (folder / "null.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return folder


@pytest.fixture(scope="module")
def swept(inputs: Path) -> Swept:
    folder = inputs
    report = wb.sweep(
        str(folder / "model"), task=folder / "dev.tsv", test=folder / "test.tsv", labels="job",
        sensitive="gender", retrain=folder / "train.tsv", save_transform=folder / "chosen.st",
        output=folder / "settings.csv", **SETTINGS,
    )  # fmt: skip
    return Swept(folder, report)


def test_the_model_as_it_is_and_the_chosen_one_are_as_wordbias_fairness_says(swept: Swept) -> None:
    assert swept.chosen != "Base"
    for stage, adapter in (("before", None), ("after", swept.path("chosen.st"))):
        out = swept.folder / f"{stage}.tsv"
        wb.predict(swept.path("model"), swept.folder / "test.tsv", adapter=adapter, output=out)
        expected = wb.fairness(out, sensitive="gender", labels="job")
        measured = swept.values(stage=stage, half="report")
        for measure in SHOWN:
            known = next(row for row in expected[measure] if row.details["set"] in ("sum", "all"))
            assert measured[measure].value == known.value, measure
            for key in ("low", "high", "chance", "p", "n", "groups"):
                assert measured[measure].details.get(key) == known.details.get(key), (measure, key)


def test_the_choice_is_that_of_a_loop_over_the_rows(swept: Swept) -> None:
    rows = [row for row in swept.report if row.details["half"] == "choose"]
    gap = {row.details["setting"]: row.value or 0.0 for row in rows if row.measure == "tpr-gap"}
    right = {row.details["setting"]: row.value or 0.0 for row in rows if row.measure == "accuracy"}
    assert len(gap) == 1 + 74 + 2
    allowed = [name for name in gap if right["Base"] - right[name] <= SETTINGS["drop"] + 1e-9]
    assert swept.chosen == min(allowed, key=gap.__getitem__)
    with (swept.folder / "settings.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [csv_row["setting"] for csv_row in table if csv_row["chosen"]] == [swept.chosen]
    for line in table:
        assert float(line["tpr-gap (choose)"]) == gap[line["setting"]]


def test_changes_are_paired_and_beside_random_removals(swept: Swept) -> None:
    before, after = (swept.values(stage=s, half="report") for s in ("before", "after"))
    for measure in (*SHOWN, "macro-f1"):
        a, b = before[measure], after[measure]
        assert b.details["change"] == pytest.approx((b.value or 0) - (a.value or 0))
        differences = b.draws["sample"].values - a.draws["sample"].values
        ends = [b.details["change_low"], b.details["change_high"]]
        np.testing.assert_allclose(ends, np.nanpercentile(differences, [2.5, 97.5]), atol=0.02)
        assert b.details["null_draws"] == 4
        assert b.details["null_p"] >= 1 / 5
    assert before["accuracy"].draws["sample"].values.std() > 0
    (line,) = [
        line for line in swept.report.heading if line.startswith("Does it help on other texts?")
    ]
    assert f"{before['tpr-gap'].value:.3f} → {after['tpr-gap'].value:.3f}" in line
    assert swept.report.plot() is not None


def test_the_last_layer_trained_anew_is_a_logistic_regression_on_its_inputs(swept: Swept) -> None:
    torch = pytest.importorskip("torch")
    from sklearn.linear_model import LogisticRegression

    from wordbias.models.adapters import read_adapter
    from wordbias.models.hooks import recording
    from wordbias.models.sites import Site
    from wordbias.models.text_classifier import TextClassifier

    loaded = TextClassifier.load(swept.path("model"))
    adapter = read_adapter(swept.path("chosen.st"))
    test, train = ROWS[500:900], ROWS[900:]

    def vectors(texts: list[tiny_tasks.Text]) -> Any:
        inputs = loaded.tokenizer([text.text for text in texts], padding=True, return_tensors="pt")
        with torch.inference_mode(), recording(loaded.model, [Site("sentence")]) as values:
            loaded.model(**inputs)
            return values[Site("sentence")].double().numpy()

    fitted: dict[str, Any] = {"Base": LogisticRegression(solver="newton-cholesky", tol=1e-10)}
    fitted["Base"].fit(vectors(train), [text.label for text in train])
    plain = fitted["Base"].predict(vectors(test))
    with adapter.on(loaded.model):
        anew = LogisticRegression(solver="newton-cholesky", tol=1e-10)
        anew.fit(vectors(train), [text.label for text in train])
        under = anew.predict(vectors(test))
    groups = [text.group for text in test]
    gaps = []
    for setting, predicted in (("Base", plain), (swept.chosen, under)):
        known = wb.fairness([text.label for text in test], predicted, groups)
        measured = swept.values(stage="retrained", half="report", setting=setting)
        gaps.append(known["tpr-gap"][0].value)
        assert measured["tpr-gap"].value == pytest.approx(gaps[-1], abs=0.01)
        assert measured["accuracy"].value == pytest.approx(known["accuracy"][0].value, abs=0.005)
    before = swept.values(stage="before", half="report")["tpr-gap"].value
    after = swept.values(stage="after", half="report")["tpr-gap"].value
    share = swept.report["gap-returned"][0]
    assert (
        swept.values(stage="retrained", setting=swept.chosen)["tpr-gap"].details["null_draws"] == 4
    )
    retrained = [
        swept.values(stage="retrained", half="report", setting=setting)["tpr-gap"].value
        for setting in ("Base", swept.chosen)
    ]
    expected = 1 - (retrained[0] - retrained[1]) / (before - after)
    assert share.value == pytest.approx(expected)
    assert share.details["low"] <= share.value <= share.details["high"]


@pytest.mark.slow
def test_the_command_says_what_python_says_and_resumes(
    cli: Callable[..., Any], swept: Swept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from wordbias.contextual.sweep import run

    call = [
        "sweep", swept.path("model"), "--task", swept.path("dev.tsv"), "--test",
        swept.path("test.tsv"), "--labels", "job", "--sensitive", "gender", "--methods",
        SETTINGS["methods"], "--drop", SETTINGS["drop"], "--null", SETTINGS["null"], "--retrain",
        swept.path("train.tsv"), "-o", tmp_path / "s.csv", "--save-transform", tmp_path / "a.st",
        "--format", "json",
    ]  # fmt: skip
    usual, seen = run._outputs, []

    def stopped(*given: Any) -> Any:
        seen.append(1)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return usual(*given)

    with monkeypatch.context() as patch:
        patch.setattr(run, "_outputs", stopped)
        done = cli(*call)
    assert done.code == 130
    assert "the same call resumes from s.csv.classes.part" in done.err
    done = cli(*call)
    assert done.code == 0, done.err
    printed = json.loads(done.out)
    expected = swept.report.to_dict()
    assert printed["rows"] == json.loads(json.dumps(expected["rows"]))
    assert (tmp_path / "s.csv").read_text() == (swept.folder / "settings.csv").read_text()
    assert not list(tmp_path.glob("*.part"))


def test_one_half_is_chosen_on_and_the_other_reported(inputs: Path) -> None:
    report = wb.sweep(
        str(inputs / "model"), task=inputs / "small.tsv", labels="job", sensitive="gender",
        unit="person", drop=0.3, null=1, values=["M", "F"], by="separation",
    )  # fmt: skip
    rows = [row for row in report if row.measure == "separation"]
    n = {row.details["half"]: row.details["n"] for row in rows}
    assert n["choose"] + n["report"] == 150
    assert abs(n["choose"] - n["report"]) <= 12
    assert rows[0].details["groups"] == ["M", "F"]
    assert {row.details.get("unit") for row in report["accuracy"] if "unit" in row.details} == {
        "person"
    }


def test_units_with_a_text_in_common_stay_in_one_half() -> None:
    units, texts = ["a", "b", "b", "c", "d", "e"], ["x", "x", "y", "y", "z", "v"]
    joined = joined_units(units, texts)
    assert len({*joined[:4]}) == 1
    assert len({*joined}) == 3


def test_two_columns_are_the_groups_of_both(inputs: Path, tmp_path: Path) -> None:
    rows = tiny_tasks.texts(200, 12, biased=0.5)
    lines = [f"{row.label}\t{row.group}\t{'ab'[i % 2]}\t{row.text}" for i, row in enumerate(rows)]
    (tmp_path / "t.tsv").write_text("\n".join(["label\tgender\trace\ttext", *lines]) + "\n")
    report = wb.sweep(
        str(inputs / "model"), task=tmp_path / "t.tsv", sensitive="gender,race", drop=0.3, null=1
    )
    assert report.rows[0].details["groups"] == ["F/a", "F/b", "M/a", "M/b"]


@pytest.mark.slow
def test_ranks_of_an_earlier_sweep(swept: Swept, tmp_path: Path) -> None:
    report = wb.sweep(
        swept.path("model"), task=swept.path("dev.tsv"), labels="job", sensitive="gender", null=1,
        output=tmp_path / "all.csv",
    )  # fmt: skip
    with (tmp_path / "all.csv").open() as file:
        table = [row for row in csv.DictReader(file) if row["setting"] != "Base"]
    lines = [
        "level,settings (n11 c11 n12 c12 np),strength,distance,parity,accuracy,fairness,"
        "snli_accuracy"
    ]
    for line in table:
        level, digits = line["setting"].split("-")
        whole = (float(line["tpr-gap (choose)"]) + float(line["tpr-gap (report)"])) / 4
        lines.append(
            f"{level},{' '.join(digits)},{whole:.6f},{1 - whole:.6f},1,{whole},{whole},0.9"
        )
    (tmp_path / "table7.csv").write_text("\n".join(lines) + "\n")
    ranked = wb.sweep(
        swept.path("model"), task=swept.path("dev.tsv"), labels="job", sensitive="gender", null=1,
        best=tmp_path / "table7.csv",
    )  # fmt: skip
    rho_rows = {row.details["x"]: row for row in ranked["correlation"]}
    assert rho_rows["strength"].value == pytest.approx(-(rho_rows["distance"].value or 0), abs=1e-9)
    assert (rho_rows["strength"].value or 0) > 0.5  # gaps of halves are near those of the whole
    assert rho_rows["strength"].details["n"] == 74
    assert rho_rows["strength"].details["unit"] == "examples"
    assert len(report.rows) == len(ranked.rows) - 3
    saved_sweep(table7.load_table(tmp_path / "table7.csv"), tmp_path / "table7.json")
    drawn = wb.sweep(
        swept.path("model"), task=swept.path("dev.tsv"), labels="job", sensitive="gender", null=1,
        best=tmp_path / "table7.json",
    )  # fmt: skip
    for row in drawn["correlation"]:
        texts = rho_rows[row.details["x"]]
        assert row.details["unit"] == "examples and items"
        assert row.value == pytest.approx(texts.value, abs=1e-6)
        for end in ("low", "high"):  # each item's draws are its value
            assert row.details[end] == pytest.approx(texts.details[end], abs=1e-6)


def test_a_result_of_a_sweep_that_lacks_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    entries = [table7.Entry(table7.BASE, (), *[0.5] * 5)]
    saved_sweep(entries, path)
    assert [entry.name for entry in table7.load_table(path)] == [table7.BASE]
    whole = json.loads(path.read_text())
    for rows in (
        [row for row in whole["rows"] if row["measure"] != "distance"],
        [*whole["rows"], whole["rows"][0]],
        [{key: cell for key, cell in row.items() if key != "setting"} for row in whole["rows"]],
        [row | {"setting": "odd"} for row in whole["rows"]],
        [row | {"value": None} for row in whole["rows"]],
    ):
        path.write_text(json.dumps({"schema": whole["schema"], "rows": rows}))
        with pytest.raises(WordbiasError, match=r"t\.json: expected strength, distance, .* once"):
            table7.load_table(path)


def saved_sweep(entries: Sequence[table7.Entry], path: Path) -> None:
    """Write a table as the result of a sweep in which no draw changes a value."""

    def row(one: table7.Entry, measure: str, value: float, **about: str) -> Row:
        draws = {"sample": Draws(np.full(3_000, value), "triples")}
        return Row("m", measure, value, {"setting": one.name, **about}, draws)

    rows = [
        sweep_row
        for entry in entries
        for sweep_row in (
            row(entry, "strength", entry.strength, version="original"),
            row(entry, "distance", entry.distance, version="original"),
            row(entry, "nli-parity", entry.parity, parity="mean"),
            row(entry, "nli-accuracy", entry.accuracy),
            row(entry, "nli-fairness", entry.fairness, parity="mean"),
            row(entry, "snli-accuracy", entry.snli),
        )
    ]
    Report("sweep", rows=rows).save(path)


def test_a_rule_in_python_and_nothing_chosen(inputs: Path, tmp_path: Path) -> None:
    call = {"task": inputs / "small.tsv", "labels": "job", "sensitive": "gender", "null": 1}
    report = wb.sweep(
        str(inputs / "model"), rule=lambda before, after, gap, other: after, methods="leace", **call
    )
    rows = [row for row in report["accuracy"] if row.details["half"] == "choose"]
    best = max(rows, key=lambda row: row.value or 0.0)
    assert [row.value for row in rows if row.details["chosen"]] == [best.value]
    report = wb.sweep(
        str(inputs / "model"), rule=lambda *_: None, save_transform=tmp_path / "a.st",
        retrain=inputs / "train.tsv", **call,
    )  # fmt: skip
    assert "no: of 74 settings the rule scores none higher" in report.heading[1]
    assert not (tmp_path / "a.st").exists()
    assert any("not written, as nothing was chosen" in note for note in report.notes)
    assert any("nothing was removed" in note for note in report.notes)
    assert "gap-returned" not in {row.measure for row in report}


BAD: list[tuple[dict[str, Any], str]] = [
    ({"task": "dev.tsv", "null": 1001}, "1,000 or less"),
    ({}, r"stereoset= and nli= and snli=: needed for the sweep of the paper, .* with task="),
    ({"stereoset": "x.csv"}, "nli= and snli=: needed"),
    ({"labels": "job", "stereoset": "x"}, "labels= is for task=; name labelled texts with task="),
    (
        {"task": "dev.tsv", "stereoset": "x"},
        "stereoset= is for the sweep of the paper, not for task=",
    ),
    ({"task": "dev.tsv", "seed_lists": 3}, "seed_lists= is for .*; leave it out"),
    ({"task": "dev.tsv"}, "dev.tsv: has no column 'label'"),
    ({"task": "dev.tsv", "labels": "gender"}, "name different columns"),
    ({"task": "dev.tsv", "labels": "person"}, r"its classes are nurse, doctor, but .* has 0, 1"),
    ({"task": "dev.tsv", "by": "accuracy"}, "by= accuracy: expected one of tpr-gap"),
    ({"task": "dev.tsv", "values": ["F"]}, "values=: name two groups at least"),
    (
        {"task": "dev.tsv", "values": ["F", "X"]},
        "no text is of the group 'X'; groups there are: F, M",
    ),
    ({"task": "dev.tsv", "test": "dev.tsv"}, "500 texts are in task= as well, the first here"),
    ({"task": "dev.tsv", "retrain": "dev.tsv"}, "500 texts are in task= as well"),
    ({"task": "dev.tsv", "methods": "leace,inlp"}, "methods are tried one by one here"),
    ({"task": "dev.tsv", "methods": "oscar"}, "oscar"),
    ({"task": "dev.tsv", "methods": "leace leace"}, "leace is named twice; name it once"),
    ({"task": "dev.tsv", "output": "table.xyz"}, r"table\.xyz: expected a name that ends in \.csv"),
    ({"task": "dev.tsv", "rule": 3}, "rule=: expected a function"),
    ({"task": "dev.tsv", "rule": max, "drop": 0.1}, "drop= does nothing with rule="),
    ({"task": "one_group.tsv"}, "all texts are of one group, 'F'; name the column"),
    ({"task": "told.tsv"}, "every class has texts of one group only; nothing can be compared"),
    ({"task": "few.tsv"}, "1 text of class 'nurse' in group 'M', expected 4 at least"),
    ({"task": "blank.tsv"}, "blank.tsv: line 3: has no 'gender'"),
    ({"task": "null.jsonl"}, "null.jsonl: line 2: has no 'gender'"),
    ({"task": "no_text.tsv"}, "no_text.tsv: line 3: has no text"),
    (
        {"task": "dev.tsv", "test": "same_person.tsv", "unit": "person"},
        "same_person.tsv: line 2: 1 unit has texts in task= as well, the first is '0'; keep the",
    ),
    ({"task": "missing.tsv"}, "missing.tsv"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_calls_that_are_refused(
    inputs: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(inputs)
    usual = {"labels": "job", "sensitive": "gender"} if "task" in given else {}
    if message.endswith("'label'"):
        usual = {"sensitive": "gender"}
    with pytest.raises((WordbiasError, WordbiasWarning), match=message) as caught:
        wb.sweep("model", **{**usual, **given})
    assert "\n" not in str(caught.value)


def test_tables_fit_eighty_columns(swept: Swept) -> None:
    lines = swept.report.render("table", 80).splitlines()
    assert not [line for line in lines if len(line) > 80]


def test_an_encoder_with_a_head_of_scikit_learn(inputs: Path, tmp_path: Path) -> None:
    """The head reads the mean of all tokens; what is written is what `predict` removes."""
    import torch
    from sklearn.linear_model import LogisticRegression
    from transformers import AutoModel, AutoTokenizer

    folder, rows = str(inputs / "model"), tiny_tasks.texts(300, 12)
    tokenizer, encoder = (loader.from_pretrained(folder) for loader in (AutoTokenizer, AutoModel))
    encoded = tokenizer([row.text for row in rows], padding=True, return_tensors="pt")
    with torch.inference_mode():
        states, mask = encoder(**encoded)[0], encoded["attention_mask"][..., None]
    x = ((states * mask).sum(1) / mask.sum(1)).numpy()
    head = LogisticRegression(max_iter=5000).fit(x, [row.label for row in rows])
    report = wb.sweep(
        (folder, head), task=inputs / "small.tsv", test=inputs / "test.tsv", labels="job",
        sensitive="gender", null=1, drop=0.5, save_transform=tmp_path / "chosen.st",
    )  # fmt: skip
    encoder_sweep = Swept(tmp_path, report)
    assert encoder_sweep.chosen != "Base"
    for stage, adapter in (("before", None), ("after", tmp_path / "chosen.st")):
        out = tmp_path / f"{stage}.tsv"
        wb.predict((folder, head), inputs / "test.tsv", adapter=adapter, output=out)
        expected = wb.fairness(out, sensitive="gender", labels="job")
        (known,) = (row for row in expected["tpr-gap"] if row.details["set"] == "sum")
        assert encoder_sweep.values(stage=stage, half="report")["tpr-gap"].value == known.value
