"""The training loop: best epoch on dev, early stopping, checkpoints to resume from, logs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from wordbias.errors import WordbiasError
from wordbias.formats.files import check_writable
from wordbias.formats.stored import CHECKPOINT, read_header, reading, write
from wordbias.progress import Bar, progress
from wordbias.store import difference, refuse_other

State = dict[str, Tensor]
_JUDGED = ("score", "epoch", "waited")
_EARLIER = "earlier-"
_PER_MODEL = ("loss", "dev", "best")


def train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    task: Task,
    *,
    epochs: int,
    patience: int | None = None,
    checkpoint: Path | None = None,
    writes: bool = True,
    seconds: float = 0.0,
    earlier: Sequence[TrainingState] = (),
    logs: Sequence[Path] = (),
    about: Mapping[str, Any] | None = None,
    after_epoch: Callable[[int, list[int]], None] | None = None,
    remedy: str = "lower the learning rate",
    what: str = "training",
    bar: Bar | None = None,
) -> TrainingState:
    """Train until `epochs` are over or early stopping has ended every model."""
    # The model ends with its last parameters; the best are in the result. The checkpoint is written
    # after every epoch, at least `seconds` apart, and training resumes from it; remove it when the
    # result is stored. Of several processes that train one model, one writes. `earlier` are results
    # of the trainings before, if several share a checkpoint and `about`: a finished training is not
    # repeated. `after_epoch` is called before the checkpoint is written, with the number of the
    # epoch (from 1) and the places of the models that were still trained in it. An epoch that is
    # repeated after an interruption calls it again.
    about = dict(about or {})
    if checkpoint is not None and writes:
        check_writable(checkpoint)
    state = TrainingState.begin(model)
    if checkpoint is not None and checkpoint.exists():
        state = _resume(checkpoint, state, model, optimizer, about, len(earlier))
    for k, log in enumerate(logs):
        _write(log, state.lines(k), "w")
    saving = _Saving(checkpoint if writes else None, about, earlier, seconds)
    left = (epochs - state.done) * task.steps()
    try:
        with progress(what, left, "step") if bar is None else nullcontext(bar) as step_bar:
            while state.done < epochs and bool(state.going(patience).any()):
                start = time.perf_counter()
                loss = _epoch(model, optimizer, task, state.done, step_bar)
                _check_finite(loss, "loss", state.done + 1, remedy)
                model.eval()
                with torch.no_grad():
                    score = task.score().cpu()
                _check_finite(score, "score on dev", state.done + 1, remedy)
                state.end_epoch(model, loss, score, patience, time.perf_counter() - start)
                _log(state, logs)
                if after_epoch is not None:
                    going = state.history[-1]["going"]
                    after_epoch(state.done, [k for k, is_going in enumerate(going) if is_going])
                step_bar.set_postfix_str(
                    f"loss {float(loss.mean()):.3f}, dev {float(score.mean()):.4f}"
                )
                saving.offer(state, model, optimizer)
    except KeyboardInterrupt:
        saving.flush()
        raise
    saving.flush()
    return state


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
    return summed.cpu() / task.steps()


def _check_finite(values: Tensor, name: str, epoch: int, remedy: str) -> None:
    """Refuse losses or scores, shape ``(K,)``, that are not finite: the training diverged."""
    if bool(values.isfinite().all()):
        return
    (lost,) = (~values.isfinite()).nonzero(as_tuple=True)
    which = f" of model {int(lost[0]) + 1} of {len(values)}" if len(values) > 1 else ""
    raise WordbiasError(
        f"training diverged in epoch {epoch}: the {name}{which} is {values[lost[0]]:g}; {remedy}"
    )


class Task(Protocol):
    """Losses that a training minimises, and the score that chooses the best epoch."""

    def steps(self) -> int:
        """Return the number of batches in an epoch."""

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Yield the models' losses on each batch, shape ``(K,)``."""
        # Random numbers must depend on the epoch, not on the epochs before: then a resumed training
        # continues as if it had not been interrupted.

    def score(self) -> Tensor:
        """Return the models' scores on dev, shape ``(K,)``; higher is better."""


class Stack(nn.Module):
    """Parameters that are trained, as a stack of models along the first axis of each."""

    # They must not move to another device afterwards. `model` has dropout, which `train` and `eval`
    # switch. `axis` is None for a single model.

    model: nn.Module | None
    tensors: list[Tensor]
    views: State

    def __init__(
        self,
        parameters: Mapping[str, Tensor],
        model: nn.Module | None = None,
        axis: int | None = None,
    ) -> None:
        super().__init__()
        self.model, self.tensors = model, list(parameters.values())
        self.views = {
            name: tensor.detach()[None] if axis is None else tensor.detach().movedim(axis, 0)
            for name, tensor in parameters.items()
        }

    def state_dict(self, *_: Any, **__: Any) -> State:  # type: ignore[override]
        """Return the parameters, models along the first axis; they share their memory."""
        return self.views

    def load_state_dict(self, state: Any, *_: Any, **__: Any) -> None:  # type: ignore[override]
        """Set the parameters."""
        for name, view in self.views.items():
            view.copy_(state[name])


@dataclass
class TrainingState:
    """State of a training: best parameters so far, early stopping, history."""

    best: State  # parameters of each model at its best score on dev, stacked; copies on the CPU
    score: Tensor  # best scores, and the epochs (from 1) in which they were reached, shape `(K,)`
    epoch: Tensor
    # number of epochs since then, which early stopping compares with its patience, shape `(K,)`;
    # `epoch + waited` is the number of epochs that a model was trained
    waited: Tensor
    done: int = 0
    # one entry an epoch: `epoch`, `seconds`, and lists with an item for each model: `loss`, `dev`,
    # `best`, and `going`, whether it was still trained
    history: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def begin(cls, model: nn.Module) -> TrainingState:
        """Start with the untrained parameters."""
        best = _copies(model.state_dict())
        k = len(next(iter(best.values())))
        score = torch.full((k,), -torch.inf, dtype=torch.float64)
        return cls(best, score, torch.zeros(k, dtype=torch.int64), torch.zeros_like(score).long())

    def end_epoch(
        self,
        model: nn.Module,
        loss: Tensor,
        score: Tensor,
        patience: int | None,
        seconds: float,
    ) -> None:
        """Keep the parameters of the models whose score is better, and note the epoch."""
        # A model that has waited `patience` epochs was stopped early and is not evaluated again.
        going = self.going(patience)
        better = going & (score > self.score)
        self.done += 1
        self.score = torch.where(better, score.double(), self.score)
        self.epoch = torch.where(better, self.done, self.epoch)
        self.waited = torch.where(better, 0, self.waited + going.long())
        for name, parameter in model.state_dict().items():
            self.best[name][better] = parameter.detach().cpu()[better]
        self.history.append(
            {
                "epoch": self.done,
                "loss": loss.tolist(),
                "dev": score.tolist(),
                "best": self.score.tolist(),
                "going": going.tolist(),
                "seconds": round(seconds, 2),
            }
        )

    def going(self, patience: int | None) -> Tensor:
        """Return which models are still trained (early stopping), shape ``(K,)``."""
        if patience is None:
            return torch.ones_like(self.waited, dtype=torch.bool)
        return self.waited < patience

    def lines(self, k: int) -> list[str]:
        """Return the history of one model, a line of JSON for every epoch that it was trained."""
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


# log


def _log(state: TrainingState, logs: Sequence[Path]) -> None:
    for k, log in enumerate(logs):
        if state.history[-1]["going"][k]:
            _write(log, state.lines(k)[-1:], "a")


def _write(log: Path, lines: Sequence[str], mode: str) -> None:
    try:
        with log.open(mode, encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise WordbiasError(
            f"{log}: could not be written: {error.strerror or error}; mend that, and the same call "
            "resumes from the last checkpoint"
        ) from None


# checkpoint


class _Saving:
    """Checkpoint of a training, written after an epoch, at most every `seconds`."""

    def __init__(
        self,
        path: Path | None,
        about: Mapping[str, Any],
        earlier: Sequence[TrainingState],
        seconds: float,
    ) -> None:
        self.path, self.seconds = path, seconds
        self.known: dict[str, Any] = {"about": about}
        if earlier:
            self.known["earlier"] = [_numbers(state) for state in earlier]
        self.parts = {
            name: part
            for i, state in enumerate(earlier)
            for name, part in _tensors(state, f"{_EARLIER}{i}-").items()
        }
        self.unwritten: tuple[dict[str, State], dict[str, Any]] | None = None
        self.written = time.monotonic()

    def offer(
        self, state: TrainingState, model: nn.Module, optimizer: torch.optim.Optimizer
    ) -> None:
        """Write the state after an epoch, or keep a copy of it if it is too early to write."""
        if self.path is None:
            return
        now = {"model": model.state_dict(), "optimizer": optimizer_state(optimizer)}
        parts, known = {**_tensors(state), **now}, _numbers(state)
        if time.monotonic() - self.written < self.seconds:
            self.unwritten = {name: _copies(part) for name, part in parts.items()}, known
        else:
            self._write(parts, known)

    def flush(self) -> None:
        """Write the last finished epoch if it is not written yet."""
        if self.unwritten is not None:
            self._write(*self.unwritten)

    def _write(self, parts: Mapping[str, State], known: Mapping[str, Any]) -> None:
        assert self.path is not None
        write_checkpoint(self.path, {**self.parts, **parts}, {**self.known, **known})
        self.unwritten, self.written = None, time.monotonic()


def _resume(
    path: Path,
    state: TrainingState,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    about: Mapping[str, Any],
    earlier: int,
) -> TrainingState:
    """Return the state of a training in a checkpoint, or `state` if it is of an earlier one."""
    # Model and optimizer get their stored state, unless the training is finished.
    with read_checkpoint(path, about) as (parts, known):
        finished = known.get("earlier", [])
        if len(finished) < earlier:
            return state
        if len(finished) > earlier:
            return _restored(parts, finished[earlier], f"{_EARLIER}{earlier}-")
        model.load_state_dict(parts["model"])
        load_optimizer(optimizer, parts["optimizer"])
        return _restored(parts, known)


def _tensors(state: TrainingState, prefix: str = "") -> dict[str, State]:
    """Return the parts of a checkpoint that hold a state, which the file calls `course`."""
    judged = {name: getattr(state, name) for name in _JUDGED}
    return {f"{prefix}best": state.best, f"{prefix}course": judged}


def _numbers(state: TrainingState) -> dict[str, Any]:
    return {"done": state.done, "history": list(state.history)}


def _restored(
    parts: Mapping[str, State], known: Mapping[str, Any], prefix: str = ""
) -> TrainingState:
    best, judged = parts[f"{prefix}best"], parts[f"{prefix}course"]
    return TrainingState(best, **judged, done=known["done"], history=known["history"])


def _copies(state: Mapping[str, Tensor]) -> State:
    return {name: value.detach().cpu().clone() for name, value in state.items()}


# checkpoint files


def write_checkpoint(
    path: Path, parts: Mapping[str, Mapping[str, Tensor]], known: Mapping[str, Any]
) -> None:
    """Write a checkpoint: parts, each some named tensors, and `known`, which JSON can hold."""
    # known["about"] holds the settings and data that a later call must share to resume.
    tensors = {
        f"{part}.{name}": value for part, state in parts.items() for name, value in state.items()
    }
    write(path, CHECKPOINT, tensors, known, "pt")


@contextmanager
def read_checkpoint(
    path: Path, about: Mapping[str, Any]
) -> Iterator[tuple[dict[str, State], dict[str, Any]]]:
    """Read the parts and `known` of a checkpoint, for a block that resumes from them."""
    with reading(path, CHECKPOINT, "pt") as (tensors, known):
        there = known["about"]
        if difference(there, about) is None:
            yield _parts(tensors), known
            return
    refuse_other(path, there, about, "training")


def checkpoint_about(path: Path) -> Any:
    """Return the settings and data of a checkpoint as JSON holds them, None if it is unreadable."""
    try:
        return read_header(path, CHECKPOINT)["about"]
    except (KeyError, TypeError, WordbiasError):
        return None


def optimizer_state(optimizer: torch.optim.Optimizer) -> State:
    """Return the state of an optimizer as named tensors."""
    return {
        f"{i}.{key}": torch.as_tensor(value)
        for i, state in optimizer.state_dict()["state"].items()
        for key, value in state.items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: State) -> None:
    """Give an optimizer of the same parameters the state of another."""
    state: dict[int, State] = {}
    for name, value in tensors.items():
        i, _, key = name.partition(".")
        state.setdefault(int(i), {})[key] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def _parts(tensors: Mapping[str, Tensor]) -> dict[str, State]:
    parts: dict[str, State] = {"optimizer": {}}  # plain gradient descent has no state
    for name, value in tensors.items():
        part, _, key = name.partition(".")
        parts.setdefault(part, {})[key] = value
    return parts
