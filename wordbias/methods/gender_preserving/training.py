"""The training loop of gender-preserving debiasing: seeded, interruptible, the best epoch kept."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wordbias import __version__
from wordbias.errors import WordbiasError
from wordbias.methods.gender_preserving.autoencoder import (
    Generator,
    Networks,
    copied,
    initial_networks,
    load_torch,
)
from wordbias.methods.gender_preserving.checkpoint import Checkpoint
from wordbias.methods.gender_preserving.debiasing import Debiasing
from wordbias.methods.gender_preserving.phase import Corpus, Phase, Plan
from wordbias.methods.gender_preserving.pretraining import Autoencoding, Classifying
from wordbias.methods.gender_preserving.state import State, begun, restored, snapshot, trained
from wordbias.methods.gender_preserving.words import Part
from wordbias.progress import progress
from wordbias.torch_threads import torch_threads


@dataclass(frozen=True)
class Trained:
    """What a training comes to: the networks before and after the main phase, and each phase."""

    before: Networks
    after: Networks
    phases: tuple[Autoencoding, Classifying, Debiasing]
    done: Sequence[dict[str, Any]]


def train(corpus: Corpus, words: tuple[Part, Part], plan: Plan, path: Any = None) -> Trained:
    """Train the autoencoder, then the classifiers, then all of them by the main loss.

    Parameters
    ----------
    corpus
        All vectors.
    words
        To train on, and held out.
    plan
        How long and how.
    path
        Where to keep a checkpoint, and to go on from it. It is written after an epoch, at most
        every ten seconds, when the training is interrupted, and at its end: until the result is
        safe somewhere else, the same call finds it there.

    Raises
    ------
    WordbiasError
        If the loss leaves the range of float32, or the checkpoint is of another training.

    Notes
    -----
    Whatever is random in an epoch is drawn from the seed, the phase and the epoch: a training that
    was interrupted and goes on comes to the same weights bit for bit, on the same device and with
    as many threads.
    """
    identity = {} if path is None else {**asdict(plan), **_fingerprints(corpus, words)}
    checkpoint = Checkpoint(path, identity)
    phases = (
        Autoencoding(corpus, plan),
        Classifying(corpus, words, plan),
        Debiasing(corpus, words, plan),
    )
    found = checkpoint.read()
    state = _first(phases, corpus, plan) if found is None else restored(found, phases, corpus)
    try:
        _run(phases[state.phase], state, plan.seed, checkpoint)
        while state.phase + 1 < len(phases):
            state = begun(phases, state.phase + 1, state.best, state.done)
            _run(phases[state.phase], state, plan.seed, checkpoint)
    except KeyboardInterrupt:
        checkpoint.write()
        raise
    checkpoint.write()
    return Trained(state.start, state.best, phases, state.done)


def generator(seed: int, phase: int, epoch: int) -> Generator:
    """Make the source of all that is random in an epoch."""
    drawn = np.random.SeedSequence([seed, phase, epoch]).generate_state(1, np.uint64)[0]
    return load_torch().Generator().manual_seed(int(drawn))


def _first(phases: Sequence[Phase], corpus: Corpus, plan: Plan) -> State:
    rng = generator(plan.seed, len(phases), 0)
    networks = initial_networks(corpus.vectors.shape[1], rng)
    return begun(phases, 0, copied(networks, corpus.device), [])


def _run(phase: Phase, state: State, seed: int, checkpoint: Checkpoint) -> None:
    left = phase.epochs - state.epoch
    with torch_threads(phase.threads), progress(f"training: {phase.name}", left, "epoch") as bar:
        while state.epoch < phase.epochs:
            _epoch(phase, state, generator(seed, state.phase, state.epoch))
            state.epoch += 1
            _keep_best(phase, state)
            if checkpoint.path is not None:
                checkpoint.offer(snapshot(state))
            bar.set_postfix_str(f"best dev loss {float(state.best_loss.mean()):.3g}")
            bar.update()
    best = {"best_epoch": state.best_epoch.tolist(), "dev_loss": state.best_loss.tolist()}
    state.done.append({"phase": phase.name, "epochs": state.epoch, **best})


def _epoch(phase: Phase, state: State, rng: Generator) -> None:
    phase.begin(state.now)
    for batch in phase.batches(rng):
        state.optimizer.zero_grad()
        phase.loss(state.now, batch, rng).backward()
        state.optimizer.step()


def _keep_best(phase: Phase, state: State) -> None:
    """Copy what is better than ever: all that is trained, or the better classifier's column."""
    torch = load_torch()
    with torch.no_grad():
        loss = phase.dev_loss(state.now).reshape(-1)
    if not loss.isfinite().all():
        raise WordbiasError(
            f"training diverged: the loss of the phase {phase.name} is {loss.tolist()} after "
            f"{state.epoch} epochs; bring the vectors to length one first"
        )
    better = loss < state.best_loss
    for now, best in zip(*(trained(phase, part) for part in (state.now, state.best)), strict=True):
        best.copy_(torch.where(better, now.detach(), best))
    state.best_loss = torch.where(better, loss, state.best_loss)
    state.best_epoch = torch.where(better, state.epoch, state.best_epoch)


def _fingerprints(corpus: Corpus, words: tuple[Part, Part]) -> dict[str, str]:
    rows = [np.asarray(rows, np.int64) for part in words for rows in part]
    lists = b"".join(np.int64(part.size).tobytes() + part.tobytes() for part in rows)
    vectors = hashlib.sha256(corpus.vectors.reshape(-1).data)
    return {
        "wordbias": __version__,
        "vectors": vectors.hexdigest(),
        "lists": hashlib.sha256(lists).hexdigest(),
    }
