"""`wordbias bios`: whether a debiased classifier of occupations only looks fair."""

from __future__ import annotations

from typing import Any

import click

from wordbias.commands.bios_inputs import Options, study
from wordbias.commands.bios_views import closing, heading, tables, women_by_class
from wordbias.commands.finite import FiniteRange
from wordbias.commands.options import (
    common_options,
    device_option,
    format_option,
    given_arguments,
    jobs_options,
    note,
    show,
    split_names,
    split_seeds,
    stacked,
)
from wordbias.commands.training_options import precision_option
from wordbias.probes.in_context.association import DRAWS
from wordbias.rendering import how_many
from wordbias.results import Report

_columns = stacked(
    click.option("--text", metavar="COLUMN", help="Of the texts, where its name is not usual."),
    click.option("--label", metavar="COLUMN", help="Of the occupations."),
    click.option("--gender", metavar="COLUMN", help="Of the genders."),
    click.option("--female", metavar="VALUE", help="That says female.  [default: F, female, …]"),
    click.option("--split", metavar="COLUMN", help="Of train, dev and test."),
    click.option("--name", metavar="COLUMN", help="Of people's names, which scrubbing removes."),
    click.option("--skip-bad", is_flag=True, help="Drop and count rows that cannot be used."),
    click.option("--limit", type=click.IntRange(1), help="So many biographies, for a trial."),
)
_training = stacked(
    click.option("--epochs", type=click.IntRange(1), help="[default: 10; 300 with --frozen]"),
    click.option("--batch", type=click.IntRange(1), help="Texts in a batch.  [default: 64]"),
    click.option(
        "--rate",
        type=FiniteRange(0, min_open=True),
        help="Highest learning rate.  [default: 5e-5; 1e-3 with --frozen]",
    ),
    click.option(
        "--every",
        type=click.IntRange(1),
        help="Steps between looks at dev and checkpoints.  [default: 1000, or an epoch]",
    ),
    click.option(
        "--retrain-epochs",
        type=click.IntRange(1),
        help="Of the last layer.  [default: 10; 300 with --frozen]",
    ),
    click.option(
        "--retrain-rate",
        type=FiniteRange(0, min_open=True),
        help="Of the last layer.  [default: 1e-3]",
    ),
    click.option(
        "--as-published",
        is_flag=True,
        help="Plain AdamW, and gaps as the released code computes them.",
    ),
)
_reading = stacked(
    click.option(
        "--max-tokens",
        type=click.IntRange(3),
        default=128,
        show_default=True,
        help="Tokens that a text is cut to.",
    ),
    click.option(
        "--pooling",
        type=click.Choice(("first", "mean", "last")),
        default="first",
        show_default=True,
        help="Which tokens of the last layer make a text's vector.",
    ),
    precision_option,
    device_option,
)
_measuring = stacked(
    click.option(
        "--sentences",
        metavar="FILE",
        help="For CEAT: one a line, or a table.  [default: those of the test part]",
    ),
    click.option("--column", help="Of that table.  [default: text, or sentence, or the only one]"),
    click.option(
        "--draws", type=click.IntRange(2), default=DRAWS, show_default=True, help="Of CEAT."
    ),
    click.option(
        "--shares",
        metavar="FILE",
        help="Share of women in each class: .json, .csv or .tsv.  [default: of the training part]",
    ),
    click.option("--share-column", metavar="COLUMN", help="Of that table, where it has several."),
    click.option(
        "--balanced-probe", is_flag=True, help="Probe on as many women as men of each class only."
    ),
    click.option(
        "--baselines/--no-baselines",
        default=True,
        show_default=True,
        help="Probe the encoder as it came, and with random weights.",
    ),
    click.option("--holm", is_flag=True, help="Correct tests for their number."),
)


@click.command()
@click.option("--data", metavar="FILE", help="Biographies.  [default: synthetic ones]")
@click.option("--model", metavar="ENCODER", help="A folder, or a name such as roberta-base.")
@click.option(
    "--strategies",
    default="none,subsample,oversample,scrub",
    callback=split_names,
    show_default=True,
    help="Also scrub-as-published, swap, and several joined: scrub+subsample.",
)
@click.option(
    "--seeds",
    default="0,1,2",
    callback=split_seeds,
    show_default=True,
    help="From six on differences are tested.",
)
@click.option("--frozen", is_flag=True, help="Leave the encoder as it is, which is quick.")
@click.option("-o", "--output", metavar="FOLDER", required=True, help="Of results; it is resumed.")
@click.option("--plot", metavar="FILE", help="Draw gaps against compression: .png, .pdf or .svg.")
@_training
@_reading
@_measuring
@_columns
@click.option("--keep-models", is_flag=True, help="Write the fine-tuned encoders to FOLDER, too.")
@jobs_options
@format_option
@common_options
def command(jobs: int | None, backend: str, holm: bool, to: str, quiet: bool, **given: Any) -> None:
    """Measure whether debiasing a classifier's training data changed more than its last layer.

    For each strategy and seed an encoder with a last layer learns to tell occupations from
    biographies that the strategy debiased (Orgad et al. 2022). How easily gender is read off its
    vectors (compression) and its associations of words (CEAT) are measured, then its gaps between
    women and men on a balanced test part. Then its last layer alone is trained again, on the
    original data: what bias that brings back, debiasing had only hidden.

    Biographies are .tsv, .csv or .jsonl with columns such as text, profession, gender and split,
    or a pickle as biosbias writes it, of which nothing is executed. Without --data they are made
    up. FOLDER gets a line of results.jsonl for every strategy and seed; after an interruption the
    same command goes on, and more seeds or strategies are added to what is there.

    \b
    Examples:
      wordbias bios --model roberta-base --data bios.jsonl -o study --plot study.pdf
      wordbias bios --model ./minilm --data bios.tsv.gz --frozen -o frozen
      wordbias bios --model ./minilm --seeds 0,1,2,3,4,5 --epochs 1 --max-tokens 96
        --precision bfloat16 -o quick
    """
    options = Options(**given)
    options.check()
    bios = options.biographies()
    plan = options.plan(bios)
    if bios.dropped:
        dropped = how_many(bios.dropped, "row")
        note(f"{bios.path}: {dropped} dropped, the first: {bios.problem}", quiet)
    rows = study(plan, jobs, backend)
    if options.plot is not None:
        from wordbias.pages.compression_fairness import save_compression_fairness

        save_compression_fairness(options.plot, rows)
    from wordbias.biographies.summary import summary_rows

    report = Report(
        "bios",
        given_arguments(),
        {"biographies": _facts(bios), "model": {"path": options.model}},
        [*rows, *summary_rows(rows, correct=holm)],
        tables(rows, frozen=options.frozen, correct=holm),
        heading(bios, str(options.model)),
        [*closing(rows), *(f"Drawn: {path}." for path in [options.plot] if path)],
        options.seeds[0],
    )
    show(report, to)


def _facts(bios: Any) -> dict[str, Any]:
    return {
        "path": bios.path,
        "sha256": bios.sha256,
        "n": len(bios),
        "classes": list(bios.classes),
        "women": women_by_class(bios),
        "dropped": bios.dropped,
    }
