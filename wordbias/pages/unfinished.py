"""Results of an audit's jobs in the cache, from which an interrupted audit resumes."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from wordbias.errors import Interrupted, WordbiasError
from wordbias.formats import cache
from wordbias.formats.files import ABANDONED, locked
from wordbias.store import Store

KEYS = ("embedding", "stage", "part")
"""Names of a job in the store: the embedding, the label of the column, the part."""


@contextmanager
def results_of(digest: str | None) -> Iterator[tuple[Store, Path]]:
    """Open the results of an audit's jobs, and the folder of what they fit, removed at the end."""
    # After an interruption or an error they stay, and the next call with the digest gets them.
    # Without a digest, in a folder that cannot be written, or beside another process of the same
    # audit the results are kept elsewhere, and for this call only.
    with ExitStack() as stack:
        folder = None if digest is None else _locked_folder(stack, digest)
        is_kept = folder is not None
        folder = folder or Path(stack.enter_context(TemporaryDirectory(prefix="wordbias-")))
        path = folder / "results.jsonl"
        try:
            yield Store(path, {}, KEYS, refuse=False), folder
        except KeyboardInterrupt:
            if not is_kept:
                raise
            raise Interrupted("the same call resumes: what is measured is kept") from None
        path.unlink(missing_ok=True)  # first: results of fits would not do without what was fitted
        if is_kept:
            shutil.rmtree(folder, ignore_errors=True)


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
    """Remove the results of audits that were interrupted long ago and never resumed."""
    for folder in audits.iterdir() if audits.is_dir() else ():
        with suppress(OSError, WordbiasError):
            times = [path.stat().st_mtime for path in (folder, *folder.iterdir())]
            if time.time() - max(times) > age:
                with locked(folder):
                    shutil.rmtree(folder)
