"""`wordbias project`: fit gender subspaces inside an encoder, and fold them into its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from wordbias.commands.encoder_options import pairs_option, sent_debias_options, tokens_option
from wordbias.commands.options import (
    common_options,
    device_option,
    format_option,
    given_arguments,
    note,
    seed_option,
    show,
)
from wordbias.commands.project_plan import Asked
from wordbias.commands.project_views import adapter_tables, left_out_line, written_lines
from wordbias.contextual.adapters import Adapter
from wordbias.contextual.fitting import DIMS, ONE_SIDED
from wordbias.contextual.folding import Folded
from wordbias.contextual.loading import HEADS, Target
from wordbias.contextual.observing import BATCH
from wordbias.contextual.summary import adapter_rows
from wordbias.results import Report


@click.command()
@click.argument("model")
@click.option("-o", "--output", metavar="ADAPTER", help="Where to write the adapter.")
@pairs_option
@click.option(
    "--sites",
    "wanted",
    metavar="SITES",
    help="Such as cls@-1,tokens@3,attention@3.  [default: the four published ones]",
)
@tokens_option
@click.option(
    "--dims", type=click.IntRange(1), default=DIMS, show_default=True, help="Components to keep."
)
@click.option(
    "--one-sided", is_flag=True, help="Centre the differences; loses the mean gender shift."
)
@click.option("--unit", is_flag=True, help="Fit on vectors of length one, as SENT-Debias does.")
@sent_debias_options
@click.option(
    "--head",
    type=click.Choice(list(HEADS)),
    help="Which head to load.  [default: the one that the model has]",
)
@click.option("--setting", metavar="NAME", help="With --export: such as L11-11101, sent-debias.")
@click.option("--export", "folder", metavar="DIR", help="Write the model with a setting folded in.")
@click.option(
    "--batch",
    type=click.IntRange(1),
    default=BATCH,
    show_default=True,
    help="Sentences at a time.",
)
@device_option
@seed_option
@format_option
@common_options
def command(to: str, quiet: bool, **given: Any) -> None:
    """Fit the gender subspaces of an encoder at the sites of Dawkins et al. (2024).

    MODEL is a folder or a name on the hub: BERT, RoBERTa, ELECTRA, DistilBERT, DeBERTa-v2, MPNet
    or ALBERT, with its head if it has one. Sentences in a female and a male version pass through
    it once; the components of their differences become an adapter, a small file that other
    commands take with --adapter and --setting. Fit one for each model: they do not transfer.

    \b
    Examples:
      wordbias project bert-nli -o nli.adapter
      wordbias project bert-nli -o nli.adapter --pairs mine.toml --tokens word
      wordbias project bert-nli --setting L12-110 --export bert-nli-debiased
      wordbias project bert-nsp -o nsp.adapter --sent-debias wikitext.txt
    """
    asked = Asked(**given)
    asked.check()
    target = asked.target()
    for said in asked.check_folding(target):
        note(said, quiet)
    adapter = asked.fit(target)
    folded = asked.written(target, adapter)
    notes = [] if target.sentence else [_no_sentence(target)]
    notes += [ONE_SIDED] * asked.one_sided + left_out_line(adapter)
    show(_report(target, adapter, folded, asked, notes), to, quiet=quiet)


def _no_sentence(target: Target) -> str:
    return (
        f"{target.name}: a {type(target.model).__name__} without a trained head or pooler, so "
        "there is no site sentence, which every published setting needs"
    )


def _report(
    target: Target, adapter: Adapter, folded: Folded | None, asked: Asked, notes: list[str]
) -> Report:
    subject = Path(target.name).name
    rows = adapter_rows(adapter, subject)
    model: dict[str, Any] = {"path": target.name, **adapter.fingerprint.to_dict()}
    return Report(
        "project",
        given_arguments(),
        {subject: model},
        rows,
        adapter_tables(rows, subject),
        closing=written_lines(adapter, folded, asked.output, asked.folder),
        seed=asked.seed,
        notes=notes,
    )
