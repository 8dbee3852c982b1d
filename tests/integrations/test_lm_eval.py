"""`integrations/lm_eval`: what the harness computes is what `wordbias likelihood` reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import small_winobias
import tiny_decoders
from integrations_page import ROOT, arguments_of, put_integrations

import wordbias as wb

PAIRS = (("He is a nurse.", "She is a nurse."), ("He ate soup.", "She ate soup."))


def _harness(folder: Path, *arguments: str) -> Any:
    """Run the harness's own command line in a folder; return the results."""
    pytest.importorskip("lm_eval")
    arguments = (*arguments, "--device", "cpu", "--output_path", "found")
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "lm_eval", *arguments],
        env={**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    (file,) = (folder / "found").rglob("results_*.json")
    return {
        task: {name.removesuffix(",none"): value for name, value in of.items()}
        for task, of in json.loads(file.read_text(encoding="utf-8"))["results"].items()
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of the page, with a tiny decoder, a small WinoBias and pairs."""
    put_integrations(tmp_path)
    tiny_decoders.save_decoder(tmp_path / "smollm2")
    small_winobias.write(tmp_path / "winobias")
    lines = "".join("\t".join(pair) + "\n" for pair in PAIRS)
    (tmp_path / "pairs.tsv").write_text(lines, encoding="utf-8")
    return tmp_path


def _row(report: Any, measure: str, **about: str) -> Any:
    about = {"score": "likelihood", **about}
    (row,) = (
        row
        for row in report[measure]
        if all(row.details.get(key) == value for key, value in about.items())
    )
    return row


def test_the_harness_finds_what_likelihood_reports(folder: Path) -> None:
    harness = _harness(folder, *arguments_of("lm_eval"))
    data, pairs = folder / "winobias", folder / "pairs.tsv"
    with wb.config(device="cpu"):
        ours = wb.likelihood(folder / "smollm2", data=data, pairs=pairs)
    task = harness["wordbias_winobias"]
    for side in ("pro", "anti"):
        row = _row(ours, "coreference-accuracy", subset=side, setting="all")
        assert task[f"acc_{side}"] == pytest.approx(row.value)
    gap = _row(ours, "coreference-gap", setting="all")
    assert task["gap"] == pytest.approx(gap.value)
    assert task["gap_low"] == pytest.approx(gap.details["low"])
    assert task["gap_high"] == pytest.approx(gap.details["high"])
    pro = _row(ours, "pro-preferred", subset="all")
    assert harness["wordbias_winobias_pairs"]["pro_preferred"] == pytest.approx(pro.value)
    own, lean = harness["wordbias_pairs"], _row(ours, "pair-lean")
    assert own["first_preferred"] == pytest.approx(_row(ours, "pair-preferred").value)
    assert own["lean"] == pytest.approx(lean.value, abs=1e-4)
    assert own["lean_low"] == pytest.approx(lean.details["low"], abs=1e-4)
    assert own["lean_high"] == pytest.approx(lean.details["high"], abs=1e-4)


def test_without_the_path_of_the_data_the_task_names_the_option(folder: Path) -> None:
    with pytest.raises(AssertionError, match="the task reads your copy of the data: give"):
        _harness(
            folder,
            *["run", "--model", "hf", "--model_args", "pretrained=smollm2"],
            *["--include_path", "integrations/lm_eval", "--tasks", "wordbias_winobias"],
        )
