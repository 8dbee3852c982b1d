"""Time MDL probing beside the published loop, which trains one probe of one block after another.

    python benchmarks/probes.py
    python benchmarks/probes.py --vectors bios.safetensors --labels gender

The peer is the published training written out in torch: for each block a fresh probe, batches of 16
in fixed order, AdamW, early stopping; on one thread or on all, whichever is faster. It codes one
layer under one seed, ours 13 layers under 3 seeds; the times of one layer and seed are compared.
Both have the same blocks, dev examples, orders and settings; the peer keeps a true copy of the best
weights. Without --vectors they are 4,000 x 768 numbers of which a label can be read off with some
errors. Ours and the peer run in turn, each in a process of its own, and the clock starts when the
vectors are in memory. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

LAYERS, SEEDS = 13, 3

START = """
import json, sys, time
import numpy as np
from wordbias.devices import set_threads, threads
from wordbias.progress import set_quiet
set_quiet(True)
probe, vectors, column, layers, seeds, count = sys.argv[1:7]
layers, seeds, count = int(layers), int(seeds), int(count)
if vectors:
    from wordbias.probes.inputs import load_vectors
    found = load_vectors(vectors)
    y = found.column(column).codes.astype(np.intp)
    x = np.array(found.vectors[-layers:])
else:
    rng = np.random.default_rng(0)
    x = 0.3 * rng.standard_normal((layers, 4000, 768), np.float32)
    y = rng.integers(0, 2, 4000)
    x[:, :, :20] += (0.15 * (2 * y - 1))[:, None]
"""
OURS = (
    START
    + """
from wordbias.labelled import Labelled
from wordbias.probes.train import Recipe
from wordbias.probes.mdl import online_codes
set_threads(count or None)
if probe == "mlp":
    import torch
start = time.perf_counter()
examples = Labelled.of(x, y)
found = online_codes(examples, seeds=range(seeds), recipe=Recipe(probe), control=False,
                     device="cpu" if probe == "mlp" else None)
seconds = time.perf_counter() - start
epochs = sum(block.epochs for block in found[-seeds].code.blocks)
print(json.dumps([seconds / len(found), found[-seeds].code.compression, epochs]))
"""
)
PEER = (
    START
    + """
import math, torch
from torch import nn
from wordbias.probes.mdl import FRACTIONS, block_ends
torch.set_num_threads(count or threads())
d, k = x.shape[2], len(set(y.tolist()))
def make():
    if probe == "linear":
        return nn.Linear(d, k)
    return nn.Sequential(nn.Linear(d, d // 2), nn.Tanh(), nn.Linear(d // 2, k))
def summed(net, x, y):
    return nn.functional.cross_entropy(net(x), y, reduction="sum")
def train(x, y, dev_x, dev_y):
    net, lowest, since, epochs = make(), math.inf, 0, 0
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    while epochs < 50 and since <= 4:
        epochs += 1
        for i in range(0, len(x), 16):
            optimizer.zero_grad()
            summed(net, x[i:i + 16], y[i:i + 16]).backward()
            optimizer.step()
        with torch.no_grad():
            loss = sum(float(summed(net, dev_x[i:i + 16], dev_y[i:i + 16]))
                       for i in range(0, len(dev_x), 16))
        since += 1
        if loss < lowest - 1e-3:
            lowest, since = loss, 0
            best = {name: value.clone() for name, value in net.state_dict().items()}
    net.load_state_dict(best)
    return net, epochs
start = time.perf_counter()
order = np.random.default_rng(0).permutation(len(y))
sent, labels = torch.from_numpy(x[-1][order]), torch.from_numpy(y[order])
ends = block_ends(len(y), FRACTIONS["published"])
bits, epochs = ends[0] * math.log2(k), 0
for end, after in zip(ends, ends[1:]):
    t = end - max(1, end // 10)
    net, more = train(sent[:t], labels[:t], sent[t:end], labels[t:end])
    epochs += more
    with torch.no_grad():
        bits += float(summed(net, sent[end:after], labels[end:after])) / math.log(2)
seconds = time.perf_counter() - start
print(json.dumps([seconds, len(y) * math.log2(k) / bits, epochs]))
"""
)


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors", type=Path, help="a file of `wordbias encode`")
    parser.add_argument("--labels", default="", help="a column of it")
    parser.add_argument("--runs", type=int, default=3, help="counted runs of each (default 3)")
    parser.add_argument("--mlp", action="store_true", help="time MLP probes too: some minutes")
    given = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores; median of {given.runs} runs\n")
    print(
        "| probe | published loop | ours, 1 layer, 1 seed | ours, 13 × 3, one thread |"
        " ours, 13 × 3 | times faster | compression: loop, ours | epochs: loop, ours |"
    )
    print("|---|---:|---:|---:|---:|---:|---|---|")
    for probe in ("linear", "mlp") if given.mlp else ("linear",):
        print(line(probe, given))


def line(probe: str, given: argparse.Namespace) -> str:
    """Time one kind of probe."""
    shared = (probe, str(given.vectors or ""), given.labels)
    layers, seeds = (LAYERS, SEEDS) if probe == "linear" else (1, 2)
    kinds = {
        "loop, one thread": (PEER, *shared, 1, 1, 1),
        "loop": (PEER, *shared, 1, 1, 0),
        "single": (OURS, *shared, 1, 1, 0),
        "one thread": (OURS, *shared, layers, seeds, 1),
        "ours": (OURS, *shared, layers, seeds, 0),
    }
    timings: dict[str, list[list[float]]] = {name: [] for name in kinds}
    for _ in range(given.runs):
        for name, call in kinds.items():
            timings[name].append(measured(*call))
    seconds = {name: statistics.median(run[0] for run in runs) for name, runs in timings.items()}
    loop = min(("loop", "loop, one thread"), key=seconds.__getitem__)
    peer, ours = timings[loop][0], timings["ours"][0]
    cells = [
        probe,
        *(f"{seconds[name]:.3f} s" for name in (loop, "single", "one thread", "ours")),
        f"{seconds[loop] / seconds['ours']:.1f}",
        f"{peer[1]:.3f}, {ours[1]:.3f}",
        f"{peer[2]:.0f}, {ours[2]:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def measured(code: str, *arguments: object) -> list[float]:
    """Run a program and return what it prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    result: list[float] = json.loads(done.stdout)
    return result


if __name__ == "__main__":
    main()
