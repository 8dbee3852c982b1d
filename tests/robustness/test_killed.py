"""A command that was killed at any moment, called again, ends as if it had not been.

Commands of many files, killed at each of some, are in `test_kills.py`.

Nothing half-written ever has the output's name. What may remain of a killed process: the file it
goes on from, which the same call removes in the end; and, if it is hit in the instant between
naming a complete file and putting it in place, that file under a hidden name (``.NAME.PID.part``).
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from killing import Moment, finished, killed, replaced, written

from wordbias.formats import save
from wordbias.wordlists import common_names

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]
OLD = b"what was here before"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.endswith(".part")}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Return a file of vectors that takes a moment to be written."""
    female, male = common_names()
    words = [name.lower() for name in (*female, *male)] + [f"zq{i}z" for i in range(40_000)]
    vectors = np.random.default_rng(3).standard_normal((len(words), 40)).astype(np.float32)
    save(tmp_path / "people.txt", words, vectors)
    return tmp_path / "people.txt"


def test_misp(people: Path, tmp_path: Path) -> None:
    folder = tmp_path / "outputs"
    folder.mkdir()
    whole, output = tmp_path / "whole.txt", folder / "o.txt"
    finished(["misp", people, "-q", "-o", whole])
    rng = random.Random(0)
    output.write_bytes(OLD)
    call = ["misp", people, "-q", "-o", output]
    size = whole.stat().st_size
    moments = [written(folder, int(size * rng.random())) for _ in range(3)]
    landed = [killed(call, moment) for moment in moments]
    landed.append(killed(call, lambda pid: True))
    assert any(landed), "none of them was killed before its end"
    assert output.read_bytes() in (OLD, whole.read_bytes())
    if all(landed):
        assert output.read_bytes() == OLD
    assert len(list(folder.glob(".*.part"))) <= sum(landed)
    finished(call)
    assert output.read_bytes() == whole.read_bytes()
    assert names(folder) == {"o.txt"}


def undisturbed(cli: Any, *arguments: object) -> str:
    """Run a command in this process, which has loaded torch already; return what it printed."""
    done = cli(*arguments)
    assert done.code == 0, done.err
    printed: str = done.out
    return printed


def killed_before_its_end(
    call: list[object], moment: Moment, delay: float, output: Path, whole: Path, before: str = ""
) -> bool:
    """Kill a call; an output that it had written by then is complete, and does not count."""
    stopped = killed(call, moment, delay, before=before)
    if not output.exists():
        return stopped
    assert output.read_bytes() == whole.read_bytes()
    output.unlink()
    return False


def test_nli_train(cli: Any, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    rng, draw = random.Random(1), np.random.default_rng(0)
    words = [f"w{i}" for i in range(20)]
    save(tmp_path / "v.txt", words, draw.standard_normal((20, 8)).astype(np.float32))
    for name, count in (("train", 400), ("dev", 60)):
        lines = [
            f"{label}\t{' '.join(draw.choice(words, 4))}\t{draw.choice(words)}"
            for label in draw.choice(["neutral", "entailment", "contradiction"], count)
        ]
        (tmp_path / f"{name}.tsv").write_text("\n".join(["label\tpremise\thypothesis", *lines]))
    options = (
        tmp_path / "v.txt", "--train", tmp_path / "train.tsv", "--dev", tmp_path / "dev.tsv",
        "--epochs", 12, "--hidden", 6, "--batch-size", 16, "--threads", 1, "-q", "--format",
        "csv", "-o",
    )  # fmt: skip
    whole, folder = tmp_path / "whole", tmp_path / "outputs"
    whole.mkdir()
    folder.mkdir()
    printed = undisturbed(cli, "nli-train", *options, whole / "m")
    call, checkpoint = ["nli-train", *options, folder / "m"], folder / "m.checkpoint"
    landed = [
        killed_before_its_end(
            call, replaced(checkpoint, 2 + i), 0.1 * rng.random(), folder / "m", whole / "m"
        )
        for i in range(2)
    ]
    assert any(landed), "none of them was killed before its end"
    if all(landed):
        assert names(folder) == {"m.checkpoint", "m.lock", "m.log.jsonl"}
    assert finished(call) == printed
    assert (folder / "m").read_bytes() == (whole / "m").read_bytes()
    assert names(folder) == names(whole) == {"m", "m.log.jsonl"}
