"""`wordbias misp`: measure along the subspace, remove it softly, write the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from wordbias.commands.inputs import Reading, Subject, open_subject
from wordbias.commands.options import (
    center_option,
    chance_option,
    common_options,
    format_option,
    given_arguments,
    published_option,
    reading_options,
    seed_option,
    show,
    vocabulary_options,
)
from wordbias.commands.views import components_table, effect_table, moved_line
from wordbias.formats.atomic import refuse_same
from wordbias.methods.study import Settings, Study, chance_levels, study
from wordbias.methods.words import listed_words
from wordbias.results import Report
from wordbias.vocabulary import SIZE, choose_vocabulary
from wordbias.wordlists import Attribute, candidates, wordlist


@click.command()
@click.argument("embedding", required=False)
@click.option(
    "-o",
    "--output",
    help="Write the debiased vectors, in the format of its suffix, else of EMBEDDING.",
)
@click.option(
    "--dims",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    help="Components of the subspace.",
)
@center_option
@published_option("--center")
@click.option("--hard", is_flag=True, help="Project the components out whole (MHD).")
@click.option(
    "--weights",
    default="variance",
    show_default=True,
    help="How much of each component to remove: its share of the variance, numbers 0.5,0.3,… or "
    "the shares in another order, perm:2134.",
)
@chance_option
@vocabulary_options
@reading_options
@seed_option
@format_option
@common_options
def command(
    embedding: str | None,
    output: str | None,
    attribute_file: str | None,
    vocab_file: str | None,
    strict_vocab: bool,
    skip_bad: bool,
    allow_pickle: bool,
    cache: bool,
    center: bool,
    as_published: bool,
    to: str,
    quiet: bool,
    **settings: Any,
) -> None:
    """Measure the bias of EMBEDDING, gender by default, remove it with MISP, and write the result.

    MISP (Dawkins 2021) attenuates each component of the groups' subspace by the share of variance
    that it explains. Without EMBEDDING the sample that comes with wordbias is used.

    \b
    Examples:
      wordbias misp
      wordbias misp glove.6B.zip::glove.6B.300d.txt -o debiased.txt
      wordbias misp vectors.bin --dims 2 --format json
      wordbias misp glove.txt --as-published
      wordbias misp vectors.vec --attribute age -o debiased.vec
    """
    if settings["hard"] and settings["weights"] != "variance":
        raise click.UsageError("--hard removes the components whole; it takes no --weights")
    refuse_same({"-o": output}, {"--attribute": attribute_file, "--vocab": vocab_file})
    attribute = Attribute.load(attribute_file)
    given = wordlist(vocab_file) if vocab_file else None
    subject = open_subject(
        embedding,
        Reading(cache, skip_bad, allow_pickle),
        head=SIZE if given is None else 0,
        wanted=listed_words(attribute) | candidates(given or ()),
        output=output,
        quiet=quiet,
    )
    vocabulary = choose_vocabulary([subject.embedding], attribute, given, strict=strict_vocab)
    asked = Settings(center=center or as_published, **settings)
    levels = chance_levels(subject.embedding, vocabulary, attribute, asked)
    subject.keep([*vocabulary, *sorted(listed_words(attribute))])
    found = study(subject.embedding, vocabulary, attribute, asked, levels)
    subject.write(found.projection)
    show(_report(subject, attribute, found, given), to, quiet=quiet)


def _report(
    subject: Subject, attribute: Attribute, found: Study, given: Sequence[str] | None
) -> Report:
    return Report(
        "misp",
        given_arguments(),
        {found.subject: subject.info.to_dict()},
        found.rows,
        [components_table(found, attribute), effect_table(found, attribute)],
        _heading(subject, attribute, found, given),
        [moved_line(found.measured), subject.written()],
        found.settings.seed,
        found.warnings,
    )


def _heading(
    subject: Subject, attribute: Attribute, found: Study, given: Sequence[str] | None
) -> list[str]:
    method = "MHD (hard projection)" if found.projection.hard else "MISP"
    counts = " + ".join(
        f"{len(group.found)} of {len(group.asked)} {name}"
        for name, group in zip(attribute.groups, found.groups, strict=True)
    )
    over = f"{len(found.vocabulary):,} neutral words"
    if given is not None:
        over = f"{len(found.vocabulary):,} of {len(given):,} words given"
    return [
        *found.summary,
        "",
        f"{method} on {subject.described()}",
        f"Attribute {attribute.name}: {counts} words found. Averages over {over}.",
    ]
