"""What `wb.compare` says with one embedding left out, computed again with scipy.

The rows of the published Table 6, of which some values are missing and many are tied, and a table
of made-up values. Each coefficient without an embedding is `scipy.stats`' own of the others. Which
embeddings a bootstrap sample draws depends on the generator: it is asked in the same order, and the
samples are written out, embedding by embedding.
"""

from __future__ import annotations

import csv
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import wordbias as wb

pytestmark = pytest.mark.slow

Array = NDArray[np.float64]
EXACT = 1e-9  # float64 over sums of at most 16 values
SEED, DRAWS, AT_A_TIME = 5, 40_000, 1000
KEYS = {
    "pair": ("x", "y"),
    "left out": ("without_low", "without_high"),
    "driver": ("driver", "without_driver"),
    "Fisher": ("low", "high"),
    "bootstrap": ("bootstrap_low", "bootstrap_high"),
}
"""Keys of a row: the one place where the test knows how they are spelled."""
COEFFICIENT = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}
Table = tuple[list[str], dict[str, Array]]


def _read(path: Path) -> Table:
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    values = np.array([[np.nan if x == "NA" else float(x) for x in line[1:]] for line in lines[1:]])
    return [line[0] for line in lines[1:]], dict(zip(lines[0][1:], values.T, strict=True))


@pytest.fixture(params=["published", "made up"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "published":
        return Path(request.getfixturevalue("shared_data")) / "published" / "paper1_table6.csv"
    rng = np.random.default_rng(0)
    values = rng.integers(0, 6, (7, 4)) / 4 + np.outer(np.arange(7), [0.5, -0.2, 0, 1])
    table = tmp_path / "made.csv"
    lines = [",".join([f"e{i}", *map(str, row)]) for i, row in enumerate(values.tolist())]
    table.write_text("\n".join(["emb,a,b,c,d", *lines]) + "\n", encoding="utf-8")
    return table


@pytest.mark.parametrize("method", list(COEFFICIENT))
def test_each_embedding_is_left_out_once(path: Path, method: Any) -> None:
    names, columns = _read(path)
    rows = {
        tuple(row[key] for key in KEYS["pair"]): row
        for row in wb.compare(path, correlation=method, seed=SEED).to_dict()["rows"]
    }
    assert list(rows) == list(combinations(columns, 2))
    for (first, second), row in rows.items():
        there = np.isfinite(columns[first]) & np.isfinite(columns[second])
        x, y = columns[first][there], columns[second][there]
        correlation, n = COEFFICIENT[method](x, y), len(x)
        assert (row["n"], row["value"]) == (n, pytest.approx(correlation.statistic, abs=EXACT))
        without = np.array(
            [COEFFICIENT[method](np.delete(x, i), np.delete(y, i)).statistic for i in range(n)]
        )
        low, high = (row[key] for key in KEYS["left out"])
        assert (low, high) == pytest.approx((without.min(), without.max()), abs=EXACT)
        driver, then = (row[key] for key in KEYS["driver"])
        moved = np.abs(without - correlation.statistic)
        place = [name for name, has in zip(names, there, strict=True) if has].index(driver)
        assert moved[place] == pytest.approx(moved.max(), abs=EXACT)
        assert then == pytest.approx(without[place], abs=EXACT)
        variance = (1 if method == "pearson" else 1 + correlation.statistic**2 / 2) / (n - 3)
        half = stats.norm.ppf(0.975) * np.sqrt(variance)
        ends = np.tanh(np.arctanh(correlation.statistic) + half * np.array([-1, 1]))
        assert [row[key] for key in KEYS["Fisher"]] == pytest.approx(ends, abs=EXACT)


@pytest.mark.parametrize("method", list(COEFFICIENT))
def test_the_bootstrap_over_embeddings(shared_data: Path, method: Any) -> None:
    path = shared_data / "published" / "paper1_table6.csv"
    _, columns = _read(path)
    chosen = ["MIDB", "DB", "E"]
    report = wb.compare(path, correlation=method, only=chosen, seed=SEED)
    for row in report.to_dict()["rows"]:
        x, y = (columns[row[key]] for key in KEYS["pair"])
        there = np.isfinite(x) & np.isfinite(y)
        n = int(there.sum())
        rng = np.random.default_rng(SEED)
        times = np.concatenate(
            [rng.multinomial(n, np.full(n, 1 / n), AT_A_TIME) for _ in range(0, DRAWS, AT_A_TIME)]
        )
        places = np.repeat(np.tile(np.arange(n), DRAWS), times.ravel()).reshape(DRAWS, n)
        a, b = x[there][places], y[there][places]
        if method == "spearman":
            a, b = stats.rankdata(a, axis=1), stats.rankdata(b, axis=1)
        varied = (np.ptp(a, axis=1) > 0) & (np.ptp(b, axis=1) > 0)
        a, b = (side[varied] - side[varied].mean(1, keepdims=True) for side in (a, b))
        r = (a * b).sum(1) / np.sqrt((a**2).sum(1) * (b**2).sum(1))
        got = [row[key] for key in KEYS["bootstrap"]]
        assert got == pytest.approx(np.percentile(r, [2.5, 97.5]), abs=EXACT)
