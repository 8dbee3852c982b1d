r"""RAN-Debias: repulsion, attraction and neutralisation, word by word (Kumar et al. 2020).

The repulsion set `S` of a word `w` has the neighbours `v` with indirect bias ``β(w, v) ≥ θ``. Most
words have none, and most of these can be recognised before their neighbours are known: with
``p = w·g``, ``q = v·g`` and ``c = w·v > 0``, and θ below 1,

.. math:: \beta \ge \theta \iff (1 - \theta) \sqrt{1 - p^2} \sqrt{1 - q^2} + p q / c \ge 1
          \implies c \le \frac{|p|}{\sqrt{1 - (1 - \theta)^2 (1 - p^2)}}

by Cauchy and Schwarz over `q`. Once `k` words are found nearer than that, none of the `k` nearest
is in `S`, and they need not be searched for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import unit
from wordbias.devices import blas_threads, ordered_map
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.direction import find_direction
from wordbias.measures.gipe import indirect_bias
from wordbias.measures.movement import nearest
from wordbias.methods.fitted import Fitted, Replaced
from wordbias.methods.ran.optimise import Floats, Objective, Parts, Sets, minimise
from wordbias.methods.transform import Normalise
from wordbias.methods.words import as_attribute, check_embedding
from wordbias.progress import progress
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.vocabulary import choose_vocabulary
from wordbias.wordlists import Attribute, Resolved, resolve, wordlist

_QUERIES = 128
_TILE = 8192
_TILES = 4
"""Tiles searched for a proof, 32,768 words in all; more cost as much as they save."""
_LEAST = 0.05
"""Cosine below which nothing is proven, because of rounding in β."""
_EPS = float(np.finfo(np.float32).eps)
_SHOWN = 5


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
    """Fit RAN-Debias: repel, attract and neutralise each word of V_d (see `ran.optimise`)."""
    # The authors' own V_d is not available. As published, which is their code, λ2 weights the
    # neutralisation too, which is |X·g| in place of the paper's |cos(X, g)|; all words are brought
    # to length one, and every word takes the vector that Adam ends with. By default every word
    # keeps its own length: inner products between words inside and outside V_d keep their meaning.
    # It keeps its own vector if the objective is not lower at the end, because it was nearly
    # neutral before.
    settings = {
        "words": str(words) if isinstance(words, (str, Path)) else words and list(words),
        "iterations": iterations, "learning_rate": learning_rate, "lambdas": list(lambdas),
        "neighbours": neighbours, "theta": theta, "direction": direction,
        "as_published": as_published,
    }  # fmt: skip
    _check(iterations, learning_rate, lambdas, neighbours, theta, as_published)
    check_embedding(embedding)
    attribute = as_attribute(attribute)
    chosen = _choose(embedding, attribute, words)
    units = _on_unit_length(embedding, chosen.found)
    at, _ = units.rows(chosen.found)
    g = _direction(units, attribute, direction)
    repelled = repulsion_sets(units.vectors, at, g, neighbours, theta)
    objective = Objective(units.vectors, g.basis[0], lambdas, as_published)
    x = minimise(objective, at, repelled.sets, iterations, learning_rate)
    optimised = outcome(objective, units.vectors[at], x, repelled.sets, chosen.found)
    return Fitted(
        "ran",
        (Normalise(),) if as_published else (),
        replaced=_replaced(optimised, chosen.found, embedding, as_published),
        found=rows(embedding.name, chosen, repelled, objective, optimised, direction),
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
    if len(lambdas) != 3 or not all(math.isfinite(weight) and weight >= 0 for weight in lambdas):
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
    """Look the words of V_d up in the embedding."""
    if words is None:
        neutral = choose_vocabulary([embedding], attribute)
        # a vector of zeros has no direction to lose
        words = [neutral[i] for i in np.flatnonzero((embedding.take(neutral) != 0).any(axis=1))]
    given = wordlist(words) if isinstance(words, (str, Path)) else words
    resolved = resolve(given, embedding, f"{embedding.name}: words to debias")
    return resolved.at_least(1, "give words it has (ran:words=FILE)")


def _on_unit_length(embedding: Embedding, words: Sequence[str]) -> Embedding:
    """Bring all vectors to length one; refuse a vector of V_d that is zero."""
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
            "leave it out of the words to debias (ran:words=FILE)"
        )
    return units


def _direction(units: Embedding, attribute: Attribute, recipe: str) -> Subspace:
    """Return the one direction that is neutralised."""
    direction = find_direction(units, attribute, recipe, dims=1)
    if direction.subspace is None:
        raise WordbiasError(
            f"{direction.recipe}: {direction.reason}; give another direction, or an "
            "attribute with pairs that the embedding has"
        )
    if direction.subspace.dims != 1:
        raise WordbiasError(
            f"{recipe}: RAN neutralises one direction, this has {direction.subspace.dims}; give "
            "another direction"
        )
    return direction.subspace.with_weights(np.ones(1))  # of this direction β has all removed


def _replaced(
    found: Outcome, words: Sequence[str], embedding: Embedding, as_published: bool
) -> Replaced:
    """Return the new vectors of words that moved, with their own lengths unless as published."""
    names = [word for word, moved in zip(words, found.moved.tolist(), strict=True) if moved]
    if as_published:
        return Replaced(names, found.vectors)
    length: NDArray[np.float64] = np.linalg.norm(embedding.take(names).astype(float), axis=1)
    return Replaced(names, found.vectors * length[:, None])


# repulsion sets


class Repelled(NamedTuple):
    """Repulsion sets of `q` words."""

    sets: list[NDArray[np.intp]]  # row numbers of each word's repulsion set, the nearest first
    share: NDArray[np.float64]  # share of each word's neighbours with `β ≥ θ`, shape `(q,)`


def repulsion_sets(
    unit_vectors: NDArray[np.float32],
    words: NDArray[np.intp],
    g: Subspace,
    neighbours: int = 100,
    theta: float = 0.05,
) -> Repelled:
    """Find the repulsion set of every word among its ``2 · neighbours`` nearest."""
    k = min(2 * neighbours, len(unit_vectors) - 1)
    open_ = np.flatnonzero(~proven_empty(unit_vectors, words, g, k, theta))
    near = nearest(unit_vectors, words[open_], k).rows
    biased = indirect_bias(unit_vectors, words[open_], near, g) >= theta
    chosen = biased & (biased.cumsum(axis=1) <= neighbours)
    sets = [np.zeros(0, np.intp)] * len(words)
    for i, row, mask in zip(open_.tolist(), near, chosen, strict=True):
        sets[i] = row[mask].astype(np.intp)
    share = np.zeros(len(words))
    share[open_] = biased.mean(axis=1)
    return Repelled(sets, share)


def proven_empty(
    unit_vectors: NDArray[np.float32],
    words: NDArray[np.intp],
    g: Subspace,
    k: int,
    theta: float,
) -> NDArray[np.bool_]:
    """Return which words, (q,), certainly have no neighbour with ``β ≥ θ`` in the `k` nearest."""
    bound = nearer_than(unit_vectors[words] @ g.basis[0], theta, unit_vectors.shape[1])
    proven = np.zeros(len(words), bool)

    def work(start: int) -> int:
        part = slice(start, start + _QUERIES)
        q, nearer = unit_vectors[words[part]], np.zeros(len(bound[part]), np.intp)
        for tile in range(0, min(_TILES * _TILE, len(unit_vectors)), _TILE):
            cosine = q @ unit_vectors[tile : tile + _TILE].T
            nearer += np.count_nonzero(cosine > bound[part, None], axis=1)
        proven[part] = nearer > k  # the word itself is among them
        return len(q)

    with blas_threads(1), progress("biased neighbours", len(words), "word") as bar:
        for done in ordered_map(work, range(0, len(words), _QUERIES)):
            bar.update(done)
    return proven


def nearer_than(p: NDArray[np.float64], theta: float, d: int) -> NDArray[np.float32]:
    """Return the cosine, (q,), above which no `v` has ``β ≥ θ`` with a word of ``w·g = p``."""
    # Rounding may add 2 d ε to each of w·v and pq, and takes a v within √(d ε) of g for g itself. 2
    # where there is no such cosine.
    rounding = 4 * d * _EPS / _LEAST
    room = (1 - rounding) ** 2 - max(0.0, 1 - theta) ** 2 * (1 - np.minimum(p * p, 1))
    bound = np.abs(p) / np.sqrt(np.maximum(room, _EPS)) + np.sqrt(d * _EPS)
    return np.where(room > _EPS, np.maximum(bound, _LEAST), 2).astype(np.float32)


# outcome


class Outcome(NamedTuple):
    """Result of the minimisation."""

    moved: NDArray[np.bool_]  # which of the words moved, shape `(n,)`
    vectors: NDArray[np.float64]  # new vectors of those words, of length one, shape `(m, d)`
    before: Parts  # parts of the objective before and after
    after: Parts


def outcome(
    objective: Objective, w: Floats, x: Floats, sets: Sets, names: Sequence[str]
) -> Outcome:
    """Compare the last vectors (n, d) of the words with the first."""
    # A word keeps its first vector if its objective is not lower at the end: Adam with a fixed rate
    # ends within a few steps of a kink, and words that were nearly neutral were nearer to it. As
    # published, every word moves.
    length = np.linalg.norm(x.astype(float), axis=1, keepdims=True)
    lost = np.flatnonzero(~(np.isfinite(length) & (length > 0)))
    if len(lost):
        raise WordbiasError(f"RAN lost the word {names[lost[0]]!r}; lower the learning rate")
    before, after = (objective.parts(at, w, sets) for at in (w, x))
    moved = (objective.total(after) < objective.total(before)) | objective.as_published
    if not moved.any():
        raise WordbiasError(
            f"RAN moved none of {len(names)} words: the objective of each is lowest where it is; "
            "are they debiased already? If not, lower the learning rate or give more iterations"
        )
    final = (np.where(moved, new, old) for new, old in zip(after, before, strict=True))
    return Outcome(moved, x[moved] / length[moved], before, Parts(*final))


def rows(
    subject: str,
    chosen: Resolved[str],
    repelled: Repelled,
    objective: Objective,
    found: Outcome,
    direction: str,
) -> tuple[Row, ...]:
    """Return rows on the words, their repulsion sets, and the objective."""
    sizes = np.array([len(repulsion) for repulsion in repelled.sets])
    n = len(sizes)
    details = {"n": n, "direction": direction}
    unmoved = int((~found.moved).sum())
    return (
        Row(subject, "ran-words", n, {"unmoved": unmoved, "missing": list(chosen.missing)}),
        Row(subject, "ran-repulsion-set", float(sizes.mean()), details),
        Row(subject, "ran-empty-sets", int((sizes == 0).sum()), details),
        Row(subject, "ran-illicit-share", float(repelled.share.mean()), details),
        *_about_parts(subject, objective, "before", found.before),
        *_about_parts(subject, objective, "after", found.after),
    )


def _about_parts(subject: str, objective: Objective, stage: str, parts: Parts) -> list[Row]:
    weights = (1.0, *objective.weights[:2], objective.neutralisation)
    columns = (objective.total(parts), *parts)
    return [
        Row(
            subject,
            "ran-objective",
            float(values.mean()),
            {"set": name, "stage": stage, "weight": weight, "n": len(values)},
        )
        for name, values, weight in zip(("total", *Parts._fields), columns, weights, strict=True)
    ]


def remarks(subject: str, chosen: Resolved[str], repelled: Repelled) -> tuple[str, ...]:
    """Return warnings on missing words, and if no word was repelled."""
    notes = []
    if chosen.missing:
        first = ", ".join([*chosen.missing[:_SHOWN], *["…"][: len(chosen.missing) - _SHOWN]])
        counts = f"{len(chosen.missing)} of {len(chosen.listed)}"
        notes.append(f"{subject} lacks {counts} words to debias: {first}")
    if not any(map(len, repelled.sets)):
        notes.append("no word has a neighbour to be repelled from: RAN only neutralised")
    return tuple(notes)
