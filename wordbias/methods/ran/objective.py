r"""The objective of RAN-Debias, word by word (Kumar et al. 2020).

.. math:: J(X) = \lambda_1 \frac{1}{|S|} \sum_{v \in S} |\cos(X, v)|
                 + \lambda_2 \frac{|\cos(X, w) - 1|}{2} + \lambda_3 |\cos(X, g)|

Where no cosine is zero, J is linear in ``u = X / ‖X‖``; with ``±`` the signs of ``u·v`` and ``u·g``

.. math:: J = \tfrac{\lambda_2}{2} + u \cdot h, \quad h = p \pm \lambda_3 g, \quad
          p = \frac{\lambda_1}{|S|} \sum_{v \in S} \pm v - \tfrac{\lambda_2}{2} w, \quad
          \nabla J = \frac{h - (u \cdot h)\, u}{\|X\|}

so that a step needs the set `S` only where a sign may have changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Sets = Sequence[NDArray[np.intp]]


class Parts(NamedTuple):
    """The three parts of the objective, without their weights, each of shape ``(n,)``."""

    repulsion: NDArray[np.float64]
    attraction: NDArray[np.float64]
    neutralisation: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Objective:
    """J for words whose repulsion sets are rows of one matrix.

    Attributes
    ----------
    vectors
        Shape ``(v, d)``, rows of length one.
    g
        The direction to be neutralised, shape ``(d,)``, of length one.
    weights
        λ1, λ2, λ3 of repulsion, attraction and neutralisation.
    as_published
        As the released code has it: λ2 weighs the neutralisation too, λ3 nothing, and the last
        term is ``|X·g|``, which a short `X` makes small as well as a neutral one. The paper has
        λ3 and the cosine, which is the default: J is then a function of the direction alone, as
        the result is.
    """

    vectors: Floats
    g: Floats
    weights: Sequence[float] = (1 / 8, 6 / 8, 1 / 8)
    as_published: bool = False

    @property
    def neutralisation(self) -> float:
        """Weight of the last term."""
        return self.weights[1] if self.as_published else self.weights[2]

    def parts(self, x: Floats, w: Floats, sets: Sets) -> Parts:
        """Evaluate the parts at the direction of `x`, in float64.

        Parameters
        ----------
        x, w
            Vectors and original vectors of the words, both ``(n, d)``.
        sets
            The row numbers of each word's repulsion set. An empty set repels with 0.
        """
        u, w = (_on_length_one(rows.astype(np.float64)) for rows in (x, w))
        cosines = (self.vectors[s] @ v for s, v in zip(sets, u, strict=True))
        return Parts(
            np.array([np.abs(one).mean() if len(one) else 0.0 for one in cosines]),
            np.abs(dots(u, w) - 1) / 2,
            np.abs(u @ self.g.astype(np.float64)),
        )

    def total(self, parts: Parts) -> NDArray[np.float64]:
        """Weigh the parts: J, shape ``(n,)``."""
        first, second, _ = self.weights
        total: NDArray[np.float64] = first * parts.repulsion + second * parts.attraction
        return total + self.neutralisation * parts.neutralisation

    def slope(self, x: Floats, inverse: Floats, pull: Floats, out: Floats, spare: Floats) -> None:
        """Write ∇J into `out`; at a kink of the last term it pulls to neither side.

        Parameters
        ----------
        x
            Shape ``(n, d)``.
        inverse
            ``1/‖X‖``, shape ``(n,)``.
        pull
            `p`, with the signs that hold at `x`, shape ``(n, d)``.
        out, spare
            Of the shape and type of `x`; both are overwritten.
        """
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


def dots(a: Floats, b: Floats) -> Any:
    """Inner product of every two rows, each as if it were alone, unlike a matrix product."""
    return np.einsum("nd,nd->n", a, b)


def _on_length_one(x: Floats) -> Floats:
    scaled: Floats = x / np.linalg.norm(x, axis=1, keepdims=True)
    return scaled
