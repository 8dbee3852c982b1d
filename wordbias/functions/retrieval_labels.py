"""What is known of documents in `wordbias.retrieval`: relevance to queries, and groups."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wordbias.columns import Column, TableLike, is_table, read
from wordbias.errors import UsageError, WordbiasError, listed
from wordbias.functions.retrieval_inputs import DOCUMENTS, QUERIES, Opened
from wordbias.rankings.counterfactuals import GIVEN, NAME, OF_GROUP, SAME, WORDS
from wordbias.rankings.ranking import Float, Integers, ideal_gain

RELEVANT = ("query", "document", "relevance")
"""Columns of a file of relevance."""


# relevance


def relevance_of(
    given: str | os.PathLike[str] | TableLike, opened: Opened, changed: str
) -> tuple[Callable[[Integers], Float], Callable[[int], Float]]:
    """Return the relevance of documents in pools, and a function of k: the best lists' gain."""
    # Documents with the same value of a column of both are relevant, or those of a table,
    # `RELEVANT`, with numbers of queries and documents from 1.
    if not opened.texts:
        sizes = {QUERIES: len(opened.vectors.queries), DOCUMENTS: opened.vectors.n}
    else:
        sizes = {side: len(texts) for side, texts in opened.texts.items()}
    places = opened.versions.places if changed == QUERIES else np.arange(sizes[QUERIES])
    columns = [dict(texts.columns) for texts in opened.texts.values()]
    if isinstance(given, str) and columns and all(given in by_name for by_name in columns):
        of_queries, of_documents = (by_name[given].cells() for by_name in columns)
        wanted = [of_queries[i] for i in places]
        cells = np.array([*of_documents, ""], object)
        relevant = Counter(cell for cell in of_documents if cell)  # an empty cell has no value

        def alike(ids: Integers) -> Float:
            same: Float = (cells[ids] == np.array(wanted, object)[:, None]) & (cells[ids] != "")
            return same.astype(np.float64)

        return alike, lambda k: np.array([ideal_gain([1.0] * relevant[cell], k) for cell in wanted])
    if not is_table(given) or (isinstance(given, str) and not os.path.exists(given)):
        raise WordbiasError(
            f"--relevance {given}: is no file, and no column of both the queries and the documents"
        )
    table = read(given, RELEVANT, name="--relevance")
    by_query: dict[int, dict[int, float]] = {}
    for where, cells_of in table.rows():
        query, document = (
            _number(where, name, cells_of[name], sizes[side])
            for name, side in (("query", QUERIES), ("document", DOCUMENTS))
        )
        gain, known = _gain(where, cells_of["relevance"]), by_query.setdefault(query, {})
        if known.setdefault(document, gain) != gain:
            raise WordbiasError(
                f"{where}: document {document + 1} has relevance {known[document]:g} for query "
                f"{query + 1} in a row before, and {gain:g} here; leave one out"
            )

    def gains(ids: Integers) -> Float:
        return np.array(
            [
                [by_query.get(int(i), {}).get(int(j), 0.0) for j in pool]
                for i, pool in zip(places, ids, strict=True)
            ]
        )

    return gains, lambda k: np.array(
        [ideal_gain(by_query.get(int(i), {}).values(), k) for i in places]
    )


def _number(where: str, name: str, cell: str, most: int) -> int:
    if not cell.strip().isdecimal() or not 1 <= int(cell) <= most:
        raise WordbiasError(f"{where}: {name} {cell!r}: expected a number from 1 to {most:,}")
    return int(cell) - 1


def _gain(where: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise WordbiasError(f"{where}: relevance {cell!r}: expected a number from 0 on")
    return value


# groups of documents


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of documents, for exposure."""

    names: Sequence[str] = ()
    # group of each document by version, for each draw of names; −1 of none
    codes: Sequence[Mapping[str, Integers]] = ()
    # versions that are read together, a tuple for each reading; none without groups
    kinds: Sequence[tuple[str, ...]] = ()
    # set of names of each document by draw, if the names tell the group
    sets: Sequence[Integers] = ()


def groups_of_documents(
    sensitive: str | Sequence[str] | None, opened: Opened, changed: str
) -> Groups:
    """Return the groups of documents: those of a column, else of their changed names."""
    versions, n = opened.versions, opened.vectors.n
    if sensitive is not None:
        if not isinstance(sensitive, str):
            column = Column.of(sensitive)
        elif opened.texts:
            column = opened.texts[DOCUMENTS].columns[sensitive]
        else:
            raise UsageError("--sensitive: of vectors, give the group of each document as a list")
        if len(column.codes) != n:
            raise WordbiasError(
                f"--sensitive: expected {n:,} groups, one for each document, found "
                f"{len(column.codes):,}"
            )
        if "" in column.values:
            first = column.cells().index("")
            raise WordbiasError(
                f"--sensitive: document {first + 1:,} has no group; write one, or leave it out"
            )
        if len(column.values) < 2:
            raise WordbiasError(
                f"--sensitive: all documents are of one group, {listed(column.values)}; expected "
                "two or more"
            )
        codes = dict.fromkeys(versions.kinds, column.codes.astype(np.intp))
        about = (GIVEN, *(OF_GROUP if changed == QUERIES else ()))
        kinds = [(kind,) for kind in versions.kinds if kind in about]
        return Groups(column.values, [codes] * len(versions.sets), kinds)
    if changed == QUERIES or not versions.groups:
        return Groups()
    by_draw, sets = [], []
    for others, numbers in zip(versions.others, versions.sets, strict=True):
        own, new, of_set = np.full(n, -1), np.full(n, -1), np.zeros(n, np.intp)
        own[versions.places], new[versions.places] = versions.codes, others
        of_set[versions.places] = numbers
        by_draw.append({SAME: own, NAME: new, WORDS: new})
        sets.append(of_set)
    # names of one set, so that without a difference between groups both can be exchanged
    several = [(SAME, kind) for kind in versions.kinds if kind in OF_GROUP]
    return Groups(versions.groups, by_draw, several, sets)
