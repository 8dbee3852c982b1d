"""Representations that are written while texts are encoded, and gone on with after a stop.

`OUT.unfinished` has the bytes that the finished file will have, vectors of zero where a text is
still to be encoded; `OUT.unfinished.json` says how many have been. When all have, the file takes
its name. Memory holds one batch, whatever the size of the file.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from wordbias.errors import WordbiasError
from wordbias.formats.alone import alone
from wordbias.formats.atomic import check_writable, replacing
from wordbias.formats.tensors import metadata
from wordbias.probes.encoding import BATCH_TOKENS, Work
from wordbias.probes.representations import Column, Representations
from wordbias.probes.storage import KEY, header

SAVE_SECONDS = 5.0
_REMEDY = "remove it, or name another output"


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
    wanted = Representations(
        np.broadcast_to(np.float32(0), work.shape), work.settings.layers or (), columns, about
    )
    count = len(work.order)
    part = _unfinished(target)
    state = part.with_name(f"{part.name}.json")
    with _explaining(target), alone(part):
        if target.exists():
            _check_same(target, wanted)
            return Written(0, count, time.perf_counter() - start)
        before = _begin(part, state, wanted)
        _go_on(part, state, wanted, work, before, batch_tokens)
        os.replace(part, target)
        state.unlink(missing_ok=True)
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
            _about(file)
    return target


def _unfinished(target: Path) -> Path:
    return target.with_name(f"{target.name}.unfinished")


def _begin(part: Path, state: Path, wanted: Representations) -> int:
    """Make the unfinished file, or find how far it has come."""
    if part.exists():
        _check_same(part, wanted)
        return _done(state, wanted.vectors.shape[-2])
    state.unlink(missing_ok=True)
    head = header(wanted)
    with replacing(part) as file:
        file.write(head)
        _reserve(file, len(head) + wanted.vectors.size * 4)
        for column in wanted.columns.values():
            file.write(np.ascontiguousarray(column.codes, np.int32).data)
    return 0


def _go_on(
    part: Path,
    state: Path,
    wanted: Representations,
    work: Work,
    done: int,
    batch_tokens: int,
) -> None:
    out = _mapped(part, len(header(wanted)), wanted.vectors.shape)
    saved = time.monotonic()
    try:
        for batch in work.batches(done, batch_tokens):
            out[:, batch.places] = batch.vectors
            done += batch.distinct
            if time.monotonic() - saved > SAVE_SECONDS:
                _save(out, state, done)
                saved = time.monotonic()
    finally:
        _save(out, state, done)


def _mapped(part: Path, start: int, shape: tuple[int, ...]) -> np.memmap[Any, np.dtype[np.float32]]:
    return np.memmap(part, np.float32, "r+", start, shape)


def _save(out: np.memmap[Any, np.dtype[np.float32]], state: Path, done: int) -> None:
    """Bring the vectors to the disk, then say that they are there."""
    out.flush()
    with replacing(state) as file:
        file.write(json.dumps({"done": done}).encode())


def _done(state: Path, rows: int) -> int:
    """Return how many texts are encoded, of at most as many as there are rows."""
    try:
        done = int(json.loads(state.read_bytes())["done"])
        if 0 <= done <= rows:
            return done
        raise ValueError
    except FileNotFoundError:  # stopped before anything was said to be there
        return 0
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise WordbiasError(f"{state}: is damaged; remove it") from None


def _reserve(file: IO[bytes], size: int) -> None:
    """Take the room on the disk now, for a map of a file whose disk is full kills the process."""
    if hasattr(os, "posix_fallocate"):
        file.flush()
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        zeros = bytes(1 << 20)
        while file.tell() < size:
            file.write(zeros[: size - file.tell()])
    file.seek(size)


def _check_same(path: Path, wanted: Representations) -> None:
    """Refuse a file of something else."""
    known = _about(path)
    head = header(wanted)
    with path.open("rb") as file:
        if file.read(len(head)) != head:
            raise WordbiasError(
                f"{path}: is of another run: {_difference(known, wanted.about)}; {_REMEDY}"
            )


def _about(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(metadata(path)[KEY])["about"])
    except (OSError, WordbiasError, ValueError, KeyError, TypeError, RecursionError):
        raise WordbiasError(
            f"{path}: is there already and holds no representations; {_REMEDY}"
        ) from None


def _difference(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    there, here = (json.loads(json.dumps(dict(value))) for value in (known, wanted))
    for key in dict.fromkeys([*here, *there]):
        if there.get(key) != here.get(key):
            return f"its {key} is {there.get(key)!r}, not {here.get(key)!r}"
    return "its columns are others"


@contextmanager
def _explaining(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WordbiasError(
            f"{target}: could not be written: {error.strerror or error}; mend that, and the same "
            "command goes on"
        ) from None


def provenance(work: Work, texts: str, sha256: str) -> dict[str, Any]:
    """Return what a file of representations says of itself.

    Parameters
    ----------
    texts
        What the texts are called.
    sha256
        Their hash.
    """
    encoder = work.encoder
    return {
        "model": encoder.name,
        "random_init": encoder.random_init,
        "precision": encoder.precision,
        "device": encoder.device,
        "weights_sha256": encoder.sha256(),
        **work.settings.to_dict(),
        "texts": texts,
        "texts_sha256": sha256,
        "truncated": work.truncated,
        "versions": _versions(),
    }


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {package: version(package) for package in ("torch", "transformers", "tokenizers")}
