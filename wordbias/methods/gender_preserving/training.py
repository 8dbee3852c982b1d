"""Training of gender-preserving debiasing in three phases: autoencoder, classifiers, main loss.

The hyper-parameters are those of the published code for GloVe (Kaneko and Bollegala 2019).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordbias import __version__
from wordbias.devices import native_threads, torch_threads
from wordbias.methods.gender_preserving.networks import (
    Networks,
    by_name,
    classifier_loss,
    copied,
    debiasing_terms,
    difference_vector,
    dropped,
    generator,
    initial_networks,
    reconstruction_loss,
)
from wordbias.methods.gender_preserving.words import Part, Rows
from wordbias.training import Stack, TrainingState
from wordbias.training import train as train_phase

_BATCH = 512
_HELD_OUT = 5000
_SHARE = 5  # a small vocabulary holds out a fifth of its words
RATE = 2e-4
"""Learning rate of the autoencoder and of the classifiers."""
_DROPOUT = 0.05
_MAIN_RATE = 0.1
_MAIN_DROPOUT = 0.01
_WIDE = 200
_SECONDS = 10.0
"""Least time between two checkpoints; an epoch may take milliseconds."""


class Trained(NamedTuple):
    """The networks before and after the main phase, and each phase with its training."""

    before: Networks
    after: Networks
    phases: tuple[Autoencoding, Classifying, Debiasing]
    states: list[TrainingState]


def train(
    corpus: Corpus,
    words: tuple[Part[Rows], Part[Rows]],
    *,
    pretrain_epochs: int = 315,
    classifier_epochs: int = 15,
    epochs: int = 5,
    weight: float = 1e-4,
    as_published: bool = False,
    seed: int = 0,
    checkpoint: Path | None = None,
) -> Trained:
    """Train the autoencoder, then the classifiers, then all networks by the main loss."""
    # Everything random in an epoch depends on the seed, the phase and the epoch: a training that
    # was interrupted and resumed ends with the same weights bit for bit, on the same device and
    # with the same number of threads. The checkpoint is written at most every ten seconds, and not
    # removed.
    about: dict[str, Any] = {
        "pretrain_epochs": pretrain_epochs,
        "classifier_epochs": classifier_epochs,
        "epochs": epochs,
        "as_published": as_published,
        "seed": seed,
        "weight": weight,
    }
    if checkpoint is not None:
        about |= _fingerprints(corpus, words)
    drawn = initial_networks(corpus.vectors.shape[1], generator(seed, 3, 0))
    before = networks = copied(drawn, corpus.device)
    learned, dev = (Part(*map(corpus.take, part)) for part in words)
    autoencoding = Autoencoding(networks, corpus, seed, as_published)
    classifying = Classifying(networks, learned, dev, seed)
    debiasing = Debiasing(networks, learned, dev, weight, seed, as_published)
    phases: list[tuple[Autoencoding | Classifying | Debiasing, int]] = [
        (autoencoding, pretrain_epochs - as_published),
        (classifying, classifier_epochs - as_published),
        (debiasing, epochs),
    ]
    states: list[TrainingState] = []
    for phase, count in phases:
        before = copied(networks)
        trained = {
            name: tensor.requires_grad_()
            for name, tensor in by_name(networks).items()
            if name.partition(".")[0] in phase.trained
        }
        model = Stack(trained, axis=-1 if phase is classifying else None)
        with torch_threads(phase.threads):
            state = train_phase(
                model,
                phase.optimizer(model.tensors),
                phase,
                epochs=count,
                checkpoint=checkpoint,
                seconds=_SECONDS,
                earlier=states,
                about=about,
                remedy="bring the vectors to length one first",
                what=f"training: {phase.name}",
            )
        model.load_state_dict(state.best)
        states.append(state)
    return Trained(before, copied(networks), (autoencoding, classifying, debiasing), states)


def _fingerprints(corpus: Corpus, words: tuple[Part[Rows], Part[Rows]]) -> dict[str, str]:
    rows = [np.asarray(rows, np.int64) for part in words for rows in part]
    lists = b"".join(np.int64(part.size).tobytes() + part.tobytes() for part in rows)
    vectors = hashlib.sha256(corpus.vectors.reshape(-1).data)
    return {
        "wordbias": __version__,
        "vectors": vectors.hexdigest(),
        "lists": hashlib.sha256(lists).hexdigest(),
    }


@dataclass(frozen=True)
class Corpus:
    """Vectors to train on."""

    vectors: NDArray[np.float32]  # shape `(n, d)`; they are not copied
    device: torch.device | str = "cpu"  # device that rows are brought to
    scale: float = 1.0  # divisor of the rows; see `wordbias.methods.gender_preserving.networks`

    def take(self, rows: Any) -> Tensor:
        """Return the scaled vectors of row numbers of any shape, as a tensor ``(…, d)``."""
        x = self.vectors[np.asarray(rows)] * np.float32(1 / self.scale)
        return torch.from_numpy(x).to(self.device)


# phases


class Autoencoding:
    """Reconstruction of the whole vocabulary, with 5,000 words or a fifth of them held out."""

    # As published, the words of a batch are the same in all epochs, and the last, smaller batch of
    # held-out words counts fully. Only wide vectors are trained by several threads: with 100 values
    # the steps are so short that a second thread gains little, and loses a hundredfold where
    # another process uses the core.

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
        self.threads = native_threads() if corpus.vectors.shape[1] >= _WIDE else 1
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
        """Draw batches of 512 row numbers; return also the random generator of the dropout."""
        rng = generator(self.seed, 0, epoch)
        if self.as_published:
            fixed = _batches(self.train)
            order = torch.randperm(len(fixed), generator=rng).tolist()
            return [fixed[i] for i in order], rng
        return _batches(self.train[torch.randperm(len(self.train), generator=rng).numpy()]), rng

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Reconstruct words from inputs with dropout; yield losses of shape ``(1,)``."""
        batches, rng = self.batches(epoch)
        for rows in batches:
            x = self.corpus.take(rows)
            yield reconstruction_loss(self.networks, x, dropped(x, _DROPOUT, rng))[None]

    def score(self) -> Tensor:
        """Return the negative loss of held-out words, shape ``(1,)``."""
        return -self.reconstruction(self.networks, weighted=not self.as_published)[None]

    def reconstruction(self, networks: Networks, weighted: bool = True) -> Tensor:
        """Mean squared error of the held-out words; if not `weighted`, the mean over batches."""
        words = [self.corpus.take(rows) for rows in _batches(self.dev)]
        losses = torch.stack([reconstruction_loss(networks, x, x) for x in words])
        sizes = losses.new_tensor([len(x) if weighted else 1 for x in words])
        return (losses * sizes).sum() / sizes.sum()


def _batches(rows: Rows) -> list[Rows]:
    return [rows[start : start + _BATCH] for start in range(0, len(rows), _BATCH)]


class Classifying:
    """Two classifiers of encoded words, one word a step; the best epoch of each is kept."""

    # One separates the pairs' first words from their second words and the neutral words, the other
    # one the second words. The encoder is not trained here.

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
        """Return the number of training words."""
        return len(self.train[0])

    def order(self, epoch: int) -> list[int]:
        """Draw the order of the words."""
        rng = generator(self.seed, 1, epoch)
        order: list[int] = torch.randperm(self.steps(), generator=rng).tolist()
        return order

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Classify a word by both classifiers; yield losses of shape ``(2,)``."""
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


def _labelled(part: Part[Tensor]) -> tuple[Tensor, Tensor]:
    """Return words of both groups and neutral words, ``(n, d)``, with their classes, ``(n, 2)``."""
    kinds = part.pairs[:, 0], part.pairs[:, 1], part.neutral
    kind = torch.arange(3).repeat_interleave(torch.tensor([len(words) for words in kinds]))
    return torch.cat(kinds), torch.eye(3, 2)[kind].to(part.neutral.device)


class Debiasing:
    """The main loss, one quadruple a step."""

    # Every word of every list takes part in every epoch: the shorter lists are repeated, in a new
    # order, until the longest is finished. As published, an epoch ends with the shortest list, and
    # held-out words are scored along the difference vector from before the epoch. The published
    # code also scores them with dropout on, by mistake. That leaves the choice of the best epoch to
    # chance and is not repeated.

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
        return torch.optim.SGD(tensors, lr=_MAIN_RATE)

    def steps(self) -> int:
        """Return the number of quadruples in an epoch."""
        return self._length(self.train)

    def quadruples(self, epoch: int) -> tuple[Tensor, torch.Generator]:
        """Draw quadruples, shape ``(n, 4, d)``; return also the random generator of the dropout."""
        rng = generator(self.seed, 2, epoch)
        return self._combined(self.train, lambda n: torch.randperm(n, generator=rng)), rng

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Yield the main loss with dropout, shape ``(1,)``."""
        # The difference vector is a constant of the epoch.
        self.v = difference_vector(self.networks, self.train.pairs)
        quadruples, rng = self.quadruples(epoch)
        for x in torch.split(quadruples, 1):
            terms = debiasing_terms(self.networks, x, dropped(x, _MAIN_DROPOUT, rng), self.v)
            yield terms.total(self.weight)[None]

    def score(self) -> Tensor:
        """Return the negative main loss of held-out quadruples, shape ``(1,)``."""
        now = difference_vector(self.networks, self.train.pairs)
        x = self._combined(self.dev, torch.arange)
        terms = debiasing_terms(self.networks, x, x, self.v if self.as_published else now)
        loss: Tensor = terms.total(self.weight)
        return -loss[None]

    def stereotypes_along(self, networks: Networks) -> dict[str, tuple[Tensor, Tensor]]:
        r"""Return :math:`|v^\top h|` and :math:`|\cos(v, h)|` of the stereotypes.

        For training words and held-out words; the cosine does not depend on the lengths of encoded
        words.
        """
        v = difference_vector(networks, self.train.pairs)
        by_part = {}
        for name, part in (("train", self.train), ("held-out", self.dev)):
            hidden = networks.encode(part.stereotypes)
            along = (hidden @ v).abs()
            by_part[name] = along, along / (hidden.norm(dim=1) * v.norm())
        return by_part

    def _length(self, part: Part[Tensor]) -> int:
        return (min if self.as_published else max)(len(words) for words in part)

    def _combined(self, part: Part[Tensor], order: Callable[[int], Tensor]) -> Tensor:
        """Combine the lists to quadruples, ``(n, 4, d)``; shorter lists are repeated."""
        n = self._length(part)
        rows = (
            torch.cat([order(len(tensor)) for _ in range(-(-n // len(tensor)))])[:n]
            for tensor in part
        )
        pairs, *words = (vectors[row] for vectors, row in zip(part, rows, strict=True))
        return torch.cat([pairs, *(word[:, None] for word in words)], 1)
