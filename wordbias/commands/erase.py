"""`wordbias erase`: the options of `wordbias.erase`."""

from __future__ import annotations

import click

from wordbias.commands.shell import argument, option, shell
from wordbias.commands.types import FiniteRange
from wordbias.functions.erase import FOLDS, erase
from wordbias.labelled import MISSING
from wordbias.methods.settings import ERASERS, ROW_SETTINGS

command: click.Command = shell(
    erase,
    argument("vectors"),
    option("labels", metavar="COLUMN|FILE"),
    option("methods", metavar="METHOD"),
    option("also", metavar="COLUMN|FILE"),
    option("balance", is_flag=True),
    option("cross_fit", type=click.IntRange(2, FOLDS)),
    option("certify", is_flag=True),
    option("unit", metavar="COLUMN|FILE"),
    option("missing", type=click.Choice(MISSING)),
    option("held_out", type=FiniteRange(0, 0.9, min_open=True)),
    option("split_column", metavar="COLUMN|FILE"),
    option("model", metavar="MODEL"),
    option("sts", metavar="FILE"),
    methods=ERASERS,
    takes=ROW_SETTINGS,
    examples="""
        wordbias erase s.parquet --labels gender --also profession -o clean.parquet
        wordbias erase s.npy --labels labels.txt --save-transform leace.safetensors
        wordbias erase s.parquet --labels gender --cross-fit 5 --unit person -o train.parquet
        wordbias erase shards/ --labels gender,race --missing drop -o clean/ --jobs 2
        wordbias erase --model all-minilm --texts bios.tsv --labels gender -o all-minilm-erased
    """,
)
