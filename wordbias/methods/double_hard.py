"""Double-hard debiasing: a frequency component goes first (Wang et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import blas_threads, ordered_map
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.clustering import accuracy
from wordbias.measures.direction import find_direction, most_biased, projections
from wordbias.methods.fitted import Fitted
from wordbias.methods.transform import Projection, Shift
from wordbias.methods.words import (
    Float,
    Float32,
    Moments,
    Pairs,
    as_attribute,
    check_embedding,
    moments,
    pair_vectors,
)
from wordbias.results import Row
from wordbias.subspace import Subspace, orient
from wordbias.vocabulary import choose_vocabulary
from wordbias.wordlists import Attribute

MEASURE = "clustering-accuracy"
FEWEST = 50
"""Words a side below which accuracies of candidates are chance (standard deviation 0.05)."""
_LEAST = 3  # components: one and the direction are removed, one must be left
_ROUNDS = 300


@blas_threads(1)
def fit(
    embedding: Embedding,
    attribute: Attribute | str | Path | None = None,
    *,
    candidates: int = 20,
    per_side: int = 1000,
) -> Fitted:
    r"""Fit double-hard debiasing (Wang et al. 2020, algorithm 1).

    Of the principal components ``p_k`` of the whole centred vocabulary, one carries frequency and
    hides bias from the projection that is to remove it. Each candidate is tried:

    .. math:: w' = w - \langle p_k, w \rangle p_k - \mu, \quad \hat w = w' - \langle g_k, w' \rangle
    g_k

    where ``g_k`` is the first principal component of the definitional pairs *after* ``p_k`` is
    gone. The candidate is chosen after which 2-means recovers the groups of the most biased words
    least; of equals the first. Every word is mapped: there are no exempt words, no equalised pairs,
    and lengths stay as they come out.
    """
    # As in the released code, p_k is subtracted from the vector itself, not from the centred one.
    # Two things differ. Bias of a word is its cosine with the axis, as everywhere here; there it is
    # the difference of the cosines with the axis' two words. And `two_means` has one start, which
    # is not random: on real vectors a single random start misjudges a candidate by a tenth and
    # changes the choice, and many random starts agree with this one.
    check_embedding(embedding)
    attribute = as_attribute(attribute)
    pairs = pair_vectors(embedding, attribute, attribute.pairs, "double-hard")
    whole = moments(embedding)
    components = _components(embedding, whole, candidates)
    leaning = _leaning(embedding, attribute, per_side)
    outcomes = list(
        ordered_map(lambda component: try_component(component, pairs, leaning), components)
    )
    best = min(range(len(outcomes)), key=lambda k: outcomes[k].accuracy)
    chosen, used = outcomes[best], len(leaning.labels) // 2
    note = f"candidates were compared on {used} words a side, for no more lean to one"
    return Fitted(
        "double-hard",
        (
            Projection(chosen.component, hard=True),
            Shift(whole.mean),
            Projection(chosen.direction, hard=True),
        ),
        found=_rows(embedding.name, outcomes, best, len(leaning.labels)),
        settings={"candidates": candidates, "per_side": per_side},
        warnings=() if used == per_side else (note,),
    )


class Leaning(NamedTuple):
    """Vectors of the most biased words, ``(n, d)``, and whether they lean to the first group."""

    vectors: Float32
    labels: NDArray[np.bool_]


def _leaning(embedding: Embedding, attribute: Attribute, per_side: int) -> Leaning:
    if per_side < 1:
        raise WordbiasError(f"per_side: expected at least 1 word a side, got {per_side}")
    axis = find_direction(embedding, attribute).defined()
    words = choose_vocabulary([embedding], attribute)
    vectors = embedding.take(words)
    lean = projections(vectors, axis)
    sides = int((lean > 0).sum()), int((lean < 0).sum())
    if min(sides) < min(per_side, FEWEST):
        raise WordbiasError(
            f"{embedding.name}: at least {min(per_side, FEWEST)} words a side needed, but of "
            f"{len(words)} neutral words {sides[0]} and {sides[1]} lean to the groups; give a "
            "larger vocabulary"
        )
    chosen = most_biased(lean, min(per_side, *sides))
    return Leaning(vectors[chosen.rows], chosen.labels)


def _components(embedding: Embedding, whole: Moments, candidates: int) -> list[Subspace]:
    variance, vectors = np.linalg.eigh(whole.covariance)
    variance, vectors = variance[::-1], vectors[:, ::-1]
    # variance that rounding gives vectors that do not vary
    noise = embedding.dim * np.finfo(float).eps * (variance[0] + whole.mean @ whole.mean)
    rank = int((variance > noise).sum())
    if rank < _LEAST:
        raise WordbiasError(
            f"{embedding.name} varies along {rank} components; double-hard needs at least {_LEAST}"
        )
    if not 1 <= candidates <= rank:
        raise WordbiasError(
            f"{candidates} candidates cannot be tried: {embedding.name} varies along {rank} "
            f"components; take 1 to {rank} (candidates)"
        )
    basis = orient(vectors.T[:candidates], whole.mean)
    shares = variance / variance.sum()
    return [Subspace.from_direction(p, share) for p, share in zip(basis, shares, strict=False)]


class Candidate(NamedTuple):
    """Component to remove, direction that is left, and clustering accuracy without both."""

    component: Subspace
    direction: Subspace
    accuracy: float


def try_component(component: Subspace, pairs: Pairs, leaning: Leaning) -> Candidate:
    """Remove a component, then the direction that the pairs have left, and cluster."""
    # The mean is not subtracted: neither differences nor clusters depend on it.
    first, second, x = (
        component.remove(part.astype(float), hard=True)
        for part in (pairs.first, pairs.second, leaning.vectors)
    )
    g = Subspace.from_pairs(first, second)
    clusters = two_means(g.remove(x, hard=True))
    cells = np.bincount(2 * leaning.labels + clusters, minlength=4).reshape(2, 2)
    return Candidate(component, g, float(accuracy(cells)))


def two_means(x: Float) -> NDArray[np.bool_]:
    """Split vectors, shape ``(n, d)``, into two clusters; return the members of one, ``(n,)``."""
    # Lloyd's algorithm from one start, the split by the sign of the first principal component,
    # where the relaxed problem has its optimum (Ding and He 2004, theorem 2.2). Deterministic.
    x = x - x.mean(0)
    inside: NDArray[np.bool_] = x @ np.linalg.eigh(x.T @ x)[1][:, -1] > 0
    for _ in range(_ROUNDS):
        size = int(inside.sum())
        if size in (0, len(x)):  # all vectors are equal
            break
        total = inside @ x
        a, b = total / size, -total / (len(x) - size)
        nearer = x @ (a - b) > (a - b) @ (a + b) / 2
        if (nearer == inside).all():
            break
        inside = nearer
    return inside


def _rows(subject: str, outcomes: Sequence[Candidate], best: int, words: int) -> tuple[Row, ...]:
    common = {"n": words, "neutral": 0.5, "better": "lower"}
    return tuple(
        Row(subject, MEASURE, outcome.accuracy, {"candidate": k, "chosen": k == best, **common})
        for k, outcome in enumerate(outcomes)
    )
