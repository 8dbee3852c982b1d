"""The first table: one measure of each family, before and after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wordbias.report.families import FAMILIES, full_title
from wordbias.report.family import Family
from wordbias.report.judging import meaning
from wordbias.report.lines import Line, make_lines
from wordbias.report.section import Section
from wordbias.report.views.family import claims
from wordbias.report.views.line_table import line_grid
from wordbias.rows import Found

_FEW = 3


def build(rows: Sequence[Found]) -> list[Section]:
    """Show one line a family and subject, where there are several families."""
    found = main_lines(rows)
    if len({line.measure for line in found}) < _FEW:
        return []
    title = "One measure of each kind, with its 95 % interval"
    grid = line_grid(found, title, strips=True, details=False, named=full_title)
    lead = (
        "Each measure sees the bias that it was made to see. They are not alternatives, and no "
        "single one is a verdict; all values are in the sections below."
    )
    return [Section("glance", "At a glance", [lead], (), [grid], [meaning()])]


def main_lines(rows: Iterable[Found]) -> list[Line]:
    """Return the lines of the measures that stand for their families, subject by subject."""
    of_subjects: dict[str, list[Line]] = {}
    for line in make_lines(row for row in rows if claims(row)):
        of_subjects.setdefault(line.subject, []).append(line)
    chosen = (_main(family, lines) for lines in of_subjects.values() for family in FAMILIES)
    return [line for line in chosen if line is not None]


def _main(family: Family, lines: Sequence[Line]) -> Line | None:
    known = [line for line in lines if line.measure == family.main and line.values()]
    wanted = [line for line in known if line.variant.startswith(family.main_variant)]
    return next(iter(wanted or known), None)
