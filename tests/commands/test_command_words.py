"""Each word of the command line has one meaning: the table, the help and the functions agree."""

from __future__ import annotations

import importlib
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest

from wordbias.cli import SECTIONS
from wordbias.commands.words import GROUPS, WORDS

COMMANDS = [name for section in SECTIONS.values() for name in section]
MANY = {"bios", "probe", "sweep"}
"""Commands with more than 25 options of their own: docs/decisions.md says why."""


def _of(name: str) -> click.Command:
    module = importlib.import_module(f"wordbias.commands.{name.replace('-', '_')}")
    command: click.Command = module.command
    return command


def _parameters() -> Iterator[tuple[str, click.Parameter]]:
    for name in COMMANDS:
        for parameter in _of(name).params:
            if not getattr(parameter, "hidden", False) and "--format" not in parameter.opts:
                yield name, parameter


def test_every_word_stands_in_the_table_and_every_word_of_it_is_used() -> None:
    used = {parameter.name for _, parameter in _parameters()}
    assert used == {*WORDS}
    assert {group for group, _ in WORDS.values()} == {*GROUPS}
    meanings = [meaning for _, meaning in WORDS.values()]
    assert len(meanings) == len({*meanings})


def test_no_option_has_the_name_of_another_with_an_s() -> None:
    names = {
        parameter.name for _, parameter in _parameters() if isinstance(parameter, click.Option)
    }
    assert not {name for name in names if f"{name}s" in names}


def test_one_word_is_spelled_one_way() -> None:
    spelled: dict[str, set[tuple[str, ...]]] = {}
    for _, parameter in _parameters():
        if isinstance(parameter, click.Option):
            long = tuple(sorted(opt for opt in parameter.opts if opt.startswith("--")))
            spelled.setdefault(str(parameter.name), set()).add(long)
    assert {name: spellings for name, spellings in spelled.items() if len(spellings) > 1} == {}


OF_THEIR_OWN = {
    *("draws", "head", "limit", "lr", "max_length", "only", "pooling", "seed", "set"),
    *("special_tokens", "template", "tokens", "top"),
}
"""Options that take other values in one command than in another."""


def test_what_one_command_refuses_as_a_value_others_refuse_too() -> None:
    """So the values of all other options are tried below, in one command that has them."""
    kinds: dict[str, set[str]] = {}
    for _, parameter in _parameters():
        if isinstance(parameter, click.Option):
            kinds.setdefault(str(parameter.name), set()).add(repr(parameter.type))
    assert {name for name, types in kinds.items() if len(types) > 1} == OF_THEIR_OWN


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("misp --format xml", "'xml' is not one of"),
        ("misp --dims 0", "0 is not in the range x>=1"),
        ("misp --dims two", "'two' is not a valid integer"),
        ("misp --threads 0", "0 is not in the range x>=1"),
        ("misp --seed x", "'x' is not a valid integer"),
        ("misp --seed -1", "-1 is not in the range x>=0"),
        ("misp --null 0", "--null"),
        ("misp --seed-lists 0", "--seed-lists"),
        ("misp --nonsense", "No such option '--nonsense'. (Did you mean"),
        ("ceat --no-baselines", "'--no-baselines' here; these have it: bios, coref-study; see"),
        ("ceat --groups x", "these have it: audit, misp, debias, choose, measure, weat and "),
        ("misp a.txt b.txt", "unexpected extra argument"),
        ("misp --vocab", "requires an argument"),
        ("measure --extremes 0", "0 is not in the range x>=1"),
        ("nli-train --train t --dev d -o m --precision float8", "'float8' is not one of"),
        ("nli-train --train t --dev d -o m --dropout 1", "1.0 is not in the range"),
        ("nli-train --train t --dev d -o m --epochs 0", "0 is not in the range"),
        ("nli-train --train t --dev d -o m --recipe best", "'best' is not one of 'published'"),
        ("nli-train --train t --dev d -o m --seed 0,x", "expected whole numbers"),
        ("nli-train --train t --dev d -o m --seed -1", "expected whole numbers"),
        ("nli-train --train t --dev d -o m --seed ''", "expected whole numbers"),
        ("quality --analogy sum", "'sum' is not one of 'add', 'mul'"),
        ("quality --oov zero", "'zero' is not one of 'skip', 'mean'"),
        ("weat --ddof 2", "2 is not in the range"),
    ],
)
def test_a_value_that_an_option_does_not_take(
    cli: Callable[..., Any], typed: str, said: str
) -> None:
    done = cli(*shlex.split(typed))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("wordbias: ")
    assert said in done.err


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_at_most_25_options_of_its_own(name: str) -> None:
    own = [
        parameter
        for parameter in _of(name).params
        if isinstance(parameter, click.Option)
        and not parameter.hidden
        and "--format" not in parameter.opts
    ]
    assert (len(own) > 25) == (name in MANY)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_has_little_prose_and_its_options_in_groups(
    cli: Callable[..., Any], name: str
) -> None:
    text = cli("help", name).out
    prose = text.partition("Examples:")[0].partition("METHODS:")[0].splitlines()[1:]
    assert len([line for line in prose if line.strip()]) <= 15
    titles = [line[:-1] for line in text.splitlines() if line[:-1] in GROUPS]
    assert titles == [group for group in GROUPS if group in titles] != []


def test_unknown_topics_of_help_are_refused(cli: Callable[..., Any]) -> None:
    done = cli("help", "inpl")
    assert done.code == 2
    assert "No such command or method 'inpl'. Did you mean inlp?" in done.err
