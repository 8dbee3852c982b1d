"""Write what is generated inside of stored files, or check it.

python tools/write_tables.py            # write it
python tools/write_tables.py --check    # fail if it is not what would be written

- `wordbias/completion.json`, from which a shell completes commands, options and methods
- the settings of methods, between ``<!-- settings: COMMAND -->`` and ``<!-- end -->`` of two guides
- docs/verdicts.md: the rules of each question of `wordbias.verdicts`, and the limits of costs,
  between ``<!-- table: QUESTION -->`` and ``<!-- end -->``
- docs/rows.md: each part of `wordbias/measures/rows.toml`, the keys of rows, between
  ``<!-- keys: PART -->`` and ``<!-- end -->``
- docs/known-embeddings.md: the reference values, between ``<!-- reference values -->`` and
  ``<!-- end -->``

The reference of commands, public names and measures is not stored: `docs/site/reference.py` makes
it when the site is built.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from wordbias.cli import SECTIONS, cli
from wordbias.commands.shell import Command
from wordbias.data import reference_path
from wordbias.measures.known import COVERED
from wordbias.measures.registry import ROW_KEYS, short_title, variant_of
from wordbias.methods.settings import METHODS as DEBIASING
from wordbias.outcomes.settings import METHODS as REWRITING
from wordbias.settings import Known, Setting, default_of, settings_of, summary_of
from wordbias.verdicts import LIMITS, RULES

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
COMPLETION = ROOT / "wordbias" / "completion.json"
METHODS: dict[str, Known] = {"debias": DEBIASING, "choose": DEBIASING, "rewrite": REWRITING}
COSTS = "Costs"
_TABLE = re.compile(
    r"(<!-- (settings|table|keys|reference values)(?:: (.+?))? -->\n).*?(<!-- end -->)", re.DOTALL
)
SHOWN = (
    ("direct-bias", ""),
    ("direct-bias-pca", ""),
    ("sembias-definition", "all"),
    ("sembias-stereotype", "all"),
    ("gipe", "θ=0.03"),
    ("weat", "weat6"),
    ("weat", "weat7"),
    ("similarity", "men"),
)
"""Measures of the table of reference values, each with its variant."""


def written() -> dict[Path, str]:
    """Return the files with what is generated up to date."""
    texts = {COMPLETION: completion()}
    for name, update in DOCUMENTS.items():
        texts[DOCS / name] = update((DOCS / name).read_text(encoding="utf-8"))
    return texts


def completion() -> str:
    """Return the commands with their arguments and options, for the completion of a shell."""
    parts = []
    for name in (name for commands in SECTIONS.values() for name in commands):
        lines = [
            json.dumps(_known(name, parameter), ensure_ascii=False)
            for parameter in _usable(_found(name))
        ]
        parts.append(f"{json.dumps(name)}: [\n" + ",\n".join(lines) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _usable(command: Command) -> list[click.Parameter]:
    """Return the parameters of a command without the common options that it does not use."""
    return [
        parameter
        for parameter in command.params
        if not (isinstance(parameter, click.Option) and parameter.hidden)
        or {*parameter.opts, *parameter.secondary_opts} & {*command.common}
    ]


def _known(command: str, one: click.Parameter) -> dict[str, object]:
    if isinstance(one, click.Option):
        words = {str(word): "" for word in getattr(one.type, "choices", ())}
        about = {"opts": one.opts, "secondary": one.secondary_opts, "flag": one.is_flag}
        about |= {"multiple": one.multiple, "help": " ".join((one.help or "").split())}
    else:
        known = METHODS.get(command, {}) if one.name == "methods" else {}
        words = {name: summary_of(kind) for name, kind in known.items()}
        about = {"nargs": one.nargs}
    about = {"name": one.name, **about, "words": words}
    return {key: value for key, value in about.items() if value}


def _found(name: str) -> Command:
    command = cli.get_command(click.Context(cli), name)
    if not isinstance(command, Command):
        raise SystemExit(f"there is no command {name}")
    return command


def tables(text: str) -> str:
    """Return a document with its tables up to date."""
    write = {
        "settings": _settings,
        "table": _rules,
        "keys": _keys,
        "reference values": lambda _: reference_table(),
    }
    return _TABLE.sub(lambda table: f"{table[1]}{write[table[2]](table[3])}{table[4]}", text)


def _settings(command: str) -> str:
    """Return a line for each setting of each method."""
    lines = ["| setting | takes | default | |", "| --- | --- | --- | --- |"]
    for name, kind in METHODS[command].items():
        for setting in settings_of(kind).values():
            cells = [
                f"`{name}:{setting.typed}`",
                setting.expected,
                _default_of(setting),
                setting.sentence,
            ]
            lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return " ".join(text.replace("``", "`").split()).replace("|", "\\|")


def _default_of(one: Setting) -> str:
    return default_of(one).strip(" []").removeprefix("default: ")


def rules(text: str) -> str:
    """Return the document of verdicts with its tables up to date."""
    questions = [table[3] for table in _TABLE.finditer(text)]
    if lacking := {*RULES, COSTS} ^ set(questions):
        raise SystemExit(f"verdicts.md: no table, or no rules, of {', '.join(sorted(lacking))}")
    return tables(text)


def _keys(part: str) -> str:
    lines = [f"| `{key}` | {what} |" for key, what in ROW_KEYS[part].items()]
    return "\n".join(["| key | what it says |", "| --- | --- |", *lines, ""])


def _rules(question: str) -> str:
    if question == COSTS:
        cells = [(what, f"{limit:g}") for what, limit in LIMITS.items()]
        lines = ["| share kept of | at least |", "| --- | ---: |"]
    else:
        cells = [(rule.when, rule.verdict) for rule in RULES[question]]
        lines = ["| the first that holds | verdict |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {' | '.join(line)} |" for line in cells), ""])


def reference_table() -> str:
    """Return a line for each known embedding: its size, and its values with their chance levels."""
    heads = [f"{short_title(name)} {variant}".strip() for name, variant in SHOWN]
    lines = [
        "| " + " | ".join(["embedding", "words × dimension", *heads]) + " |",
        "| --- | ---: |" + " ---: |" * len(heads),
    ]
    for embedding in json.loads(reference_path().read_text(encoding="utf-8"))["embeddings"]:
        values = {
            (row["measure"], variant_of(row["measure"], row)): row for row in embedding["rows"]
        }
        size = (
            f"{embedding['words']:,} × {embedding['dim']}"
            if "words" in embedding
            else f"{embedding['table']}"
        )
        cells = [embedding["name"], size, *(_value(values.get(key)) for key in SHOWN)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _value(row: dict[str, Any] | None) -> str:
    if row is None or row.get("coverage", 1) < COVERED:
        return "–"
    chance = f" ({row['chance']:.3f})" if "chance" in row else ""
    return f"{row['value']:.3f}{chance}"


DOCUMENTS: dict[str, Callable[[str], str]] = {
    "papers/methods.md": tables,
    "fairness.md": tables,
    "verdicts.md": rules,
    "rows.md": tables,
    "known-embeddings.md": tables,
}


def main() -> None:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    for path, text in written().items():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path.name} is not up to date; run python tools/write_tables.py")


if __name__ == "__main__":
    main()
