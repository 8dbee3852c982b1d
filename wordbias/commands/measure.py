"""`wordbias measure`: the classic measures of one embedding or several, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from wordbias.commands.measure_plan import Asked
from wordbias.commands.options import (
    center_option,
    chance_option,
    common_options,
    format_option,
    given_arguments,
    jobs_options,
    published_option,
    reading_options,
    seed_option,
    show,
    split_names,
    vocabulary_options,
)
from wordbias.commands.views import measures_tables, words_tables
from wordbias.measures.table import FAMILIES
from wordbias.results import Report
from wordbias.wordlists import Attribute


@click.command()
@click.argument("embeddings", nargs=-1)
@click.option(
    "--only", callback=split_names, help=f"Some of {', '.join(FAMILIES)}.  [default: all]"
)
@click.option("--original", help="The embedding before debiasing.  [default: the same]")
@click.option(
    "--direction",
    "recipe",
    default="she-he",
    show_default=True,
    help="What clustering, recoverability, SemBias and GIPE run along: she-he (or axis: the "
    "attribute's first pair), pca, names, means or FILE.",
)
@click.option("--sembias", "sembias_file", help="The SemBias test set, which is not ours to ship.")
@click.option("--words", callback=split_names, help="Answer for single words: nurse,doctor.")
@click.option("--extremes", type=click.IntRange(1), help="The N words that lean most to each side.")
@click.option("--dims", type=click.IntRange(1), default=4, show_default=True, help="Of MIDB.")
@center_option
@published_option("--center, --isolated-zero, and the most biased words by projection, not cosine")
@click.option(
    "--isolated-zero",
    is_flag=True,
    help="GIPE as in the published code: words that are nobody's neighbour have weight 0, not 1.",
)
@chance_option
@vocabulary_options
@reading_options
@jobs_options
@seed_option
@format_option
@common_options
def command(to: str, quiet: bool, **given: Any) -> None:
    """Measure the bias of EMBEDDINGS: the row of Dawkins (2021), Table 6, with 95 % intervals.

    MIDB, direct bias, clustering, recoverability, SemBias and GIPE, averaged over the frequent
    neutral words that all embeddings have. A debiased embedding is compared with its --original,
    from which the labels of clustering and recoverability and the proximities of GIPE are taken.
    GIPE takes longest, for it looks for neighbours in the whole vocabulary: about a minute for
    400,000 words. Leave it out with --only.

    \b
    Examples:
      wordbias measure
      wordbias measure glove.txt word2vec.bin --sembias SemBias
      wordbias measure debiased.txt --original glove.txt --only clustering,gipe
      wordbias measure glove.txt --words nurse,doctor --extremes 10
      wordbias measure --attribute religion:christian,muslim
      wordbias measure --attribute ethnicity:white,black --direction means
    """
    asked = Asked(**given)
    asked.check()
    subjects = asked.subjects(quiet)
    attribute, words = Attribute.load(asked.attribute_file), asked.given()
    panels = asked.panels(subjects, attribute, words)
    single = [row for panel in panels for row in asked.word_rows(panel, quiet)]
    rows = asked.rows(panels, instead=bool(single))
    report = Report(
        "measure",
        given_arguments(),
        subjects.about(),
        [*rows, *single],
        [*measures_tables(rows), *words_tables(single, attribute)],
        [_heading(attribute, panels[0].vocabulary, words)],
        seed=asked.seed,
        notes=asked.notes(panels),
    )
    show(report, to, quiet=quiet)


def _heading(attribute: Attribute, vocabulary: Sequence[str], given: Sequence[str] | None) -> str:
    words = f"{len(vocabulary):,}"
    words += " neutral words" if given is None else f" of {len(given):,} words given"
    return f"Attribute {attribute.name}: {' − '.join(attribute.groups)}. Averages over {words}."
