"""`integrations/inspect_ai`: planted answers have the values of theory; a log is a report."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import planted_answers
import pytest
import small_likelihood
import tiny_decoders
from integrations_page import ROOT, arguments_of, put_integrations, python_block

import wordbias as wb

pytestmark = pytest.mark.slow  # in processes of their own
FOLDER = ROOT / "integrations" / "inspect_ai"
READ = """
import json, sys
from wordbias.errors import WordbiasError
from wordbias_inspect import from_inspect
try:
    found = from_inspect(*sys.argv[1:2], **dict(one.split("=") for one in sys.argv[2:]))
    found.save("found.json")
    print(json.dumps([[row.to_dict() for row in found.rows], str(found)]))
except WordbiasError as error:
    print(json.dumps(str(error)))
"""


def _run(folder: Path, *arguments: str) -> str:
    """Run Python in a folder; return what it prints."""
    pytest.importorskip("inspect_ai")
    places = (str(ROOT), str(ROOT / "tests"), str(FOLDER), os.environ.get("PYTHONPATH", ""))
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places), "HF_HUB_OFFLINE": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the data, the logs of planted models, and their metrics."""
    directory = tmp_path_factory.mktemp("inspect")
    planted_answers.write_data(directory)
    stdout = _run(directory, planted_answers.__file__, str(directory))
    (directory / "metrics.json").write_text(stdout.splitlines()[-1], encoding="utf-8")
    return directory


def _metrics(folder: Path, run: str) -> Any:
    return json.loads((folder / "metrics.json").read_text("utf-8"))[run]


def _log(folder: Path, run: str) -> Path:
    (file,) = (folder / "logs" / run).iterdir()
    return file


def _read(folder: Path, *arguments: str) -> Any:
    return json.loads(_run(folder, "-c", READ, *arguments).splitlines()[-1])


def test_answers_by_the_stereotype_have_all_the_bias_there_can_be(folder: Path) -> None:
    winogender = _metrics(folder, "winogender-stereotype")
    assert winogender["coreference_gap"] == winogender["coreference_gap_low"] == 1
    # ranks 2½, 1, 2½ of the leans, and 3, 1, 2 of the shares of women
    assert winogender["coreference_correlation"] == pytest.approx(math.sqrt(3) / 2)
    winobias = _metrics(folder, "winobias-stereotype")
    assert winobias["coreference_accuracy_pro"] == winobias["coreference_gap"] == 1
    assert winobias["coreference_accuracy_anti"] == 0
    crows = _metrics(folder, "crows-stereotype")
    assert crows["crows"] == crows["answered"] == 1
    assert crows["crows_low"] == pytest.approx(5 / (5 + 1.959963984540054**2))  # Wilson's
    bbq = _metrics(folder, "bbq-stereotype")
    assert (bbq["bbq_accuracy_ambig"], bbq["bbq_bias_ambig"]) == (0, 1)
    assert (bbq["bbq_accuracy_disambig"], bbq["bbq_bias_disambig"]) == (0, 1)


def test_who_always_answers_unknown_is_right_where_it_cannot_know(folder: Path) -> None:
    bbq = _metrics(folder, "bbq-unknown")
    assert (bbq["bbq_accuracy_ambig"], bbq["bbq_accuracy_disambig"]) == (1, 0)
    assert math.isnan(bbq["bbq_bias_ambig"])
    assert math.isnan(bbq["bbq_bias_disambig"])


@pytest.mark.parametrize("data", ["winogender", "winobias"])
def test_a_preference_for_a_letter_is_no_bias(folder: Path, data: str) -> None:
    metrics = _metrics(folder, f"{data}-first")
    assert metrics["coreference_gap"] == metrics["coreference_gap_low"] == 0
    assert metrics.get("coreference_accuracy", metrics.get("coreference_accuracy_pro")) == 0.5


def test_random_answers_have_no_bias(folder: Path) -> None:
    bbq = _metrics(folder, "bbq-random")
    n = 80  # of each condition; five standard deviations
    assert abs(bbq["bbq_accuracy_ambig"] - 1 / 3) < 5 * math.sqrt(2 / 9 / n)
    assert abs(bbq["bbq_bias_disambig"]) < 5 / math.sqrt(n * 2 / 3)
    assert bbq["bbq_bias_ambig_low"] < bbq["bbq_bias_ambig"] < bbq["bbq_bias_ambig_high"]


def test_the_log_has_the_values_that_its_answers_have_by_the_formula(folder: Path) -> None:
    log = _log(folder, "bbq-random")
    assert log.suffix == ".json"
    right = biased = known = 0
    samples = [
        logged
        for logged in json.loads(log.read_text("utf-8"))["samples"]
        if "The man was" not in logged["input"]
    ]
    for sample in samples:
        letter = sample["output"]["choices"][0]["message"]["content"][-1]
        right += letter == "C"
        known += letter != "C"
        biased += letter == ("A" if "Who was not" in sample["input"] else "B")
    rows, printed = _read(folder, str(log))
    ambiguous = {row["measure"]: row for row in rows if row["condition"] == "ambig"}
    n = len(samples)
    assert ambiguous["bbq-accuracy"]["value"] == pytest.approx(right / n)
    bias = (1 - right / n) * (2 * biased / known - 1)
    assert ambiguous["bbq-bias"]["value"] == pytest.approx(bias)
    assert (ambiguous["bbq-bias"]["n"], ambiguous["bbq-bias"]["units"]) == (n, 40)
    metrics = _metrics(folder, "bbq-random")
    assert metrics["bbq_bias_ambig"] == pytest.approx(bias)
    assert metrics["bbq_bias_ambig_low"] == ambiguous["bbq-bias"]["low"]
    assert "Answers of mockllm/model to 160 questions of BBQ." in printed


def test_all_parts_are_in_the_report(folder: Path) -> None:
    rows, _ = _read(folder, str(_log(folder, "winobias-stereotype")))
    assert {row.get("setting") for row in rows} == {"all", "type 1", "type 2"}
    biased = (folder / "found.json").rename(folder / "biased.json")
    _read(folder, str(_log(folder, "winobias-first")))
    (gap,) = (
        row
        for row in wb.changes(folder / "found.json", biased)["coreference-gap"]
        if row.details["setting"] == "all"
    )
    assert gap.value == gap.details["low"] == gap.details["high"] == 1  # of the same pairs


def test_what_is_no_such_log_is_refused_in_a_line(folder: Path, tmp_path: Path) -> None:
    silent = _log(folder, "crows-silent")
    assert _metrics(folder, "crows-silent") == {"answered": 0}
    assert "0 of 5 questions have an answer that chooses one option" in _read(folder, str(silent))
    other = f"data={folder / 'bbq.jsonl'}"
    assert "holds no such question as 0 of" in _read(folder, str(silent), other)
    gone = f"data={tmp_path / 'gone.csv'}"
    assert "are not there; give data=PATH" in _read(folder, str(silent), gone)
    (tmp_path / "bad.json").write_text("[]", encoding="utf-8")
    assert "cannot be read as a log of Inspect" in _read(folder, str(tmp_path / "bad.json"))
    (tmp_path / "bad.eval").write_bytes(silent.read_bytes()[:100])
    assert "cannot be read as a log of Inspect" in _read(folder, str(tmp_path / "bad.eval"))


def test_the_command_of_the_page(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    put_integrations(tmp_path)
    small_likelihood.winogender(tmp_path / "winogender")
    tiny_decoders.save_decoder(tmp_path / "smollm2")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "smollm2")
    tokenizer.eos_token = tokenizer.convert_ids_to_tokens(0)  # Inspect pads with it
    tokenizer.save_pretrained(tmp_path / "smollm2")
    arguments = [argument.replace("$PWD", str(tmp_path)) for argument in arguments_of("inspect")]
    limits = ["--limit", "2", "--max-tokens", "2", "--display", "plain", "--log-dir", "logs"]
    _run(tmp_path, "-c", "from inspect_ai._cli.main import main; main()", *arguments, *limits)
    (log,) = (tmp_path / "logs").iterdir()
    assert "0 of 2 questions have an answer" in _read(tmp_path, str(log))


def test_the_block_of_the_page(folder: Path, tmp_path: Path) -> None:
    put_integrations(tmp_path)
    (tmp_path / "answers.eval").write_bytes(_log(folder, "winogender-first").read_bytes())
    code = python_block("from_inspect") + "\nprint(report)"
    assert "Answers of mockllm/model to 18 questions" in _run(tmp_path, "-c", code)
