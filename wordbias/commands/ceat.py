"""`wordbias ceat`: the options of `wordbias.ceat`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import COUNT
from wordbias.functions.ceat import ceat
from wordbias.models.encoding import SUBWORDS
from wordbias.probes.ceat.association import VARIANCES

command: click.Command = shell(
    ceat,
    argument("model", required=True, metavar="MODEL|VECTORS"),
    option("draws", type=click.IntRange(2)),
    option("variance", type=click.Choice(VARIANCES)),
    option("per_word", type=COUNT),
    option("min_sentences", type=COUNT),
    option("subword", type=click.Choice(SUBWORDS)),
    option("special_tokens", "--special-tokens/--no-special-tokens"),
    option("short_context", "--short-context/--no-window"),
    option("output", "-o", "--output", metavar="VECTORS"),
    notes=False,
    examples="""
        wordbias ceat bert-base-cased --sentences reddit.txt.gz
        wordbias ceat ./minilm --sentences snli.tsv.gz --text-column premise --query 6 --layers all
        wordbias ceat ./minilm --sentences wiki.txt --query mine.toml -o words.safetensors
        wordbias ceat words.safetensors --query mine.toml --draws 100000 --format json
    """,
)
