"""Progress bars on stderr, in a terminal or notebook, for work of more than a second."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Bar(Protocol):
    """Interface of a progress bar."""

    def update(self, n: int = 1) -> bool | None:
        """Advance by `n` units."""

    def set_postfix_str(self, s: str) -> None:
        """Show a few words after the rate, such as the loss."""


@contextmanager
def progress(what: str, total: int | None = None, unit: str = "B") -> Iterator[Bar]:
    """Show rate and remaining time of `total` units of work once it has taken a second."""
    # In a notebook the bar is a widget; in one that is executed in batch there is none.
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


def counted(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """Yield the items and show how many of `total` are done."""
    with progress(what, total, "block") as bar:
        for item in items:
            yield item
            bar.update(1)


class _Silent:
    """A progress bar that shows nothing."""

    def update(self, n: int = 1) -> None:
        """Do nothing."""

    def set_postfix_str(self, s: str) -> None:
        """Do nothing."""


def _maker(notebook: bool) -> Any:
    """Return the class of the bars; a notebook without ipywidgets has those of a terminal."""
    if notebook:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm as in_a_cell
        return in_a_cell
    from tqdm import tqdm

    return tqdm


_quiet = False


def set_quiet(quiet: bool) -> None:
    """Turn progress bars off for the whole process, or on again."""
    global _quiet
    _quiet = quiet


def is_quiet() -> bool:
    """Return whether progress bars are off for the whole process."""
    return _quiet


_SCREENS = ("JPY_SESSION_NAME", "VSCODE_PID", "COLAB_RELEASE_TAG")
"""Environment variables that Jupyter servers, Visual Studio Code and Colab set for their kernels.

Programs that execute a notebook without showing it (nbclient, nbconvert, papermill) set none.
"""


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def has_screen() -> bool:
    """Return whether the notebook of this kernel is shown, rather than executed in batch."""
    return any(os.environ.get(name) for name in _SCREENS)
