r"""Minimisation of the objective of RAN-Debias for many words at once (Kumar et al. 2020).

.. math:: J(X) = \lambda_1 \frac{1}{|S|} \sum_{v \in S} |\cos(X, v)|
                 + \lambda_2 \frac{|\cos(X, w) - 1|}{2} + \lambda_3 |\cos(X, g)|

Where no cosine is zero, J is linear in ``u = X / ‖X‖``; with ``±`` the signs of ``u·v`` and ``u·g``

.. math:: J = \tfrac{\lambda_2}{2} + u \cdot h, \quad h = p \pm \lambda_3 g, \quad
          p = \frac{\lambda_1}{|S|} \sum_{v \in S} \pm v - \tfrac{\lambda_2}{2} w, \quad
          \nabla J = \frac{h - (u \cdot h)\, u}{\|X\|}

so that a step needs the set `S` only for the signs of its cosines. ``u·v`` keeps its sign while `u`
is less than ``arcsin |P·v|`` away from a place `P` where the sign is known. So with the least
``|P·v|`` of the set, ``u·P > √(1 − min |P·v|²)`` guarantees all signs, and they are computed again
only when that fails: about once for a word, since neighbours are far from orthogonal.

This is not the loop of `wordbias.training`: every word is a problem of its own with a fixed number
of full steps in numpy, without batches, dev set or checkpoint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import blas_threads, ordered_map
from wordbias.progress import progress

Floats = NDArray[np.floating[Any]]
Sets = Sequence[NDArray[np.intp]]
VALUES = 1 << 16
"""Values in one array of a chunk; the at most seven arrays of a thread stay in its cache."""
_BETAS = 0.9, 0.999
_EPS = 1e-8


def minimise(
    objective: Objective,
    words: NDArray[np.intp],
    sets: Sets,
    iterations: int = 300,
    learning_rate: float = 0.01,
) -> Floats:
    """Minimise J for words given as rows of the objective's matrix, chunk by chunk, in threads."""
    # Words with a repulsion set come first: the other chunks have no signs to update. No result
    # depends on the chunk that it is computed in. Resulting rows have any length.
    out = np.empty((len(words), objective.vectors.shape[1]), objective.vectors.dtype)
    order = np.argsort([len(repulsion) == 0 for repulsion in sets], kind="stable")
    size = max(1, VALUES // out.shape[1])

    def work(start: int) -> int:
        part = order[start : start + size]
        theirs = [sets[i] for i in part.tolist()]
        w = objective.vectors[words[part]]
        out[part] = descend(objective, w, theirs, iterations, learning_rate)
        return len(part)

    with blas_threads(1), progress("RAN", len(words), "word") as bar:
        for done in ordered_map(work, range(0, len(words), size)):
            bar.update(done)
    return out


def descend(
    objective: Objective, w: Floats, sets: Sets, iterations: int = 300, learning_rate: float = 0.01
) -> Floats:
    """Minimise J by Adam, starting from `w`, shape ``(n, d)``, of length one."""
    x, slope, spare = w.copy(), np.empty_like(w), np.empty_like(w)
    pull, adam = Pull(objective, x, w, sets), _Adam(x, learning_rate)
    for _ in range(iterations):
        inverse = 1 / np.sqrt(dots(x, x))
        pull.follow(x, inverse)
        objective.slope(x, inverse, pull.value, slope, spare)
        adam.step(x, slope, spare)
    return x


class Parts(NamedTuple):
    """The three parts of the objective, without their weights, each of shape ``(n,)``."""

    repulsion: NDArray[np.float64]
    attraction: NDArray[np.float64]
    neutralisation: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Objective:
    """J for words whose repulsion sets are rows of one matrix."""

    vectors: Floats  # shape `(v, d)`, rows of length one
    g: Floats  # direction to be neutralised, shape `(d,)`, of length one
    # λ1, λ2, λ3 of repulsion, attraction and neutralisation
    weights: Sequence[float] = (1 / 8, 6 / 8, 1 / 8)
    # as in the released code: λ2 weights the neutralisation too, λ3 nothing, and the last term is
    # `|X·g|`, which is small for a short `X` as well as for a neutral one. The paper has λ3 and the
    # cosine, which is the default: J, like the result, then depends on directions only.
    as_published: bool = False

    @property
    def neutralisation(self) -> float:
        """Weight of the last term."""
        return self.weights[1] if self.as_published else self.weights[2]

    def parts(self, x: Floats, w: Floats, sets: Sets) -> Parts:
        """Evaluate the parts at the direction of `x`, (n, d), in float64; an empty set gives 0."""
        u, w = (_on_length_one(rows.astype(np.float64)) for rows in (x, w))
        cosines = (self.vectors[s] @ v for s, v in zip(sets, u, strict=True))
        return Parts(
            np.array([np.abs(cosine).mean() if len(cosine) else 0.0 for cosine in cosines]),
            np.abs(dots(u, w) - 1) / 2,
            np.abs(u @ self.g.astype(np.float64)),
        )

    def total(self, parts: Parts) -> NDArray[np.float64]:
        """Weighted sum J of the parts, shape ``(n,)``."""
        first, second, _ = self.weights
        total: NDArray[np.float64] = first * parts.repulsion + second * parts.attraction
        return total + self.neutralisation * parts.neutralisation

    def slope(self, x: Floats, inverse: Floats, pull: Floats, out: Floats, spare: Floats) -> None:
        """Write ∇J into `out`, (n, d); at a kink of the last term its part is 0."""
        # `inverse` is 1/‖X‖, `pull` is p with the signs that hold at `x`; `out` and `spare` are
        # overwritten.
        g = self.g.astype(x.dtype, copy=False)
        along = np.einsum("nd,d->n", x, g)
        push = np.sign(along) * x.dtype.type(self.neutralisation)
        radial = dots(x, pull)
        if not self.as_published:
            radial += push * along
            push *= inverse
        np.multiply(pull, inverse[:, None], out=out)
        out -= np.multiply(x, (radial * inverse**3)[:, None], out=spare)
        out += np.multiply(g, push[:, None], out=spare)


class Pull:
    """Vector `p` of every word (see `Objective.slope`), whose signs are updated as `X` moves."""

    # A vector of a set that is orthogonal to X adds nothing. `looks` counts how often signs were
    # computed.

    value: NDArray[np.float64]
    looks: int

    def __init__(self, objective: Objective, x: Floats, w: Floats, sets: Sets) -> None:
        self._objective, self._sets = objective, sets
        self._start = w * x.dtype.type(objective.weights[1] / 2)
        self._slack = x.shape[1] * float(np.finfo(x.dtype).eps)
        self.value, self.looks = -self._start, 0
        self._known_at = np.zeros_like(x)
        self._reach = np.array([2.0 if len(repulsion) else -2.0 for repulsion in sets], x.dtype)
        self._any = any(map(len, sets))
        self.follow(x, 1 / np.sqrt(dots(x, x)))

    def follow(self, x: Floats, inverse: Floats) -> None:
        """Update the signs of words, of length ``1 / inverse``, whose signs may have changed."""
        if not self._any:
            return
        near = dots(x, self._known_at) * inverse
        for i in np.flatnonzero(near < self._reach).tolist():
            self._look(i, x[i] * inverse[i])

    def _look(self, i: int, u: Floats) -> None:
        repelled = self._objective.vectors[self._sets[i]].astype(u.dtype, copy=False)
        cosine = repelled @ u
        away = np.sign(cosine) @ repelled
        away *= self._objective.weights[0] / len(repelled)
        self.value[i] = away - self._start[i]
        self._known_at[i] = u
        least = min(1.0, float(np.abs(cosine).min()))
        self._reach[i] = math.sqrt(1 - least * least) + self._slack
        self.looks += 1


class _Adam:
    """Adam (Kingma and Ba 2015) with its usual constants, on sums in place of averages."""

    def __init__(self, x: Floats, learning_rate: float) -> None:
        self._sum, self._squares = np.zeros_like(x), np.zeros_like(x)
        self._rate, self._steps = learning_rate, 0

    def step(self, x: Floats, slope: Floats, spare: Floats) -> None:
        """Move `x`; `slope` and `spare` are overwritten."""
        self._steps += 1
        first, second = _BETAS
        rate = self._rate * (1 - first) / (1 - first**self._steps)
        scale = math.sqrt((1 - second) / (1 - second**self._steps))
        self._sum *= first
        self._sum += slope
        slope *= slope
        self._squares *= second
        self._squares += slope
        np.sqrt(self._squares, out=spare)
        spare += _EPS / scale
        np.divide(self._sum, spare, out=spare)
        spare *= rate / scale
        x -= spare


def dots(a: Floats, b: Floats) -> Any:
    """Inner products of rows, ``(n,)``; unlike a matrix product's, they do not depend on `n`."""
    return np.einsum("nd,nd->n", a, b)


def _on_length_one(x: Floats) -> Floats:
    scaled: Floats = x / np.linalg.norm(x, axis=1, keepdims=True)
    return scaled
