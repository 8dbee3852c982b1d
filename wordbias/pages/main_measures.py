"""The main measure of each family, which stands for it in a summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wordbias.measures.registry import LISTED, SECTIONS, Family
from wordbias.pages.lines import Line, about, main_attribute, make_lines
from wordbias.rows import Found, given
from wordbias.wordlists.queries import CONTROL

WEAT = "weat"


def claims_measures(row: Found) -> bool:
    """Return whether a row is a value of a known measure, not of a single word or layer."""
    return row["measure"] in LISTED and not any(
        given(row, key) for key in ("word", "component", "layer")
    )


def main_lines(rows: Iterable[Found]) -> list[Line]:
    """Return the line of the main measure of each family, subject by subject."""
    of_subjects: dict[str, list[Line]] = {}
    for line in make_lines(row for row in rows if claims_measures(row)):
        of_subjects.setdefault(line.subject, []).append(line)
    chosen = (_main(family, lines) for lines in of_subjects.values() for family in SECTIONS)
    return [line for line in chosen if line is not None]


def _main(family: Family, lines: Sequence[Line]) -> Line | None:
    known = [line for line in lines if line.measure == family.main and line.values()]
    if family.key == WEAT:
        known = _attribute_tests(lines)
    wanted = [line for line in known if line.variant.startswith(family.main_variant)]
    return next(iter(wanted or known), None)


def _attribute_tests(lines: Sequence[Line]) -> list[Line]:
    """Return the association tests of the report's attribute that have a value; no controls."""
    tests = [line for line in lines if line.measure == WEAT]
    attribute = main_attribute(tests)
    return [line for line in tests if line.values() and about(line) == attribute != CONTROL]


def missing_query_notes(rows: Iterable[Found]) -> list[str]:
    """Return notes on subjects without a value of an association test of the report's attribute."""
    of_subjects: dict[str, list[Line]] = {}
    for line in make_lines(row for row in rows if row["measure"] == WEAT and claims_measures(row)):
        of_subjects.setdefault(line.subject, []).append(line)
    return [
        _missing_query_note(subject if len(of_subjects) > 1 else "", lines)
        for subject, lines in of_subjects.items()
        if not _attribute_tests(lines)
    ]


def _missing_query_note(subject: str, lines: Sequence[Line]) -> str:
    attribute = main_attribute(lines)
    if attribute == CONTROL:
        text = "WEAT was taken of controls only, which are about no people"
    else:
        names = dict.fromkeys(
            str(line.any.get("set")) for line in lines if about(line) == attribute
        )
        text = f"no WEAT query about {attribute or 'people'} has a value here ({', '.join(names)})"
    return f"{subject}: {text}." if subject else f"{text[:1].upper()}{text[1:]}."
