"""Lines as a table: a line for each measure, a column for each stage, with chance and change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from wordbias import verdicts
from wordbias.measures.registry import measure_title
from wordbias.pages.encoder_answers import CHANCE_OF_MODELS
from wordbias.pages.forest import strip, strip_legend
from wordbias.pages.lines import (
    CHANCE,
    REFITTED,
    Line,
    about,
    chance_text,
    ideal,
    is_refitted,
    known_text,
    stages_of,
    value_text,
    with_change,
)
from wordbias.pages.section import Grid
from wordbias.rendering import Table
from wordbias.rows import Found, given
from wordbias.verdicts import change, is_number

Column = tuple[str, Callable[[Line], str]]


def line_grid(
    lines: Sequence[Line],
    title: str,
    *,
    strips: bool,
    details: bool = True,
    named: Callable[[str], str] = measure_title,
) -> Grid:
    """Arrange lines as a table, with small pictures (`strips`) and p and coverage (`details`)."""
    columns = _columns(lines, details, named)
    cells = [[make(line) for _, make in columns] for line in lines]
    reasons = [
        row["reason"]
        for line in lines
        for row in line.stages.values()
        if row["value"] is None and "reason" in row
    ]
    reasons += [row["reading"] for line in lines for row in _with_reading(line).values()]
    chance = CHANCE_OF_MODELS if given(lines[0].any, "audit") else CHANCE
    reasons += [chance] if any(map(chance_text, lines)) else []
    reasons += [REFITTED] if any(is_refitted(r) for ln in lines for r in ln.stages.values()) else []
    note = "; ".join(dict.fromkeys(map(str, reasons)))
    table = Table(title, [head for head, _ in columns], cells, note)
    stages = stages_of(lines)
    pictures = [strip(line, stages) for line in lines] if strips else []
    return Grid(table, pictures, legend=strip_legend(lines, stages) if strips else None)


def _columns(lines: Sequence[Line], details: bool, named: Callable[[str], str]) -> list[Column]:
    several = len({line.subject for line in lines}) > 1
    later = [(line.first, row) for line in lines for row in line.later.values()]
    compared = any(change(*both) != verdicts.UNKNOWN for both in later)
    columns: list[Column] = [("embedding", lambda line: line.subject)] if several else []
    columns.append(("measure", lambda line: with_variant(named(line.measure), line.variant)))
    values: list[Column] = [
        (stage or "value", partial(_value, stage)) for stage in stages_of(lines)
    ]
    chance: list[Column] = [("chance", chance_text)] if any(map(chance_text, lines)) else []
    columns += [*values[:1], *chance, *values[1:]]  # chance is in sight however many columns follow
    columns += [("change", change_text)] if compared else []
    columns += [("known embeddings", known_text)] if any(map(known_text, lines)) else []
    columns.append(("ideal", lambda line: ideal(line.any)))
    columns += [("about", about)] if len({*map(about, lines)} - {""}) > 1 else []
    known: dict[str, Callable[[Line], str]] = {
        "n": _size,
        "p": _p,
        "coverage": _coverage,
        "reading": _warning,
    }
    return columns + [
        (key, make)
        for key, make in known.items()
        if details and any(key in row for line in lines for row in line.stages.values())
    ]


def change_text(line: Line) -> str:
    """Name the stages by their change; of a single one, only the change."""
    by_change: dict[str, list[str]] = {}
    for stage, row in line.later.items():
        by_change.setdefault(change(line.first, row), []).append(stage)
    if len(line.later) < 2:
        return next(iter(by_change), verdicts.UNKNOWN)
    order = dict.fromkeys([verdicts.BETTER, verdicts.WORSE, *by_change])
    known = [name for name in order if name in by_change and name != verdicts.UNKNOWN]
    changes = [f"{name}: {', '.join(by_change[name])}" for name in known]
    return "; ".join(changes) or verdicts.UNKNOWN


def with_variant(name: str, variant: str) -> str:
    """Write a measure's name with its variant, if it has one."""
    return f"{name} ({variant})" if variant else name


def _value(stage: str, line: Line) -> str:
    row = line.stages.get(stage)
    text = f"{value_text(row)} refitted" if is_refitted(row) else value_text(row)
    return with_change(text, row) if row is not None and given(row, "audit") else text


def _size(line: Line) -> str:
    n = line.any.get("n")
    if isinstance(n, dict):
        return "+".join(str(size) for size in n.values())
    return f"{n:,}" if is_number(n) else str(n or "")


def _p(line: Line) -> str:
    ps = (row.get("p_holm", row.get("p")) for row in line.stages.values())
    values = [p for p in ps if is_number(p)]
    return " → ".join(f"{p:.1e}" if 0 < p < 0.001 else f"{p:.3f}" for p in values)


def _coverage(line: Line) -> str:
    coverage = line.any.get("coverage")
    return f"{coverage:.0%}" if is_number(coverage) else ""


def _warning(line: Line) -> str:
    """Return a warning on p and the interval, with the stages if it is not about all."""
    stages = list(_with_reading(line))
    when = f"{', '.join(stages)}: " if stages and len(stages) < len(line.stages) else ""
    return f"{when}depends on the words chosen" if stages else ""


def _with_reading(line: Line) -> dict[str, Found]:
    """Return the rows with a note on the meaning of p and the interval."""
    return {stage: row for stage, row in line.stages.items() if given(row, "reading")}
