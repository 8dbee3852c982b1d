"""A file, a column or a method with an empty name: refused by every command, in one line."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from wordbias.cli import SECTIONS

Run = Callable[..., Any]
Refused = Callable[..., str]
MAY_BE_EMPTY = {("winobias", "--mask"), ("fetch", "--mirror")}
"""Masking by nothing takes words out; no mirror overrules the one of the environment."""


def _of(name: str) -> click.Command:
    module = importlib.import_module(f"wordbias.commands.{name.replace('-', '_')}")
    command: click.Command = module.command
    return command


def _takes_text(parameter: click.Parameter) -> bool:
    return isinstance(parameter.type, click.types.StringParamType) and parameter.nargs in (1, -1)


def _texts(name: str) -> list[str]:
    """Return the options of a command that take a text."""
    return [
        next(opt for opt in parameter.opts if opt.startswith("--"))
        for parameter in _of(name).params
        if isinstance(parameter, click.Option) and _takes_text(parameter)
    ]


def _needed(name: str, but: str) -> list[str]:
    """Return what a command cannot be called without."""
    words: list[str] = []
    for parameter in _of(name).params:
        if parameter.required and but not in parameter.opts:
            value = "x" if _takes_text(parameter) else "1"
            if isinstance(parameter.type, click.Choice):
                value = str(parameter.type.choices[0])
            words += (
                [value] if parameter.param_type_name == "argument" else [parameter.opts[-1], value]
            )
    return words


@pytest.mark.parametrize("name", [name for section in SECTIONS.values() for name in section])
def test_an_option_that_names_something_is_not_empty(cli: Run, name: str) -> None:
    for option in _texts(name):
        done = cli(name, *_needed(name, option), option, "")
        if (name, option) in MAY_BE_EMPTY:
            assert f"{option}: is empty" not in done.err
            continue
        assert done.out == ""
        if done.code == 1:  # those that split a list say what they expect of it
            assert done.err == f"wordbias: {option}: is empty; give a value, or leave it out\n"
        assert done.code in (1, 2)
        assert option in done.err


@pytest.mark.parametrize(
    "name", ["misp", "measure", "weat", "audit", "report", "fetch", "winobias"]
)
def test_an_argument_is_not_empty(refused: Refused, name: str) -> None:
    assert ": is empty; give a value, or leave it out" in refused(name, "")


def test_several_of_which_one_is_empty(refused: Refused, tmp_path: Path) -> None:
    message = refused("measure", tmp_path / "a", "")
    assert message == "wordbias: EMBEDDINGS: is empty; give a value, or leave it out"
    assert "--benchmarks: is empty" in refused(
        "quality", "--benchmarks", tmp_path, "--benchmarks", ""
    )


def test_an_empty_mirror_in_the_environment_is_none(
    cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORDBIAS_MIRROR", "")
    assert cli("fetch").code == 0


def test_a_command_can_be_called_without_the_command_line() -> None:
    from wordbias.commands.lists import command

    with pytest.raises(SystemExit) as ended:
        command.main(["--groups", "age"], standalone_mode=True)
    assert ended.value.code == 0
