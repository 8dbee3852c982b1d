"""`wordbias.mab_build` as a user of Python calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_word_lists import write

from wordbias import WordbiasError
from wordbias.functions.mab_build import mab_build
from wordbias.wordlists import Templates

Run = Callable[..., Any]


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    write(tmp_path / "lists")
    return tmp_path / "lists"


def test_the_files_are_those_of_the_command(cli: Run, lists: Path, tmp_path: Path) -> None:
    typed, called = tmp_path / "typed", tmp_path / "called"
    done = cli("mab-build", "--lists", lists, "-o", typed, "--format", "json")
    made = mab_build(output=called, lists=Templates.load(lists))
    found = json.loads(done.out)["rows"]
    assert [{**row.to_dict(), "file": ""} for row in made.report] == [
        {**row, "file": ""} for row in found
    ]
    assert sorted(path.name for path in Path(made).iterdir()) == [
        "explicit.csv",
        "names.csv",
        "occupations.csv",
    ]
    for path in typed.iterdir():
        assert (called / path.name).read_bytes() == path.read_bytes()


def test_one_set_about_other_groups(tmp_path: Path, lists: Path) -> None:
    made = mab_build(
        set="explicit", output=tmp_path / "sets", groups="religion:jewish,muslim", lists=str(lists)
    )
    assert [row.details["attribute"] for row in made.report] == ["religion jewish/muslim"]
    assert str(made) == str(tmp_path / "sets")


def test_bad_arguments(tmp_path: Path, lists: Path) -> None:
    with pytest.raises(WordbiasError, match="test set 'nouns': expected one of explicit"):
        mab_build(set="nouns", output=tmp_path / "sets", lists=lists)
    assert not (tmp_path / "sets").exists()
