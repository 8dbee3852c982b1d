"""Every command that measures draws what it measured, by --plot."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins
from calls import CALLS, COMMANDS, Call
from test_golden import DRAWN, check_figure, folder, provide, store

from wordbias import errors

__all__ = ["folder", "store"]

NOTHING_TO_DRAW = (
    *("apply", "cache", "convert", "encode", "fetch", "fine-tune", "lists", "nli-train", "push"),
    *("control", "coref-predict", "coref-train", "predict", "rewrite", "run", "train-vectors"),
)
"""Commands whose rows count what was done, and do not measure."""
_NAMED = {call.name: call for call in CALLS}
TYPED = {
    "audit": _NAMED["audit-sample-md"],
    "erase": Call("erase", "erase bios.parquet --labels gender", ("pyarrow",), trained=True),
    "mab-study": replace(
        _NAMED["mab-study-json"], line=_NAMED["mab-study-json"].line.replace("seed 0", "seed 0,1")
    ),
    "report": _NAMED["report-md"],
    "weat": _NAMED["weat-table"],
}
"""Calls that draw by --plot here, a table, JSON and a page among them; others are `DRAWN`."""
OWN_TEST = ("winobias",)
"""Commands with a test of --plot beside their data."""


def test_every_command_that_measures_is_drawn() -> None:
    drawn = [_NAMED[name].words[0] for name in DRAWN]
    assert sorted([*TYPED, *drawn, *OWN_TEST, *NOTHING_TO_DRAW]) == sorted(COMMANDS)


@pytest.mark.parametrize("command", NOTHING_TO_DRAW)
def test_the_others_have_no_such_option(command: str, cli: Callable[..., Any]) -> None:
    assert "--plot" not in cli(command, "--help").out


@pytest.mark.slow
@pytest.mark.parametrize("command", TYPED)
def test_a_command_draws_what_it_measured(
    command: str,
    cli: Callable[..., Any],
    store: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call = TYPED[command]
    for package in ("matplotlib", *call.needs):
        pytest.importorskip(package)
    for name in call.inputs:
        provide(name, store, folder)
    if call.few_premises:
        stand_ins.few_premises(monkeypatch)
    with np.errstate(all="warn"):
        done = cli(*call.words, "--plot", "figure.svg")
    assert done.code == 0, done.err
    check_figure(folder / "figure.svg", command)
    stream = done.out if "format json" not in call.line and ".md" not in call.line else done.err
    assert "rawn: figure.svg" in stream


def test_what_cannot_be_drawn_is_refused_before_the_work(
    cli: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, message in (
        ("a.gif", "cannot be drawn; name a file in .png, .pdf, .svg"),
        ("none/a.png", "does not exist"),
    ):
        done = cli("weat", "--plot", path)
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert message in done.err

    class Missing:
        @staticmethod
        def import_module(name: str) -> None:
            raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(errors, "importlib", Missing)
    done = cli("weat", "--plot", "a.png")
    assert (done.code, done.out) == (1, "")
    assert 'A figure needs matplotlib; install it with: pip install "wordbias[plot]"' in done.err
    assert not list(folder.iterdir())


def test_with_nothing_to_draw_the_values_are_printed_first(
    cli: Callable[..., Any], folder: Path
) -> None:
    pytest.importorskip("matplotlib")
    row = {"subject": "a", "measure": "midb", "value": None, "reason": "undefined: no words"}
    (folder / "rows.json").write_text(json.dumps([row]), encoding="utf-8")
    done = cli("report", "rows.json", "-o", "page.md", "--plot", "a.svg")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "--plot: no value to draw in this report; its notes and --format json say" in done.err
    assert done.out.endswith("Written: page.md\n")
    assert sorted(path.name for path in folder.iterdir()) == ["page.md", "rows.json"]
