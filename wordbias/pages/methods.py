"""Methods and cleaned files side by side: whether each helps, what it lowers, what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.pages.answers import (
    NEIGHBOURS_KEPT,
    QUALITY_KEPT,
    ColumnAnswer,
    column_answers,
    short,
    step,
)
from wordbias.pages.lines import Line
from wordbias.pages.section import Grid, Section
from wordbias.pages.verdicts import ALMOST_ALL_LEFT, IMPROVED, MUCH_LEFT, WORSE
from wordbias.pages.words import subjects
from wordbias.rendering import Table
from wordbias.rows import Found, given

_KEPT = ("neighbours", "similarity", "analogies")


def claims_columns(row: Found) -> bool:
    """Return whether a row is about a method as a whole, not about one measure."""
    return row["measure"] in ("column", "bias-left")


def method_sections(rows: Sequence[Found]) -> list[Section]:
    """List the methods of every subject with their verdicts; nothing without any."""
    grids = []
    for subject in subjects(rows):
        own = [row for row in rows if row["subject"] == subject]
        columns = column_answers(own)
        if columns and any(given(row, "column") for row in own):
            grids.append(_grid(subject, columns))
    if not grids:
        return []
    lead = (
        "Whether each method, or your own file, helps: by the changes of the main measures that "
        "found bias before, and by what it costs. All values are in the sections below."
    )
    method = (
        "A method helps if the 95 % interval of the paired change of at least one measure that it "
        "does not lower by construction excludes 0, none changed for the worse, and it keeps "
        f"{NEIGHBOURS_KEPT:.0%} of the ten nearest neighbours and {QUALITY_KEPT:.0%} of similarity "
        "and analogies, where these were measured. It helps a little if more than "
        f"{MUCH_LEFT:.0%} is left, and hardly if more than {ALMOST_ALL_LEFT:.0%} is."
    )
    return [Section("methods", "Methods side by side", [lead], (), grids, [method])]


def _grid(subject: str, columns: Sequence[ColumnAnswer]) -> Grid:
    kept = [what for what in _KEPT if any(what in (one.kept or {}) for one in columns)]
    left = any(one.bias_left is not None for one in columns)
    heads = [
        "method",
        "helps?",
        "improves",
        "makes worse",
        *(f"{what} kept" for what in kept),
    ]
    heads += ["bias left"] if left else []
    cells = [
        [
            one.name,
            one.verdict + (f": {one.failed or one.reason}" if one.reason else ""),
            _changes(one, [*one.better, *one.built_in], IMPROVED),
            _changes(one, [*one.worse, *one.raised], WORSE),
            *(_share((one.kept or {}).get(what)) for what in kept),
            *([_share(one.bias_left)] if left else []),
        ]
        for one in columns
    ]
    note = (
        "bias left: the largest share of what a main measure found before, counted from chance; "
        "of a measure with a test and no chance level, as WEAT, from its neutral value; within "
        "chance: measures that found no bias before or after; * by construction"
    )
    return Grid(Table(f"What each does to {subject}", heads, cells, note))


def _changes(one: ColumnAnswer, lines: Sequence[Line], way: str) -> str:
    """List the measures that changed one way, and those of them that were and are within chance."""
    parts = [f"{step(line, one.name)}{'*' * (line in one.built_in)}" for line in lines]
    within = [short(line) for line in one.within.get(way, [])]
    said = [", ".join(parts), f"within chance: {', '.join(within)}" if within else ""]
    return "; ".join(filter(None, said)) or "–"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
