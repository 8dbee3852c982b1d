"""Progress of trainings that run in other processes: steps counted in a file, losses from logs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np

from wordbias.progress import Bar, progress

_EVERY = 1.0


class Counter:
    """A progress bar that another process can read: one number of a file of int64."""

    steps: np.memmap[Any, np.dtype[np.int64]]

    def __init__(self, file: Path, i: int) -> None:
        self.steps = np.memmap(file, np.int64, "r+")
        self.i = i

    def update(self, n: int = 1) -> None:
        """Advance by `n` steps."""
        self.steps[self.i] += n

    def set_postfix_str(self, s: str) -> None:
        """Say nothing: losses are read from the logs."""


@contextmanager
def watched(file: Path, logs: Sequence[Path], total: int) -> Iterator[None]:
    """Show the sum of all counters in a file, and what stands last in the logs."""
    over = Event()
    with progress(f"training {len(logs)} models", total, "step") as bar:
        watcher = Thread(target=_watch, args=(bar, file, logs, over), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


def log_length(log: Path) -> int:
    """Count the epochs in a log."""
    return len(_lines(log))


def _watch(bar: Bar, file: Path, logs: Sequence[Path], over: Event) -> None:
    steps, seen = np.memmap(file, np.int64, "r"), 0
    while not over.wait(_EVERY):
        now = int(steps.sum())
        bar.set_postfix_str(_last(logs))
        bar.update(now - seen)
        seen = now


def _last(logs: Sequence[Path]) -> str:
    """Average the last whole lines of the logs."""
    entries = [json.loads(lines[-1]) for log in logs if (lines := _lines(log))]
    if not entries:
        return ""
    loss, dev = (np.mean([entry[key] for entry in entries]) for key in ("loss", "dev"))
    return f"loss {loss:.3f}, dev {dev:.4f}"


def _lines(log: Path) -> list[str]:
    """Read the lines that are complete: another process may be writing."""
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return text.split("\n")[:-1]
