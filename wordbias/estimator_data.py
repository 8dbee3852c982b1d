"""What the estimators take: words with vectors, rows with labels, moments."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from wordbias.arguments import refuse_odd
from wordbias.arrays import numbers
from wordbias.calls import python_messages
from wordbias.embedding import Embedding, as_embedding, is_words_and_vectors
from wordbias.errors import WordbiasError
from wordbias.formats.tables import cell_of
from wordbias.functions.inputs import ReadOptions, open_subject
from wordbias.moments import Moments


def moments_of(X: Any) -> list[Moments]:
    """Return one or several moments as a list; an empty one for anything else."""
    if isinstance(X, Moments):
        return [X]
    listed = (
        isinstance(X, (list, tuple)) and X and all(isinstance(moments, Moments) for moments in X)
    )
    return list(X) if listed else []


@python_messages()
def words_of(X: Any, *, rows: bool) -> Embedding | None:
    """Return an embedding of anything that holds words; None for an array, or a frame of `rows`."""
    if isinstance(X, (str, os.PathLike)):
        return open_subject(X, ReadOptions()).embedding
    if hasattr(X, "to_numpy"):
        index = getattr(X, "index", ())
        named = not rows and len(index) and all(isinstance(word, str) for word in index)
        return as_embedding(X) if named and getattr(X, "ndim", 0) == 2 else None
    keyed = hasattr(getattr(X, "wv", X), "index_to_key")
    mapped = isinstance(X, Mapping) and not hasattr(X, "tocsr")  # a sparse array may be one
    if keyed or mapped or isinstance(X, Embedding) or is_words_and_vectors(X):
        return as_embedding(X)
    return None


def refuse_table(method: Any, X: Any) -> None:
    """Refuse hidden values, and what has a vector in each cell; say how tables are mapped."""
    refuse_odd("X", X)
    first = X.iloc[:1].to_numpy().ravel() if hasattr(X, "iloc") else ()
    held = any(isinstance(cell, (list, tuple, np.ndarray)) for cell in first)
    if held or hasattr(X, "column_names"):
        name = type(method).__name__
        raise WordbiasError(
            f"{name}: expected an array of shape (n, d), got a {type(X).__name__} with vectors in "
            "its cells; map a table by calling the fitted method with it, method(table); fit with "
            f"erase(table, labels), or {name}().fit(numpy.stack(table[column]), labels)"
        )
    numbers(X, "X")


def refuse_missing(method: Any, groups: Any) -> None:
    """Refuse labels that are hidden, or missing, such as None, with their number."""
    refuse_odd("y", groups)
    cells = np.asarray(groups)
    if cells.dtype != object or cells.ndim != 1:
        return
    missing = np.flatnonzero([cell_of(cell) is None for cell in cells])
    if len(missing):
        raise WordbiasError(
            f"{type(method).__name__}: {len(missing):,} of {len(cells):,} labels are missing, the "
            f"first that of row {missing[0] + 1}; leave those rows out"
        )
