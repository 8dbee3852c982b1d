"""`wordbias nli-fairness`: accuracy, parity and fairness of an NLI model."""

from __future__ import annotations

from typing import Any

import click

from wordbias.commands.encoder_options import (
    adapter_options,
    labels_option,
    parity_option,
    viability_options,
)
from wordbias.commands.finite import FiniteRange
from wordbias.commands.mab_views import list_options
from wordbias.commands.nli_fairness_plan import Asked
from wordbias.commands.nli_fairness_views import fairness_table
from wordbias.commands.options import (
    attribute_option,
    common_options,
    device_option,
    format_option,
    given_arguments,
    reading_options,
    seed_option,
    show,
)
from wordbias.formats.atomic import replacing
from wordbias.rendering import as_csv
from wordbias.results import Report


@click.command()
@click.argument("model", required=False)
@click.option("--snli", "snli_file", metavar="FILE", help="Labelled pairs: accuracy beside.")
@click.option("--embedding", metavar="FILE", help="Of a MODEL that nli-train wrote.")
@labels_option
@device_option
@adapter_options
@parity_option
@click.option(
    "--base-snli",
    type=FiniteRange(0, 1),
    help="SNLI accuracy before debiasing.  [default: of MODEL without adapter]",
)
@viability_options
@attribute_option
@list_options
@click.option("-o", "--output", metavar="CSV", help="Every occupation by itself.")
@reading_options
@seed_option
@format_option
@common_options
def command(to: str, quiet: bool, **given: Any) -> None:
    """Measure whether an NLI model takes a doctor for a man (Dawkins et al. 2024, section 3).

    The premise is "The doctor bought a hat.", the hypothesis "The man bought a hat." or "The woman
    …", for 164 occupations and 33 templates: 10,824 pairs, all of them neutral. Accuracy is the
    share predicted so, parity the share of occupations whose prediction does not depend on gender,
    and fairness η their product. With --attribute two other groups of people stand in the
    hypotheses: "The Christian person …".

    MODEL is a Hugging Face model with three labels (a folder, or a name on the hub), or a file
    that wordbias nli-train wrote, with its --embedding. Without MODEL it is the one that comes with
    wordbias, on the sample.

    \b
    Examples:
      wordbias nli-fairness
      wordbias nli-fairness debiased.nli.safetensors --embedding debiased.txt
      wordbias nli-fairness --attribute religion:christian,muslim
      wordbias nli-fairness my-bert-nli --snli snli_1.0_test.jsonl
      wordbias nli-fairness my-bert-nli --snli test.tsv --adapter nli.st --setting L11-11101
    """
    asked = Asked(**given)
    asked.check()
    test = asked.test_set()
    judged = asked.load(quiet)
    rows, records = asked.measured(judged, test)
    if asked.output is not None:
        with replacing(asked.output) as stream:
            stream.write(as_csv(records).encode())
    notes, words = judged.notes, " and ".join(filler.word for filler in test.hypotheses)
    report = Report(
        "nli-fairness",
        given_arguments(),
        judged.inputs,
        rows,
        [fairness_table(rows, asked.parity, asked.drop, asked.relative)],
        [f"NLI fairness of {judged.described}: {len(test):,} pairs about {words}, all neutral."],
        [f"Written: {asked.output}."] if asked.output else [],
        asked.seed,
        notes,
    )
    show(report, to, quiet=quiet)
