"""Markdown of a report: what a user gave is text in it, escaped once."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.errors import printable
from wordbias.pages.document import Document
from wordbias.pages.markdown import render_markdown

SPECIAL = "\\`*_{}[]<>#|"


def cells_of(line: str) -> list[str]:
    """Split a line of a table where a bar is not escaped; an escape is its character."""
    parts = re.findall(r"\|((?:\\.|[^\\|])*)(?=\|)", line)
    return [re.sub(r"\\(.)", r"\1", part).strip() for part in parts]


def plain(text: str) -> str:
    return " ".join(printable(text).split())


def subjects(text: str) -> list[str]:
    document = Document([{"subject": text, "measure": "mine", "value": 0.5}])
    lines = render_markdown([document]).split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith("| ---"))
    assert len({len(cells_of(lines[i])) for i in (start - 1, start, start + 1)}) == 1
    return cells_of(lines[start + 1])


@pytest.mark.parametrize("text", ["<b>", "a|b", "a\\b", "\\|", "**a**", "2_x", "`a`", "[a](b)"])
def test_it_is_escaped_once(text: str) -> None:
    assert text in subjects(text)


def test_an_escape_is_one_backslash() -> None:
    document = Document([{"subject": "<i>|", "measure": "mine", "value": 0.5}])
    text = render_markdown([document])
    assert r"| \<i\>\| |" in text
    assert r"\\" not in text


@given(st.text(st.sampled_from(SPECIAL + "ab \n\x00\u202e") | st.characters(), min_size=1))
def test_any_subject_is_one_cell(text: str) -> None:
    assert plain(text) in subjects(text)
