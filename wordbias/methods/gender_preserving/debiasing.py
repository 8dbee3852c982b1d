"""The main phase of gender-preserving debiasing (Kaneko and Bollegala 2019)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import torch
from torch import Tensor

from wordbias.methods.gender_preserving.autoencoder import Networks, generator
from wordbias.methods.gender_preserving.losses import debiasing_terms, difference_vector, dropped
from wordbias.methods.gender_preserving.words import Part

_RATE = 0.1
_DROPOUT = 0.01


class Debiasing:
    """The main loss, one quadruple a step.

    Every word of every list takes part in every epoch: the shorter lists are gone through again,
    in a new order, until the longest is through. As published, an epoch ends with the shortest
    list, so that its length decides how many words of the others are seen, and held-out words are
    judged along the difference vector from before the epoch.

    The published code also judges them with dropout on, by a slip of a name. That leaves the
    choice of the best epoch to chance and is not repeated.

    Parameters
    ----------
    train, dev
        Vectors of the words to train on, and of those held out.
    weight
        λ, of all terms of the loss but the reconstruction.
    """

    name: ClassVar[str] = "debiasing"
    trained: ClassVar[tuple[str, ...]] = Networks._fields
    threads: ClassVar[int] = 1
    networks: Networks
    train: Part[Tensor]
    dev: Part[Tensor]
    weight: float
    seed: int
    as_published: bool
    v: Tensor

    def __init__(
        self,
        networks: Networks,
        train: Part[Tensor],
        dev: Part[Tensor],
        weight: float = 1e-4,
        seed: int = 0,
        as_published: bool = False,
    ) -> None:
        self.networks, self.train, self.dev = networks, train, dev
        self.weight, self.seed, self.as_published = weight, seed, as_published

    def optimizer(self, tensors: Sequence[Tensor]) -> torch.optim.Optimizer:
        """Make gradient descent."""
        return torch.optim.SGD(tensors, lr=_RATE)

    def steps(self) -> int:
        """Return the quadruples of an epoch."""
        return self._length(self.train)

    def quadruples(self, epoch: int) -> tuple[Tensor, torch.Generator]:
        """Draw the quadruples, shape ``(n, 4, d)``; return the source of the dropout, too."""
        rng = generator(self.seed, 2, epoch)
        return self._lined_up(self.train, lambda n: torch.randperm(n, generator=rng)), rng

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Compute the main loss with dropout; the difference vector is a constant of the epoch.

        Yields shape ``(1,)``.
        """
        self.v = difference_vector(self.networks, self.train.pairs)
        quadruples, rng = self.quadruples(epoch)
        for x in torch.split(quadruples, 1):
            terms = debiasing_terms(self.networks, x, dropped(x, _DROPOUT, rng), self.v)
            yield terms.total(self.weight)[None]

    def score(self) -> Tensor:
        """Return the negative main loss of held-out quadruples, shape ``(1,)``."""
        now = difference_vector(self.networks, self.train.pairs)
        x = self._lined_up(self.dev, torch.arange)
        terms = debiasing_terms(self.networks, x, x, self.v if self.as_published else now)
        loss: Tensor = terms.total(self.weight)
        return -loss[None]

    def stereotypes_along(self, networks: Networks) -> dict[str, tuple[Tensor, Tensor]]:
        r"""Compute :math:`|v^\top h|` and :math:`|\cos(v, h)|` of the stereotypes.

        Of those trained on and of those held out; the cosine does not change when all encoded
        words grow.
        """
        v = difference_vector(networks, self.train.pairs)
        found = {}
        for name, part in (("train", self.train), ("held-out", self.dev)):
            hidden = networks.encode(part.stereotypes)
            along = (hidden @ v).abs()
            found[name] = along, along / (hidden.norm(dim=1) * v.norm())
        return found

    def _length(self, part: Part[Tensor]) -> int:
        return (min if self.as_published else max)(len(words) for words in part)

    def _lined_up(self, part: Part[Tensor], order: Callable[[int], Tensor]) -> Tensor:
        """Line the lists up, each gone through in rounds; shape ``(n, 4, d)``."""
        n = self._length(part)
        rows = (torch.cat([order(len(one)) for _ in range(-(-n // len(one)))])[:n] for one in part)
        pairs, *words = (vectors[row] for vectors, row in zip(part, rows, strict=True))
        return torch.cat([pairs, *(word[:, None] for word in words)], 1)
