"""Training a last layer alone, on vectors that stay as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordbias.biographies.classifier import Classifier, new_head
from wordbias.biographies.descent import Places, descend
from wordbias.biographies.recipe import Recipe

Vectors = NDArray[np.float32]


class Labelled(NamedTuple):
    """Vectors, shape ``(n, d)``, and their classes, shape ``(n,)``."""

    vectors: Vectors
    labels: NDArray[np.intp]


class Fitted(NamedTuple):
    """A last layer; its accuracy on dev, and the look at dev, from 1, at which that was best."""

    head: nn.Linear
    accuracy: float
    round: int


def train_head(
    learned: Labelled, dev: Labelled, classes: int, recipe: Recipe, what: str = "last layer"
) -> Fitted:
    """Train a new last layer; the recipe's seed draws it and orders the batches.

    Orgad et al. (2022, §4.2) retrain so on the original data: what the classifier can then take
    from the vectors again, debiasing had only hidden.

    Raises
    ------
    WordbiasError
        If there is nothing to learn from, or the loss is no number.
    """
    head = new_head(learned.vectors.shape[1], classes, recipe.seed)
    given, watched = (_Given(head, part.vectors, part.labels) for part in (learned, dev))
    state = descend(Classifier(head), given, watched, recipe, what=what)
    return Fitted(head, float(state.score[0]), int(state.epoch[0]))


@dataclass(init=False)
class _Given:
    """Vectors as examples."""

    lengths: Places
    targets: Tensor

    def __init__(self, head: nn.Linear, vectors: Vectors, labels: NDArray[np.intp]) -> None:
        self.head, self.vectors = head, torch.from_numpy(np.array(vectors, np.float32))
        self.lengths, self.targets = np.zeros(len(labels), np.intp), torch.from_numpy(labels)

    def logits(self, rows: Places) -> Tensor:
        """Return the scores of some of them."""
        found: Tensor = self.head(self.vectors[torch.from_numpy(rows)])
        return found
