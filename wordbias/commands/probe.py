"""`wordbias probe`: how easily a label is read off vectors, by MDL or by accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import click

from wordbias.commands.inputs import Reading
from wordbias.commands.options import (
    Layers,
    common_options,
    format_option,
    given_arguments,
    note,
    reading_options,
    show,
    split_layers,
    split_seeds,
)
from wordbias.commands.probe_inputs import Input, open_input
from wordbias.commands.probe_views import (
    ACCURACY_CLOSING,
    accuracy_table,
    code_closing,
    code_table,
)
from wordbias.errors import WordbiasError
from wordbias.probes.accuracy import probe_accuracy
from wordbias.probes.online import online_codes
from wordbias.probes.recipe import PROBES, Recipe
from wordbias.probes.rows import accuracy_rows, code_rows
from wordbias.probes.schedule import FRACTIONS, check_fractions
from wordbias.results import Report, Row


def _split_fractions(
    ctx: click.Context, param: click.Parameter, value: str
) -> str | tuple[float, ...]:
    """Return a known name, or split percentages such as ``2,10,100``."""
    if value in FRACTIONS:
        return value
    try:
        shares = [float(part) / 100 for part in value.split(",")]
    except ValueError:
        known = ", ".join(FRACTIONS)
        raise click.BadParameter(f"expected {known}, or percentages 2,10,100", ctx, param) from None
    try:
        return check_fractions(shares)
    except WordbiasError:
        raise click.BadParameter(
            f"expected percentages that rise from above 0 to 100, found {value}", ctx, param
        ) from None


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
    default="published",
    callback=_split_fractions,
    show_default=True,
    help="Where blocks end: published, voita, or percentages 2,10,100.",
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
    type=click.FloatRange(0, 1, min_open=True),
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
@reading_options
@format_option
@common_options
def command(
    vectors: tuple[str, ...],
    labels: str | None,
    names: bool,
    mdl: bool,
    probe: str,
    fractions: str | tuple[float, ...],
    seeds: list[int],
    layers: Layers,
    array: str | None,
    groups: str | None,
    types: str | None,
    control: bool,
    random: bool | None,
    dev: str | None,
    split: str | None,
    epochs: int,
    batch: int,
    rate: float,
    as_published: bool,
    device: str | None,
    plot: str | None,
    skip_bad: bool,
    allow_pickle: bool,
    cache: bool,
    to: str,
    quiet: bool,
) -> None:
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
    _check_usage(mdl, groups, dev, split, plot)
    if plot is not None:
        from wordbias.report.plots import check_plot

        check_plot(plot)
    recipe = Recipe(probe, epochs, batch, rate, last=as_published)
    reading = Reading(cache, skip_bad, allow_pickle)
    inputs = [
        open_input(
            name, reading, labels=labels, names=names, layers=layers, array=array, quiet=quiet
        )
        for name in dict.fromkeys(vectors or (None,))
    ]
    inputs = _named(inputs)
    if random or (random is None and not vectors):
        inputs = [both for one in inputs for both in (one, one.random(seeds[0]))]
    for line in dict.fromkeys(line for one in inputs for line in one.notes):
        note(line, quiet)

    def coded(one: Input) -> list[Row]:
        found = online_codes(
            one.examples,
            seeds=seeds,
            fractions=fractions,
            recipe=recipe,
            groups=one.codes("--groups", groups),
            dev=one.rows_where("--dev", dev),
            types=one.codes("--types", types),
            control=control,
            device=device,
        )
        return code_rows(one.examples, found, one_layer=one.one_layer)

    def probed(one: Input) -> list[Row]:
        found = probe_accuracy(
            one.examples,
            seeds=seeds,
            recipe=recipe,
            split=one.column("--split", split),
            types=one.codes("--types", types),
            control=control,
            device=device,
        )
        return accuracy_rows(one.examples, found, one_layer=one.one_layer)

    rows = [row for one in inputs for row in (coded if mdl else probed)(one)]
    if plot is not None:
        from wordbias.report.codes import save_codes

        save_codes(plot, rows)
    closing = (
        code_closing(rows, external=dev is not None, last=as_published)
        if mdl
        else [ACCURACY_CLOSING]
    )
    report = Report(
        "probe",
        given_arguments(),
        {one.examples.name: one.info for one in inputs},
        rows,
        [code_table(rows) if mdl else accuracy_table(rows)],
        heading=_heading(inputs, recipe),
        closing=[*closing, *([f"Drawn: {plot}."] if plot else [])],
        seed=seeds[0],
    )
    show(report, to)


def _check_usage(
    mdl: bool, groups: str | None, dev: str | None, split: str | None, plot: str | None
) -> None:
    if mdl and split:
        raise click.UsageError("--split is for --accuracy; an online code splits by itself")
    for option, given in (("--groups", groups), ("--dev", dev), ("--plot", plot)):
        if given and not mdl:
            raise click.UsageError(f"{option} is for --mdl")


def _named(inputs: Sequence[Input]) -> list[Input]:
    """Name inputs as results do, by their paths where two have one name."""
    names = [one.examples.name for one in inputs]
    found = []
    for one in inputs:
        name = one.examples.name
        name = name if names.count(name) == 1 else str(one.info["path"])
        found.append(replace(one, examples=replace(one.examples, name=name)))
    return found


def _heading(inputs: Sequence[Input], recipe: Recipe) -> list[str]:
    classes = {one.examples.classes for one in inputs}
    lines = [f"{one.examples.name}: {one.described}." for one in inputs]
    for found in classes:
        shown = ", ".join(found[:8]) + (" …" if len(found) > 8 else "")
        lines.append(f"Classes: {shown}. Probe: {recipe.probe}.")
    return lines
