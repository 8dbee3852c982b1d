"""`wordbias mab-eval`: marked attribute bias of an NLI model, ours or anyone's."""

from __future__ import annotations

from typing import Any

import click

from wordbias.commands.mab_eval_plan import Asked
from wordbias.commands.mab_views import ALL, bias_table, list_options, marked_table, words_tables
from wordbias.commands.options import (
    attribute_option,
    common_options,
    format_option,
    given_arguments,
    reading_options,
    seed_option,
    show,
    split_names,
)
from wordbias.nli.fillers import MARKED
from wordbias.nli.marked_attribute import PARTITIONS
from wordbias.results import Report


@click.command()
@click.argument("embedding", required=False)
@click.option(
    "--model", metavar="FILE", help="What nli-train wrote.  [default: trained on the sample]"
)
@click.option("--predictions", metavar="CSV", help="Judge the predictions of any other system.")
@click.option("--hf", metavar="MODEL", help="Judge a Hugging Face model: a folder or a hub name.")
@click.option(
    "--labels",
    callback=split_names,
    help="With --hf: order of its outputs, neutral,entailment,contradiction.",
)
@click.option("--device", help="With --hf: cpu or cuda.  [default: cuda if there is one]")
@click.option(
    "--set",
    "name",
    type=click.Choice([*MARKED, ALL]),
    help="Whom the hypotheses are about.  [default: explicit]",
)
@attribute_option
@list_options
@click.option("--words", is_flag=True, help="Show every word by itself, too.")
@click.option(
    "--draws",
    type=click.IntRange(1),
    default=PARTITIONS,
    show_default=True,
    help="Partitions of the permutation test over words.",
)
@click.option("--strict", is_flag=True, help="p as published: share of d* > d, which can be 0.")
@reading_options
@seed_option
@format_option
@common_options
def command(to: str, quiet: bool, **given: Any) -> None:
    """Measure marked attribute bias (Dawkins 2021): a person entails he, but not she.

    The premise is "A person bought a hat .", the hypothesis "He bought a hat ." or "A woman
    bought a hat .", and neutral is always right. What is judged is an NLI model that was trained
    on EMBEDDING (wordbias nli-train), the predictions of another system for the pairs that
    wordbias mab-build writes, or a Hugging Face model. Without any of them it is the model that
    comes with wordbias, on the sample. With --attribute the hypotheses are about two other groups
    of people, in whatever words it has for them: --set names where it has only names.

    \b
    Examples:
      wordbias mab-eval
      wordbias mab-eval --set all --words
      wordbias mab-eval debiased.txt --model debiased.nli.safetensors
      wordbias mab-eval --attribute ethnicity:white,black --set names
      wordbias mab-eval --predictions predictions.csv --set names
      wordbias mab-eval --hf roberta-large-mnli --device cuda --format json
    """
    asked = Asked(**given)
    asked.check()
    judged = asked.judged(quiet)
    rows = judged.rows(asked.settings)
    single = judged.word_rows() if asked.words else []
    report = Report(
        "mab-eval",
        given_arguments(),
        judged.inputs,
        [*rows, *single],
        [marked_table(rows), bias_table(rows), *words_tables(single)],
        [f"Marked attribute bias of {judged.described}."],
        asked.closing(),
        asked.seed,
        judged.notes,
    )
    show(report, to, quiet=quiet)
