"""The three phases of training gender-preserving debiasing, one after the other."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from wordbias import __version__
from wordbias.checkpoints import State
from wordbias.methods.gender_preserving.autoencoder import (
    Networks,
    by_name,
    copied,
    generator,
    initial_networks,
)
from wordbias.methods.gender_preserving.debiasing import Debiasing
from wordbias.methods.gender_preserving.pretraining import Autoencoding, Classifying, Corpus
from wordbias.methods.gender_preserving.words import Part, Rows
from wordbias.torch_threads import torch_threads
from wordbias.training import TrainingState
from wordbias.training import train as train_phase

_SECONDS = 10.0
"""Least time between two checkpoints: an epoch may take milliseconds."""


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
    """Train the autoencoder, then the classifiers, then all of them by the main loss.

    Parameters
    ----------
    corpus
        All vectors.
    words
        Row numbers of the words to train on, and of those held out.
    pretrain_epochs, classifier_epochs, epochs, weight, as_published, seed
        See `wordbias.methods.gender_preserving.fit`.
    checkpoint
        File to resume from. It is written after an epoch, at most every ten seconds, when the
        training is interrupted, and at the end of a phase. It is not removed at the end: until the
        result is stored somewhere else, the same call finds it there.

    Raises
    ------
    WordbiasError
        If the loss leaves the range of float32, or the checkpoint is of another training.

    Notes
    -----
    Whatever is random in an epoch is drawn from the seed, the phase and the epoch: a training that
    was interrupted and resumed comes to the same weights bit for bit, on the same device and with
    as many threads.
    """
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
        model = _Stack(networks, phase.trained)
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


class _Stack(nn.Module):
    """Some of the networks as a stack: the two classifiers, or all that is trained as one model."""

    def __init__(self, networks: Networks, parts: tuple[str, ...]) -> None:
        super().__init__()
        chosen = {
            name: tensor
            for name, tensor in by_name(networks).items()
            if name.partition(".")[0] in parts
        }
        self.tensors = [tensor.requires_grad_() for tensor in chosen.values()]
        apart = parts == ("classifiers",)
        self.views: State = {
            name: tensor.detach().movedim(-1, 0) if apart else tensor.detach()[None]
            for name, tensor in chosen.items()
        }

    def state_dict(self, *_: Any, **__: Any) -> State:  # type: ignore[override]
        """Return the tensors, models along the first axis."""
        return self.views

    def load_state_dict(self, state: Any, *_: Any, **__: Any) -> None:  # type: ignore[override]
        """Take the values of others."""
        for name, view in self.views.items():
            view.copy_(state[name])


def _fingerprints(corpus: Corpus, words: tuple[Part[Rows], Part[Rows]]) -> dict[str, str]:
    rows = [np.asarray(rows, np.int64) for part in words for rows in part]
    lists = b"".join(np.int64(part.size).tobytes() + part.tobytes() for part in rows)
    vectors = hashlib.sha256(corpus.vectors.reshape(-1).data)
    return {
        "wordbias": __version__,
        "vectors": vectors.hexdigest(),
        "lists": hashlib.sha256(lists).hexdigest(),
    }
