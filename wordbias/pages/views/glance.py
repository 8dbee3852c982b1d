"""The first table: one measure of each family, before and after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wordbias.measures.family import Family
from wordbias.measures.registry import SECTIONS, full_title
from wordbias.pages.judging import meaning
from wordbias.pages.lines import Line, about, asked_about, make_lines
from wordbias.pages.section import Section
from wordbias.pages.views.family import claims
from wordbias.pages.views.line_table import line_grid
from wordbias.rows import Found
from wordbias.wordlists.queries import CONTROL

WEAT = "weat"
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
    return [Section("glance", "At a glance", [lead, *without_query(rows)], (), [grid], [meaning()])]


def main_lines(rows: Iterable[Found]) -> list[Line]:
    """Return the lines of the measures that stand for their families, subject by subject."""
    of_subjects: dict[str, list[Line]] = {}
    for line in make_lines(row for row in rows if claims(row)):
        of_subjects.setdefault(line.subject, []).append(line)
    chosen = (_main(family, lines) for lines in of_subjects.values() for family in SECTIONS)
    return [line for line in chosen if line is not None]


def without_query(rows: Iterable[Found]) -> list[str]:
    """Say for which subjects no association test of the report's attribute has a value."""
    of_subjects: dict[str, list[Line]] = {}
    for line in make_lines(row for row in rows if row["measure"] == WEAT and claims(row)):
        of_subjects.setdefault(line.subject, []).append(line)
    return [
        _no_query(subject if len(of_subjects) > 1 else "", lines)
        for subject, lines in of_subjects.items()
        if not _of_people(lines)
    ]


def _no_query(subject: str, lines: Sequence[Line]) -> str:
    asked = asked_about(lines)
    if asked == CONTROL:
        said = "WEAT was taken of controls only, which are about no people"
    else:
        names = dict.fromkeys(str(line.any.get("set")) for line in lines if about(line) == asked)
        said = f"no WEAT query about {asked or 'people'} has a value here ({', '.join(names)})"
    return f"{subject}: {said}." if subject else f"{said[:1].upper()}{said[1:]}."


def _of_people(lines: Sequence[Line]) -> list[Line]:
    """Return the association tests with a value of what the report is about; no controls."""
    tests = [line for line in lines if line.measure == WEAT]
    asked = asked_about(tests)
    return [line for line in tests if line.values() and about(line) == asked != CONTROL]


def _main(family: Family, lines: Sequence[Line]) -> Line | None:
    known = [line for line in lines if line.measure == family.main and line.values()]
    if family.key == WEAT:
        known = _of_people(lines)
    wanted = [line for line in known if line.variant.startswith(family.main_variant)]
    return next(iter(wanted or known), None)
