"""Progress bars: for people; a process that shows none makes none."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from wordbias.progress import counted, progress, set_quiet


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
