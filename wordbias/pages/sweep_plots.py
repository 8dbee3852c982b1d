"""Figures of a sweep: fairness against strength, and accuracy against a gap of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from wordbias.contextual.nli_fairness import DROP, is_viable
from wordbias.contextual.table7 import BASE, Entry
from wordbias.measures.registry import MEASURES
from wordbias.pages.panel import Dot, Look, Panel
from wordbias.pages.plots import draw_panel, draw_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wordbias.reports import Report

_LOOKS = {
    "Base": Look("plain"),
    "Sent-debias": Look("plain", "square"),
    "SENT": Look("after"),
    "L12": Look("m2"),
    "L11": Look("m1"),
    "attn": Look("m4"),
}
_SIZE = (5.2, 3.8)  # inches


def plot_strength_fairness(
    entries: Sequence[Entry],
    report: Report,
    ax: Axes | None = None,
    *,
    drop: float = DROP,
    relative: bool = False,
) -> Axes:
    """Draw a mark for each model of a sweep: filled if it is viable."""
    base = next((model.snli for model in entries if model.level == BASE), None)
    looks = {model.level: _LOOKS.get(model.level, Look("plain")) for model in entries}
    dots = []
    for entry in entries:
        look = looks[entry.level]
        if base is not None and not is_viable(entry.snli, base, drop, relative=relative):
            look = Look(f"{look.css} hollow", look.shape)
        dots.append(Dot((entry.strength, entry.fairness), look))
    panel = Panel(
        dots,
        x="Strength S (0: no stereotypes)",
        y="Fairness η (1: fair)",
        legend=list(looks.items()),
        title="Filled: viable on SNLI",
    )
    return draw_panels(ax, _SIZE, report.title, lambda axes: draw_panel(axes[0], panel))


_OF_POINTS = {
    "random removals": Look("chance"),
    "settings": Look("m1"),
    "as it is": Look("plain"),
    "chosen": Look("after", "square"),
}


def plot_accuracy_gap(
    points: Mapping[str, Sequence[tuple[float, float]]],
    report: Report,
    ax: Axes | None = None,
    *,
    by: str,
) -> Axes:
    """Draw a mark for each setting of a sweep on a task: accuracy against the gap of groups."""
    dots = [
        Dot(place, look, size=2.0 if look.css == "chance" else Dot.size)
        for name, look in _OF_POINTS.items()
        for place in points.get(name, ())
    ]
    panel = Panel(
        dots,
        x=f"{MEASURES[by].title}, sum (0: groups are treated alike)",
        y="Accuracy",
        legend=list(_OF_POINTS.items()),
        title="On the texts that were chosen on",
    )
    return draw_panels(ax, _SIZE, report.title, lambda axes: draw_panel(axes[0], panel))
