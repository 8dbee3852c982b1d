"""`wordbias apply`: what was fitted once, on other files of the same vectors."""

from __future__ import annotations

import click

from wordbias.commands.debias_views import reach_rows, reach_table
from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    reading_options,
    show,
)
from wordbias.formats.atomic import refuse_same
from wordbias.functions.inputs import Reading, Subject, open_subject
from wordbias.methods.fitted import Chain
from wordbias.methods.origin import Origin
from wordbias.methods.storage import load_chain
from wordbias.methods.transform import refuse_no_change
from wordbias.results import Report

_HEAD = 1000


@click.command()
@click.argument("transform")
@click.argument("embedding")
@click.option(
    "-o",
    "--output",
    required=True,
    help="Write the debiased vectors, in the format of its suffix, else of EMBEDDING.",
)
@click.option("--force", is_flag=True, help="Also to vectors that are not those it was fitted on.")
@reading_options
@format_option
@common_options
def command(
    transform: str,
    embedding: str,
    output: str,
    force: bool,
    skip_bad: bool,
    allow_pickle: bool,
    cache: bool,
    to: str,
    quiet: bool,
) -> None:
    """Apply a TRANSFORM saved by debias --save-transform to EMBEDDING, a file of any size.

    What was fitted on some vectors means nothing for others: the dimensions and a few words are
    compared first.

    \b
    Examples:
      wordbias debias hard,misp glove.50k.txt --save-transform fitted.safetensors
      wordbias apply fitted.safetensors glove.txt -o debiased.txt
    """
    refuse_same({"-o": output}, {"TRANSFORM": transform})
    chain, origin = load_chain(transform)
    subject = open_subject(
        embedding,
        Reading(cache, skip_bad, allow_pickle),
        head=_HEAD,
        wanted=_wanted(chain, origin),
        output=output,
        quiet=quiet,
    )
    before = subject.embedding
    origin.check(before, transform, by_length=chain.by_length, force=force)
    done = chain(before)
    refuse_no_change(transform, before, done)
    reached = subject.write_words(chain, done)
    report = Report(
        "apply",
        given_arguments(),
        {before.name: subject.info.to_dict()},
        reach_rows(chain, reached, done),
        [reach_table(chain, reached)],
        _heading(chain, origin, subject),
        [subject.written()],
    )
    show(report, to)


def _wanted(chain: Chain, origin: Origin) -> set[str]:
    """Return the words that are replaced, and those that tell whether the vectors are the same."""
    return {word for part in chain.parts for word in part.replaced.words} | set(origin.words)


def _heading(chain: Chain, origin: Origin, subject: Subject) -> list[str]:
    names = ", then ".join(
        part.name + (" (differences centred)" if part.centred else "") for part in chain.parts
    )
    return [f"{names}, fitted on {_about(origin)}", f"Applied to {subject.described()}"]


def _about(origin: Origin) -> str:
    known = f", sha256 {origin.sha256[:12]}…" if origin.sha256 else ""
    return f"{origin.name}: {origin.size:,} words × {origin.dim}{known}"
