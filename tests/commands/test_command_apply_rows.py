"""`wordbias apply` and `wordbias probe` on rows of vectors, from the shell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RNG = np.random.default_rng(2)
N, DIM = 400, 8
Y = np.array(["f", "m"])[RNG.integers(0, 2, N)]
X = (RNG.normal(size=(N, DIM)) + 2 * (Y == "f")[:, None]).astype(np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a method and a file of rows, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    wb.LEACE().fit(X, Y).save("eraser.safetensors")
    pq.write_table(pa.table({"g": Y, "v": list(X)}), "s.parquet", row_group_size=100)
    return tmp_path


@pytest.mark.slow
def test_probe_finds_nothing_after_apply(folder: Path, cli: Callable[..., Any]) -> None:
    """The majority is what a linear probe of cleaned rows is left with."""
    done = cli("apply", "eraser.safetensors", "s.parquet", "-o", "clean.parquet")
    assert (done.code, done.err) == (0, "")
    assert "400       1        0" in done.out
    assert "Written: clean.parquet (parquet)" in done.out
    accuracies = {}
    for name in ("s", "clean"):
        probed = cli("probe", f"{name}.parquet", "--labels", "g", "--accuracy", "--seed", "0",
                   "--format", "json")  # fmt: skip
        rows = json.loads(probed.out)["rows"]
        accuracies[name] = next(row for row in rows if row["measure"] == "probe-accuracy")
    assert accuracies["s"]["value"] > 0.9
    assert accuracies["clean"]["low"] < accuracies["clean"]["neutral"] + 0.05


@pytest.mark.slow
def test_a_folder_by_two_processes(folder: Path, cli: Callable[..., Any]) -> None:
    (folder / "in").mkdir()
    for i in range(4):
        np.save(folder / "in" / f"{i}.npy", X[i * 100 :][:100])
    done = cli("apply", "eraser.safetensors", "in", "-o", "out", "--jobs", "2", "--format", "json")
    (row,) = json.loads(done.out)["rows"]
    assert (row["value"], row["shards"], row["skipped"]) == (400, 4, 0)
    assert row["rows_per_second"] > 0
    written = np.concatenate([np.load(folder / "out" / f"{i}.npy") for i in range(4)])
    np.testing.assert_array_equal(written, wb.apply("eraser.safetensors", X))
    rerun = cli("apply", "eraser.safetensors", "in", "-o", "out")
    assert "4 shards that an earlier call wrote" in rerun.out


@pytest.mark.slow
def test_ctrl_c_is_one_line_and_the_same_call_resumes(folder: Path) -> None:
    (folder / "in").mkdir()
    x = np.tile(X, (200, 1))
    for i in range(60):
        np.save(folder / "in" / f"{i:02}.npy", x)
    call = [sys.executable, "-m", "wordbias", "apply", "eraser.safetensors", "in", "-o", "out"]
    process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not (folder / "out" / "02.npy").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert (out, len(err.splitlines())) == ("", 1)
    assert "the same call resumes from out: " in err
    whole = [name for name in os.listdir("out") if name.endswith(".npy")]
    # the last one may be whole, and not on record yet
    finished = int(err.rpartition(": ")[2].split()[0])
    assert len(whole) - 1 <= finished <= len(whole)
    assert 3 <= len(whole) < 60
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert f"{finished} shards that an earlier call wrote" in done.stdout
    expected = (folder / "out" / "00.npy").read_bytes()
    assert all((folder / "out" / f"{i:02}.npy").read_bytes() == expected for i in range(60))
    assert not list(folder.glob("out/.*.part"))
    assert not (folder / "out.lock").exists()


def test_errors_are_one_line(folder: Path, cli: Callable[..., Any]) -> None:
    (folder / "full").mkdir()
    (folder / "full" / "mine.txt").write_text("mine")
    (folder / "in").mkdir()
    np.save(folder / "in" / "a.npy", X)
    np.savez("two.npz", a=X, b=X)
    for arguments, message in (
        (("s.parquet", "-o", "s.parquet"), "is both VECTORS and -o; name two files"),
        (("s.parquet", "-o", "s.npy"), "rows keep their format, parquet"),
        (("s.parquet", "-o", "no/s.parquet"), "the folder"),
        (
            ("in", "-o", "full"),
            "other files than these shards, such as mine.txt; name a new folder",
        ),
        (("full", "-o", "out"), "mine.txt: holds no rows of vectors"),
        (("two.npz", "-o", "b.npz"), "choose with --array NAME"),
        (("s.parquet", "-o", "b.parquet", "--array", "g"), "its columns: g, v"),
        (("none.parquet", "-o", "b.parquet"), "none.parquet: there is no such file"),
    ):
        done = cli("apply", "eraser.safetensors", *arguments)
        assert (done.code, done.out, len(done.err.splitlines())) == (1, "", 1), done.err
        assert message in done.err
    assert (folder / "full" / "mine.txt").read_text() == "mine"
    probed = cli("probe", "two.npz", "--labels", "g")
    assert (probed.code, "a, b; choose with --array NAME" in probed.err) == (1, True)
    probed = cli("probe", "s.parquet", "--labels", "q")
    assert "--labels 'q': neither a column of s.parquet (it has g) nor a file" in probed.err
