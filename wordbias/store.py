"""Results of a run in a file, from which the same call resumes after an interruption.

A store is lines of JSON, one a result: its key, the settings and data that all results depend on
(`about`), rows with their bootstrap values, arrays, and other facts. A killed process loses at most
the line that it is writing. What cannot be read is left out, and computed anew.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias import __version__
from wordbias.errors import Interrupted, WordbiasError
from wordbias.formats.files import locked, replacing, sync_file
from wordbias.progress import progress
from wordbias.rendering import how_many
from wordbias.results import Draws, Row
from wordbias.workers import Workers

Arrays = Mapping[str, NDArray[Any]]
Key = tuple[Any, ...]
REMEDY = "remove it, or name another output"
_SYNC_SECONDS = 1.0
_HASH = re.compile(r"'[0-9a-f]{40,}'")
_DAMAGED = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True)
class Entry:
    """One result: rows with their bootstrap values, arrays, and facts that JSON can hold."""

    rows: Sequence[Row] = ()
    arrays: Arrays = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


class Store:
    """Results by key, in a file or, without one, in memory."""

    # The caller holds the lock of the file, which need not exist; see `resumable`. The version of
    # wordbias is added to `about`. Without `refuse`, results of other settings are as if they were
    # not there, and the next result replaces them.

    path: Path | None
    about: dict[str, Any]
    keys: tuple[str, ...]
    entries: dict[Key, Entry]

    def __init__(
        self,
        path: Path | None,
        about: Mapping[str, Any],
        keys: Sequence[str] = (),
        *,
        what: str = "run",
        remedy: str = REMEDY,
        refuse: bool = True,
        draws: bool = True,
    ) -> None:
        self.path, self.keys, self.entries = path, tuple(keys), {}
        self.about = json.loads(json.dumps({**about, "wordbias": __version__}))
        self._draws, self._synced, self._is_whole = draws, 0.0, True
        if path is not None and path.exists():
            self._read(path, what, remedy, refuse)

    def get(self, *key: Any) -> Entry | None:
        """Return the result of a key; None if there is none."""
        return self.entries.get(key)

    def put(
        self, *key: Any, rows: Sequence[Row] = (), arrays: Arrays | None = None, **facts: Any
    ) -> None:
        """Keep a result, and write it; `get` returns it as if it had been read again."""
        is_appended = bool(self.entries) and key not in self.entries and self._is_whole
        line = self._line(key, Entry(rows, arrays or {}, facts))
        self.entries[key] = self._parsed(json.loads(line))[2]
        if self.path is None:
            return
        if not is_appended:
            self._write(self.path)
            return
        try:
            with self.path.open("ab") as file:
                file.write(line)
                if time.monotonic() - self._synced > _SYNC_SECONDS:  # results may come quickly
                    sync_file(file)
                    self._synced = time.monotonic()
        except OSError as error:
            raise WordbiasError(
                f"{self.path}: could not be written: {error.strerror or error}; mend that, and the "
                "same call resumes"
            ) from None

    def complete(
        self,
        keys: Sequence[Key],
        function: Callable[..., Entry],
        workers: Workers,
        *,
        shared: tuple[Any, ...] = (),
        what: str,
        finished: Callable[[Any], None] | None = None,
    ) -> None:
        """Compute the results that are not there, side by side, and keep each when it is done."""
        # `function` returns the result of a key, which follows the arguments `shared`.
        left = [key for key in keys if self.get(*key) is None]
        lost = "the same call resumes with what is left"
        with progress(what, len(left), "job") as bar:
            for i, entry in workers.unordered(function, left, shared=shared, lost=lost):
                self.put(*left[i], rows=entry.rows, arrays=entry.arrays, **entry.facts)
                if finished is not None:
                    finished(left[i])
                bar.update(1)

    def _write(self, path: Path) -> None:
        """Write all results anew; the file is replaced in one step."""
        with replacing(path) as file:
            file.writelines(self._line(key, entry) for key, entry in self.entries.items())
        self._is_whole = True

    def _line(self, key: Key, entry: Entry) -> bytes:
        line = {
            **dict(zip(self.keys, key, strict=True)),
            "about": self.about,
            **entry.facts,
            "rows": [row.to_dict() for row in entry.rows],
        }
        if self._draws and any(row.draws for row in entry.rows):
            line["draws"] = [
                {
                    kind: [draws.unit, draws.items, _packed(draws.values)]
                    for kind, draws in row.draws.items()
                }
                for row in entry.rows
            ]
        if entry.arrays:
            line["arrays"] = {name: _packed(array) for name, array in entry.arrays.items()}
        return json.dumps(line).encode() + b"\n"

    def _parsed(self, line: dict[str, Any]) -> tuple[Any, Key, Entry]:
        """Return the settings, the key and the result of a line."""
        about, key = line.pop("about"), tuple(line.pop(name) for name in self.keys)
        rows = line.pop("rows")
        arrays = {name: _unpacked(packed) for name, packed in line.pop("arrays", {}).items()}
        draws = [
            {kind: Draws(_unpacked(x), unit, items) for kind, (unit, items, x) in of.items()}
            for of in line.pop("draws", [{}] * len(rows))
        ]
        parsed_rows = [Row.from_dict(row, of) for row, of in zip(rows, draws, strict=True)]
        return about, key, Entry(parsed_rows, arrays, line)

    def _read(self, path: Path, what: str, remedy: str, refuse: bool) -> None:
        if path.is_dir():
            raise WordbiasError(f"{path}: is a folder; {remedy}")
        data = path.read_bytes()
        self._is_whole = data.endswith(b"\n")
        for number, line in enumerate(data.splitlines(), 1):
            try:
                about, key, entry = self._parsed(json.loads(line))
                hash(key)  # not of a list
            except _DAMAGED:
                self._is_whole = False
                continue
            if about != self.about:
                if not refuse:
                    continue
                refuse_other(f"{path}: line {number}", about, self.about, what, remedy)
            self.entries[key] = entry
        if refuse and data and not self.entries:
            raise WordbiasError(
                f"{path}: holds no results of this version that could be resumed; {remedy}"
            )


def _packed(array: NDArray[Any]) -> list[Any]:
    """Return an array as JSON can hold it: its type, its shape, and its bytes as text."""
    data = base64.b64encode(np.ascontiguousarray(array).data)
    return [array.dtype.str, list(array.shape), data.decode("ascii")]


def _unpacked(packed: Sequence[Any]) -> NDArray[Any]:
    kind, shape, data = packed
    return np.frombuffer(base64.b64decode(data, validate=True), np.dtype(kind)).reshape(shape)


def about_in(path: Path) -> dict[str, Any]:
    """Return the settings of the first result in a file; empty if it holds none."""
    try:
        with path.open("rb") as file:
            return dict(json.loads(file.readline())["about"])
    except (OSError, *_DAMAGED):
        return {}


# The lock, the message and the end of a run


@contextmanager
def resumable(
    output: str | os.PathLike[str] | None,
    *stores: Path,
    keep: bool = False,
    done: Callable[[], str] | None = None,
) -> Iterator[None]:
    """Lock an output for a block; an interruption says where the same call resumes."""
    # `stores` are removed when the block has ended without an error, unless they are the output
    # itself (`keep`).
    with nullcontext() if output is None else locked(output):
        try:
            yield
        except Interrupted:
            raise
        except KeyboardInterrupt:
            names = [path.name for path in stores if path.exists()]
            if output is None:
                message = "start it again with an output file, and the next interruption loses "
                raise Interrupted(f"{message}nothing") from None
            if not names:
                raise
            if len(names) > 2:
                names = [names[0], how_many(len(names) - 1, "other file")]
            more = "" if done is None else f": {done()}"
            message = f"the same call resumes from {' and '.join(names)}{more}"
            raise Interrupted(message) from None
        for path in () if keep else stores:
            path.unlink(missing_ok=True)


# Refusal of what was written with other settings


def refuse_other(
    path: str | os.PathLike[str], known: Any, wanted: Any, what: str, remedy: str = REMEDY
) -> None:
    """Refuse a file of other settings or data than are wanted."""
    different = difference(known, wanted)
    if different is not None:
        raise WordbiasError(f"{path}: is of another {what}: its {different}; {remedy}")


def difference(known: Any, wanted: Any, name: str = "") -> str | None:
    """Say where two settings differ, as JSON holds them: ``rate is 0.1, not 0.2``."""
    known, wanted = (json.loads(json.dumps(value)) for value in (known, wanted))
    if isinstance(known, list) and isinstance(wanted, list) and len(known) == len(wanted):
        known, wanted = (dict(enumerate(value, 1)) for value in (known, wanted))
    if isinstance(known, list) and isinstance(wanted, list):
        entries = "entry" if len(known) == 1 else "entries"
        return f"{name} has {len(known)} {entries}, not {len(wanted)}"
    if known == wanted:
        return None
    if not (isinstance(known, dict) and isinstance(wanted, dict)):
        plain = not isinstance(known, dict | list) and not isinstance(wanted, dict | list)
        return f"{name} is {_short(known)}, not {_short(wanted)}" if plain else f"{name} is another"
    keys = dict.fromkeys([*wanted, *known])
    differences = (
        difference(known.get(key), wanted.get(key), f"{name}.{key}".lstrip(".")) for key in keys
    )
    return next((text for text in differences if text is not None), None)


def _short(value: Any) -> str:
    """Show a value, of a hash its beginning."""
    text = repr(value)
    return f"{text[:13]}…'" if _HASH.fullmatch(text) else text


def digest_of(*known: Any) -> str:
    """Return a hash of texts, numbers, arrays, dataclasses, and nested sequences of them."""
    digest = hashlib.sha256()
    _add(digest, known)
    return digest.hexdigest()


def _add(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype} {value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data)
    elif isinstance(value, Mapping):
        _add(digest, sorted(value.items()))
    elif is_dataclass(value):
        _add(digest, [getattr(value, dataclass_field.name) for dataclass_field in fields(value)])
    elif isinstance(value, tuple) and all(isinstance(text, str) for text in value):
        digest.update("\0".join((f"{len(value)} texts", *value)).encode("utf-8", "surrogatepass"))
    elif isinstance(value, (list, tuple, set, frozenset)):
        digest.update(f"{len(value)} values".encode())
        for part in sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value:
            _add(digest, part)
    else:
        digest.update(f"{value!r}\0".encode("utf-8", "surrogatepass"))
