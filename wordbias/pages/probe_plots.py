"""Figures of MDL probing: bits along the data, and compression along the layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from wordbias.pages.panel import SERIES, Dot, Look, Panel, Path, thinned
from wordbias.pages.plots import draw_panel, draw_panels
from wordbias.probes.mdl import CODELENGTH, COMPRESSION, TASK
from wordbias.results import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wordbias.reports import Report

_LEVEL = Look("grid effect", "none")
_PANEL = (4.6, 3.5)  # inches
_COLUMNS = 2  # panels beside each other
_BELOW = 0.2  # compression below the lowest level that is in sight


def plot_codes(report: Report, ax: Axes | None = None) -> Axes:
    """Draw the cost of online codes along the data, and their compression along the layers."""
    # On given axes there is one panel: the compression along the layers, or of inputs without
    # layers the bits along the data.
    rows = [row for row in report.rows if "block_ends" in row.details or row.measure == COMPRESSION]
    layered, flat = _split_layered(rows)

    of_layers = [row for row in rows if row.subject in layered]
    panels = [input_panel(flat)] if flat else []
    panels += [layer_panel(_rows_of(rows, name)) for name in layered]
    panels += [compression_panel(of_layers)] if layered else []

    def draw(several: list[Axes]) -> None:
        for axes, panel in zip(several, panels if ax is None else panels[-1:], strict=False):
            draw_panel(axes, panel)

    count = 1 if ax is not None else len(panels)
    lines, beside = -(-count // _COLUMNS), min(count, _COLUMNS)
    size = _PANEL[0] * beside, _PANEL[1] * lines
    return draw_panels(ax, size, report.title, draw, lines, beside)


def _split_layered(rows: Sequence[Row]) -> tuple[list[str], list[Row]]:
    """Return the inputs that have a panel of their own, and the rows of all others."""
    layered = [name for name in _subjects(rows) if len(_layers(_rows_of(rows, name))) > 1]
    return layered, [row for row in rows if row.subject not in layered]


def input_panel(rows: Sequence[Row]) -> Panel:
    """Describe bits per example against the training examples, two curves for each input."""
    curves = [
        (*_named(row.subject, css, row.details["set"]), row)
        for row, css in _coloured(rows)
        if row.measure == CODELENGTH
    ]
    return _curves(curves, "Bits an example takes")


def layer_panel(rows: Sequence[Row]) -> Panel:
    """Describe bits per example against the training examples, one curve for each layer."""
    layers = _layers(rows)
    curves = [
        (f"layer {layer}", Look(f"shade {layers.index(layer) / max(len(layers) - 1, 1):g}"), row)
        for row in rows
        if row.measure == CODELENGTH and row.details["set"] == TASK
        for layer in [row.details["layer"]]
    ]
    return _curves(curves, f"{rows[0].subject}: bits an example takes", spread=False)


def compression_panel(rows: Sequence[Row]) -> Panel:
    """Describe compression against the layer, one curve for each input and its control."""
    dots: list[Dot] = []
    paths: list[Path] = []
    legend: dict[str, Look] = {}
    for row, css in _coloured(rows):
        if row.measure == COMPRESSION:
            name, look = _named(row.subject, css, row.details["set"])
            legend[name] = look
            x = float(row.details["layer"])
            low, high = ((x, row.details[end]) for end in ("min", "max"))
            dots.append(Dot((x, float(row.value or 0)), look, (low, high), size=3))
    for look in legend.values():
        paths.append(Path([dot.place for dot in dots if dot.look == look], look.css))
    layers = _layers(rows)
    levels = sorted({row.details["neutral"] for row in rows if row.measure == COMPRESSION})
    # several where inputs have other shares of their classes
    paths += [Path([(layers[0], level), (layers[-1], level)], _LEVEL.css) for level in levels]
    return Panel(
        dots,
        paths,
        x="layer",
        y="compression (bits)",
        ticks={float(layer): str(layer) for layer in layers},
        legend=[*legend.items(), ("nothing to read off", _LEVEL)],
        title="Compression along the layers",
        floor=max(0.0, levels[0] - _BELOW),
    )


Curve = tuple[str, Look, Row]
"""Name, look and row of a curve."""


def _curves(curves: Sequence[Curve], title: str, *, spread: bool = True) -> Panel:
    """Describe the blocks of rows: their means over seeds, or each seed if the blocks differ."""
    dots: list[Dot] = []
    paths: list[Path] = []
    for _, look, row in curves:
        of_seeds = [
            (np.log10(ends[:-1]).tolist(), (np.array(bits[1:]) / np.diff(ends)).tolist())
            for ends, bits in zip(row.details["block_ends"], row.details["block_bits"], strict=True)
        ]
        if len({tuple(ends) for ends in row.details["block_ends"]}) > 1:
            paths += [Path([*zip(*points, strict=True)], look.css) for points in of_seeds]
            continue
        x, each = of_seeds[0][0], np.array([y for _, y in of_seeds])
        places = [*zip(x, each.mean(0).tolist(), strict=True)]
        paths.append(Path(places, look.css))
        ranges = zip(each.min(0).tolist(), each.max(0).tolist(), strict=True)
        for place, (low, high) in zip(places, ranges, strict=True):
            ends = (place[0], low), (place[0], high)
            dots.append(Dot(place, look, ends if spread and low < high else None, size=3))
    low, high = (of(x for path in paths for x, _ in path.places) for of in (min, max))
    uniform = float(np.log2(curves[0][2].details["classes"]))
    paths.append(Path([(low, uniform), (high, uniform)], _LEVEL.css))
    numbers = (n * 10**power for power in range(9) for n in (1, 2, 5))
    named = {name: look for name, look, _ in (curves if spread else thinned(curves))}
    return Panel(
        dots,
        paths,
        x="examples learned from",
        y="bits per example of the next block",
        ticks={x: f"{n:,}" for n in numbers if low - 0.05 <= (x := float(np.log10(n))) <= high},
        legend=[*named.items(), ("without a model", _LEVEL)],
        title=title,
        floor=0.0,
    )


def _named(subject: str, css: str, which: str) -> tuple[str, Look]:
    """Return the name and the look of the curve of an input, or of its control."""
    return (
        (subject, Look(css))
        if which == TASK
        else (f"{subject}: control", Look(f"{css} hollow effect"))
    )


def _coloured(rows: Sequence[Row]) -> Iterator[tuple[Row, str]]:
    """Yield each row with the colour of its input."""
    colours = dict(zip(_subjects(rows), cycle(SERIES), strict=False))
    for row in rows:
        yield row, colours[row.subject]


def _subjects(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row.subject for row in rows))


def _rows_of(rows: Sequence[Row], name: str) -> list[Row]:
    return [row for row in rows if row.subject == name]


def _layers(rows: Sequence[Row]) -> list[int]:
    return sorted({row.details["layer"] for row in rows if "layer" in row.details})
