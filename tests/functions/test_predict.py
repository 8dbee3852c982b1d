"""`wordbias.predict`: files stay as they are, with a column behind them."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_heads
import tiny_tasks

import wordbias as wb
from wordbias.errors import UsageError, WordbiasError

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.usefixtures("one_thread")
ROWS = tiny_tasks.texts(30, 3)


@pytest.fixture(scope="module")
def folder(job_classifier: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("predict")
    (path / "model").symlink_to(job_classifier, target_is_directory=True)
    tiny_tasks.table(path / "texts.tsv", ROWS)
    return path


@pytest.fixture(scope="module")
def expected(folder: Path) -> list[str]:
    return list(wb.predict(str(folder / "model"), [row.text for row in ROWS]).predicted)


def test_probabilities_and_classes_of_texts_in_memory(folder: Path, expected: list[str]) -> None:
    predictions = wb.predict(str(folder / "model"), {"text": [row.text for row in ROWS]})
    assert predictions.classes == tiny_tasks.CLASSES
    assert predictions.predicted == expected
    assert set(expected) == set(tiny_tasks.CLASSES)
    np.testing.assert_allclose(predictions.probabilities.sum(1), 1, rtol=1e-6)
    assert [predictions.classes[i] for i in predictions.probabilities.argmax(1)] == expected
    with wb.config(skip_bad=True):
        predictions = wb.predict(str(folder / "model"), [ROWS[0].text, None])
    assert predictions.predicted == expected[:1]
    assert predictions.report.notes == [
        "1 row dropped, the first: row 2: expected a text, found None"
    ]
    with pytest.raises(UsageError, match="output= is for texts in a file; of texts in memory"):
        wb.predict(str(folder / "model"), ["a cup ."], output="out.tsv")


def test_the_command_writes_what_fairness_reads(
    cli: Callable[..., Any], folder: Path, tmp_path: Path, expected: list[str]
) -> None:
    out = tmp_path / "pred.tsv"
    done = cli("predict", folder / "model", folder / "texts.tsv", "-o", out)
    assert done.code == 0, done.err
    before = (folder / "texts.tsv").read_text().splitlines()
    after = out.read_text().splitlines()
    assert after[0] == before[0] + "\tpredicted"
    assert after[1:] == [f"{a}\t{b}" for a, b in zip(before[1:], expected, strict=True)]
    report = wb.fairness(out)
    right = [a.label == b for a, b in zip(ROWS, expected, strict=True)]
    assert report["accuracy"][0].value == pytest.approx(np.mean(right))


def test_quotation_marks_line_ends_and_keys_stay(
    folder: Path, tmp_path: Path, expected: list[str]
) -> None:
    model, texts = str(folder / "model"), [row.text for row in ROWS[:3]]
    commas = tmp_path / "a.csv"
    commas.write_bytes(f'\ufeffn,text\r\n1,"{texts[0]}"\r\n2,{texts[1]}\r\n3,{texts[2]}'.encode())
    wb.predict(model, commas, output=tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_bytes().decode() == (
        f'\ufeffn,text,predicted\r\n1,"{texts[0]}",{expected[0]}\r\n2,{texts[1]},{expected[1]}\r\n'
        f"3,{texts[2]},{expected[2]}\n"
    )
    with (tmp_path / "b.csv").open(encoding="utf-8-sig", newline="") as file:
        assert [row["predicted"] for row in csv.DictReader(file)] == expected[:3]
    lines = tmp_path / "a.jsonl"
    lines.write_text("".join(f'{{"text": "{text}",  "x": [1, 2]}} \n' for text in texts))
    wb.predict(model, lines, output=tmp_path / "b.jsonl")
    written = (tmp_path / "b.jsonl").read_text().splitlines()
    assert written[0] == f'{{"text": "{texts[0]}",  "x": [1, 2], "predicted": "{expected[0]}"}}'
    assert [json.loads(line)["predicted"] for line in written] == expected[:3]


BAD = [
    ("texts.tsv", "out.csv", "out.csv: would be csv, but .* lines stay as they are"),
    ("plain.txt", "out.txt", "plain.txt: expected a .tsv, .csv or .jsonl file"),
    ("done.tsv", "out.tsv", "done.tsv: line 2: has a column 'predicted' already; rename it"),
    ("texts.tsv", "texts.tsv", "texts.tsv"),
    ("empty.tsv", "out.tsv", "empty.tsv: holds no text"),
    ("none.tsv", "out.tsv", "none.tsv"),
    ("blank.tsv", "out.tsv", "blank.tsv: line 3: has no text; .*--skip-bad"),
]


@pytest.mark.parametrize(("texts", "output", "message"), BAD)
def test_files_that_cannot_be_used(
    cli: Callable[..., Any], folder: Path, tmp_path: Path, texts: str, output: str, message: str
) -> None:
    tiny_tasks.table(tmp_path / "texts.tsv", ROWS)
    (tmp_path / "plain.txt").write_text("a cup .\n")
    (tmp_path / "done.tsv").write_text("text\tpredicted\na cup .\tnurse\n")
    (tmp_path / "empty.tsv").write_text("text\n")
    tiny_tasks.table(tmp_path / "blank.tsv", [ROWS[0], ROWS[1]._replace(text=" "), ROWS[2]])
    done = cli("predict", folder / "model", tmp_path / texts, "-o", tmp_path / output)
    assert done.code in (1, 2)
    assert "Traceback" not in done.err
    assert re.search(message, " ".join(done.err.split()))


def test_an_adapter_is_on_while_the_model_predicts(
    job_classifier: str, job_adapter: Path, expected: list[str]
) -> None:
    model, texts = job_classifier, [row.text for row in ROWS]
    adapter = wb.load(job_adapter)
    with pytest.raises(UsageError, match="name one with setting="):
        wb.predict(model, texts, adapter=adapter)
    base = wb.predict(model, texts)
    adapted = wb.predict(model, texts, adapter=adapter, setting="L12-110")
    assert np.abs(adapted.probabilities - base.probabilities).max() > 1e-4
    loaded = transformers.AutoModelForSequenceClassification.from_pretrained(model).eval()
    folded = adapter.fold(loaded, setting="L12-110")
    of_folded = wb.predict((folded, tiny_heads.tokenizer()), texts)
    np.testing.assert_allclose(of_folded.probabilities, adapted.probabilities, atol=1e-5)
    assert base.predicted == expected


def test_another_head_than_that_of_the_fit_is_refused(job_adapter: Path) -> None:
    other = (
        tiny_heads.model("bert", "SequenceClassification", 2, hidden_size=64),
        tiny_heads.tokenizer(),
    )
    adapter = wb.load(job_adapter).setting("SENT-0")
    with pytest.raises(WordbiasError, match="was fitted on another model"):
        wb.predict(other, ["a cup ."], adapter=adapter)
    assert wb.predict(other, ["a cup ."], adapter=adapter, force=True).predicted


def test_texts_without_words_are_dropped(cli: Callable[..., Any], folder: Path) -> None:
    rows = [ROWS[0], ROWS[2]]
    source, out = tiny_tasks.table(folder / "kept.tsv", rows), folder / "kept_out.tsv"
    blank = tiny_tasks.table(folder / "b.tsv", [ROWS[0], ROWS[1]._replace(text=" "), ROWS[2]])
    wb.predict(folder / "model", source, output=out)
    done = cli("predict", folder / "model", blank, "--skip-bad", "-o", folder / "b_out.tsv")
    assert done.code == 0
    assert "1 row dropped, the first: line 3: has no text" in " ".join(
        (done.out + done.err).split()
    )
    assert (folder / "b_out.tsv").read_text() == out.read_text()
    with pytest.raises(WordbiasError, match="row 2: has no text"):
        wb.predict(folder / "model", ["she sat .", ""])
