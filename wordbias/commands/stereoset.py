"""`wordbias stereoset`: what a model prefers in StereoSet, with a gender-swapped control."""

from __future__ import annotations

from typing import Any

import click

from wordbias.commands.encoder_options import (
    adapter_options,
    extremes_options,
    next_label_option,
    repair_option,
)
from wordbias.commands.options import (
    common_options,
    device_option,
    format_option,
    given_arguments,
    seed_option,
    show,
)
from wordbias.commands.stereoset_plan import Asked
from wordbias.commands.stereoset_views import describe, notes_about, tables
from wordbias.results import Report


@click.command()
@click.argument("model")
@click.option(
    "--data",
    "file",
    required=True,
    help="Enhanced StereoSet (CSV), StereoSet (JSON) or CrowS-Pairs (CSV).",
)
@adapter_options
@extremes_options
@click.option("--absolute", is_flag=True, help="Take |s| for S: bias in either direction.")
@repair_option
@click.option(
    "--as-published",
    is_flag=True,
    help="Fill blanks, count ties and average over terms as the data's own code does.",
)
@next_label_option
@device_option
@click.option("-o", "--output", metavar="CSV", help="Every triple or pair with its scores.")
@seed_option
@format_option
@common_options
def command(to: str, quiet: bool, **given: Any) -> None:
    """Measure which sentences MODEL prefers: stereotypes or their opposites.

    On enhanced StereoSet (Dawkins et al. 2024): Strength S of stereotypes, beside which every
    triple has one with the genders swapped, Distance D between the genders, and the stereotype
    score SS. On StereoSet (Nadeem et al. 2021): ss, lms and icat, between sentences and within. On
    CrowS-Pairs (Nangia et al. 2020): how often the more stereotyping sentence is likelier.

    What fills a blank of StereoSet is scored by the mean logarithm of its sub-words' probabilities,
    split as the sentence is. With --as-published it is the mean of the probabilities, of the first
    word without signs, split by itself: for RoBERTa without the space before it.

    MODEL is a folder or a name on the hub. Pairs of sentences need a head for next-sentence
    prediction or a classifier with two labels, single sentences a masked-language head.

    \b
    Examples:
      wordbias stereoset bert-base-uncased --data gsss/dev.csv
      wordbias stereoset bert-base-uncased --data dev.csv --adapter a.st --setting L11-11101
      wordbias stereoset roberta-base --data stereoset/dev.json -o scores.csv
      wordbias stereoset roberta-base --data crows_pairs_anonymized.csv --format json
    """
    asked = Asked(**given)
    asked.check()
    data = asked.data()
    repaired = asked.repaired(data)
    judge = asked.judge(data)
    found = asked.judged(judge, data, repaired)
    written = asked.write(found.records)
    known = notes_about(data, repaired, blanks=judge.masked is not None)
    notes = [*judge.missing, *known, *found.notes]
    report = Report(
        "stereoset",
        given_arguments(),
        asked.about(judge, data),
        found.rows,
        tables(found.rows, asked.settings),
        [f"{asked.model} on {describe(data)}."],
        written,
        asked.seed,
        notes,
    )
    show(report, to, quiet=quiet)
