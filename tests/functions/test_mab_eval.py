"""`wordbias.mab_eval`: models, vectors and predictions in memory give what files give; sets."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_word_lists
import tiny_encoders

import wordbias as wb
from wordbias import Embedding
from wordbias.data import nli_sample_path
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.mab_eval import mab_eval
from wordbias.nli.files import Model
from wordbias.nli.test_sets import TestSet, build
from wordbias.reports import Report
from wordbias.wordlists import Templates

Cli = Callable[..., Any]


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    small_word_lists.write(tmp_path / "lists")
    return tmp_path / "lists"


@pytest.fixture
def test_set(lists: Path) -> TestSet:
    return build("explicit", Templates.load(lists))


def printed(cli: Cli, *arguments: object) -> list[dict[str, Any]]:
    done = cli("mab-eval", *arguments, "--format", "json")
    assert done.code == 0, done.err
    rows: list[dict[str, Any]] = json.loads(done.out)["rows"]
    return rows


def rows_of(report: Report) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(json.dumps([row.to_dict() for row in report]))
    return rows


def test_vectors_and_a_model_in_memory(cli: Cli, lists: Path) -> None:
    expected = printed(cli, "--lists", lists, "--by-word", "--seed", 2)
    emb, model = Embedding.sample(), Model.load(nli_sample_path())
    for report in (
        mab_eval(lists=lists, by_word=True, seed=2),
        mab_eval(embedding=emb, lists=Templates.load(lists), by_word=True, seed=2),
        mab_eval(model, embedding=(emb.words, emb.vectors), lists=lists, by_word=True, seed=2),
    ):
        rows = rows_of(report)
        names = {row.pop("subject") for row in rows}
        assert len(names) == 1
        assert rows == [{k: v for k, v in row.items() if k != "subject"} for row in expected]
    assert report.inputs["model"]["path"] == "in memory"
    assert report.notes[-1].startswith("embedding lacks 1 of the templates'")


def test_a_mapping_of_one_s_own_groups_needs_subjects(lists: Path) -> None:
    faiths = mab_eval(groups="religion:christian,muslim", lists=lists)
    assert {row.details["attribute"] for row in faiths} == {"religion christian/muslim"}
    with pytest.raises(WordbiasError, match="does not say whom an English sentence"):
        mab_eval(groups={"a": ["she", "her"], "b": ["he", "his"]})


def test_predictions_in_a_frame_and_in_an_array(
    cli: Cli, lists: Path, test_set: TestSet, tmp_path: Path
) -> None:
    pandas = pytest.importorskip("pandas")
    p = np.random.default_rng(0).dirichlet((2, 1, 1), len(test_set))
    pairs = list(test_set)
    path = tmp_path / "mine.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["premise", "hypothesis", "neutral", "entailment", "contradiction"])
        table.writerows(
            [*pair, *probabilities] for pair, probabilities in zip(pairs, p, strict=True)
        )
    expected = printed(cli, "--predictions", path, "--lists", lists)
    frame = pandas.DataFrame(pairs, columns=["premise", "hypothesis"])
    frame[["contradiction", "neutral", "entailment"]] = p[:, [2, 0, 1]]
    for given in (path, frame, p, p.astype(np.float32)):
        report = mab_eval(predictions=given, lists=lists)
        assert [row.value for row in report] == [row["value"] for row in expected]
    assert report.inputs["predictions"]["pairs"] == len(test_set)
    assert report.arguments["predictions"] == f"ndarray of shape {p.shape}"
    with pytest.raises(WordbiasError, match=r"predictions: lacks 1 of the .* pairs of the set"):
        mab_eval(predictions=frame[:-1], lists=lists)
    with pytest.raises(WordbiasError, match=r"row 1: .*expected three probabilities"):
        mab_eval(predictions=frame.assign(neutral=2.0), lists=lists)
    with pytest.raises(WordbiasError, match=r"expected shape \(\d+, 3\), .* \(explicit \d+\)"):
        mab_eval(predictions=p[1:], lists=lists)
    with pytest.raises(WordbiasError, match="row 3: expected three probabilities"):
        mab_eval(predictions=np.where(np.arange(len(p))[:, None] == 3, np.nan, p), lists=lists)
    with pytest.raises(WordbiasError, match="a file, a frame or an array; got object"):
        mab_eval(predictions=object(), lists=lists)  # type: ignore[arg-type]


def test_a_loaded_model_of_transformers(lists: Path, test_set: TestSet, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    labels = dict(enumerate(("contradiction", "entailment", "neutral")))
    words = tiny_encoders.words_of(*(text for pair in test_set for text in pair))
    model = tiny_encoders.build("bert", vocabulary=len(words) + 9, id2label=labels)
    tokenizer = tiny_encoders.make_tokenizer(words)
    tiny_encoders.save(model, tokenizer, tmp_path / "nli")
    with wb.config(device="cpu"):
        expected = mab_eval(tmp_path / "nli", lists=lists)
    model.train()
    model.bert.eval()
    report = mab_eval((model, tokenizer), lists=lists)
    assert model.training
    assert not model.bert.training
    assert next(model.parameters()).device == torch.device("cpu")
    assert [row.value for row in report] == pytest.approx([row.value for row in expected])
    assert report.rows[0].subject == "BertForSequenceClassification"
    assert report.arguments["model"][0] == "a BertForSequenceClassification"

    class Pipeline:
        def __init__(self) -> None:
            self.model, self.tokenizer = model, tokenizer

    piped = mab_eval(Pipeline(), lists=lists, label_order="contradiction,entail,neutral")
    assert [row.value for row in piped] == [row.value for row in report]
    with pytest.raises(WordbiasError, match=r"expected a model: .* got BertFor"):
        mab_eval(model, lists=lists)
    with pytest.raises(WordbiasError, match=r"^label_order="):
        mab_eval((model, tokenizer), label_order=["yes", "no", "maybe"])


def test_errors_name_arguments_of_python() -> None:
    with pytest.raises(UsageError, match="choose one of MODEL, predictions= and write="):
        mab_eval("m.safetensors", predictions="p.csv")
    with pytest.raises(UsageError, match="label_order= is for a Hugging Face model; leave it out"):
        mab_eval(label_order="neutral,entailment,contradiction")
    with pytest.raises(UsageError, match=r"^set=: expected one of explicit, .*, all, got 'nouns'"):
        mab_eval(set="nouns")
    with pytest.raises(WordbiasError, match=r"set=: expected one of explicit, .* got 'nouns'"):
        mab_eval(set="nouns", write="sets")
    with pytest.raises(UsageError, match='"dev" is not measured; write its pairs by write=FOLDER'):
        mab_eval(set="dev")
    with pytest.raises(UsageError, match=r"^draws=: expected 1 or more, got 0"):
        mab_eval(draws=0)
    with pytest.raises(WordbiasError, match=r"expected a model: .*got int"):
        mab_eval(3)  # type: ignore[arg-type]
    with pytest.raises(WordbiasError, match=r"expected an embedding: .*got int"):
        mab_eval(embedding=3)  # type: ignore[arg-type]


# write


def test_the_files_are_those_of_the_command(cli: Cli, lists: Path, tmp_path: Path) -> None:
    typed, called = tmp_path / "typed", tmp_path / "called"
    done = cli("mab-eval", "--set", "all", "--lists", lists, "--write", typed, "--format", "json")
    report = mab_eval(set="all", write=called, lists=Templates.load(lists))
    rows = json.loads(done.out)["rows"]
    assert [{**row.to_dict(), "file": ""} for row in report] == [
        {**row, "file": ""} for row in rows
    ]
    assert sorted(path.name for path in called.iterdir()) == [
        "explicit.csv",
        "names.csv",
        "occupations.csv",
    ]
    for path in typed.iterdir():
        assert (called / path.name).read_bytes() == path.read_bytes()


def test_one_set_about_other_groups(tmp_path: Path, lists: Path) -> None:
    report = mab_eval(write=tmp_path / "sets", groups="religion:jewish,muslim", lists=str(lists))
    assert [row.details["attribute"] for row in report] == ["religion jewish/muslim"]
    assert report.rows[0].details["file"].startswith(str(tmp_path / "sets"))
