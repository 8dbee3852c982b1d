"""Rows arranged as tables for people."""

from __future__ import annotations

from wordbias.debias.effect import Effect
from wordbias.debias.study import Study
from wordbias.results import Row, Table, number
from wordbias.wordlists import Attribute

_TITLES = {
    "midb": "MIDB (signed mean)",
    "midb-abs": "MIDB (mean of |·|)",
    "midb-rms": "MIDB (root mean square)",
    "midb-unit": "MIDB (unit length)",
    "direct-bias": "direct bias ({axis})",
    "direct-bias-pca": "direct bias (PCA of pairs)",
    "displacement": "displacement ‖w′−w‖/‖w‖",
    "neighbours-preserved": "neighbours preserved ({k})",
}


def components_table(study: Study, attribute: Attribute) -> Table:
    """One line a component."""
    found = study.diagnosis
    columns = ["", "weight a", "cos(g, Δ)", f"cos(g, {axis_name(attribute)})", "sign stability"]
    cells = [
        [
            f"g{i + 1}",
            number(float(weight)),
            f"{found.cos_difference[i]:.3f}",
            "–" if found.cos_direction is None else f"{found.cos_direction[i]:.3f}",
            f"{found.stability[i]:.3f}",
        ]
        for i, weight in enumerate(found.weights)
    ]
    kind = "centred" if study.settings.center else "not centred"
    first, second = attribute.groups
    return Table(
        f"Components ({kind})",
        columns,
        cells,
        f"Δ = mean {first} − mean {second}; {found.share:.1%} of ‖Δ‖² lies inside their span, "
        f"and they explain {found.weights.sum():.1%} of the variance.",
    )


def axis_name(attribute: Attribute) -> str:
    """Name the difference that direct bias is measured along."""
    return " − ".join(attribute.direction) if attribute.direction else "no axis"


def effect_table(study: Study, attribute: Attribute) -> Table:
    """One line a measure: before, after along the frozen lens, after along a refitted one."""
    measured = study.measured
    by_key = {
        (row.measure, row.details.get("stage"), row.details.get("reference")): row
        for row in measured.rows
        if "word" not in row.details
    }
    axis = axis_name(attribute)
    cells, reasons = [], []
    for measure in dict.fromkeys(row.measure for row in measured.rows):
        before = by_key.get((measure, "before", None))
        frozen = by_key.get((measure, "after", "before")) or by_key.get((measure, "after", None))
        anew = by_key.get((measure, "after", "self"))
        shown = [row for row in (before, frozen, anew) if row is not None]
        reasons += [row.details["reason"] for row in shown if "reason" in row.details]
        cells.append(
            [
                _title(shown[0], axis),
                *(_cell(row) for row in (before, frozen, anew)),
                _better(shown[0]),
            ]
        )
    columns = ["", "before", "after", "after, refitted", "ideal"]
    note = "“after” is measured along what was fitted before, “refitted” along the result's own."
    return Table("Bias and change", columns, cells, "; ".join([note, *dict.fromkeys(reasons)]))


def moved_line(measured: Effect) -> str:
    """Name the words that moved most."""
    words = ", ".join(
        f"{row.details['word']} {number(row.value, 2)}" for row in measured.most_moved
    )
    return f"Most moved words, ‖w′−w‖/‖w‖: {words}."


def _title(row: Row, axis: str) -> str:
    k = row.details.get("setting", "")
    return _TITLES.get(row.measure, row.measure).format(axis=axis, k=k)


def _cell(row: Row | None) -> str:
    return "" if row is None else number(row.value)


def _better(row: Row) -> str:
    neutral = row.details["neutral"]
    better = {"neutral": "closest", "lower": "lower", "higher": "higher"}[row.details["better"]]
    return f"{neutral:g}, {better}"
