"""`wordbias.sweep` with files and with what a notebook holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stand_ins

from wordbias.contextual.table7 import load_table
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.report import report as report_of
from wordbias.functions.sweep import sweep

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sweep")
    stand_ins.next_sentence_encoder(directory / "nsp")
    stand_ins.nli_encoder(directory / "nli")
    stand_ins.gsss(directory / "gsss.csv")
    stand_ins.nli_table(directory / "snli.tsv.gz")
    stand_ins.word_lists(directory / "lists")
    return directory


def loaded(path: Path) -> Any:
    kind = "NextSentencePrediction" if path.name == "nsp" else "SequenceClassification"
    model = getattr(transformers, f"BertFor{kind}").from_pretrained(path)
    return model.train(), transformers.AutoTokenizer.from_pretrained(path)


@pytest.mark.slow
def test_loaded_models_give_what_the_command_line_gives_for_folders(
    cli: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    following, inferring = loaded(folder / "nsp"), loaded(folder / "nli")
    report = sweep(
        following,
        stereoset=folder / "gsss.csv",
        nli=inferring,
        snli=folder / "snli.tsv.gz",
        lists=folder / "lists",
        top=0.5,
        repair=False,
        output=tmp_path / "mine.csv",
    )
    assert following[0].training
    assert not list(tmp_path.glob("*.part"))
    done = cli(
        "sweep", folder / "nsp", "--stereoset", folder / "gsss.csv", "--nli", folder / "nli",
        "--snli", folder / "snli.tsv.gz", "--lists", folder / "lists", "--top", 0.5,
        "--no-repair", "-o", tmp_path / "other.csv", "--format", "json",
    )  # fmt: skip
    printed = json.loads(done.out)
    assert report.to_dict()["rows"] == printed["rows"]
    assert report.arguments.keys() == printed["arguments"].keys()
    assert "sent_debias=" in " ".join(report.notes)
    assert (tmp_path / "mine.csv").read_text() == (tmp_path / "other.csv").read_text()
    report.save(tmp_path / "mine.json")
    saved = {setting.name: setting for setting in load_table(tmp_path / "mine.json")}
    for entry in load_table(tmp_path / "mine.csv"):
        assert saved[entry.name].fairness == pytest.approx(entry.fairness)
        assert set(saved[entry.name].samples) == {"strength", "distance", "fairness"}
    reread = report_of(tmp_path / "mine.csv")
    titles = [table.title for table in report.tables]
    assert [table.title for table in reread.tables] == titles[:3]
    assert titles[3:] == [f"{symbol} of the best settings, against the base" for symbol in "SDη"]
    assert reread["best-strength"][0].value == pytest.approx(report["best-strength"][0].value)


def test_mistakes_in_pythons_words(folder: Path) -> None:
    files = {"stereoset": folder / "gsss.csv", "snli": folder / "snli.tsv.gz"}
    with pytest.raises(UsageError, match=r"stereoset= and nli=: needed .* or give .* with task="):
        sweep(folder / "nsp", snli="a")
    with pytest.raises(UsageError, match="parity=: expected one of mean, strict, got 'both'"):
        sweep(folder / "nsp", nli=folder / "nli", **files, parity="both")  # type: ignore[arg-type]
    frame = pytest.importorskip("pandas").DataFrame({"context": ["She sat."]})
    with pytest.raises(WordbiasError, match=r"a frame: expected .* \(CSV with context_id\)"):
        sweep(folder / "nsp", nli=folder / "nli", **{**files, "stereoset": frame})
