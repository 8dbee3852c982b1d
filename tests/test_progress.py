"""Progress bars: for people; a process that shows none makes none."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wordbias.progress import counted, in_notebook, progress, set_quiet


@pytest.fixture
def _quiet() -> Iterator[None]:
    set_quiet(True)
    yield
    set_quiet(False)


@pytest.mark.usefixtures("_quiet")
def test_what_is_quiet_makes_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed workers would leave the semaphores of bars, of which Python tells on stderr."""
    monkeypatch.setitem(sys.modules, "tqdm", None)  # importing it fails
    with progress("work", 3, "step") as bar:
        bar.update(2)
        bar.update()
        bar.set_postfix_str("loss 1")
    assert list(counted("abc", "letters", 3)) == ["a", "b", "c"]


def test_items_pass_a_bar_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(counted("abc", "letters", 3)) == ["a", "b", "c"]
    assert capsys.readouterr().err == ""  # no terminal


class _Kernel:
    """What IPython says of itself in the kernel of a notebook; without `kernel`, on a terminal."""

    def __init__(self, kernel: object = None) -> None:
        self.kernel = kernel

    def get_ipython(self) -> _Kernel:
        return self


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Collect what the bars of notebooks are made with; there is no screen."""
    options: list[dict[str, Any]] = []

    def tqdm(**given: Any) -> nullcontext[None]:
        options.append(given)
        return nullcontext()

    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=tqdm))
    for name in ("JPY_SESSION_NAME", "VSCODE_PID", "COLAB_RELEASE_TAG"):
        monkeypatch.delenv(name, raising=False)
    return options


@pytest.mark.parametrize("screen", ["JPY_SESSION_NAME", "VSCODE_PID", "COLAB_RELEASE_TAG"])
def test_a_notebook_with_a_screen_has_bars_of_its_own(
    bars: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, screen: str
) -> None:
    monkeypatch.setitem(sys.modules, "IPython", _Kernel(object()))
    monkeypatch.setenv(screen, "1")
    with progress("work", 3, "step"):
        pass
    (bar,) = bars
    assert (bar["desc"], bar["total"], bar["disable"]) == ("work", 3, False)


def test_a_notebook_that_is_executed_without_a_screen_has_none(
    bars: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "IPython", _Kernel(object()))
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with progress("work", 3, "step") as bar:
        bar.update()
    assert bars == []
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("shell", [None, _Kernel()])
def test_a_terminal_has_the_bars_of_a_terminal(
    bars: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, shell: object
) -> None:
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setenv("JPY_SESSION_NAME", "a notebook from which a terminal was opened")
    assert not in_notebook()
    with progress("work", 3, "step"):
        pass
    assert bars == []


@pytest.mark.slow
def test_a_real_kernel(tmp_path: Path) -> None:
    """Execute a notebook as nbconvert does, once as if somebody looked at it."""
    nbclient, nbformat = (pytest.importorskip(name) for name in ("nbclient", "nbformat"))
    pytest.importorskip("ipykernel")
    code = (
        "import time\nfrom wordbias.progress import progress\n"
        "with progress('work', 3, 'step') as bar:\n"
        "    for i in range(3):\n        time.sleep(0.6)\n        bar.update()\n"
    )
    for screen in ("", "a.ipynb"):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
        env = {**os.environ, "JPY_SESSION_NAME": screen}
        # the default of 60 seconds is too short on a busy machine
        client = nbclient.NotebookClient(notebook, startup_timeout=3600)
        client.execute(env=env)
        printed = str(notebook.cells[0].outputs)
        assert ("work" in printed) == bool(screen)
