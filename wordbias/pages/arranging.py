"""Rows arranged as sections: each view takes the rows that it knows.

What no view knows becomes plain tables, so that rows of any command can be shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.measures.registry import SECTIONS
from wordbias.pages.section import Section
from wordbias.pages.views import (
    clusters,
    entailment,
    family,
    glance,
    matrix,
    neighbours,
    occupations,
    plain,
    spectrum,
)
from wordbias.rows import Found

_VIEWS = (
    (occupations.claims, occupations.build),
    (spectrum.claims, spectrum.build),
    (clusters.claims, clusters.build),
    (neighbours.claims, neighbours.build),
    (entailment.claims, entailment.build),
    (family.claims, family.build),
)


def sections(rows: Sequence[Found]) -> list[Section]:
    """Arrange rows as sections, in the order in which people look.

    Sections of several views with one key become one: the pictures of the first stand above.
    """
    taken: dict[int, list[Found]] = {}
    left: list[Found] = []
    for row in rows:
        number = next((i for i, (claims, _) in enumerate(_VIEWS) if claims(row)), None)
        (left if number is None else taken.setdefault(number, [])).append(row)
    found = [part for i in sorted(taken) for part in _VIEWS[i][1](taken[i])]
    ordered = [*glance.build(rows), *matrix.build(rows), *found, *plain.build(left)]
    merged: dict[str, Section] = {}
    for section in sorted(ordered, key=_place):
        known = merged.get(section.key)
        merged[section.key] = section if known is None else _together(known, section)
    return list(merged.values())


def _place(section: Section) -> int:
    return _ORDER.index(section.key) if section.key in _ORDER else len(_ORDER)


_ORDER = ["glance", "matrix", "occupations", *(family.key for family in SECTIONS)]
_ORDER.insert(_ORDER.index("moved"), "neighbours")


def _together(first: Section, second: Section) -> Section:
    """Put two parts of one section into one; words come from the one that has them."""
    return Section(
        first.key,
        second.title or first.title,
        [*second.lead, *first.lead],
        [*first.figures, *second.figures],
        [*second.grids, *first.grids],
        [*second.method, *first.method],
    )
