"""How a classifier of biographies is trained: the published settings, and in what ours differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from wordbias.contextual.fine_tuning import recipe

_NEVER = 10**9


@dataclass(frozen=True)
class Recipe(recipe.Recipe):
    """How parameters are descended on: AdamW, batches of texts of like length, the best on dev.

    Epochs, batch and rate are those of Orgad et al. (2022, appendix A.1). Their rate stays as it
    is, nothing is cut and everything decays; here, unless it is `plain`, the rate rises and falls,
    gradients are cut and matrices alone decay, as in `wordbias.contextual.fine_tuning`. Their best
    epoch was a reference to the live weights, so that the last one was measured; ours is a copy.

    Attributes
    ----------
    plain
        A constant rate, gradients as they are, decay of all parameters, dev after each epoch.
    """

    epochs: int = 10
    batch: int = 64
    rate: float = 5e-5
    plain: bool = False

    def with_changes(self, **changes: Any) -> Recipe:
        """Return a recipe with what is not None changed; see the base."""
        return replace(self, **super().with_changes(**changes).to_dict())

    def as_published(self) -> Recipe:
        """Return the same, plain."""
        return replace(self, plain=True, every=_NEVER)


WHOLE = Recipe()
"""Of an encoder and its last layer."""
HEAD = Recipe(rate=1e-3)
"""Of the last layer alone, on an encoder that was fine-tuned."""
FROZEN = Recipe(epochs=300, rate=1e-3)
"""Of the last layer alone, on an encoder as it came."""
