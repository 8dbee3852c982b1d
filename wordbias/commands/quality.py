"""`wordbias quality`: word similarity and analogies, to see what debiasing cost."""

from __future__ import annotations

from collections.abc import Mapping

import click

from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    reading_options,
    seed_option,
    show,
)
from wordbias.commands.quality_views import quality_tables
from wordbias.errors import WordbiasError
from wordbias.functions.inputs import Reading, Subject, open_subject
from wordbias.rendering import how_many
from wordbias.resources import located
from wordbias.results import Report, Row
from wordbias.word_tasks import Settings, find_sets, quality
from wordbias.word_tasks.solving import Method
from wordbias.word_tasks.space import Oov

_NO_SETS = (
    "no test sets: they are not part of wordbias; run: wordbias fetch men simlex-999 "
    "google-analogies, and give --sets men --sets simlex-999 …; or --sets FOLDER with the "
    "published files (RG-65, MTurk-287, MEN, SimLex-999, questions-words.txt, MSR) or others of "
    "the same form"
)


@click.command()
@click.argument("embeddings", metavar="[EMBEDDING]...", nargs=-1)
@click.option("--sets", multiple=True, help="Folder of test sets, or one file; may be repeated.")
@click.option(
    "--oov",
    type=click.Choice(["skip", "mean"]),
    default="skip",
    show_default=True,
    help="Leave out what has unknown words, or use the mean vector as published code does.",
)
@click.option(
    "--method",
    type=click.Choice(["add", "mul"]),
    default="add",
    show_default=True,
    help="How to answer analogies: 3CosAdd or 3CosMul.",
)
@click.option(
    "--standardise",
    is_flag=True,
    help="Delete punctuation in analogies first, as published code does: city's, citys.",
)
@click.option("--only", help="Names of the sets to use, with commas: men,google.")
@reading_options
@seed_option
@format_option
@common_options
def command(
    embeddings: tuple[str, ...],
    sets: tuple[str, ...],
    oov: Oov,
    method: Method,
    standardise: bool,
    only: str | None,
    skip_bad: bool,
    allow_pickle: bool,
    cache: bool,
    seed: int,
    to: str,
    quiet: bool,
) -> None:
    """Measure how good each EMBEDDING is at word similarity and analogies.

    Similarity is Spearman's correlation with people's scores; of analogies the share answered
    over the whole vocabulary. The test sets are not part of wordbias: wordbias fetch gets them, and
    --sets takes their names, too. Without EMBEDDING the sample that comes with wordbias is used; it
    is small, look at its coverage.

    \b
    Examples:
      wordbias quality glove.txt --sets test_sets/
      wordbias quality glove.txt debiased.txt --sets test_sets/ --only men,simlex-999
      wordbias quality vectors.bin --sets MSR-syntax.txt --oov mean --standardise --format json
    """
    if not sets:
        raise WordbiasError(_NO_SETS)
    twice = next((given for given in embeddings if embeddings.count(given) > 1), None)
    if twice is not None:
        raise WordbiasError(f"{twice}: given twice; give each embedding once")
    found = find_sets(*map(located, sets), only=_names(only))
    settings = Settings(oov, method, standardise, seed)
    rows: list[Row] = []
    inputs: dict[str, Mapping[str, object]] = {}
    heading = []
    for given in embeddings or (None,):
        subject = open_subject(
            given,
            Reading(cache, skip_bad, allow_pickle),
            head=0,
            wanted=(),
            output=None,
            quiet=quiet,
        )
        name = _unused(subject, inputs)
        inputs[name] = subject.info.to_dict()
        heading.append(_source(name, subject))
        rows += quality(subject.embedding, found, settings, name=name)
    tables = quality_tables(rows)
    show(Report("quality", given_arguments(), inputs, rows, tables, heading, seed=seed), to)


def _names(only: str | None) -> list[str]:
    names = [name.strip() for name in (only or "").split(",")]
    if only is not None and not any(names):
        raise WordbiasError("--only: expected names of sets with commas between them, found none")
    return [name for name in names if name]


def _unused(subject: Subject, used: Mapping[str, object]) -> str:
    """Name an embedding, by its path if another one has its name."""
    name = subject.embedding.name
    return subject.info.path if name in used else name


def _source(name: str, subject: Subject) -> str:
    info = subject.info
    sample = "the sample of GloVe 6B 100d that comes with wordbias"
    source = sample if subject.is_sample else info.path
    return f"{name}: {source}, {how_many(info.words, 'word')} × {info.dim} ({info.format})"
