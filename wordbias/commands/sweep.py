"""`wordbias sweep`: all 74 settings, their bias and their fairness, in one command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from wordbias.commands.encoder_options import (
    extremes_options,
    labels_option,
    next_label_option,
    pairs_option,
    parity_option,
    repair_option,
    sent_debias_options,
    tokens_option,
    viability_options,
)
from wordbias.commands.mab_views import list_options
from wordbias.commands.options import (
    common_options,
    device_option,
    format_option,
    given_arguments,
    jobs_options,
    seed_option,
    show,
)
from wordbias.commands.sweep_measuring import Swept
from wordbias.commands.sweep_plan import Asked
from wordbias.commands.sweep_summary import summarise
from wordbias.commands.sweep_views import records, remarks
from wordbias.contextual.table7 import Entry
from wordbias.formats.atomic import replacing
from wordbias.rendering import as_csv
from wordbias.results import Report


@click.command()
@click.argument("model", required=False)
@click.option("--stereoset", "stereoset_file", metavar="FILE", help="Enhanced StereoSet (CSV).")
@click.option("--nli", "nli_model", metavar="MODEL2", help="An NLI model of the same kind.")
@click.option("--snli", "snli_file", metavar="FILE", help="Labelled pairs: jsonl or TSV.")
@click.option("--table", "table_file", metavar="CSV", help="Summarise a table of all settings.")
@pairs_option
@tokens_option
@sent_debias_options
@next_label_option
@labels_option
@extremes_options
@repair_option
@parity_option
@viability_options
@list_options
@click.option("-o", "--output", metavar="CSV", help="Table 7; beside it lies what is half done.")
@click.option("--plot", metavar="FILE", help="Draw η against S: .png, .pdf or .svg.")
@device_option
@jobs_options
@seed_option
@format_option
@common_options
def command(to: str, quiet: bool, **given: Any) -> None:
    """Measure bias and fairness under all 74 projections of Dawkins et al. (2024), their Table 7.

    MODEL says whether a sentence is next (see stereoset), MODEL2 whether one follows from another
    (see nli-fairness); both are folders, or names on the hub. Subspaces are fitted on each, both
    unmodified, as wordbias project does. All settings together cost little more than one pass of
    each model over its data: layers below the lowest intervention are run once, the last one for
    its first token alone. After an interruption the same command, with -o, goes on.

    \b
    Examples:
      wordbias sweep bert-nsp --stereoset gsss/dev.csv --nli bert-nli --snli snli_test.jsonl
      wordbias sweep bert-nsp --stereoset gsss/dev.csv --nli bert-nli --snli snli_test.jsonl
        --sent-debias wikitext.txt -o table7.csv --plot table7.pdf
      wordbias sweep --table table7.csv
    """
    asked = Asked(**given)
    asked.check()
    with asked.going_on():
        report = _report(asked)
    show(report, to, quiet=quiet)


def _report(asked: Asked) -> Report:
    """Measure, summarise, write."""
    swept = Swept.of(asked)
    entries, subject = swept.entries, asked.table_file or str(asked.model)
    summary = summarise(entries, subject, asked.drop, asked.relative, asked.seed)
    notes = remarks(entries, asked.drop, asked.relative)
    if asked.table_file is None and asked.text is None:
        notes.append("without SENT-Debias: it needs a text, --sent-debias TEXT")
    notes += summary.notes
    _write(entries, asked)
    asked.remove_parts()
    return Report(
        "sweep",
        given_arguments(),
        swept.inputs,
        [*swept.rows, *summary.rows],
        summary.tables,
        [asked.heading()],
        [*summary.closing, *(f"Written: {path}." for path in (asked.output, asked.plot) if path)],
        asked.seed,
        notes,
    )


def _write(entries: Sequence[Entry], asked: Asked) -> None:
    if asked.plot is not None:
        from wordbias.pages.strength_fairness import save_strength_fairness

        save_strength_fairness(asked.plot, entries, asked.drop, relative=asked.relative)
    if asked.output is not None:
        with replacing(asked.output) as file:
            file.write(as_csv(records(entries)).encode())
