"""Time the classic measures on one file of GloVe text, GIPE beside a straightforward peer.

    python benchmarks/measures.py glove.6B.100d.txt

The peer does what published tools do: blocks of 64 queries, all their cosines, a full partition of
each row. It is given a subset of the queries and its seconds are scaled to all of them, which is
fair because each query costs it the same. Ours and the peer run in turn, each in a process of its
own. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

QUERIES = 47_000
K = 100
THETA = 0.03

START = """
import json, resource, sys, time
import numpy as np
import wordbias as wb
from wordbias import Attribute
from wordbias.measures.panel import make_panels
from wordbias.progress import set_quiet
set_quiet(True)
embedding = wb.load(sys.argv[1])
count, k, theta = int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
(panel,) = make_panels([embedding], None, Attribute.load())
words = list(panel.vocabulary)[:count]
np.sum(embedding.vectors)  # a memory-mapped file is read now
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
"""
END = """
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps([seconds, peak / 1024, value, len(words)]))
"""
OURS = (
    START
    + """
from wordbias.measures.gipe import gipe_rows
from dataclasses import replace
panel = replace(panel, vocabulary=words, neighbours=k)
t = time.perf_counter()
value = gipe_rows(panel)[0].value
seconds = time.perf_counter() - t
"""
    + END
)
PEER = (
    START
    + """
subset = int(sys.argv[5])
queries, _ = embedding.rows(words)
g = embedding["she"] - embedding["he"]
g /= np.linalg.norm(g)
t = time.perf_counter()
x = embedding.vectors / np.linalg.norm(embedding.vectors, axis=1, keepdims=True)
along = x @ g
rest = x - along[:, None] * g
rest /= np.linalg.norm(rest, axis=1, keepdims=True)
once = time.perf_counter() - t
t = time.perf_counter()
illicit = []
for start in range(0, subset, 64):
    rows = queries[start : min(start + 64, subset)]
    cosine = x[rows] @ x.T
    cosine[np.arange(len(rows)), rows] = -np.inf
    near = np.argpartition(cosine, -k, axis=1)[:, -k:]
    for w, neighbours in zip(rows, near):
        dot = x[neighbours] @ x[w]
        illicit.append(((dot - rest[neighbours] @ rest[w]) / dot > theta).mean())
seconds = once + (time.perf_counter() - t) * len(words) / subset
value = float(np.mean(illicit))
"""
    + END
)
DIRECT = (
    START
    + """
from wordbias.measures import direct_bias
from wordbias.devices import blas_threads
x = embedding.take(words)
g = embedding["she"].astype(float) - embedding["he"]
times = []
with blas_threads(1):
    for _ in range(9):
        t = time.perf_counter()
        value = direct_bias(x, g)
        times.append(time.perf_counter() - t)
seconds = sorted(times)[4]
"""
    + END
)


class Run(NamedTuple):
    """Wall-clock seconds, peak memory in MB and output of one process."""

    seconds: float
    peak: float
    printed: str


class Found(NamedTuple):
    """Figures that a program measures itself: seconds, MB beyond the vectors, value, words."""

    seconds: float
    beyond: float
    value: float
    words: int


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("glove", type=Path, help="GloVe text, such as glove.6B.100d.txt")
    parser.add_argument("--runs", type=int, default=1, help="counted runs of each (default 1)")
    parser.add_argument("--subset", type=int, default=1280, help="queries the peer is given")
    parser.add_argument("--sembias", type=Path, help="the SemBias test set, for the whole command")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WORDBIAS_CACHE"] = folder
        python("import sys, wordbias as wb; wb.load(sys.argv[1])",
               arguments.glove)  # fmt: skip
        lines = measure(arguments.glove, arguments.runs, arguments.subset, arguments.sembias)
    report(arguments.glove, lines, arguments.runs)


def measure(glove: Path, runs: int, subset: int, sembias: Path | None) -> list[list[str]]:
    """Take all figures, as lines of the table."""
    ours, peer, direct, whole = [], [], [], []
    given = ["--sembias", sembias] if sembias else []
    only = "midb,direct-bias,clustering,recoverability,sembias"
    for _ in range(runs):
        ours.append(found(OURS, glove))
        peer.append(found(PEER, glove, subset))
        direct.append(found(DIRECT, glove))
        whole.append(process("-m", "wordbias", "measure", "--only", only, "-q", *given))
    seconds, scaled = middle(ours, 0), middle(peer, 0)
    return [
        [f"GIPE, {ours[0].words:,} words, k = {K}: {ours[0].value:.4f}", f"{seconds:.1f} s",
         f"{scaled:.1f} s, scaled from {subset:,} words", f"{scaled / seconds:.1f}×", ""],
        ["… peak memory beyond the vectors", f"{middle(ours, 1):.0f} MB",
         f"{middle(peer, 1):.0f} MB", "", ""],
        [f"direct bias, {direct[0].words:,} words", f"{middle(direct, 0):.3f} s", "", "",
         "≤ 0.03 s"],
        ["wordbias measure of the sample, all but GIPE, whole process",
         f"{middle(whole, 0):.1f} s", "", "", "≤ 20 s"],
        ["… its peak memory", f"{middle(whole, 1):.0f} MB", "", "", ""],
    ]  # fmt: skip


def found(code: str, glove: Path, *more: object) -> Found:
    """Run a program that measures itself."""
    return Found(*json.loads(python(code, glove, QUERIES, K, THETA, *more).printed))


def middle(runs: list[Found] | list[Run], i: int) -> float:
    """Median of one figure."""
    return statistics.median(float(run[i]) for run in runs)


def python(code: str, *arguments: object) -> Run:
    """Run a program given as text."""
    return process("-c", code, *arguments)


def process(*arguments: object) -> Run:
    """Run Python with these arguments and account for it.

    A child's peak memory starts at what its parent held, so this program itself stays small.
    """
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        child = subprocess.Popen([sys.executable, *map(str, arguments)], stdout=output)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            raise SystemExit(f"failed: {arguments}")
        output.seek(0)
        return Run(seconds, usage.ru_maxrss / 1024, output.read().decode())


def report(glove: Path, lines: list[list[str]], runs: int) -> None:
    """Print the table, and what it was taken on."""
    from importlib.metadata import version

    counted = f"median of {runs} runs" if runs > 1 else "one run"
    cores = len(os.sched_getaffinity(0))
    print(f"{glove.name}; {counted}; {cores} cores, load {os.getloadavg()[0]:.1f}")
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn"))
    print(f"Python {platform.python_version()}, {libraries}\n")
    print("| | wordbias | peer | ratio | target |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for line in lines:
        print(f"| {' | '.join(line)} |")


if __name__ == "__main__":
    main()
