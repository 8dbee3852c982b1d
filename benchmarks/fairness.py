"""Time every metric of group fairness, with 1,000 bootstrap draws, beside loops over predictions.

    python benchmarks/fairness.py

100,000 random predictions of 28 classes, two groups. Ours is everything `wordbias fairness`
measures: accuracy, four gaps of each class, their sums and correlations, independence, separation
and sufficiency, the intervals of 1,000 draws, and 200 samples of a classifier that treats groups
alike; with and without reading the file. The peer is the code that one writes first, like the
released code of Orgad et al. (2022): masks over all predictions for every class and group; it
computes the four rates alone, once, and its time is scaled to as many draws. Ours and the peer run
in turn. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordbias.columns import read
from wordbias.outcomes.confusion import Confusion, rates_of
from wordbias.outcomes.fairness import fairness_rows
from wordbias.outcomes.metrics import Settings

N, CLASSES, DRAWS, ROUNDS = 100_000, 28, 1_000, 5
Codes = NDArray[np.intp]


def made() -> tuple[Codes, Codes, Codes]:
    """Return gold classes, predictions of which four of five are right, and groups."""
    rng = np.random.default_rng(0)
    y = rng.integers(CLASSES, size=N)
    z = (rng.random(N) < np.linspace(0.1, 0.9, CLASSES)[y]).astype(np.intp)
    r = np.where(rng.random(N) < 0.8, y, rng.integers(CLASSES, size=N))
    return y, r, z


def loops(y: Codes, r: Codes, z: Codes) -> NDArray[np.float64]:
    """Return the four rates of each group and class, by masks over all predictions."""
    rates = np.empty((4, 2, CLASSES))
    for group in range(2):
        for label in range(CLASSES):
            tp = np.sum((z == group) & (y == label) & (r == label))
            fp = np.sum((z == group) & (y != label) & (r == label))
            positives = np.sum((z == group) & (y == label))
            negatives = np.sum((z == group) & (y != label))
            f1 = 2 * tp / (positives + tp + fp)
            rates[:, group, label] = tp / positives, fp / negatives, tp / (tp + fp), f1
    return rates


def seconds(work: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0]).parse_args()
    y, r, z = made()
    texts = [[f"class {code:02d}" for code in codes.tolist()] for codes in (y, r)]
    columns = (*texts, ["FM"[code] for code in z.tolist()])
    confusion = Confusion.of(*columns)
    counts = confusion.counts
    called = counts[..., : counts.shape[-2]].sum(axis=-2)
    right = np.diagonal(counts, axis1=-2, axis2=-1)
    ours = np.stack(list(rates_of(right, counts.sum(axis=-1), called).values()))
    difference = np.abs(ours - loops(y, r, z)).max()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "predictions.csv"
        lines = map(",".join, zip(*columns, strict=True))
        file.write_text("\n".join(["y,r,z", *lines]) + "\n", encoding="utf-8")

        def measured(draws: int) -> object:
            return fairness_rows(Confusion.of(*columns), "made", Settings(draws=draws))

        def from_file() -> object:
            cells = read(file, ["y", "r", "z"]).cells
            counted = Confusion.of(cells["y"], cells["r"], cells["z"])
            return fairness_rows(counted, "made", Settings(draws=DRAWS))

        works: dict[str, Callable[[], object]] = {
            "wordbias, every metric, no intervals": lambda: measured(0),
            f"wordbias, every metric, {DRAWS:,} draws": lambda: measured(DRAWS),
            f"wordbias, the same from a CSV file, {DRAWS:,} draws": from_file,
            "masks in loops, four rates, once": lambda: loops(y, r, z),
        }
        times: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(ROUNDS):
            for name, work in works.items():
                times[name].append(seconds(work))
    middle = {name: statistics.median(durations) for name, durations in times.items()}
    whole, single = list(middle.values())[1], list(middle.values())[3]
    print(f"| {N:,} predictions × {CLASSES} classes | seconds | ratio |")
    print("| --- | ---: | ---: |")
    for name, value in middle.items():
        print(f"| {name} | {value:.2f} | {value / whole:.2f} |")
    scaled = single * (DRAWS + 1)
    print(f"| masks in loops, {DRAWS:,} draws (scaled) | {scaled:.0f} | {scaled / whole:.0f} |")
    print(f"\nLargest difference between the rates of both: {difference:.1e}")


if __name__ == "__main__":
    main()
