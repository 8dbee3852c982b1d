"""The one training loop: best on dev, early stopping, resumed after interruption, logged.

Models may be stacked: K of them, along the first axis of every parameter, are trained as one and
judged each by itself.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from wordbias.errors import WordbiasError
from wordbias.formats.atomic import replacing
from wordbias.progress import Bar, progress

State = dict[str, Tensor]
_PER_MODEL = ("loss", "dev", "best")


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


@dataclass
class Course:
    """How far a training has come.

    Attributes
    ----------
    best
        Each model's parameters when it scored best, stacked; a true copy.
    score, epoch
        Those best scores, and the epochs (from 1) they were reached in, shape ``(K,)``.
    waited
        Epochs since then, shape ``(K,)``; ``epoch + waited`` is how many a model was trained.
    done
        Epochs behind us.
    history
        One entry an epoch: `epoch`, `seconds`, and with an item for each model `loss`, `dev`,
        `best`, and `going`, whether it was still trained.
    """

    best: State
    score: Tensor
    epoch: Tensor
    waited: Tensor
    done: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def begin(cls, model: nn.Module) -> Course:
        """Start with the untrained parameters."""
        best = _copy(model)
        k = len(next(iter(best.values())))
        score = torch.full((k,), -torch.inf, dtype=torch.float64)
        return cls(best, score, torch.zeros(k, dtype=torch.int64), torch.zeros_like(score).long())

    def judge(self, model: nn.Module, score: Tensor, patience: int | None) -> None:
        """Keep what is better; a model that has waited `patience` epochs is not judged again."""
        going = self.going(patience)
        better = going & (score > self.score)
        self.done += 1
        self.score = torch.where(better, score.double(), self.score)
        self.epoch = torch.where(better, self.done, self.epoch)
        self.waited = torch.where(better, 0, self.waited + going.long())
        for name, parameter in model.state_dict().items():
            self.best[name][better] = parameter.detach().cpu()[better]

    def going(self, patience: int | None) -> Tensor:
        """Whether each model is still trained, shape ``(K,)``."""
        if patience is None:
            return torch.ones_like(self.waited, dtype=torch.bool)
        return self.waited < patience

    def lines(self, k: int) -> list[str]:
        """Write the history of one model, a line of JSON for every epoch that it was trained."""
        return [
            json.dumps(
                {
                    "epoch": entry["epoch"],
                    **{key: entry[key][k] for key in _PER_MODEL},
                    "seconds": entry["seconds"],
                }
            )
            for entry in self.history
            if entry["going"][k]
        ]


def train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    task: Task,
    *,
    epochs: int,
    patience: int | None = None,
    checkpoint: Path | None = None,
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
            if checkpoint is not None:
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
        log.write_text("".join(f"{line}\n" for line in course.lines(k)), encoding="utf-8")


def _log(course: Course, logs: Sequence[Path]) -> None:
    for k, log in enumerate(logs):
        if course.history[-1]["going"][k]:
            with log.open("a", encoding="utf-8") as file:
                file.write(f"{course.lines(k)[-1]}\n")


def _copy(model: nn.Module) -> State:
    return {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}


def _save(
    path: Path,
    course: Course,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    about: Mapping[str, Any],
) -> None:
    tensors = {f"best.{name}": value for name, value in course.best.items()}
    tensors |= {f"model.{name}": value for name, value in _copy(model).items()}
    for i, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{i}.{key}": torch.as_tensor(value) for key, value in state.items()}
    for name in ("score", "epoch", "waited"):
        tensors[f"course.{name}"] = getattr(course, name)
    kept = {name: value.cpu().contiguous() for name, value in tensors.items()}
    text = json.dumps({"about": about, "done": course.done, "history": course.history})
    with replacing(path) as file:
        file.write(save(kept, {"training": text}))


def _resume(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, about: Mapping[str, Any]
) -> Course:
    try:
        with safe_open(path, "pt") as file:
            known = json.loads(file.metadata()["training"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        different = difference(known["about"], about)
        if different is None:
            model.load_state_dict(_part(tensors, "model."))
            _load_optimizer(optimizer, _part(tensors, "optimizer."))
            parts = _part(tensors, "best."), known["done"], known["history"]
            return Course(parts[0], **_part(tensors, "course."), done=parts[1], history=parts[2])
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = str(error).split("\n")[0]
        raise WordbiasError(
            f"{path}: is no checkpoint of this training ({reason}); remove it"
        ) from None
    raise WordbiasError(
        f"{path}: is of another training: its {different}; remove it, or name another output"
    )


def difference(known: Any, wanted: Any, name: str = "") -> str | None:
    """Say where two settings differ, as JSON holds them: ``rate is 0.1, not 0.2``."""
    known, wanted = (json.loads(json.dumps(value)) for value in (known, wanted))
    if isinstance(known, list) and isinstance(wanted, list) and len(known) == len(wanted):
        known, wanted = (dict(enumerate(value, 1)) for value in (known, wanted))
    if isinstance(known, list) and isinstance(wanted, list):
        return f"{name} has {len(known)} entries, not {len(wanted)}"
    if known == wanted:
        return None
    if not (isinstance(known, dict) and isinstance(wanted, dict)):
        plain = not isinstance(known, dict | list) and not isinstance(wanted, dict | list)
        return f"{name} is {known!r}, not {wanted!r}" if plain else f"{name} is another"
    keys = dict.fromkeys([*wanted, *known])
    found = (
        difference(known.get(key), wanted.get(key), f"{name}.{key}".lstrip(".")) for key in keys
    )
    return next((one for one in found if one is not None), None)


def _part(tensors: State, prefix: str) -> State:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


def _load_optimizer(optimizer: torch.optim.Optimizer, tensors: State) -> None:
    state: dict[int, State] = {}
    for name, value in tensors.items():
        i, _, key = name.partition(".")
        state.setdefault(int(i), {})[key] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
