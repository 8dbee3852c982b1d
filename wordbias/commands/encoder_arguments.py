"""Options of functions on encoders, for `wordbias.commands.shell.shell`."""

from __future__ import annotations

import click

from wordbias.commands.shell import Declared, option
from wordbias.commands.types import COUNT, SEED
from wordbias.probes.encoder import PRECISIONS


def computing() -> list[Declared]:
    """Return how an encoder computes: None where nothing is typed."""
    return [
        option("max_length", type=COUNT),
        option("precision", type=click.Choice(PRECISIONS)),
        option("random_init", type=SEED, metavar="SEED"),
    ]
