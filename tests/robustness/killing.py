"""Commands as processes that are killed, with no warning, at some moment of their work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

Moment = Callable[["subprocess.Popen[bytes]"], bool]


def command(*arguments: object, before: str = "") -> list[str]:
    """Return the command line as a process; `before` is run ahead of it in the same one."""
    start = ["-c", f"{before}\nfrom wordbias.cli import main\nmain()"] if before else []
    return [sys.executable, *(start or ["-m", "wordbias"]), *map(str, arguments)]


def finished(call: Sequence[str]) -> bytes:
    """Run a command to its end, and return what it printed."""
    done = subprocess.run(call, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def killed(call: Sequence[str], moment: Moment, delay: float = 0.0) -> bool:
    """Start a command and kill it `delay` seconds behind a moment; say whether it was not done."""
    with subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        while running.poll() is None and not moment(running):
            time.sleep(0.003)
        time.sleep(delay)
        running.send_signal(signal.SIGKILL)
        _, error = running.communicate()
    assert running.returncode in (0, -signal.SIGKILL), error.decode()
    return running.returncode != 0


def written(folder: Path, size: int) -> Moment:
    """The moment when a file in a folder, which need have no name, has so many bytes."""
    return lambda running: _open_bytes(running.pid, folder) >= size


def replaced(path: Path, times: int) -> Moment:
    """The moment when a file has been written anew so many times."""
    seen: set[int] = set()

    def moment(running: subprocess.Popen[bytes]) -> bool:
        try:
            seen.add(path.stat().st_mtime_ns)
        except OSError:
            return False
        return len(seen) >= times

    return moment


def _open_bytes(pid: int, folder: Path) -> int:
    found = 0
    try:
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            if Path(os.readlink(handle)).parent == folder:
                found = max(found, handle.stat().st_size)
    except OSError:  # it ended, or the file was closed meanwhile
        pass
    return found
