"""Three million words stream through `wordbias misp` in the memory that is promised."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.formats.text import encode
from wordbias.wordlists import common_names

WORDS, DIM, PROMISED = 3_000_000, 10, 350
"""How many, of how many values, and megabytes of memory at the peak."""


def write(path: Path, count: int) -> None:
    """Write GloVe text with the names that misp is fitted on, and other words behind them."""
    names = [name.lower() for group in common_names() for name in group]
    step, rng = 100_000, np.random.default_rng(0)
    with path.open("wb") as out:
        for start in range(0, count, step):
            words = [f"zq{i}z" for i in range(start, min(start + step, count))]
            words[: len(names) * (start == 0)] = names * (start == 0)
            rows = rng.standard_normal((len(words), DIM)).astype(np.float32)
            out.write(encode([word.encode() for word in words], rows))


def peak(*arguments: object) -> float:
    """Run the command line; return its largest memory in megabytes."""
    call = [sys.executable, "-m", "wordbias", *map(str, arguments)]
    child = subprocess.Popen(call, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return usage.ru_maxrss / 1024


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
@pytest.mark.skipif(not os.environ.get("WORDBIAS_LARGE"), reason="long; set WORDBIAS_LARGE=1")
def test_three_million_words_stream(tmp_path: Path, record_property: Any) -> None:
    path, output = tmp_path / "v.txt", tmp_path / "o.txt"
    write(path, WORDS)
    megabytes = peak("misp", path, "-q", "-o", output, "--format", "csv")
    record_property("megabytes at the peak", round(megabytes))
    assert megabytes < PROMISED
    with path.open("rb") as before, output.open("rb") as after:
        pairs = zip(before, after, strict=True)
        assert sum(a.split(b" ", 1)[0] == b.split(b" ", 1)[0] for a, b in pairs) == WORDS
