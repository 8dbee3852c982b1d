"""Gender-preserving debiasing, before its main loss: the autoencoder, then the classifiers.

The hyper-parameters are those of the published code for GloVe (Kaneko and Bollegala 2019).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordbias.methods.gender_preserving.autoencoder import Networks, generator
from wordbias.methods.gender_preserving.losses import classifier_loss, dropped, reconstruction_loss
from wordbias.methods.gender_preserving.words import Part, Rows
from wordbias.threads import threads

_BATCH = 512
_HELD_OUT = 5000
_SHARE = 5  # a small vocabulary holds out a fifth
RATE = 2e-4
"""Learning rate of both pretrainings."""
_DROPOUT = 0.05
_WIDE = 200


@dataclass(frozen=True)
class Corpus:
    """The vectors to train on.

    Attributes
    ----------
    vectors
        Shape ``(n, d)``, left where they are.
    device
        Device that rows are brought to.
    scale
        Divisor of the rows; see `wordbias.methods.gender_preserving.reach`.
    """

    vectors: NDArray[np.float32]
    device: torch.device | str = "cpu"
    scale: float = 1.0

    def take(self, rows: Any) -> Tensor:
        """Return the scaled vectors of row numbers of any shape, as a tensor ``(…, d)``."""
        x = self.vectors[np.asarray(rows)] * np.float32(1 / self.scale)
        return torch.from_numpy(x).to(self.device)


class Autoencoding:
    """Reconstruction of the whole vocabulary, 5,000 words or a fifth of it held out.

    As published, the words of a batch stay together for all epochs, and the last, smaller batch of
    held-out words counts as much as the others.

    Several threads work on wide vectors only: with 100 values the steps are so short that a second
    thread gains little, and loses a hundredfold where something else wants the core.
    """

    name: ClassVar[str] = "autoencoder"
    trained: ClassVar[tuple[str, ...]] = ("encoder", "decoder")
    networks: Networks
    corpus: Corpus
    seed: int
    as_published: bool
    threads: int
    dev: NDArray[np.int64]
    train: NDArray[np.int64]

    def __init__(
        self, networks: Networks, corpus: Corpus, seed: int = 0, as_published: bool = False
    ) -> None:
        self.networks, self.corpus = networks, corpus
        self.seed, self.as_published = seed, as_published
        self.threads = threads() if corpus.vectors.shape[1] >= _WIDE else 1
        order = np.random.default_rng([seed, 1]).permutation(len(corpus.vectors))
        held = min(_HELD_OUT, len(order) // _SHARE)
        self.dev, self.train = order[:held], order[held:]

    def optimizer(self, tensors: Sequence[Tensor]) -> torch.optim.Optimizer:
        """Make Adam."""
        return torch.optim.Adam(tensors, lr=RATE)

    def steps(self) -> int:
        """Return the batches of an epoch."""
        return -(-len(self.train) // _BATCH)

    def batches(self, epoch: int) -> tuple[list[Rows], torch.Generator]:
        """Draw the row numbers of 512 words at a time; return the source of the dropout, too."""
        rng = generator(self.seed, 0, epoch)
        if self.as_published:
            fixed = _batches(self.train)
            order = torch.randperm(len(fixed), generator=rng).tolist()
            return [fixed[i] for i in order], rng
        return _batches(self.train[torch.randperm(len(self.train), generator=rng).numpy()]), rng

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Reconstruct words that the encoder sees only in part; yield shape ``(1,)``."""
        batches, rng = self.batches(epoch)
        for rows in batches:
            x = self.corpus.take(rows)
            yield reconstruction_loss(self.networks, x, dropped(x, _DROPOUT, rng))[None]

    def score(self) -> Tensor:
        """Return the negative loss of held-out words, shape ``(1,)``."""
        return -self.reconstruction(self.networks, weighted=not self.as_published)[None]

    def reconstruction(self, networks: Networks, weighted: bool = True) -> Tensor:
        """Mean squared error of the held-out words, or the mean over the batches of theirs."""
        words = [self.corpus.take(rows) for rows in _batches(self.dev)]
        losses = torch.stack([reconstruction_loss(networks, x, x) for x in words])
        sizes = losses.new_tensor([len(x) if weighted else 1 for x in words])
        return (losses * sizes).sum() / sizes.sum()


class Classifying:
    """Two classifiers of encoded words, one word a step; each keeps the epoch it is best at.

    One tells the pairs' first words from their second words and the neutral words, the other one
    their second words.

    Parameters
    ----------
    networks
        The encoder is not trained here.
    train, dev
        Vectors of the words to train on, and of those held out.
    """

    name: ClassVar[str] = "classifiers"
    trained: ClassVar[tuple[str, ...]] = ("classifiers",)
    threads: ClassVar[int] = 1
    networks: Networks
    train: tuple[Tensor, Tensor]
    dev: tuple[Tensor, Tensor]
    seed: int

    def __init__(
        self, networks: Networks, train: Part[Tensor], dev: Part[Tensor], seed: int = 0
    ) -> None:
        self.networks, self.seed = networks, seed
        self.train, self.dev = _labelled(train), _labelled(dev)

    def optimizer(self, tensors: Sequence[Tensor]) -> torch.optim.Optimizer:
        """Make Adam."""
        return torch.optim.Adam(tensors, lr=RATE)

    def steps(self) -> int:
        """Return the words to train on."""
        return len(self.train[0])

    def order(self, epoch: int) -> list[int]:
        """Draw the order of the words."""
        rng = generator(self.seed, 1, epoch)
        order: list[int] = torch.randperm(self.steps(), generator=rng).tolist()
        return order

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Classify a word twice; yield shape ``(2,)``."""
        words, gold = self.train
        hidden = self.networks.encode(words).detach()
        for i in self.order(epoch):
            yield classifier_loss(self.networks, hidden[i : i + 1], gold[i : i + 1])

    def score(self) -> Tensor:
        """Return the negative loss of each classifier on held-out words, shape ``(2,)``."""
        words, gold = self.dev
        loss: Tensor = classifier_loss(self.networks, self.networks.encode(words), gold)
        return -loss

    def accuracy(self, networks: Networks) -> Tensor:
        """Balanced accuracy of each classifier on held-out words, shape ``(2,)``."""
        words, gold = self.dev
        right = (networks.classifiers(networks.encode(words)) > 0) == (gold > 0)
        inside, outside = ((right * side).sum(0) / side.sum(0) for side in (gold, 1 - gold))
        balanced: Tensor = (inside + outside) / 2
        return balanced


def _batches(rows: Rows) -> list[Rows]:
    return [rows[start : start + _BATCH] for start in range(0, len(rows), _BATCH)]


def _labelled(part: Part[Tensor]) -> tuple[Tensor, Tensor]:
    """Words of both groups and neutral ones, ``(n, d)``, and their classes, ``(n, 2)``."""
    kinds = part.pairs[:, 0], part.pairs[:, 1], part.neutral
    kind = torch.arange(3).repeat_interleave(torch.tensor([len(words) for words in kinds]))
    return torch.cat(kinds), torch.eye(3, 2)[kind].to(part.neutral.device)
