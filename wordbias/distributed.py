"""Training in several processes: each reads its share of every batch, the first one writes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordbias.arguments import AUTO
from wordbias.errors import WordbiasError, first_line, need

Places = NDArray[np.intp]
_PURPOSE = "Training in several processes"


@dataclass(frozen=True)
class Processes:
    """The processes of a training, from the view of one of them."""

    count: int = 1  # number of all processes
    rank: int = 0  # index of this process
    local: int = 1  # number of processes on this machine
    device: str | None = None  # device of this process; None for the default

    @property
    def first(self) -> bool:
        """Return whether this process writes and prints."""
        return self.rank == 0

    def share(self, rows: Places) -> tuple[Places, float]:
        """Return the part of a batch that this process reads, and the weight of its mean loss."""
        # With these weights the mean over the processes is the mean over the batch, though shares
        # may differ by one. Of fewer rows than processes, some read a row of weight 0.
        own = rows[self.rank :: self.count]
        return (own if len(own) else rows[:1]), len(own) * self.count / len(rows)

    def summed(self, values: Tensor) -> Tensor:
        """Return the sum over the processes, on the device of `values`."""
        if self.count == 1:
            return values
        return _reduce(values.to(self.device), "sum").to(values.device)

    def average(self, parameters: Iterable[Tensor]) -> None:
        """Replace the gradients of parameters by their means over the processes."""
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad = _reduce(parameter.grad, "mean")

    def mean_loss(self, loss: Tensor) -> Tensor:
        """Return a loss with the mean over the processes as value and its own gradient."""
        # If the loss of one process is not finite, that of all is not, and all stop.
        if self.count == 1:
            return loss
        own = loss.detach()
        return loss + (self.summed(own) / self.count - own)

    def check_same(self, exists: bool, what: str) -> None:
        """Refuse a file that exists for some processes only."""
        number = int(self.summed(torch.tensor(int(exists))))
        if number not in (0, self.count):
            raise WordbiasError(
                f"{what}: only {number} of {self.count} processes see it; name an output in a "
                "folder that all machines share"
            )

    def wait(self) -> None:
        """Wait until all processes call this."""
        if self.count > 1:
            _accelerate().PartialState().wait_for_everyone()


SINGLE = Processes()


def launched() -> tuple[int, int]:
    """Return the number of processes that were started together, and the rank of this one."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    return count, int(os.environ.get("RANK", "0")) if count > 1 else 0


@contextmanager
def joined(device: str | None = None) -> Iterator[Processes]:
    """Connect the processes that were started together, for a block; a single one needs nothing."""
    count, rank = launched()
    if count == 1:
        yield SINGLE
        return
    if device not in (None, AUTO, "cpu", "cuda"):
        raise WordbiasError(
            f"device {device!r} is one, and there are {count} processes; say cpu or cuda, which "
            "gives each its own"
        )
    accelerate = _accelerate()
    ours = not torch.distributed.is_initialized()
    try:
        state = accelerate.PartialState(cpu=device == "cpu")
    except (RuntimeError, ValueError) as error:
        raise WordbiasError(
            f"process {rank + 1} of {count} cannot join the others: {first_line(error)}"
        ) from None
    local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    yield Processes(state.num_processes, state.process_index, local, str(state.device))
    if ours:  # not after an error: others may still wait for this process
        state.destroy_process_group()


def _reduce(values: Tensor, how: str) -> Tensor:
    reduced: Tensor = _accelerate().utils.reduce(values, how)
    return reduced


def _accelerate() -> Any:
    return need("accelerate", extra="contextual", purpose=_PURPOSE)
