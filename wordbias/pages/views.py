"""Sections of a report: each view takes the rows that it knows, and builds sections of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from wordbias import verdicts
from wordbias.measures.registry import FAMILY_OF, SECTIONS, Family, full_title
from wordbias.pages import components, encoder_views, entailment, retrieval, words
from wordbias.pages.forest import forest
from wordbias.pages.grids import line_grid, with_variant
from wordbias.pages.lines import (
    Line,
    about,
    ideal,
    main_attribute,
    make_lines,
    minus,
    stages_of,
    value_text,
)
from wordbias.pages.main_measures import claims_measures, main_lines, missing_query_notes
from wordbias.pages.methods import claims_columns, method_sections
from wordbias.pages.section import Figure, Grid, Section
from wordbias.pages.trade_off import claims_trade_off, trade_off_sections
from wordbias.rendering import Table, how_many
from wordbias.results import number
from wordbias.rows import Found
from wordbias.verdicts import is_number

_ORDER = ["methods", "trade-off", "glance", "matrix", "occupations"]
_ORDER += [family.key for family in SECTIONS if family.key not in _ORDER]
_ORDER.insert(_ORDER.index("moved"), "neighbours")


def sections(rows: Sequence[Found]) -> list[Section]:
    """Arrange rows as sections, in the order in which people look at them."""
    # Sections of several views with one key become one, the pictures of the first view above.
    views = (
        (encoder_views.claims_model, encoder_views.model_sections),
        (words.claims_occupations, words.occupation_sections),
        (components.claims_components, components.component_sections),
        (words.claims_map, words.map_sections),
        (words.claims_neighbours, words.neighbour_sections),
        (entailment.claims_entailment, entailment.entailment_sections),
        (claims_trade_off, trade_off_sections),
        (retrieval.claims_retrieval, retrieval.retrieval_sections),
        (claims_measures, measure_sections),
    )
    taken: dict[int, list[Found]] = {}
    left: list[Found] = []
    for row in rows:
        number = next((i for i, (claims, _) in enumerate(views) if claims(row)), None)
        (left if number is None else taken.setdefault(number, [])).append(row)
    of_views = [part for i in sorted(taken) for part in views[i][1](taken[i])]
    ordered = [
        *method_sections(rows),
        *glance_sections(rows),
        *matrix_sections(rows),
        *of_views,
        *plain_sections([row for row in left if not claims_columns(row)]),
    ]
    merged: dict[str, Section] = {}
    for section in sorted(ordered, key=_place):
        known = merged.get(section.key)
        merged[section.key] = section if known is None else _merge(known, section)
    return list(merged.values())


def _place(section: Section) -> int:
    return _ORDER.index(section.key) if section.key in _ORDER else len(_ORDER)


def _merge(first: Section, second: Section) -> Section:
    """Merge two parts of a section; the title is that of the part that has one."""
    return Section(
        first.key,
        second.title or first.title,
        [*second.lead, *first.lead],
        [*first.figures, *second.figures],
        [*second.grids, *first.grids],
        [*second.method, *first.method],
    )


# Values of each family of measures

_DRAWN = 40
"""Largest number of lines in one picture; a table shows all."""


def measure_sections(rows: Sequence[Found]) -> list[Section]:
    """Make a section for each family of measures."""
    family_sections = []
    for family in SECTIONS:
        lines = make_lines(row for row in rows if FAMILY_OF[row["measure"]] is family)
        if lines:
            family_sections.append(_section(family, lines))
    return family_sections


def _section(family: Family, lines: Sequence[Line]) -> Section:
    attribute = main_attribute(lines)
    own = [line for line in lines if about(line) == attribute]
    others = [line for line in lines if about(line) != attribute]
    drawn = [line for line in own if line.values()]
    common = family.common and len(drawn) > 1
    figures = [_figure(family, drawn[:_DRAWN])] if common else []
    title = f"Queries about {attribute}: values" if others else "Values"
    grids = [line_grid(own, f"{title} with their 95 % intervals", strips=not common)]
    if others:
        grids.append(line_grid(others, "Queries about something else, and controls", strips=False))
    return Section(
        family.key,
        family.title,
        [family.question],
        figures,
        grids,
        [family.description, family.limits],
    )


def _figure(family: Family, lines: Sequence[Line]) -> Figure:
    subjects = len({line.subject for line in lines}) > 1
    stages = [stage for stage in stages_of(lines) if stage]
    shows = "Each mark is a value, the bar around it its 95 % interval"
    shows += f"; {', '.join(stages)} under each other." if len(stages) > 1 else "."
    title = f"{family.short}, values and intervals"
    return Figure(title, forest(lines, title, shows, subjects=subjects), shows, family.limits)


# At a glance: the main measure of each family

_FEW = 3
_MEANING_OF_CHANGES = (
    f"{verdicts.explained(verdicts.CHANGES)} The intervals are at 95 %; that of a change is "
    "paired: both stages are measured on the same words and bootstrap draws."
)


def glance_sections(rows: Sequence[Found]) -> list[Section]:
    """Show one line for each family and subject, if there are several families."""
    lines = main_lines(rows)
    if len({line.measure for line in lines}) < _FEW:
        return []
    title = "One measure of each kind, with its 95 % interval"
    grid = line_grid(lines, title, strips=True, details=False, named=full_title)
    lead = (
        "Each measure detects only the bias it was made for. They are not alternatives, and none "
        "alone is a verdict. All values are in the sections below."
    )
    leads = [lead, *missing_query_notes(rows)]
    return [Section("glance", "At a glance", leads, (), [grid], [_MEANING_OF_CHANGES])]


# Embeddings side by side

_SHADES = 9
_MEANING = (
    "The darker a cell, the further it is from the measure’s neutral value, compared with the "
    "furthest in its line; lines without a neutral value are not shaded. Shades do not compare "
    "between lines, and a light cell is not a fair embedding: it is the least biased of those "
    "shown, by that measure."
)


def matrix_sections(rows: Sequence[Found]) -> list[Section]:
    """Show measures by embeddings, a column for each stage; nothing for a single embedding."""
    known = make_lines(row for row in rows if claims_measures(row))
    lines = [ln for ln in known if ln.values() and FAMILY_OF[ln.measure].kind != "change"]
    subjects = list(dict.fromkeys(line.subject for line in lines))
    if len(subjects) < 2:
        return []
    grid = _grid(lines, subjects)
    lead = f"{len(subjects)} embeddings, {how_many(len(grid.table.cells), 'measure')}. {_MEANING}"
    return [Section("matrix", "Embeddings side by side", [lead], (), [grid], _citations(lines))]


def _grid(lines: Sequence[Line], subjects: Sequence[str]) -> Grid:
    heads = [
        (subject, stage)
        for subject in subjects
        for stage in stages_of([line for line in lines if line.subject == subject])
    ]
    by_key = {(line.measure, line.variant, line.subject): line for line in lines}
    cells, shades = [], []
    for measure, variant in dict.fromkeys((line.measure, line.variant) for line in lines):
        across = [_row(by_key.get((measure, variant, subject)), stage) for subject, stage in heads]
        first = next(row for row in across if row is not None)
        cells.append(
            [with_variant(full_title(measure), variant), *map(_cell, across), ideal(first)]
        )
        shades.append([*shaded(across), None])
    names = [f"{subject}, {stage}".strip(", ") for subject, stage in heads]
    table = Table("Measures by embedding", ["measure", *names, "ideal"], cells)
    return Grid(table, (), shades, stacked=False)


def _row(line: Line | None, stage: str) -> Found | None:
    return None if line is None else line.stages.get(stage)


def _cell(row: Found | None) -> str:
    return "" if row is None else minus(number(row["value"], 3))


def shaded(across: Sequence[Found | None]) -> list[int | None]:
    """Grade the distances from neutral in a line: 0 is neutral, 9 the furthest in the line."""
    known = [_distance(row) for row in across]
    furthest = max((value for value in known if value is not None), default=0.0)
    return [
        None if value is None else round(_SHADES * value / furthest) if furthest else 0
        for value in known
    ]


def _distance(row: Found | None) -> float | None:
    if row is None or not is_number(row["value"]) or not is_number(row.get("neutral")):
        return None
    return abs(float(row["value"]) - float(row["neutral"]))


def _citations(lines: Sequence[Line]) -> list[str]:
    families = dict.fromkeys(FAMILY_OF[line.measure] for line in lines)
    return [f"{family.title}: {family.description}" for family in families]


# Rows that no view knows

SHOWN = 200
"""Largest number of lines in a plain table; all rows are in the data of the page."""

_NO_COLUMN = {
    "subject",
    "measure",
    "value",
    "low",
    "high",
    "neutral",
    "better",
    "reason",
    "missing",
}
_WIDEST = 40  # characters of a cell
_MOST_KEYS = 6


def plain_sections(rows: Sequence[Found]) -> list[Section]:
    """Make one section with a table for each measure."""
    if not rows:
        return []
    grids = [
        _plain_grid(measure, [row for row in rows if row["measure"] == measure])
        for measure in dict.fromkeys(str(row["measure"]) for row in rows)
    ]
    lead = "Values as the command gave them; 95 % intervals in brackets where there are any."
    return [Section("rows", "Other values", [lead], (), grids)]


def _plain_grid(measure: str, rows: Sequence[Found]) -> Grid:
    keys = _columns_of_rows(rows)
    named = ["subject", *keys, "value", "ideal"]
    cells = [
        [
            str(row["subject"]),
            *(_text(row.get(key)) for key in keys),
            value_text(row, 4),
            ideal(row),
        ]
        for row in rows[:SHOWN]
    ]
    notes = [str(row["reason"]) for row in rows if row["value"] is None and row.get("reason")]
    if len(rows) > SHOWN:
        notes.insert(0, f"The first {SHOWN} of {len(rows):,}; all are in the data of the page.")
    return Grid(Table(measure, named, cells, "; ".join(dict.fromkeys(notes))))


def _columns_of_rows(rows: Sequence[Found]) -> list[str]:
    """Choose the keys whose values differ between the rows, and the sample size."""
    keys = list(dict.fromkeys(key for row in rows for key in row if key not in _NO_COLUMN))
    short = [key for key in keys if all(len(_text(row.get(key))) <= _WIDEST for row in rows)]
    differ = [key for key in short if len({_text(row.get(key)) for row in rows}) > 1]
    return [*differ, *(["n"] if "n" in short and "n" not in differ else [])][:_MOST_KEYS]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if is_number(value):
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
