"""`wordbias.lists` as a user of Python calls it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wordbias import WordbiasError
from wordbias.errors import UsageError
from wordbias.functions.lists import lists
from wordbias.measures.registry import BY_KEY, FAMILIES, MEASURES
from wordbias.rendering import markdown_text
from wordbias.wordlists import Templates

Run = Callable[..., Any]


def test_words_of_ones_own() -> None:
    report = lists(
        groups={"cats": ["tom", "puss"], "dogs": ["rex", "bello"]}, lists=Templates.load()
    )
    assert report["group cats"][0].details["first"] == "tom, puss"
    assert report["size-explicit"] == lists()["size-explicit"]
    assert report.tables[-1].title == "Attributes, for groups=NAME"


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="expected a folder of word lists, found nothing"):
        lists(lists=tmp_path / "gone")
    with pytest.raises(WordbiasError, match=r"^lists=: is empty"):
        lists(lists="")


def test_every_measure_is_shown_with_what_its_entry_says(cli: Run) -> None:
    report = lists("measures")
    assert [row.measure for row in report] == [*MEASURES]
    (row,) = report["icat"]
    assert (row.subject, row.details["neutral"], row.details["better"]) == (
        "stereoset",
        1,
        "higher",
    )
    assert "Nadeem et al. (2021)" in row.details["source"]
    assert row.details["limits"].startswith("A mean of the most extreme")
    typed = cli("lists", "measures", "--format", "md").out
    for family in FAMILIES:
        for text in (family.area, family.title, family.question, family.limits, family.source):
            assert markdown_text(text) in typed
    entry = "| icat | ICAT | both in one: lms · min(ss, 1 − ss) / ½ | 0 … 1 | 1 | higher |"
    assert entry in typed


def test_measures_and_families_are_explained_by_name(cli: Run) -> None:
    assert [row.measure for row in lists("gipe", "ect")] == ["gipe", "ect"]
    (table,) = lists("probe").tables
    assert [cell[0] for cell in table.cells] == [
        measure.name for measure in BY_KEY["probe"].measures
    ]
    unknown = cli("lists", "gipee")
    assert (unknown.code, "did you mean gipe?" in unknown.err) == (2, True)
    assert "; its word lists: --groups religion; see" in cli("lists", "religion").err
    with pytest.raises(UsageError, match=r"^measures have no word lists; leave out lists= and"):
        lists("gipe", groups="age")
