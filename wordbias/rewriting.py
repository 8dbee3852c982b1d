"""Rewriting of rows: the same files with other vectors; a folder resumes where it stopped."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordbias.errors import WordbiasError
from wordbias.formats.files import (
    check_writable,
    compressing,
    output_folder,
    refuse_inside,
    refuse_same,
    remove_abandoned,
    replacing,
)
from wordbias.formats.rows.opening import Rows, open_rows
from wordbias.formats.rows.source import Map, MapByRow
from wordbias.formats.source import sha256_of
from wordbias.formats.tables import kind_of
from wordbias.progress import progress
from wordbias.rendering import how_many
from wordbias.store import Store, digest_of, resumable
from wordbias.text_files import OPENERS
from wordbias.workers import Workers

_DONE = ".wordbias-rows.jsonl"
"""File in a folder of shards: which are written, from what, and the method."""
_SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".arrows": "arrow stream",
    ".npy": "npy",
    ".npz": "npz",
    ".safetensors": "safetensors",
    ".st": "safetensors",
}
_STREAMED = ("csv", "tsv", "arrow stream")
"""Formats in which rows are counted only by reading all."""


class Rewritten(NamedTuple):
    """What was written."""

    files: tuple[str, ...]
    rows: int  # number of rows that were written now
    skipped: int  # number of shards that an earlier call wrote
    seconds: float


def check_rewritable(rows: Rows, output: str) -> None:
    """Refuse, before any work, an output that `rewrite_rows` could not write."""
    if not rows.path:
        raise WordbiasError("-o is for files; what is in memory is returned")
    refuse_same({"-o": output}, {"VECTORS": rows.path})
    if rows.folder:
        refuse_inside(output, rows.folder)
        return
    kind = rows.shards[0].kind
    to = _SUFFIXES.get(Path(output).suffix.lower(), "")
    if kind in ("csv", "tsv") or kind_of(Path(output)) in ("csv", "tsv"):
        to = kind_of(Path(output))
    packed = Path(output).suffix.lower() in (*OPENERS, ".zip", ".zst") and not to
    if packed or (to and to != kind):
        raise WordbiasError(
            f"{output}: rows keep their format, {kind}{', not packed' * packed}; give the output "
            "such a suffix"
        )
    check_writable(output)


def rewrite_rows(
    rows: Rows,
    output: str | os.PathLike[str],
    transform: Map,
    *,
    fingerprint: str,
    jobs: int | None = None,
) -> Rewritten:
    """Write the same file, or folder of shards, with other vectors."""
    # A file gets its name when it is complete. In a folder, shards that an earlier call wrote are
    # skipped, if the method (`fingerprint`) and their input are still the same: its path, size and
    # times, or else the digest of its content. With several jobs `transform` is pickled.
    target, begin = str(Path(output)), time.perf_counter()  # without a slash at its end
    check_rewritable(rows, target)
    if not rows.folder:
        with _progress(rows) as written:
            n, _ = _rewrite_one(transform, (rows.path, rows.array, target, 0), written)
        return Rewritten((target,), n, 0, time.perf_counter() - begin)
    names = [Path(shard.path).name for shard in rows.shards]
    by_row = isinstance(transform, MapByRow)  # else rows need not be counted
    firsts = np.cumsum([0, *(shard.n if by_row else 0 for shard in rows.shards)]).tolist()
    todo: list[Item] = []
    total = fresh = 0

    def done() -> str:
        return f"{len(names) - len(todo) + fresh} of {how_many(len(names), 'shard')} are there"

    with (
        resumable(target, Path(target), keep=True, done=done),
        output_folder(target) as folder,
    ):
        store = _shards_in(folder, names, fingerprint)
        todo += [
            (shard.path, rows.array, str(folder / name), first)
            for name, shard, first in zip(names, rows.shards, firsts[:-1], strict=True)
            if not _is_done(store, shard.path, folder / name)
        ]
        with _progress(rows) as written:
            for item, (n, read) in _in_processes(transform, todo, jobs, written):
                total += n
                store.put(Path(item[2]).name, **read, output=_stamp(item[2]))
                fresh += 1
    files = tuple(str(Path(target) / name) for name in names)
    return Rewritten(files, total, len(names) - len(todo), time.perf_counter() - begin)


Item = tuple[str, str | None, str, int]
"""Path of a shard, name of its array of vectors, path to write, number of its first row."""


def _in_processes(
    transform: Map, todo: list[Item], jobs: int | None, written: Callable[[int], None]
) -> Iterator[tuple[Item, tuple[int, Mapping[str, Any]]]]:
    """Yield each item when it is written, with its number of rows and what its input was."""
    if jobs in (None, 1) or len(todo) < 2:
        for item in todo:
            yield item, _rewrite_one(transform, item, written)
        return
    lost = "the same call resumes"
    for place, done in Workers(jobs).unordered(_rewrite_one, todo, shared=(transform,), lost=lost):
        written(done[0])
        yield todo[place], done


def _rewrite_one(
    transform: Map, item: Item, written: Callable[[int], None] = lambda n: None
) -> tuple[int, Mapping[str, Any]]:
    """Write one file; return its number of rows, and state and digest of its input."""
    path, array, target, first = item
    before = _input(path)
    if isinstance(transform, MapByRow):
        transform = replace(transform, codes=transform.codes[first:])
    (source,) = open_rows(path, array=array).shards
    total = 0

    def count(n: int) -> None:
        nonlocal total
        total += n
        written(n)

    with ThreadPoolExecutor(1) as thread, replacing(target) as file:
        digest = thread.submit(sha256_of, path)  # beside the reading, from the system's cache
        packed = source.kind in ("csv", "tsv")
        with compressing(file, target) if packed else nullcontext(file) as stream:
            source.rewrite(stream, transform, count)
        read = {"input": before, "sha256": digest.result()}
        if _input(path) != before:
            raise WordbiasError(f"{path}: was changed while it was read; repeat the call")
    return total, read


@contextmanager
def _progress(rows: Rows) -> Iterator[Callable[[int], None]]:
    """Show a bar of rows; yield the function that advances it."""
    known = rows.shards[0].kind not in _STREAMED
    with progress(rows.name, rows.n if known else None, "row") as bar:

        def advance(n: int) -> None:
            bar.update(n)

        yield advance


# What an earlier call wrote


def _shards_in(folder: Path, names: Sequence[str], fingerprint: str) -> Store:
    """Return what is known of the shards in a folder, and mark a new folder as one of ours."""
    # The folder is locked: what a killed call left unfinished in it, no other call is writing.
    record = folder / _DONE
    for name in [_DONE, *(names if record.exists() else ())]:
        remove_abandoned(folder, name, age=0)
    there = sorted(path.name for path in folder.iterdir() if path.name != _DONE)
    strange = [name for name in there if name not in names] if record.exists() else there
    if strange:
        raise WordbiasError(
            f"{folder}: holds other files than these shards, such as {strange[0]}; name a new "
            "folder"
        )
    about, remedy = {"method": digest_of(fingerprint)}, "name a new folder"
    store = Store(record, about, ("shard",), what="method or array", remedy=remedy)
    record.touch()
    return store


def _stamp(path: str | Path) -> list[int]:
    """Return size and time of change of a file: an output with the same ones is unchanged."""
    status = os.stat(path)
    return [status.st_size, status.st_mtime_ns]


def _input(path: str) -> list[Any]:
    """Return path, size and times of an input: with the same ones it is not read again."""
    status = os.stat(path)
    return [os.path.realpath(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _is_done(store: Store, path: str, target: Path) -> bool:
    """Return whether a shard is written, and neither it nor its input has changed since."""
    record = store.get(target.name)
    known = {} if record is None else record.facts
    return (
        target.exists()
        and known.get("output") == _stamp(target)
        and (known.get("input") == _input(path) or known.get("sha256") == sha256_of(path))
    )
