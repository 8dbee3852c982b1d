"""Time this package beside gensim on one file of GloVe text, everything in one run.

    pip install -e ".[gensim]"
    python benchmarks/vectors.py glove.6B.100d.txt

Every figure is the median of several runs, each in a process of its own; ours and gensim run in
turn (A, B, A, B, …), so that a machine that slows down slows both. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

PEER_LOAD = """
import sys, time
from gensim.models import KeyedVectors
t = time.perf_counter()
KeyedVectors.load_word2vec_format(sys.argv[1], no_header=True)
print(time.perf_counter() - t)
"""
OUR_LOAD = """
import sys, time
from wordbias.formats import load
t = time.perf_counter()
load(sys.argv[1], cache=False)
print(time.perf_counter() - t)
"""
PEER_MISP = """
import sys
import numpy as np
from gensim.models import KeyedVectors
kv = KeyedVectors.load_word2vec_format(sys.argv[1], no_header=True)
f, m = (kv[[w for w in group.split() if w in kv]] for group in sys.argv[3:5])
d = (f[:, None] - m[None]).reshape(-1, kv.vector_size).astype(float)
_, s, g = np.linalg.svd(d, full_matrices=False)
a, g = (s**2 / (s**2).sum())[:4], g[:4]
kv.vectors = (kv.vectors - (kv.vectors @ g.T * a) @ g).astype(np.float32)
kv.save_word2vec_format(sys.argv[2], write_header=False)
"""
PEER_START = """
import sys
from gensim.models import KeyedVectors
KeyedVectors.load(sys.argv[1], mmap="r")["she"]
"""
OUR_START = """
import sys
import wordbias as wb
wb.load(sys.argv[1])["she"]
"""
IN_MEMORY = """
import sys, time
import wordbias as wb
from wordbias.methods import misp, transform_rows
embedding = wb.load(sys.argv[1])
fitted = misp.fit(embedding)
vectors = embedding.vectors.copy()
transform_rows(fitted, vectors)
times = []
for _ in range(7):
    t = time.perf_counter()
    transform_rows(fitted, vectors)
    times.append(time.perf_counter() - t)
print(sorted(times)[3])
"""
MANY_WORDS = """
import sys
import numpy as np
from wordbias.formats.text import encode
names, rng = " ".join(sys.argv[2:4]).split(), np.random.default_rng(0)
with open(sys.argv[1], "wb") as out:
    for start in range(0, 3_000_000, 100_000):
        words = [f"zq{i}z" for i in range(start, start + 100_000)]
        words[: len(names) * (start == 0)] = names * (start == 0)
        rows = rng.standard_normal((100_000, 10)).astype(np.float32)
        out.write(encode([word.encode() for word in words], rows))
"""
COMPARE = """
import sys
import numpy as np
from wordbias.formats import load
ours, peers = (load(path, cache=False) for path in sys.argv[1:3])
furthest = np.abs(ours.vectors - peers.vectors).max()
if ours.words != peers.words or furthest > 1e-5:
    sys.exit(f"the results differ by {furthest}: the comparison means nothing")
print(furthest)
"""


class Run(NamedTuple):
    """Wall-clock seconds, peak memory in MB and output of one process."""

    seconds: float
    peak: float
    printed: str


class Line(NamedTuple):
    """One line of the table."""

    what: str
    ours: float
    unit: str
    peer: float | None = None
    asked: str = ""


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("glove", type=Path, help="GloVe text, such as glove.6B.100d.txt")
    parser.add_argument("--runs", type=int, default=3, help="counted runs of each (default 3)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.glove.parent) as folder:
        os.environ["WORDBIAS_CACHE"] = folder
        lines = measure(arguments.glove, Path(folder), arguments.runs)
    report(arguments.glove, lines, arguments.runs)


def measure(glove: Path, folder: Path, runs: int) -> list[Line]:
    """Take all figures."""
    cores = sorted(os.sched_getaffinity(0))
    ours, peer = inside(runs, OUR_LOAD, PEER_LOAD, glove, cores=cores[:1])
    lines = [Line("load the text, one core", ours, "s", peer, "≥ 8×")]
    ours, peer = inside(runs, OUR_LOAD, PEER_LOAD, glove, cores=cores)
    lines.append(Line(f"load the text, {len(cores)} cores", ours, "s", peer, "≥ 12×"))
    lines += second_start(glove, folder, runs)
    seconds = [float(python(IN_MEMORY, glove).printed) for _ in range(runs)]
    lines.append(
        Line("MISP of all rows in memory", statistics.median(seconds), "s", None, "≤ 0.06 s")
    )
    lines += whole_process(glove, folder, runs)
    lines += many_words(folder, runs)
    helped = [process("-m", "wordbias", "--help").seconds for _ in range(3 * runs)]
    lines.append(Line("wordbias --help", statistics.median(helped), "s", None, "≤ 0.15 s"))
    return lines


def second_start(glove: Path, folder: Path, runs: int) -> list[Line]:
    """Open cached vectors in a new process, and look up one word."""
    kv = folder / "peer.kv"
    python(
        "import sys; from gensim.models import KeyedVectors as K; "
        "K.load_word2vec_format(sys.argv[1], no_header=True).save(sys.argv[2])",
        glove,
        kv,
    )
    python(OUR_START, glove)
    pairs = [(python(OUR_START, glove), python(PEER_START, kv)) for _ in range(runs)]
    ours, peer = (
        statistics.median(run.seconds for run in side) for side in zip(*pairs, strict=True)
    )
    return [Line("second start: open, look up one word", ours, "s", peer, "≤ 0.3 s")]


def whole_process(glove: Path, folder: Path, runs: int) -> list[Line]:
    """`wordbias misp IN -o OUT` beside gensim load, numpy MISP, gensim save."""
    out, names = folder / "out.txt", common_names()
    twice = folder / "twice.txt"
    with twice.open("wb") as file:
        for _ in range(2):
            with glove.open("rb") as source:
                shutil.copyfileobj(source, file)
    ours, peers, long = [], [], []
    for _ in range(runs):
        ours.append(process("-m", "wordbias", "misp", glove, "-o", out, "-q"))
        peers.append(python(PEER_MISP, glove, folder / "peer.txt", *names))
    furthest = python(COMPARE, out, folder / "peer.txt").printed
    print(f"results of both differ by at most {furthest.strip()}", file=sys.stderr)
    for _ in range(runs):
        long.append(process("-m", "wordbias", "misp", twice, "-o", out, "-q"))
    second = [statistics.median(run.seconds for run in side) for side in (ours, peers, long)]
    peak = [statistics.median(run.peak for run in side) for side in (ours, peers, long)]
    return [
        Line("wordbias misp IN -o OUT, whole process", second[0], "s", second[1], "≥ 8×"),
        Line("… its peak memory", peak[0], "MB", peak[1], "≤ 350 MB"),
        Line("… peak memory, a file twice as long", peak[2], "MB", None, "no more"),
        Line("… seconds, a file twice as long", second[2], "s"),
    ]


def many_words(folder: Path, runs: int) -> list[Line]:
    """Stream three million words of 10 values, which shows the memory that each word costs."""
    many = folder / "many.txt"
    python(MANY_WORDS, many, *common_names())
    done = [
        process("-m", "wordbias", "misp", many, "-o", folder / "out.txt", "-q") for _ in range(runs)
    ]
    peak = statistics.median(run.peak for run in done)
    seconds = statistics.median(run.seconds for run in done)
    return [
        Line("wordbias misp, 3 million words × 10: peak memory", peak, "MB", None, "≤ 350 MB"),
        Line("… seconds", seconds, "s"),
    ]


def common_names() -> list[str]:
    """Return our names in lower case, for the peer."""
    from wordbias.wordlists import common_names

    return [" ".join(group).lower() for group in common_names()]


def inside(runs: int, ours: str, peer: str, glove: Path, cores: list[int]) -> tuple[float, float]:
    """Return medians of the figures of both programs, run in turn on the given cores."""
    pairs = [
        [float(python(code, glove, cores=cores).printed) for code in (ours, peer)]
        for _ in range(runs)
    ]
    first, second = (statistics.median(side) for side in zip(*pairs, strict=True))
    return first, second


def python(code: str, *arguments: object, cores: list[int] | None = None) -> Run:
    """Run a program given as text."""
    return process("-c", code, *arguments, cores=cores)


def process(*arguments: object, cores: list[int] | None = None) -> Run:
    """Run Python with these arguments and account for it.

    A child's peak memory starts at what its parent held, so this program itself stays small.
    """
    pin = (lambda: os.sched_setaffinity(0, cores)) if cores else None
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, *map(str, arguments)], stdout=output, preexec_fn=pin
        )
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            raise SystemExit(f"failed: {arguments}")
        output.seek(0)
        return Run(seconds, usage.ru_maxrss / 1024, output.read().decode())


def report(glove: Path, lines: list[Line], runs: int) -> None:
    """Print the table, and what it was taken on."""
    from importlib.metadata import version

    size = glove.stat().st_size / 1e6
    print(f"{glove.name}, {size:.0f} MB; median of {runs} runs; {machine()}")
    print(
        f"Python {platform.python_version()}, numpy {version('numpy')}, "
        f"gensim {version('gensim')}\n"
    )
    print("| | wordbias | gensim 4 | ratio | target |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for line in lines:
        digits = 0 if line.unit == "MB" else 3 if line.ours < 0.1 else 2
        peer = f"{line.peer:.{digits}f} {line.unit}" if line.peer else ""
        ratio = f"{line.peer / line.ours:.1f}×" if line.peer else ""
        ours = f"{line.ours:.{digits}f} {line.unit}"
        print(f"| {line.what} | {ours} | {peer} | {ratio} | {line.asked} |")


def machine() -> str:
    """Name the processor and count the cores that may be used."""
    model = "unknown processor"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [x for x in cpuinfo.read_text().splitlines() if x.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    return f"{model}, {len(os.sched_getaffinity(0))} cores, {platform.system()}"


if __name__ == "__main__":
    main()
