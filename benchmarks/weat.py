"""Time WEAT's exact p-value beside scipy's permutation test and, where installed, WEFE's.

    python benchmarks/weat.py
    python -m venv peer && peer/bin/pip install wefe
    python benchmarks/weat.py --wefe peer/bin/python

One query, mathematics and arts against male and female words (8 of each, 12,870 partitions), on the
sample that comes with the package. Ours and scipy's figures are medians of runs in turn; WEFE,
which takes minutes, runs once. WEFE cannot count all partitions: it draws a given number, so that
its p is not the same number. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import permutation_test

from wordbias import Embedding
from wordbias.measures.weat import Array, associations, p_value
from wordbias.wordlists.queries import FoundQuery, choose_query, load_queries

WEFE = """
import json, sys, time
import numpy as np
from gensim.models import KeyedVectors
from wefe.metrics import WEAT
from wefe.query import Query
from wefe.word_embedding_model import WordEmbeddingModel
given = json.load(open(sys.argv[1]))
vectors = np.array(given["vectors"], np.float32)
kv = KeyedVectors(vectors.shape[1])
kv.add_vectors(given["words"], vectors)
query = Query(given["sets"][:2], given["sets"][2:], ["X", "Y"], ["A", "B"])
t = time.perf_counter()
found = WEAT().run_query(
    query, WordEmbeddingModel(kv, "sample"), calculate_p_value=True,
    p_value_iterations=int(sys.argv[2]),
)
print(json.dumps([time.perf_counter() - t, float(found["p_value"])]))
"""


class Line(NamedTuple):
    """One line of the table."""

    what: str
    seconds: float
    p: float


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each (default 5)")
    parser.add_argument("--wefe", help="a Python that has WEFE")
    parser.add_argument(
        "--iterations", type=int, default=12_869, help="partitions for WEFE to draw (default all)"
    )
    arguments = parser.parse_args()
    embedding = Embedding.sample()
    query = choose_query(load_queries(), "weat7")[0].find(embedding)
    x, y, a, b = (embedding.take(words.found) for words in query.sets)
    lines = in_turn(associations(x, a, b), associations(y, a, b), arguments.runs)
    if arguments.wefe:
        lines.append(wefe(arguments.wefe, embedding, query, arguments.iterations))
    report(lines)


def in_turn(s_x: Array, s_y: Array, runs: int) -> list[Line]:
    """Time ours and scipy's, one after the other, on the same associations."""
    sides: dict[str, Callable[[], float]] = {
        "wordbias, exact": lambda: p_value(s_x, s_y, np.random.default_rng(0)).p,
        "scipy.stats.permutation_test, exact": lambda: peer(s_x, s_y),
    }
    taken: dict[str, list[float]] = {name: [] for name in sides}
    values = {}
    for _ in range(runs + 1):
        for name, side in sides.items():
            start = time.perf_counter()
            values[name] = side()
            taken[name].append(time.perf_counter() - start)
    return [Line(name, statistics.median(taken[name][1:]), values[name]) for name in sides]


def peer(s_x: Array, s_y: Array) -> float:
    """Count the same partitions with scipy, vectorised as its documentation advises."""

    def difference(x: Array, y: Array, axis: int) -> Array:
        return np.asarray(x.mean(axis=axis) - y.mean(axis=axis))

    test = permutation_test(
        (s_x, s_y),
        difference,
        permutation_type="independent",
        n_resamples=np.inf,
        alternative="greater",
        vectorized=True,
    )
    return float(test.pvalue)


def wefe(python: str, embedding: Embedding, found: FoundQuery, iterations: int) -> Line:
    """Time WEFE once, in its own interpreter, on the same words and vectors."""
    sets = [list(words.found) for words in found.sets]
    words = [word for words in sets for word in words]
    given = {"words": words, "vectors": embedding.take(words).tolist(), "sets": sets}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.json"
        path.write_text(json.dumps(given), encoding="utf-8")
        done = subprocess.run(
            [python, "-c", WEFE, path, str(iterations)], capture_output=True, text=True, check=True
        )
    seconds, p = json.loads(done.stdout.splitlines()[-1])
    return Line(f"WEFE, {iterations:,} draws with replacement, unseeded", seconds, p)


def report(lines: list[Line]) -> None:
    """Print the table."""
    ours = lines[0].seconds
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}\n")
    print("| what | seconds | times ours | p |")
    print("|---|---:|---:|---:|")
    for line in lines:
        print(f"| {line.what} | {line.seconds:.5f} | {line.seconds / ours:,.0f} | {line.p:.6f} |")


if __name__ == "__main__":
    main()
