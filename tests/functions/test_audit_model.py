"""`wordbias audit MODEL`: what is planted is found, paired, and removed; options are kept apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import planted_encoder
import pytest
import small_word_lists
import stand_ins

import wordbias as wb
from wordbias.errors import Interrupted
from wordbias.functions.audit import audit
from wordbias.functions.report import Page, report
from wordbias.measures.registry import short_title
from wordbias.models.encoding import EncodingJob
from wordbias.pages.answers import column_answers
from wordbias.wordlists import model_sentences

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("one_thread", "few_names")
Cli = Callable[..., Any]
NAMES = 40
PROBED = ("best-probe", "ridge-probe", "rbf-probe")
ALL = "probe,untrained,seat,ceat,pronouns"


@pytest.fixture
def few_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_sentences, "NAMES", NAMES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted_encoder.write_folder(tmp_path_factory.mktemp("audit") / "planted")


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[Page]:
    """Return the audit of an encoder in which gender is planted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_sentences, "NAMES", NAMES)
        torch.set_num_threads(1)
        yield audit(folder, methods=["hard", "mhd:dims=2", "L12-000"])


def of(page: Page, measure: str, **details: Any) -> list[Any]:
    return [
        row
        for row in page.rows
        if row.measure == measure
        and all(row.details.get(key) == value for key, value in details.items())
    ]


@pytest.mark.slow
def test_planted_gender_is_found_in_every_layer(page: Page) -> None:
    for layer in range(4):
        (row,) = of(page, "compression", stage="before", layer=layer, set="first names")
        assert row.value > 1.3
        assert row.details["beyond_chance"] is True
        (random,) = of(
            page, "compression", stage="before", layer=layer, set="first names, untrained encoder"
        )
        assert random.details["beyond_chance"] is False
        assert random.details["high"] < row.details["low"]
    (row,) = of(page, "pronoun-stereotype", stage="before", layer=3)
    assert row.details["low"] > 0.5
    assert row.details["beyond_chance"] is True
    heading = "\n".join(page.heading)
    assert "can be read from sentences that do not state it" in heading
    assert "training put it there" in heading
    assert "lie nearer to “she …” the more women work in them" in heading


@pytest.mark.slow
def test_a_projection_removes_it_and_the_change_is_paired(page: Page) -> None:
    probes = [(measure, "first names") for measure in ("compression", *PROBED)]
    for measure, name in (*probes, ("pronoun-stereotype", None)):
        (before,) = of(page, measure, stage="before", layer=3, set=name)
        (after,) = of(page, measure, stage="hard", layer=3, set=name)
        assert after.details["change"] == pytest.approx(after.value - before.value)
        assert after.details["change_high"] < 0
        if measure not in PROBED:  # of these each stage has its own permutations
            assert after.details["chance"] == before.details["chance"]
        # of the direction that the pairs show, a code of 80 names reads no rest, but probes do
        assert after.details["beyond_chance"] is (measure in PROBED)
    rows = [row.to_dict() for row in page.rows]
    assert {answer.name: answer.helps for answer in column_answers(rows)}["hard"]
    assert any("A little: hard" in line for line in page.heading)


@pytest.mark.slow
def test_controls_are_columns_beside_the_methods(folder: Path, tmp_path: Path) -> None:
    """Random removals leave what is planted, MISP of other draws of the sentences takes it."""
    part = ["probe", "ceat", "seat"]
    with pytest.warns(UserWarning, match="written, with misp behind its pooling"):
        page = audit(
            folder, methods=["misp", "null:2", "lists:2"], skip=part, export=tmp_path / "clean"
        )
    rows = {row.details["stage"]: row for row in of(page, "pronoun-stereotype", layer=3)}
    kinds = {name: row.details.get("column") for name, row in rows.items()}
    assert kinds == {
        "before": None, "misp": "method", "null-0": "null", "null-1": "null",
        "lists-0": "lists", "lists-1": "lists",
    }  # fmt: skip
    before, after = (abs(rows[name].value) for name in ("before", "misp"))
    assert all(abs(rows[f"null-{i}"].value) > (before + after) / 2 for i in (0, 1))
    assert all(abs(rows[f"lists-{i}"].value) < (before + after) / 2 for i in (0, 1))
    assert rows["null-0"].value != rows["null-1"].value
    assert {row.details["stage"] for row in of(page, "bias-left") if row.details["pareto"]} == {
        "misp"
    }
    assert not any("written_by" in row.details for row in page.rows if "-" in row.details["stage"])
    assert (tmp_path / "clean").is_dir()
    assert not any("pairs of sentences" in note for note in page.notes)
    control = audit(folder, methods=["null:1"], skip=part)
    (row,) = of(control, "pronoun-stereotype", layer=3, stage="null-0")
    assert row.value == rows["null-0"].value


@pytest.mark.parametrize(
    ("methods", "said"),
    [
        (["null"], "null: expected a number of draws from 1"),
        (["null:0"], "null:0: expected a number of draws from 1"),
        (["lists:101"], "each draw is a column; 101 are too many, give 100 or less"),
        (["null:2", "null:3"], "null is given twice, as null:2 and null:3"),
        (["null-0"], "'null-0': expected leace, inlp, misp"),
    ],
)
def test_controls_that_cannot_be_drawn_are_one_line(
    folder: Path, methods: list[str], said: str
) -> None:
    with pytest.raises(wb.WordbiasError, match=said):
        audit(folder, methods=methods)


@pytest.mark.slow
def test_rows_follow_the_contract(page: Page) -> None:
    labels = {"before", "hard", "mhd:dims=2", "L12-000"}
    assert {row.details["stage"] for row in page.rows} == labels
    for row in page.rows:
        about = row.details
        assert (row.subject, about["audit"]) == ("planted", "encoder")
        column = about["stage"] != "before"
        assert (about.get("column") == "method") is column
        assert about.get("debiased") == (about["stage"] if column else None)
        if row.value is None:
            assert about["reason"]
        if about.get("low") is not None:
            assert about["low"] <= about["high"]
    measured = {row.measure for row in page.rows}
    assert {"compression", "probe-accuracy", "selectivity", "seat", "ceat"} <= measured
    json.loads(page.render("json"))


@pytest.mark.slow
def test_what_is_left_is_the_share_beyond_chance(page: Page) -> None:
    for label in ("hard", "mhd:dims=2"):
        (left,) = of(page, "bias-left", stage=label)
        shares = {}
        for measure in (*PROBED, "pronoun-stereotype"):
            (before,), (after,) = (
                of(page, measure, stage=stage, layer=3) for stage in ("before", label)
            )
            chance = [abs(row.details["chance"]) for row in (before, after)]
            if measure not in PROBED:
                chance[1] = chance[0]
            beyond = abs(before.value) - chance[0]
            shares[short_title(measure)] = max(0, abs(after.value) - chance[1]) / beyond
        assert left.value == pytest.approx(max(shares.values()))
        assert left.details["of"] == pytest.approx(shares)
        costs = [of(page, name, stage=label)[0].value for name in left.details["costs"]]
        assert left.details["kept"] == pytest.approx(min(costs))
    assert any(row.details["pareto"] for row in of(page, "bias-left"))


@pytest.mark.slow
def test_a_projection_that_nothing_reads_is_a_column_with_its_reason(page: Page) -> None:
    # the mean over tokens reads CLS too, so that this one is measured: only its part of the mean
    assert of(page, "sentence-order-kept", stage="L12-000")[0].value > 0.99
    short = audit(planted_folder(page), methods=["SENT-0"], skip=ALL)
    (column,) = of(short, "column")
    assert column.value is None
    assert column.details["stage"] == "SENT-0"
    assert "change no output" in column.details["reason"]
    assert any(line.startswith("SENT-0: not measured: ") for line in short.heading) or short.notes


def planted_folder(page: Page) -> str:
    return str(page.inputs["planted"]["path"])


@pytest.mark.slow
def test_a_page_is_read_again(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    audit_page = audit(folder, methods="hard", skip="probe,untrained,ceat", output=out)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]  # no vectors are left
    reread = report(out)
    without_folder = audit_page.render("json").replace(
        str(folder), folder.name
    )  # a page is for others
    assert [row.to_dict() for row in reread.rows] == json.loads(without_folder)["rows"]
    assert reread.heading == [line.replace(str(folder), folder.name) for line in audit_page.heading]


@pytest.mark.slow
def test_a_loaded_model_is_audited_as_its_folder(folder: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    pair = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    audit_page = audit(pair, skip="probe,untrained,ceat,seat", methods=["hard"])
    assert (
        audit_page.inputs["planted"]["pooling"] == "mean"
        or audit_page.inputs["planted"]["modules"] == []
    )
    assert of(audit_page, "pronoun-stereotype", stage="before")


@pytest.mark.slow
def test_exports_what_helps(cli: Cli, folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "clean"
    skip = "probe,untrained,seat,ceat"
    done = cli(
        *("audit", folder, "--methods", "misp-pairs:dims=1 mhd-pairs:dims=2", "--skip", skip),
        *("--export", target, "--format", "json", "-o", tmp_path / "a.json"),
    )
    assert done.code == 0, done.err
    assert "written, with " in done.err
    card = (target / "README.md").read_text("utf-8")
    assert "library_name: sentence-transformers" in card
    assert "Removed: gender, by m" in card
    assert "Fitted to pairs of sentences, a female and a male version: m" in card
    assert "## Before and after\n\n" in card
    assert "| pronoun-stereotype" in card
    clean = audit(target, skip=skip, methods=["hard"])
    (before,) = of(clean, "pronoun-stereotype", stage="before", layer=3)
    assert before.details["beyond_chance"] is False
    assert not of(clean, "pronoun-stereotype", stage="before", layer=2)[0].details["low"] < 0.5
    second = cli("audit", folder, "--methods", "hard", "--export", target)
    assert second.code == 1
    assert "is there already" in second.err or "exists" in second.err


@pytest.mark.slow
def test_an_interrupted_audit_goes_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, skip = tmp_path / "page.html", "probe,untrained,seat,ceat"
    encoded: list[int] = []
    batches = EncodingJob.batches

    def counted(job: EncodingJob, done: int = 0, batch_tokens: int = 64) -> Iterator[Any]:
        for batch in batches(job, done, 1024):
            if len(encoded) == 2:
                raise KeyboardInterrupt
            encoded.append(batch.distinct)
            yield batch

    with monkeypatch.context() as patch:
        patch.setattr(EncodingJob, "batches", counted)
        with pytest.raises(Interrupted, match="the same call resumes"):
            audit(folder, output=out, skip=skip, methods=["hard"])
    assert [path.name.split(".")[-1] for path in sorted(tmp_path.iterdir())] == [
        "unfinished",
        "json",
    ]
    resumed: list[int] = []

    def rest(job: EncodingJob, done: int = 0, batch_tokens: int = 64) -> Iterator[Any]:
        resumed.append(done)
        return batches(job, done, batch_tokens)

    monkeypatch.setattr(EncodingJob, "batches", rest)
    audit_page = audit(folder, output=out, skip=skip, methods=["hard"])
    assert resumed == [sum(encoded)]
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    alone = audit(folder, skip=skip, methods=["hard"])
    for row, other in zip(audit_page.rows, alone.rows, strict=True):
        assert row.measure == other.measure
        assert row.value == pytest.approx(other.value, abs=1e-4)


# Refusals


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ("--benchmarks", "men"),
            "--benchmarks is for vectors, and {folder} is a model; leave it out",
        ),
        (("--dims", "3"), "--dims is for vectors, and {folder} is a model"),
        (("--no-chance",), "--chance is for vectors, and {folder} is a model"),
        (("--strict-vocab",), "--strict-vocab is for vectors"),
        (
            ("--skip", "weat"),
            "part 'weat': expected some of probe, untrained, seat, ceat, pronouns",
        ),
        (("--methods", "mips"), "--methods: 'mips': expected leace, inlp, misp"),
        (("{folder}",), "is a model, and a call audits one model alone; 2 arguments were given"),
        (("-o", "page.pdf"), "a page cannot be written as .pdf"),
        (("--stereoset", "nosuch.csv"), "nosuch.csv"),
    ],
)
def test_options_that_do_not_fit_a_model_are_refused_in_one_line(
    cli: Cli, folder: Path, given: tuple[str, ...], message: str
) -> None:
    done = cli("audit", folder, *(argument.format(folder=folder) for argument in given))
    assert done.code in (1, 2)
    assert message.format(folder=folder) in done.err
    assert done.code == 2 or done.err.count("\n") == 1


@pytest.mark.parametrize(
    "given", [("--device", "cpu"), ("--stereoset", "a.csv"), ("--snli", "a.tsv"), ("--export", "a")]
)
def test_options_of_models_are_refused_for_vectors(cli: Cli, given: tuple[str, ...]) -> None:
    done = cli("audit", *given)
    assert done.code == 1
    assert done.err == (
        f"wordbias: {given[0]} is for a model, and these are vectors; leave it out, or give a "
        "model's folder\n"
    )


def test_a_folder_without_a_model_and_a_name_of_nothing_are_as_before(
    cli: Cli, tmp_path: Path
) -> None:
    assert "is a folder; name the file with the vectors in it" in cli("audit", tmp_path).err
    assert "there is no such file" in cli("audit", "nosuch.txt").err


def test_export_needs_a_folder_of_sentence_transformers(cli: Cli, tmp_path: Path) -> None:
    stand_ins.next_sentence_encoder(tmp_path / "nsp")
    done = cli("audit", tmp_path / "nsp", "--export", tmp_path / "clean")
    assert done.code == 1
    assert "is no sentence-transformers model" in done.err
    assert not (tmp_path / "clean").exists()


# Heads


@pytest.mark.slow
def test_nli_fairness_joins_where_the_model_has_the_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wordbias.contextual.audit import heads
    from wordbias.nli.test_sets import build
    from wordbias.wordlists import Templates

    small_word_lists.write(tmp_path / "lists")
    test = build("parity", Templates.load(tmp_path / "lists"))
    monkeypatch.setattr(heads, "build", lambda name: test)
    stand_ins.nli_encoder(tmp_path / "nli")
    pairs = [("neutral", "The man ate.", "The man ate a pie."), ("entailment", "A.", "A.")]
    skip = ["probe", "untrained", "ceat", "seat"]
    audit_page = audit(tmp_path / "nli", snli=pairs, skip=skip, methods=["hard"])
    for measure in ("nli-fairness", "nli-accuracy", "snli-accuracy"):
        (before,), (after,) = (of(audit_page, measure, stage=stage) for stage in ("before", "hard"))
        assert after.details["change"] == pytest.approx(after.value - before.value)
    assert "viable" in of(audit_page, "snli-accuracy", stage="hard")[0].details
    alone = wb.mab_eval(tmp_path / "nli", set="parity", lists=tmp_path / "lists")
    assert [row.value for row in alone["nli-fairness"]] == [
        row.value for row in of(audit_page, "nli-fairness", stage="before")
    ]


@pytest.mark.slow
def test_stereotypes_join_where_the_model_has_the_head(tmp_path: Path) -> None:
    stand_ins.next_sentence_encoder(tmp_path / "nsp")
    stand_ins.gsss(tmp_path / "gsss.csv")
    skip = ["probe", "untrained", "ceat"]
    measured = audit(
        tmp_path / "nsp", stereoset=tmp_path / "gsss.csv", skip=skip, methods=["hard", "leace"]
    )
    before, after = (of(measured, "strength", stage=stage) for stage in ("before", "hard"))
    assert before
    assert [row.details["subset"] for row in after] == [row.details["subset"] for row in before]
    for old, new in zip(before, after, strict=True):
        assert new.details["change"] == pytest.approx(new.value - old.value)
    assert len(of(measured, "strength", stage="leace")) == len(before)
    alone = wb.likelihood(tmp_path / "nsp", data=tmp_path / "gsss.csv")
    measured = [row for row in alone["strength"] if row.details["version"] == "original"]
    assert [row.value for row in measured] == [row.value for row in before]


def test_a_head_that_is_not_there_is_a_note(folder: Path, tmp_path: Path) -> None:
    stand_ins.gsss(tmp_path / "gsss.csv")
    audit_page = audit(folder, stereoset=tmp_path / "gsss.csv", skip=ALL, methods=["hard"])
    assert any(note.startswith("stereotypes were not measured: ") for note in audit_page.notes)
    assert of(audit_page, "sentence-order-kept", stage="hard")
