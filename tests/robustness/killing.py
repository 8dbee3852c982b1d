"""Commands as processes that are killed, with no warning, at some moment of their work."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from forks import Forked

Moment = Callable[[int], bool]
"""Says of a process whether the moment to kill it has come."""


def finished(call: Sequence[object]) -> str:
    """Run a command to its end, and return what it printed."""
    code, out, error = Forked(*call).ended()
    assert code == 0, error
    return out


def killed(call: Sequence[object], moment: Moment, delay: float = 0.0, before: str = "") -> bool:
    """Start a command and kill it `delay` seconds behind a moment; say whether it was not done."""
    running = Forked(*call, before=before)
    pid = running.process.pid
    assert pid is not None
    while running.process.exitcode is None and not moment(pid):
        time.sleep(0.003)
    time.sleep(delay)
    running.process.kill()
    code, _, error = running.ended()
    assert code in (0, -signal.SIGKILL), error
    return code != 0


def written(folder: Path, size: int) -> Moment:
    """The moment when a file in a folder, which need have no name, has so many bytes."""
    return lambda pid: _open_bytes(pid, folder) >= size


def replaced(path: Path, times: int) -> Moment:
    """The moment when a file has been written anew so many times."""
    seen: set[int] = set()

    def moment(pid: int) -> bool:
        try:
            seen.add(path.stat().st_mtime_ns)
        except OSError:
            return False
        return len(seen) >= times

    return moment


def _open_bytes(pid: int, folder: Path) -> int:
    largest = 0
    try:
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            if Path(os.readlink(handle)).parent == folder:
                largest = max(largest, handle.stat().st_size)
    except OSError:  # it ended, or the file was closed meanwhile
        pass
    return largest
