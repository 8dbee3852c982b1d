"""A command made of a public function: its parameters are the options, its docstring the help.

A parameter between double backquotes is written as the command line spells it. The options of every
command, and the printing of its report, are below.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ParamSpec, Protocol, TypedDict, Unpack, runtime_checkable

import click
from click.core import ParameterSource

from wordbias.calls import typed
from wordbias.commands.gate import JUNIT, check_gate, gate_options, tell
from wordbias.commands.types import (
    COUNT,
    LAYERS,
    NAMES,
    SEED,
    SIZE,
    TEMPLATE,
    FiniteRange,
    ParamType,
    split_where,
)
from wordbias.commands.words import GROUPS, OUTPUT, WORDS
from wordbias.conditions import outcome_of
from wordbias.configuration import BACKENDS, EVERYWHERE, PRECISIONS, config
from wordbias.docstrings import docstring_of
from wordbias.errors import UsageError, WordbiasError, printable, shortened
from wordbias.formats.files import refuse_same
from wordbias.junit import as_junit
from wordbias.rendering import FIGURES, paragraph, terminal_width
from wordbias.reports import FORMATS, Report
from wordbias.settings import Known, Takes, method_help

P = ParamSpec("P")

_TYPES: dict[str, ParamType] = {"int": click.INT, "float": click.FLOAT}
_CODE = re.compile(r"``([^`]+)``")
_COUNTS = (
    "batch_size", "batch_tokens", "dims", "epochs", "every", "hidden", "limit", "max_length",
    "null", "seed_lists", "segment_length",
)  # fmt: skip
_FILES = ("adapter", "pairs", "save_transform", "sentences", "shares", "snli", "texts", "train")


class Attributes(TypedDict, total=False):
    """Attributes of a click option that the function cannot know."""

    # One that may be true, false or None is --x/--no-x, unless `is_flag` says that it is --x.

    is_flag: bool
    type: ParamType
    metavar: str
    multiple: bool
    required: bool
    show_default: bool
    callback: Callable[[click.Context, click.Parameter, tuple[str, ...]], object]
    default: object
    help: str


@dataclass(frozen=True)
class Declaration:
    """The option or argument for one parameter of a function."""

    name: str
    # names of the option, if they are not its name with dashes; None for an argument
    spelled: tuple[str, ...] | None = None
    many: bool = False  # the argument takes any number of values
    attributes: Attributes = field(default_factory=Attributes)  # attributes of `click.Option`


@runtime_checkable
class Made(Protocol):
    """An object with a report, as functions return it."""

    @property
    def report(self) -> Report:
        """Return the report to show."""


class Command(click.Command):
    """A command whose help names the common options; that of ``debias --help inlp`` is inlp's."""

    common: Sequence[str] = ()  # names of the common options that it uses
    methods: Known  # methods that it takes, by name, and which of them if not all
    takes: Takes | None = None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what was typed, for the help."""
        ctx.meta[__name__] = list(args)
        return super().parse_args(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        """Return the help of the method that was typed, else that of the command."""
        for word in ctx.meta.get(__name__, ()):
            name = re.split("[:,]", word.lower().replace("_", "-"), maxsplit=1)[0]
            if name in self.methods:
                return method_help(name, self.methods, self.takes)
        return super().get_help(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options in the groups of `wordbias.commands.words`."""
        rows: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                rows[WORDS[str(parameter.name)][0] if parameter.name in WORDS else OUTPUT].append(
                    record
                )
        for group, records in rows.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Name the common options."""
        with formatter.section("Common options, which wordbias help options explains"):
            formatter.write_text(" ".join(self.common))


Shown = Callable[[object, str, bool], None]
"""Function that shows a result: takes the result, the format, whether quiet."""


def argument(
    name: str, *, many: bool = False, required: bool = False, metavar: str | None = None
) -> Declaration:
    """Declare a parameter as an argument, in the order of the declarations."""
    attributes = Attributes(required=required)
    if metavar is not None:
        attributes["metavar"] = metavar
    return Declaration(name, None, many, attributes)


def option(name: str, *spelled: str, **attributes: Unpack[Attributes]) -> Declaration:
    """Declare a parameter as an option with names, type or metavar that its function lacks."""
    return Declaration(name, spelled or _named(name), attributes=attributes)


def _named(name: str) -> tuple[str, ...]:
    return (f"--{name.replace('_', '-')}",)


def _shared() -> dict[str, Declaration]:
    """Return the declarations of words that are the same in every command, or in most."""
    declared = [
        option("benchmarks", multiple=True),
        option("groups", metavar="NAME|FILE"),
        option("label_order", type=NAMES),
        option("layers", type=LAYERS),
        option("lists", metavar="FOLDER"),
        option("lr", type=FiniteRange(0, min_open=True)),
        option("output", "-o", "--output"),
        option("random_init", type=SEED, metavar="SEED"),
        option("seed", type=SEED),
        option("sent_debias", metavar="TEXT"),
        option("setting", metavar="NAME", multiple=True),
        option("task_lr", type=FiniteRange(0, min_open=True)),
        option("template", type=TEMPLATE, metavar="TEXT|chat"),
        option("top", type=FiniteRange(0, 1, min_open=True)),
        option("where", multiple=True, callback=split_where, metavar="COLUMN=VALUE"),
        option("words", type=NAMES),
        *(option(name, type=COUNT) for name in _COUNTS),
        *(option(name, metavar="FILE") for name in _FILES),
    ]
    return {declaration.name: declaration for declaration in declared}


def shell(
    function: Callable[P, object],
    *declared: Declaration,
    examples: str,
    listed: str = "",
    first: Sequence[str] = (),
    shown: Shown | None = None,
    notes: bool = True,
    tells: Callable[[], bool] | None = None,
    extra: Sequence[click.Option] = (),
    methods: Known | None = None,
    python_only: Collection[str] = (),
    takes: Takes | None = None,
    plot: bool = True,
    rows: bool = True,
) -> click.Command:
    """Make a command of a public function."""
    # `declared` has the options and arguments whose signature is not enough; `_shared` has those of
    # many commands. With `shown`, which shows the result, there is no --format, unless the function
    # or `extra` has it. Without `notes` the function prints the notes of its report itself. `tells`
    # says whether this process prints the result. `extra` are options of the command line only; one
    # named `to` is the format of the function's call. `takes` are the methods whose settings --help
    # METHOD shows, if not all. `python_only` parameters are no options. With `plot` --plot writes
    # the figure of the report, with `rows` --fail-if judges its rows.
    every = inspect.signature(function).parameters
    parameters = {name: parameter for name, parameter in every.items() if name not in python_only}
    known = _shared() | {declaration.name: declaration for declaration in declared}
    unknown = [
        name
        for name in (*(declaration.name for declaration in declared), *python_only)
        if name not in every
    ]
    text, documented = docstring_of(function)
    lacking = [name for name in every if name not in documented]
    if unknown or lacking:
        raise TypeError(f"{function.__name__}: not its parameters {unknown}, no help {lacking}")
    arguments = [declaration.name for declaration in declared if declaration.spelled is None]
    spelled = {
        name: _metavar(known[name]) if name in arguments else _first(name, known.get(name))
        for name in parameters
    }
    params: list[click.Parameter] = [_argument(known[name]) for name in arguments]
    params += [
        _option(parameter, known.get(name, option(name)), _spelled(documented[name].text, spelled))
        for name, parameter in {name: parameters[name] for name in (*first, *parameters)}.items()
        if name not in arguments
    ]
    own = [
        *([format_option(rows=rows)] if shown is None else []),
        *extra,
        *([plot_option()] if plot else []),
    ]
    common = [
        common_option for common_option in common_options() if common_option.name not in parameters
    ]
    used = [*getattr(function, "uses", ()), *EVERYWHERE, *_ALWAYS, *(_GATE if rows else ())]
    params += [*own, *common]
    body = [_unwrapped(_spelled(text, spelled)), *([f"\b\n{listed.strip()}"] if listed else [])]
    lines = [f"  {line}" for line in inspect.cleandoc(examples).splitlines()]
    folded = [_longest(common_option) for common_option in common if common_option.name in used]
    body.append("\n".join(["\b", "Examples:", *lines]))
    command = Command(
        function.__name__.replace("_", "-"),
        params=params,
        help="\n\n".join(body),
        callback=partial(
            _run,
            function,
            shown,
            spelled,
            notes,
            tells,
            [str(own_option.name) for own_option in own],
            {str(common_option.name): common_option for common_option in common},
            frozenset(used),
        ),
    )
    command.common = folded
    command.methods, command.takes = methods or {}, takes
    return command


def _unwrapped(text: str) -> str:
    """Mark the paragraphs of a text that have indented lines: click does not wrap them."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(f"\b\n{block}" if "\n " in block else block for block in paragraphs)


def _run(
    function: Callable[P, object],
    display: Shown | None,
    spelled: Mapping[str, str],
    notes: bool,
    tells: Callable[[], bool] | None,
    own: Sequence[str],
    common: Mapping[str, click.Option],
    used: Collection[str],
    **given: object,
) -> None:
    """Call the function with what was typed, show what it returns, and judge its rows."""
    ctx = click.get_current_context()
    typed_names = frozenset(
        name for name in given if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    )
    settings = _settings(function, common, used, given, typed_names)
    fail_if, baseline = (settings.pop(name, None) for name in _GATE)
    conditions = [str(text) for text in fail_if] if isinstance(fail_if, tuple) else []
    quiet = settings.get("progress") is False
    own_values = {name: given.pop(name) for name in own}
    to = None if own_values.get("to") is None else str(own_values["to"])
    junit = to == JUNIT and "fail_if" in used
    to = None if junit else to
    figure = own_values.get("plot")
    if figure is not None:
        _check_figure(str(figure), given, spelled)
    try:
        refuse_same({"--output": given.get("output"), "--plot": figure}, {"--baseline": baseline})
        before = check_gate(conditions, baseline, junit=junit)
        with (
            config(**settings),  # type: ignore[arg-type]  # click has checked them
            typed(typed_names, spelled, partial(note, quiet=quiet), to),
        ):
            returned = _called(function, given)
    except UsageError as error:
        raise click.UsageError(str(error), ctx) from None
    if tells is not None and not tells():
        return
    report = returned.report if isinstance(returned, Made) else returned
    if not isinstance(report, Report) and (display is None or figure is not None):
        raise TypeError(
            f"{function.__name__} returned {type(returned).__name__}, which has no report"
        )
    rows = report.rows if isinstance(report, Report) else ()  # what was made may have no report
    outcomes = [outcome_of(text, rows, before) for text in conditions]
    if junit:
        click.echo(as_junit({str(ctx.info_name): outcomes}), nl=False)
    elif display is not None:
        display(returned, to or "", quiet)
    elif isinstance(report, Report):
        show(report, to or "", quiet=quiet or not notes)
    if figure is not None and isinstance(report, Report):
        _draw(report, str(figure), to, quiet=quiet)
    if status := tell(outcomes, quiet=quiet):
        ctx.exit(status)


def _called(function: Callable[P, object], given: dict[str, object]) -> object:
    """Call a function with keyword arguments, except for the values of ``*rows``."""
    parameters = inspect.signature(function).parameters.values()
    several = [
        given.pop(parameter.name)
        for parameter in parameters
        if parameter.kind is parameter.VAR_POSITIONAL
    ]
    values = [value for repeated in several if isinstance(repeated, tuple) for value in repeated]
    bound = inspect.signature(function).bind(*values, **given)
    return function(*bound.args, **bound.kwargs)


def _argument(declaration: Declaration) -> click.Argument:
    return click.Argument(
        [declaration.name],
        nargs=-1 if declaration.many else 1,
        required=declaration.attributes.get("required", False),
        metavar=declaration.attributes.get("metavar"),
    )


def _metavar(declaration: Declaration) -> str:
    """Return the name of an argument in the help."""
    return declaration.attributes.get("metavar", declaration.name.upper()).strip("[].")


def _first(name: str, declaration: Declaration | None) -> str:
    """Return the name of an option in messages: its first one with two dashes."""
    names = declaration.spelled if declaration is not None and declaration.spelled else _named(name)
    return next(text.split("/")[0] for text in names if text.startswith("--"))


def _option(parameter: inspect.Parameter, declaration: Declaration, help: str) -> click.Option:
    """Make the option of a parameter, with the type of its annotation if that is simple."""
    names, default = list(declaration.spelled or ()), parameter.default
    annotation = str(parameter.annotation).removesuffix(" | None")
    attributes = declaration.attributes.copy()
    if annotation == "bool" and "is_flag" not in attributes:
        attributes["is_flag"] = True
        if default is not False and len(names) == 1 and "/" not in names[0]:
            names = [f"{names[0]}/--no-{names[0].removeprefix('--')}"]
    elif "type" not in attributes and annotation in _TYPES:
        attributes["type"] = _TYPES[annotation]
    if parameter.name.endswith("_column"):
        attributes.setdefault("metavar", "COLUMN")
    if default is inspect.Parameter.empty:
        attributes["required"] = True
        default = None
    if isinstance(default, tuple):
        default = ",".join(map(str, default)) or None
    if default is not None and default is not False:
        attributes.setdefault("show_default", True)
    if not attributes.get("required"):  # for a required one None would be a value
        attributes.setdefault("default", default)
    attributes.setdefault("help", help)
    return click.Option([parameter.name, *names], **attributes)


def _spelled(text: str, spelled: Mapping[str, str]) -> str:
    """Write the parameters in a text as the command line spells them."""
    return _CODE.sub(lambda match: spelled.get(match[1], match[1]), text)


__all__: Sequence[str] = ["argument", "option", "shell"]


# Options of every command, and printing of reports

_ALWAYS = ("quiet", "debug")
_GATE = ("fail_if", "baseline")


def common_options() -> list[click.Option]:
    """Return the options that commands share: of `wordbias.config`, the gate and the terminal."""
    parameters, (_, documented) = inspect.signature(config).parameters, docstring_of(config)
    declared = {
        "skip_bad": option("skip_bad", is_flag=True),
        "allow_pickle": option("allow_pickle", is_flag=True),
        "jobs": option("jobs", type=COUNT),
        "backend": option("backend", type=click.Choice(BACKENDS)),
        "precision": option("precision", type=click.Choice(PRECISIONS)),
        "endpoint": option("endpoint", metavar="URL"),
        "key_variable": option("key_variable", metavar="NAME"),
        "batch_texts": option("batch_texts", type=COUNT),
        "threads": option("threads", type=COUNT),
        "longest_line": option("longest_line", metavar="SIZE", type=SIZE),
    }
    options = [
        _option(parameter, declared.get(name, option(name)), documented[name].text)
        for name, parameter in parameters.items()
        if name != "progress"
    ]
    options += gate_options()
    quiet = "Show no progress and no notes on stderr."
    options.append(click.Option(["-q", "--quiet"], is_flag=True, help=quiet))
    options.append(
        click.Option(["--debug"], is_flag=True, expose_value=False, help="Show tracebacks.")
    )
    for common_option in options:
        common_option.hidden = True
    return options


def _longest(common_option: click.Option) -> str:
    """Return the name of a common option in a list: that which changes its default."""
    return (
        common_option.secondary_opts[0]
        if common_option.secondary_opts
        else max(common_option.opts, key=len)
    )


def _settings(
    function: Callable[P, object],
    common: Mapping[str, click.Option],
    used: Collection[str],
    given: dict[str, object],
    named: frozenset[str],
) -> dict[str, object]:
    """Take the common options out of what was given; return those typed, as `config` has them."""
    values = {name: given.pop(name) for name in common if name in given}
    typed_values = {name: value for name, value in values.items() if name in named}
    for name, value in typed_values.items():
        if name not in used:
            command = function.__name__.replace("_", "-")
            raise click.UsageError(
                f"{_longest(common[name])}: wordbias {command} does not use it; leave it out"
            )
        if value == "" or (isinstance(value, tuple) and "" in value):
            raise WordbiasError(
                f"{_longest(common[name])}: is empty; give a value, or leave it out"
            )
    if typed_values.pop("quiet", False):
        typed_values["progress"] = False
    return typed_values


def plot_option() -> click.Option:
    """Return --plot."""
    return click.Option(
        ["--plot"],
        metavar="FILE",
        help=f"Draw what was measured: {', '.join(FIGURES[:-1])} or {FIGURES[-1]}.",
    )


def _check_figure(path: str, given: Mapping[str, object], spelled: Mapping[str, str]) -> None:
    """Refuse a figure that cannot be drawn or written over another file, before the work."""
    from wordbias.pages.plots import check_plot  # of numpy, which --help does without

    if not path:
        raise WordbiasError("--plot: is empty; give a value, or leave it out")
    check_plot(path)
    others: dict[str, str | None] = {}
    for name, value in given.items():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, str) and os.path.splitext(part)[1].lower() in FIGURES:
                others[spelled.get(name, name)] = part
    refuse_same({"--plot": path}, others)


def _draw(report: Report, path: str, to: str | None, *, quiet: bool) -> None:
    """Write the figure of a report whose values are printed, and say so below a table."""
    try:
        report.save(path)
    except WordbiasError as error:
        raise WordbiasError(f"--plot: {error}; the values are complete") from None
    if to == "table":
        click.echo(f"\nDrawn: {path}.")
    else:
        note(f"drawn: {path}", quiet)


def format_option(*, rows: bool = True) -> click.Option:
    """Return --format; that of rows may be junit, their conditions."""
    return click.Option(
        ["to", "--format"],
        type=click.Choice([*FORMATS, JUNIT] if rows else FORMATS),
        default="table",
        show_default=True,
        help="Output format. spreadsheet is CSV in which no text is taken for a formula"
        + ("; junit has the conditions of --fail-if." if rows else "."),
    )


def show(report: Report, to: str, *, quiet: bool = True) -> None:
    """Print a report on stdout, and unless `quiet` its notes on stderr."""
    text = report.render(to)
    click.echo(text.encode("utf-8", "backslashreplace").decode(), nl=False)
    for text in report.notes:
        note(text, quiet)


def note(text: str, quiet: bool) -> None:
    """Print one line on stderr, wrapped on a terminal."""
    if not quiet:
        lines = [f"note: {shortened(printable(text))}"]
        lines = paragraph(lines, terminal_width()) if sys.stderr.isatty() else lines
        click.echo("\n".join(lines), err=True)
