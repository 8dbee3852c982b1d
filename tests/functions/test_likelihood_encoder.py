"""`wordbias.likelihood` of encoders with files and with what a notebook holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import stand_ins
from tiny_encoders import build

import wordbias as wb
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.likelihood import likelihood
from wordbias.functions.project import project
from wordbias.stereotypes.text_sets import load_text_set

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stereoset")
    stand_ins.next_sentence_encoder(path / "nsp")
    stand_ins.gsss(path / "gsss.csv")
    return path


@pytest.fixture
def loaded(folder: Path) -> Any:
    model = transformers.BertForNextSentencePrediction.from_pretrained(folder / "nsp")
    return model.train(), transformers.AutoTokenizer.from_pretrained(folder / "nsp")


def values(report: Any) -> list[Any]:
    return [(row.measure, row.value, dict(row.details)) for row in report]


def test_loaded_models_frames_and_adapters(folder: Path, loaded: Any) -> None:
    pandas = pytest.importorskip("pandas")
    expected = likelihood(folder / "nsp", data=folder / "gsss.csv")
    frame = pandas.read_csv(folder / "gsss.csv", dtype=str)
    assert values(likelihood(loaded, data=load_text_set(folder / "gsss.csv"))) == values(expected)
    assert loaded[0].training
    adapter = project(loaded, setting="SENT-0")
    report = likelihood(loaded, data=frame, adapter=adapter)
    name = str(folder / "nsp")
    assert {row.subject for row in report} == {name, f"{name} SENT-0"}
    assert report.inputs["model"]["adapter"] == repr(adapter)
    assert values(report)[: len(expected)] == values(expected)


def test_mistakes_in_pythons_words(folder: Path, loaded: Any, tmp_path: Path) -> None:
    data = folder / "gsss.csv"
    with pytest.raises(UsageError, match="adapter= and setting= go together"):
        likelihood(loaded, data=data, setting="SENT-0")
    with pytest.raises(UsageError, match=r"rounding=: expected one of nearest, down, up"):
        likelihood(loaded, data=data, rounding="some")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"top=: expected a number above 0 and at most 1"):
        likelihood(loaded, data=data, top=0)
    with pytest.raises(WordbiasError, match=r"next_label='yes': .* has the labels"):
        likelihood(loaded, data=data, next_label="yes")
    with pytest.raises(UsageError, match=r"max_length= is for a model that is a decoder"):
        likelihood(loaded, data=data, max_length=9)
    with (
        pytest.raises(WordbiasError, match=r"is loaded on cpu; .*leave out "),
        wb.config(device="cuda"),
    ):
        likelihood(loaded, data=data)
    with pytest.raises(WordbiasError, match=r"expected CrowS-Pairs .*; got dict"):
        likelihood(loaded, data={"a": 1})  # type: ignore[arg-type]
    with pytest.raises(WordbiasError, match=r"is a BertForMaskedLM, not a classifier of pairs"):
        likelihood((build("bert", "MaskedLM"), loaded[1]), data=data)
    with pytest.raises(WordbiasError, match=r"expected a model: a folder.*; got int"):
        likelihood(3, data=data)  # type: ignore[arg-type]
    other = project((build("bert", "Model", vocabulary=len(loaded[1])), loaded[1]))
    with pytest.raises(WordbiasError, match=r"another model .*insist with force=True"):
        likelihood(loaded, data=data, adapter=other, setting="SENT-0")
