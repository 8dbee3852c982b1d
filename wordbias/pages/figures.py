"""Figures of MDL probing: bits along the data, and compression along the layers.

Figure of the occupation experiment: gaps against compression, before and after retraining.

Figure of a sweep: fairness against strength, the settings coloured by how deep they reach.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wordbias.biographies.results import (
    AFTER,
    BEFORE,
    COMPRESSED,
    GAPS,
    REPRESENTATION,
    Metric,
    Runs,
    Values,
)
from wordbias.biographies.summary import Association, Summary
from wordbias.contextual.nli_fairness import DROP, is_viable
from wordbias.contextual.table7 import BASE, Entry
from wordbias.errors import WordbiasError, need
from wordbias.formats.files import replacing
from wordbias.pages.plots import STYLE, check_plot, new_figure
from wordbias.pages.svg import INK
from wordbias.probes.rows import CODELENGTH, COMPRESSION, CONTROL, TASK
from wordbias.results import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#1b6ca8", "#c8553d", "#3d8b5f", "#8457a3", "#9a7b1f", "#5b6770")
_FAINT = "#8a8a8a"
_PANEL = (4.6, 3.5)  # inches
_BESIDE = 2  # panels in a line
_DARKEST = 0.87  # of the colours of layers: the end of the scale looks like black
_TICKS = 14  # layers from which on every other one is named
_SLACK = 0.06  # of the range of an axis, above and below it


def save_codes(path: str | Path, rows: Sequence[Row]) -> None:
    """Draw what online codes cost along the data, and their compression along the layers.

    Parameters
    ----------
    path
        A .png, .pdf or .svg, written whole or not at all.
    rows
        Of `wordbias.probes.rows.code_rows`, of one input or several.
    """
    check_plot(path)
    matplotlib, kind = need("matplotlib", extra="plot", purpose="A figure"), Path(path).suffix[1:]
    figure = need("matplotlib.figure", extra="plot", purpose="A figure").Figure(
        figsize=_size(rows), layout="constrained"
    )
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a name that no font here can draw
        _draw(figure, rows)
        metadata = {"Date": None} if kind.lower() == "svg" else {}
        with replacing(path) as file:
            figure.savefig(file, format=kind.lower(), metadata=metadata)


def plot_codes(rows: Sequence[Row], ax: Axes | None = None) -> Axes:
    """Draw what `save_codes` writes.

    Parameters
    ----------
    rows
        As there.
    ax
        Axes to draw one panel on: the compression along the layers, or of inputs without layers the
        bits along the data. By default all panels, on a new figure; the last is returned.
    """
    matplotlib = need("matplotlib", extra="plot", purpose="A figure")
    figure = new_figure(_size(rows)) if ax is None else None
    with matplotlib.rc_context(STYLE):
        if ax is None:
            return _draw(figure, rows)
        layered = [row for row in rows if len(_layers(_of(rows, row.subject))) > 1]
        return draw_compression(ax, layered) if layered else draw_inputs(ax, rows)


def _parts(rows: Sequence[Row]) -> tuple[list[str], list[Row]]:
    """Return the inputs that have a panel of their own, and the rows of all others."""
    layered = [name for name in _subjects(rows) if len(_layers(_of(rows, name))) > 1]
    return layered, [row for row in rows if row.subject not in layered]


def _grid(rows: Sequence[Row]) -> tuple[int, int]:
    """Return how many lines and columns of panels there are."""
    layered, flat = _parts(rows)
    count = len(layered) + bool(layered) + bool(flat)
    return -(-count // _BESIDE), min(count, _BESIDE)


def _size(rows: Sequence[Row]) -> tuple[float, float]:
    lines, beside = _grid(rows)
    return _PANEL[0] * beside, _PANEL[1] * lines


def _draw(figure: Any, rows: Sequence[Row]) -> Axes:
    """Draw all panels; return the last."""
    layered, flat = _parts(rows)
    panels = iter(figure.subplots(*_grid(rows), squeeze=False).flat)
    last: Axes
    if flat:
        last = draw_inputs(next(panels), flat)
    for name in layered:
        draw_layers(next(panels), _of(rows, name))
    if layered:
        last = draw_compression(next(panels), [row for row in rows if row.subject in layered])
    for unused in panels:
        unused.remove()
    return last


def draw_inputs(axes: Axes, rows: Sequence[Row]) -> Axes:
    """Draw the bits an example takes against how many were learned from, a line an input."""
    for name, colour in zip(_subjects(rows), _cycled(rows), strict=True):
        for row in _of(rows, name):
            if row.measure == CODELENGTH and row.details["set"] == TASK:
                _draw_course(axes, row, colour, label=name)
            elif row.measure == CODELENGTH:
                _draw_course(axes, row, colour, label=f"{name}: control", dashed=True)
    _finish_course(axes, rows, "Bits an example takes")
    return axes


def draw_layers(axes: Axes, rows: Sequence[Row]) -> Axes:
    """Draw the bits an example takes against how many were learned from, a line a layer."""
    matplotlib = need("matplotlib", extra="plot", purpose="A figure")
    layers = _layers(rows)
    places = range(len(layers))
    colours = matplotlib.colormaps["viridis_r"](np.linspace(0, _DARKEST, len(layers)))
    for row in rows:
        if row.measure == CODELENGTH and row.details["set"] == TASK:
            _draw_course(axes, row, colours[layers.index(row.details["layer"])], spread=False)
    scale = matplotlib.colors.BoundaryNorm(np.arange(len(layers) + 1) - 0.5, len(layers))
    shown = matplotlib.cm.ScalarMappable(scale, matplotlib.colors.ListedColormap(colours))
    bar = axes.figure.colorbar(shown, ax=axes, pad=0.02, aspect=30)
    step = 1 if len(layers) < _TICKS else 2
    bar.set_ticks(places[::step], labels=[str(layer) for layer in layers[::step]])
    bar.minorticks_off()
    bar.ax.tick_params(length=0, labelsize=8)
    bar.outline.set_visible(False)
    bar.set_label("layer")
    _finish_course(axes, rows, f"{rows[0].subject}: bits an example takes")
    return axes


def draw_compression(axes: Axes, rows: Sequence[Row]) -> Axes:
    """Draw compression against the layer, a line an input, its control dashed."""
    names = _subjects(rows)
    for name, colour in zip(names, _cycled(rows), strict=True):
        for which in (TASK, CONTROL):
            chosen = [
                row
                for row in _of(rows, name)
                if row.measure == COMPRESSION and row.details["set"] == which
            ]
            if chosen:
                _draw_line(axes, chosen, colour, which)
    axes.axhline(1, color=_FAINT, lw=0.8, ls=":", label="nothing to read off")
    axes.set(xlabel="layer", ylabel="compression (bits)", title="Compression along the layers")
    axes.locator_params(axis="x", integer=True)
    low, high = axes.get_ylim()
    axes.set_ylim(max(0, min(low, 1 - 3 * _SLACK)), high + _SLACK * (high - low))
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


def _draw_course(
    axes: Axes, row: Row, colour: Any, *, label: str = "", dashed: bool = False, spread: bool = True
) -> None:
    """Draw one row's blocks: the mean over seeds, or every seed where their blocks differ."""
    ends = np.array(_padded(row.details["block_ends"]))
    bits = np.array(_padded(row.details["block_bits"]))
    each = bits[:, 1:] / np.diff(ends, axis=1)
    style: dict[str, Any] = {"color": colour, "ls": "--" if dashed else "-", "lw": 1.2}
    if (ends != ends[0]).any():
        axes.plot(ends[:, :-1].T, each.T, **{**style, "lw": 0.8})
        axes.lines[-1].set_label(label)
        return
    axes.plot(ends[0, :-1], each.mean(0), marker="" if dashed else "o", ms=3, label=label, **style)
    if spread and len(each) > 1:
        low, high = each.min(0), each.max(0)
        axes.fill_between(ends[0, :-1], low, high, color=colour, alpha=0.15, lw=0)


def _padded(lists: Sequence[Sequence[float]]) -> list[list[float]]:
    """Fill seeds of fewer blocks with what matplotlib does not draw."""
    longest = max(map(len, lists))
    return [[*one, *[np.nan] * (longest - len(one))] for one in lists]


def _finish_course(axes: Axes, rows: Sequence[Row], title: str) -> None:
    ticker = need("matplotlib.ticker", extra="plot", purpose="A figure")
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


def _of(rows: Sequence[Row], name: str) -> list[Row]:
    return [row for row in rows if row.subject == name]


def _layers(rows: Sequence[Row]) -> list[int]:
    return sorted({row.details["layer"] for row in rows if "layer" in row.details})


def _cycled(rows: Sequence[Row]) -> list[str]:
    return [_COLOURS[i % len(_COLOURS)] for i in range(len(_subjects(rows)))]


_compression_fairness_COLOURS = (
    "#1b6ca8",
    "#c8553d",
    "#3d8b5f",
    "#8457a3",
    "#9a7b1f",
    "#5b6770",
    "#b5527a",
    "#444444",
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
_SEEN_THROUGH = 0.45  # where marks are above each other: those of a frozen encoder are
_SHOWN = tuple(GAPS[i] for i in (0, 1, 3, 5, 7, 8))
"""TPR gaps, P and S, and the sums of the others; independence is separation's small sister."""
_compression_fairness_PANEL = (3.4, 2.9)  # inches
_compression_fairness_BESIDE = 3
_compression_fairness_FAINT = "#9a9a9a"


def save_compression_fairness(path: str | Path, rows: Sequence[Row]) -> None:
    """Draw small multiples in the manner of Figure 3 (Orgad et al. 2022), and write them.

    A panel a metric, those that are undefined in all runs left out. Retraining the last layer does
    not touch the vectors, so that the two marks of a run, empty before and filled after, stand
    above each other.

    Parameters
    ----------
    path
        A .png, .pdf or .svg, written whole or not at all.
    rows
        Of all jobs of the experiment.

    Raises
    ------
    WordbiasError
        If no run has both a compression and a gap, or the file cannot be drawn.
    """
    check_plot(path)
    found = Summary.of(rows)
    shown = [metric for metric in _SHOWN if _has_points(found.runs, metric)]
    if not shown:
        raise WordbiasError(f"{path}: no run has both a compression and a gap; nothing to draw")
    matplotlib = need("matplotlib", extra="plot", purpose="A figure")
    kind = Path(path).suffix[1:].lower()
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a name that no font here can draw
        figure = _drawn(found, shown)
        with replacing(path) as file:
            figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else {})


def _drawn(found: Summary, shown: Sequence[Metric]) -> Any:
    figures = need("matplotlib.figure", extra="plot", purpose="A figure")
    lines, beside = (
        -(-len(shown) // _compression_fairness_BESIDE),
        min(len(shown), _compression_fairness_BESIDE),
    )
    size = (
        max(_compression_fairness_PANEL[0] * beside, 4.6),
        _compression_fairness_PANEL[1] * lines + 0.5,
    )
    figure = figures.Figure(figsize=size, layout="constrained")
    panels = list(figure.subplots(lines, beside, squeeze=False).flat)
    for axes, metric in zip(panels, shown, strict=False):
        draw_compression_fairness(axes, found, metric)
    for unused in panels[len(shown) :]:
        unused.remove()
    handles, labels = panels[0].get_legend_handles_labels()
    style: dict[str, Any] = {"ncols": min(len(labels), 2 * beside), "frameon": False, "fontsize": 8}
    figure.legend(handles, labels, loc="outside lower center", **style)
    figure.get_layout_engine().set(wspace=0.06, hspace=0.06)
    return figure


def draw_compression_fairness(axes: Axes, found: Summary, metric: Metric) -> Axes:
    """Draw one metric against compression: a colour a strategy, empty before, filled after."""
    for i, name in enumerate(found.runs.strategies):
        colour = _compression_fairness_COLOURS[i % len(_compression_fairness_COLOURS)]
        x = found.runs.column(COMPRESSED, name, REPRESENTATION)
        before, after = (found.runs.column(metric, name, stage) for stage in (BEFORE, AFTER))
        both = np.isfinite(x) & np.isfinite(before) & np.isfinite(after)
        axes.vlines(x[both], before[both], after[both], color=colour, lw=0.8, alpha=0.5)
        style: dict[str, Any] = {"s": 22, "edgecolor": colour, "lw": 0.9, "zorder": 3}
        style["marker"] = _MARKERS[i % len(_MARKERS)]
        axes.scatter(x, before, facecolor="none", **style)
        axes.scatter(x, after, facecolor=(colour, _SEEN_THROUGH), label=name, **style)
    for stage, line in ((BEFORE, ":"), (AFTER, "-")):
        _draw_fit(axes, found.runs, found.association(COMPRESSED, metric, stage), line)
    axes.axvline(1, color=_compression_fairness_FAINT, lw=0.6, ls=(0, (1, 3)))
    axes.set(xlabel="compression of gender (1: none shows)", ylabel=metric.title)
    axes.set_title(_fits(found, metric), color=INK, fontsize=9)
    axes.margins(0.08)
    return axes


def _draw_fit(axes: Axes, runs: Runs, one: Association, line: str) -> None:
    """Draw the least squares line through all runs at one stage."""
    if one.r is None:
        return
    label = f"fit, {one.stage}" + (" (empty)" if one.stage == BEFORE else " (filled)")
    x, y = _points(runs, one.y, one.stage)
    slope, level = np.polyfit(x, y, 1)
    ends = np.array([x.min(), x.max()])
    axes.plot(
        ends, level + slope * ends, color=_compression_fairness_FAINT, ls=line, lw=1.1, label=label
    )


def _points(runs: Runs, metric: Metric, stage: str) -> tuple[Values, Values]:
    x, y = runs.every(COMPRESSED, REPRESENTATION), runs.every(metric, stage)
    both = np.isfinite(x) & np.isfinite(y)
    return x[both], y[both]


def _has_points(runs: Runs, metric: Metric) -> bool:
    return any(len(_points(runs, metric, stage)[0]) > 0 for stage in (BEFORE, AFTER))


def _fits(found: Summary, metric: Metric) -> str:
    squares = [found.association(COMPRESSED, metric, stage).r2 for stage in (BEFORE, AFTER)]
    said = [
        f"{square:.2f} {stage}"
        for square, stage in zip(squares, (BEFORE, AFTER), strict=True)
        if square is not None
    ]
    return f"R² {', '.join(said) or 'undefined'}"


_COLORS = {
    "SENT": "#5b8cc0",
    "L12": "#5aa469",
    "L11": "#d98c3f",
    "attn": "#b5527a",
}
_OTHER = {"Base": "o", "Sent-debias": "s"}


def save_strength_fairness(
    path: str | Path, entries: Sequence[Entry], drop: float = DROP, *, relative: bool = False
) -> None:
    """Draw a sweep and write it.

    Parameters
    ----------
    path
        A .png, .pdf or .svg, written whole or not at all.
    entries
        The models; filled marks are viable, empty ones lose more on SNLI than they may.
    drop, relative
        What a viable model may lose.
    """
    check_plot(path)
    matplotlib = need("matplotlib", extra="plot", purpose="A figure")
    figures = need("matplotlib.figure", extra="plot", purpose="A figure")
    kind = Path(path).suffix[1:].lower()
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a sign that no font here can draw
        figure = figures.Figure(figsize=(5.2, 3.8), layout="constrained")
        draw_strength_fairness(figure.subplots(), entries, drop, relative=relative)
        metadata = {"Date": None} if kind == "svg" else {}
        with replacing(path) as file:
            figure.savefig(file, format=kind, metadata=metadata)


def draw_strength_fairness(
    axes: Axes, entries: Sequence[Entry], drop: float = DROP, *, relative: bool = False
) -> Axes:
    """Draw one mark a model; parameters are those of `save_strength_fairness`."""
    base = next((one.snli for one in entries if one.level == BASE), None)
    for level in dict.fromkeys(one.level for one in entries):
        color, marker = _COLORS.get(level, INK), _OTHER.get(level, "o")
        shown = level
        for viable in (True, False):
            points = [
                (one.strength, one.fairness)
                for one in entries
                if one.level == level and _viable(one, base, drop, relative) == viable
            ]
            if points:
                x, y = zip(*points, strict=True)
                face = color if viable else "none"
                axes.scatter(
                    x, y, s=22, marker=marker, facecolor=face, edgecolor=color, lw=0.9, label=shown
                )
                shown = ""
    axes.set(xlabel="Strength S (0: no stereotypes)", ylabel="Fairness η (1: fair)")
    axes.set_title("Filled: viable on SNLI", color=INK)
    axes.margins(0.08)
    axes.legend(frameon=False, fontsize=8, handletextpad=0.3)
    return axes


def _viable(one: Entry, base: float | None, drop: float, relative: bool) -> bool:
    return base is None or is_viable(one.snli, base, drop, relative=relative)
