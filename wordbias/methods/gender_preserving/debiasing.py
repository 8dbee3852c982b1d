"""The main phase of gender-preserving debiasing (Kaneko and Bollegala 2019)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from wordbias.methods.gender_preserving.autoencoder import Generator, Networks, Tensor, load_torch
from wordbias.methods.gender_preserving.losses import debiasing_terms, difference_vector, dropped
from wordbias.methods.gender_preserving.phase import Corpus, Plan
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
    """

    name: ClassVar[str] = "debiasing"
    trained: ClassVar[tuple[str, ...]] = Networks._fields
    plan: Plan
    epochs: int
    threads: int
    train: Part
    dev: Part
    v: Tensor

    def __init__(self, corpus: Corpus, words: tuple[Part, Part], plan: Plan) -> None:
        self.plan, self.epochs, self.threads = plan, plan.epochs, 1
        self.train, self.dev = (Part(*map(corpus.take, part)) for part in words)

    def optimizer(self, tensors: list[Tensor]) -> Any:
        """Gradient descent."""
        return load_torch().optim.SGD(tensors, lr=_RATE)

    def begin(self, networks: Networks) -> None:
        """Compute the difference vector, a constant of the epoch."""
        self.v = difference_vector(networks, self.train.pairs)

    def batches(self, rng: Generator) -> Iterator[Tensor]:
        """Yield one quadruple at a time, shape ``(1, 4, d)``."""

        def shuffled(n: int) -> Tensor:
            return load_torch().randperm(n, generator=rng)

        return iter(self._quadruples(self.train, shuffled).split(1))

    def loss(self, networks: Networks, batch: Tensor, rng: Generator) -> Tensor:
        """Compute the main loss with dropout."""
        terms = debiasing_terms(networks, batch, dropped(batch, _DROPOUT, rng), self.v)
        return terms.total(self.plan.weight)

    def dev_loss(self, networks: Networks) -> Tensor:
        """Compute the main loss of held-out quadruples."""
        v = self.v if self.plan.as_published else difference_vector(networks, self.train.pairs)
        x = self._quadruples(self.dev, load_torch().arange)
        return debiasing_terms(networks, x, x, v).total(self.plan.weight)

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

    def _quadruples(self, part: Part, order: Callable[[int], Tensor]) -> Tensor:
        """Line the lists up, each gone through in rounds; shape ``(n, 4, d)``."""
        torch, lengths = load_torch(), [len(words) for words in part]
        n = min(lengths) if self.plan.as_published else max(lengths)
        rows = (torch.cat([order(size) for _ in range(-(-n // size))])[:n] for size in lengths)
        pairs, *words = (vectors[row] for vectors, row in zip(part, rows, strict=True))
        return torch.cat([pairs, *(word[:, None] for word in words)], 1)
