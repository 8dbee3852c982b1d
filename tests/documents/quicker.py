"""What the tests of the documents do otherwise than the documents, and why.

A document's own settings train for hours, or measure hundreds of thousands of pairs. Everything
that is changed for speed stands here, and nowhere else.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import click
import pytest

import wordbias
from wordbias.cli import cli
from wordbias.measures import attacks
from wordbias.measures.chance import draw_nulls
from wordbias.measures.clustering import clustering
from wordbias.methods import density_matching
from wordbias.models.text_encoders import is_output_only
from wordbias.probes import held_out

INSTEAD: dict[str, dict[str, str]] = {
    "audit": {"--skip": "clustering,gipe,recoverability,mab"},
    "bios": {
        "--limit": "400",
        "--seed": "0",
        "--epochs": "1",
        "--retrain-epochs": "1",
        "--draws": "50",
        "--max-length": "48",
    },
    "ceat": {"--draws": "200"},
    "coref-study": {
        "--strategies": "none",
        "--seed": "0",
        "--epochs": "1",
        "--hidden": "20",
        "--segment-length": "32",
    },
    "coref-train": {"--epochs": "1", "--hidden": "20", "--segment-length": "32"},
    "coref-score": {"--draws": "100"},
    "fine-tune": {"--limit": "64", "--epochs": "1", "--every": "2"},
    "mab-study": {"--epochs": "1", "--seed": "0", "--jobs": "1", "--set": "explicit"},
    "nli-train": {"--epochs": "1", "--seed": "0", "--jobs": "1"},
    "probe": {"--epochs": "3", "--fractions": "50,100", "--seed": "0"},
    "retrieval": {"--seed-lists": "1", "--draws": "20"},
    "sentiment": {"--groups": "age", "--draws": "20"},
    "sweep": {"--lists": "lists/", "--top": "0.5", "--jobs": "1"},
    "train-vectors": {"--vector-size": "8", "--epochs": "2"},
    "winobias": {"--draws": "100"},
}
"""For each command, options that it is given in place of, or beside, the document's."""

MODELS = ("all-MiniLM-L6-v2", "minilm-nsp", "smollm2", "--endpoint", "--read-vectors")
OF_MODELS = {"audit": {"--skip": "probe,untrained,ceat"}}
"""The same for commands that are called with one of these models or options."""

ENDPOINT = ""
"""Address of the server that stands in for that of a document."""

MEASURING = ("measure", "mab-study")
QUICK_MEASURES = "midb,direct-bias"
"""And SemBias where a document has it: clusters and neighbours take longer than all the others."""

THREADS = "1"
"""Of everything: threads that wait for each other cost more than they bring on small files."""

SKIPPED: dict[str, str] = {
    "git": "it would need a network",
    "hf": "it would need a network",
    "inspect": "tests/integrations run it",
    "lm_eval": "tests/integrations run it",
    "make": "it runs the linters, or the tests from within a test",
    "pip": "it would install packages",
    "pipx": "it would install packages",
    "peer/bin/pip": "it would install packages",
    "pytest": "it would run the tests from within a test",
    "sphinx-build": "it would need a network; `test_site.py` builds the site",
    "uvx": "it would install packages",
}
"""Programs that are not run."""

ENGINES = ("datasets", "ray", "dask", "pyspark")
"""Packages whose recipes `test_engine_recipes.py` runs, each on its engine."""

TOOLKITS = ("evaluate", "gguf", "mteb", "wordbias_inspect")
"""Modules whose blocks `tests/integrations` runs, each with its package."""

SHELL = ("gzip", "head")
"""Programs that a shell runs as they stand."""


def quicker(words: tuple[str, ...]) -> list[str]:
    """Return the words of a `wordbias` command with the options above."""
    _, command, *rest = words
    for option, value in {"--threads": THREADS, **_instead(command, rest)}.items():
        while option in rest:
            at = rest.index(option)
            del rest[at : at + 2]
        rest += [option, value]
    return [command, *rest]


def _instead(command: str, given: Collection[str]) -> dict[str, str]:
    """Return the options of a command that is called with others."""
    if "--write-texts" in given:
        return {}
    known = OF_MODELS if {*MODELS} & {*given} and command in OF_MODELS else INSTEAD
    instead = dict(known.get(command, {}))
    if command == "sweep" and "--task" in given:
        instead = {"--jobs": "1", "--drop": "0.5", "--null": "1"}
    if command == "audit" and "pronouns" in given:
        instead["--skip"] = "probe,untrained"  # that of words is not measured
    if command == "mab-eval" and "parity" in given:
        instead["--lists"] = "lists/"
    if "--jobs" in given:
        instead["--jobs"] = "1" if command in ("mab-study", "nli-train", "sweep") else "2"
    counts = ("--null", "--seed-lists", "--average-epochs")
    instead |= {option: "1" for option in counts if option in given}
    if command == "mab-study" and "--plot" in given:
        instead["--seed"] = "0,1"  # a difference needs two
    if "--endpoint" in given:
        instead["--endpoint"] = ENDPOINT
    if command in MEASURING:
        instead["--only"] = QUICK_MEASURES + ",sembias" * ("--sembias" in given)
        instead["--only"] += ",clustering" * ("--direction" in given)
    return instead


@contextmanager
def fewer_repetitions() -> Iterator[None]:
    """Compute chance levels along few axes, cluster from few starts, train probes for a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw_nulls, "__defaults__", (3,))
        patch.setattr(held_out, "_EPOCHS", 2)
        patch.setattr(attacks, "_UPDATES", 1)
        patch.setattr(attacks, "_TREES", 1)
        patch.setattr(density_matching, "_STEPS", 2)
        for name in ("seeds", "n_init"):
            patch.setitem(clustering.__kwdefaults__, name, 2)  # type: ignore[arg-type]
        yield


def quicker_functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield the public functions that are called with the options above, by name."""
    for command in {*INSTEAD, *MEASURING, "mab-eval"}:
        name = command.replace("-", "_")
        yield name, partial(_quickly, command, getattr(wordbias, name))


def _quickly(command: str, function: Callable[..., object], *args: object, **given: object) -> Any:
    typed = [
        *(argument for argument in (*args, *given.values()) if isinstance(argument, str)),
        *("--" + name.replace("_", "-") for name in given),
    ]
    answering = any(map(is_output_only, args))
    instead = _instead(command, [*typed, *(["all-MiniLM-L6-v2"] if answering else [])])
    parsed = cli.get_command(click.Context(cli), command)
    assert parsed is not None
    words = [word for pair in instead.items() for word in pair]
    values = parsed.make_context(command, words, resilient_parsing=True).params
    names = {option.removeprefix("--").replace("-", "_") for option in instead}
    names &= {*inspect.signature(function).parameters}  # others are settings of wordbias.config
    unchanged = {"only"} & set(given)  # of the report of these a document may ask for a measure
    return function(*args, **{**given, **{name: values[name] for name in names - unchanged}})
