"""Gender-preserving debiasing, before its main loss: the autoencoder, then the classifiers.

The hyper-parameters are those of the published code for GloVe (Kaneko and Bollegala 2019).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordbias.methods.gender_preserving.autoencoder import Generator, Networks, Tensor, load_torch
from wordbias.methods.gender_preserving.losses import classifier_loss, dropped, reconstruction_loss
from wordbias.methods.gender_preserving.phase import Corpus, Plan
from wordbias.methods.gender_preserving.words import Part, Rows
from wordbias.threads import threads

_BATCH = 512
_HELD_OUT = 5000
_SHARE = 5  # a small vocabulary holds out a fifth
_RATE = 2e-4
_DROPOUT = 0.05
_WIDE = 200


class Autoencoding:
    """Reconstruction of the whole vocabulary, 5,000 words or a fifth of it held out.

    As published, the words of a batch stay together for all epochs, the epochs are one fewer than
    asked for, and the last, smaller batch of held-out words counts as much as the others.

    Several threads work on wide vectors only: with 100 values the steps are so short that a second
    thread gains little, and loses a hundredfold where something else wants the core.
    """

    name: ClassVar[str] = "autoencoder"
    trained: ClassVar[tuple[str, ...]] = ("encoder", "decoder")
    corpus: Corpus
    as_published: bool
    epochs: int
    threads: int
    dev: NDArray[np.int64]
    train: NDArray[np.int64]

    def __init__(self, corpus: Corpus, plan: Plan) -> None:
        self.corpus, self.as_published = corpus, plan.as_published
        self.epochs = plan.pretrain_epochs - plan.as_published
        self.threads = threads() if corpus.vectors.shape[1] >= _WIDE else 1
        order = np.random.default_rng([plan.seed, 1]).permutation(len(corpus.vectors))
        held = min(_HELD_OUT, len(order) // _SHARE)
        self.dev, self.train = order[:held], order[held:]

    def optimizer(self, tensors: list[Tensor]) -> Any:
        """Adam."""
        return load_torch().optim.Adam(tensors, lr=_RATE)

    def begin(self, networks: Networks) -> None:
        """Nothing is taken as given."""

    def batches(self, rng: Generator) -> Iterator[Rows]:
        """Yield the row numbers of 512 words at a time."""
        torch = load_torch()
        if self.as_published:
            fixed = _batches(self.train)
            return (fixed[i] for i in torch.randperm(len(fixed), generator=rng).tolist())
        return iter(_batches(self.train[torch.randperm(len(self.train), generator=rng).numpy()]))

    def loss(self, networks: Networks, batch: Rows, rng: Generator) -> Tensor:
        """Reconstruct words that the encoder sees only in part."""
        x = self.corpus.take(batch)
        return reconstruction_loss(networks, x, dropped(x, _DROPOUT, rng))

    def dev_loss(self, networks: Networks) -> Tensor:
        """Reconstruct held-out words."""
        return self.reconstruction(networks, weighted=not self.as_published)

    def reconstruction(self, networks: Networks, weighted: bool = True) -> Tensor:
        """Mean squared error of the held-out words, or the mean over the batches of theirs."""
        torch = load_torch()
        words = [self.corpus.take(batch) for batch in _batches(self.dev)]
        losses = torch.stack([reconstruction_loss(networks, x, x) for x in words])
        sizes = losses.new_tensor([len(x) if weighted else 1 for x in words])
        return (losses * sizes).sum() / sizes.sum()


class Classifying:
    """Two classifiers of encoded words, one word a step; each keeps the epoch it is best at.

    One tells the pairs' first words from their second words and the neutral words, the other one
    their second words. As published, the epochs are one fewer than asked for.
    """

    name: ClassVar[str] = "classifiers"
    trained: ClassVar[tuple[str, ...]] = ("classifiers",)
    epochs: int
    threads: int
    train: tuple[Tensor, Tensor]
    dev: tuple[Tensor, Tensor]
    hidden: Tensor

    def __init__(self, corpus: Corpus, words: tuple[Part, Part], plan: Plan) -> None:
        self.epochs, self.threads = plan.classifier_epochs - plan.as_published, 1
        self.train, self.dev = (_labelled(corpus, part) for part in words)

    def optimizer(self, tensors: list[Tensor]) -> Any:
        """Adam."""
        return load_torch().optim.Adam(tensors, lr=_RATE)

    def begin(self, networks: Networks) -> None:
        """Encode the words; the encoder is not trained."""
        self.hidden = networks.encode(self.train[0]).detach()

    def batches(self, rng: Generator) -> Iterator[int]:
        """Yield one word at a time."""
        return iter(load_torch().randperm(len(self.hidden), generator=rng).tolist())

    def loss(self, networks: Networks, batch: int, rng: Generator) -> Tensor:
        """Classify a word twice; the losses have no weight in common, so that they can be added."""
        one = slice(batch, batch + 1)
        return classifier_loss(networks, self.hidden[one], self.train[1][one]).sum()

    def dev_loss(self, networks: Networks) -> Tensor:
        """Judge each classifier, shape ``(2,)``."""
        words, gold = self.dev
        return classifier_loss(networks, networks.encode(words), gold)

    def accuracy(self, networks: Networks) -> Tensor:
        """Balanced accuracy of each classifier on held-out words, shape ``(2,)``."""
        words, gold = self.dev
        right = (networks.classifiers(networks.encode(words)) > 0) == (gold > 0)
        inside, outside = ((right * side).sum(0) / side.sum(0) for side in (gold, 1 - gold))
        return (inside + outside) / 2


def _batches(rows: Rows) -> list[Rows]:
    return [rows[start : start + _BATCH] for start in range(0, len(rows), _BATCH)]


def _labelled(corpus: Corpus, part: Part) -> tuple[Tensor, Tensor]:
    """Words of both groups and neutral ones, ``(n, d)``, and what they are, ``(n, 2)``."""
    torch = load_torch()
    rows = np.concatenate([part.pairs[:, 0], part.pairs[:, 1], part.neutral])
    kind = np.repeat([0, 1, 2], [len(part.pairs), len(part.pairs), len(part.neutral)])
    return corpus.take(rows), torch.eye(3, 2)[kind].to(corpus.device)
