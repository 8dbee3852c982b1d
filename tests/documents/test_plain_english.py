"""Help and guides are in short sentences, without turns of phrase that have to be read twice."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from fences import ROOT, name_of, prose

import wordbias
from wordbias.cli import SECTIONS, cli
from wordbias.docstrings import docstring_of
from wordbias.methods.settings import METHODS as DEBIASING
from wordbias.outcomes.settings import METHODS as REWRITING

LONGEST, LARGEST = 30, 1500
"""Words of a sentence, and of a guide."""
NOT_GUIDES = ("rows.md", "decisions.md")
GUIDES = [
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in NOT_GUIDES),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    *sorted((ROOT / "docs" / "papers").glob("*.md")),
]
NAMES = {name: getattr(wordbias, name) for name in wordbias.__all__ if name != "__version__"}
DOCUMENTED = {**NAMES, **DEBIASING, **REWRITING}
UNCLEAR = re.compile(
    r"\b(?:(?:of|by) which|as many|so many of|besides?|by itself|such as those)\b", re.IGNORECASE
)
_NO_PROSE = re.compile(r"(?s:<!-- (table|settings).*?<!-- end -->)|^(?: {4}|\||#|>).*$", re.M)
_CODE = re.compile(r"``.+?``|`[^`]+`|\]\([^)]*\)|https?://\S+|“[^”]*”|\"[^\"]*\"", re.DOTALL)
_ITEM = re.compile(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ")
_END = re.compile(r"(?<!\bal)[.?!][)\"”*]*\s+")


def sentences(text: str) -> Iterator[str]:
    """Return the sentences outside of code, tables, headings and quotations."""
    text = _CODE.sub("code", re.sub(_NO_PROSE, "\n", text).replace("[", ""))
    for paragraph in _ITEM.split(text):
        yield from _END.split(" ".join(paragraph.split()))


def refused(text: str) -> list[str]:
    """Return the sentences that are too long or unclear; numbers are not words."""
    return [
        sentence
        for sentence in sentences(text)
        if len(re.findall(r"[^\W\d][\w'’-]*", sentence)) > LONGEST or UNCLEAR.search(sentence)
    ]


@pytest.mark.parametrize("path", GUIDES, ids=map(name_of, GUIDES))
def test_guides_are_short_and_their_sentences_too(path: Path) -> None:
    assert not refused(prose(path))
    written = re.sub(
        r"<!-- (table|settings).*?<!-- end -->", "", path.read_text("utf-8"), flags=re.S
    )
    assert len(written.split()) <= LARGEST  # beside what a tool writes


@pytest.mark.parametrize("name", [name for section in SECTIONS.values() for name in section])
def test_the_help_of_a_command_is_in_short_sentences(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.help
    text = re.sub("\x08\n.*?(\n\n|\\Z)", "\n\n", command.help, flags=re.DOTALL)  # lists, examples
    assert not refused(text)
    assert not [
        sentence
        for option in command.params
        for sentence in refused(vars(option).get("help") or "")
    ]


@pytest.mark.parametrize("thing", DOCUMENTED.values(), ids=DOCUMENTED)
def test_public_names_and_settings_of_methods_are_in_short_sentences(thing: object) -> None:
    text = (inspect.getdoc(thing) or "").split("Examples\n")[0]  # without what is indented
    texts = [text, *(parameter.text for parameter in docstring_of(thing)[1].values())]
    assert not [sentence for part in texts for sentence in refused(part)]


@pytest.mark.parametrize("file", ["measures.toml", "rows.toml"])
def test_what_measures_and_rows_say_is_in_short_sentences(file: str) -> None:
    loaded = tomllib.loads((ROOT / "wordbias" / "measures" / file).read_text(encoding="utf-8"))
    assert not [sentence for text in _texts(loaded) for sentence in refused(text)]


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for child in value.values() for text in _texts(child)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize(
    "text", ["one " * 31, "Triples, of which S is the mean.", "As code beside it."]
)
def test_what_is_refused(text: str) -> None:
    assert refused(f"# A title\n\n| a | table |\n\n{text}\n")
    assert not refused("A model. " * 20 + "`one beside one`, and “of which” et al. (2020).")
