r"""GIPE: which share of words' neighbours is near because of gender? (Kumar et al. 2020).

.. math:: \beta(w, v) = \frac{w \cdot v - \cos(w_\perp, v_\perp)}{w \cdot v}, \quad
          \eta(w) = \frac{|\{v \in N_k(w) : \beta(w, v) > \theta\}|}{k}, \quad
          \mathrm{GIPE} = \frac{\sum_w \gamma(w) \eta(w)}{\sum_w \gamma(w)}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import unit
from wordbias.embedding import Embedding
from wordbias.measures.chance import Key, Null
from wordbias.measures.movement import nearest
from wordbias.measures.panel import Panel
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import resampled_means
from wordbias.subspace import Subspace

_PAIRS = 1 << 16
_EPS = float(np.finfo(np.float32).eps)
_TINY = np.finfo(np.float32).tiny


class Gipe(NamedTuple):
    """Per-word parts of GIPE at one θ; the value is their weighted mean, neutral 0."""

    eta: NDArray[np.float64]  # share of illicit neighbours of every word, shape `(q,)`
    gamma: NDArray[np.float64]  # weight of every word, shape `(q,)`

    @property
    def value(self) -> float:
        """GIPE; nan without any weight, see `weight`."""
        if not self.weight:
            return float("nan")
        return float((self.gamma * self.eta).sum() / self.weight)

    @property
    def weight(self) -> float:
        """Sum of γ; 0 only if every word is isolated and ``isolated=0``."""
        return float(self.gamma.sum())

    def resampled(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return values of words drawn again, each with its γ and η, shape ``(b,)``."""
        # The neighbours stay as they were found. A sample that holds only words of weight 0 is nan.
        total, weight = resampled_means(
            np.stack([self.gamma * self.eta, self.gamma], axis=1), rng
        ).T
        means = np.full(len(total), np.nan)
        np.divide(total, weight, out=means, where=weight > 0)
        return means


def indirect_bias(
    unit_vectors: NDArray[np.float32],
    queries: NDArray[np.intp],
    neighbours: NDArray[np.int32],
    subspace: Subspace,
    dot: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    r"""Compute β of every query with each of its neighbours, shape ``(q, k)``.

    With several directions, of weights :math:`a_i`, :math:`w_\perp` is what MISP leaves of a word,
    :math:`w - \sum a_i \langle g_i, w \rangle g_i` (Dawkins 2021, eq. 4). A direction that says
    little about the groups then makes few neighbours illicit; removed whole, four directions do so
    for half of them. With one direction of weight 1 it is the published projection. Only the dot
    products and the coordinates along the subspace are needed:

    .. math:: w_\perp \cdot v_\perp = w \cdot v - \sum_i a_i (2 - a_i)
              \langle g_i, w \rangle \langle g_i, v \rangle
    """
    lost = np.sqrt(subspace.weights * (2 - subspace.weights))
    along = unit_vectors @ (subspace.basis * lost[:, None]).T.astype(np.float32)
    left = 1 - (along.astype(np.float64) ** 2).sum(1)
    # a word within rounding of the subspace has nothing left to be near by
    rest = np.where(left > unit_vectors.shape[1] * _EPS, np.sqrt(np.maximum(left, 0)), np.inf)
    beta = np.empty(neighbours.shape)
    step = max(1, _PAIRS // neighbours.shape[1])
    for start in range(0, len(queries), step):
        w, v = queries[start : start + step], neighbours[start : start + step]
        near = _dot(unit_vectors, w, v) if dot is None else dot[start : start + step]
        removed = np.einsum("qi,qki->qk", along[w], along[v], dtype=np.float64)
        perpendicular = (near - removed) / (rest[w][:, None] * rest[v])
        divisor = np.where(np.abs(near) < _TINY, _TINY, near)
        beta[start : start + step] = (near - perpendicular) / divisor
    return beta


def _dot(x: NDArray[np.float32], w: NDArray[np.intp], v: NDArray[np.int32]) -> NDArray[np.float64]:
    products: NDArray[np.float64] = np.einsum("qd,qkd->qk", x[w], x[v], dtype=np.float64)
    return products


def gipe(
    beta: NDArray[np.float64],
    queries: NDArray[np.intp],
    neighbours: NDArray[np.int32],
    size: int,
    theta: float = 0.03,
    *,
    isolated: float = 1.0,
) -> Gipe:
    """Compute η and γ of the words of V_d from their illicit neighbours."""
    # `isolated` is γ of a word that is nobody's neighbour: 1 by the paper's formula. The published
    # code leaves such words out, by accident of a default: 0.
    illicit = beta > theta
    pointed = np.bincount(neighbours.ravel(), minlength=size)[queries]
    wrongly = np.bincount(neighbours[illicit], minlength=size)[queries]
    gamma = 1 + wrongly / np.maximum(pointed, 1)
    return Gipe(illicit.mean(1), np.where(pointed == 0, isolated, gamma))


class Neighbourhood(NamedTuple):
    """Neighbours of the vocabulary in an embedding, and all words of the original."""

    unit: NDArray[np.float32]  # vectors of the original, at length one, shape `(n, d)`
    queries: NDArray[np.intp]  # row numbers of the vocabulary `(q,)` and of its neighbours `(q, k)`
    rows: NDArray[np.int32]


_LAST: WeakKeyDictionary[Panel, Neighbourhood | None] = WeakKeyDictionary()
"""The neighbourhood that was found last, which values and chance levels share."""


def neighbourhood_of(panel: Panel) -> Neighbourhood | None:
    """Return the neighbourhood of a panel, found once if asked for several times in turn."""
    if panel not in _LAST:
        _LAST.clear()  # before the search, so that two are never held
        _LAST[panel] = find_neighbourhood(panel)
    return _LAST[panel]


def forget_neighbourhood() -> None:
    """Hold the vectors of all words no longer, once values and chance levels are computed."""
    _LAST.clear()


def find_neighbourhood(panel: Panel) -> Neighbourhood | None:
    """Find the nearest among all words that both embeddings have; None if too few."""
    k = panel.neighbours
    words = _common(panel.embedding, panel.original)
    if len(words) <= k:
        return None
    place = {word: i for i, word in enumerate(words)}
    queries = np.array([place[word] for word in panel.vocabulary], np.intp)
    debiased = unit(_take(panel.embedding, words))
    neighbours = nearest(debiased, queries, k)
    original = debiased if panel.is_own else unit(_take(panel.original, words))
    return Neighbourhood(original, queries, neighbours.rows)


def few_neighbours(panel: Panel) -> str:
    """Return the reason why a panel has no neighbourhood."""
    words = len(_common(panel.embedding, panel.original))
    return f"undefined: {words} words are too few for {panel.neighbours} neighbours"


def dots(near: Neighbourhood) -> NDArray[np.float64]:
    """Return inner products of every query with each of its neighbours, shape ``(q, k)``."""
    products = np.empty(near.rows.shape)
    step = max(1, _PAIRS // near.rows.shape[1])
    for start in range(0, len(products), step):
        part = slice(start, start + step)
        products[part] = _dot(near.unit, near.queries[part], near.rows[part])
    return products


def gipe_rows(panel: Panel) -> list[Row]:
    """Compute GIPE at every θ, with neighbours among all words that both embeddings have."""
    # β is computed along the panel's direction of the original: she − he by default, as in Dawkins
    # (2021, Table 6). Kumar et al. (2020) take the first component of the pairs, of vectors of
    # length one; `pca` is that of the vectors as they are. On the sample, GIPE at θ = .03 is .105,
    # .108 and .098.
    about = {**panel.against(), "k": panel.neighbours, "isolated": panel.isolated}
    direction = panel.original_direction
    if direction.subspace is None:
        return [_undefined(panel, theta, direction.reason, about) for theta in panel.thetas]
    near = neighbourhood_of(panel)
    if near is None:
        reason = few_neighbours(panel)
        return [_undefined(panel, theta, reason, about) for theta in panel.thetas]
    about |= {"among": len(near.unit)}
    beta = indirect_bias(near.unit, near.queries, near.rows, direction.subspace)
    rows = []
    for theta in panel.thetas:
        score = gipe(beta, near.queries, near.rows, len(near.unit), theta, isolated=panel.isolated)
        if not score.weight:
            reason = "undefined: no word is another's neighbour, and such words weigh nothing"
            rows.append(_undefined(panel, theta, reason, about))
            continue
        row = panel.row(
            "gipe",
            score.value,
            score.resampled(panel.rng()),
            setting=f"θ={theta:g}",
            n=len(near.queries),
            **ideal("gipe"),
            **about,
        )
        rows.append(row)
    return rows


def _undefined(panel: Panel, theta: float, reason: str, about: dict[str, Any]) -> Row:
    return panel.undefined(["gipe"], reason, setting=f"θ={theta:g}", **about)[0]


def _common(embedding: Embedding, original: Embedding) -> Sequence[str]:
    if embedding.words == original.words:
        return embedding.words
    return [word for word in embedding.words if word in original]


def _take(embedding: Embedding, words: Sequence[str]) -> NDArray[np.float32]:
    return embedding.vectors if words is embedding.words else embedding.take(words)


def chance_of_gipe(panel: Panel, nulls: Sequence[Null]) -> dict[Key, NDArray[np.float64]]:
    """Compute GIPE along each null at every θ; nan without neighbours or a direction."""
    chances = {("gipe", f"θ={theta:g}"): np.full(len(nulls), np.nan) for theta in panel.thetas}
    if panel.original_direction.subspace is None:
        return chances
    near = neighbourhood_of(panel)
    forget_neighbourhood()
    if near is None:
        return chances
    dot = dots(near)
    for i, null in enumerate(nulls):
        if null.direction is None:
            continue
        along = null.direction.defined()
        beta = indirect_bias(near.unit, near.queries, near.rows, along, dot)
        for theta in panel.thetas:
            score = gipe(
                beta, near.queries, near.rows, len(near.unit), theta, isolated=panel.isolated
            )
            chances["gipe", f"θ={theta:g}"][i] = score.value
    return chances
