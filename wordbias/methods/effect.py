"""What a debiasing did: bias before and after, how far words moved, which neighbours they kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.displacement import displacement, neighbours_preserved
from wordbias.measures.lens import Value, fit_directions
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.wordlists import Attribute

NEIGHBOURS = 10
QUERIES = 1000
MOST_MOVED = 10


@dataclass(frozen=True)
class Effect:
    """Rows of all values; `most_moved` are those of the ten words that moved furthest."""

    rows: list[Row]
    most_moved: list[Row]


def effect(
    before: Embedding,
    after: Embedding,
    vocabulary: Sequence[str],
    attribute: Attribute | None,
    *,
    dims: int = 4,
    center: bool = False,
    seed: int = 0,
) -> Effect:
    """Compare an embedding before and after debiasing.

    Parameters
    ----------
    before, after
        The same words; at least the vocabulary and the attribute's words.
    vocabulary
        V_t, the words that should be neutral; not empty.
    attribute
        What bias is measured along; None takes no bias, only what it cost.
    dims, center
        Of the subspace that MIDB is measured along.
    seed
        For the words whose neighbours are compared.

    Returns
    -------
    Effect
        ``reference="before"`` is measured along what was fitted before and is frozen since;
        ``reference="self"``, what the papers' tables show, along the same recipe fitted anew.
    """
    chosen = before.rows(vocabulary)[0]
    finite = np.isfinite(after.vectors).all(axis=1)
    if not finite.all():
        word = after.words[int(finite.argmin())]
        raise WordbiasError(f"{after.name}: the vector of {word!r} leaves the range of float32")
    first = slice(len(chosen)) if np.array_equal(chosen, np.arange(len(chosen))) else chosen
    old, new = before.vectors[first], after.vectors[first]  # no copies where that is possible
    rows: list[Row] = []
    if attribute is not None:
        frozen = fit_directions(before, attribute, dims=dims, center=center)
        anew = fit_directions(after, attribute, dims=dims, center=center)
        name, n = before.name, len(old)
        rows += _rows(name, frozen.measure(old), center, n=n, stage="before")
        rows += _rows(name, frozen.measure(new), center, n=n, stage="after", reference="before")
        rows += _rows(name, anew.measure(new), center, n=n, stage="after", reference="self")
    moved = displacement(old, new)
    furthest = np.argsort(-moved, kind="stable")[:MOST_MOVED].tolist()
    most_moved = [
        _displacement_row(before.name, moved[[i]], word=before.words[chosen[i]]) for i in furthest
    ]
    rows += [_displacement_row(before.name, moved), *most_moved]
    rows += _neighbour_rows(before.name, old, new, seed)
    return Effect(rows, most_moved)


def _rows(subject: str, values: dict[str, Value], center: bool, **details: Any) -> Iterator[Row]:
    for measure, (value, reason) in values.items():
        because: dict[str, Any] = {"reason": reason} if reason else {}
        if measure.startswith("midb"):
            because["centred"] = center
        yield Row(subject, measure, value, {**details, **ideal(measure), **because})


def _displacement_row(subject: str, moved: NDArray[np.float64], **details: Any) -> Row:
    convention = {"stage": "after", "n": len(moved), **ideal("displacement")}
    return Row(subject, "displacement", float(moved.mean()), {**convention, **details})


def _neighbour_rows(
    subject: str, old: NDArray[np.float32], new: NDArray[np.float32], seed: int
) -> Iterator[Row]:
    k = min(NEIGHBOURS, len(old) - 1)
    details = {"stage": "after", "setting": f"k={k}", **ideal("neighbours-preserved")}
    if k < 1:
        reason = "undefined: the vocabulary has a single word"
        yield Row(subject, "neighbours-preserved", None, {**details, "reason": reason})
        return
    kept = neighbours_preserved(old, new, np.random.default_rng(seed), sample=QUERIES, k=k)
    if len(kept) == 0:
        reason = "undefined: every vector is zero before or after"
        yield Row(subject, "neighbours-preserved", None, {**details, "n": 0, "reason": reason})
        return
    yield Row(subject, "neighbours-preserved", float(kept.mean()), {**details, "n": len(kept)})
