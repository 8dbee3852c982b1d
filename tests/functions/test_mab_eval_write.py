"""`wordbias.mab_eval(write=…)`: the files of the test sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_word_lists import write

from wordbias import WordbiasError
from wordbias.functions.mab_eval import mab_eval
from wordbias.wordlists import Templates

Run = Callable[..., Any]


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    write(tmp_path / "lists")
    return tmp_path / "lists"


def test_the_files_are_those_of_the_command(cli: Run, lists: Path, tmp_path: Path) -> None:
    typed, called = tmp_path / "typed", tmp_path / "called"
    done = cli("mab-eval", "--set", "all", "--lists", lists, "--write", typed, "--format", "json")
    made = mab_eval(set="all", write=called, lists=Templates.load(lists))
    found = json.loads(done.out)["rows"]
    assert [{**row.to_dict(), "file": ""} for row in made] == [{**row, "file": ""} for row in found]
    assert sorted(path.name for path in called.iterdir()) == [
        "explicit.csv",
        "names.csv",
        "occupations.csv",
    ]
    for path in typed.iterdir():
        assert (called / path.name).read_bytes() == path.read_bytes()


def test_one_set_about_other_groups(tmp_path: Path, lists: Path) -> None:
    made = mab_eval(write=tmp_path / "sets", groups="religion:jewish,muslim", lists=str(lists))
    assert [row.details["attribute"] for row in made] == ["religion jewish/muslim"]
    assert made.rows[0].details["file"].startswith(str(tmp_path / "sets"))


def test_bad_arguments(tmp_path: Path, lists: Path) -> None:
    with pytest.raises(WordbiasError, match=r"set=: expected one of explicit, .* got 'nouns'"):
        mab_eval(set="nouns", write=tmp_path / "sets", lists=lists)
    assert not (tmp_path / "sets").exists()
