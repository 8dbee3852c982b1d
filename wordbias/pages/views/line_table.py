"""Lines as a table: values with intervals, what is neutral, which way is better, what changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from wordbias.measures.registry import measure_title
from wordbias.pages.judging import UNKNOWN, change
from wordbias.pages.lines import (
    CHANCE,
    Line,
    about,
    chance_text,
    ideal,
    is_number,
    stages_of,
    value_text,
)
from wordbias.pages.section import Grid
from wordbias.pages.views.forest import strip
from wordbias.rendering import Table
from wordbias.rows import Found, given

Column = tuple[str, Callable[[Line], str]]


def line_grid(
    lines: Sequence[Line],
    title: str,
    *,
    strips: bool,
    details: bool = True,
    named: Callable[[str], str] = measure_title,
) -> Grid:
    """Arrange lines as a table.

    Parameters
    ----------
    lines
        At least one.
    title
        Of the table.
    strips
        Whether each line gets a small picture.
    details
        Whether sizes, p-values and coverage are shown where there are any.
    named
        How a measure is called.
    """
    columns = _columns(lines, details, named)
    cells = [[make(line) for _, make in columns] for line in lines]
    reasons = [row["reason"] for line in lines for row in line.stages.values() if "reason" in row]
    reasons += [row["reading"] for line in lines for row in _read(line).values()]
    reasons += [CHANCE] if any(map(chance_text, lines)) else []
    note = "; ".join(dict.fromkeys(map(str, reasons)))
    pictures = [strip(line) for line in lines] if strips else []
    return Grid(Table(title, [head for head, _ in columns], cells, note), pictures)


def _columns(lines: Sequence[Line], details: bool, named: Callable[[str], str]) -> list[Column]:
    several = len({line.subject for line in lines}) > 1
    compared = any(change(line) != UNKNOWN for line in lines)
    found: list[Column] = [("embedding", lambda line: line.subject)] if several else []
    found.append(("measure", partial(_name, named)))
    found += [(stage or "value", partial(_value, stage)) for stage in stages_of(lines)]
    found += [("chance", chance_text)] if any(map(chance_text, lines)) else []
    found.append(("ideal", lambda line: ideal(line.any)))
    found += [("change", change)] if compared else []
    found += [("about", about)] if len({*map(about, lines)} - {""}) > 1 else []
    known = _DETAILS if details else {}
    return found + [
        (key, make)
        for key, make in known.items()
        if any(key in row for line in lines for row in line.stages.values())
    ]


def _name(named: Callable[[str], str], line: Line) -> str:
    name = named(line.measure)
    return f"{name} ({line.variant})" if line.variant else name


def _value(stage: str, line: Line) -> str:
    return value_text(line.stages.get(stage))


def _size(line: Line) -> str:
    n = line.any.get("n")
    if isinstance(n, dict):
        return "+".join(str(size) for size in n.values())
    return f"{n:,}" if is_number(n) else str(n or "")


def _p(line: Line) -> str:
    told = [row["p"] for row in line.stages.values() if is_number(row.get("p"))]
    return " → ".join(f"{p:.1e}" if 0 < p < 0.001 else f"{p:.3f}" for p in told)


def _coverage(line: Line) -> str:
    coverage = line.any.get("coverage")
    return f"{coverage:.0%}" if is_number(coverage) else ""


def _reading(line: Line) -> str:
    """Say what p and the interval mean together, and at which stage if not at every one."""
    stages = list(_read(line))
    when = f"{', '.join(stages)}: " if stages and len(stages) < len(line.stages) else ""
    return f"{when}depends on the words chosen" if stages else ""


def _read(line: Line) -> dict[str, Found]:
    """Return the rows that say how p and the interval are to be read; the note says it whole."""
    return {stage: row for stage, row in line.stages.items() if given(row, "reading")}


_DETAILS: dict[str, Callable[[Line], str]] = {
    "n": _size,
    "p": _p,
    "coverage": _coverage,
    "reading": _reading,
}
