"""Options of commands on encoders: how they read, what is fitted, what is measured."""

from __future__ import annotations

import click

from wordbias.commands.finite import FiniteRange
from wordbias.commands.options import split_names, stacked
from wordbias.contextual.nli_fairness import PARITIES
from wordbias.contextual.viability import DROP

adapter_options = stacked(
    click.option("--adapter", metavar="FILE", help="What wordbias project wrote: measured beside."),
    click.option(
        "--setting",
        "settings_named",
        metavar="NAME",
        multiple=True,
        help="Of the adapter, such as L11-11101; repeat it for more.",
    ),
    click.option("--force", is_flag=True, help="Use an adapter that another model was fitted on."),
)

labels_option = click.option(
    "--labels",
    callback=split_names,
    help="Order of the NLI model's outputs, neutral,entailment,contradiction, where it does not "
    "say.",
)

parity_option = click.option(
    "--parity",
    type=click.Choice(PARITIES),
    default=PARITIES[0],
    show_default=True,
    help="Of η: labels of the mean over templates agree, or of every template.",
)

viability_options = stacked(
    click.option(
        "--drop",
        type=FiniteRange(0, 1),
        default=DROP,
        show_default=True,
        help="SNLI accuracy that a viable model may lose.",
    ),
    click.option("--relative", is_flag=True, help="Take --drop as a share of the base's accuracy."),
)


def check_adapter(adapter: str | None, names: tuple[str, ...]) -> None:
    """Refuse an adapter without settings, and settings without an adapter."""
    if bool(adapter) != bool(names):
        raise click.UsageError("--adapter and --setting go together")
