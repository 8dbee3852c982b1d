"""Figure of a study of NLI models: each arm's paired differences in E and d, a point a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from wordbias.errors import WordbiasError
from wordbias.measures.registry import MEASURES
from wordbias.nli.differences import CHANGES, PUBLISHED_EFFECT
from wordbias.pages.plots import INK, draw_panels
from wordbias.results import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wordbias.reports import Report

_POINT, _ZERO, _STRIPE = "#1b6ca8", "#9a9a9a", "#f3f3f3"
_LINE, _PANEL, _HEAD = 0.3, 2.9, 0.7  # inches: an arm, the width of a panel, title and axis
_CHARACTER = 0.075  # inches of a name


class Arm(NamedTuple):
    """Differences of one arm from the first embedding, and their mean, of one measure and set."""

    name: str
    by_seed: Mapping[int, float]
    change: Row
    first: float  # mean of the first embedding over these seeds


def plot_study(report: Report, ax: Axes | None = None) -> Axes:
    """Draw the differences of every set, E beside d.

    Raises
    ------
    WordbiasError
        If no arm has two seeds in common with the first.
    """
    panels = paired_panels(report.rows)
    if not panels:
        raise WordbiasError(
            "nothing to draw: a difference needs two embeddings and two seeds of each"
        )
    measures = list(dict.fromkeys(measure for measure, _ in panels))
    settings = list(dict.fromkeys(setting for _, setting in panels))
    names = list(dict.fromkeys(arm.name for arms in panels.values() for arm in arms))
    places = [(measure, setting) for setting in settings for measure in measures]

    def draw(axes: list[Axes]) -> None:
        for i, (one, (measure, setting)) in enumerate(zip(axes, places, strict=True)):
            draw_differences(one, panels.get((measure, setting), []), names)
            one.set_title(f"{MEASURES[measure].symbol}, {setting}", fontsize=9, color=INK)
            if i % len(measures):
                one.set_yticklabels([])
        change = next(iter(panels.values()))[0].change
        legend = (
            f"difference from {change.details['original']}, a point a seed; mean, 95 % interval; "
            "left: lower"
        )
        if any(_is_outcome(arm) for arms in panels.values() for arm in arms):
            legend += (
                f"\ndashed: {100 * PUBLISHED_EFFECT:g} % of {change.details['original']}'s E, "
                "as much as MISP lowers E in Dawkins (2021)"
            )
        if ax is None:
            figure: Any = axes[0].figure
            figure.supxlabel(legend, fontsize=8, color=INK)
        else:
            axes[-1].set_xlabel(legend, fontsize=8, color=INK)

    width = _CHARACTER * max(map(len, names)) + _PANEL * len(measures) + 0.3
    size = width, (_LINE * len(names) + _HEAD) * len(settings)
    return draw_panels(ax, size, report.title, draw, len(settings), len(measures))


def paired_panels(rows: Sequence[Row]) -> dict[tuple[str, str], list[Arm]]:
    """Return the arms of each measure and setting whose difference has an interval."""
    values: dict[tuple[str, str], dict[str, dict[int, float]]] = {}
    for row in rows:
        if row.measure in CHANGES and "seed" in row.details and row.value is not None:
            key = row.measure, str(row.details["setting"])
            of_subject = values.setdefault(key, {}).setdefault(row.subject, {})
            of_subject[int(row.details["seed"])] = row.value
    panels: dict[tuple[str, str], list[Arm]] = {}
    for measure, change in CHANGES.items():
        for row in rows:
            if row.measure == change and "low" in row.details:
                key = measure, str(row.details["setting"])
                own, first = (values[key][name] for name in (row.subject, row.details["original"]))
                both = [seed for seed in own if seed in first]
                differences = {seed: own[seed] - first[seed] for seed in both}
                mean = sum(first[seed] for seed in both) / len(both)
                panels.setdefault(key, []).append(Arm(row.subject, differences, row, mean))
    return panels


def _is_outcome(arm: Arm) -> bool:
    """Return whether an arm's difference is the outcome that was fixed beforehand."""
    return bool(arm.change.details.get("outcome"))


def draw_differences(axes: Axes, arms: Sequence[Arm], names: Sequence[str]) -> Axes:
    """Draw a line for each arm: a point a seed, and below it the mean with its interval.

    A dashed line shows the paper's effect on the outcome, if one was named.
    """
    places = {name: place for place, name in enumerate(names)}
    for place in places.values():
        if place % 2 == 0:
            axes.axhspan(place - 0.5, place + 0.5, color=_STRIPE, lw=0, zorder=0)
    axes.axvline(0, color=_ZERO, lw=0.8, zorder=1)
    if arms and _is_outcome(arms[0]):
        axes.axvline(-PUBLISHED_EFFECT * arms[0].first, color=_ZERO, lw=0.8, ls="--", zorder=1)
    for arm in arms:
        place, about = places[arm.name], arm.change.details
        above = [place - 0.14] * len(arm.by_seed)
        axes.scatter(
            list(arm.by_seed.values()), above, s=12, color=_POINT, alpha=0.6, lw=0, zorder=2
        )
        axes.hlines(place + 0.2, about["low"], about["high"], color=INK, lw=1.4, zorder=3)
        axes.plot(arm.change.value or 0.0, place + 0.2, "D", color=INK, ms=3.5, zorder=4)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(list(places.values()), names)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=7)
    axes.locator_params(axis="x", nbins=5)
    axes.spines["left"].set_visible(False)
    axes.margins(x=0.08)
    return axes
