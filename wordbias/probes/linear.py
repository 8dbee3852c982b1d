"""Stacked linear probes in numpy: S rows of B probes, trained on common batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from wordbias.probes.train import Recipe


Floats = NDArray[np.float32]
Integers = NDArray[np.intp]

BETAS = (0.9, 0.999)
EPS = 1e-8
_FAR = 80.0  # beyond, a sigmoid is 0 or 1, and exp would overflow float32


def initial_weights(seed: int, block: int, d: int, classes: int) -> Floats:
    """Draw a probe's initial weights, (K, d + 1), as ``nn.Linear`` does: uniform in ±1/√d."""
    # The bias is the last column.
    bound = 1 / np.sqrt(d)
    drawn = np.random.default_rng([seed, block]).uniform(-bound, bound, (classes, d + 1))
    return drawn.astype(np.float32)


class LinearProbes:
    r"""Linear probes, `S` rows of `B`, each with `R` rows of weights and a bias.

    Of two classes only the difference of their rows, :math:`\delta = w_1 - w_0`, is kept. Their
    gradients are mirror images, so AdamW moves both by the same step in opposite directions, and
    :math:`\delta` follows AdamW with twice the rate and the same decay. That is exact, and half
    the work.
    """

    vectors: NDArray[np.floating[Any]]
    recipe: Recipe
    d: int
    two: bool
    kept: NDArray[np.floating[Any]]
    rows: Integers
    columns: Integers

    def __init__(
        self,
        vectors: NDArray[np.floating[Any]],
        seeds: Sequence[int],
        blocks: Sequence[int],
        classes: int,
        recipe: Recipe,
    ) -> None:
        self.vectors, self.recipe, self.d = vectors, recipe, vectors.shape[1]
        self.two = classes == 2
        first = {
            (seed, block): initial_weights(seed, block, self.d, classes)
            for seed in set(seeds)
            for block in blocks
        }
        w = np.array([[first[seed, block] for block in blocks] for seed in seeds])
        self.w = w[:, :, 1:] - w[:, :, :1] if self.two else w  # (S, B, R, d + 1)
        self.m, self.v = np.zeros_like(self.w), np.zeros_like(self.w)
        self.kept = self.w.copy()
        self.rows, self.columns = np.arange(len(seeds)), np.arange(len(blocks))
        self._make_room()

    def _make_room(self) -> None:
        self._g, self._u = np.empty(self.w.size, np.float32), np.empty(self.w.size, np.float32)

    def step(self, rows: Integers, y: Integers, inside: NDArray[np.bool_], steps: Integers) -> None:
        """Take one step of AdamW with the first `s` rows and `b` columns of probes."""
        # Each row has a batch of examples, (s, k). `inside` masks those that a column learns from,
        # (k, b); `steps` counts the steps of each column, this one included.
        s, b = len(rows), inside.shape[1]
        x, w = self._gathered(rows), self.w[:s, :b]
        residual = self._residual(self._scores(x, w), y)
        if not inside.all():
            residual *= inside[:, :, None]
        flat = residual.reshape(*rows.shape, -1)  # (s, k, b·R)
        g = self._g[: w.size].reshape(s, flat.shape[2], self.d + 1)
        np.matmul(flat.transpose(0, 2, 1), x, out=g[:, :, : self.d])
        np.sum(flat, axis=1, out=g[:, :, self.d])
        self._adamw(g.reshape(w.shape), steps)

    def _adamw(self, g: Floats, steps: Integers) -> None:
        """Move the first probes along their gradients, which are overwritten."""
        # The moments are kept without their factors 1 - β; those go into the rate and into ε.
        s, b = g.shape[:2]
        w, m, v = self.w[:s, :b], self.m[:s, :b], self.v[:s, :b]
        u = self._u[: g.size].reshape(g.shape)
        alpha, eps = self._rates(steps)
        m *= np.float32(BETAS[0])
        m += g
        g *= g
        v *= np.float32(BETAS[1])
        v += g
        np.sqrt(v, out=u)
        u += eps
        np.divide(m, u, out=u)
        u *= alpha
        w *= np.float32(1 - self.recipe.rate * self.recipe.decay)
        w -= u

    def _rates(self, steps: Integers) -> tuple[Floats, Floats]:
        """Return each column's rate and ε, shape ``(b, 1, 1)``."""
        beta1, two = BETAS
        spread = np.sqrt((1 - two) / (1 - two**steps))
        alpha = self.recipe.rate * (1 - beta1) / (1 - beta1**steps) / spread
        doubled = (2 if self.two else 1) * alpha
        return (
            doubled.astype(np.float32)[:, None, None],
            (EPS / spread).astype(np.float32)[:, None, None],
        )

    def _gathered(self, rows: Integers) -> Floats:
        x: Floats = self.vectors.take(rows, axis=0).astype(np.float32, copy=False)
        return x

    def _scores(self, x: Floats, w: Floats) -> Floats:
        """Score examples ``(s, k, d)`` with probes ``(s, b, R, d + 1)``: ``(s, k, b, R)``."""
        s, b, r, _ = w.shape
        flat = w.reshape(s, b * r, -1)
        with np.errstate(invalid="ignore"):  # OpenBLAS can set the flag for finite rows
            z = np.matmul(x, flat[:, :, : self.d].transpose(0, 2, 1))
        z += flat[:, None, :, self.d]
        scores: Floats = z.reshape(*x.shape[:2], b, r)
        return scores

    def _residual(self, z: Floats, y: Integers) -> Floats:
        """Return the gradient of the loss with respect to the scores, which are overwritten."""
        if self.two:
            np.clip(z, -_FAR, _FAR, out=z)
            np.negative(z, out=z)
            np.exp(z, out=z)
            z += 1
            np.reciprocal(z, out=z)
            z -= y[:, :, None, None]
            return z
        z -= z.max(-1, keepdims=True)
        np.exp(z, out=z)
        z /= z.sum(-1, keepdims=True)
        z -= (y[:, :, None] == np.arange(z.shape[-1]))[:, :, None]
        return z

    def scores(self, rows: Integers, column: int, *, kept: bool = False) -> Floats:
        """Score examples (S, m) with one column of probes: (S, m, K)."""
        w = (self.kept if kept else self.w)[:, column : column + 1]
        z = self._scores(self._gathered(rows), w)[:, :, 0]
        return np.concatenate([np.zeros_like(z), z], -1) if self.two else z

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Keep a copy of the weights of some probes, by a mask of shape ``(S, B)``."""
        i, j = np.nonzero(which)
        self.kept[self.rows[i], self.columns[j]] = self.w[i, j]

    def arrange(self, rows: Integers, columns: Integers) -> None:
        """Select rows and columns of the present ones, in this order, to go on with."""
        chosen = np.ix_(rows, columns)
        self.w, self.m, self.v = self.w[chosen], self.m[chosen], self.v[chosen]
        self.rows, self.columns = self.rows[rows], self.columns[columns]
        self._make_room()
