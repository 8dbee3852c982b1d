"""Figure of a sweep: fairness against strength, one colour for each level of debiasing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wordbias.contextual.nli_fairness import DROP, is_viable
from wordbias.contextual.table7 import BASE, Entry
from wordbias.pages.plots import (
    INK,
    save_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {"SENT": "#5b8cc0", "L12": "#5aa469", "L11": "#d98c3f", "attn": "#b5527a"}
_MARKERS = {"Base": "o", "Sent-debias": "s"}
SIZE = (5.2, 3.8)
"""Width and height of the figure in inches."""


def save_strength_fairness(
    path: str | Path, entries: Sequence[Entry], drop: float = DROP, *, relative: bool = False
) -> None:
    """Draw a mark for each model of a sweep, and write the figure.

    Parameters
    ----------
    path
        A .png, .pdf or .svg, written whole or not at all.
    entries
        Models; filled marks are viable, empty ones lose more on SNLI than ``drop``.
    drop, relative
        Loss on SNLI that a viable model may have, absolute or relative.
    """
    save_figure(
        path,
        SIZE,
        lambda figure: draw_strength_fairness(figure.subplots(), entries, drop, relative=relative),
    )


def draw_strength_fairness(
    axes: Axes, entries: Sequence[Entry], drop: float = DROP, *, relative: bool = False
) -> Axes:
    """Draw a mark for each model; for the parameters see `save_strength_fairness`."""
    base = next((one.snli for one in entries if one.level == BASE), None)
    for level in dict.fromkeys(one.level for one in entries):
        color, marker = _COLOURS.get(level, INK), _MARKERS.get(level, "o")
        shown = level
        for viable in (True, False):
            points = [
                (one.strength, one.fairness)
                for one in entries
                if one.level == level
                and (base is None or is_viable(one.snli, base, drop, relative=relative)) == viable
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
