"""Progress bars: on stderr, only for people, only for work that takes longer than a second."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

_SCREENS = ("JPY_SESSION_NAME", "VSCODE_PID", "COLAB_RELEASE_TAG")
"""What Jupyter servers, Visual Studio Code and Colab set for kernels that somebody looks at.

What executes a notebook from its first cell to its last (nbclient, nbconvert, papermill) sets none.
"""
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


def in_notebook() -> bool:
    """Say whether this is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def has_screen() -> bool:
    """Say whether somebody looks at the notebook of this kernel, rather than at its results."""
    return any(os.environ.get(name) for name in _SCREENS)


def is_quiet() -> bool:
    """Say whether progress bars are off for the whole process."""
    return _quiet


@contextmanager
def progress(what: str, total: int | None = None, unit: str = "B") -> Iterator[Bar]:
    """Show rate and remaining time of `total` units of work once it has taken a second.

    In a notebook the bar is one of its own; in one that is executed without a screen there is none.
    """
    notebook = in_notebook()
    if _quiet or (notebook and not has_screen()):
        yield _Silent()  # a bar of tqdm has a lock that a killed process would leave behind
        return
    make, disable = _maker(notebook), False if notebook else None
    scale = unit == "B"
    with make(
        desc=what, total=total, unit=unit, unit_scale=scale, delay=1, disable=disable, leave=False
    ) as bar:
        yield bar


def _maker(notebook: bool) -> Any:
    """Return the class of the bars; without ipywidgets a notebook has those of a terminal."""
    if notebook:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm as in_a_cell
        return in_a_cell
    from tqdm import tqdm

    return tqdm


def counted(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """Yield the items and show how many of `total` have passed."""
    with progress(what, total, "block") as bar:
        for item in items:
            yield item
            bar.update(1)
