"""Figure of a sweep: fairness against strength, one colour for each level of debiasing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wordbias.contextual.nli_fairness import DROP, is_viable
from wordbias.contextual.table7 import BASE, Entry
from wordbias.errors import need
from wordbias.formats.files import replacing
from wordbias.pages.plots import INK, STYLE, check_plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
