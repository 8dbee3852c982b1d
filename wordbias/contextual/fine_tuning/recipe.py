"""How a model is fine-tuned: settings, rounds, learning rate, order of the pairs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError

Places = NDArray[np.intp]
_POOL = 50
"""Batches whose pairs are sorted by length together."""


@dataclass(frozen=True)
class Recipe:
    """How a model is fine-tuned.

    Attributes
    ----------
    head_only
        Leave the encoder as it is; what it puts out is computed once.
    rate
        The highest learning rate of AdamW; it rises linearly over the share `warmup` of all steps,
        and falls linearly to zero.
    decay
        Weight decay, of matrices alone.
    clip
        Norm that gradients are cut to.
    every
        Steps, about, after which dev is measured and a checkpoint written.
    """

    epochs: int = 3
    batch: int = 32
    rate: float = 2e-5
    warmup: float = 0.06
    decay: float = 0.01
    clip: float = 1.0
    every: int = 1000
    head_only: bool = False
    half: bool = False
    seed: int = 0

    def with_changes(self, **changes: Any) -> Recipe:
        """Return a recipe with what is not None changed.

        Raises
        ------
        WordbiasError
            If there is no such setting.
        """
        known = {one.name for one in fields(self)}
        if unknown := set(changes) - known:
            raise WordbiasError(f"no setting {unknown.pop()!r}; there are {', '.join(known)}")
        return replace(self, **{key: value for key, value in changes.items() if value is not None})

    def to_dict(self) -> dict[str, Any]:
        """Return the settings."""
        return asdict(self)


WHOLE = Recipe()
HEAD_ONLY = Recipe(epochs=10, rate=1e-3, head_only=True)


@dataclass(frozen=True)
class Rounds:
    """A training in parts of equally many steps.

    Attributes
    ----------
    batches
        Of an epoch.
    rounds
        How often dev is measured in all.
    steps
        Of a round.
    """

    batches: int
    rounds: int
    steps: int

    @classmethod
    def of(cls, pairs: int, recipe: Recipe) -> Rounds:
        """Divide a training; where it does not divide, a few more steps are made."""
        batches = -(-pairs // recipe.batch)
        total = batches * recipe.epochs
        rounds = max(recipe.epochs, round(total / recipe.every))
        return cls(batches, rounds, -(-total // rounds))

    @property
    def total(self) -> int:
        """All steps."""
        return self.rounds * self.steps


def schedule(step: int, total: int, recipe: Recipe) -> float:
    """Return the share of the learning rate at a step, from 0: up to 1, then down to 0."""
    warm = max(1, round(recipe.warmup * total))
    if step < warm:
        return (step + 1) / warm
    return (total - step) / max(1, total - warm)


def bucketed(lengths: Places, size: int, rng: np.random.Generator) -> list[Places]:
    """Divide texts at random into batches of like length.

    Parameters
    ----------
    lengths
        Of the texts, shape ``(n,)``.
    size
        Of a batch; one is smaller where it does not divide `n`.

    Returns
    -------
    list
        Places of the texts, each in one batch, the batches in random order.
    """
    order = rng.permutation(len(lengths))
    found: list[Places] = []
    for start in range(0, len(order), size * _POOL):
        pool = order[start : start + size * _POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        found += [pool[i : i + size] for i in range(0, len(pool), size)]
    return [found[i] for i in rng.permutation(len(found))]
