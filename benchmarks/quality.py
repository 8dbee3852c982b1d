"""Time Google's analogies beside gensim on one file of vectors, both in one run.

    pip install -e ".[gensim]"
    python benchmarks/quality.py glove.6B.100d.txt questions-words.txt

Every figure is the median of several runs, each in a process of its own; ours and gensim run in
turn (A, B, A, B, …), so that a machine that slows down slows both. Only answering is timed, not
reading the vectors. gensim answers with 3CosAdd over the first `restrict_vocab` words, one question
at a time; it gets one in twenty here (`--every`), and times a question are compared. Prints a
Markdown table.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OURS = """
import sys, time
import wordbias as wb
from wordbias.word_tasks import find_sets, quality
embedding = wb.load(sys.argv[1])
t = time.perf_counter()
rows = [one.row for one in quality(embedding, find_sets(sys.argv[2]), method=sys.argv[3])]
total = rows[-1]
print(time.perf_counter() - t, total.value, total.details["n"])
"""
PEER = """
import sys, time
import wordbias as wb
vectors = wb.load(sys.argv[1]).to_gensim()
t = time.perf_counter()
score, sections = vectors.evaluate_word_analogies(sys.argv[2], restrict_vocab=int(sys.argv[3]))
n = len(sections[-1]["correct"]) + len(sections[-1]["incorrect"])
print(time.perf_counter() - t, score, n)
"""


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("vectors", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--every", type=int, default=20, help="gensim gets one question in so many")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        few = Path(folder) / "few.txt"
        few.write_text(thinned(given.questions.read_text("utf-8"), given.every), "utf-8")
        whole = given.questions
        plans = {
            "wordbias, 3CosAdd, all words": (OURS, whole, "add"),
            "wordbias, 3CosMul, all words": (OURS, whole, "mul"),
            "wordbias, 3CosAdd, all words, gensim's questions": (OURS, few, "add"),
            "gensim, 300,000 words": (PEER, few, "300000"),
            "gensim, 400,000 words": (PEER, few, "400000"),
        }
        timings: dict[str, list[list[float]]] = {name: [] for name in plans}
        for _ in range(given.runs):
            for name, (script, questions, option) in plans.items():
                timings[name].append(timed(script, given.vectors, questions, option))
        command = time_of_command(given.vectors, whole)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    print(f"Median of {given.runs} runs.\n")
    print(table(timings))
    print(f"\nWhole command, cached vectors, start included: {command:.1f} s")


def thinned(text: str, every: int) -> str:
    """Keep one question in `every`, and all names of sections."""
    lines = text.splitlines()
    selection = [line for i, line in enumerate(lines) if line.startswith(":") or i % every == 0]
    return "\n".join(selection) + "\n"


def timed(script: str, vectors: Path, questions: Path, option: str) -> list[float]:
    """Run a script and return the seconds, the score and the questions that it prints."""
    command = [sys.executable, "-c", script, str(vectors), str(questions), option]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


def time_of_command(vectors: Path, questions: Path) -> float:
    """Return the seconds of the command line, from start to end."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "wordbias", "quality", str(vectors), "--sets", str(questions)]
    subprocess.run([*command, "-q"], capture_output=True, check=True)
    return time.perf_counter() - start


def table(found: dict[str, list[list[float]]]) -> str:
    """Tabulate seconds, questions, milliseconds a question and share answered of each way."""
    lines = ["| | seconds | questions | ms a question | answered |", "|---|---:|---:|---:|---:|"]
    for name, runs in found.items():
        seconds, n = statistics.median(run[0] for run in runs), runs[0][2]
        lines.append(
            f"| {name} | {seconds:.2f} | {n:,.0f} | {1000 * seconds / n:.3f} | {runs[0][1]:.4f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
