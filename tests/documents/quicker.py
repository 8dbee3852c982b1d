"""What the tests of the documents do otherwise than the documents, and why.

A document's own settings train for hours, or measure hundreds of thousands of pairs. Everything
that is changed for speed stands here, and nowhere else.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import wraps
from typing import Any

INSTEAD: dict[str, dict[str, str]] = {
    "audit": {"--skip": "clustering,gipe,recoverability,mab"},
    "bios": {
        "--limit": "400",
        "--seeds": "0",
        "--epochs": "1",
        "--retrain-epochs": "1",
        "--draws": "50",
        "--max-tokens": "48",
    },
    "ceat": {"--draws": "200"},
    "fine-tune": {"--limit": "64", "--epochs": "1", "--every": "2"},
    "mab-study": {"--epochs": "1", "--seeds": "0", "--jobs": "1"},
    "nli-fairness": {"--lists": "lists/"},
    "nli-train": {"--epochs": "1", "--seeds": "0", "--jobs": "1"},
    "probe": {"--epochs": "3", "--fractions": "50,100", "--seeds": "0"},
    "sweep": {"--lists": "lists/", "--share": "0.5"},
    "winobias": {"--draws": "100"},
}
"""For each command, options that it is given in place of, or beside, the document's."""

MEASURING = ("measure", "mab-study")
QUICK_MEASURES = "midb,direct-bias"
"""And SemBias where a document has it: clusters and neighbours take longer than all the others."""

THREADS = "1"
"""Of everything: threads that wait for each other cost more than they bring on small files."""

PREMISES = 40
"""Of the 1,968 "A person bought a hat ." of the marked-attribute sets."""

ALIASES = {"--processes": "--jobs"}

SKIPPED: dict[str, str] = {
    "git": "it would need a network",
    "make": "it runs the linters, or the tests from within a test",
    "pip": "it would install packages",
    "peer/bin/pip": "it would install packages",
    "pytest": "it would run the tests from within a test",
}
"""Programs that are not run."""

SHELL = ("gzip", "head")
"""Programs that a shell runs as they stand."""


def quicker_function(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a command, which takes the options above for its arguments."""
    instead = {
        option.removeprefix("--").replace("-", "_"): _value(text)
        for option, text in INSTEAD[name].items()
    }

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **(kwargs | instead))

    return call


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def quicker(words: tuple[str, ...]) -> list[str]:
    """Return the words of a `wordbias` command with the options above."""
    _, command, *rest = words
    rest = [ALIASES.get(word, word) for word in rest]
    instead = {"--threads": THREADS, **INSTEAD.get(command, {})}
    if command in MEASURING:
        instead["--only"] = QUICK_MEASURES + ",sembias" * ("--sembias" in rest)
        instead["--only"] += ",clustering" * ("--direction" in rest)
    for option, value in instead.items():
        while option in rest:
            at = rest.index(option)
            del rest[at : at + 2]
        rest += [option, value]
    return [command, *rest]
