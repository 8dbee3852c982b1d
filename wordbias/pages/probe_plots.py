"""Figures of MDL probing: bits along the data, and compression along the layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wordbias.pages.plots import draw_panels, load_matplotlib
from wordbias.probes.mdl import CODELENGTH, COMPRESSION, CONTROL, TASK
from wordbias.results import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wordbias.reports import Report

_COLOURS = ("#1b6ca8", "#c8553d", "#3d8b5f", "#8457a3", "#9a7b1f", "#5b6770")
_FAINT = "#8a8a8a"
_PANEL = (4.6, 3.5)  # inches
_COLUMNS = 2  # panels beside each other
_DARKEST = 0.87  # of the colours of layers: the end of the scale looks like black
_TICKS = 14  # layers from which on every other one is named
_SLACK = 0.06  # of the range of an axis, above and below it


def plot_codes(report: Report, ax: Axes | None = None) -> Axes:
    """Draw the cost of online codes along the data, and their compression along the layers.

    Parameters
    ----------
    report
        Report with rows from `wordbias.probes.mdl.code_rows`, about one input or several.
    ax
        Axes to draw one panel on: the compression along the layers, or of inputs without layers the
        bits along the data. By default all panels, on a new figure; the last is returned.
    """
    rows = [row for row in report.rows if "block_ends" in row.details or row.measure == COMPRESSION]
    layered, flat = _split_layered(rows)

    def draw(panels: list[Axes]) -> None:
        of_layers = [row for row in rows if row.subject in layered]
        if ax is not None:
            draw_compression(ax, of_layers) if layered else draw_inputs(ax, rows)
            return
        free = iter(panels)
        if flat:
            draw_inputs(next(free), flat)
        for name in layered:
            draw_layers(next(free), _rows_of(rows, name))
        if layered:
            draw_compression(next(free), of_layers)

    count = 1 if ax is not None else len(layered) + bool(layered) + bool(flat)
    lines, beside = -(-count // _COLUMNS), min(count, _COLUMNS)
    size = _PANEL[0] * beside, _PANEL[1] * lines
    return draw_panels(ax, size, report.title, draw, lines, beside)


def _split_layered(rows: Sequence[Row]) -> tuple[list[str], list[Row]]:
    """Return the inputs that have a panel of their own, and the rows of all others."""
    layered = [name for name in _subjects(rows) if len(_layers(_rows_of(rows, name))) > 1]
    return layered, [row for row in rows if row.subject not in layered]


def draw_inputs(axes: Axes, rows: Sequence[Row]) -> Axes:
    """Draw bits per example against the number of training examples, one curve for each input."""
    for name, colour in zip(_subjects(rows), _colours(rows), strict=True):
        for row in _rows_of(rows, name):
            if row.measure == CODELENGTH and row.details["set"] == TASK:
                _draw_curve(axes, row, colour, label=name)
            elif row.measure == CODELENGTH:
                _draw_curve(axes, row, colour, label=f"{name}: control", dashed=True)
    _finish_curves(axes, rows, "Bits an example takes")
    return axes


def draw_layers(axes: Axes, rows: Sequence[Row]) -> Axes:
    """Draw bits per example against the number of training examples, one curve for each layer."""
    matplotlib = load_matplotlib()
    layers = _layers(rows)
    places = range(len(layers))
    colours = matplotlib.colormaps["viridis_r"](np.linspace(0, _DARKEST, len(layers)))
    for row in rows:
        if row.measure == CODELENGTH and row.details["set"] == TASK:
            _draw_curve(axes, row, colours[layers.index(row.details["layer"])], spread=False)
    scale = matplotlib.colors.BoundaryNorm(np.arange(len(layers) + 1) - 0.5, len(layers))
    shown = matplotlib.cm.ScalarMappable(scale, matplotlib.colors.ListedColormap(colours))
    bar = axes.figure.colorbar(shown, ax=axes, pad=0.02, aspect=30)
    step = 1 if len(layers) < _TICKS else 2
    bar.set_ticks(places[::step], labels=[str(layer) for layer in layers[::step]])
    bar.minorticks_off()
    bar.ax.tick_params(length=0, labelsize=8)
    bar.outline.set_visible(False)
    bar.set_label("layer")
    _finish_curves(axes, rows, f"{rows[0].subject}: bits an example takes")
    return axes


def draw_compression(axes: Axes, rows: Sequence[Row]) -> Axes:
    """Draw compression against the layer, one curve for each input, its control dashed."""
    names = _subjects(rows)
    for name, colour in zip(names, _colours(rows), strict=True):
        for which in (TASK, CONTROL):
            chosen = [
                row
                for row in _rows_of(rows, name)
                if row.measure == COMPRESSION and row.details["set"] == which
            ]
            if chosen:
                _draw_line(axes, chosen, colour, which)
    levels = sorted({row.details["neutral"] for row in rows if row.measure == COMPRESSION})
    for level in levels:  # several where inputs have other shares of their classes
        axes.axhline(level, color=_FAINT, lw=0.8, ls=":")
    axes.lines[-1].set_label("nothing to read off")
    axes.set(xlabel="layer", ylabel="compression (bits)", title="Compression along the layers")
    axes.locator_params(axis="x", integer=True)
    low, high = axes.get_ylim()
    axes.set_ylim(max(0, min(low, levels[0] - 3 * _SLACK)), high + _SLACK * (high - low))
    axes.legend(frameon=False, fontsize=8)
    return axes


def _draw_line(axes: Axes, rows: Sequence[Row], colour: str, which: str) -> None:
    layers = [row.details["layer"] for row in rows]
    means = [float(row.value or 0) for row in rows]
    low, high = ([row.details[key] for row in rows] for key in ("min", "max"))
    style: dict[str, Any] = {"ls": "--", "lw": 1} if which == CONTROL else {"marker": "o", "ms": 3}
    name = rows[0].subject + (": control" if which == CONTROL else "")
    axes.plot(layers, means, color=colour, label=name, **style)
    axes.fill_between(layers, low, high, color=colour, alpha=0.15, lw=0)


def _draw_curve(
    axes: Axes, row: Row, colour: Any, *, label: str = "", dashed: bool = False, spread: bool = True
) -> None:
    """Draw the blocks of a row: their mean over seeds, or every seed where the blocks differ."""
    ends = np.array(_padded(row.details["block_ends"]))
    bits = np.array(_padded(row.details["block_bits"]))
    each = bits[:, 1:] / np.diff(ends, axis=1)
    style: dict[str, Any] = {"color": colour, "ls": "--" if dashed else "-", "lw": 1.2}
    # a single block is a point, without a line
    style |= {"marker": "o", "ms": 3, "mfc": "white" if dashed else colour}
    if (ends != ends[0]).any():
        axes.plot(ends[:, :-1].T, each.T, **{**style, "lw": 0.8, "marker": ""})
        axes.lines[-1].set_label(label)
        return
    axes.plot(ends[0, :-1], each.mean(0), label=label, **style)
    if spread and len(each) > 1:
        low, high = each.min(0), each.max(0)
        axes.fill_between(ends[0, :-1], low, high, color=colour, alpha=0.15, lw=0)


def _padded(lists: Sequence[Sequence[float]]) -> list[list[float]]:
    """Pad seeds of fewer blocks with NaN, which matplotlib does not draw."""
    longest = max(map(len, lists))
    return [[*one, *[np.nan] * (longest - len(one))] for one in lists]


def _finish_curves(axes: Axes, rows: Sequence[Row], title: str) -> None:
    ticker = load_matplotlib("ticker")
    uniform = float(np.log2(rows[0].details["classes"]))
    axes.axhline(uniform, color=_FAINT, lw=0.8, ls=":", label="without a model")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    axes.set(xlabel="examples learned from", ylabel="bits per example of the next block")
    axes.set_title(title)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8)


def _subjects(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row.subject for row in rows))


def _rows_of(rows: Sequence[Row], name: str) -> list[Row]:
    return [row for row in rows if row.subject == name]


def _layers(rows: Sequence[Row]) -> list[int]:
    return sorted({row.details["layer"] for row in rows if "layer" in row.details})


def _colours(rows: Sequence[Row]) -> list[str]:
    return [_COLOURS[i % len(_COLOURS)] for i in range(len(_subjects(rows)))]
