"""The one training loop: best on dev, early stopping, resumed after interruption, logged.

Models may be stacked: K of them, along the first axis of every parameter, are trained as one and
judged each by itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from wordbias.checkpoints import (
    load_optimizer,
    optimizer_state,
    read_checkpoint,
    write_checkpoint,
)
from wordbias.course import Course
from wordbias.errors import WordbiasError
from wordbias.progress import Bar, progress


class Task(Protocol):
    """What is trained for: losses to descend, a score to be judged by."""

    def steps(self) -> int:
        """Return the batches of an epoch."""

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Yield the models' losses on each batch, shape ``(K,)``.

        What is random in it must depend on the epoch, not on the epochs before: then a training
        that was interrupted goes on as if it had not been.
        """

    def score(self) -> Tensor:
        """Return the models' scores on dev, shape ``(K,)``; higher is better."""


def train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    task: Task,
    *,
    epochs: int,
    patience: int | None = None,
    checkpoint: Path | None = None,
    writes: bool = True,
    logs: Sequence[Path] = (),
    about: Mapping[str, Any] | None = None,
    what: str = "training",
    bar: Bar | None = None,
) -> Course:
    """Train until `epochs` are over or every model has waited `patience` epochs.

    Parameters
    ----------
    model, optimizer, task
        What is trained, how, and for what. The model ends with its last parameters; the best are
        in the result.
    checkpoint
        File that is written after every epoch; if it is there, training goes on from it, so that
        an interruption loses at most the epoch that it falls into. It is left there: who has
        stored the result removes it.
    writes
        Whether it is written, or only gone on from: of several processes that train one model,
        one writes.
    logs
        A file for each model, which gets one line of JSON an epoch.
    about
        What a checkpoint must agree in to be gone on from.
    what, bar
        What the progress bar says, or the bar to advance by one for each batch.

    Raises
    ------
    WordbiasError
        If the loss is no number, or the checkpoint is of another training or of none.
    """
    course, about = Course.begin(model), dict(about or {})
    if checkpoint is not None and checkpoint.exists():
        course = _resume(checkpoint, model, optimizer, about)
    _begin_logs(course, logs)
    steps = task.steps()
    left = (epochs - course.done) * steps
    with progress(what, left, "step") if bar is None else nullcontext(bar) as shown:
        while course.done < epochs and bool(course.going(patience).any()):
            start = time.perf_counter()
            loss = _epoch(model, optimizer, task, course.done, shown)
            model.eval()
            with torch.no_grad():
                score = task.score().cpu()
            going = course.going(patience)
            course.judge(model, score, patience)
            _note(course, loss, score, going, time.perf_counter() - start)
            _log(course, logs)
            shown.set_postfix_str(f"loss {float(loss.mean()):.3f}, dev {float(score.mean()):.4f}")
            if checkpoint is not None and writes:
                _save(checkpoint, course, model, optimizer, about)
    return course


def _epoch(
    model: nn.Module, optimizer: torch.optim.Optimizer, task: Task, epoch: int, bar: Bar
) -> Tensor:
    """Train one epoch; return the mean loss of each model, shape ``(K,)``."""
    model.train()
    summed = torch.zeros(())
    for losses in task.losses(epoch):
        optimizer.zero_grad(set_to_none=True)
        losses.sum().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        summed = summed.to(losses.device) + losses.detach()
        bar.update(1)
    mean = summed.cpu() / task.steps()
    if not bool(mean.isfinite().all()):
        (lost,) = (~mean.isfinite()).nonzero(as_tuple=True)
        which = f" of model {int(lost[0]) + 1} of {len(mean)}" if len(mean) > 1 else ""
        raise WordbiasError(
            f"training diverged in epoch {epoch + 1}: the loss{which} is {mean[lost[0]]:g}; "
            "lower the learning rate"
        )
    return mean


def _note(course: Course, loss: Tensor, score: Tensor, going: Tensor, seconds: float) -> None:
    course.history.append(
        {
            "epoch": course.done,
            "loss": loss.tolist(),
            "dev": score.tolist(),
            "best": course.score.tolist(),
            "going": going.tolist(),
            "seconds": round(seconds, 2),
        }
    )


def _begin_logs(course: Course, logs: Sequence[Path]) -> None:
    """Write what a training that is gone on from has behind it, and nothing else."""
    for k, log in enumerate(logs):
        _write(log, course.lines(k), "w")


def _log(course: Course, logs: Sequence[Path]) -> None:
    for k, log in enumerate(logs):
        if course.history[-1]["going"][k]:
            _write(log, course.lines(k)[-1:], "a")


def _write(log: Path, lines: Sequence[str], mode: str) -> None:
    try:
        with log.open(mode, encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise WordbiasError(
            f"{log}: could not be written: {error.strerror or error}; mend that, and the same call "
            "goes on from the last checkpoint"
        ) from None


def _save(
    path: Path,
    course: Course,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    about: Mapping[str, Any],
) -> None:
    parts = {
        "best": course.best,
        "model": model.state_dict(),
        "optimizer": optimizer_state(optimizer),
        "course": {name: getattr(course, name) for name in ("score", "epoch", "waited")},
    }
    write_checkpoint(path, parts, {"about": about, "done": course.done, "history": course.history})


def _resume(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, about: Mapping[str, Any]
) -> Course:
    with read_checkpoint(path, about) as (parts, known):
        model.load_state_dict(parts["model"])
        load_optimizer(optimizer, parts["optimizer"])
        return Course(
            parts["best"], **parts["course"], done=known["done"], history=known["history"]
        )
