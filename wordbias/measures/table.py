"""The classic measures by name, each taken on a panel: the row of Dawkins (2021), Table 6."""

from __future__ import annotations

from collections.abc import Collection

from wordbias.errors import WordbiasError
from wordbias.measures.clustering import clustering_rows
from wordbias.measures.gipe import Neighbourhood, gipe_rows
from wordbias.measures.lens import DIRECT, MIDB
from wordbias.measures.means import mean_rows
from wordbias.measures.panel import Panel
from wordbias.measures.recoverability import recoverability_rows
from wordbias.measures.sembias import SemBias, sembias_rows
from wordbias.results import Row

FAMILIES = ("midb", "direct-bias", "clustering", "recoverability", "sembias", "gipe")


def table_rows(
    panel: Panel,
    only: Collection[str] = FAMILIES,
    *,
    sembias: SemBias | None = None,
    isolated: float = 1.0,
    neighbourhood: Neighbourhood | None = None,
) -> list[Row]:
    """Take the measures of some families, in the order of `FAMILIES`.

    Parameters
    ----------
    panel
        What is measured.
    only
        Some of `FAMILIES`.
    sembias
        The SemBias questions, which are not part of the package.
    isolated
        GIPE's weight of a word that is nobody's neighbour; see `wordbias.measures.gipe.gipe`.
    neighbourhood
        The neighbours of GIPE, if they are known.

    Raises
    ------
    WordbiasError
        If a family is unknown.
    """
    check_families(only)
    rows: list[Row] = []
    if {"midb", "direct-bias"} & set(only):
        wanted = {*(MIDB if "midb" in only else ()), *(DIRECT if "direct-bias" in only else ())}
        rows += [row for row in mean_rows(panel) if row.measure in wanted]
    if "clustering" in only:
        rows += clustering_rows(panel)
    if "recoverability" in only:
        rows += recoverability_rows(panel)
    if "sembias" in only:
        rows += sembias_rows(panel, sembias)
    if "gipe" in only:
        rows += gipe_rows(panel, isolated=isolated, neighbourhood=neighbourhood)
    return rows


def check_families(only: Collection[str]) -> None:
    """Refuse families that there are not.

    Raises
    ------
    WordbiasError
        Naming the first of them, and those there are.
    """
    for family in only:
        if family not in FAMILIES:
            raise WordbiasError(f"measure {family!r}: expected some of {', '.join(FAMILIES)}")
