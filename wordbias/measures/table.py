"""The classic measures by name, each taken on a panel: the row of Dawkins (2021), Table 6."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from wordbias.errors import WordbiasError
from wordbias.measures.family import Family, MeasureInputs
from wordbias.measures.panel import Panel
from wordbias.measures.registry import BY_KEY, STANDARD, TAKEN
from wordbias.measures.sembias import SemBias
from wordbias.results import Row

FAMILIES = STANDARD


def table_rows(
    panel: Panel,
    only: Collection[str] = FAMILIES,
    *,
    sembias: SemBias | None = None,
    isolated: float = 1.0,
) -> list[Row]:
    """Take the measures of some families, in the order of `wordbias.measures.registry.FAMILIES`.

    Parameters
    ----------
    panel
        What is measured.
    only
        Some of `wordbias.measures.registry.TAKEN`.
    sembias
        The SemBias questions, which are not part of the package.
    isolated
        GIPE's weight of a word that is nobody's neighbour; see `wordbias.measures.gipe.gipe`.

    Raises
    ------
    WordbiasError
        If a family is unknown.
    """
    return rows_of(MeasureInputs(panel, sembias, isolated), only)


def rows_of(inputs: MeasureInputs, only: Collection[str]) -> list[Row]:
    """Take the measures of some families; see `table_rows`."""
    check_families(only)
    rows: list[Row] = []
    for together in families_together(only):
        wanted = {one.name for family in together for one in family.measures}
        taken = together[0].taken
        if taken is not None:
            rows += [row for row in taken().rows(inputs) if row.measure in wanted]
    return rows


def families_together(only: Collection[str]) -> Iterator[list[Family]]:
    """Yield the named families in their order, those that are taken by one function together."""
    left = [BY_KEY[key] for key in TAKEN if key in only]
    while left:
        together = [family for family in left if family.taken is left[0].taken]
        left = [family for family in left if family not in together]
        yield together


def check_families(only: Collection[str]) -> None:
    """Refuse families that there are not.

    Raises
    ------
    WordbiasError
        Naming the first of them, and those there are.
    """
    for family in only:
        if family not in TAKEN:
            raise WordbiasError(f"measure {family!r}: expected some of {', '.join(TAKEN)}")
