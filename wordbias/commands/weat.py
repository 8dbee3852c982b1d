"""`wordbias weat`: association tests between sets of words."""

from __future__ import annotations

from typing import Any

import click

from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    reading_options,
    seed_option,
    show,
)
from wordbias.commands.weat_plan import Asked
from wordbias.commands.weat_views import associations_table
from wordbias.measures.associations import MEASURES
from wordbias.measures.permutation import PARTITIONS
from wordbias.results import Report

_CLOSING = (
    "The 95 % intervals draw the words of all sets again, the attribute words too, which p takes "
    "as given. "
)
_UNCORRECTED = "p is not corrected for the number of queries; --holm does."
_HOLM = "p Holm is corrected for the number of tests of an embedding, however they depend."


@click.command()
@click.argument("embeddings", nargs=-1, metavar="[EMBEDDING]...")
@click.option("--query", default="all", show_default=True, help="Names or numbers, 1,6-8, or all.")
@click.option("--queries", "queries_file", help="TOML or WEFE's JSON with sets of words.")
@click.option("--targets", help="Names of two sets of words, X,Y, for a query of your own.")
@click.option("--attributes", help="Names of two sets of words, A,B.")
@click.option(
    "--attribute",
    "attribute_file",
    metavar="NAME|FILE",
    help="Take every two groups of it as X,Y: age, religion, …, or a TOML file.",
)
@click.option(
    "--measures", default="weat", show_default=True, help=f"Some of {','.join(MEASURES)}."
)
@click.option(
    "--ddof",
    type=click.IntRange(0, 1),
    default=1,
    show_default=True,
    help="Of the standard deviation: 1 as Caliskan et al., 0 as WEFE.",
)
@click.option("--two-sided", is_flag=True, help="Two-sided p-value.")
@click.option("--holm", is_flag=True, help="Correct p for the number of tests as well.")
@click.option(
    "--samples",
    type=click.IntRange(1),
    default=PARTITIONS,
    show_default=True,
    help="Partitions to draw where there are too many to count.",
)
@reading_options
@seed_option
@format_option
@common_options
def command(to: str, quiet: bool, **given: Any) -> None:
    """Test which of two sets of words is nearer to which of two others.

    WEAT (Caliskan et al. 2017) with its ten queries or your own, and five measures that take the
    same words. Without EMBEDDING the sample that comes with wordbias is used.

    \b
    Examples:
      wordbias weat
      wordbias weat glove.txt debiased.txt --query weat7
      wordbias weat --targets male,female --attributes math,arts --measures weat,rnd,ect
      wordbias weat --attribute religion --attributes pleasant,unpleasant --two-sided --holm
      wordbias weat vectors.bin --queries mine.toml --two-sided --format json
    """
    asked = Asked(**given)
    asked.check()
    queries = asked.queries()
    subjects = asked.opened(queries, quiet)
    found = {name: asked.rows(name, subject, queries) for name, subject in subjects.items()}
    by_group = queries.across is not None
    report = Report(
        "weat",
        given_arguments(),
        {name: subject.info.to_dict() for name, subject in subjects.items()},
        [row for rows in found.values() for row in rows],
        [
            associations_table(name, rows, queries.queries, asked.settings, by_group=by_group)
            for name, rows in found.items()
        ],
        queries.heading(),
        [_CLOSING + (_HOLM if asked.holm else _UNCORRECTED)],
        asked.seed,
    )
    show(report, to)
