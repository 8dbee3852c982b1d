"""`wordbias measure`: the classic measures of one embedding or several, with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import click

from wordbias.commands.inputs import Reading, Subject, open_subject
from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    jobs_options,
    note,
    reading_options,
    seed_option,
    show,
    split_names,
    vocabulary_options,
)
from wordbias.commands.views import measures_tables, words_tables
from wordbias.measures.apart import panel_rows
from wordbias.measures.means import word_rows
from wordbias.measures.panel import Panel, make_panels
from wordbias.measures.sembias import SemBias
from wordbias.measures.table import FAMILIES
from wordbias.resources import located
from wordbias.results import Report, Row
from wordbias.wordlists import Attribute, resolve, wordlist
from wordbias.workers import Workers


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
@click.option("--center/--no-center", default=True, show_default=True, help="Of MIDB's subspace.")
@click.option(
    "--isolated-zero",
    is_flag=True,
    help="GIPE as in the published code: words that are nobody's neighbour have weight 0, not 1.",
)
@vocabulary_options
@reading_options
@jobs_options
@seed_option
@format_option
@common_options
def command(
    embeddings: tuple[str, ...],
    only: list[str] | None,
    original: str | None,
    recipe: str,
    sembias_file: str | None,
    words: list[str] | None,
    extremes: int | None,
    dims: int,
    center: bool,
    isolated_zero: bool,
    attribute_file: str | None,
    vocab_file: str | None,
    strict_vocab: bool,
    skip_bad: bool,
    allow_pickle: bool,
    cache: bool,
    jobs: int | None,
    backend: str,
    seed: int,
    to: str,
    quiet: bool,
) -> None:
    """Measure the bias of EMBEDDINGS: the row of Dawkins (2021), Table 6, with 95 % intervals.

    MIDB, direct bias, clustering, recoverability, SemBias and GIPE, averaged over the frequent
    neutral words that all embeddings have. A debiased embedding is compared with its --original,
    from which the labels of clustering and recoverability and the proximities of GIPE are taken.

    \b
    Examples:
      wordbias measure
      wordbias measure glove.txt word2vec.bin --sembias SemBias
      wordbias measure debiased.txt --original glove.txt --only clustering,gipe
      wordbias measure glove.txt --words nurse,doctor --extremes 10
      wordbias measure --attribute religion:christian,muslim
      wordbias measure --attribute ethnicity:white,black --direction means
    """
    reading = Reading(cache, skip_bad, allow_pickle)
    subjects = [_open(name, reading, quiet) for name in embeddings or (None,)]
    before = _open(original, reading, quiet) if original is not None else None
    attribute = Attribute.load(attribute_file)
    given = wordlist(vocab_file) if vocab_file else None
    panels = make_panels(
        [subject.embedding for subject in subjects],
        before.embedding if before else None,
        attribute,
        given,
        strict=strict_vocab,
        recipe=recipe,
        dims=dims,
        center=center,
        seed=seed,
    )
    single = [row for panel in panels for row in _single_words(panel, words, extremes, quiet)]
    families = only if only is not None else () if single else FAMILIES
    sembias = SemBias.load(located(sembias_file)) if sembias_file else None
    isolated = 0.0 if isolated_zero else 1.0
    workers = Workers(jobs, backend)
    rows = panel_rows(panels, families, sembias=sembias, isolated=isolated, workers=workers)
    inputs = {subject.embedding.name: subject.info.to_dict() for subject in subjects}
    if before is not None:
        inputs[f"original: {before.embedding.name}"] = before.info.to_dict()
    tables = measures_tables(rows)
    tables += words_tables(single, attribute)
    over = f"{len(panels[0].vocabulary):,}"
    over += f" of {len(given):,} words given" if given is not None else " neutral words"
    heading = [f"Attribute {attribute.name}: {' − '.join(attribute.groups)}. Averages over {over}."]
    rows += single
    show(Report("measure", given_arguments(), inputs, rows, tables, heading, (), seed), to)


def _open(name: str | None, reading: Reading, quiet: bool) -> Subject:
    return open_subject(name, reading, head=0, wanted=(), output=None, quiet=quiet)


def _single_words(
    panel: Panel, words: Sequence[str] | None, extremes: int | None, quiet: bool
) -> list[Row]:
    chosen: list[str] = []
    if words is not None:
        found = resolve(words, panel.embedding, f"{panel.embedding.name}: --words")
        chosen += found.at_least(1, "give words it has").found
        if found.missing:
            note(f"{panel.embedding.name} has not: {', '.join(found.missing)}", quiet)
    if extremes is not None:
        chosen += panel.extremes(extremes)
    return word_rows(panel, list(dict.fromkeys(chosen)))
