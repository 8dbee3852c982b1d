"""The vectors of tools/gn_glove_vectors.py do not depend on what torch and numpy choose."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import stand_ins

TOOL = Path(__file__).parents[1] / "tools" / "gn_glove_vectors.py"
NAMES = ("glove", "gn", "wa", "misp", "misp-published", "mhd")


def _made(folder: Path, capability: str, kernels: str) -> dict[str, bytes]:
    """Make the vectors of one seed where torch and numpy are told what the processor can do."""
    call = [sys.executable, str(TOOL), "enwik8.txt", capability, "--seeds", "1"]
    done = subprocess.run(
        [*call, "--dim", "20", "--epochs", "2"],
        env={
            **os.environ,
            "PYTHONPATH": str(TOOL.parents[1]),
            "ATEN_CPU_CAPABILITY": capability,
            "OPENBLAS_CORETYPE": kernels,
        },
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name: (folder / capability / f"{name}0.txt").read_bytes() for name in NAMES}


def test_without_the_text_nothing_is_made(tmp_path: Path) -> None:
    call = [sys.executable, str(TOOL), "none.txt", "vectors"]
    env = {**os.environ, "PYTHONPATH": str(TOOL.parents[1])}
    done = subprocess.run(call, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "none.txt: there is no such file\n"
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--seeds", "--dim", "--epochs", "--jobs"])
def test_numbers_below_one_are_refused(tmp_path: Path, option: str) -> None:
    (tmp_path / "text.txt").write_text("a text")
    call = [sys.executable, str(TOOL), "text.txt", "vectors", option, "0"]
    env = {**os.environ, "PYTHONPATH": str(TOOL.parents[1])}
    done = subprocess.run(call, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"{option}: expected 1 or more, got 0\n")
    assert not (tmp_path / "vectors").exists()


def test_a_folder_with_other_settings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("a text")
    (tmp_path / "vectors").mkdir()
    (tmp_path / "vectors" / "settings.json").write_text('{"sha256": "", "dim": 50, "epochs": 12}')
    (tmp_path / "vectors" / "glove0.txt").write_text("")
    call = [sys.executable, str(TOOL), "text.txt", "vectors"]
    env = {**os.environ, "PYTHONPATH": str(TOOL.parents[1])}
    done = subprocess.run(call, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("vectors: has vectors of other settings, {'sha256': ''")
    assert len(done.stderr.splitlines()) == 1
    assert {path.name for path in (tmp_path / "vectors").iterdir()} == {
        "settings.json",
        "glove0.txt",
    }


@pytest.mark.slow
def test_two_processors_make_the_same_vectors(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    stand_ins.corpus(tmp_path / "enwik8.txt")
    contents = _made(tmp_path, "default", "Prescott")
    assert contents == _made(tmp_path, "avx2", "Sandybridge")
    assert len({*contents.values()}) == len(NAMES)
