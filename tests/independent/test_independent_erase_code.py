"""The online code of held-out rows in `wb.erase`, computed again with numpy, probe after probe.

Rows are vectors of first names with the gender of their register, and of frequent words with three
classes of length. Held-out rows are given by a column, and those after are what the returned method
makes of them. A loop over blocks in float64, as published, trains a softmax regression with AdamW
and early stopping; the codelength is Voita and Titov's eq. 3. Which rows are coded, their order and
the first weights depend on the generator: it is asked in the same order.
"""

from __future__ import annotations

import csv
from itertools import pairwise
from math import log, log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

import wordbias as wb
from wordbias.probes import held_out as probes_of_rows

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

Array = NDArray[np.float64]
Row = dict[str, Any]
SEED, FEW = 2, 300
BLOCKS = (0.02, 0.03, 0.044, 0.065, 0.095, 0.14, 0.21, 0.31, 0.457, 0.676, 1.0)
EPOCHS, BATCH, PATIENCE, TOLERANCE = 50, 16, 4, 1e-3
RATE, DECAY = 1e-3, 0.01
# The package trains in float32, here it is float64: 2^-24 in each of at most 50 · 85 steps.
TRAINED = 50 * 85 * 2.0**-24
KEYS = {"stage": "stage", "n": "n", "bits": "codelength", "uniform": "uniform", "chance": "neutral"}
"""Keys of a row: the one place where the test knows how they are spelled."""


def _names(shared_data: Path) -> tuple[list[str], list[str]]:
    """Return names that the sample has, each with the gender under which more were registered."""
    counts: dict[str, dict[str, int]] = {}
    path = shared_data / "names" / "ssa_yob2020.txt"
    with path.open(encoding="utf-8", newline="") as file:
        for name, gender, count in csv.reader(file):
            counts.setdefault(name.lower(), {"F": 0, "M": 0})[gender] += int(count)
    words = set(wb.Embedding.sample().words)
    known = [name for name in counts if name in words][:600]
    return known, [max(counts[name], key=counts[name].__getitem__) for name in known]


def _lengths(count: int) -> tuple[list[str], list[str]]:
    """Return frequent words, each with a class of its length; the classes differ in size."""
    words = [word for word in wb.Embedding.sample().words if word.isalpha()][:count]
    return words, ["short" if len(word) < 5 else "long" if len(word) > 8 else "middle"
                   for word in words]  # fmt: skip


def _code(x: Array, labels: NDArray[Any]) -> tuple[float, float, float]:
    """Return the bits of the online code, those without a model, and those of the shares alone."""
    classes, codes = np.unique(labels, return_inverse=True)
    n, k = len(x), len(classes)
    order = np.random.default_rng(SEED).permutation(n)
    x = np.column_stack([x[order], np.ones(n)])
    y = np.eye(k)[codes[order]]
    ends = [int(share * n + 1e-9) for share in BLOCKS]
    bits = ends[0] * log2(k)
    for block, (sent, end) in enumerate(pairwise(ends)):
        train = sent - max(1, sent // 10)  # the last tenth of what was sent is the dev set
        weights = _probe(block, x[:sent], y[:sent], train)
        bits += _nats(x[sent:end], y[sent:end], weights) / log(2)
    shares = y.mean(0)
    entropy = -float((shares * np.log2(shares)).sum())
    return bits, n * log2(k), ends[0] * log2(k) + (n - ends[0]) * entropy


def _nats(x: Array, y: Array, weights: Array) -> float:
    z = x @ weights
    return float((logsumexp(z, axis=1) - (z * y).sum(1)).sum())


def _probe(block: int, x: Array, y: Array, train: int) -> Array:
    """Train the probe of a block: AdamW with decoupled decay, weights and bias alike."""
    d, k = x.shape[1] - 1, y.shape[1]
    w = np.random.default_rng([SEED, block]).uniform(-1, 1, (k, d + 1)).T / np.sqrt(d)
    first, second, step = np.zeros_like(w), np.zeros_like(w), 0
    lowest, waited, best = float("inf"), 0, w
    for _ in range(EPOCHS):
        for start in range(0, train, BATCH):
            rows = slice(start, min(start + BATCH, train))
            gradient = x[rows].T @ (softmax(x[rows] @ w, axis=1) - y[rows])
            step += 1
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            moved = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
            w = w * (1 - RATE * DECAY) - RATE * moved
        loss = _nats(x[train:], y[train:], w)
        if loss < lowest - TOLERANCE:
            lowest, waited, best = loss, 0, w
        elif (waited := waited + 1) > PATIENCE:
            break
    return best


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("names", "leace"),
        ("names", "misp:dims=1"),
        ("lengths", "leace"),
        ("more than are coded", "leace"),
    ],
)
def test_codelength_and_compression_before_and_after(
    shared_data: Path, kind: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, labels = _names(shared_data) if kind == "names" else _lengths(500)
    if kind == "more than are coded":
        words, labels = _lengths(800)
        monkeypatch.setattr(probes_of_rows, "CODED_ROWS", FEW)
    x = wb.Embedding.sample().take(words)
    tested = np.arange(len(x)) % 2 == 0
    part = np.where(tested, "test", "train")
    fitted = wb.erase(x, labels, methods=method, split_column=part.tolist(), seed=SEED)
    rows = [row for row in fitted.report.to_dict()["rows"] if row["measure"] == "compression"]
    assert [row[KEYS["stage"]] for row in rows] == ["before", "after"]
    before, held_out = x[tested].astype(np.float64), np.array(labels)[tested]
    chosen = np.arange(len(held_out))
    if kind == "more than are coded":
        chosen = np.random.default_rng(SEED).choice(len(chosen), FEW, replace=False)
    centre = before[chosen].mean(0)
    spread = np.sqrt(((before[chosen] - centre) ** 2).mean())  # of all values, both stages alike
    after = np.asarray(fitted.transform(x[tested]), np.float64)
    for row, stage in zip(rows, (before, after), strict=True):
        bits, uniform, shares = _code((stage[chosen] - centre) / spread, held_out[chosen])
        assert row[KEYS["n"]] == len(chosen)
        assert row[KEYS["uniform"]] == pytest.approx(uniform, rel=1e-12)
        assert row[KEYS["bits"]] == pytest.approx(bits, rel=TRAINED)
        assert row["value"] == pytest.approx(uniform / bits, rel=TRAINED)
        assert row["value"] == pytest.approx(row[KEYS["uniform"]] / row[KEYS["bits"]], rel=1e-12)
        assert row[KEYS["chance"]] == pytest.approx(uniform / shares, rel=1e-12)
