"""Shell completion of ``wordbias``, from ``completion.json``, without importing a command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import Any

import click
from click.shell_completion import CompletionItem

Offer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

FETCHED = (
    "embedding",
    "embeddings",
    "source",
    "original",
    "vectors",
    "sembias",
    "benchmarks",
    "train",
    "dev",
    "test",
    "snli",
    "stereoset",
    "lists",
)
"""Parameters that accept the name of fetched data in place of a path."""


def command(name: str) -> click.Command:
    """Return a command with arguments and options, but without a function."""
    return click.Command(name, params=[_parameter(record) for record in _commands().get(name, [])])


def commands_with(option: str) -> list[str]:
    """Return the commands that have an option, such as ``--groups``."""
    return [
        name
        for name, parameters in _commands().items()
        if any(
            option in (*parameter.get("opts", ()), *parameter.get("secondary", ()))
            for parameter in parameters
        )
    ]


def _commands() -> dict[str, list[dict[str, Any]]]:
    commands: dict[str, list[dict[str, Any]]] = json.loads(
        (files("wordbias") / "completion.json").read_text(encoding="utf-8")
    )
    return commands


def _parameter(record: Mapping[str, Any]) -> click.Parameter:
    names_groups = "--groups" in record.get("opts", ())
    offer = _offer(record["name"], record.get("words", {}), groups=names_groups)
    if "opts" not in record:
        return click.Argument([record["name"]], nargs=record["nargs"], shell_complete=offer)
    if record.get("flag"):
        pair = "/".join([record["opts"][-1], *record.get("secondary", [])[-1:]])
        return click.Option(
            [record["name"], *record["opts"][:-1], pair], is_flag=True, help=record["help"]
        )
    return click.Option(
        [record["name"], *record["opts"]],
        multiple=record.get("multiple", False),
        help=record["help"],
        shell_complete=offer,
    )


def _offer(name: str, words: Mapping[str, str], *, groups: bool) -> Offer:
    """Return the completion function of a parameter; it offers files if nothing else is known."""

    def offer(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        if words:
            return _beginning(words.items(), incomplete)
        if name == "names":
            from wordbias.resources import catalogue

            titles = [(key, resource.title) for key, resource in catalogue().items()]
            return _beginning(titles, incomplete)
        known: Iterable[tuple[str, str]] = []
        if name in FETCHED:
            known = _fetched()
        elif groups:
            from wordbias.wordlists.attribute_files import ATTRIBUTES

            known = ATTRIBUTES.items()
        return [CompletionItem(incomplete, type="file"), *_beginning(known, incomplete)]

    return offer


def _beginning(known: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    """Return the words that begin as typed; in a list with commas, the last one is completed."""
    before, comma, typed = incomplete.rpartition(",")
    return [
        CompletionItem(before + comma + word, help=text)
        for word, text in known
        if word.startswith(typed)
    ]


def _fetched() -> list[tuple[str, str]]:
    from wordbias.resources import available, catalogue

    return [(name, resource.title) for name, resource in catalogue().items() if available(resource)]
