"""What the training of gender-preserving debiasing consists of: a plan, a corpus, phases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from wordbias.methods.gender_preserving.autoencoder import Generator, Networks, Tensor, load_torch


@dataclass(frozen=True)
class Plan:
    """How long and how to train; see `wordbias.methods.gender_preserving.fit`.

    Attributes
    ----------
    weight
        λ, of all terms of the main loss but the reconstruction.
    """

    pretrain_epochs: int = 315
    classifier_epochs: int = 15
    epochs: int = 5
    as_published: bool = False
    seed: int = 0
    weight: float = 1e-4


@dataclass(frozen=True)
class Corpus:
    """What is trained on.

    Attributes
    ----------
    vectors
        Shape ``(n, d)``, left where they are.
    device
        To bring rows to.
    scale
        To divide rows by; see `wordbias.methods.gender_preserving.reach`.
    """

    vectors: NDArray[np.float32]
    device: Any = "cpu"
    scale: float = 1.0

    def take(self, rows: Any) -> Tensor:
        """Return the scaled vectors of row numbers of any shape, as a tensor ``(…, d)``."""
        x = self.vectors[np.asarray(rows)] * np.float32(1 / self.scale)
        return load_torch().from_numpy(x).to(self.device)


class Phase(Protocol):
    """What the training loop asks of a phase.

    Attributes
    ----------
    name
        For people.
    trained
        The fields of `Networks` that are trained.
    epochs
        How often the loop goes through the batches.
    threads
        Threads that its steps are large enough for.
    """

    name: ClassVar[str]
    trained: ClassVar[tuple[str, ...]]
    epochs: int
    threads: int

    def optimizer(self, tensors: list[Tensor]) -> Any:
        """Make an optimizer of what is trained."""
        ...

    def begin(self, networks: Networks) -> None:
        """Compute, before an epoch, what it takes as given."""

    def batches(self, rng: Generator) -> Iterator[Any]:
        """Yield the batches of an epoch."""
        ...

    def loss(self, networks: Networks, batch: Any, rng: Generator) -> Tensor:
        """Compute the loss of a batch."""
        ...

    def dev_loss(self, networks: Networks) -> Tensor:
        """Judge the networks on held-out words: one loss for all, or one for each classifier."""
        ...
