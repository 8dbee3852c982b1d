"""The set parity of `wordbias.mab_eval`: objects in memory give what files give."""

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

from wordbias import Embedding
from wordbias.data import nli_sample_path
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.mab_eval import mab_eval
from wordbias.nli.files import Model
from wordbias.reports import Report
from wordbias.subspace import Subspace

Cli = Callable[..., Any]
SNLI = [
    ("neutral", "The man ate.", "The man ate a pie."),
    ("entailment", "The nurse saw the car.", "The nurse saw a car."),
    ("contradiction", "The bed is red.", "The bed is blue."),
    ("-", "The cow.", "The cup."),
]


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    small_word_lists.write(tmp_path / "lists")
    return tmp_path / "lists"


@pytest.fixture
def snli(tmp_path: Path) -> Path:
    path = tmp_path / "snli.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in SNLI))
    return path


def printed(cli: Cli, *arguments: object) -> list[dict[str, Any]]:
    done = cli("mab-eval", "--set", "parity", *arguments, "--format", "json")
    assert done.code == 0, done.err
    rows: list[dict[str, Any]] = json.loads(done.out)["rows"]
    return rows


def values(report: Report) -> list[float | None]:
    return [row.value for row in report]


def test_our_model_and_vectors_in_memory(cli: Cli, lists: Path, snli: Path, tmp_path: Path) -> None:
    rows = printed(cli, "--lists", lists, "--snli", snli, "-o", tmp_path / "jobs.csv")
    expected = [row["value"] for row in rows]
    emb, model = Embedding.sample(), Model.load(nli_sample_path())
    assert values(mab_eval(set="parity", lists=lists, snli=snli)) == expected
    report = mab_eval(
        model, set="parity", embedding=emb, lists=lists, snli=SNLI, output=tmp_path / "o.csv"
    )
    assert values(report) == expected
    assert report["snli-accuracy"][0].details["n"] == 3
    assert report.inputs["snli"]["path"] == "pairs in memory"
    assert report.heading[0].startswith("NLI fairness of decomposable attention (in memory) on")
    assert (tmp_path / "o.csv").read_bytes() == (tmp_path / "jobs.csv").read_bytes()
    with (tmp_path / "o.csv").open(newline="") as file:
        occupations = [row["occupation"] for row in csv.DictReader(file)]
    assert occupations == small_word_lists.OCCUPATIONS.split()


def test_a_loaded_model_and_an_adapter(cli: Cli, lists: Path, snli: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pandas = pytest.importorskip("pandas")
    from wordbias.models.adapters import Adapter
    from wordbias.models.fingerprint import Fingerprint
    from wordbias.models.sites import Site

    labels = dict(enumerate(("contradiction", "entailment", "neutral")))
    words = [
        *small_word_lists.words(),
        *tiny_encoders.words_of(*(" ".join(x) for x in SNLI)),
        "the",
    ]
    model = tiny_encoders.build("bert", vocabulary=len(words) + 9, id2label=labels)
    tokenizer = tiny_encoders.make_tokenizer(words)
    tiny_encoders.save(model, tokenizer, tmp_path / "nli")
    w = model.classifier.weight.detach().double().numpy()
    basis = np.linalg.svd(w - w.mean(0))[2][:2]
    adapter = Adapter(
        {Site("sentence"): Subspace(basis, np.array([0.5, 0.25]))}, Fingerprint.of(model)
    )
    adapter.save(tmp_path / "a.st")
    given = (tmp_path / "nli", "--lists", lists, "--snli", snli, "--adapter", tmp_path / "a.st")
    rows = printed(cli, *given, "--setting", "SENT-0", "--setting", "SENT-1", "--device", "cpu")
    frame = pandas.DataFrame(SNLI, columns=["label", "premise", "hypothesis"])
    report = mab_eval(
        (model, tokenizer),
        set="parity",
        lists=lists,
        snli=frame,
        adapter=adapter,
        setting=["SENT-0", "SENT-1", "SENT-0"],
    )
    assert values(report) == pytest.approx([row["value"] for row in rows])
    assert [row.details["setting"] for row in report] == [row["setting"] for row in rows]
    single = mab_eval(
        (model, tokenizer), set="parity", lists=lists, adapter=adapter, setting="SENT-1"
    )
    assert list(dict.fromkeys(row.details["setting"] for row in single)) == ["", "SENT-1"]
    other = tiny_encoders.build("bert", vocabulary=len(words) + 9, id2label=labels, seed=1)
    with pytest.raises(WordbiasError, match=r"adapter: was fitted on another model .*force=True"):
        mab_eval((other, tokenizer), set="parity", lists=lists, adapter=adapter, setting="SENT-1")


def test_it_names_arguments_as_python_does() -> None:
    with pytest.raises(UsageError, match="setting= is for a Hugging Face model; leave it out"):
        mab_eval(set="parity", setting="SENT-1")
    with pytest.raises(UsageError, match="adapter= and setting= go together"):
        mab_eval("a-model", set="parity", setting="SENT-1")
    with pytest.raises(UsageError, match="snli= is for set="):
        mab_eval(snli="pairs.tsv")
    with pytest.raises(UsageError, match="embedding= is for a model file that wordbias nli-train"):
        mab_eval("a-model", set="parity", embedding=Embedding.sample())
    with pytest.raises(WordbiasError, match="parity=: expected one of mean, strict, got 'median'"):
        mab_eval(set="parity", parity="median")  # type: ignore[arg-type]
