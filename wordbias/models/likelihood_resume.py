"""Log-likelihoods of batches in a store, from which the same call resumes after an interruption."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.store import Store, resumable

Float = NDArray[np.float64]


@dataclass(eq=False)
class Kept:
    """Log-likelihoods by what was scored."""

    store: Store  # results by batch
    calls: int = 0  # number of calls that have scored something

    def keys(self, name: str, requests: Sequence[object]) -> list[bytes]:
        """Return the keys of what is scored next by a model."""
        # They differ between calls: the same text is rounded otherwise in another batch.
        self.calls += 1
        texts = (f"{self.calls}\n{name}\n{request}" for request in requests)
        return [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts]

    def get(self, keys: Sequence[bytes]) -> Float | None:
        """Return the log-likelihoods of a batch, None if they are not known."""
        stored = self.store.get(_batch(keys))
        return None if stored is None else np.array(stored.facts["values"], np.float64)

    def add(self, keys: Sequence[bytes], values: Float) -> None:
        """Keep the log-likelihoods of a batch, if all of them are numbers."""
        if np.isfinite(values).all():
            self.store.put(_batch(keys), values=values.tolist())


def _batch(keys: Sequence[bytes]) -> str:
    return hashlib.blake2b(b"".join(keys), digest_size=16).hexdigest()


@contextmanager
def resuming(output: str | None, about: Mapping[str, Any]) -> Iterator[Kept | None]:
    """Keep log-likelihoods beside an output while the block runs, for a call that resumes."""
    # Batches are those of a run without interruption: the results are the same to the last bit.
    # OUTPUT.part is removed at the end. `about` has all that log-likelihoods depend on except the
    # texts.
    part = Path(f"{output}.part")
    with resumable(output, part):
        if output is None:
            yield None
        else:
            yield Kept(Store(part, about, ("batch",), what="measurement"))
