"""`wordbias.mab_study`: embeddings and pairs in memory, kept in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from wordbias import Embedding
from wordbias.calls import WordbiasWarning
from wordbias.errors import Interrupted, WordbiasError
from wordbias.functions.mab_study import mab_study
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.wordlists import Templates

LABELS = ("neutral", "entailment", "contradiction")
PAIRS = [
    (LABELS[i % 3], "A man is eating an apple.", f"A {word} is eating.")
    for i, word in enumerate(("person", "dog", "man") * 4)
]
CALL: dict[str, Any] = {"train": PAIRS, "dev": PAIRS, "epochs": 1, "seed": [0]}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sets and two templates, so that scoring takes no time."""
    monkeypatch.setattr("wordbias.nli.study.marked_sets", lambda _: ("explicit", "names"))
    premises = Templates.load().premises()[:2]
    monkeypatch.setattr(Templates, "premises", lambda _: premises)


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_embeddings_in_memory(tmp_path: Path) -> None:
    sample = Embedding.sample()
    noise = 0.3 * np.random.default_rng(0).normal(size=sample.vectors.shape)
    other = sample.with_vectors(sample.vectors + noise, "other")
    absent = {form for word in Templates.load().names[0][:1] for form in (word, word.lower())}
    lacking = other.subset([word for word in other.words if word not in absent])
    with pytest.warns(WordbiasWarning, match="other lacks 1 of 65 words that the set names"):
        report = mab_study(
            [sample, lacking], only=["direct-bias"], output=tmp_path / "study", **CALL
        )
    assert report.command == "mab-study"
    assert report.arguments["embeddings"][1].startswith("<Embedding 'other'")
    errors = {
        (row.subject, row.details["set"]): row
        for row in report["mab-error"]
        if "seeds" in row.details
    }
    assert {subject for subject, _ in errors} == {"sample", "other"}
    assert errors["other", "names"].value is None
    assert "the set is skipped." in report.closing[0]
    stored = json.loads((tmp_path / "study" / "study.json").read_text())
    assert stored == json.loads(report.render("json"))
    models = {path: path.stat().st_mtime_ns for path in (tmp_path / "study").glob("*.safetensors")}
    assert len(models) == 2
    with pytest.warns(WordbiasWarning):
        resumed = mab_study(
            [sample, lacking], only=["direct-bias"], output=str(tmp_path / "study"), **CALL
        )
    assert resumed.rows == report.rows
    assert models == {path: path.stat().st_mtime_ns for path in models}
    with (
        pytest.warns(WordbiasWarning),
        pytest.raises(
            WordbiasError,
            match="were taken without centre=True, and these are with centre=True or as_published=",
        ),
    ):
        mab_study(
            [sample, lacking], only=["direct-bias"], centre=True, output=tmp_path / "study", **CALL
        )


@pytest.fixture
def report_of(few: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Report]:
    """Return a call that makes the report of a study whose rows are given."""

    def call(rows: list[Row]) -> Report:
        monkeypatch.setattr("wordbias.nli.study.run", lambda *_, **__: rows)
        return mab_study(Embedding.sample(), output=tmp_path / "study", **CALL)

    (tmp_path / "study").mkdir()
    return call


@pytest.mark.parametrize(("count", "tables"), [(2, 0), (3, 1)])
def test_correlations_of_two_embeddings_are_not_shown(
    report_of: Callable[..., Report], count: int, tables: int
) -> None:
    """Two embeddings have no correlation: that is said, and not shown measure by measure."""
    about = {"set": "explicit", "setting": "nouns", "seeds": 1, "sd": None}
    groups = [{**about, "group": group} for group in ("male", "female")]
    rows = [Row(f"e{i}", "mab-error", 0.1 * i * i, about) for i in range(count)]
    rows += [Row(f"e{i}", "mab-neutral", 0.5, g) for g in groups for i in range(count)]
    rows += [Row(f"e{i}", "direct-bias", 0.1 * i, {"better": "lower"}) for i in range(count)]
    report = report_of(rows)
    titles = [table.title for table in report.tables if table.title.startswith("Table 5")]
    assert len(titles) == tables
    needs = "Correlations with E (Table 5) need at least 3 embeddings."
    assert (needs in report.closing) == (not titles)


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_the_outcome_comes_first_and_its_tests_stand_for_themselves(tmp_path: Path) -> None:
    """A same embedding and random removals: two arms, so that Holm at most doubles their p."""
    sample = Embedding.sample()
    given = {**CALL, "seed": [0, 1], "null": 2, "only": ["direct-bias"], "outcome": "nouns"}
    report = mab_study([sample, sample.renamed("same")], **given, output=tmp_path / "study")
    own = [row for row in report.rows if row.details.get("outcome")]
    assert [(row.subject, row.measure) for row in own] == [
        ("same", "mab-error-change"),
        ("sample.null", "mab-error-change"),
        ("same", "mab-error-against-null"),
    ]
    assert [row.details["tests"] for row in own] == [2, 2, 1]
    table = report.tables[0]
    (error,) = [
        row.value
        for row in report["mab-error"]
        if (row.subject, row.details["setting"]) == ("sample", "nouns") and "seeds" in row.details
    ]
    assert table.title == f"Outcome: E of the nouns, {error:.3f} with sample"
    assert table.columns == ["", "E change", "95 %", "Holm", "to random", "Holm", "reading"]
    assert [cells[0] for cells in table.cells] == ["same", "sample.null"]
    assert table.cells[0][1] == "0.000"
    assert "the outcome for 2." in " ".join(other_table.note for other_table in report.tables)
    heading = " ".join(report.heading)
    assert "2 seeds the smallest is .500, after Holm over 2 tests 1" in heading


@pytest.mark.slow
def test_one_seed_is_said_to_have_no_intervals(tmp_path: Path, few: None) -> None:
    sample = Embedding.sample()
    given = {**CALL, "only": ["direct-bias"], "output": tmp_path / "study"}
    report = mab_study([sample, sample.renamed("same")], **given)
    assert "give more with seed=" in " ".join(report.heading)
    assert {row.value for row in report["mab-error-change"]} == {0}
    assert not [table for table in report.tables if table.title.startswith("Difference")]


@pytest.mark.parametrize("sets", [("dev",), ("dev", "test")])
def test_only_sets_that_were_given_have_columns(
    report_of: Callable[..., Report], sets: tuple[str, ...]
) -> None:
    about = {"set": "explicit", "setting": "nouns", "seeds": 2, "sd": 0.5}
    rows = [Row("a", "mab-error", 0.25, about), Row("a", "mab-distance", 0.125, about)]
    groups = [{**about, "group": group} for group in ("male", "female")]
    rows += [Row("a", "mab-neutral", 0.5, group) for group in groups]
    rows += [Row("a", "snli-accuracy", 0.75, {"set": name, "seeds": 2}) for name in sets]
    table = report_of(rows).tables[0]
    assert table.columns == ["", *sets, "E", "d"]
    assert table.cells == [["a", *["0.750"] * len(sets), "0.250 ±0.500", "0.125 ±0.500"]]
    assert "lower is better" in table.note


@pytest.mark.slow
def test_a_stopped_study_has_as_many_models_of_each_embedding(
    tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    def train_all(jobs: Sequence[Any], *_given: object, **_more: object) -> None:
        begun.extend(job.output.name for job in jobs)
        raise Interrupted("stopped")

    monkeypatch.setattr("wordbias.nli.study.train_all", train_all)
    sample = Embedding.sample()
    given: dict[str, Any] = {**CALL, "seed": [1, 0], "null": 2, "output": tmp_path / "study"}
    with pytest.raises(Interrupted):
        mab_study([sample, sample.renamed("same")], **given)
    arms = ["sample", "same", "sample.null-{}"]
    assert begun == [
        f"{arm.format(seed)}.seed{seed}.safetensors" for seed in (0, 1) for arm in arms
    ]


@pytest.mark.slow
def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    sample = Embedding.sample()
    (tmp_path / "file").write_text("")
    for more, message in (
        ({"output": tmp_path / "file"}, "is a file; name a folder"),
        ({"recipe": "slow"}, "recipe 'slow': expected published or fast"),
        ({"only": ["beauty"]}, "measure 'beauty': expected one of midb"),
        ({"benchmarks": str(tmp_path / "none")}, "none"),
        ({"embeddings": [sample, sample]}, "two embeddings have the same name"),
        ({"embeddings": [sample, "@null:2", "@null:3"]}, "null is given twice"),
        ({"null": 0}, "null=: expected a whole number from 1 on, got 0"),
        ({"seed_lists": -1}, "seed_lists=: expected a whole number from 1 on, got -1"),
        ({"null": 2}, "null=: 1 seed would use 1 of 2 draws"),
        ({"outcome": ""}, "outcome=: is empty; give a value, or leave it out"),
        ({"outcome": "names", "set": "explicit"}, "expected one of nouns, pronouns, got 'names'"),
        ({"outcome": "verbs"}, "outcome=: expected one of nouns, pronouns, .*, got 'verbs'"),
        ({"null": 2, "seed": [0, 2, 4]}, "3 seeds would use 1 of 2 draws, as seed s takes draw s"),
    ):
        given = {"embeddings": sample, "output": tmp_path / "study", **CALL, **more}
        with pytest.raises(WordbiasError, match=message):
            mab_study(**given)
    assert not (tmp_path / "study").exists()
