"""Draw measures of a model by layer, from what `wordbias probe` and `ceat` print as JSON.

    wordbias probe last.safetensors mean.safetensors --labels gender --format json > bios.json
    wordbias ceat words.safetensors --query 6 --format json > ceat.json
    python tools/plot_layers.py decoder.svg "Gender of biographies=bios.json" "CEAT=ceat.json"

Each file, or several with commas between, is a panel, with a curve for each of its inputs, and for
each test of CEAT; its title stands before the equals sign. Of several files the curves are named by
the file. Bands are the interval of a value, or the smallest and largest value
over the seeds. Random labels, the control of a probe, are dashed, the neutral value is dotted.
Needs matplotlib.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordbias.errors import WordbiasError
from wordbias.measures.registry import measure_title
from wordbias.pages.document import read_documents
from wordbias.pages.plots import draw_panels, write_figure
from wordbias.rows import Found

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = ("compression", "ceat", "probe-accuracy")
"""The measure of a panel is the first that the file has with layers."""
CONTROL = "control"
_PANEL = (4.8, 3.6)  # inches
_COLUMNS = 2
_COLOURS = ("#1b6ca8", "#c8553d", "#3d8b5f", "#8457a3", "#9a7b1f", "#5b6770")
_FAINT = "#8a8a8a"


def layered_rows(path: str) -> list[Found]:
    """Return the rows of the panel that a file gives.

    Raises
    ------
    WordbiasError
        If the file cannot be read, or has none of the measures by layer.
    """
    rows = [row for document in read_documents(path) for row in document.rows]
    for measure in MEASURES:
        layered = [
            row
            for row in rows
            if row["measure"] == measure and "layer" in row and row["value"] is not None
        ]
        if layered:
            return layered
    raise WordbiasError(
        f"{path}: has no {' or '.join(MEASURES)} by layer; give what wordbias probe or ceat prints "
        "with --format json for more than one layer"
    )


def named(path: str, paths: list[str]) -> list[Found]:
    """Return the rows of a file; if it is one of several and has one input, under its name."""
    rows = layered_rows(path)
    if len(paths) == 1 or len({row["subject"] for row in rows}) > 1:
        return rows
    return [{**row, "subject": Path(path).stem} for row in rows]


def curves(rows: list[Found]) -> dict[tuple[str, bool], list[Found]]:
    """Return the rows of each curve, by its name and whether it is the control."""
    subjects = {row["subject"] for row in rows}
    sets = {str(row.get("set", "")) for row in rows} - {CONTROL}
    by_curve: dict[tuple[str, bool], list[Found]] = {}
    for row in rows:
        of = str(row.get("set", ""))
        named = [row["subject"]] if len(subjects) > 1 or len(sets) < 2 else []
        named += [of] if len(sets) > 1 else []
        by_curve.setdefault((": ".join(named) or row["subject"], of == CONTROL), []).append(row)
    return {key: sorted(curve, key=lambda row: row["layer"]) for key, curve in by_curve.items()}


def draw_panel(axes: Axes, title: str, rows: list[Found]) -> None:
    """Draw the curves of one file."""
    drawn = curves(rows)
    names = list(dict.fromkeys(name for name, _ in drawn))
    for (name, control), curve in drawn.items():
        colour = _COLOURS[names.index(name) % len(_COLOURS)]
        layers = [row["layer"] for row in curve]
        style: dict[str, Any] = {"ls": "--", "lw": 1} if control else {"marker": "o", "ms": 2.5}
        label = None if control else name
        axes.plot(
            layers, [float(row["value"] or 0) for row in curve], color=colour, label=label, **style
        )
        ends = [_ends(row) for row in curve]
        if all(ends):
            low, high = zip(*(end for end in ends if end), strict=True)
            axes.fill_between(layers, low, high, color=colour, alpha=0.15, lw=0)
    for level in sorted({row["neutral"] for row in rows if "neutral" in row}):
        axes.axhline(level, color=_FAINT, lw=0.8, ls=":")
    axes.set(xlabel="layer", ylabel=measure_title(rows[0]["measure"]), title=title)
    axes.locator_params(axis="x", integer=True)
    axes.legend(frameon=False, fontsize=8)


def _ends(row: Found) -> tuple[float, float] | None:
    """Return the interval of a row, or the range of its seeds."""
    for low, high in (("low", "high"), ("min", "max")):
        if row.get(low) is not None and row.get(high) is not None:
            return float(row[low]), float(row[high])
    return None


def save_panels(output: str, panels: list[tuple[str, list[str]]]) -> None:
    """Draw a panel for each title and its files."""
    read = [
        (title, [row for path in paths for row in named(path, paths)]) for title, paths in panels
    ]
    beside = min(len(read), _COLUMNS)
    lines = -(-len(read) // beside)

    def draw(places: list[Axes]) -> None:
        for axes, (title, rows) in zip(places, read, strict=False):
            draw_panel(axes, title, rows)

    size = _PANEL[0] * beside, _PANEL[1] * lines
    axes = draw_panels(None, size, "Measures by layer", draw, lines, beside)
    write_figure(output, axes.figure)


def main() -> None:
    """Read the files, and write the figure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("output", help="the figure: .svg, .png or .pdf")
    parser.add_argument(
        "files", nargs="+", metavar="TITLE=FILE[,FILE]", help="title and files of a panel"
    )
    given = parser.parse_args()
    panels = []
    for panel in given.files:
        title, equals, paths = panel.rpartition("=")
        panels.append((title if equals else Path(paths).stem, paths.split(",")))
    try:
        save_panels(given.output, panels)
    except WordbiasError as error:
        sys.exit(f"plot_layers: {error}")


if __name__ == "__main__":
    main()
