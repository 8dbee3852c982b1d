"""What the documents point to is there: files, pictures, headings, commands, options."""

from __future__ import annotations

import re
import shlex
from configparser import ConfigParser
from pathlib import Path

import click
import pytest
from fences import DOCUMENTS, ROOT, blocks, commands, inline_calls, name_of, prose

import wordbias
from wordbias.cli import SECTIONS, cli
from wordbias.methods import METHODS
from wordbias.results import LIMITS

GUIDES = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
INDEX = (GUIDES / "README.md").read_text(encoding="utf-8")
COMMANDS = [name for section in SECTIONS.values() for name in section]
ALL = (*DOCUMENTS, ROOT / "CHANGELOG.md")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_FILE = re.compile(r"`((?:docs|tools|benchmarks|wordbias|tests)/[\w./-]*\w)`")
OTHER_PROGRAMS = ("accelerate ", "torchrun ", "git ", "lm_eval ", "pip ", "python ", "pyright ")
_OUTSIDE = ("https://", "http://", "mailto:")


def headings(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def links(path: Path) -> list[str]:
    targets = _LINK.findall(prose(path))
    return [link for link in targets if not link.startswith(_OUTSIDE)]


@pytest.mark.parametrize("path", ALL, ids=map(name_of, ALL))
def test_links_and_pictures_lead_somewhere(path: Path) -> None:
    for link in links(path):
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        assert target.exists(), link
        assert not anchor or anchor in headings(target), link


@pytest.mark.parametrize("path", ALL, ids=map(name_of, ALL))
def test_files_that_are_named_exist(path: Path) -> None:
    for file in _FILE.findall(prose(path)):
        assert (ROOT / file).exists(), file


@pytest.mark.parametrize("path", DOCUMENTS, ids=map(name_of, DOCUMENTS))
def test_calls_in_sentences_have_commands_and_options_that_exist(path: Path) -> None:
    for call in inline_calls(path):
        name, options = _parsed(call)
        if not name:
            continue
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, call
        known = {
            opt
            for parameter in command.params
            for opt in (*parameter.opts, *parameter.secondary_opts)
        }
        assert options <= known | {"--help", "--version"}, call


@pytest.mark.parametrize("path", ALL, ids=map(name_of, ALL))
def test_options_in_sentences_are_those_of_a_command(path: Path) -> None:
    every = [cli.get_command(click.Context(cli), name) for name in COMMANDS]
    known = {
        option
        for command in every
        if command is not None
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    for code in re.findall(r"`([^`]+)`", prose(path)):
        if not code.startswith(OTHER_PROGRAMS):
            named = re.findall(r"(?<![\w-])--[a-z][a-z-]+", code)
            assert set(named) <= known | {"--help", "--version"}, code


def _parsed(call: str) -> tuple[str, set[str]]:
    """Return the command, where one is named in small letters, and the options of a call."""
    words = shlex.split(call)[1:]
    name = next((word for word in words if not word.startswith("-")), "")
    return name if name.islower() else "", {word for word in words if word.startswith("--")}


def test_every_guide_is_in_the_index_and_the_index_in_the_readme() -> None:
    index = GUIDES / "README.md"
    listed = {link.partition("#")[0] for link in links(index)}
    guides = {path.relative_to(GUIDES).as_posix() for path in GUIDES.rglob("*.md")} - {index.name}
    assert guides <= listed
    assert "docs/README.md" in links(ROOT / "README.md")


def test_every_decision_is_in_the_index() -> None:
    text = (GUIDES / "decisions.md").read_text(encoding="utf-8")
    assert re.findall(r"^- \[(.+)\]\(#\S+\)$", text, re.M) == re.findall(r"^### (.+)$", text, re.M)


def test_every_picture_is_shown() -> None:
    names = {Path(link).name for path in DOCUMENTS for link in links(path)}
    pictures = {path.name for path in GUIDES.iterdir() if path.suffix in (".svg", ".png")}
    assert pictures <= names


def test_every_command_stands_in_the_table_of_tasks() -> None:
    rows = [line for line in INDEX.split("\n") if line.startswith("|") and line.count("|") == 5]
    named = re.findall(r"`([a-z-]+)`", " ".join(row.split("|")[2] for row in rows))
    assert sorted(set(named)) == sorted(COMMANDS)


def test_every_command_is_called_in_a_guide() -> None:
    called = {
        command.words[1]
        for path in DOCUMENTS
        if path.is_relative_to(GUIDES)
        for block in blocks(path)
        if block.language in ("sh", "console")
        for command in commands(block)
        if command.words[0] == "wordbias"
    }
    calls = (call for path in DOCUMENTS for call in inline_calls(path))
    assert set(COMMANDS) <= called | {_parsed(call)[0] for call in calls}


def test_the_limits_stand_in_the_readme_as_in_every_result() -> None:
    assert LIMITS in " ".join(README.split())


def test_two_commands_do_all_the_set_up() -> None:
    assert "pip install .\nwordbias misp\n" in README
    setup = 'pip install -e ".[dev]" -c constraints.txt && pytest -n auto\n'
    assert setup in README
    assert setup in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert 'pytest -n auto -m ""\n' in README
    install, tests = setup.replace('"', "'").replace("-n auto", '-n auto -m ""').split(" && ")
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines(keepends=True)
    assert lines.index(f"{install}\n") < lines.index(tests)


def test_what_a_newcomer_types_works_in_every_shell() -> None:
    """PowerShell 5.1 has no `&&` and splits at commas, cmd has no single quotes and no comments."""
    for path in (ROOT / "README.md", GUIDES / "install.md"):
        for block in blocks(path):
            if block.language == "sh" and "## Developing" not in block.before:
                assert not re.search(r"&&|['#,\\]", block.text), block.text
    assert "```sh\npip install .\nwordbias misp\n" in (GUIDES / "install.md").read_text("utf-8")


def test_every_extra_that_is_named_is_one() -> None:
    install = (GUIDES / "install.md").read_text(encoding="utf-8")
    match = re.search(r"Install extras with (.*?)\(this site\)", install, re.DOTALL)
    assert match
    named = re.findall(r"`([a-z]+)`", match[1])
    setup = ConfigParser(interpolation=None)
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    assert {*named, "dev"} == set(setup["options.extras_require"])


def test_every_method_of_debiasing_is_named_and_counted() -> None:
    guide = (GUIDES / "debiasing.md").read_text(encoding="utf-8")
    for table in guide.split("| method |")[1:]:
        first = [line.split("|")[1] for line in table.split("\n\n")[0].splitlines()[2:]]
        assert re.findall(r"`([a-z-]+)`", " ".join(first)) == list(METHODS)
    (row,) = (line for line in INDEX.splitlines() if line.startswith("| debias vectors: "))
    named = row.split("|")[1].partition(": ")[2].lower().split(", ")
    assert [name.strip() for name in named] == list(METHODS)
    assert len(METHODS) == 14
    assert "fourteen methods" in " ".join(README.split())


def test_the_citation_can_be_read_and_is_of_this_version() -> None:
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["cff-version"] == "1.2.0"
    assert citation["title"] == "wordbias"
    assert str(citation["version"]) == wordbias.__version__
    for paper in citation["references"]:
        assert {"type", "title", "authors", "year"} <= set(paper)
