"""`wordbias audit`: everything about an embedding on one page, before and after MISP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from wordbias.commands.audit_plan import Asked
from wordbias.commands.options import (
    center_option,
    chance_option,
    common_options,
    given_arguments,
    note,
    published_option,
    reading_options,
    seed_option,
    split_names,
    vocabulary_options,
)
from wordbias.commands.report import check_output, named_format, publish
from wordbias.functions.inputs import Subject
from wordbias.pages.audit import PARTS, Audited, audit, make_stages, slow_parts
from wordbias.pages.document import Document
from wordbias.results import Report

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
@center_option
@published_option("--center, GIPE without isolated words, the most biased words by projection")
@chance_option
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
def command(to: str | None, quiet: bool, **given: Any) -> None:
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
    asked = Asked(**given)
    target = check_output(asked.output, to or "html", OUTPUT, asked.read)
    to = to or named_format(asked.output, FORMATS)
    plan, subjects = asked.plan(), asked.subjects(quiet)
    panels = asked.panels(subjects)
    stages = make_stages(panels, misp=plan.asks("misp"))
    if slow := slow_parts(panels, plan):
        them = "it" if len(slow) == 1 else "them"
        said = f"{' and '.join(slow)} may take minutes; --skip {','.join(slow)} leaves {them} out"
        note(said, quiet)
    found = audit(stages, plan)
    names = [panel.embedding.name for panel in panels]
    publish([Document.of(_report(found, subjects, names, asked.seed).to_dict())], to, target)
    for said in found.notes:
        note(said, quiet)


def _report(found: Audited, subjects: Sequence[Subject], names: Sequence[str], seed: int) -> Report:
    arguments = {key: value for key, value in given_arguments().items() if key != "output"}
    inputs = {name: one.info.to_dict() for name, one in zip(names, subjects, strict=True)}
    return Report("audit", arguments, inputs, found.rows, seed=seed, notes=found.notes)
