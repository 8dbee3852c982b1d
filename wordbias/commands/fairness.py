"""`wordbias fairness`: whether a classifier serves groups alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import click

from wordbias.commands.fairness_views import closing, notes_about, tables
from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    note,
    seed_option,
    show,
    split_names,
)
from wordbias.fairness.confusion import Confusion, listed
from wordbias.fairness.costs import load_costs
from wordbias.fairness.measuring import EVALUATED, fairness_rows
from wordbias.fairness.metrics import DISTANCES, Settings
from wordbias.fairness.predictions import Columns, load_columns
from wordbias.fairness.rates import Values
from wordbias.fairness.shares import load_shares, shares_for, shares_of
from wordbias.measures.bootstrap import SAMPLES
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
def command(
    predictions: str,
    label: str,
    predicted: str,
    group: str,
    groups: list[str] | None,
    train: str | None,
    shares: str | None,
    share_column: str | None,
    distance: str | None,
    costs: str | None,
    as_published: bool,
    classes: bool,
    draws: int,
    skip_bad: bool,
    seed: int,
    to: str,
    quiet: bool,
) -> None:
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
    if train and shares:
        raise click.UsageError("choose one of --train and --shares")
    if share_column and not shares:
        raise click.UsageError("--share-column is for --shares")
    if costs and distance:
        raise click.UsageError("choose one of --costs and --distance")
    found = load_columns(predictions, [label, predicted, group], skip_bad=skip_bad)
    confusion = Confusion.of(
        found.cells[label], found.cells[predicted], found.cells[group], order=groups
    )
    known = _shares(confusion, train, shares, share_column, (label, group), skip_bad)
    settings = Settings(
        as_published,
        distance,
        None if costs is None else load_costs(costs, confusion.classes),
        draws=draws,
        seed=seed,
    )
    rows = fairness_rows(
        confusion, predictions, settings, shares=known.values, shares_from=known.source
    )
    notes = notes_about(confusion, found, known.notes)
    report = Report(
        "fairness",
        given_arguments(),
        {"predictions": _facts(found), **known.inputs},
        rows,
        tables(rows, confusion, classes=classes),
        [_heading(predictions, confusion)],
        closing(confusion, settings, known.source),
        seed,
        notes,
    )
    show(report, to)
    for said in notes:
        note(said, quiet)


@dataclass(frozen=True, eq=False)
class _Shares:
    """The share of the first group in each class, and where it is from."""

    source: str = EVALUATED
    values: Values | None = None
    inputs: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def _shares(
    confusion: Confusion,
    train: str | None,
    file: str | None,
    column: str | None,
    columns: tuple[str, str],
    skip_bad: bool,
) -> _Shares:
    if train is not None:
        read = load_columns(train, columns, skip_bad=skip_bad)
        labels, groups = (read.cells[name] for name in columns)
        values, _ = shares_for(
            confusion.classes, shares_of(labels, groups, *confusion.groups[:2]), train
        )
        return _Shares(f"the training data {train}", values, {"train": _facts(read)})
    if file is not None:
        values, beside = shares_for(confusion.classes, load_shares(file, column), file)
        said = (f"{file}: names that are no class of the predictions: {listed(beside)}",) * bool(
            beside
        )
        return _Shares(file, values, {"shares": {"path": file}}, said)
    return _Shares()


def _facts(read: Columns) -> dict[str, Any]:
    return {"path": read.path, "sha256": read.sha256, "rows": len(read), "dropped": read.dropped}


def _heading(path: str, confusion: Confusion) -> str:
    signed = len(confusion.groups) == 2
    compared = (" − " if signed else ", ").join(confusion.groups)
    return (
        f"Group fairness of {path}: {len(confusion):,} predictions, "
        f"{len(confusion.classes)} classes, {compared}."
    )
