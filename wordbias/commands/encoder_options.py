"""Options of commands on encoders: how they read, what is fitted, what is measured."""

from __future__ import annotations

import click

from wordbias.commands.finite import FiniteRange
from wordbias.commands.options import split_names, stacked
from wordbias.contextual.nli_fairness import PARITIES
from wordbias.contextual.observing import TOKENS
from wordbias.contextual.sent_debias import LIMIT
from wordbias.contextual.stereoset.scores import ROUNDINGS, SHARE
from wordbias.contextual.viability import DROP

pairs_option = click.option(
    "--pairs", metavar="FILE", help="Pairs of sentences to fit on: TOML, or lines with a tab."
)

tokens_option = click.option(
    "--tokens",
    type=click.Choice(TOKENS),
    default=TOKENS[0],
    show_default=True,
    help="At tokens and attention: the mean of all aligned tokens, of those that differ, or CLS.",
)

sent_debias_options = stacked(
    click.option("--sent-debias", "text", metavar="TEXT", help="Fit that baseline too, on a text."),
    click.option(
        "--limit",
        type=click.IntRange(2),
        default=LIMIT,
        show_default=True,
        help="With --sent-debias: pairs of sentences to draw from the text.",
    ),
    click.option(
        "--attribute",
        "attribute_file",
        metavar="NAME|FILE",
        help="With --sent-debias: whose pairs of words are swapped.  [default: gender]",
    ),
)

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

extremes_options = stacked(
    click.option(
        "--share",
        type=FiniteRange(0, 1, min_open=True),
        default=SHARE,
        show_default=True,
        help="Of the triples that are most extreme: S and D are means of these.",
    ),
    click.option(
        "--rounding",
        type=click.Choice(ROUNDINGS),
        default=ROUNDINGS[0],
        show_default=True,
        help="Of that share to a whole number of triples.",
    ),
)

repair_option = click.option(
    "--repair/--no-repair",
    default=True,
    show_default=True,
    help="Measure repaired swaps beside the published ones.",
)

next_label_option = click.option(
    "--next-label", metavar="NAME", help="Output of MODEL that means: is next."
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
