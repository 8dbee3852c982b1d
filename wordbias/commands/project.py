"""`wordbias project`: fit gender subspaces inside an encoder, and fold them into its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
from wordbias.commands.project_views import adapter_tables, left_out_line, written_lines
from wordbias.contextual.adapters import Adapter
from wordbias.contextual.exporting import export
from wordbias.contextual.fitting import DIMS, ONE_SIDED, Recipe, fit_adapter
from wordbias.contextual.folding import Folded, fold
from wordbias.contextual.loading import HEADS, Target, load_target
from wordbias.contextual.observing import BATCH
from wordbias.contextual.sent_debias import drawn_from, with_sent_debias
from wordbias.contextual.sentence_pairs import sentence_pairs
from wordbias.contextual.settings import SENT_DEBIAS, Settings
from wordbias.contextual.sites import sites
from wordbias.contextual.summary import adapter_rows
from wordbias.formats.atomic import check_new, check_writable, refuse_same
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
def command(
    model: str,
    output: str | None,
    pairs: str | None,
    wanted: str | None,
    tokens: str,
    dims: int,
    one_sided: bool,
    unit: bool,
    text: str | None,
    limit: int,
    attribute_file: str | None,
    head: str | None,
    setting: str | None,
    folder: str | None,
    batch: int,
    device: str | None,
    seed: int,
    to: str,
    quiet: bool,
) -> None:
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
    if attribute_file is not None and text is None:
        raise click.UsageError("--attribute goes with --sent-debias")
    _check(setting, folder, text)
    read = {"--pairs": pairs, "--sent-debias": text, "--attribute": attribute_file}
    _check_outputs(output, folder, read)
    target = load_target(model, device, head)
    notes = [] if target.sentence else [_no_sentence(target)]
    recipe = Recipe(tokens, one_sided, dims, seed, unit)
    plan = _Plan(recipe, pairs, wanted, text, limit, attribute_file, batch)
    adapter = plan.fit(target)
    folded = None
    if setting is not None and folder is not None:
        folded = fold(target.model, adapter.interventions(setting))
        export(folded, target.tokenizer, folder, setting)
    if output is not None:
        adapter.save(output)
    notes += [ONE_SIDED] * one_sided + left_out_line(adapter)
    for line in notes:
        note(line, quiet)
    show(_report(target, adapter, folded, output, folder, notes, seed), to)


@dataclass(frozen=True)
class _Plan:
    """What is to be fitted, from what."""

    recipe: Recipe
    pairs: str | None
    wanted: str | None
    text: str | None
    limit: int
    attribute: str | None
    batch: int

    def fit(self, target: Target) -> Adapter:
        """Fit an adapter, and the baseline if a text is named."""
        adapter = fit_adapter(
            target.model,
            target.tokenizer,
            sentence_pairs(self.pairs),
            self.recipe,
            wanted=target.sites() if self.wanted is None else sites(self.wanted),
            batch=self.batch,
            source=self.pairs or "built-in",
        )
        if self.text is None:
            return adapter
        seed = self.recipe.seed
        drawn = drawn_from(self.text, self.attribute, limit=self.limit, seed=seed)
        return with_sent_debias(
            adapter, target.model, target.tokenizer, drawn, source=self.text, batch=self.batch
        )


def _check(setting: str | None, folder: str | None, text: str | None) -> None:
    """Refuse early a setting that is none, or goes nowhere."""
    if (setting is None) != (folder is None):
        raise click.UsageError("--setting and --export go together: what to fold in, and where to")
    if setting == SENT_DEBIAS and text is None:
        raise click.UsageError("--setting sent-debias needs --sent-debias TEXT")
    if setting is not None and setting != SENT_DEBIAS and "@" not in setting:
        Settings.parse(setting)


def _check_outputs(output: str | None, folder: str | None, read: Mapping[str, str | None]) -> None:
    """Refuse early what would fail after the work."""
    if folder is not None:
        check_new(folder)
    if output is not None:
        check_writable(output)
        refuse_same({"-o": output, "--export": folder}, read)


def _no_sentence(target: Target) -> str:
    return (
        f"{target.name}: a {type(target.model).__name__} without a trained head or pooler, so "
        "there is no site sentence, which every published setting needs"
    )


def _report(
    target: Target,
    adapter: Adapter,
    folded: Folded | None,
    output: str | None,
    folder: str | None,
    notes: list[str],
    seed: int,
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
        closing=written_lines(adapter, folded, output, folder),
        seed=seed,
        notes=notes,
    )
