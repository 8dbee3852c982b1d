"""Choose a removal for six heads of an encoder, and draw the gaps: the example of docs/own-task.md.

    python benchmarks/own_task.py bios.tsv.gz all-MiniLM-L6-v2 -o rows/ --best table7.json
    python benchmarks/own_task.py bios.tsv.gz e5-small -o rows/ --null 1
    python benchmarks/own_task.py --figure own-task-seeds.svg -o rows/

A head is `LogisticRegression(C=10)`, fitted to 1,600 of 2,000 training texts. A setting is chosen
on half of `validate` and reported on `test`; the last layer is trained anew on the head's texts.
Finished heads are not measured again.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import wordbias as wb

HEADS, TRAIN, EACH = 6, 2_000, 1_600
PARTS = ("train", "validate", "test")
COLUMNS = ("profession", "gender", "text")
STYLES = {
    ("before", False): ("C1", "C1", "o", "as it is"),
    ("after", True): ("C0", "C0", "o", "removed"),
    ("retrained", False): ("C1", "white", "s", "last layer trained anew"),
    ("retrained", True): ("C0", "white", "s", "trained anew, removed"),
}
"""By stage and whether something is removed: colour, filling, marker and name."""


def measure(data: str, model: str, output: Path, null: int, best: str | None) -> None:
    """Sweep each head, and save its result."""
    parts = read_parts(data)
    rng = np.random.default_rng(0)
    train = [parts["train"][i] for i in rng.permutation(len(parts["train"]))[:TRAIN]]
    half = rng.permutation(len(parts["validate"]))[: len(parts["validate"]) // 2]
    encoded = wb.encode(model, columns_of(train), columns=["profession"])
    x, y = encoded.vectors[-1], np.array(encoded.columns["profession"].cells())
    for seed in range(HEADS):
        path = output / f"{Path(model).name}.{seed}.json"
        if path.exists():
            continue
        sample = np.random.default_rng([1, seed]).permutation(len(x))[:EACH]
        report = wb.sweep(
            (model, LogisticRegression(max_iter=1000, C=10).fit(x[sample], y[sample])),
            task=columns_of([parts["validate"][i] for i in half]),
            test=columns_of(parts["test"]),
            labels="profession",
            sensitive="gender",
            methods="leace misp:dims=2",
            null=null,
            best=best,
            retrain=columns_of([train[i] for i in sample]),
            seed=seed,
        )
        print(report, flush=True)
        report.save(path)


def read_parts(data: str) -> dict[str, list[dict[str, str]]]:
    """Return the rows of each part of the biographies."""
    with gzip.open(data, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {name: [row for row in rows if row["split"] == name] for name in PARTS}


def columns_of(rows: list[dict[str, str]]) -> dict[str, list[str]]:
    """Return the columns of a table."""
    return {name: [row[name] for row in rows] for name in COLUMNS}


def draw(files: list[Path], output: str) -> None:
    """Draw the gap of each head, before, after, and with the last layer trained anew."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "wordbias", "font.size": 9})
    models = list(dict.fromkeys(path.name.rsplit(".", 2)[0] for path in files))
    figure, panels = plt.subplots(1, len(models), figsize=(8.2, 4.2), sharex=True, squeeze=False)
    for ax, model in zip(panels[0], models, strict=True):
        for path in (file for file in files if file.name.startswith(f"{model}.")):
            head = int(path.name.rsplit(".", 2)[1])
            for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
                if row["measure"] == "tpr-gap" and row.get("half") == "report":
                    draw_row(ax, row, head)
        first = ax is panels[0][0]
        ax.set_yticks(range(HEADS), [f"head {i}" if first else "" for i in range(HEADS)])
        ax.set(title=model, xlim=(0, 0.95), xlabel="sum of TPR gaps, 0 without a gap")
        ax.invert_yaxis()
        ax.grid(axis="x", lw=0.4)
        ax.spines[["top", "right", "left"]].set_visible(False)
    marks, names = panels[0][0].get_legend_handles_labels()
    figure.legend(marks, names, loc="lower center", ncol=len(STYLES), frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(output, metadata={"Date": None})


def draw_row(ax: Any, row: dict[str, Any], head: int) -> None:
    """Draw one gap with its interval, if it has one."""
    key = row["stage"], row["setting"] != "Base"
    colour, inside, marker, name = STYLES[key]
    y = head + 0.18 * (list(STYLES).index(key) - 1.5)
    if row.get("low") is not None:
        ax.plot([row["low"], row["high"]], [y, y], color=colour, lw=1.2)
    label = name if head == 0 else None
    ax.plot(row["value"], y, marker, color=colour, ms=5, mfc=inside, label=label)


def main() -> None:
    """Measure the heads of a model, or draw those that were measured."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="?")
    parser.add_argument("model", nargs="?")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--null", type=int, default=2)
    parser.add_argument("--best")
    parser.add_argument("--figure")
    given = parser.parse_args()
    if given.figure:
        draw(sorted(given.output.glob("*.json")), given.figure)
        return
    given.output.mkdir(exist_ok=True)
    with wb.config(skip_bad=True, threads=1):
        measure(given.data, given.model, given.output, given.null, given.best)


if __name__ == "__main__":
    main()
