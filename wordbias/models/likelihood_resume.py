"""Log-likelihoods kept in a file, from which the same call resumes after an interruption."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import Interrupted
from wordbias.formats.files import locked

Float = NDArray[np.float64]
SECONDS = 30.0
"""Time between two writes of the file."""
_PART = "likelihoods"
_KEY = 16
"""Bytes of a key."""


class Kept:
    """Log-likelihoods by what was scored, and their file.

    Parameters
    ----------
    file
        Checkpoint: read if it exists, and written from time to time.
    about
        Identity of the run; the file must have the same.

    Raises
    ------
    WordbiasError
        If the file is of another run, or no checkpoint.
    """

    file: Path
    about: dict[str, Any]
    values: dict[bytes, float]
    calls: int
    saved: float

    def __init__(self, file: Path, about: Mapping[str, Any]) -> None:
        from wordbias.training import read_checkpoint

        self.file, self.about = file, dict(about)
        self.values = {}
        self.calls = 0
        self.saved = time.monotonic()
        if file.exists():
            with read_checkpoint(file, self.about, "measurement") as (parts, _):
                keys = parts[_PART]["keys"].numpy().tobytes()
                values = parts[_PART]["values"].tolist()
                self.values = {
                    keys[i * _KEY : (i + 1) * _KEY]: value for i, value in enumerate(values)
                }

    def keys(self, name: str, requests: Sequence[object]) -> list[bytes]:
        """Return the keys of what is scored next by a model.

        They differ between calls: the same text is rounded otherwise in another batch.
        """
        self.calls += 1
        front = f"{self.calls}\n{name}\n"
        return [
            hashlib.blake2b(f"{front}{one}".encode(), digest_size=_KEY).digest() for one in requests
        ]

    def get(self, keys: Sequence[bytes]) -> Float | None:
        """Return the log-likelihoods of a batch, None unless all of them are known."""
        found = [self.values.get(key) for key in keys]
        return None if None in found else np.array(found, np.float64)

    def add(self, keys: Sequence[bytes], values: Float) -> None:
        """Keep the log-likelihoods of a batch that are numbers; save them from time to time."""
        for key, value in zip(keys, values.tolist(), strict=True):
            if np.isfinite(value):
                self.values[key] = value
        if time.monotonic() - self.saved > SECONDS:
            self.save()

    def save(self) -> None:
        """Write the file."""
        import torch

        from wordbias.training import write_checkpoint

        keys = np.frombuffer(b"".join(self.values), np.uint8).reshape(-1, _KEY)
        values = torch.tensor(list(self.values.values()), dtype=torch.float64)
        parts = {_PART: {"keys": torch.from_numpy(keys.copy()), "values": values}}
        write_checkpoint(self.file, parts, {"about": self.about})
        self.saved = time.monotonic()


@contextmanager
def resuming(output: str | None, about: Mapping[str, Any]) -> Iterator[Kept | None]:
    """Keep log-likelihoods beside an output while the block runs, for a call that resumes.

    Batches are those of a run without interruption, and a batch with anything missing is computed
    again, so that the results are the same to the last bit.

    Parameters
    ----------
    output
        File that the block writes; ``OUTPUT.part`` is removed at its end. None keeps nothing.
    about
        Model and removals: everything that log-likelihoods depend on except the texts.

    Raises
    ------
    WordbiasError
        If another process writes the same output, or ``OUTPUT.part`` is of another run.
    """
    if output is None:
        try:
            yield None
        except KeyboardInterrupt:
            raise Interrupted(
                "start it again with an output file, and the next interruption loses nothing"
            ) from None
        return
    file = Path(f"{output}.part")
    with locked(output):
        kept = Kept(file, about)
        try:
            yield kept
        except BaseException as error:
            if kept.values:
                kept.save()
                if isinstance(error, KeyboardInterrupt):
                    raise Interrupted(f"the same call resumes from {file.name}") from None
            raise
        file.unlink(missing_ok=True)
