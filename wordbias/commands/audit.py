"""`wordbias audit`: everything about an embedding on one page, before and after MISP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from wordbias.commands.inputs import Reading, Subject, open_subject
from wordbias.commands.options import (
    common_options,
    given_arguments,
    note,
    reading_options,
    seed_option,
    split_names,
    vocabulary_options,
)
from wordbias.commands.report import check_output, named_format, publish
from wordbias.data import nli_sample_path
from wordbias.embedding import Embedding
from wordbias.measures.panel import make_panels
from wordbias.measures.sembias import SemBias
from wordbias.nli.files import Model
from wordbias.quality import find_sets
from wordbias.report.audit import PARTS, Audited, Plan, audit, make_stages
from wordbias.report.document import Document
from wordbias.resources import located
from wordbias.results import Report
from wordbias.wordlists import Attribute, wordlist

OUTPUT = "wordbias-audit.html"
FORMATS = ("html", "md", "json")


@click.command()
@click.argument("embeddings", nargs=-1, metavar="[EMBEDDING]...")
@click.option("-o", "--output", help=f"File to write.  [default: {OUTPUT}; md and json: stdout]")
@click.option(
    "--skip", callback=split_names, default=None, help=f"Leave out some of {', '.join(PARTS)}."
)
@click.option("--words", callback=split_names, help="List their neighbours too: nurse,doctor.")
@click.option("--sets", multiple=True, help="Folder of similarity and analogy sets, or one file.")
@click.option("--sembias", "sembias_file", help="The SemBias test set, which is not ours to ship.")
@click.option(
    "--model", metavar="FILE", help="NLI model of nli-train.  [default: trained on the sample]"
)
@click.option(
    "--direction",
    "recipe",
    default="she-he",
    show_default=True,
    help="What words lean along; see wordbias measure.",
)
@click.option("--dims", type=click.IntRange(1), default=4, show_default=True, help="Of MISP, MIDB.")
@click.option("--center/--no-center", default=True, show_default=True, help="Of their subspace.")
@vocabulary_options
@reading_options
@seed_option
@click.option(
    "--format",
    "to",
    type=click.Choice(FORMATS),
    help="A page, the same without pictures, or rows.  [default: as -o is named; html]",
)
@common_options
def command(
    embeddings: tuple[str, ...],
    output: str | None,
    skip: list[str] | None,
    words: list[str] | None,
    sets: tuple[str, ...],
    sembias_file: str | None,
    model: str | None,
    recipe: str,
    attribute_file: str | None,
    vocab_file: str | None,
    strict_vocab: bool,
    skip_bad: bool,
    allow_pickle: bool,
    cache: bool,
    seed: int,
    to: str | None,
    quiet: bool,
    **settings: Any,
) -> None:
    """Measure everything about EMBEDDING, before and after MISP, and write one page.

    Every measure of bias with its interval, the occupations that lean most, neighbours, quality,
    and what an NLI model that reads the vectors makes of women and men. The page needs no network
    and nothing installed, can be mailed and printed, and holds its data. Nothing is written but
    the page. Without EMBEDDING the sample that comes with wordbias is used.

    \b
    Examples:
      wordbias audit
      wordbias audit glove.txt -o glove.html --sets test_sets/
      wordbias audit glove.txt word2vec.bin --skip gipe,mab
      wordbias audit glove.txt --format json -o glove.json
    """
    read = (*embeddings, *sets, sembias_file, model, attribute_file, vocab_file)
    target = check_output(output, to or "html", OUTPUT, read)
    to = to or named_format(output, FORMATS)
    plan = Plan(
        tuple(skip or ()),
        SemBias.load(located(sembias_file)) if sembias_file else None,
        find_sets(*map(located, sets)) if sets else (),
        Model.load(model or nli_sample_path()),
        tuple(words or ()),
    )
    attribute = Attribute.load(attribute_file)
    given = wordlist(vocab_file) if vocab_file else None
    reading = Reading(cache, skip_bad, allow_pickle)
    subjects = [_open(name, reading, quiet) for name in dict.fromkeys(embeddings or (None,))]
    panels = make_panels(
        _named(subjects), None, attribute, given, strict=strict_vocab, recipe=recipe, seed=seed,
        **settings,
    )  # fmt: skip
    found = audit(make_stages(panels, misp=plan.asks("misp")), plan)
    names = [panel.embedding.name for panel in panels]
    publish([Document.of(_report(found, subjects, names, seed).to_dict())], to, target)
    for said in found.notes:
        note(said, quiet)


def _open(name: str | None, reading: Reading, quiet: bool) -> Subject:
    return open_subject(name, reading, head=0, wanted=(), output=None, quiet=quiet)


def _named(subjects: Sequence[Subject]) -> list[Embedding]:
    """Name each embedding as results do, by its path where two have one name."""
    names = [subject.embedding.name for subject in subjects]
    return [
        one.embedding
        if names.count(one.embedding.name) == 1
        else one.embedding.with_vectors(one.embedding.vectors, one.info.path)
        for one in subjects
    ]


def _report(found: Audited, subjects: Sequence[Subject], names: Sequence[str], seed: int) -> Report:
    arguments = {key: value for key, value in given_arguments().items() if key != "output"}
    inputs = {name: one.info.to_dict() for name, one in zip(names, subjects, strict=True)}
    return Report("audit", arguments, inputs, found.rows, seed=seed, notes=found.notes)
