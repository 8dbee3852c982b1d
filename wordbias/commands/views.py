"""Rows arranged as tables for people."""

from __future__ import annotations

from wordbias.debias.effect import Effect
from wordbias.debias.study import Study
from wordbias.rendering import Table
from wordbias.results import Row, number
from wordbias.wordlists import Attribute

_MEASURES = {
    "midb": "MIDB",
    "midb-abs": "MIDB, mean of |·|",
    "midb-rms": "MIDB, RMS of components",
    "midb-unit": "MIDB, unit length",
    "direct-bias": "direct bias",
    "direct-bias-pca": "direct bias, PCA",
    "clustering-accuracy": "clustering, accuracy",
    "clustering-v": "clustering, v-measure",
    "recoverability-linear-svm": "recoverability, linear SVM",
    "recoverability-rbf-svm": "recoverability, RBF SVM",
    "recoverability-logistic": "recoverability, logistic",
    "recoverability-mlp": "recoverability, MLP",
    "sembias-definition": "SemBias, definition",
    "sembias-none": "SemBias, none",
    "sembias-stereotype": "SemBias, stereotype",
    "gipe": "GIPE",
}
_TITLES = {
    "midb": "MIDB (signed mean)",
    "midb-abs": "MIDB (mean of |·|)",
    "midb-rms": "MIDB (RMS of components)",
    "midb-unit": "MIDB (unit length)",
    "direct-bias": "direct bias ({axis})",
    "direct-bias-pca": "direct bias (PCA of pairs)",
    "displacement": "displacement ‖w′−w‖/‖w‖",
    "neighbours-preserved": "neighbours preserved ({k})",
}


def components_table(study: Study, attribute: Attribute) -> Table:
    """One line a component."""
    found = study.diagnosis
    columns = [
        "",
        "weight a",
        "removed",
        "cos(g, Δ)",
        f"cos(g, {axis_name(attribute)})",
        "sign stability",
    ]
    cells = [
        [
            f"g{i + 1}",
            number(float(weight)),
            number(float(removed)),
            f"{found.cos_difference[i]:.3f}",
            "–" if found.cos_direction is None else f"{found.cos_direction[i]:.3f}",
            f"{found.stability[i]:.3f}",
        ]
        for i, (weight, removed) in enumerate(zip(found.weights, study.removed, strict=True))
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


def measures_tables(rows: list[Row]) -> list[Table]:
    """One line a measure and setting, one column an embedding, three a table."""
    subjects = list(dict.fromkeys(row.subject for row in rows))
    return [
        _measures_table([row for row in rows if row.subject in subjects[start : start + 3]])
        for start in range(0, len(subjects), 3)
    ]


def _measures_table(rows: list[Row]) -> Table:
    subjects = list(dict.fromkeys(row.subject for row in rows))
    interval = _with_interval if len(subjects) == 1 else _with_half_width
    lines = list(dict.fromkeys(_line_key(row) for row in rows))
    found = {(_line_key(row), row.subject): row for row in rows}
    cells, reasons = [], []
    for key in lines:
        across = [found.get((key, subject)) for subject in subjects]
        first = next(row for row in across if row is not None)
        reasons += [row.details["reason"] for row in across if row and "reason" in row.details]
        title = _MEASURES.get(first.measure, first.measure)
        label = f"{title} ({key[1]})" if key[1] else title
        cells.append([label, *map(interval, across), _ideal(first)])
    return Table(
        "Bias, with the 95 % interval over words"
        + ("" if len(subjects) == 1 else " (± half of it)"),
        ["", *subjects, "ideal"],
        cells,
        "; ".join(dict.fromkeys(reasons)),
    )


def words_tables(rows: list[Row], attribute: Attribute) -> list[Table]:
    """One table an embedding: one line a word, one column a measure."""
    first, second = attribute.groups
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        found.setdefault(row.subject, {}).setdefault(row.details["word"], []).append(_cell(row))
    columns = ["", *dict.fromkeys(row.measure for row in rows)]
    return [
        Table(
            f"Words of {subject}: positive leans to {first}, negative to {second}",
            columns,
            [[word, *cells] for word, cells in words.items()],
        )
        for subject, words in found.items()
    ]


def _line_key(row: Row) -> tuple[str, str]:
    variant = row.details.get("set") or (
        row.details.get("setting") if row.measure == "gipe" else ""
    )
    return row.measure, str(variant or "")


def _with_interval(row: Row | None) -> str:
    if row is None or row.value is None or "low" not in row.details:
        return _cell(row)
    low, high = number(row.details["low"], 3), number(row.details["high"], 3)
    return f"{number(row.value, 3)} [{low}, {high}]"


def _with_half_width(row: Row | None) -> str:
    if row is None or row.value is None or "low" not in row.details:
        return _cell(row)
    half = (row.details["high"] - row.details["low"]) / 2
    return f"{number(row.value, 3)} ±{half:.3f}"


def _ideal(row: Row) -> str:
    return _better(row) if "neutral" in row.details else str(row.details.get("better", ""))


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
