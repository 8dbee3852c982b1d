"""Options of commands that train an NLI model."""

from __future__ import annotations

from collections.abc import Callable

import click

from wordbias.commands.options import F, backend_option, device_option, split_seeds, stacked
from wordbias.nli.recipes import RECIPES

FLOAT32, BFLOAT16 = "float32", "bfloat16"

training_files = stacked(
    click.option(
        "--train", "train_file", required=True, help="Pairs to train on: jsonl or tabbed."
    ),
    click.option("--dev", "dev_file", required=True, help="Pairs that choose the best epoch."),
    click.option("--test", "test_file", help="Pairs to test the best epoch on."),
)

precision_option = click.option(
    "--precision",
    type=click.Choice([FLOAT32, BFLOAT16]),
    default=FLOAT32,
    show_default=True,
    help="Of matrix products.",
)

machine_options = stacked(
    device_option,
    precision_option,
    click.option(
        "--jobs",
        "--processes",
        "jobs",
        type=click.IntRange(1),
        help="Models at a time on a CPU.  [default: --threads; on a cluster all workers]",
    ),
    backend_option,
)


def recipe_options(recipe: str, seeds: str) -> Callable[[F], F]:
    """Make the options of seeds and recipe with these defaults."""
    return stacked(
        click.option(
            "--seeds",
            default=seeds,
            callback=split_seeds,
            show_default=True,
            help="One model each.",
        ),
        click.option(
            "--recipe",
            "recipe_name",
            type=click.Choice(list(RECIPES)),
            default=recipe,
            show_default=True,
            help="Settings to start from; other options change one.",
        ),
        click.option("--epochs", type=click.IntRange(1), help="At most.  [default: the recipe's]"),
    )
