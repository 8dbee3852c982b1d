"""Training of GloVe and GN-GloVe on co-occurrences: epochs, checkpoints, log.

This is not the loop of `wordbias.training`: that one differentiates a loss by torch's autograd,
changes all parameters in each step, and keeps the best epoch on dev. Here a step changes the rows
of one batch, from gradients that are written down, and the last epoch is the result.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from wordbias.devices import native_threads, torch_threads
from wordbias.errors import Interrupted, WordbiasError
from wordbias.formats.files import check_writable, replacing
from wordbias.formats.stored import CHECKPOINT, read_header
from wordbias.glove.cooccurrence import Cooccurrences
from wordbias.glove.objectives import GloVe, GNGloVe
from wordbias.progress import progress
from wordbias.training import read_checkpoint, write_checkpoint

_SHOWN = 64
"""Batches between two looks at the loss."""
_LARGEST = 1 << 18
_PARALLEL = 1 << 21
"""Values in the vectors of a batch from which on several threads are faster than one."""


class _Diverged(Exception):
    """A loss or a vector is not finite."""


def check_checkpoint(path: Path) -> None:
    """Refuse a file in the place of a checkpoint that is none, before any work."""
    if path.exists():
        read_header(path, CHECKPOINT)


def batch_size(model: GloVe, counts: Cooccurrences) -> int:
    """Return the default size of a batch: its most frequent word is in it a few times."""
    # Steps of one batch are computed from the same values. If a word were in it many times, it
    # would be moved many times too far. In GloVe and GN-GloVe the most frequent word is in a batch
    # ten times on average, in GN-GloVe as published once.
    return max(1, min(int(model.often * counts.cells / counts.most), _LARGEST))


def train(
    model: GloVe,
    counts: Cooccurrences,
    *,
    epochs: int,
    batch: int | None = None,
    checkpoint: Path | None = None,
    log: Path | None = None,
    about: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Train a model, or go on from its checkpoint; return an entry for each epoch."""
    # The checkpoint is written after each epoch and not removed at the end; one of other settings
    # and data (`about`) is refused. After Ctrl-C the same call resumes.
    size = batch or batch_size(model, counts)
    known = {**(about or {}), "batch": size}
    history: list[dict[str, Any]] = []
    if checkpoint is not None:
        check_writable(checkpoint)
        if checkpoint.exists():
            history = _resume(model, checkpoint, known)
    left = (epochs - len(history)) * counts.steps(size)
    try:
        several = size * model.recipe.dim >= _PARALLEL
        limited = torch_threads(native_threads() if several else 1)
        with limited, progress("training", left, "batch") as bar:
            while len(history) < epochs:
                start = time.perf_counter()
                seen, total = 0, 0.0
                losses: list[torch.Tensor] = []
                model.start_epoch()
                for i, cells in enumerate(counts.batches(model.recipe.seed, len(history), size), 1):
                    losses.append(model.step(cells))
                    seen += len(cells.rows)
                    bar.update(1)
                    if i % _SHOWN == 0:
                        total, losses = total + sum(map(float, losses)), []
                        loss = _finite(total / seen, len(history) + 1)
                        bar.set_postfix_str(f"epoch {len(history) + 1}, loss {loss:.4f}")
                loss = _finite((total + sum(map(float, losses))) / seen, len(history) + 1)
                terms = _finite_terms(model, len(history) + 1)
                seconds = round(time.perf_counter() - start, 2)
                history.append(
                    {"epoch": len(history) + 1, "loss": loss, **terms, "seconds": seconds}
                )
                _store(model, history, known, checkpoint, log)
    except _Diverged as error:
        if checkpoint is not None:  # the same call diverges again, another does not resume from it
            checkpoint.unlink(missing_ok=True)
        more = ", or lower --lambda-d and --lambda-e" if isinstance(model, GNGloVe) else ""
        raise WordbiasError(f"{error}; give a lower --lr or a smaller --batch-size{more}") from None
    except KeyboardInterrupt:
        done = f"after epoch {len(history)}" if history else "at the first epoch"
        if checkpoint is None:
            raise
        raise Interrupted(f"the same call resumes {done}") from None
    return history


def _store(
    model: GloVe,
    history: Sequence[dict[str, Any]],
    known: Mapping[str, Any],
    checkpoint: Path | None,
    log: Path | None,
) -> None:
    """Write what an epoch changed: the log and the checkpoint."""
    if log is not None:
        with replacing(log) as file:
            file.writelines(f"{json.dumps(entry)}\n".encode() for entry in history)
    if checkpoint is not None:
        known = {"about": known, "history": history}
        write_checkpoint(checkpoint, {"model": model.state()}, known)


def _resume(model: GloVe, path: Path, known: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Set a model to its checkpoint; return the entries of the epochs before it."""
    with read_checkpoint(path, known) as (parts, stored):
        history = list(stored["history"])
        for epoch, entry in enumerate(history, 1):
            finite = entry.keys() >= {"loss", "seconds"} and np.isfinite([*entry.values()]).all()
            if entry["epoch"] != epoch or not finite:
                raise ValueError(f"its entry of epoch {epoch} is {entry}")
        model.load(parts["model"])
    return history


def _finite(loss: float, epoch: int) -> float:
    """Return the loss, or refuse one that is not finite: training diverged."""
    if loss == loss and abs(loss) != float("inf"):
        return loss
    raise _Diverged(f"training diverged in epoch {epoch}: the loss is {loss:g}")


def _finite_terms(model: GloVe, epoch: int) -> dict[str, float]:
    """Return the other terms after an epoch, or refuse vectors that its last steps let diverge."""
    terms = model.terms()
    if np.isfinite(model.vectors()).all() and np.isfinite([*terms.values()]).all():
        return terms
    raise _Diverged(f"training diverged in epoch {epoch}: a vector is not finite, or too large")
