"""The figure by layer: its panels and curves are those of the reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb

pytest.importorskip("matplotlib")

pytestmark = pytest.mark.slow
TOOL = Path(__file__).parents[1] / "tools" / "plot_layers.py"
N = 120


def draw(*arguments: object) -> Any:
    return subprocess.run(
        [sys.executable, TOOL, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(TOOL.parents[1])},
        check=False,
    )


def probed(path: Path) -> Path:
    """Write a report on two encoders, of which the first knows the label in its last layer."""
    rng = np.random.default_rng(0)
    y = np.array(["f", "m"] * (N // 2))
    x = rng.normal(size=(3, N, 4)).astype(np.float32)
    x[2, :, 0] += 5 * (y == "f")
    noise = rng.normal(size=x.shape).astype(np.float32)
    encoders = {"trained": x, "untrained": noise}
    report = wb.probe(encoders, y, fractions=(0.2, 1.0), seed=(0, 1), epochs=3, lr=0.1)
    report.save(path)
    return path


def contexts(path: Path) -> Path:
    """Write two tests by layer as `ceat --format json` prints them."""
    rows = [
        {
            "subject": "words", "measure": "ceat", "value": layer / 10, "layer": layer, "set": test,
            "low": layer / 10 - 0.1, "high": layer / 10 + 0.1, "neutral": 0.0, "better": "neutral",
        }
        for test in ("weat6", "weat7")
        for layer in range(3)
    ]  # fmt: skip
    path.write_text(json.dumps({"command": "ceat", "rows": rows}))
    return path


def test_a_panel_for_each_file_and_a_curve_for_each_input_and_test(tmp_path: Path) -> None:
    figure = tmp_path / "figure.svg"
    files = (
        f"Gender of people={probed(tmp_path / 'p.json')}",
        contexts(tmp_path / "c.json"),
    )
    done = draw(figure, *files)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = figure.read_text()
    for name in ("Gender of people", "trained", "untrained", ">c<", "weat6", "weat7", "layer"):
        assert name in text
    assert "words: weat" not in text
    redrawn = tmp_path / "again.svg"
    draw(redrawn, *files)
    assert redrawn.read_text() == text


def test_several_files_share_a_panel_and_name_its_curves(tmp_path: Path) -> None:
    trained, untrained = contexts(tmp_path / "trained.json"), contexts(tmp_path / "random.json")
    figure = tmp_path / "figure.svg"
    done = draw(figure, f"a = b={trained},{untrained}")
    assert (done.returncode, done.stderr) == (0, "")
    text = figure.read_text()
    for name in ("a = b", "trained: weat6", "random: weat6", "trained: weat7", "random: weat7"):
        assert f">{name}<" in text
    assert "words" not in text


def test_files_without_layers_and_bad_outputs_are_one_line(tmp_path: Path) -> None:
    report = wb.probe(np.eye(N, 4), np.arange(N) % 2, fractions=(0.2, 1.0), seed=0, epochs=1)
    report.save(tmp_path / "flat.json")
    for output, file, message in (
        ("a.svg", tmp_path / "flat.json", "has no compression or ceat or probe-accuracy by layer"),
        ("a.svg", tmp_path / "none.json", "none.json: "),
        ("a.txt", probed(tmp_path / "p.json"), "a.txt: cannot be drawn"),
    ):
        done = draw(tmp_path / output, file)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert message in done.stderr
        assert not (tmp_path / output).exists()
