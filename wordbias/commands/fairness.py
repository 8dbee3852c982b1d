"""`wordbias fairness`: whether a classifier serves groups alike."""

from __future__ import annotations

from typing import Any

import click

from wordbias.commands.fairness_plan import Asked, facts
from wordbias.commands.fairness_views import closing, notes_about, tables
from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    seed_option,
    show,
    split_names,
)
from wordbias.measures.bootstrap import SAMPLES
from wordbias.outcomes.confusion import Confusion
from wordbias.outcomes.measuring import fairness_rows
from wordbias.outcomes.metrics import DISTANCES
from wordbias.rendering import how_many
from wordbias.results import Report


@click.command()
@click.argument("predictions")
@click.option("--label", default="label", show_default=True, help="Column of the gold class.")
@click.option("--predicted", default="predicted", show_default=True, help="Of the prediction.")
@click.option("--group", default="group", show_default=True, help="Of the person's group.")
@click.option(
    "--groups",
    callback=split_names,
    metavar="F,M",
    help="Groups to compare: the first minus the second.  [default: all, sorted]",
)
@click.option(
    "--train", metavar="FILE", help="Training data, for the shares; the same two columns."
)
@click.option("--shares", metavar="FILE", help="Share of the first group in each class.")
@click.option("--share-column", metavar="COLUMN", help="With --shares, if it has several.")
@click.option(
    "--distance",
    type=click.Choice(DISTANCES[:2]),
    help="Of sufficiency.  [default: total-variation; positions as published]",
)
@click.option("--costs", metavar="FILE", help="Of taking one class for another: a square table.")
@click.option(
    "--as-published",
    is_flag=True,
    help="Precision TP/N, and |D(F) − D(M)| for a sum, as the released code.",
)
@click.option("--classes", is_flag=True, help="Show every class by itself, too.")
@click.option(
    "--draws",
    type=click.IntRange(0),
    default=SAMPLES,
    show_default=True,
    help="Bootstrap samples; 0 for no intervals.",
)
@click.option("--skip-bad", is_flag=True, help="Drop and count rows that cannot be used.")
@seed_option
@format_option
@common_options
def command(to: str, quiet: bool, **given: Any) -> None:
    """Measure whether a classifier serves groups, such as women and men, alike.

    PREDICTIONS is a file of any classifier, .csv, .tsv, .jsonl (compressed or not) or .parquet,
    one example a row: its gold class, what was predicted, and the group of the person. The
    measures are those of Orgad et al. (2022): gaps of TPR, FPR, precision and F1 in each class,
    their sum S and their correlation P with the share of women, and independence, separation and
    sufficiency.

    \b
    Examples:
      wordbias fairness predictions.csv --label y --predicted r --group z
      wordbias fairness predictions.jsonl --groups F,M --train train.jsonl --classes
      wordbias fairness predictions.tsv --shares labour.csv --as-published
      wordbias fairness predictions.tsv --costs distances.csv --format json
    """
    asked = Asked(**given)
    asked.check()
    read = asked.columns()
    confusion = asked.confusion(read)
    known = asked.known_shares(confusion)
    settings = asked.settings(confusion)
    rows = fairness_rows(
        confusion, asked.predictions, settings, shares=known.values, shares_from=known.source
    )
    notes = notes_about(confusion, read, known.notes)
    report = Report(
        "fairness",
        given_arguments(),
        {"predictions": facts(read), **known.inputs},
        rows,
        tables(rows, confusion, classes=asked.classes),
        [_heading(asked.predictions, confusion)],
        closing(confusion, settings, known.source),
        asked.seed,
        notes,
    )
    show(report, to, quiet=quiet)


def _heading(path: str, confusion: Confusion) -> str:
    signed = len(confusion.groups) == 2
    compared = (" − " if signed else ", ").join(confusion.groups)
    return (
        f"Group fairness of {path}: {how_many(len(confusion), 'prediction')}, "
        f"{how_many(len(confusion.classes), 'class', 'classes')}, {compared}."
    )
