"""Results of an audit's jobs on disk, from which an interrupted audit resumes."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.draws import from_arrays, to_arrays
from wordbias.errors import WordbiasError
from wordbias.formats import cache
from wordbias.formats.files import ABANDONED, locked
from wordbias.formats.stored import AUDIT, reading, write
from wordbias.measures.chance import Key
from wordbias.results import Row


@dataclass(frozen=True)
class Result:
    """Result of one job of an audit.

    Attributes
    ----------
    rows
        Rows with their bootstrap values.
    levels
        Values by chance, by measure.
    reason
        Reason why there are none.
    seconds
        Time of the processor that it took.
    """

    rows: Sequence[Row] = ()
    levels: Mapping[Key, NDArray[np.float64]] = field(default_factory=dict)
    reason: str = ""
    seconds: float = 0.0

    def save(self, path: Path) -> None:
        """Write the result; the file takes its name when it is complete."""
        rows, arrays = to_arrays(self.rows)
        arrays |= {f"level {i}": values for i, values in enumerate(self.levels.values())}
        header = {
            "rows": rows,
            "levels": list(self.levels),
            "reason": self.reason,
            "seconds": self.seconds,
        }
        write(path, AUDIT, arrays, header)

    @classmethod
    def load(cls, path: Path) -> Result:
        """Read what `save` wrote.

        Raises
        ------
        WordbiasError
            If there is no such file, or it is damaged.
        """
        with reading(path, AUDIT) as (arrays, known):
            rows = from_arrays(known["rows"], arrays)
            levels = {
                (measure, variant): arrays[f"level {i}"]
                for i, (measure, variant) in enumerate(known["levels"])
            }
            return cls(rows, levels, known["reason"], known["seconds"])


@dataclass(frozen=True)
class Results:
    """Results of the jobs of an audit, in a folder."""

    folder: Path
    is_kept: bool = False
    """True if the folder is there after an interruption."""

    def path(self, *names: str) -> Path:
        """Return the file of a job with these names."""
        text = hashlib.sha256("\0".join(names).encode("utf-8", "surrogateescape"))
        return self.folder / f"{text.hexdigest()[:32]}.safetensors"

    def get(self, *names: str) -> Result | None:
        """Return the result of a job; None if it is not done, or its file is damaged."""
        path = self.path(*names)
        try:
            return Result.load(path) if path.exists() else None
        except WordbiasError:
            return None


def digest_of(*known: Any) -> str:
    """Return a hash of texts, numbers, arrays and nested sequences of them."""
    found = hashlib.sha256()
    _add(found, known)
    return found.hexdigest()


def _add(found: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        found.update(f"{value.dtype} {value.shape}".encode())
        found.update(np.ascontiguousarray(value).data)
    elif isinstance(value, Mapping):
        _add(found, sorted(value.items()))
    elif isinstance(value, tuple) and all(isinstance(one, str) for one in value):
        found.update("\0".join((f"{len(value)} texts", *value)).encode("utf-8", "surrogatepass"))
    elif isinstance(value, (list, tuple, set, frozenset)):
        found.update(f"{len(value)} values".encode())
        for one in sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value:
            _add(found, one)
    else:
        found.update(f"{value!r}\0".encode("utf-8", "surrogatepass"))


@contextmanager
def results_of(digest: str | None) -> Iterator[Results]:
    """Open the results of an audit: those that an interrupted one left, or none yet.

    They are removed at the end of the block unless that is an interruption or an error.

    Parameters
    ----------
    digest
        Hash of all that the results depend on. None, a folder that cannot be written, and another
        process that runs the same audit: the results are kept elsewhere, and for this call only.
    """
    with ExitStack() as stack:
        folder = None if digest is None else _locked_folder(stack, digest)
        if folder is None:
            yield Results(Path(stack.enter_context(TemporaryDirectory(prefix="wordbias-"))))
            return
        yield Results(folder, is_kept=True)
        done = folder.with_name(f"{folder.name}.{os.getpid()}.done")
        with suppress(OSError):  # at once: half of the results would not do for the next call
            folder.rename(done)
        shutil.rmtree(done, ignore_errors=True)


def _locked_folder(stack: ExitStack, digest: str) -> Path | None:
    folder = cache.folder() / "audits" / digest
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_abandoned(folder.parent)
        stack.enter_context(locked(folder))
        folder.mkdir(exist_ok=True)
    except (OSError, WordbiasError):
        return None
    return folder


def remove_abandoned(audits: Path, age: float = 7 * ABANDONED) -> None:
    """Remove the results of audits that were interrupted long ago and never resumed.

    Parameters
    ----------
    audits
        Folder with a folder for each audit.
    age
        Seconds since the last result.
    """
    for folder in audits.iterdir() if audits.is_dir() else ():
        with suppress(OSError, WordbiasError):
            if folder.is_dir() and time.time() - folder.stat().st_mtime > age:
                with locked(folder):
                    shutil.rmtree(folder)
