"""`wordbias debias`: any method, or several in order, on any file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import click

from wordbias.commands.debias_plan import Asked
from wordbias.commands.debias_views import debias_report
from wordbias.commands.method_options import method_options
from wordbias.commands.options import (
    chance_option,
    common_options,
    format_option,
    reading_options,
    seed_option,
    show,
    split_names,
    vocabulary_options,
)
from wordbias.measures.table import FAMILIES
from wordbias.methods.methods import METHODS

_METHODS = "\n".join(
    f"  {name:18} {method.summary} ({method.paper})" for name, method in METHODS.items()
)
_HELP = f"""Debias EMBEDDING with METHODS, one or several with commas between, and write the result.

Several are applied in order, each fitted on what the one before left. Without EMBEDDING the sample
that comes with wordbias is used. leace needs the extra leace, gender-preserving the extra torch.

\b
METHODS, and what they do:
{_METHODS}

hard and multi-hard keep specific words and those of all pairs or sets, listed as specific or not;
hard --as-published keeps the listed ones alone, as spelled.

\b
Examples:
  wordbias debias hard --measure --only midb,direct-bias
  wordbias debias hard,misp glove.txt -o debiased.txt
  wordbias debias inlp glove.txt --classes 2 --save-transform inlp.safetensors
  wordbias debias gn-glove gn_glove.txt --drop-last -o wa.txt
"""


@click.command(help=_HELP)
@click.argument("methods")
@click.argument("embedding", required=False)
@click.option(
    "-o",
    "--output",
    help="Write the debiased vectors, in the format of its suffix, else of EMBEDDING.",
)
@click.option("--save-transform", help="Write what was fitted, for wordbias apply.")
@click.option("--measure", is_flag=True, help="Measure before and after.")
@click.option(
    "--only", callback=split_names, help=f"With --measure: some of {', '.join(FAMILIES)}."
)
@click.option("--sembias", "sembias_file", help="With --measure: the SemBias test set.")
@chance_option
@method_options
@vocabulary_options
@reading_options
@seed_option
@format_option
@common_options
def command(methods: str, to: str, quiet: bool, **given: Any) -> None:
    """Fit, apply, measure, write; `_HELP` is what a user reads."""
    asked = Asked.of(methods, given)
    asked.check()
    attribute = asked.attribute()
    measuring = asked.measuring()
    subject = asked.opened(attribute, quiet)
    before = subject.embedding
    chain, done = asked.fitted(before, attribute)
    measured = [] if measuring is None else measuring.rows(before, done, attribute)
    reached = subject.write_words(chain, done, partial(asked.save, chain, subject))
    report = debias_report(subject, chain, done, reached, measured, asked.about(attribute))
    report = replace(report, closing=[*asked.closing(), subject.written()], seed=asked.seed)
    show(report, to, quiet=quiet)
