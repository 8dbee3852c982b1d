"""What the estimators get: words with vectors, rows with labels, moments, and batches to map."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from warnings import warn

import numpy as np

from wordbias.arguments import refuse_odd
from wordbias.arrays import numbers
from wordbias.batches import BatchMap
from wordbias.calls import WordbiasWarning, python_messages
from wordbias.embedding import Embedding, as_embedding, is_words_and_vectors
from wordbias.errors import WordbiasError
from wordbias.formats.tables import cell_of
from wordbias.functions.inputs import ReadOptions, open_subject
from wordbias.methods.fitted import Fitted
from wordbias.methods.storage import Origin
from wordbias.moments import Moments
from wordbias.rendering import how_many


class FittedMethod(Protocol):
    """A fitted estimator."""

    fitted_: Fitted
    origin_: Origin


def moments_of(X: Any) -> list[Moments]:
    """Return one or several moments as a list; an empty one for anything else."""
    if isinstance(X, Moments):
        return [X]
    listed = isinstance(X, (list, tuple)) and X and all(isinstance(one, Moments) for one in X)
    return list(X) if listed else []


@python_messages()
def words_of(X: Any, *, rows: bool) -> Embedding | None:
    """Return an embedding of anything that holds words; None for an array.

    Parameters
    ----------
    rows
        Take a data frame as rows, even if its index has words.
    """
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
    missing = np.flatnonzero([cell_of(one) is None for one in cells])
    if len(missing):
        raise WordbiasError(
            f"{type(method).__name__}: {len(missing):,} of {len(cells):,} labels are missing, the "
            f"first that of row {missing[0] + 1}; leave those rows out"
        )


def batch_map(methods: Sequence[FittedMethod], array: str | None) -> BatchMap:
    """Make a function of batches from fitted methods; say what they cannot do without words."""
    for one in methods:
        if not one.fitted_.steps:
            raise WordbiasError(
                f"{type(one).__name__} only gives single words new vectors, which rows do not "
                "name: give transform() an Embedding"
            )
        if one.fitted_.by_word:
            warn(mapped_alike(type(one).__name__, one.fitted_), WordbiasWarning, stacklevel=3)
    steps = tuple(step for one in methods for step in one.fitted_.steps)
    name = ".".join(one.fitted_.name for one in methods)
    first = methods[0].origin_
    return BatchMap(name, steps, first.dim, first.name, array)


def mapped_alike(name: str, fitted: Fitted) -> str:
    """Say that a method treats some words differently."""
    return (
        f"{name} leaves out {how_many(len(fitted.exempt), 'word')} and "
        f"replaces {len(fitted.replaced)} vectors; rows do not name words, and all of them "
        "are mapped alike"
    )
