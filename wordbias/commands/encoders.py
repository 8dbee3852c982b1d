"""Options that commands on encoders share, as `wordbias.commands.shell.shell` takes them."""

from __future__ import annotations

import click

from wordbias.commands.shell import option
from wordbias.commands.types import COUNT, SEED
from wordbias.contextual.fitting import TOKENS

COMPUTING = (
    option("max_length", type=COUNT),
    option("random_init", type=SEED, metavar="SEED"),
)
"""Options for the computation of an encoder; None if not given."""

FITTING = (
    option("pairs", metavar="FILE"),
    option("tokens", type=click.Choice(TOKENS)),
    option("sent_debias", metavar="TEXT"),
    option("limit", type=click.IntRange(2)),
)
"""Options for the data on which subspaces are fitted."""

ADAPTER = (
    option("adapter", metavar="FILE"),
    option("setting", metavar="NAME", multiple=True),
)
"""Options for the adapter that is applied while a model is measured."""
