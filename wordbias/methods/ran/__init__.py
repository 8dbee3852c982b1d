"""RAN-Debias: repulsion, attraction and neutralisation, word by word (Kumar et al. 2020)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import unit
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.direction import find_direction
from wordbias.methods.fitted import Fitted, Replaced
from wordbias.methods.ran.descent import minimise
from wordbias.methods.ran.objective import Objective
from wordbias.methods.ran.outcome import Outcome, outcome, remarks, rows
from wordbias.methods.ran.sets import repulsion_sets
from wordbias.methods.steps import Normalise
from wordbias.methods.words import as_attribute, as_embedding
from wordbias.subspace import Subspace
from wordbias.vocabulary import choose_vocabulary
from wordbias.wordlists import Attribute, Resolved, resolve, wordlist


def fit(
    embedding: Embedding,
    attribute: Attribute | str | Path | None = None,
    *,
    words: Sequence[str] | str | Path | None = None,
    iterations: int = 300,
    learning_rate: float = 0.01,
    lambdas: Sequence[float] = (1 / 8, 6 / 8, 1 / 8),
    neighbours: int = 100,
    theta: float = 0.05,
    direction: str = "pca",
    as_published: bool = False,
) -> Fitted:
    """Fit RAN-Debias.

    Each word of V_d moves away from the neighbours that it owes to the direction, stays near where
    it was, and loses its component along the direction; see `wordbias.methods.ran.objective`.
    All other words stay as they are.

    Parameters
    ----------
    embedding
        Where the vectors come from; everything is computed on unit length.
    attribute
        Its pairs define the direction, its specific words are not in V_d; by default gender.
    words
        V_d, or a file with it; by default the frequent neutral words, see
        `wordbias.vocabulary.choose_vocabulary`, for the authors' own list is not to be had.
    iterations, learning_rate
        Of Adam.
    lambdas
        λ1, λ2, λ3 of repulsion, attraction and neutralisation.
    neighbours
        Words in a repulsion set at most; they are sought among twice as many nearest neighbours.
    theta
        Indirect bias β from which on a neighbour is repelled.
    direction
        ``pca``, as in the paper: the first principal component of the definitional pairs. See
        `wordbias.measures.direction.find_direction` for the others.
    as_published
        As the released code does it, in four ways. λ2 weighs the neutralisation too, and that is
        ``|X·g|`` for the paper's ``|cos(X, g)|``, see `Objective`. All words are brought to length
        one; by default every word keeps its own length, so that inner products between words
        inside and outside V_d keep their meaning. And every word goes where Adam ends; by default
        words whose objective is not lower there, for they were all but neutral before, stay.

    Raises
    ------
    WordbiasError
        If a setting is out of its range, a vector is not finite, no word of V_d is found or one is
        zero, the direction is undefined or more than one, or no word moves.
    """
    settings = {
        "words": str(words) if isinstance(words, (str, Path)) else words and list(words),
        "iterations": iterations, "learning_rate": learning_rate, "lambdas": list(lambdas),
        "neighbours": neighbours, "theta": theta, "direction": direction,
        "as_published": as_published,
    }  # fmt: skip
    _check(iterations, learning_rate, lambdas, neighbours, theta, as_published)
    embedding, attribute = as_embedding(embedding), as_attribute(attribute)
    chosen = _choose(embedding, attribute, words)
    units = _on_unit_length(embedding, chosen.found)
    at, _ = units.rows(chosen.found)
    g = _direction(units, attribute, direction)
    repelled = repulsion_sets(units.vectors, at, g, neighbours, theta)
    objective = Objective(units.vectors, g.basis[0], lambdas, as_published)
    x = minimise(objective, at, repelled.sets, iterations, learning_rate)
    found = outcome(objective, units.vectors[at], x, repelled.sets, chosen.found)
    said = {key: settings[key] for key in ("neighbours", "theta", "direction")}
    return Fitted(
        "ran",
        (Normalise(),) if as_published else (),
        replaced=_replaced(found, chosen.found, embedding, as_published),
        found=rows(embedding.name, chosen, repelled, objective, found, **said),
        settings=settings,
        warnings=remarks(embedding.name, chosen, repelled),
    )


def _check(
    iterations: int,
    learning_rate: float,
    lambdas: Sequence[float],
    neighbours: int,
    theta: float,
    as_published: bool,
) -> None:
    for name, count in (("iterations", iterations), ("neighbours", neighbours)):
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise WordbiasError(f"{name}: expected a whole number from 1 on, got {count}")
    for name, value in (("learning_rate", learning_rate), ("theta", theta)):
        if not (math.isfinite(value) and value > 0):
            raise WordbiasError(f"{name}: expected a number above 0, got {value}")
    if len(lambdas) != 3 or not all(math.isfinite(one) and one >= 0 for one in lambdas):
        raise WordbiasError(
            "lambdas: expected three numbers from 0 on, for repulsion, attraction and "
            f"neutralisation, got {list(lambdas)}"
        )
    if not (lambdas[0] or lambdas[1 if as_published else 2]):
        raise WordbiasError(
            f"lambdas: {list(lambdas)} neither repel nor neutralise; give one of them a weight"
        )


def _choose(
    embedding: Embedding, attribute: Attribute, words: Sequence[str] | str | Path | None
) -> Resolved[str]:
    """Resolve V_d against the embedding."""
    if words is None:
        neutral = choose_vocabulary([embedding], attribute)
        # a vector of zeros has no direction to lose
        words = [neutral[i] for i in np.flatnonzero((embedding.take(neutral) != 0).any(axis=1))]
    given = wordlist(words) if isinstance(words, (str, Path)) else words
    found = resolve(given, embedding, f"{embedding.name}: words to debias")
    return found.at_least(1, "give words it has (--words FILE)")


def _on_unit_length(embedding: Embedding, words: Sequence[str]) -> Embedding:
    """Bring all vectors to length one, and see to it that those of V_d have one."""
    bad = np.flatnonzero(~np.isfinite(embedding.vectors).all(axis=1))
    if len(bad):
        raise WordbiasError(
            f"{embedding.name}: the vector of {embedding.words[bad[0]]!r} is not finite; remove it"
        )
    if len(embedding) < 2:
        raise WordbiasError(f"{embedding.name}: one word has no neighbours; give an embedding")
    units = embedding.with_vectors(unit(embedding.vectors))
    zero = np.flatnonzero(~units.take(words).any(axis=1))
    if len(zero):
        raise WordbiasError(
            f"{embedding.name}: the vector of {words[zero[0]]!r} is zero and has no direction; "
            "leave it out of the words to debias (--words FILE)"
        )
    return units


def _direction(units: Embedding, attribute: Attribute, recipe: str) -> Subspace:
    """Find the one direction that is neutralised."""
    found = find_direction(units, attribute, recipe, dims=1)
    if found.subspace is None:
        raise WordbiasError(
            f"{found.recipe}: {found.reason}; give another direction (--direction), or an "
            "attribute with pairs that the embedding has"
        )
    if found.subspace.dims != 1:
        raise WordbiasError(
            f"{recipe}: RAN neutralises one direction, this has {found.subspace.dims}; give "
            "another (--direction)"
        )
    return found.subspace


def _replaced(
    found: Outcome, words: Sequence[str], embedding: Embedding, as_published: bool
) -> Replaced:
    """Give the words that moved their new vectors: at length one if published, else their own."""
    names = [word for word, moved in zip(words, found.moved.tolist(), strict=True) if moved]
    if as_published:
        return Replaced(names, found.vectors)
    length: NDArray[np.float64] = np.linalg.norm(embedding.take(names).astype(float), axis=1)
    return Replaced(names, found.vectors * length[:, None])
