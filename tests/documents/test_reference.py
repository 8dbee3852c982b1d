"""Every command, option, public name and measure has its place in the reference of the site."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from fences import ROOT

import wordbias
from wordbias.cli import _INTERRUPTED, SECTIONS
from wordbias.commands.words import WORDS
from wordbias.measures.registry import FAMILIES, MEASURES

COMMANDS = [name for section in SECTIONS.values() for name in section]
NAMES = sorted({*wordbias.__all__} - {"__version__"})


@pytest.fixture(scope="module")
def reference() -> Any:
    """Import the generator, which stands beside the settings of the site."""
    path = ROOT / "docs" / "site" / "reference.py"
    spec = importlib.util.spec_from_file_location("site_reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:  # a dataclass looks its module up
        patch.setitem(sys.modules, "site_reference", module)
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(reference: Any) -> dict[str, str]:
    return {name: page.text for name, page in reference.pages().items()}


def test_each_name_has_one_page_and_each_index_names_all(
    reference: Any, pages: dict[str, str]
) -> None:
    wanted = [reference.page_of_command(name) for name in COMMANDS]
    wanted += [reference.page_of_name(name) for name in NAMES]
    wanted += [reference.page_of_family(family.key) for family in FAMILIES]
    indices = [f"reference/{name}" for name in ("commands", "options", "python", "measures")]
    assert sorted(pages) == sorted([*wanted, *indices])
    assert len({name.lower() for name in pages}) == len(pages), "one file on some systems"
    listed = [name for names in reference.sections().values() for name in names]
    assert sorted(listed) == NAMES
    for name in wanted:
        index = "python" if name.startswith("reference/classes") else name.split("/")[1]
        short = name.removeprefix("reference/")
        entry = rf"^   .+ <(?:/reference/)?{short}>$"
        entries = re.findall(entry, pages[f"reference/{index}"], re.M)
        assert len(entries) == 1, name


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_its_help_and_each_option_once(
    reference: Any, pages: dict[str, str], name: str
) -> None:
    text, command = pages[reference.page_of_command(name)], reference.command_of(name)
    signatures = re.findall(r"^\.\. option:: (.+)$", text, re.M)
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            ours = [
                signature
                for signature in signatures
                if signature.split(",")[0].split()[0] == parameter.opts[0]
            ]
            assert len(ours) == 1, parameter.opts
            assert _words(parameter.help or "") <= _words(text), parameter.opts
    for option in command.common:
        assert f"<wordbias {option}>" in text
    assert _words(command.help.replace("\b", "")) - {"Examples:"} <= _words(text)


def _words(text: str) -> set[str]:
    return set(text.replace("\\ ", "").replace("\\", "").replace("``", "").split())


def test_every_word_and_common_option_is_on_the_page_of_options(
    reference: Any, pages: dict[str, str]
) -> None:
    text = pages["reference/options"]
    entries = dict(re.findall(r"^\.\. option:: ([\w-]+).*\n\n   (.+)$", text, re.M))
    assert len(entries) == len(re.findall(r"^\.\. option::", text, re.M))
    meanings = {re.sub(r"\W", "", meaning.lower()) for meaning in entries.values()}
    assert {re.sub(r"\W", "", meaning.lower()) for _, meaning in WORDS.values()} <= meanings
    for option in reference.common_options():
        assert option.opts[0] in entries
    for word, commands in reference.commands_with().items():
        assert commands, word


def test_every_public_name_is_documented_from_its_docstring(
    reference: Any, pages: dict[str, str]
) -> None:
    for name in NAMES:
        kind = "class" if name[0].isupper() else "function"
        kind = "exception" if name == "WordbiasError" else kind
        text = pages[reference.page_of_name(name)]
        assert f".. auto{kind}:: wordbias.{name}\n" in text


def test_every_measure_is_on_one_page_with_all_its_facts(
    reference: Any, pages: dict[str, str]
) -> None:
    text = "".join(pages[reference.page_of_family(family.key)] for family in FAMILIES)
    headings = re.findall(r"^([a-z0-9-]+)\n-+$", text, re.M)
    assert sorted(headings) == sorted(MEASURES)
    for family in FAMILIES:
        words = _words(pages[reference.page_of_family(family.key)].replace("`", ""))
        for fact in (family.question, family.description, family.limits):
            assert _words(fact.replace("`", "")) <= words
        for measure in family.measures:
            for _, fact in reference.facts_of(measure):
                assert _words(fact.replace("`", "")) <= words, measure.name


def test_markup_in_a_help_text_stays_text(reference: Any) -> None:
    plain, marked = reference._plain, reference._marked
    assert plain("a|b, nouns/*, a_b_ and --null 3") == r"a\|b, nouns/\*, a_b\_ and ``--null`` 3"
    assert plain("(--only=midb)") == r"(``--only``\ =midb)"
    assert marked("as `midb`, *she − he*, 5 * 3") == r"as ``midb``, *she − he*, 5 \* 3"


def test_a_page_is_made_from_a_file_that_is_there(reference: Any) -> None:
    for page in reference.pages().values():
        assert (ROOT / page.source).is_file(), page.source


def test_pages_of_names_that_are_gone_are_removed(reference: Any, tmp_path: Path) -> None:
    old = tmp_path / "reference" / "commands" / "gone.rst"
    old.parent.mkdir(parents=True)
    old.write_text("gone\n====\n", encoding="utf-8")
    written = reference.write(tmp_path)
    assert not old.exists()
    for name, page in written.items():
        assert (tmp_path / f"{name}.rst").read_text(encoding="utf-8") == page.text


@pytest.mark.parametrize(
    ("code", "page"),
    [
        ("wordbias misp", "reference/commands/misp"),
        ("wordbias mab-eval", "reference/commands/mab-eval"),
        ("wb.mab_eval", "reference/python/mab_eval"),
        ("wordbias.MISP", "reference/classes/MISP"),
        ("misp", None),
        ("wordbias misp --null 9", None),
        ("wordbias nothing", None),
        ("wb.nothing", None),
    ],
)
def test_code_that_is_just_a_name_has_a_page(reference: Any, code: str, page: str | None) -> None:
    assert reference.page_of(code) == page


def test_every_exit_status_is_explained(reference: Any) -> None:
    golden = (ROOT / "tests" / "golden" / "expected").glob("*.json")
    seen = {json.loads(path.read_text(encoding="utf-8"))["exit"] for path in golden}
    assert {*map(str, {*seen, _INTERRUPTED})} <= set(reference.STATUSES)


def test_the_exit_statuses_are_those_of_the_guide(reference: Any) -> None:
    text = (ROOT / "docs" / "shell.md").read_text(encoding="utf-8").replace("`", "")
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", text, re.M)
    assert dict(rows) == reference.STATUSES
