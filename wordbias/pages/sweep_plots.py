"""Figure of a sweep: fairness against strength, one colour for each level of debiasing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wordbias.contextual.nli_fairness import DROP, is_viable
from wordbias.contextual.table7 import BASE, Entry
from wordbias.pages.plots import INK, draw_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wordbias.reports import Report

_COLOURS = {"SENT": "#5b8cc0", "L12": "#5aa469", "L11": "#d98c3f", "attn": "#b5527a"}
_MARKERS = {"Base": "o", "Sent-debias": "s"}
_SIZE = (5.2, 3.8)  # inches


def plot_strength_fairness(
    entries: Sequence[Entry],
    report: Report,
    ax: Axes | None = None,
    *,
    drop: float = DROP,
    relative: bool = False,
) -> Axes:
    """Draw a mark for each model; for the parameters see `draw_strength_fairness`."""

    def draw(panels: list[Axes]) -> None:
        draw_strength_fairness(panels[0], entries, drop, relative=relative)

    return draw_panels(ax, _SIZE, report.title, draw)


def draw_strength_fairness(
    axes: Axes, entries: Sequence[Entry], drop: float = DROP, *, relative: bool = False
) -> Axes:
    """Draw a mark for each model of a sweep.

    Parameters
    ----------
    entries
        Models; filled marks are viable, empty ones lose more on SNLI than ``drop``.
    drop, relative
        Loss on SNLI that a viable model may have, absolute or relative.
    """
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
