"""Progress bars: on stderr, only for people, only for work that takes longer than a second."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

T = TypeVar("T")

_quiet = False


class Bar(Protocol):
    """What a progress bar offers to the code that does the work."""

    def update(self, n: int = 1) -> bool | None:
        """Advance by `n` units."""

    def set_postfix_str(self, s: str) -> None:
        """Show a few words behind the rate, such as the loss."""


class _Silent:
    """A bar that nobody sees."""

    def update(self, n: int = 1) -> None:
        """Say nothing."""

    def set_postfix_str(self, s: str) -> None:
        """Say nothing."""


def set_quiet(quiet: bool) -> None:
    """Switch progress bars off for the whole process, or on again."""
    global _quiet
    _quiet = quiet


@contextmanager
def progress(what: str, total: int | None = None, unit: str = "B") -> Iterator[Bar]:
    """Show rate and remaining time of `total` units of work once it has taken a second."""
    if _quiet:
        yield _Silent()  # a bar of tqdm has a lock that a killed process would leave behind
        return
    from tqdm import tqdm

    scale = unit == "B"
    with tqdm(
        desc=what, total=total, unit=unit, unit_scale=scale, delay=1, disable=None, leave=False
    ) as bar:
        yield bar


def counted(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """Yield the items and show how many of `total` have passed."""
    with progress(what, total, "block") as bar:
        for item in items:
            yield item
            bar.update(1)
