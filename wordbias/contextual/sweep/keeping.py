"""What of a sweep is done, kept in a file so that an interrupted one goes on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wordbias.checkpoints import read_checkpoint, write_checkpoint

Float32 = NDArray[np.float32]
SECONDS = 30
_PART = "sweep"


class Kept:
    """Outputs of all models for the pairs that were read, and which batches these are.

    Parameters
    ----------
    shape
        Of the outputs: pairs, models, labels.
    batches
        How many there are.
    file
        Where they are kept; None for nowhere.
    about
        What the file must agree in to be gone on from.

    Raises
    ------
    WordbiasError
        If the file is of another sweep, or none.
    """

    done: NDArray[np.bool_]
    file: Path | None
    about: dict[str, Any]
    saved: float

    def __init__(
        self,
        shape: tuple[int, int, int],
        batches: int,
        file: Path | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self.logits: Float32 = np.zeros(shape, np.float32)
        self.done = np.zeros(batches, bool)
        self.file, self.about = file, dict(about or {})
        self.saved = time.monotonic()
        if file is not None and file.exists():
            with read_checkpoint(file, self.about, _PART) as (parts, _):
                self.logits[:] = parts[_PART]["logits"].numpy()
                self.done[:] = parts[_PART]["done"].numpy()

    @property
    def left(self) -> list[int]:
        """The batches that are to be read."""
        found: list[int] = np.flatnonzero(~self.done).tolist()
        return found

    def add(self, batch: int, places: NDArray[np.intp], logits: Float32) -> None:
        """Take the outputs of a batch, shape ``(B, models, labels)``; save now and then."""
        self.logits[places] = logits
        self.done[batch] = True
        if time.monotonic() - self.saved > SECONDS:
            self.save()

    def save(self) -> None:
        """Write what there is."""
        if self.file is not None:
            tensors = {"logits": self.logits, "done": self.done}
            parts = {_PART: {name: torch.from_numpy(x) for name, x in tensors.items()}}
            write_checkpoint(self.file, parts, {"about": self.about})
        self.saved = time.monotonic()
