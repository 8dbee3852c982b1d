"""`wordbias.nli_train`: the files it writes, from files and from pairs in memory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import wordbias as wb
from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.functions.mab_eval import mab_eval
from wordbias.functions.nli_train import nli_train
from wordbias.nli.files import Model

WORDS = [f"w{i}" for i in range(12)]
QUICK: dict[str, Any] = {"epochs": 2, "hidden": 6, "batch_size": 16, "recipe": "fast"}


@pytest.fixture
def emb() -> Embedding:
    return Embedding(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 8)), "own")


@pytest.fixture
def pairs() -> list[tuple[str, str, str]]:
    rng = np.random.default_rng(1)
    labels = ["neutral", "entailment", "contradiction", "-"]
    return [(labels[i % 4], *rng.choice(WORDS, 2).tolist()) for i in range(60)]


@pytest.mark.slow
def test_one_model_from_pairs_in_memory(
    cli: Callable[..., Any], emb: Embedding, pairs: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    trained = nli_train(emb, train=pairs, dev=pairs[:20], output=tmp_path / "m.st", **QUICK)
    assert (str(trained), trained.files) == (str(tmp_path / "m.st"), (str(tmp_path / "m.st"),))
    model = Model.load(trained)
    assert trained.report["snli-accuracy"][0].value == model.about["dev_accuracy"]
    assert trained.report.command == "nli-train"
    assert trained.report.inputs["own"]["format"] == "memory"
    assert trained.report.inputs["pairs: train"]["path"] == "pairs in memory"
    assert trained.report.inputs["pairs: train"]["dropped"] == 15

    emb.save(tmp_path / "own.safetensors")
    for name, examples in (("train", pairs), ("dev", pairs[:20])):
        text = "".join("\t".join(row) + "\n" for row in examples)
        (tmp_path / f"{name}.tsv").write_text(text)
    options = [
        part for key, value in QUICK.items() for part in (f"--{key.replace('_', '-')}", value)
    ]
    files = ("--train", tmp_path / "train.tsv", "--dev", tmp_path / "dev.tsv")
    typed = ("nli-train", tmp_path / "own.safetensors", *files, *options, "-o", tmp_path / "f.st")
    done = cli(*typed, "--format", "json")
    assert done.code == 0, done.err
    (row,) = json.loads(done.out)["rows"]
    assert {**trained.report.rows[0].to_dict(), "subject": "f.st"} == row
    other = Model.load(tmp_path / "f.st")
    for name, weight in model.weights.items():
        np.testing.assert_array_equal(weight, other.weights[name])
    assert other.about["data"] == model.about["data"]  # hashes included


@pytest.mark.slow
def test_several_models_are_taken_by_other_functions(
    emb: Embedding, pairs: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(pairs, columns=["gold_label", "sentence1", "sentence2"])
    both = [emb, emb.with_vectors(-emb.vectors, "other"), emb]
    call = {"train": frame, "dev": frame, "test": pairs, "seed": [1, 0, 1], **QUICK}
    trained = nli_train(both, output=str(tmp_path / "out"), **call)
    assert os.fspath(trained) == str(tmp_path / "out")
    names = ["own.seed1", "own.seed0", "other.seed1", "other.seed0"]
    assert [Path(file).name for file in trained.files] == [f"{name}.safetensors" for name in names]
    assert [row.subject for row in trained.report if row.details["set"] == "test"] == names
    before = {file: os.stat(file).st_mtime_ns for file in trained.files}
    resumed = nli_train(both, output=tmp_path / "out", **call)
    assert resumed.report.rows == trained.report.rows
    assert before == {file: os.stat(file).st_mtime_ns for file in trained.files}
    with pytest.raises(WordbiasError, match="own lacks 9 of 9 words that the set explicit"):
        mab_eval(trained.files[0], embedding=emb)


def test_bad_arguments_are_refused(
    emb: Embedding, pairs: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    def said(**more: Any) -> str:
        with pytest.raises(WordbiasError) as error:
            nli_train(
                **{"embeddings": emb, "train": pairs, "dev": pairs, "output": tmp_path / "m"} | more
            )
        return str(error.value)

    pairs_file = tmp_path / "p.tsv"
    pairs_file.write_text("neutral\ta\tb\n")
    assert "is both train= and output=; name two files" in said(train=pairs_file, output=pairs_file)
    assert said(recipe="best") == "recipe 'best': expected published or fast"
    with wb.config(precision="float16"):
        assert said() == "precision 'float16': expected float32 or bfloat16"
    assert said(dropout=1.0).startswith("recipe: dropout is 1.0, expected 0 or more")
    assert said(dev=[("nuetral", "a", "b")]).startswith("dev=: row 1: unknown label 'nuetral'")
    assert "row 2: expected the texts label, premise and hypothesis, got (1, 'a', 'b')" in said(
        dev=[pairs[0], (1, "a", "b")]
    )
    assert "expected pairs: a file, a list of (label, premise, hypothesis) or a frame" in said(
        train=3
    )
    assert "all 15 pairs to train on are labelled neutral" in said(train=pairs[::4])
    assert not list(tmp_path.glob("m*"))
