"""What the tests of commands share: a command's report, and a command's refusal."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from wordbias.measures.chance import draw_nulls


@pytest.fixture(scope="module")
def _outcomes() -> dict[tuple[object, ...], Any]:
    return {}


@pytest.fixture
def once(cli: Callable[..., Any], _outcomes: dict[tuple[object, ...], Any]) -> Callable[..., Any]:
    """Run a command; the tests of a module that look at one outcome share it."""

    def call(*arguments: object) -> Any:
        if arguments not in _outcomes:
            _outcomes[arguments] = cli(*arguments)
        return _outcomes[arguments]

    return call


@pytest.fixture
def report(cli: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """Run a command that says nothing on stderr; return its report."""

    def call(*arguments: object) -> dict[str, Any]:
        done = cli(*arguments, "--format", "json", "-q")
        assert (done.code, done.err) == (0, "")
        parsed: dict[str, Any] = json.loads(done.out)
        return parsed

    return call


@pytest.fixture
def refused(cli: Callable[..., Any]) -> Callable[..., str]:
    """Run a command that must fail with one clear line, and print nothing; return the line.

    With ``code=2`` it names the help as well.
    """

    def call(*arguments: object, code: int = 1) -> str:
        done = cli(*arguments)
        assert (done.code, done.out) == (code, "")
        assert done.err.startswith("wordbias: ")
        assert done.err.count("\n") == 1
        return str(done.err).rstrip("\n")

    return call


@pytest.fixture(autouse=True)
def _few_random_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute chance levels along few axes; how many there are is tested with the measures."""
    monkeypatch.setattr(draw_nulls, "__defaults__", (3,))
