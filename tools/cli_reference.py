"""Write docs/cli.md, the reference of all commands and options, from the commands themselves.

And wordbias/completion.json, from which a shell completes them, and the tables of the methods'
settings, which stand between ``<!-- settings: COMMAND -->`` and ``<!-- end -->`` in two guides.

python tools/cli_reference.py            # write them
python tools/cli_reference.py --check    # fail if they are not what would be written
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from wordbias.cli import SECTIONS, cli
from wordbias.commands.shell import Command, common_options
from wordbias.commands.words import GROUPS, WORDS
from wordbias.methods.settings import METHODS as DEBIASING
from wordbias.outcomes.settings import METHODS as REWRITING
from wordbias.settings import Known, Setting, default_of, settings_of, summary_of

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "docs" / "cli.md"
WORDS_PAGE = ROOT / "docs" / "words.md"
COMPLETION = ROOT / "wordbias" / "completion.json"
METHODS: dict[str, Known] = {"debias": DEBIASING, "choose": DEBIASING, "rewrite": REWRITING}
GUIDES = {
    "debias": ROOT / "docs" / "papers" / "methods.md",
    "rewrite": ROOT / "docs" / "fairness.md",
}
BLOCK = re.compile(r"(<!-- settings: (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
HEAD = """# Commands and options

Written by `python tools/cli_reference.py` from the commands themselves; `wordbias COMMAND --help`
says the same, and [words.md](words.md) what each option means. Results go to standard output,
progress and notes to standard error. An error is one line that begins with `wordbias:`.

| exit status | |
| --- | --- |
| 0 | The command did what it was asked for. |
| 1 | An answer could not be given: a file cannot be read, words are missing, nothing improves. |
| 2 | Wrong usage: an unknown option, method, attribute, measure or query; options that contradict. |
| 130 | Interrupted by Ctrl-C; the line says what is complete, and whether the same call resumes. |
"""
WORDS_HEAD = """# The words of the command line

Written by `python tools/cli_reference.py` from `wordbias/commands/words.py`. Each option or argument
has one meaning, wherever it stands; in Python the parameter has the same name, with underscores.
What it does in one command is said by `wordbias COMMAND --help`. The settings of methods, such as
`inlp:rounds=10`, are in [methods.md](papers/methods.md#settings) and [fairness.md](fairness.md); the common
options, such as `--device`, in [cli.md](cli.md#common-options).
"""

COMMON = """## Common options

Of several commands; in Python they are `wordbias.config`. A command refuses one that it does not
use.

| option | |
| --- | --- |"""


def reference() -> str:
    """Return the whole text."""
    parts = [HEAD]
    parts.append(COMMON)
    parts.append("\n".join([*map(_row, common_options()), ""]))
    for title, commands in SECTIONS.items():
        parts.append(f"## {title}\n")
        parts += [_command(name) for name in commands]
    return "\n".join(parts)


def completion() -> str:
    """Return the commands with their arguments and options, for the completion of a shell."""
    parts = []
    for name in (name for commands in SECTIONS.values() for name in commands):
        lines = [json.dumps(_known(name, one), ensure_ascii=False) for one in _usable(_found(name))]
        parts.append(f"{json.dumps(name)}: [\n" + ",\n".join(lines) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _usable(command: Command) -> list[click.Parameter]:
    """Return the parameters of a command without the common options that it does not use."""
    return [
        one
        for one in command.params
        if not (isinstance(one, click.Option) and one.hidden)
        or {*one.opts, *one.secondary_opts} & {*command.common}
    ]


def words() -> str:
    """Return the table of words: each with its meaning and the commands that have it."""
    having: dict[str, list[str]] = {}
    for name in (name for commands in SECTIONS.values() for name in commands):
        for one in _found(name).params:
            if not getattr(one, "hidden", False) and one.name in WORDS:
                having.setdefault(one.name, []).append(name)
    parts = [WORDS_HEAD]
    for group in GROUPS:
        parts.append(f"## {group}\n\n| word | meaning | commands |\n| --- | --- | --- |")
        parts += [
            f"| `{_typed(word)}` | {_cell(meaning)} | {', '.join(having[word])} |"
            for word, (place, meaning) in sorted(WORDS.items())
            if place == group
        ]
        parts.append("")
    return "\n".join(parts)


def _typed(word: str) -> str:
    """Return how a word is typed: as an option, or in capitals as an argument."""
    for name in (name for commands in SECTIONS.values() for name in commands):
        for one in _found(name).params:
            if one.name == word and isinstance(one, click.Option):
                return max(one.opts, key=len)
    return word.upper()


def guide(text: str) -> str:
    """Return a guide with its table of settings up to date."""
    return BLOCK.sub(lambda found: f"{found[1]}{_settings(METHODS[found[2]])}{found[4]}", text)


def _settings(known: Known) -> str:
    """Return a line for each setting of each method."""
    lines = ["| setting | takes | default | |", "| --- | --- | --- | --- |"]
    for name, kind in known.items():
        for one in settings_of(kind).values():
            cells = [f"`{name}:{one.typed}`", one.expected, _default_of(one), one.sentence]
            lines.append("| " + " | ".join(_cell(cell.replace("``", "`")) for cell in cells) + " |")
    return "\n".join([*lines, ""])


def _default_of(one: Setting) -> str:
    return default_of(one).strip(" []").removeprefix("default: ")


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


def _command(name: str) -> str:
    command = _found(name)
    arguments = [one for one in command.params if isinstance(one, click.Argument)]
    usage = " ".join(["wordbias", name, "[OPTIONS]", *(_argument(one) for one in arguments)])
    lines = [f"### {name}\n", f"```text\n{usage}\n```\n", *_said(command.help or "")]
    lines += ["| option | |", "| --- | --- |"]
    options = [one for one in command.params if isinstance(one, click.Option)]
    lines += [_row(one) for one in options if not one.hidden]
    common = ", ".join(f"`{name}`" for name in command.common)
    lines += ["", f"[Common options](#common-options): {common}."]
    return "\n".join([*lines, ""])


def _argument(argument: click.Argument) -> str:
    name = (argument.metavar or (argument.name or "").upper()).strip("[]").removesuffix("...")
    name += "..." * (argument.nargs == -1)
    return name if argument.required else f"[{name}]"


def _said(help_text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; what it keeps line by line becomes a block."""
    for paragraph in inspect.cleandoc(help_text).split("\n\n"):
        text = paragraph.strip("\n")
        if text.startswith("\b"):
            yield "```text\n" + text.removeprefix("\b").strip("\n") + "\n```\n"
        else:
            yield " ".join(text.split()) + "\n"


def _row(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    if not option.is_flag:
        names += f" {_values(option)}"
    return f"| {names} | {_cell(option.help or '')}{_default(option)} |"


def _values(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return _cell(" \\| ".join(map(str, option.type.choices)), escaped=True)
    return (option.metavar or option.type.name.upper()).replace("|", "\\|")


def _default(option: click.Option) -> str:
    shown = option.show_default is True and option.default is not None
    if not shown or option.multiple:
        return ""
    pair = option.is_flag and option.secondary_opts
    value = option.opts[0] if pair and option.default else option.default
    value = option.secondary_opts[0] if pair and not option.default else value
    return f" Default: {value}."


def _cell(text: str, *, escaped: bool = False) -> str:
    text = " ".join(text.split())
    return text if escaped else text.replace("|", "\\|")


def main() -> None:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    texts = {OUTPUT: reference(), COMPLETION: completion(), WORDS_PAGE: words()}
    texts |= {path: guide(path.read_text(encoding="utf-8")) for path in GUIDES.values()}
    for path, text in texts.items():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path.name} is not up to date; run python tools/cli_reference.py")


if __name__ == "__main__":
    main()
