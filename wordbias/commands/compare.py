"""`wordbias compare`: how the measures of many embeddings correlate."""

from __future__ import annotations

from typing import Any

import click

from wordbias.commands.compare_plan import Asked
from wordbias.commands.compare_views import (
    closing,
    correlation_rows,
    correlation_tables,
    heading,
    terminal_width,
)
from wordbias.commands.options import (
    attribute_option,
    common_options,
    format_option,
    given_arguments,
    jobs_options,
    reading_options,
    seed_option,
    show,
)
from wordbias.correlation import METHODS, correlations
from wordbias.pages.plots import save_comparison
from wordbias.results import Report


@click.command()
@click.argument("rows", nargs=-1, required=True, metavar="ROWS...")
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="pearson",
    show_default=True,
    help="Kind of correlation.",
)
@click.option("--only", multiple=True, help="Compare only these measures, separated by commas.")
@click.option("--plot", help="Draw the matrix and the scatter of one pair: .png, .pdf or .svg.")
@click.option("--x", help="Measure of the scatter.  [default: of the pair with the largest |r|]")
@click.option("--y", help="Measure of the scatter.  [default: of the pair with the largest |r|]")
@click.option("--measure", is_flag=True, help="ROWS are embeddings: measure them first.")
@click.option("--original", help="With --measure: the embedding before debiasing.")
@attribute_option
@reading_options
@jobs_options
@seed_option
@format_option
@common_options
def command(to: str, quiet: bool, **given: Any) -> None:
    """Correlate the measures in ROWS over the embeddings, as Dawkins (2021) does in Table 5.

    ROWS are files that commands printed with --format json, jsonl or csv, or CSV tables with a
    line for each embedding, its name first, and a column for each measure (NA: undefined). With
    --measure they are embeddings, three or more, which are measured first.

    \b
    Examples:
      wordbias compare glove.json glove-hd.json glove-misp.json
      wordbias compare table.csv --only MIDB,GIPE,E --plot compare.pdf
      wordbias compare table.csv --x MIDB --y E --plot compare.png
      wordbias compare --measure glove.txt misp.txt hard.txt --original glove.txt --jobs 2
    """
    asked = Asked(**given)
    asked.check()
    found = asked.compared(quiet)
    axes = asked.axes(found.table)
    related = correlations(found.table, asked.method)
    pair = asked.pair(related, axes)
    if asked.plot:
        save_comparison(asked.plot, found.table, related, pair)
    report = Report(
        "compare",
        given_arguments(),
        found.inputs,
        [*found.rows, *correlation_rows(related)],
        correlation_tables(related, found.table, terminal_width() if to == "table" else None),
        heading(found.table, related),
        closing(pair, related, asked.plot, axes),
    )
    show(report, to)
