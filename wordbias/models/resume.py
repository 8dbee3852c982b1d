"""Encoding into a file, resumed after an interruption.

`OUT.unfinished` has the bytes that the finished file will have, with vectors of zero where a text
is still to be encoded; `OUT.unfinished.json` holds the number of encoded texts. Memory holds one
batch, whatever the size of the file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from wordbias.columns import Column
from wordbias.errors import WordbiasError
from wordbias.formats.files import check_writable, rename, replacing, sync_file
from wordbias.models.encoding import BATCH_TOKENS, EncodingJob
from wordbias.models.representations import Representations, check_same, header, stored_provenance
from wordbias.store import Store, resumable

Vectors = np.memmap[Any, np.dtype[np.float32]]
SAVE_SECONDS = 5.0
_OF_RESULTS = (".json", ".jsonl", ".html", ".md")


@dataclass(frozen=True)
class Written:
    """Result of `encode_to`: distinct texts encoded now and before, and seconds."""

    encoded: int
    before: int
    seconds: float


def encode_to(
    path: str | Path,
    job: EncodingJob,
    columns: Mapping[str, Column],
    about: Mapping[str, Any],
    *,
    batch_tokens: int = BATCH_TOKENS,
) -> Written:
    """Encode texts into a file that takes its name only when it is complete."""
    # After an interruption the same call resumes; a complete file is not written again. A file with
    # another provenance `about` is not resumed.
    start = time.perf_counter()
    target = check_target(path)
    zeros = np.broadcast_to(np.float32(0), job.shape)
    part = Partial(
        _unfinished(target), Representations(zeros, job.settings.layers or (), columns, about)
    )
    before = count = len(job.order)
    with _explaining(target), resumable(part.path, part.path, keep=True):
        if target.exists():
            check_same(target, part.wanted)
        else:
            before = part.begin()
            _encode_rest(part, job, before, batch_tokens)
            part.finish(target)
        part.note.unlink(missing_ok=True)
    return Written(count - before, before, time.perf_counter() - start)


def check_target(path: str | Path) -> Path:
    """Return the path that will be written, with links resolved."""
    if (whole := Path(path)).suffix.lower() in _OF_RESULTS:
        raise WordbiasError(
            f"{path}: --output writes vectors, and the results are printed; expected a name such "
            f"as {whole.with_suffix('.safetensors').name}"
        )
    check_writable(path)
    target = Path(os.path.realpath(path))
    for file in (target, _unfinished(target)):
        if file.exists():
            stored_provenance(file)
    return target


def _unfinished(target: Path) -> Path:
    return target.with_name(f"{target.name}.unfinished")


def _encode_rest(part: Partial, job: EncodingJob, done: int, batch_tokens: int) -> None:
    """Encode the remaining texts; remove the file if none could be encoded."""
    vectors = part.vectors()
    saved = time.monotonic()
    try:
        for batch in job.batches(done, batch_tokens):
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
    """Raise errors of the operating system as `WordbiasError` with the file and a remedy."""
    try:
        yield
    except OSError as error:
        raise WordbiasError(
            f"{target}: could not be written: {error.strerror or error}; mend that, and the same "
            "command resumes"
        ) from None


@dataclass(frozen=True, eq=False)
class Partial:
    """Unfinished file of representations."""

    path: Path
    # content of the finished file; of the vectors only the shape matters
    wanted: Representations = field(repr=False)

    @property
    def note(self) -> Path:
        """The file with the number of encoded texts."""
        return self.path.with_name(f"{self.path.name}.json")

    def begin(self) -> int:
        """Create the file, or return the number of texts that are encoded in it."""
        if self.path.exists():
            check_same(self.path, self.wanted)
            noted = self._noted().get()
            done = 0 if noted is None else noted.facts.get("done")
            rows = self.wanted.vectors.shape[-2]
            return done if isinstance(done, int) and 0 <= done <= rows else 0
        self.note.unlink(missing_ok=True)
        head = header(self.wanted)
        with replacing(self.path) as file:
            file.write(head)
            _reserve(file, len(head) + self.wanted.vectors.size * 4)
            for column in self.wanted.columns.values():
                file.write(np.ascontiguousarray(column.codes, np.int32).data)
        return 0

    def vectors(self) -> Vectors:
        """Map the vectors for writing."""
        shape = self.wanted.vectors.shape
        return np.memmap(self.path, np.float32, "r+", len(header(self.wanted)), shape)

    def save(self, vectors: Vectors, done: int) -> None:
        """Write the vectors to the disk, then the number of encoded texts."""
        vectors.flush()
        self._noted().put(done=done)

    def _noted(self) -> Store:
        """Open the note, which the file's header says all else about."""
        return Store(self.note, {}, refuse=False)

    def finish(self, target: Path) -> None:
        """Give the finished file its name."""
        with self.path.open("r+b") as file:
            sync_file(file)
        rename(self.path, target)

    def remove(self) -> None:
        """Remove the file and its note."""
        self.note.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


def _reserve(file: IO[bytes], size: int) -> None:
    """Allocate the disk space now: writing to a map of a file kills the process on a full disk."""
    if hasattr(os, "posix_fallocate"):
        file.flush()
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        zeros = bytes(1 << 20)
        while file.tell() < size:
            file.write(zeros[: size - file.tell()])
    file.seek(size)
