"""Early stopping of a stack of probes: losses on dev, patience, best epochs; and the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.probes.recipe import Recipe

Integers = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass
class EarlyStopping:
    """Early stopping of every probe by itself, shape ``(S, B)`` each.

    Attributes
    ----------
    going
        Whether a probe is still trained.
    lowest
        Its lowest loss on dev.
    waited
        Epochs since then.
    epochs, best
        Epochs that it was trained, and the one whose weights are kept.
    """

    going: NDArray[np.bool_]
    lowest: Floats
    waited: Integers
    epochs: Integers
    best: Integers

    @classmethod
    def begin(cls, shape: tuple[int, int]) -> EarlyStopping:
        """Begin with all probes in training."""

        def zeros() -> Integers:
            return np.zeros(shape, np.intp)

        return cls(np.ones(shape, bool), np.full(shape, np.inf), zeros(), zeros(), zeros())

    def judge(self, at: Any, loss: Floats, recipe: Recipe) -> NDArray[np.bool_]:
        """Compare an epoch's losses on dev with the lowest; return whose weights are to be kept."""
        going = self.going[at]
        self.epochs[at] += going
        better = going & (loss < self.lowest[at] - recipe.tolerance)
        self.lowest[at] = np.where(better, loss, self.lowest[at])
        self.waited[at] = np.where(better, 0, self.waited[at] + going)
        self.going[at] = going & (self.waited[at] <= recipe.patience)
        kept: NDArray[np.bool_] = going if recipe.last else better
        self.best[at] = np.where(kept, self.epochs[at], self.best[at])
        return kept


def cross_entropy(z: NDArray[np.floating[Any]], y: Integers) -> Floats:
    """Return -ln softmax(z)[y] for every example.

    Parameters
    ----------
    z
        Scores, shape ``(…, K)``.
    y
        Classes, shape ``(…)``.

    Returns
    -------
    array of float64, shape (…)
        In nats.
    """
    z = z.astype(np.float64)
    z -= z.max(-1, keepdims=True)
    chosen = np.take_along_axis(z, y[..., None], -1)[..., 0]
    found: Floats = np.log(np.exp(z).sum(-1)) - chosen
    return found
