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

import wordbias as wb

ROOT = Path(__file__).resolve().parent.parent.parent
TASKS = ROOT / "integrations" / "lm_eval"
PAIRS = (("He is a nurse.", "She is a nurse."), ("He ate soup.", "She ate soup."))


def _harness(folder: Path, *more: str, **metadata: str) -> Any:
    """Run the tasks by the harness's own command line on a tiny decoder; return the results."""
    pytest.importorskip("lm_eval")
    arguments = ["--model", "hf", "--model_args", f"pretrained={folder / 'decoder'},dtype=float32"]
    arguments += ["--include_path", str(TASKS), "--metadata", json.dumps(metadata)]
    arguments += ["--device", "cpu", "--output_path", str(folder / "found"), *more]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "lm_eval", *arguments],
        env={**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder)},
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
    """Return a folder with a tiny decoder, a small WinoBias and pairs."""
    tiny_decoders.save_decoder(tmp_path / "decoder")
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
    data = {"winobias": str(folder / "winobias"), "pairs": str(folder / "pairs.tsv")}
    tasks = "wordbias_winobias,wordbias_winobias_pairs,wordbias_pairs"
    found = _harness(folder, "--tasks", tasks, **data)
    decoder = str(folder / "decoder")
    ours = wb.likelihood(decoder, data=data["winobias"], pairs=data["pairs"], device="cpu")
    asked = found["wordbias_winobias"]
    for side in ("pro", "anti"):
        row = _row(ours, "coreference-accuracy", subset=side, setting="all")
        assert asked[f"acc_{side}"] == pytest.approx(row.value)
    gap = _row(ours, "coreference-gap", setting="all")
    assert asked["gap"] == pytest.approx(gap.value)
    assert asked["gap_low"] == pytest.approx(gap.details["low"])
    assert asked["gap_high"] == pytest.approx(gap.details["high"])
    pro = _row(ours, "pro-preferred", subset="all")
    assert found["wordbias_winobias_pairs"]["pro_preferred"] == pytest.approx(pro.value)
    pairs, lean = found["wordbias_pairs"], _row(ours, "pair-lean")
    assert pairs["first_preferred"] == pytest.approx(_row(ours, "pair-preferred").value)
    assert pairs["lean"] == pytest.approx(lean.value, abs=1e-4)
    assert pairs["lean_low"] == pytest.approx(lean.details["low"], abs=1e-4)
    assert pairs["lean_high"] == pytest.approx(lean.details["high"], abs=1e-4)


def test_without_the_path_of_the_data_the_task_names_the_option(folder: Path) -> None:
    with pytest.raises(AssertionError, match="the task reads your copy of the data: give"):
        _harness(folder, "--tasks", "wordbias_winobias")
