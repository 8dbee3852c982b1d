"""`wordbias.lists` as a user of Python calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wordbias import WordbiasError
from wordbias.functions.lists import lists
from wordbias.wordlists import Templates

Run = Callable[..., Any]


def test_the_rows_are_those_of_the_command(cli: Run) -> None:
    typed = json.loads(cli("lists", "--groups", "religion", "--format", "json").out)
    found = lists(groups="religion")
    assert [row.to_dict() for row in found] == typed["rows"]
    assert typed["arguments"] == {"lists": None, "groups": "religion"}
    assert found.tables[-1].title == "Attributes, for groups=NAME"


def test_words_of_ones_own() -> None:
    found = lists(
        groups={"cats": ["tom", "puss"], "dogs": ["rex", "bello"]}, lists=Templates.load()
    )
    assert found["group cats"][0].details["first"] == "tom, puss"
    assert found["size-explicit"] == lists()["size-explicit"]


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="expected a folder of word lists, found nothing"):
        lists(lists=tmp_path / "gone")
    with pytest.raises(WordbiasError, match=r"^lists=: is empty"):
        lists(lists="")
