"""Time the debiasing methods on one file, beside WEFE and the published recipes.

    python benchmarks/debias.py glove.6B.100d.txt --wide glove.840B.300d.txt
    python -m venv peer && peer/bin/pip install wefe torch
    python benchmarks/debias.py glove.6B.100d.txt --wide … --wefe peer/bin/python

Everything is in memory when the clock starts: fitting and applying are counted, loading is not. A
peer runs after ours, each in a process of its own. WEFE's RAN, which has an optimiser a word, is
given few words. The peer of double-hard is its recipe with sklearn, every candidate on the whole
vocabulary, as the authors' notebook does it; that of INLP is the authors' loop of sklearn's
LinearSVC on the same words. Prints a Markdown table.
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
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import wordbias as wb
from wordbias import Attribute
from wordbias.methods.words import listed_words
from wordbias.vocabulary import choose_vocabulary

RAN_WORDS = 2048
RAN_PEER_WORDS = 60

OURS = """
import json, resource, sys, time
import numpy as np
from importlib import import_module
import wordbias as wb
from wordbias import Attribute
from wordbias.progress import set_quiet
set_quiet(True)
loaded = wb.load(sys.argv[1])
emb = loaded.with_vectors(np.array(loaded.vectors))
given = json.load(open(sys.argv[2]))
def run(name, **settings):
    method = import_module("wordbias.methods." + name)
    method.fit(emb.subset([*emb.words[:2000], *given["listed"]]))  # imports
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    t = time.perf_counter()
    fitted = method.fit(emb, **settings)
    fitted(emb)
    seconds = time.perf_counter() - t
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps([seconds, peak / 1024, ""]))
"""
RAN = """
import json, sys, time
import numpy as np
import wordbias as wb
from wordbias import Attribute
from wordbias.methods.ran import repulsion_sets
from wordbias.methods.ran.optimise import Objective, minimise
from wordbias.arrays import unit
from wordbias.measures.direction import find_direction
from wordbias.progress import set_quiet
set_quiet(True)
loaded = wb.load(sys.argv[1])
given = json.load(open(sys.argv[2]))
emb = loaded.with_vectors(unit(loaded.vectors))
at, _ = emb.rows(given["words"])
g = find_direction(emb, Attribute.load(), "pca").defined()
repelled = repulsion_sets(emb.vectors, at, g, 100, 0.05)
objective = Objective(emb.vectors, g.basis[0])
minimise(objective, at[:8], repelled.sets[:8], 3, 0.01)
t = time.perf_counter()
minimise(objective, at, repelled.sets, 300, 0.01)
print(json.dumps([time.perf_counter() - t, 0, ""]))
"""
INLP = """
import json, sys, time
import numpy as np
import scipy.linalg
from sklearn.svm import LinearSVC
import wordbias as wb
from wordbias import Attribute
from wordbias.methods.classes import labelled_words
from wordbias.methods.inlp import learn
emb = wb.load(sys.argv[1])
found = labelled_words(emb, Attribute.load(), classes=3, per_class=7500)
x = found.vectors(emb)
def ours():
    return [r.accuracy for r in learn(
        x, found.labels, found.train, found.dev, rounds=35, centre=False, stop_at=0.0
    ).rounds]
def peer():
    row_space = lambda w: (lambda b: b @ b.T)(scipy.linalg.orth(w.T))
    train, dev, accuracies, projections = x[found.train], x[found.dev], [], []
    a, b = train, dev
    for _ in range(35):
        model = LinearSVC(fit_intercept=False, dual=False, random_state=0)
        model.fit(a, found.labels[found.train])
        accuracies.append(model.score(b, found.labels[found.dev]))
        projections.append(row_space(model.coef_))
        p = np.eye(x.shape[1]) - row_space(np.sum(projections, 0))
        a, b = train @ p, dev @ p
    return accuracies
t = time.perf_counter()
accuracies = ours() if sys.argv[3] == "ours" else peer()
seconds = time.perf_counter() - t
print(json.dumps([seconds, 0, f"{len(found.train):,} × {x.shape[1]}, dev {accuracies[-1]:.4f}"]))
"""
DOUBLE_HARD_PEER = """
import json, sys, time
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
import wordbias as wb
from wordbias import Attribute
loaded = wb.load(sys.argv[1])
given = json.load(open(sys.argv[2]))
x, gender = np.array(loaded.vectors), Attribute.load()
index = loaded.index
g = loaded["she"] - loaded["he"]
lean = (x[[index[w] for w in given["neutral"]]] @ g)
lean /= np.linalg.norm(x[[index[w] for w in given["neutral"]]], axis=1)
order = np.argsort(lean)
rows = [index[given["neutral"][i]] for i in (*order[:1000], *order[-1000:])]
pairs = [(index[a], index[b]) for a, b in gender.pairs if a in index and b in index]
def direction(v):
    centred = []
    for a, b in pairs:
        centre = (v[a] + v[b]) / 2
        centred += [v[a] - centre, v[b] - centre]
    return PCA(1).fit(np.array(centred)).components_[0]
t = time.perf_counter()
mu = x.mean(0)
components = PCA().fit(x).components_
best = None
for k in range(20):
    v = x - (x @ components[k])[:, None] * components[k] - mu
    d = direction(v)
    v -= (v @ d)[:, None] * d
    found = KMeans(2, n_init=10, random_state=1).fit_predict(v[rows])
    share = (found == np.repeat([0, 1], 1000)).mean()
    score = max(share, 1 - share)
    if best is None or score < best[0]:
        best = score, k
print(json.dumps([time.perf_counter() - t, 0, f"chose k = {best[1]}"]))
"""
WEFE = """
import json, resource, sys, time
import numpy as np
from gensim.models import KeyedVectors
from wefe.word_embedding_model import WordEmbeddingModel
given = json.load(open(sys.argv[2]))
vectors = np.load(sys.argv[1] + ".npy")
kv = KeyedVectors(vectors.shape[1])
kv.add_vectors(given["vocabulary"], vectors)
model = WordEmbeddingModel(kv, "peer")
def start():
    global t, before
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    t = time.perf_counter()
def stop():
    seconds = time.perf_counter() - t
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps([seconds, peak / 1024, ""]))
"""
WEFE_HARD = (
    WEFE
    + """
from wefe.debias.hard_debias import HardDebias
start()
HardDebias().fit(model, given["pairs"], equalize_pairs=given["equalise"]).transform(
    model, ignore=given["specific"], copy=False)
stop()
"""
)
WEFE_SIBLING = (
    WEFE
    + """
from wefe.debias.half_sibling_regression import HalfSiblingRegression
start()
HalfSiblingRegression().fit(model, given["specific"]).transform(
    model, ignore=given["specific"], copy=False)
stop()
"""
)
WEFE_RAN = (
    WEFE
    + """
from wefe.debias.repulsion_attraction_neutralization import RepulsionAttractionNeutralization
method = RepulsionAttractionNeutralization().fit(model, given["pairs"])
words = given["words"][:int(sys.argv[3])]
start()
method.transform(model, target=words, copy=True)
stop()
"""
)


class Taken(NamedTuple):
    """Seconds, MB beyond what was loaded, and a remark."""

    seconds: float
    beyond: float
    remark: str


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("glove", type=Path, help="GloVe text, such as glove.6B.100d.txt")
    parser.add_argument("--wide", type=Path, help="300 dimensions, for INLP")
    parser.add_argument("--wefe", help="a Python that has WEFE and torch")
    parser.add_argument("--runs", type=int, default=3, help="counted runs of ours (default 3)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WORDBIAS_CACHE"] = folder
        given = prepare(arguments.glove, Path(folder))
        report(arguments.glove, measure(arguments, given), arguments.runs)


def prepare(glove: Path, folder: Path) -> Path:
    """Write what the programs need of the file: words, lists, and the matrix for the peer."""
    emb = wb.load(glove)
    gender = Attribute.load()
    neutral = choose_vocabulary([emb], gender)
    rng = np.random.default_rng(0)
    words = [neutral[i] for i in rng.permutation(len(neutral))[:RAN_WORDS]]
    pairs = [list(p) for p in gender.pairs if all(w in emb for w in p)]
    equalise = [list(p) for p in gender.equalise if all(w in emb for w in p)]
    specific = sorted(w for w in gender.specific if w in emb)
    listed = sorted(word for word in listed_words(gender) if word in emb)
    path = folder / "given.json"
    lists = {
        "vocabulary": list(emb.words), "neutral": neutral, "words": words, "pairs": pairs,
        "equalise": equalise, "specific": specific, "listed": listed,
    }  # fmt: skip
    path.write_text(json.dumps(lists), encoding="utf-8")
    np.save(folder / "given.json.npy", emb.vectors)
    return path


def measure(arguments: argparse.Namespace, given: Path) -> Iterator[list[str]]:
    """Take all figures, as lines of the table, the quick ones first."""
    glove, runs, wefe = arguments.glove, arguments.runs, arguments.wefe

    def ours(call: str) -> Taken:
        return middle([python(OURS + call, glove, given) for _ in range(runs)])

    def peer(code: str, *more: object) -> Taken | None:
        return python(code, given, given, *more, interpreter=wefe) if wefe else None

    yield line("hard debias, fit and apply", ours('run("hard")'), peer(WEFE_HARD), "≤ 0.1 s")
    for name in ("bam", "oscar"):
        yield line(name, ours(f'run("{name}")'), None, "")
    sibling, other = ours('run("half_sibling")'), peer(WEFE_SIBLING)
    yield line("half-sibling regression", sibling, other, "")
    yield memory("… memory beyond the vectors", sibling, other)
    if arguments.wide:
        fast = middle([python(INLP, arguments.wide, given, "ours") for _ in range(runs)])
        loop = python(INLP, arguments.wide, given, "peer")
        yield line("INLP, 35 rounds", fast, loop, "≥ 4×")
    ran = middle([python(RAN, glove, given) for _ in range(runs)])
    yield each_word(ran, peer(WEFE_RAN, RAN_PEER_WORDS))
    double = ours('run("double_hard")')
    loop = python(DOUBLE_HARD_PEER, glove, given)
    yield line("double-hard, 20 candidates", double, loop, "≤ 0.5 s")


def line(what: str, ours: Taken, peer: Taken | None, asked: str) -> list[str]:
    """One line of the table: seconds."""
    title = what + (f" ({ours.remark})" if ours.remark else "")
    if peer is None:
        return [title, f"{ours.seconds:.3f} s", "", "", asked]
    remark = f" ({peer.remark})" if peer.remark else ""
    ratio = f"{peer.seconds / ours.seconds:.1f}×"
    return [title, f"{ours.seconds:.3f} s", f"{peer.seconds:.2f} s{remark}", ratio, asked]


def memory(what: str, ours: Taken, peer: Taken | None) -> list[str]:
    """One line of the table: memory."""
    other = "" if peer is None else f"{peer.beyond:.0f} MB"
    return [what, f"{ours.beyond:.0f} MB", other, "", "≤ 2 × the matrix"]


def each_word(ours: Taken, peer: Taken | None) -> list[str]:
    """One line of the table: milliseconds a word."""
    mine = ours.seconds / RAN_WORDS * 1000
    what = "RAN, a word of 300 steps, neighbours given"
    if peer is None:
        return [what, f"{mine:.3f} ms", "", "", "≤ 2 ms"]
    other = peer.seconds / RAN_PEER_WORDS * 1000
    cell = f"{other:.0f} ms, {RAN_PEER_WORDS} words, neighbours included"
    return [what, f"{mine:.3f} ms", cell, f"{other / mine:.0f}×", "≤ 2 ms"]


def middle(runs: list[Taken]) -> Taken:
    """Median of each figure."""
    seconds = statistics.median(run.seconds for run in runs)
    beyond = statistics.median(run.beyond for run in runs)
    return Taken(seconds, beyond, runs[0].remark)


def python(code: str, *arguments: object, interpreter: str = sys.executable) -> Taken:
    """Run a program that measures itself."""
    done = subprocess.run(
        [interpreter, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return Taken(*json.loads(done.stdout.splitlines()[-1]))


def report(glove: Path, lines: Iterable[list[str]], runs: int) -> None:
    """Print the table, and what it was taken on."""
    from importlib.metadata import version

    cores = len(os.sched_getaffinity(0))
    print(f"{glove.name}; median of {runs} runs; {cores} cores, load {os.getloadavg()[0]:.1f}")
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn"))
    print(f"Python {platform.python_version()}, {libraries}\n")
    print("| | wordbias | peer | ratio | target |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for cells in lines:
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
