"""A reader is let loose on a file: it may read it or refuse it, in bounded time and memory."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError

SECONDS = 10
ROOM = 1 << 30
"""Address space beyond what the process has already; a claim of 10¹² rows needs far more."""
LONGEST = 2_000
"""Characters of a message, beside the name of the file."""


class Hang(BaseException):
    """Raised by the clock; no reader catches it."""


@contextmanager
def bounded(seconds: float = SECONDS, room: int = ROOM) -> Iterator[None]:
    """Limit the time and the address space of a block, where the system can."""

    def ring(number: int, frame: Any) -> None:
        raise Hang(f"still reading after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with _space(room):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _space(room: int) -> Iterator[None]:
    status = Path("/proc/self/statm")
    if not status.exists():
        yield
        return
    import resource

    used = int(status.read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def refusal(read: Callable[[Path], Any], path: Path) -> str:
    """Read a file; return what was said against it, or nothing if it was read.

    Whatever else is raised goes through, and so fails the test.
    """
    try:
        with bounded():
            read(path)
    except WordbiasError as error:
        return str(error)
    return ""


def check(read: Callable[[Path], Any], path: Path) -> None:
    """Hold a reader against what is promised of every input."""
    message = refusal(read, path)
    if not message:
        return
    named = [name for name in (path, path.parent) if str(name) in message]
    assert named, f"the file is not named: {message!r:.500}"
    assert len(message.splitlines()) == 1, f"more than one line: {message!r:.500}"
    assert len(message.replace(str(named[0]), "")) < LONGEST, (
        f"{len(message)} characters: {message!r:.500}"
    )
