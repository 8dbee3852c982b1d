"""Figure of a study of NLI models: each arm's paired differences in E and d, a point a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from wordbias.errors import WordbiasError
from wordbias.measures.registry import MEASURES
from wordbias.nli.differences import CHANGES, PUBLISHED_EFFECT
from wordbias.pages.panel import Dot, Look, Panel, Path, Row
from wordbias.pages.plots import INK, draw_panel, draw_panels
from wordbias.results import Row as Result
from wordbias.verdicts import interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wordbias.reports import Report

_LINE, _PANEL, _HEAD = 0.3, 2.9, 0.7  # inches: an arm, the width of a panel, title and axis
_CHARACTER = 0.075  # inches of a name


class Arm(NamedTuple):
    """Differences of one arm from the first embedding, and their mean, of one measure and set."""

    name: str
    by_seed: Mapping[int, float]
    change: Result
    first: float  # mean of the first embedding over these seeds


def plot_study(report: Report, ax: Axes | None = None) -> Axes:
    """Draw the differences of every set, E beside d."""
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
        for i, (panel, (measure, setting)) in enumerate(zip(axes, places, strict=True)):
            draw_panel(panel, differences_panel(panels.get((measure, setting), []), names))
            panel.tick_params(axis="x", labelsize=7)
            panel.locator_params(axis="x", nbins=5)
            panel.set_title(f"{MEASURES[measure].symbol}, {setting}", fontsize=9, color=INK)
            if i % len(measures):
                panel.set_yticklabels([])
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


def paired_panels(rows: Sequence[Result]) -> dict[tuple[str, str], list[Arm]]:
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


def differences_panel(arms: Sequence[Arm], names: Sequence[str]) -> Panel:
    """Describe a row for each arm: a point a seed, and below them the mean with its interval."""
    # A dashed line shows the paper's effect on the outcome, if one was named.
    places = {name: place for place, name in enumerate(names)}
    end = float(len(names))
    dots, paths = [], [Path([(0.0, 0.0), (0.0, end)], "grid")]
    if arms and _is_outcome(arms[0]):
        effect = -PUBLISHED_EFFECT * arms[0].first
        paths.append(Path([(effect, 0.0), (effect, end)], "grid effect"))
    for arm in arms:
        above, below = places[arm.name] + 0.36, places[arm.name] + 0.7
        dots += [
            Dot((difference, above), Look("after"), size=2.8) for difference in arm.by_seed.values()
        ]
        mean, ends = arm.change.value or 0.0, interval(arm.change.to_dict())
        whisker = None if ends is None else ((ends[0], below), (ends[1], below))
        dots.append(Dot((mean, below), Look("plain", "diamond"), whisker, size=3.2))
    return Panel(dots, paths, rows=[Row(name, i, i + 1) for name, i in places.items()])
