"""Methods and cleaned files side by side: whether each helps, what it lowers, what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.measures.registry import in_words
from wordbias.pages.answers import column_answers
from wordbias.pages.columns import ColumnAnswer, costs_of, limits_text, named, step
from wordbias.pages.lines import Line
from wordbias.pages.section import Grid, Section
from wordbias.pages.words import subjects
from wordbias.rendering import Table
from wordbias.rows import Found, given
from wordbias.verdicts import BETTER, HELPS, LIMITS, WORSE, explained


def claims_columns(row: Found) -> bool:
    """Return whether a row is about a method as a whole, not about one measure."""
    return row["measure"] in ("column", "bias-left")


def method_sections(rows: Sequence[Found]) -> list[Section]:
    """List the methods of every subject with their verdicts; nothing without any."""
    grids: list[Grid] = []
    judged: list[ColumnAnswer] = []
    for subject in subjects(rows):
        own = [row for row in rows if row["subject"] == subject]
        columns = column_answers(own)
        if columns and any(given(row, "column") for row in own):
            grids.append(_grid(subject, columns))
            judged += columns
    if not grids:
        return []
    lead = (
        "Does each method, or your own file, help? The answer depends on the changes of the main "
        "measures that found bias before, and on the cost. All values are in the sections below."
    )
    if any(column.is_control for column in judged):
        lead += (
            " Controls are not methods to use: null-… removes random directions with the weights "
            "of MISP, and lists-… is MISP fitted to redrawn names or sentences."
        )
    method = (
        f"{explained(HELPS)} A measure counts if it found bias before or has no chance level, and "
        f"its change as in the column of changes. Limits: {limits_text(costs_of(judged))}."
    )
    return [Section("methods", "Methods side by side", [lead], (), grids, [method])]


def _grid(subject: str, columns: Sequence[ColumnAnswer]) -> Grid:
    costs = [what for what in LIMITS if any(what in column.kept for column in columns)]
    left = any(column.effect.left is not None for column in columns)
    heads = [
        "method",
        "helps?",
        "improves",
        "makes worse",
        *(f"{in_words(what)} kept" for what in costs),
    ]
    heads += ["bias left"] if left else []
    cells = [
        [
            f"{column.name} (control)" if column.is_control else column.name,
            column.verdict + (f": {column.failed or column.reason}" if column.reason else ""),
            _changes(column, [*column.effect.better, *column.effect.built_in], BETTER),
            _changes(column, [*column.effect.worse, *column.effect.raised], WORSE),
            *(_share(column.kept.get(what)) for what in costs),
            *([_share(column.effect.left)] if left else []),
        ]
        for column in columns
    ]
    note = (
        "bias left: the largest share of what a main measure found before, counted from chance "
        "(from the neutral value if a measure has a test but no chance level, such as WEAT); "
        "within chance: measures that found no bias before or after; * by construction"
    )
    return Grid(Table(f"What each does to {subject}", heads, cells, note))


def _changes(column: ColumnAnswer, lines: Sequence[Line], way: str) -> str:
    """List the measures that changed one way, and those of them that were and are within chance."""
    parts = [f"{step(line, column.name)}{'*' * (line in column.effect.built_in)}" for line in lines]
    within = named(column.within.get(way, []))
    texts = [", ".join(parts), f"within chance: {within}" if within else ""]
    return "; ".join(filter(None, texts)) or "–"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
