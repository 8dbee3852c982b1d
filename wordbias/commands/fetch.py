"""`wordbias fetch`: published data, downloaded once and known by name afterwards."""

from __future__ import annotations

import click

from wordbias import resources
from wordbias.commands.fetch_views import about_lines, fetched_table, list_table, rows_of
from wordbias.commands.finite import FiniteRange
from wordbias.commands.options import common_options, format_option, given_arguments, show
from wordbias.errors import WordbiasError
from wordbias.rendering import Table
from wordbias.results import Report

_CLOSING = (
    "The licences are those that the sources state; whether yours is a use they allow is for you "
    "to judge. --about NAME shows URL, hash and citation."
)


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--about", is_flag=True, help="Show what is known of each NAME; fetch nothing.")
@click.option("--where", is_flag=True, help="Print the path of each NAME; fetch nothing.")
@click.option(
    "--mirror",
    default="",
    metavar="URL",
    envvar="WORDBIAS_MIRROR",
    help="Stands in for https://HOST in every URL.  [default: $WORDBIAS_MIRROR]",
)
@click.option(
    "--from",
    "source",
    default="",
    metavar="FOLDER",
    help="Take files that were downloaded by other means, and verify them.",
)
@click.option("--again", is_flag=True, help="Fetch also what is there.")
@click.option("--keep", is_flag=True, help="Keep archives, to take other files out of them later.")
@click.option(
    "--timeout",
    type=FiniteRange(0, min_open=True),
    default=60,
    show_default=True,
    help="Seconds without an answer before giving up.",
)
@format_option
@common_options
def command(
    names: tuple[str, ...],
    about: bool,
    where: bool,
    mirror: str,
    source: str,
    again: bool,
    keep: bool,
    timeout: float,
    to: str,
    quiet: bool,
) -> None:
    """Download published vectors, test sets and word lists, or list what there is.

    What is fetched is known by its NAME to every command that takes such a file. An interrupted
    download goes on from where it was; nothing is in place before it is whole and verified. The
    folder is $WORDBIAS_DATA, or the user's own for data.

    \b
    Examples:
      wordbias fetch
      wordbias fetch sembias men glove-wiki-gigaword-100
      wordbias measure glove-wiki-gigaword-100 --sembias sembias
      wordbias fetch snli --from ~/Downloads
      wordbias fetch glove.6B.300d --mirror https://mirror.example.org/data
    """
    chosen = resources.choose(names)
    _check(names, about, where, source)
    if where:
        for resource in chosen:
            click.echo(resources.located(resource.name))
        return
    heading: list[str] = []
    tables: list[Table] = []
    if about:
        heading = about_lines(chosen)
    elif names:
        ways = resources.Ways(mirror, source, again, keep, timeout)
        tables = [fetched_table(list(resources.fetch(chosen, ways)))]
    else:
        chosen = list(resources.catalogue().values())
        tables = [list_table(chosen)]
    closing = [] if about else [_CLOSING]
    rows = rows_of(chosen)  # after fetching: they say what is there
    show(Report("fetch", given_arguments(), {}, rows, tables, heading, closing), to)


def _check(names: tuple[str, ...], about: bool, where: bool, source: str) -> None:
    if (about or where) and not names:
        raise WordbiasError(f"--{'about' if about else 'where'}: name what you ask for")
    if source and not names:
        raise WordbiasError(f"--from {source}: name what to take from there")
    if about and where:
        raise WordbiasError("--about and --where answer two questions; ask one at a time")
    if source:
        from pathlib import Path

        if not Path(source).is_dir():
            raise WordbiasError(f"--from {source}: there is no such folder")
