"""`wordbias.fine_tune`: a folder with its report, which other functions take."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import stand_ins

import wordbias as wb
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.fine_tune import fine_tune
from wordbias.functions.project import project

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fine_tune")
    stand_ins.encoder(path / "encoder")
    stand_ins.nli_table(path / "pairs.tsv.gz")
    return path


@pytest.mark.slow
def test_the_folder_is_a_model_with_a_report(folder: Path, tmp_path: Path) -> None:
    pairs = folder / "pairs.tsv.gz"
    given: dict[str, Any] = {"head": "nli", "train": pairs, "dev": pairs, "output": tmp_path / "o"}
    given |= {"head_only": True, "limit": 40, "epochs": 1}
    trained = fine_tune(folder / "encoder", **given)
    assert os.fspath(trained) == str(tmp_path / "o")
    assert trained.report.inputs["train"]["pairs"] == 40
    assert "see every=" in trained.report.tables[0].note
    adapter = project(trained, setting="SENT-0")
    assert adapter.fingerprint.architecture == "BertForSequenceClassification"


@pytest.mark.slow
def test_a_loaded_model_is_left_as_it_is(folder: Path, tmp_path: Path) -> None:
    pairs, source = folder / "pairs.tsv.gz", str(folder / "encoder")
    arguments = {"head": "nli", "train": pairs, "dev": pairs, "head_only": True, "limit": 40}
    named = fine_tune(source, output=tmp_path / "named", epochs=1, **arguments)
    model = transformers.AutoModel.from_pretrained(source)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    pair = (model, transformers.AutoTokenizer.from_pretrained(source))
    tuned = fine_tune(pair, output=tmp_path / "loaded", epochs=1, **arguments)
    assert [row.value for row in tuned.report] == [row.value for row in named.report]
    assert tuned.report.inputs["model"] == named.report.inputs["model"] == {"path": source}
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, before[name])


def test_the_recipe_is_the_one_that_was_given(folder: Path, tmp_path: Path) -> None:
    pairs = folder / "pairs.tsv.gz"
    given: dict[str, Any] = {
        "epochs": 1,
        "batch_size": 20,
        "lr": 0.01,
        "warmup": 0.25,
        "weight_decay": 0.125,
    }
    given |= {"every": 2, "seed": 3}
    arguments = {
        "head": "nli",
        "train": pairs,
        "dev": pairs,
        "head_only": True,
        "limit": 40,
        **given,
    }
    with wb.config(precision="bfloat16"):
        trained = fine_tune(folder / "encoder", output=tmp_path / "o", **arguments)
    recipe = json.loads((Path(trained) / "training.json").read_text("utf-8"))["recipe"]
    given["batch"], given["rate"] = given.pop("batch_size"), given.pop("lr")
    given["decay"] = given.pop("weight_decay")
    assert {key: recipe[key] for key in given} == given
    assert recipe["half"] is True


def test_mistakes_in_pythons_words(folder: Path, tmp_path: Path) -> None:
    given: dict[str, Any] = {"head": "nli", "train": "a", "dev": "b", "output": tmp_path / "o"}
    with pytest.raises(UsageError, match="head=: expected one of nli, nsp, got 'nil'"):
        fine_tune("m", **{**given, "head": "nil"})
    with pytest.raises(UsageError, match="lr=: expected a number above 0, got 0"):
        fine_tune("m", **given, lr=0)
    with pytest.raises(UsageError, match="warmup=: expected a finite number from 0 on, got nan"):
        fine_tune("m", **given, warmup=float("nan"))
    with pytest.raises(WordbiasError, match="expected the texts label, premise and hypothesis"):
        fine_tune("m", **{**given, "train": ["a"]})
    with pytest.raises(WordbiasError, match="exists already; name a new folder"):
        fine_tune("m", **{**given, "output": tmp_path})
    assert not list(tmp_path.iterdir())
