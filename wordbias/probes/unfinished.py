"""Representations that are written while texts are encoded, and gone on with after a stop.

They are in `OUT.unfinished` until the last text is encoded; then the file takes its name. Memory
holds one batch, whatever the size of the file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordbias.errors import WordbiasError
from wordbias.formats.alone import alone
from wordbias.formats.atomic import check_writable
from wordbias.probes.partial import Partial
from wordbias.probes.provenance import check_same, stored_provenance
from wordbias.probes.representations import Column, Representations
from wordbias.probes.work import BATCH_TOKENS, Work

SAVE_SECONDS = 5.0


@dataclass(frozen=True)
class Written:
    """What `encode_to` did: distinct texts encoded now and before, and the seconds it took."""

    encoded: int
    before: int
    seconds: float


def encode_to(
    path: str | Path,
    work: Work,
    columns: Mapping[str, Column],
    about: Mapping[str, Any],
    *,
    batch_tokens: int = BATCH_TOKENS,
) -> Written:
    """Encode texts into a file that takes its name only when it is complete.

    After an interruption the same call goes on where it stopped; a file that is complete is not
    written again.

    Parameters
    ----------
    path
        Where to, as `storage.load_representations` reads it.
    work
        What is encoded.
    columns
        What is known of each text.
    about
        What else the file says of itself; a file that says something else is not gone on with.

    Raises
    ------
    WordbiasError
        If the file cannot be written, or is there and is of something else.
    """
    start = time.perf_counter()
    target = check_target(path)
    zeros = np.broadcast_to(np.float32(0), work.shape)
    part = Partial(
        _unfinished(target), Representations(zeros, work.settings.layers or (), columns, about)
    )
    before = count = len(work.order)
    with _explaining(target), alone(part.path):
        if target.exists():
            check_same(target, part.wanted)
        else:
            before = part.begin()
            _go_on(part, work, before, batch_tokens)
            part.finish(target)
    return Written(count - before, before, time.perf_counter() - start)


def check_target(path: str | Path) -> Path:
    """Return where a file will be written, links followed.

    Raises
    ------
    WordbiasError
        If it cannot be written, or is there and holds no representations.
    """
    check_writable(path)
    target = Path(os.path.realpath(path))
    for file in (target, _unfinished(target)):
        if file.exists():
            stored_provenance(file)
    return target


def _unfinished(target: Path) -> Path:
    return target.with_name(f"{target.name}.unfinished")


def _go_on(part: Partial, work: Work, done: int, batch_tokens: int) -> None:
    """Encode what is left; of a call that comes to nothing nothing is left."""
    vectors = part.vectors()
    saved = time.monotonic()
    try:
        for batch in work.batches(done, batch_tokens):
            vectors[:, batch.places] = batch.vectors
            done += batch.distinct
            if time.monotonic() - saved > SAVE_SECONDS:
                part.save(vectors, done)
                saved = time.monotonic()
    finally:
        if done:
            part.save(vectors, done)
        else:
            del vectors  # some systems remove no file that is mapped
            part.remove()


@contextmanager
def _explaining(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WordbiasError(
            f"{target}: could not be written: {error.strerror or error}; mend that, and the same "
            "command goes on"
        ) from None
