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
        "Whether each method, or your own file, helps: by the changes of the main measures that "
        "found bias before, and by what it costs. All values are in the sections below."
    )
    if any(one.is_control for one in judged):
        lead += (
            " Controls are not methods to use: null-… removes random directions with the weights "
            "of MISP, lists-… is MISP fitted to names or sentences that are drawn again."
        )
    method = (
        f"{explained(HELPS)} A measure counts if it found bias before or has no chance level, and "
        f"its change as in the column of changes. Limits: {limits_text(costs_of(judged))}."
    )
    return [Section("methods", "Methods side by side", [lead], (), grids, [method])]


def _grid(subject: str, columns: Sequence[ColumnAnswer]) -> Grid:
    kept = [what for what in LIMITS if any(what in one.kept for one in columns)]
    left = any(one.effect.left is not None for one in columns)
    heads = [
        "method",
        "helps?",
        "improves",
        "makes worse",
        *(f"{in_words(what)} kept" for what in kept),
    ]
    heads += ["bias left"] if left else []
    cells = [
        [
            f"{one.name} (control)" if one.is_control else one.name,
            one.verdict + (f": {one.failed or one.reason}" if one.reason else ""),
            _changes(one, [*one.effect.better, *one.effect.built_in], BETTER),
            _changes(one, [*one.effect.worse, *one.effect.raised], WORSE),
            *(_share(one.kept.get(what)) for what in kept),
            *([_share(one.effect.left)] if left else []),
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
    parts = [f"{step(line, one.name)}{'*' * (line in one.effect.built_in)}" for line in lines]
    within = named(one.within.get(way, []))
    said = [", ".join(parts), f"within chance: {within}" if within else ""]
    return "; ".join(filter(None, said)) or "–"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
