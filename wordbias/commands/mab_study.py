"""`wordbias mab-study`: train, evaluate, measure and correlate, for many embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from wordbias.commands.inputs import Reading, open_subject
from wordbias.commands.mab_study_views import correlation_table, errors_table, marked_tables
from wordbias.commands.options import (
    attribute_option,
    common_options,
    format_option,
    given_arguments,
    reading_options,
    show,
    split_names,
)
from wordbias.commands.quality_views import quality_tables
from wordbias.commands.training_options import (
    BFLOAT16,
    machine_options,
    recipe_options,
    training_files,
)
from wordbias.commands.views import measures_tables
from wordbias.formats.atomic import check_writable, replacing
from wordbias.formats.folders import check_growing
from wordbias.measures.sembias import SemBias
from wordbias.measures.table import FAMILIES
from wordbias.nli.pairs import load_pairs
from wordbias.nli.recipes import RECIPES
from wordbias.nli.summary import QUALITY, correlations_with_error, intrinsic
from wordbias.optional import need
from wordbias.quality import find_sets
from wordbias.rendering import as_json
from wordbias.resources import located
from wordbias.results import Report, Row
from wordbias.wordlists import Attribute
from wordbias.workers import Workers

STORED = "study.json"


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
@attribute_option
@click.option("--sembias", "sembias_file", help="The SemBias test set, which is not ours to ship.")
@click.option("--sets", multiple=True, help="Folder or file of sets to test the vectors' quality.")
@machine_options
@reading_options
@format_option
@common_options
def command(
    embeddings: tuple[str, ...],
    train_file: str,
    dev_file: str,
    test_file: str | None,
    output: str,
    seeds: list[int],
    recipe_name: str,
    epochs: int | None,
    permute_weights: bool,
    only: list[str] | None,
    attribute_file: str | None,
    sembias_file: str | None,
    sets: tuple[str, ...],
    device: str | None,
    precision: str,
    jobs: int | None,
    backend: str,
    skip_bad: bool,
    allow_pickle: bool,
    cache: bool,
    to: str,
    quiet: bool,
) -> None:
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
    folder = Path(output)
    check_growing(folder)
    if folder.is_dir():
        check_writable(folder / STORED)
    reading = Reading(cache, skip_bad, allow_pickle)
    subjects = [
        open_subject(name, reading, head=0, wanted=(), output=None, quiet=quiet)
        for name in embeddings
    ]
    loaded = [subject.embedding for subject in subjects]
    study: Any = need("wordbias.nli.study", extra="torch", purpose="The study")
    plan = study.Plan(
        study.with_permuted_weights(loaded) if permute_weights else loaded,
        {"train": load_pairs(located(train_file)), "dev": load_pairs(located(dev_file))},
        folder,
        RECIPES[recipe_name].with_changes(epochs=epochs),
        seeds,
        precision == BFLOAT16,
        load_pairs(located(test_file)) if test_file else None,
        only or FAMILIES,
        SemBias.load(located(sembias_file)) if sembias_file else None,
        find_sets(*map(located, sets)) if sets else (),
        Attribute.load(attribute_file),
    )
    rows = study.run(plan, device=device, workers=Workers(jobs, backend))
    infos = {subject.embedding.name: subject.info.to_dict() for subject in subjects}
    heading = f"Embeddings: {len(plan.embeddings)}. Models of each: {len(seeds)}."
    report = _report(rows, infos, heading, folder)
    with replacing(folder / STORED) as file:
        file.write((as_json(report.to_dict(), indent=2) + "\n").encode())
    show(report, to, quiet=quiet)


def _report(
    rows: Sequence[Row], infos: dict[str, dict[str, Any]], heading: str, folder: Path
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
        closing,
        notes=["Few embeddings and seeds: read correlations as descriptions, not as tests."],
    )
