"""Time the training of NLI models and their scoring, beside a plain torch loop.

    python benchmarks/nli.py glove.6B.100d.txt snli_train.tsv.gz snli_dev.tsv.gz

The peer is the loop that one writes first: one model, batches drawn at random and padded to their
longest sentence, `torch.nn.Dropout`, a mask on every softmax and sum; the same optimizer, batch
size, vectors and number of threads. Both train the same model for one epoch, without dev. The
explicit set is scored without torch, and by the peer's model pair by pair in batches. Ours and the
peer run in turn, each in a process of its own. Prints Markdown tables.

With ``--before FOLDER``, a checkout of an earlier commit (``git worktree add FOLDER COMMIT``), two
epochs are timed, by that commit and by this one in turn, in seconds of the CPU: they say more than
the clock's on a busy machine. In the first, oneDNN prepares products of each size.
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
from pathlib import Path

PAIRS = 20_000
SMALL = 4_000
MODELS = 6

START = """
import json, sys, tempfile, time
from dataclasses import replace
from pathlib import Path
import numpy as np, torch
from torch import nn
import wordbias as wb
from wordbias.devices import set_threads
from wordbias.nli.jobs import Data, plan_jobs
from wordbias.nli.lexicon import Encoded
from wordbias.nli.model import DecomposableAttention
from wordbias.nli.pairs import load_pairs
from wordbias.nli.recipes import RECIPES
from wordbias.nli.train import NLITask, initialise, make_optimizer
from wordbias.progress import set_quiet
set_quiet(True)
glove, train, dev, count, name, precision = sys.argv[1:7]
recipe, half, count = replace(RECIPES[name], epochs=1), precision == "bfloat16", int(count)
embedding = wb.load(glove)
data = Data.of({"train": load_pairs(train).head(count), "dev": load_pairs(dev).head(2000)})
table = data.lexicon.table(embedding)
pairs = data.encoded["train"]
def epoch(model, optimizer, losses):
    model.train()
    steps = 0
    start, cpu = time.perf_counter(), time.process_time()
    for loss in losses:
        optimizer.zero_grad(set_to_none=True)
        loss.sum().backward()
        optimizer.step()
    taken = time.process_time() - cpu if "--cpu" in sys.argv else time.perf_counter() - start
    return taken
"""
OURS = (
    START
    + """
torch.set_num_threads(1)
model = DecomposableAttention(embedding.dim)
initialise(model, recipe, [0])
task = NLITask(model, torch.from_numpy(table.vectors)[None], pairs, data.encoded["dev"], recipe,
                [0], half)
optimizer = make_optimizer(model, recipe)
epochs = 2 if "--cpu" in sys.argv else 1
for number in range(epochs):
    print(json.dumps(epoch(model, optimizer, task.losses(number))))
"""
)
NETWORK = """
class Peer(nn.Module):
    def __init__(self, d, h=200, rate=0.2):
        super().__init__()
        net = lambda n: nn.Sequential(nn.Dropout(rate), nn.Linear(n, h), nn.ReLU(),
                                      nn.Dropout(rate), nn.Linear(h, h), nn.ReLU())
        self.project = nn.Linear(d, h, bias=False)
        self.intra, self.attend, self.compare, self.aggregate = map(net, (h, 2*h, 4*h, 2*h))
        self.distance, self.classify = nn.Parameter(torch.zeros(11)), nn.Linear(h, 3)
    def represent(self, x, real):
        x = self.project(x)
        f = self.intra(x)
        place = torch.arange(x.shape[1])
        e = f @ f.mT + self.distance[(place[:, None] - place).abs().clamp(max=10)]
        e = e.masked_fill(~real[:, None], -torch.inf)
        return torch.cat([x, e.softmax(-1) @ x], -1)
    def forward(self, p, q, real_p, real_q):
        a, b = self.represent(p, real_p), self.represent(q, real_q)
        e = self.attend(a) @ self.attend(b).mT
        beta = e.masked_fill(~real_q[:, None], -torch.inf).softmax(-1) @ b
        alpha = e.mT.masked_fill(~real_p[:, None], -torch.inf).softmax(-1) @ a
        v1 = (self.compare(torch.cat([a, beta], -1)) * real_p[..., None]).sum(1)
        v2 = (self.compare(torch.cat([b, alpha], -1)) * real_q[..., None]).sum(1)
        return self.classify(self.aggregate(torch.cat([v1, v2], -1)))
vectors = torch.from_numpy(table.vectors)
def padded(pairs, rows):
    own = pairs.sentences
    words, masks = [], []
    for sentences in (pairs.premise[rows], pairs.hypothesis[rows]):
        start, length = (x[sentences][:, None] for x in (own.start, own.length))
        place = np.arange(length.max())
        masks.append(torch.from_numpy(place < length))
        ids = own.flat[np.where(place < length, start + place, 0)]
        words.append(vectors[torch.from_numpy(ids).long()])
    return *words, *masks
model = Peer(embedding.dim)
"""
PEER = (
    START
    + NETWORK
    + """
torch.set_num_threads(1)
def losses():
    drawn = np.random.default_rng(0).permutation(len(pairs))
    for i in range(0, len(drawn), recipe.batch):
        rows = drawn[i : i + recipe.batch]
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            scores = model(*padded(pairs, rows))
        yield nn.functional.cross_entropy(scores.float(), torch.from_numpy(pairs.labels[rows]))
print(json.dumps(epoch(model, make_optimizer(model, recipe), losses())))
"""
)
SEVERAL = (
    START
    + """
from wordbias.nli.train import Setup, train_all, train_stacked
from wordbias.workers import Workers
how, models = sys.argv[7], int(sys.argv[8])
with tempfile.TemporaryDirectory() as folder:
    jobs = plan_jobs([embedding], range(models), data, recipe, Path(folder))
    set_threads(1 if how == "one" else 2)
    start = time.perf_counter()
    if how == "stacked":
        torch.set_num_threads(2)
        setup = Setup(pairs, data.encoded["dev"], recipe, half)
        train_stacked(jobs, setup, torch.device("cpu"))
    else:
        train_all(jobs, pairs, data.encoded["dev"], recipe, device="cpu", half=half,
                  workers=Workers(2 if how == "processes" else 1))
    print(json.dumps(time.perf_counter() - start))
"""
)
SCORING = (
    START
    + """
from wordbias.nli.files import Model
from wordbias.nli.scoring import score_set
from wordbias.nli.test_sets import build
model = DecomposableAttention(embedding.dim)
initialise(model, RECIPES["fast"], [0])
weights = {name: value.detach()[0].numpy() for name, value in model.named_parameters()}
made, test = Model(weights, embedding.dim, 200, True), build("explicit")
start = time.perf_counter()
score_set(made, embedding, test)
print(json.dumps(time.perf_counter() - start))
"""
)
PEER_SCORING = (
    START
    + """
from wordbias.nli.lexicon import Lexicon
from wordbias.nli.pairs import Pairs, tokenise
from wordbias.nli.test_sets import build
torch.set_num_threads(2)
start = time.perf_counter()
texts = [(tuple(tokenise(p)), tuple(tokenise(q))) for p, q in build("explicit")]
test = Pairs([p for p, _ in texts], [q for _, q in texts], np.zeros(len(texts), np.int64))
lexicon = Lexicon.of([*test.premises, *test.hypotheses])
table, test = lexicon.table(embedding), Encoded.of(test, lexicon)
before = time.perf_counter() - start
"""
    + NETWORK
    + """
model.eval()
start = time.perf_counter() - before
with torch.no_grad():
    for i in range(0, len(test), 512):
        model(*padded(test, np.arange(i, min(i + 512, len(test))))).softmax(-1)
print(json.dumps(time.perf_counter() - start))
"""
)


def main() -> None:
    """Run everything and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("glove", type=Path, help="GloVe text, such as glove.6B.100d.txt")
    parser.add_argument("train", type=Path, help=f"at least {PAIRS:,} pairs, jsonl or TSV")
    parser.add_argument("dev", type=Path, help="at least 2,000 pairs")
    parser.add_argument("--runs", type=int, default=3, help="counted runs of each (default 3)")
    parser.add_argument("--before", type=Path, help="checkout of an earlier commit")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="pairs of --before's epochs")
    arguments = parser.parse_args()
    files = (arguments.glove, arguments.train, arguments.dev)
    if arguments.before is not None:
        beside_before(files, arguments.before, arguments.pairs, arguments.runs)
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("WORDBIAS_CACHE", folder)
        training = [
            beside_peer(files, recipe, precision, arguments.runs)
            for recipe, precision in (
                ("fast", "float32"),
                ("fast", "bfloat16"),
                ("published", "float32"),
            )
        ]
        several = several_models(files, arguments.runs)
        scoring = in_turn(
            [(SCORING, *files, SMALL, "fast", "float32"),
             (PEER_SCORING, *files, SMALL, "fast", "float32")],
            arguments.runs,
        )  # fmt: skip
    report(arguments, training, several, scoring)


def beside_peer(
    files: tuple[Path, ...], recipe: str, precision: str, runs: int
) -> tuple[str, list[float]]:
    """Time one epoch of one model, ours and the peer's."""
    calls = [(code, *files, PAIRS, recipe, precision) for code in (OURS, PEER)]
    return f"{recipe}, {precision}", in_turn(calls, runs)


def beside_before(files: tuple[Path, ...], before: Path, pairs: int, runs: int) -> None:
    """Print the CPU seconds of one epoch of one model, at an earlier commit and at this one."""
    commits = (before.resolve(), Path(__file__).resolve().parent.parent)
    print(f"| an epoch of {pairs:,} pairs, one thread, CPU seconds | before | now | ratio |")
    print("| --- | ---: | ---: | ---: |")
    for recipe, precision in (("fast", "float32"), ("published", "float32"), ("fast", "bfloat16")):
        calls = [(OURS, *files, pairs, recipe, precision, "--cpu") for _ in commits]
        taken = [
            [printed(*call, package=folder) for call, folder in zip(calls, commits, strict=True)]
            for _ in range(runs)
        ]  # runs, commits, epochs
        for i, epoch in enumerate(("first", "second")):
            old, new = ([run[commit][i] for run in taken] for commit in (0, 1))
            each = ", ".join(
                f"{earlier / other:.2f}" for earlier, other in zip(old, new, strict=True)
            )
            before_, now = statistics.median(old), statistics.median(new)
            ratio = f"{before_ / now:.2f}× ({each})"
            print(f"| {recipe}, {precision}, {epoch} | {before_:.1f} | {now:.1f} | {ratio} |")
    print(f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores")


def several_models(files: tuple[Path, ...], runs: int) -> dict[str, float]:
    """Time one model alone, and several in each way."""
    ways = [("one", 1), ("one", MODELS), ("processes", MODELS), ("stacked", MODELS)]
    calls = [(SEVERAL, *files, SMALL, "fast", "float32", how, count) for how, count in ways]
    names = ["one model", "one by one", "two processes", "stacked, two threads"]
    return dict(zip(names, in_turn(calls, runs), strict=True))


def in_turn(calls: list[tuple[object, ...]], runs: int) -> list[float]:
    """Run programs one after the other, several times; return the median seconds of each."""
    taken = [[printed(*call)[-1] for call in calls] for _ in range(runs)]
    return [statistics.median(values) for values in zip(*taken, strict=True)]


def printed(code: object, *arguments: object, package: Path | None = None) -> list[float]:
    """Run a program that times itself, with the package that is installed or that of a folder."""
    there = {} if package is None else {"PYTHONPATH": str(package)}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        guarded = str(code).replace("\n", "\n    ")
        program.write_text(f"if __name__ == '__main__':\n    {guarded}\n", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, program, *map(str, arguments)],
            stdout=subprocess.PIPE,
            env={**os.environ, **there},
            check=True,
        )
    return [float(json.loads(line)) for line in done.stdout.splitlines()]


def report(
    arguments: argparse.Namespace,
    training: list[tuple[str, list[float]]],
    several: dict[str, float],
    scoring: list[float],
) -> None:
    """Print the tables, and what they were taken on."""
    from importlib.metadata import version

    cores = len(os.sched_getaffinity(0))
    counted = f"median of {arguments.runs} runs" if arguments.runs > 1 else "one run"
    print(f"{arguments.glove.name}, {arguments.train.name}; {counted}; "
          f"{cores} cores, load {os.getloadavg()[0]:.1f}")  # fmt: skip
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "torch"))
    print(f"Python {platform.python_version()}, {libraries}\n")
    print(f"| one epoch of {PAIRS:,} pairs, one thread | wordbias | peer | ratio |")
    print("| --- | ---: | ---: | ---: |")
    for name, (ours, peer) in training:
        each = f"{PAIRS / ours:,.0f} pairs/s"
        print(f"| {name} | {ours:.1f} s, {each} | {peer:.1f} s | {peer / ours:.1f}× |")
    ours, peer = scoring
    print(f"| scoring the explicit set, two threads | {ours:.2f} s | {peer:.2f} s "
          f"| {peer / ours:.1f}× |\n")  # fmt: skip
    single = several["one model"]
    print(f"| one epoch of {SMALL:,} pairs, with dev | seconds | of {MODELS} × one model |")
    print("| --- | ---: | ---: |")
    for name, value in several.items():
        share = "" if name == "one model" else f"{value / (MODELS * single):.2f}"
        what = name if name == "one model" else f"{MODELS} models, {name}"
        print(f"| {what} | {value:.1f} | {share} |")


if __name__ == "__main__":
    main()
