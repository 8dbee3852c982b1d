"""Pages of the reference, one a name: commands, options, Python, measures.

They are made from the commands, the docstrings and `wordbias/measures/measures.toml` when the site
is built, and stored in no repository. `conf.py` writes them; tests call `pages` without Sphinx.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

import wordbias
from wordbias.cli import SECTIONS, cli
from wordbias.commands.shell import Command, common_options
from wordbias.commands.words import GROUPS, OUTPUT, WORDS
from wordbias.measures.registry import FAMILIES, Family, Measure
from wordbias.outcomes.settings import METHODS

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "reference"
COMMANDS = {name: what for commands in SECTIONS.values() for name, what in commands.items()}
NAMES = tuple(name for name in wordbias.__all__ if name != "__version__")
TYPES = ("Embedding", "Subspace", "Attribute", "Query", "Representations", "Moments", "Adapter")
TYPES += ("Report", "Row", "Experiment")
STATUSES = {
    "0": "The command did what it was asked for.",
    "1": "An answer could not be given: an unreadable file, missing words, nothing improves.",
    "2": "Wrong usage: an unknown option, method, attribute, measure or query, or a contradiction.",
    "3": "A condition of --fail-if is met, or a check of a file failed; the output is complete.",
    "130": "Interrupted by Ctrl-C; the line says what is complete, and if the same call resumes.",
}
_SPECIAL = re.compile(r"[\\*`|]|_(?=\W|$)|:(?=//|:)")
_CLOSED = re.compile(r"(?<=\w``)(?=[\w=(])")
_NAMED = re.compile(r"(?:wb|wordbias)\.(\w+)")
_MARKUP = re.compile(r"(\*[^*]+\*|`[^`]+`)")
_TYPED = re.compile(r"(?<![\w-])(--[a-z][\w-]*\w)")


@dataclass(frozen=True)
class Page:
    """A page in reStructuredText, and the file of the repository that it is made from."""

    text: str
    source: str


def pages() -> dict[str, Page]:
    """Return all pages by their names on the site."""
    by_name = {f"{FOLDER}/commands": Page(_commands(), "wordbias/cli.py")}
    for name in COMMANDS:
        function = getattr(wordbias, name.replace("-", "_"))
        by_name[page_of_command(name)] = Page(_command(name), _source(function))
    by_name[f"{FOLDER}/options"] = Page(_options(), "wordbias/commands/words.py")
    by_name[f"{FOLDER}/python"] = Page(_python(), "wordbias/__init__.py")
    for name in NAMES:
        by_name[page_of_name(name)] = Page(_name(name), _source(getattr(wordbias, name)))
    table = "wordbias/measures/measures.toml"
    by_name[f"{FOLDER}/measures"] = Page(_measures(), table)
    for family in FAMILIES:
        by_name[page_of_family(family.key)] = Page(_family(family), table)
    return by_name


def page_of_command(name: str) -> str:
    """Return the page of a command."""
    return f"{FOLDER}/commands/{name}"


def page_of_name(name: str) -> str:
    """Return the page of a public name; `MISP` and `misp` are one file on some systems."""
    return f"{FOLDER}/{'classes' if inspect.isclass(getattr(wordbias, name)) else 'python'}/{name}"


def page_of_family(key: str) -> str:
    """Return the page of a family of measures."""
    return f"{FOLDER}/measures/{key}"


def page_of(code: str) -> str | None:
    """Return the page of what is typed, `wordbias misp` or `wb.misp`, if it has one."""
    command, name = code.removeprefix("wordbias "), _NAMED.fullmatch(code)
    if command != code and command in COMMANDS:
        return page_of_command(command)
    return page_of_name(name[1]) if name and name[1] in NAMES else None


def write(folder: Path) -> dict[str, Page]:
    """Write the pages below a folder, remove those of names that are gone, and return all."""
    by_name = pages()
    texts = {folder / f"{name}.rst": page.text for name, page in by_name.items()}
    for path, text in texts.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            new = path.with_suffix(".new")
            new.write_text(text, encoding="utf-8")
            new.replace(path)
    for path in (folder / FOLDER).rglob("*.rst"):
        if path not in texts:
            path.unlink(missing_ok=True)
    return by_name


def sections() -> dict[str, list[str]]:
    """Return the public names under their titles; each stands under one."""
    by_title: dict[str, list[str]] = {"Load vectors": ["load"]}
    for title, commands in SECTIONS.items():
        by_title[title] = [name.replace("-", "_") for name in commands]
    rewriting = [method.__name__ for method in METHODS.values()]
    known = {name for names in by_title.values() for name in names}
    known |= {*TYPES, *rewriting, "config", "WordbiasError"}
    by_title["Methods with fit and transform"] = [name for name in NAMES if name not in known]
    by_title["Methods of rewriting"] = rewriting
    by_title["Types"] = list(TYPES)
    by_title["Settings and errors"] = ["config", "WordbiasError"]
    return by_title


# Commands and options


def _commands() -> str:
    parts = [
        _heading("Commands", "="),
        "``wordbias COMMAND --help`` says the same. Results go to standard output, progress and "
        "notes to standard error. An error is one line that begins with ``wordbias:``. "
        f"What each option means: :doc:`/{FOLDER}/options`.\n",
    ]
    for title, commands in SECTIONS.items():
        parts.append(_heading(title, "-"))
        parts += [_term(name, f"commands/{name}", _plain(what)) for name, what in commands.items()]
    parts.append(_heading("Exit status", "-"))
    parts += [f"{code}\n   {what}\n" for code, what in STATUSES.items()]
    return "\n".join([*parts, _tree(f"{name} <commands/{name}>" for name in COMMANDS)])


def _command(name: str) -> str:
    command = command_of(name)
    arguments = [parameter for parameter in command.params if isinstance(parameter, click.Argument)]
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    usage = " ".join(["wordbias", name, "[OPTIONS]", *map(_argument, arguments)])
    parts = [_heading(f"wordbias {name}", "="), f".. program:: wordbias {name}\n"]
    parts += [_code(usage, "text"), *_help(command.help or "")]
    if arguments:
        parts.append(_heading("Arguments", "-"))
        for argument in arguments:
            parts.append(
                _option(
                    _argument(argument).strip("[]"), f"{_capital(WORDS[str(argument.name)][1])}."
                )
            )
    for group in GROUPS:
        chosen = [option for option in options if not option.hidden and _group(option) == group]
        if chosen:
            parts.append(_heading(group, "-"))
            parts += [_option(_signature(option), _said(option)) for option in chosen]
    common = ", ".join(f":option:`{flag} <wordbias {flag}>`" for flag in command.common)
    parts.append(_heading("Common options", "-") + f"\n{common}\n")
    function = name.replace("-", "_")
    parts.append(f"In Python: :py:func:`wordbias.{function}`.\n")
    return "\n".join(parts)


def _options() -> str:
    parts = [
        _heading("Options", "="),
        "Each option or argument has one meaning, wherever it stands. In Python the parameter "
        "has the same name, with underscores. The page of a command says what it does there. "
        "Settings of methods, such as ``inlp:rounds=10``, are in "
        ":doc:`/docs/papers/methods` and :doc:`/docs/fairness`.\n\n.. program:: wordbias\n",
    ]
    having = commands_with()
    for group in GROUPS:
        parts.append(_heading(group, "-"))
        words = [word for word, (place, _) in WORDS.items() if place == group]
        chosen = {_typed(word, having[word]): word for word in words}
        for typed, word in sorted(chosen.items(), key=lambda pair: pair[0].lstrip("-").lower()):
            commands = ", ".join(f":doc:`{name} <commands/{name}>`" for name in having[word])
            parts.append(_option(typed, f"{_capital(WORDS[word][1])}.", f"In {commands}."))
    parts.append(_heading("Common options", "-"))
    parts.append(
        "Of several commands; in Python they are ``wordbias.config``, and ``Report.check``. A command "
        "refuses one that it does not use.\n"
    )
    parts += [_option(_signature(option), _said(option)) for option in common_options()]
    return "\n".join(parts)


def commands_with() -> dict[str, dict[str, click.Parameter]]:
    """Return the parameters of each word by their commands."""
    having: dict[str, dict[str, click.Parameter]] = {}
    for name in COMMANDS:
        for parameter in command_of(name).params:
            if not getattr(parameter, "hidden", False) and parameter.name in WORDS:
                having.setdefault(parameter.name, {})[name] = parameter
    return having


def command_of(name: str) -> Command:
    """Return a command by its name."""
    command = cli.get_command(click.Context(cli), name)
    if not isinstance(command, Command):
        raise SystemExit(f"there is no command {name}")
    return command


def _group(option: click.Option) -> str:
    """Return the group of an option, as in the help; that of the terminal's own is Output."""
    return WORDS.get(str(option.name), (OUTPUT, ""))[0]


def _typed(word: str, parameters: Mapping[str, click.Parameter]) -> str:
    """Return how a word is typed: as an option, or in capitals as an argument."""
    options = [
        parameter for parameter in parameters.values() if isinstance(parameter, click.Option)
    ]
    return max(options[0].opts, key=len) if options else word.upper()


def _argument(argument: click.Argument) -> str:
    name = (argument.metavar or (argument.name or "").upper()).strip("[]").removesuffix("...")
    name = name.rstrip("]") + "..." * (argument.nargs == -1)
    return name if argument.required else f"[{name}]"


def _signature(option: click.Option) -> str:
    values = "" if option.is_flag else _values(option)
    return ", ".join(f"{name} {values}".strip() for name in [*option.opts, *option.secondary_opts])


def _values(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    return option.metavar or option.type.name.upper().removesuffix(" RANGE")


def _said(option: click.Option) -> str:
    """Return the help of an option with its default."""
    has_default = option.show_default is True and option.default is not None and not option.multiple
    value = option.default
    if option.is_flag and option.secondary_opts:
        value = option.opts[0] if option.default else option.secondary_opts[0]
    return f"{option.help or ''}{f' Default: {value}.' if has_default else ''}"


def _option(signature: str, *paragraphs: str) -> str:
    first, *others = paragraphs
    lines = "\n\n".join(f"   {text}" for text in [_plain(first), *others])
    return f".. option:: {signature}\n\n{lines}\n"


def _help(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; what it keeps line by line becomes a block."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if not paragraph.startswith("\b"):
            yield _plain(paragraph) + "\n"
            continue
        lines = paragraph.removeprefix("\b").strip("\n")
        examples = lines.removeprefix("Examples:\n")
        yield _code(examples, "text" if examples == lines else "sh")


# Python


def _python() -> str:
    parts = [
        _heading("Python", "="),
        "These are all names that wordbias promises to keep; what is not listed here may change. "
        "``help(wordbias.NAME)`` says the same. Every :doc:`command <commands>` is a function of "
        "the same name, with the same options and defaults. Some functions have further "
        "parameters, for Python only.\n",
    ]
    for title, names in sections().items():
        parts.append(_heading(title, "-"))
        for name in names:
            first = (inspect.getdoc(getattr(wordbias, name)) or "").split("\n\n")[0]
            summary = _marked(first.replace("``", "`"))
            parts.append(_term(name, f"/{page_of_name(name)}", summary))
    names = [name for group in sections().values() for name in group]
    return "\n".join([*parts, _tree(f"{name} </{page_of_name(name)}>" for name in names)])


def _name(name: str) -> str:
    thing = getattr(wordbias, name)
    kind = "function"
    if inspect.isclass(thing):
        kind = "exception" if issubclass(thing, Exception) else "class"
    parts = [_heading(f"wordbias.{name}", "="), f".. auto{kind}:: wordbias.{name}\n"]
    if name.replace("_", "-") in COMMANDS:
        typed = name.replace("_", "-")
        parts.append(f"In the shell: :doc:`wordbias {typed} <../commands/{typed}>`.\n")
    return "\n".join(parts)


def _source(thing: object) -> str:
    """Return the file of the repository that defines it."""
    path = Path(str(inspect.getsourcefile(inspect.unwrap(thing)))).resolve()  # type: ignore[arg-type]
    return path.relative_to(Path(wordbias.__file__).resolve().parents[1]).as_posix()


# Measures


def _measures() -> str:
    parts = [
        _heading("Measures", "="),
        "One page a family of measures: what it asks, how it is computed, its range and neutral "
        "value, and what a value near neutral does not mean. The names are those of rows, "
        "``measure`` in JSON. "
        "``wordbias lists NAME`` says the same. Which measure answers which question: "
        ":doc:`/docs/which-measure`; how to read a value: :doc:`/docs/reading-values`.\n",
    ]
    for area in dict.fromkeys(family.area for family in FAMILIES):
        chosen = [family for family in FAMILIES if family.area == area]
        parts.append(_heading(area, "-"))
        for family in chosen:
            names = ", ".join(f"``{measure.name}``" for measure in family.measures)
            summary = f"{_marked(family.question)} {names}"
            parts.append(_term(family_title(family), f"measures/{family.key}", summary))
    tree = _tree(f"{family_title(family)} <measures/{family.key}>" for family in FAMILIES)
    return "\n".join([*parts, tree])


def family_title(family: Family) -> str:
    """Return the title of a family's page, which no other family has."""
    alike = [other for other in FAMILIES if other.short == family.short]
    return family.short if len(alike) == 1 else f"{family.short} ({family.area.lower()})"


def _family(family: Family) -> str:
    parts = [_heading(family_title(family), "="), f"{_marked(family.question)}\n"]
    parts += [f"{_marked(family.description)}\n", f"**Limits.** {_marked(family.limits)}\n"]
    if family.rows:
        parts.append(_code(f"wordbias measure glove.txt --only {family.key}", "sh"))
    if family.needs:
        parts.append(f"It needs {_marked(family.needs)}.\n")
    for measure in family.measures:
        parts.append(_heading(measure.name, "-"))
        parts.append(".. rst-class:: measure\n")
        parts.append(
            "\n".join(f":{key}: {_marked(fact)}" for key, fact in facts_of(measure)) + "\n"
        )
    return "\n".join(parts)


def facts_of(measure: Measure) -> Iterator[tuple[str, str]]:
    """Yield what is known of a measure, each under its heading."""
    yield "Title", measure.title
    yield "Asks", measure.question
    yield "Range", measure.scale
    yield "Neutral", measure.neutral_text
    yield "Better", measure.better_text
    if measure.caution:
        yield "A value near neutral does not mean", measure.caution


# reStructuredText


def _heading(title: str, line: str) -> str:
    return f"{title}\n{line * max(3, len(title))}\n"


def _term(name: str, page: str, said: str) -> str:
    return f":doc:`{name} <{page}>`\n   {said}\n"


def _code(text: str, language: str) -> str:
    lines = [f"   {line}".rstrip() for line in inspect.cleandoc(text).splitlines()]
    return "\n".join([f".. code-block:: {language}\n", *lines, ""])


def _tree(entries: Iterable[str]) -> str:
    return "\n".join([".. toctree::\n   :hidden:\n", *(f"   {entry}" for entry in entries), ""])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _plain(text: str) -> str:
    """Return a text on one line in which options are code and nothing else is markup."""
    return _escaped(" ".join(text.split()))


def _escaped(text: str) -> str:
    text = _SPECIAL.sub(lambda match: "\\" + match[0], text)
    return _CLOSED.sub(r"\\ ", _TYPED.sub(r"``\1``", text))


def _marked(text: str) -> str:
    """Return a text on one line whose *emphasis* and `code` are kept, as in `measures.toml`."""
    parts = _MARKUP.split(" ".join(text.split()))
    parts[::2] = map(_escaped, parts[::2])
    parts[1::2] = [part if part.startswith("*") else f"`{part}`" for part in parts[1::2]]
    return "".join(parts)
