"""Where a training was interrupted, kept in one safetensors file. No pickle."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats.atomic import check_writable, replacing
from wordbias.methods.fitted import Fitted

_KEY = "checkpoint"
_SECONDS = 10.0
_KEPT: WeakKeyDictionary[Fitted, Path] = WeakKeyDictionary()


class Snapshot(NamedTuple):
    """Arrays by name, and what is no array, as JSON holds it."""

    arrays: Mapping[str, NDArray[Any]]
    notes: Mapping[str, Any]


class Checkpoint:
    """A file that holds the latest snapshot, written at most every ten seconds.

    Parameters
    ----------
    path
        The file, or None to keep nothing.
    identity
        Settings and fingerprints that a training must share with the one it goes on from.
    """

    path: str | os.PathLike[str] | None
    identity: dict[str, Any]

    def __init__(self, path: str | os.PathLike[str] | None, identity: Mapping[str, Any]) -> None:
        self.path, self.identity = path, dict(identity)
        self._unwritten: Snapshot | None = None
        self._written = time.monotonic()

    def read(self) -> Snapshot | None:
        """Return what an earlier training left, or None if there is no file.

        Raises
        ------
        WordbiasError
            If the file is no checkpoint, or one of other settings, words or vectors; or if it
            could not be written later.
        """
        if self.path is None:
            return None
        check_writable(self.path)
        if not Path(self.path).exists():
            return None
        identity, snapshot = _read(self.path)
        self._refuse_other(identity)
        return snapshot

    def offer(self, snapshot: Snapshot) -> None:
        """Take a snapshot, which nobody changes any more, and write it if it is time."""
        self._unwritten = snapshot
        if time.monotonic() - self._written >= _SECONDS:
            self.write()

    def write(self) -> None:
        """Write the latest snapshot, unless it is written already."""
        from safetensors.numpy import save

        if self.path is None or self._unwritten is None:
            return
        arrays, notes = self._unwritten
        text = json.dumps({"identity": self.identity, "notes": dict(notes)})
        with replacing(self.path) as file:
            file.write(save(dict(arrays), {_KEY: text}))
        self._unwritten, self._written = None, time.monotonic()

    def _refuse_other(self, stored: Mapping[str, Any]) -> None:
        ours = json.loads(json.dumps(self.identity))
        differing = [
            f"{name} {stored.get(name)!r} there, {ours.get(name)!r} here"
            for name in dict.fromkeys([*stored, *ours])
            if stored.get(name) != ours.get(name)
        ]
        if differing:
            raise WordbiasError(
                f"{self.path}: is the checkpoint of another training ({'; '.join(differing)}); "
                "repeat that one to go on with it, remove the file, or name another"
            )


def keep(fitted: Fitted, path: str | os.PathLike[str] | None) -> None:
    """Remember which file a fit could be made from again, until it is forgotten."""
    if path is not None:
        _KEPT[fitted] = Path(path)


def forget(fitted: Iterable[Fitted]) -> None:
    """Remove the checkpoints of fits whose result is safe: now that it is written, not before.

    Only of those that were fitted here: what a file says of a fit is no reason to remove another.
    """
    for one in fitted:
        if (path := _KEPT.pop(one, None)) is not None:
            path.unlink(missing_ok=True)


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Snapshot]:
    from safetensors import SafetensorError, safe_open
    from safetensors.numpy import load_file

    try:
        with safe_open(path, "numpy") as file:
            stored = json.loads(file.metadata()[_KEY])
        return dict(stored["identity"]), Snapshot(load_file(path), dict(stored["notes"]))
    except (
        OSError,
        SafetensorError,
        TypeError,
        AttributeError,
        KeyError,
        ValueError,
        RecursionError,
    ) as error:
        raise WordbiasError(
            f"{path}: is there, but is no checkpoint ({type(error).__name__}: {error}); name "
            "another file for the checkpoint"
        ) from None
