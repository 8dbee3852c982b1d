"""`wordbias probe`: the options of `wordbias.probe`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import FRACTIONS, SEEDS, FiniteRange
from wordbias.functions.probe import probe
from wordbias.models.encoding import TEXT_POOLINGS
from wordbias.probes.train import PROBES

command: click.Command = shell(
    probe,
    argument("vectors", many=True, metavar="[VECTORS|MODEL]..."),
    option("labels", metavar="FILE-or-COLUMN"),
    option("mdl", "--mdl/--accuracy", show_default=False),
    option("probe", type=click.Choice(PROBES)),
    option("fractions", type=FRACTIONS),
    option("seed", type=SEEDS),
    option("pooling", type=click.Choice(TEXT_POOLINGS)),
    option("unit", metavar="FILE-or-COLUMN"),
    option("types", metavar="FILE-or-COLUMN"),
    option("control", show_default=False),
    option("random", "--random/--no-random"),
    option("dev", metavar="FILE-or-COLUMN=VALUE"),
    option("split", metavar="FILE-or-COLUMN"),
    option("lr", type=FiniteRange(0, 1, min_open=True)),
    examples="""
        wordbias probe
        wordbias probe bios.st --labels gender --plot compression.png
        wordbias probe bios.st random.st --labels gender --seed 0,1,2,3,4 --probe mlp
        wordbias probe winobias.st --labels gender --unit profession
        wordbias probe sentences.parquet --labels gender
        wordbias probe vectors.npy --labels labels.txt --accuracy
        wordbias probe ./minilm --texts bios.tsv --labels gender --adapter a.st --setting tokens@3
    """,
)
