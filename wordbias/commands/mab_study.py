"""`wordbias mab-study`: train, evaluate, measure and correlate, for many embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from wordbias.commands.mab_study_plan import STORED, Asked
from wordbias.commands.mab_study_views import correlation_table, errors_table, marked_tables
from wordbias.commands.options import (
    attribute_option,
    center_option,
    common_options,
    format_option,
    given_arguments,
    note,
    published_option,
    reading_options,
    show,
    split_names,
)
from wordbias.commands.training_options import (
    machine_options,
    recipe_options,
    training_files,
)
from wordbias.formats.atomic import replacing
from wordbias.functions.quality import quality_tables
from wordbias.functions.tables import measures_tables
from wordbias.measures.table import FAMILIES
from wordbias.nli.summary import QUALITY, correlations_with_error, intrinsic
from wordbias.rendering import as_json
from wordbias.results import Report, Row


@click.command()
@click.argument("embeddings", nargs=-1, required=True)
@training_files
@click.option("-o", "--output", required=True, help="Folder of models, rows and study.json.")
@recipe_options("fast", seeds="0,1")
@click.option(
    "--permute-weights", is_flag=True,
    help="Add MISP of the first embedding with the 23 wrong weightings of appendix C.",
)  # fmt: skip
@click.option(
    "--only", callback=split_names, help=f"Measures: some of {', '.join(FAMILIES)}.  [default: all]"
)
@center_option
@published_option("of the measures, as in wordbias measure, and of MISP in --permute-weights")
@attribute_option
@click.option("--sembias", "sembias_file", help="The SemBias test set, which is not ours to ship.")
@click.option("--sets", multiple=True, help="Folder or file of sets to test the vectors' quality.")
@machine_options
@reading_options
@format_option
@common_options
def command(to: str, quiet: bool, **given: Any) -> None:
    """Repeat the study of Dawkins (2021) on EMBEDDINGS, the first being the original.

    For each embedding and seed an NLI model is trained and its marked attribute bias measured
    (Tables 1, 2, 4); each embedding's classic measures are taken (Table 6), with --sets its quality
    too (Table 3); and E of the gendered nouns is correlated with every measure (Table 5). With
    --attribute measures and test sets are about its two groups. What was done stays in the folder:
    the same call goes on after an interruption, and a call with more embeddings does only what is
    new.

    \b
    Examples:
      wordbias mab-study glove.txt misp.txt hard.txt --train train.jsonl --dev dev.jsonl -o study
      wordbias mab-study glove.txt --permute-weights --train train.tsv --dev dev.tsv -o study
    """
    asked = Asked(**given)
    asked.check()
    subjects = asked.subjects(quiet)
    plan = asked.plan([subject.embedding for subject in subjects])
    missing = asked.skipped(plan)
    for said in missing:
        note(said, quiet)
    rows = asked.run(plan)
    infos = {subject.embedding.name: subject.info.to_dict() for subject in subjects}
    heading = f"Embeddings: {len(plan.embeddings)}. Models of each: {len(asked.seeds)}."
    report = _report(rows, infos, heading, plan.folder, missing)
    with replacing(plan.folder / STORED) as file:
        file.write((as_json(report.to_dict(), indent=2) + "\n").encode())
    show(report, to, quiet=quiet)


def _report(
    rows: Sequence[Row],
    infos: dict[str, dict[str, Any]],
    heading: str,
    folder: Path,
    missing: Sequence[str] = (),
) -> Report:
    related = correlations_with_error(rows)
    related_tables = [correlation_table(related)]
    closing = [f"Kept in {folder}: models, rows, {STORED}."]
    if all(row.value is None for row in related):
        related_tables, least = [], "Correlations with E (Table 5) need at least 3 embeddings."
        closing.insert(0, least)
    return Report(
        "mab-study",
        given_arguments(),
        infos,
        [*rows, *related],
        [
            errors_table(rows),
            *marked_tables(rows),
            *quality_tables([row for row in rows if row.measure in QUALITY]),
            *measures_tables(intrinsic(rows)),
            *related_tables,
        ],
        [heading],
        [*(f"{said}." for said in missing), *closing],
        notes=["Few embeddings and seeds: read correlations as descriptions, not as tests."],
    )
