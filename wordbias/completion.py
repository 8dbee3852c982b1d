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
    return click.Command(name, params=[_parameter(one) for one in _commands().get(name, [])])


def commands_with(option: str) -> list[str]:
    """Return the commands that have an option, such as ``--groups``."""
    return [
        name
        for name, parameters in _commands().items()
        if any(option in (*one.get("opts", ()), *one.get("secondary", ())) for one in parameters)
    ]


def _commands() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(
        (files("wordbias") / "completion.json").read_text(encoding="utf-8")
    )
    return found


def _parameter(one: Mapping[str, Any]) -> click.Parameter:
    names_groups = "--groups" in one.get("opts", ())
    offer = _offer(one["name"], one.get("words", {}), groups=names_groups)
    if "opts" not in one:
        return click.Argument([one["name"]], nargs=one["nargs"], shell_complete=offer)
    if one.get("flag"):
        pair = "/".join([one["opts"][-1], *one.get("secondary", [])[-1:]])
        return click.Option([one["name"], *one["opts"][:-1], pair], is_flag=True, help=one["help"])
    return click.Option(
        [one["name"], *one["opts"]],
        multiple=one.get("multiple", False),
        help=one["help"],
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

    return [(name, one.title) for name, one in catalogue().items() if available(one)]
