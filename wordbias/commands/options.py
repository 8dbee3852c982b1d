"""Options that several commands share."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from wordbias.commands.empty_names import nothing_empty
from wordbias.errors import shortened
from wordbias.lines import set_longest_line
from wordbias.progress import set_quiet
from wordbias.rendering import paragraph, terminal_width
from wordbias.results import FORMATS, Report
from wordbias.threads import set_threads
from wordbias.visible import seen
from wordbias.workers import BACKENDS

F = TypeVar("F", bound=Callable[..., Any])
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def stacked(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Put several decorators into one; the first becomes the first option in the help."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def _threads(ctx: click.Context, param: click.Parameter, value: int | None) -> None:
    set_threads(value)


def parse_size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Turn a size such as 500MB or 20G into bytes."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?B|[KMGT])", value.strip().upper())
    if match is None:
        raise click.BadParameter(
            f"{value!r}: expected a size with its unit, such as 500MB or 20G", ctx, param
        )
    return int(float(match[1]) * _UNITS[match[2].removesuffix("B")])


def _longest_line(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    set_longest_line(parse_size(ctx, param, value))


def _quiet(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    set_quiet(value)
    return value


def split_names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    """Split ``a,b,c``."""
    if value is None:
        return None
    parts = [part.strip() for part in value.split(",") if part.strip()]
    if not parts:
        raise click.BadParameter("expected names, separated by commas", ctx, param)
    return parts


def split_seeds(ctx: click.Context, param: click.Parameter, value: str) -> list[int]:
    """Split ``0,1,2``."""
    parts = [part.strip() for part in value.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() for part in parts):
        raise click.BadParameter("expected whole numbers, separated by commas", ctx, param)
    return list(dict.fromkeys(map(int, parts)))


def split_where(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Split ``column=value``; several values of a column are alternatives."""
    found: dict[str, tuple[str, ...]] = {}
    for equation in value:
        column, equals, wanted = equation.partition("=")
        if not (column and equals):
            raise click.BadParameter(f"expected COLUMN=VALUE, found {equation!r}", ctx, param)
        found[column] = (*found.get(column, ()), wanted)
    return found


attribute_option = click.option(
    "--attribute",
    "attribute_file",
    metavar="NAME|FILE",
    help="gender, gender-de, age, religion:A,B, ethnicity:A,B, or a TOML file.",
)

vocabulary_options = stacked(
    attribute_option,
    click.option("--vocab", "vocab_file", help="Words to average over, one a line."),
    click.option("--strict-vocab", is_flag=True, help="Gonen and Goldberg's stricter word filter."),
)

reading_options = stacked(
    click.option("--skip-bad", is_flag=True, help="Drop and count rows that cannot be used."),
    click.option(
        "--allow-pickle",
        is_flag=True,
        help="Open gensim .kv files, which are pickles and can run any code.",
    ),
    click.option(
        "--cache/--no-cache",
        default=True,
        show_default=True,
        help="Keep parsed text to be memory-mapped the next time.",
    ),
)

chance_option = click.option(
    "--chance/--no-chance",
    default=True,
    show_default=True,
    help="Put beside each value what axes give that do not mean the attribute.",
)

center_option = click.option(
    "--center",
    is_flag=True,
    help="Centre the differences, as the paper's one-sided PCA does; their mean drops out.",
)


def published_option(settings: str) -> Callable[[F], F]:
    """Return --as-published, which stands for `settings`."""
    return click.option(
        "--as-published", is_flag=True, help=f"The settings of the paper: {settings}."
    )


common_options = stacked(
    click.option(
        "--threads",
        type=click.IntRange(1),
        callback=_threads,
        expose_value=False,
        help="Threads to use.  [default: what the machine allows]",
    ),
    click.option(
        "--longest-line",
        metavar="SIZE",
        callback=_longest_line,
        expose_value=False,
        help="Longest line of a table, a text or JSON lines.  [default: 64MB]",
    ),
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        callback=_quiet,
        help="No progress and no notes on stderr.",
    ),
    click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks."),
    nothing_empty,
)


def process_options() -> list[click.Parameter]:
    """Return the options that every command has, behind its own."""
    return [
        click.Option(
            ["--threads"],
            type=click.IntRange(1),
            callback=_threads,
            expose_value=False,
            help="Threads to use.  [default: what the machine allows]",
        ),
        click.Option(
            ["--longest-line"],
            metavar="SIZE",
            callback=_longest_line,
            expose_value=False,
            help="Longest line of a table, a text or JSON lines.  [default: 64MB]",
        ),
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            callback=_quiet,
            help="No progress and no notes on stderr.",
        ),
        click.Option(["--debug"], is_flag=True, expose_value=False, help="Show tracebacks."),
    ]


def format_option_of() -> click.Option:
    """Return --format."""
    return click.Option(
        ["to", "--format"],
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="How to print the result.",
    )


device_option = click.option("--device", help="cpu or cuda.  [default: cuda if there is one]")

format_option = click.option(
    "--format",
    "to",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How to print the result.",
)

seed_option = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of everything random."
)


def given_on_the_command_line(name: str) -> bool:
    """Say whether the caller wrote a parameter, rather than that it has its default."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def option_of(name: str) -> str:
    """Return what a parameter of the command is called on the command line."""
    parameters = click.get_current_context().command.params
    return next(one.opts[-1] for one in parameters if one.name == name)


def given_arguments() -> dict[str, Any]:
    """Return what the command was called with, for its report."""
    given = click.get_current_context().params
    return {key: value for key, value in given.items() if key not in ("to", "quiet")}


def show(report: Report, to: str, *, quiet: bool = True) -> None:
    """Print a report on stdout, and unless `quiet` its notes on stderr."""
    text = report.render(to)
    click.echo(text.encode("utf-8", "backslashreplace").decode(), nl=False)
    for said in report.notes:
        note(said, quiet)


def note(text: str, quiet: bool) -> None:
    """Say one line on stderr, which on a terminal is broken between words."""
    if not quiet:
        said = [f"note: {shortened(seen(text))}"]
        said = paragraph(said, terminal_width()) if sys.stderr.isatty() else said
        click.echo("\n".join(said), err=True)


backend_option = click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default=BACKENDS[0],
    show_default=True,
    help="Here (loky), or the cluster of DASK_SCHEDULER_ADDRESS or RAY_ADDRESS.",
)

jobs_options = stacked(
    click.option(
        "--jobs",
        type=click.IntRange(1),
        help="Processes at a time.  [default: 1; on a cluster all workers]",
    ),
    backend_option,
)
