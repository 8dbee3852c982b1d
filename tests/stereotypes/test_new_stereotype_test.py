"""A new test of stereotypes is a reader, a score and an entry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_decoders import save_decoder

import wordbias as wb
from wordbias.errors import WordbiasError
from wordbias.functions import likelihood_decoder
from wordbias.models.causal_model import CausalModel
from wordbias.stereotypes.entry import Found, StereotypeTest
from wordbias.stereotypes.pairs import preference_rows, score_pairs
from wordbias.stereotypes.scores import Settings
from wordbias.stereotypes.text_sets import TESTS
from wordbias.text_files import Source


@dataclass(frozen=True)
class Contrasts:
    path: str
    contrasts: list[tuple[str, str]]


def read(source: Source, _: bool) -> Contrasts:
    lines = source.text.splitlines()[1:]
    return Contrasts(source.path, [(a, b) for a, _, b in (line.partition(",") for line in lines)])


def scored(model: CausalModel, data: Contrasts, subject: str, settings: Settings) -> Found:
    likelihoods = score_pairs(model, data.contrasts)
    every = {"all": np.ones(len(data.contrasts), bool)}
    return Found(
        preference_rows(likelihoods, every, subject, "Contrasts", "crows", {}, settings),
        [{"task": "Contrasts", "first": first} for first, _ in data.contrasts],
        notes=["contrasts are made up"],
    )


TEST = StereotypeTest(
    title="Contrasts",
    form="CSV with likely",
    data=Contrasts,
    recognised=lambda line, *_: "likely" in line,
    read=read,
    items="contrasts",
    scores={CausalModel: scored},
    note="No preference is .5.",
    bias=("crows",),
)


@pytest.fixture(autouse=True)
def _added(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(likelihood_decoder._TESTS, "Contrasts", TEST)
    TESTS.append(TEST)
    yield
    TESTS.remove(TEST)


def test_a_new_test_is_read_measured_and_shown(tmp_path: Path) -> None:
    save_decoder(tmp_path / "decoder")
    file = tmp_path / "a.csv"
    file.write_text("likely,unlikely\nThe nurse slept.,The man slept.\nShe sat.,He sat.\n")
    report = wb.likelihood(tmp_path / "decoder", data=file, output=tmp_path / "scores.csv")
    assert [row.details["n"] for row in report["crows"]] == [2, 2]
    assert report.heading == [f"{tmp_path / 'decoder'} on Contrasts."]
    assert report.inputs["data 1"] == {"data": "Contrasts", "path": str(file), "contrasts": 2}
    assert report.notes == ["contrasts are made up"]
    (table,) = report.tables
    assert (table.title, len(table.cells)) == ("Contrasts", 2)
    assert table.note.startswith("No preference is .5.")
    assert (tmp_path / "scores.csv").read_text().splitlines()[1] == "Contrasts,The nurse slept."


def test_messages_name_a_new_test(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("word\nnurse\n")
    with pytest.raises(WordbiasError, match=r"or Contrasts \(CSV with likely\); found 'word'"):
        wb.likelihood(tmp_path, data=file)
