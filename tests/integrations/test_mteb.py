"""`integrations/mteb`: run by mteb on a sentence model, it says what `wordbias.probe` says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sentence_models
import stand_ins
from integrations_page import ROOT, put_integrations, python_block

import wordbias as wb

FOLDER = ROOT / "integrations" / "mteb"
ROWS = 110
RUN = """
import json, sys, mteb
from label_readable import LabelReadable
from sentence_transformers import SentenceTransformer
task = LabelReadable(sys.argv[2], "gender", limit=int(sys.argv[3]))
model = SentenceTransformer(sys.argv[1], device="cpu")
found = mteb.evaluate(model, task, cache=None, show_progress_bar=False)
(one,) = found.task_results
json.dump([one.task_name, one.scores["test"][0]], sys.stdout)
"""


SAY = "\nimport json; print(json.dumps(found.task_results[0].scores['test'][0]))"


def _run(folder: Path, code: str, *arguments: str) -> Any:
    """Run code in an interpreter of its own; return what its last line says."""
    pytest.importorskip("mteb")
    pytest.importorskip("sentence_transformers")
    path = os.pathsep.join([str(ROOT), str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_scores_are_those_of_probe_on_the_models_vectors(tmp_path: Path) -> None:
    model, file = sentence_models.sentence_folder(tmp_path / "model", "Normalize"), "texts.tsv"
    labels = ["F" if text.startswith(("She", "A")) else "M" for text in sentence_models.TEXTS]
    lines = map("\t".join, zip(labels, sentence_models.TEXTS, strict=True))
    (tmp_path / file).write_text("\n".join(["gender\ttext", *lines]) + "\n", encoding="utf-8")
    name, scores = _run(tmp_path, RUN, "model", file, str(ROWS))
    assert name == "GenderReadable"
    vectors = sentence_models.encoded(model)[:ROWS]
    accuracy, control = wb.probe(vectors, labels[:ROWS], mdl=False)["probe-accuracy"]
    compression, of_control = wb.probe(vectors, labels[:ROWS])["compression"]
    assert scores["main_score"] == scores["accuracy"] == pytest.approx(accuracy.value)
    assert scores["accuracy_low"] == pytest.approx(accuracy.details["low"])
    assert scores["accuracy_majority"] == pytest.approx(accuracy.details["neutral"])
    assert scores["accuracy_random_labels"] == pytest.approx(control.value)
    assert scores["compression"] == pytest.approx(compression.value, rel=1e-3)
    assert scores["compression_random_labels"] == pytest.approx(of_control.value, rel=1e-3)


def test_the_call_of_the_page(tmp_path: Path) -> None:
    put_integrations(tmp_path)
    sentence_models.sentence_folder(tmp_path / "all-MiniLM-L6-v2", "Normalize")
    stand_ins.biographies(tmp_path / "bios.tsv")
    scores = _run(tmp_path, python_block("mteb") + SAY)
    assert 0 <= scores["accuracy_low"] <= scores["accuracy"] <= scores["accuracy_high"] <= 1
    assert scores["compression_random_labels"] < 1.1
