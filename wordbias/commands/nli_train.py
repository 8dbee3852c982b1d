"""`wordbias nli-train`: decomposable attention on one embedding or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from wordbias.commands.finite import FiniteRange
from wordbias.commands.nli_train_plan import Asked
from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    reading_options,
    show,
)
from wordbias.commands.training_options import machine_options, recipe_options, training_files
from wordbias.nli.recipes import Recipe
from wordbias.rendering import Table
from wordbias.results import Report, Row, number

if TYPE_CHECKING:
    from wordbias.nli.runs import Data, Plan


@click.command()
@click.argument("embeddings", nargs=-1, metavar="[EMBEDDING]...")
@training_files
@click.option(
    "-o",
    "--output",
    required=True,
    help="The model; a folder for several, which are called NAME.seedS.safetensors.",
)
@recipe_options("published", seeds="0")
@click.option("--batch", type=click.IntRange(1), help="Pairs in a batch.")
@click.option("--rate", type=FiniteRange(0, min_open=True), help="Learning rate.")
@click.option("--dropout", type=FiniteRange(0, 1, max_open=True), help="Rate, in steps of 1/256.")
@click.option("--hidden", type=click.IntRange(1), help="Hidden units.")
@click.option("--no-intra", is_flag=True, help="Without intra-sentence attention.")
@click.option(
    "--patience", type=click.IntRange(1), help="Stop after so many epochs without a better one."
)
@machine_options
@reading_options
@format_option
@common_options
def command(to: str, quiet: bool, **given: Any) -> None:
    """Train decomposable attention (Parikh et al. 2016) on EMBEDDINGS, one model for each seed.

    Pairs are SNLI's own jsonl, or tabbed text of label, premise and hypothesis, compressed or not.
    The vectors are brought to length one and stay as they are; the epoch that is best on dev is
    kept. A log of every epoch lies beside the model. After an interruption the same command goes
    on from the last whole epoch; a finished model is not trained again. Without EMBEDDING the
    sample that comes with wordbias is used.

    \b
    Recipes:
      published  100 epochs of Adagrad, rate .025, decay 1e-5, dropout .2 (Dawkins 2021), batches
                 of 32
      fast       up to 30 epochs of Adam, rate .001, dropout .2, batches of 128, stopped after 4
                 without a better one

    \b
    Examples:
      wordbias nli-train --train snli_train.jsonl --dev snli_dev.jsonl --recipe fast -o m.st
      wordbias nli-train glove.txt hard.txt misp.txt --seeds 0,1,2 --train train.tsv.gz
        --dev dev.tsv.gz --test test.tsv.gz -o models
    """
    asked = Asked.of(**given)
    asked.check()
    data = asked.data()
    inputs: dict[str, dict[str, Any]] = {}
    plan = asked.plan(data, inputs, quiet)
    rows = asked.train(plan, data)
    report = Report(
        "nli-train",
        given_arguments(),
        {**inputs, **asked.about(data)},
        rows,
        [_table(rows)],
        _heading(given["recipe_name"], asked.recipe, data, plan),
        [f"Written: {asked.output}."],
    )
    show(report, to)


def _heading(name: str, recipe: Recipe, data: Data, plan: Plan) -> list[str]:
    settings = ", ".join(f"{key} {value}" for key, value in recipe.to_dict().items())
    sizes = ", ".join(f"{len(pairs):,} {name}" for name, pairs in data.pairs.items())
    known = ", ".join(f"{name} {share:.1%}" for name, share in plan.known.items())
    return [
        f"Decomposable attention, recipe {name}: {settings}.",
        f"Pairs: {sizes}. Words of the training sentences that are known: {known}.",
    ]


def _table(rows: Sequence[Row]) -> Table:
    """One line a model."""
    found = {(row.subject, row.details["set"]): row for row in rows}
    sets = list(dict.fromkeys(row.details["set"] for row in rows))
    cells = []
    for subject in dict.fromkeys(row.subject for row in rows):
        about = found[subject, "dev"].details
        values = [number(found[subject, name].value) for name in sets]
        cells.append([subject, str(about["seed"]), str(about["epoch"]), *values])
    return Table("Accuracy of the best epoch", ["model", "seed", "best epoch", *sets], cells)
