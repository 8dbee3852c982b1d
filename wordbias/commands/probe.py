"""`wordbias probe`: how easily a label is read off vectors, by MDL or by accuracy."""

from __future__ import annotations

from typing import Any

import click

from wordbias.commands.finite import FiniteRange
from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    jobs_options,
    note,
    reading_options,
    show,
    split_layers,
    split_seeds,
)
from wordbias.commands.probe_plan import Asked, split_fractions
from wordbias.commands.probe_views import (
    ACCURACY_CLOSING,
    accuracy_table,
    code_closing,
    code_table,
    heading,
)
from wordbias.probes.recipe import PROBES
from wordbias.results import Report


@click.command()
@click.argument("vectors", nargs=-1, metavar="[VECTORS]...")
@click.option("--labels", metavar="FILE-or-COLUMN", help="One label a line, or a column.")
@click.option("--names", is_flag=True, help="Gender of first names, as for words by default.")
@click.option(
    "--mdl/--accuracy", default=True, help="Online code, or plain probing.  [default: mdl]"
)
@click.option(
    "--probe", type=click.Choice(PROBES), default="linear", show_default=True, help="What learns."
)
@click.option(
    "--fractions",
    callback=split_fractions,
    help="Where blocks of --mdl end: published, voita, or percentages 2,10,100.  [default: "
    "published]",
)
@click.option(
    "--seeds",
    default="0,1,2",
    callback=split_seeds,
    show_default=True,
    help="Each with an order and first weights of its own.",
)
@click.option("--layers", callback=split_layers, help="last, or such as 0,6,12.  [default: all]")
@click.option("--array", help="Name of the array, where a file holds several.")
@click.option(
    "--groups", metavar="FILE-or-COLUMN", help="Groups arrive one by one, and none is split."
)
@click.option(
    "--types", metavar="FILE-or-COLUMN", help="What gets one label each in the control task."
)
@click.option("--control/--no-control", default=True, help="Random labels too.  [default: yes]")
@click.option(
    "--random/--no-random",
    default=None,
    help="Random vectors too.  [default: only without arguments]",
)
@click.option(
    "--dev", metavar="FILE-or-COLUMN=VALUE", help="External dev set, as published; not sent."
)
@click.option("--split", metavar="FILE-or-COLUMN", help="train, dev and test, for --accuracy.")
@click.option("--epochs", type=click.IntRange(1), default=50, show_default=True, help="At most.")
@click.option(
    "--batch", type=click.IntRange(1), default=16, show_default=True, help="Examples in a batch."
)
@click.option(
    "--rate",
    type=FiniteRange(0, 1, min_open=True),
    default=1e-3,
    show_default=True,
    help="Learning rate.",
)
@click.option(
    "--as-published",
    is_flag=True,
    help="Last weights, as in the released code. Both compressions are always printed.",
)
@click.option("--device", help="Of an MLP probe: cpu or cuda.  [default: cuda if there is one]")
@click.option("--plot", metavar="FILE", help="Draw bits along the data: .png, .pdf or .svg.")
@jobs_options
@reading_options
@format_option
@common_options
def command(to: str, quiet: bool, **given: Any) -> None:
    """Measure how easily a label, such as gender, is read off VECTORS: compression.

    VECTORS are files of encode, .npy, .npz or safetensors arrays with --labels, or embeddings in
    any format, whose first names are probed for gender unless --labels names a file of words and
    labels, with a tab between them. Several files stand side by side, such as those of an encoder
    and of the same one with random weights. Without VECTORS the sample that comes with wordbias
    is probed, beside random vectors.

    \b
    Examples:
      wordbias probe
      wordbias probe bios.st --labels gender --plot compression.png
      wordbias probe bios.st random.st --labels gender --seeds 0,1,2,3,4 --probe mlp
      wordbias probe winobias.st --labels gender --groups profession
      wordbias probe vectors.npy --labels labels.txt --accuracy
    """
    asked = Asked(**given)
    asked.check()
    inputs = asked.inputs(quiet)
    for line in dict.fromkeys(line for one in inputs for line in one.notes):
        note(line, quiet)
    rows = [row for one in inputs for row in asked.rows(one)]
    if asked.plot is not None:
        from wordbias.pages.codes import save_codes

        save_codes(asked.plot, rows)
    closing = (
        code_closing(rows, external=asked.dev is not None, last=asked.as_published)
        if asked.mdl
        else [ACCURACY_CLOSING]
    )
    report = Report(
        "probe",
        given_arguments(),
        {one.examples.name: one.info for one in inputs},
        rows,
        [code_table(rows) if asked.mdl else accuracy_table(rows)],
        heading=heading([(one.examples, one.described) for one in inputs], asked.probe),
        closing=[*closing, *([f"Drawn: {asked.plot}."] if asked.plot else [])],
        seed=asked.seeds[0],
    )
    show(report, to)
