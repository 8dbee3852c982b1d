"""Training in several processes: each reads its share of every batch, the first one writes.

``accelerate launch`` or ``torchrun`` starts the processes, and `accelerate` joins them. All begin
with the same parameters, average their gradients before each step, and so take the same steps.
"""

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

from wordbias.errors import WordbiasError, need
from wordbias.pretrained import first_line

Places = NDArray[np.intp]
_PURPOSE = "Training in several processes"


@dataclass(frozen=True)
class Processes:
    """The processes of a training, seen from one of them.

    Attributes
    ----------
    count
        Of them all.
    rank
        Of this one, from 0.
    local
        Processes on this machine.
    device
        Where this one computes; None leaves it open.
    """

    count: int = 1
    rank: int = 0
    local: int = 1
    device: str | None = None

    @property
    def first(self) -> bool:
        """Whether this process writes and prints."""
        return self.rank == 0

    def share(self, rows: Places) -> tuple[Places, float]:
        """Return the part of a batch that this process reads, and the weight of its mean loss.

        With these weights the mean over the processes is the mean over the batch, though they may
        hold one more or less. Where there are fewer rows than processes, some read one for nothing.
        """
        own = rows[self.rank :: self.count]
        return (own if len(own) else rows[:1]), len(own) * self.count / len(rows)

    def summed(self, values: Tensor) -> Tensor:
        """Return the sum over the processes, where `values` is."""
        if self.count == 1:
            return values
        return _reduce(values.to(self.device), "sum").to(values.device)

    def average(self, parameters: Iterable[Tensor]) -> None:
        """Give parameters the mean of their gradients in all processes."""
        for one in parameters:
            if one.grad is not None:
                one.grad = _reduce(one.grad, "mean")

    def told(self, loss: Tensor) -> Tensor:
        """Return a loss that has the mean over the processes as value, its own gradient kept.

        A loss that is no number in one process is none in any: all stop alike.
        """
        if self.count == 1:
            return loss
        own = loss.detach()
        return loss + (self.summed(own) / self.count - own)

    def check_same(self, seen: bool, what: str) -> None:
        """Refuse to go on where only some processes see a file.

        Raises
        ------
        WordbiasError
            In all processes.
        """
        number = int(self.summed(torch.tensor(int(seen))))
        if number not in (0, self.count):
            raise WordbiasError(
                f"{what}: only {number} of {self.count} processes see it; name an output in a "
                "folder that all machines share"
            )

    def wait(self) -> None:
        """Wait until all processes have come here."""
        if self.count > 1:
            _state().wait_for_everyone()


ALONE = Processes()


def launched() -> tuple[int, int]:
    """Return how many processes were started together, and the rank of this one."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    return count, int(os.environ.get("RANK", "0")) if count > 1 else 0


@contextmanager
def joined(device: str | None = None) -> Iterator[Processes]:
    """Join the processes that were started together, for a block; alone nothing is done.

    Parameters
    ----------
    device
        ``cpu``, ``cuda`` (each process has a GPU of its own), or None for what there is.

    Raises
    ------
    WordbiasError
        If accelerate is missing, the processes cannot be joined, or the device is but one GPU.
    """
    count, rank = launched()
    if count == 1:
        yield ALONE
        return
    if device not in (None, "cpu", "cuda"):
        raise WordbiasError(
            f"device {device!r} is one, and there are {count} processes; say cpu or cuda, which "
            "gives each its own"
        )
    _accelerate()
    ours = not torch.distributed.is_initialized()
    try:
        state = _state(cpu=device == "cpu")
    except (RuntimeError, ValueError) as error:
        raise WordbiasError(
            f"process {rank + 1} of {count} cannot join the others: {first_line(error)}"
        ) from None
    local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    yield Processes(state.num_processes, state.process_index, local, str(state.device))
    if ours:  # not after an error, when others may still wait for this process
        state.destroy_process_group()


def _state(**options: bool) -> Any:
    return _accelerate().PartialState(**options)


def _reduce(values: Tensor, how: str) -> Tensor:
    reduced: Tensor = _accelerate().utils.reduce(values, how)
    return reduced


def _accelerate() -> Any:
    return need("accelerate", extra="contextual", purpose=_PURPOSE)
