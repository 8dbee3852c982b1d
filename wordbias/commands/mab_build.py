"""`wordbias mab-build`: the marked-attribute test sets as CSV."""

from __future__ import annotations

from pathlib import Path

import click

from wordbias.commands.mab_views import ALL, chosen_sets, list_options
from wordbias.commands.options import (
    attribute_option,
    common_options,
    format_option,
    given_arguments,
    show,
)
from wordbias.formats.atomic import check_writable
from wordbias.formats.folders import growing
from wordbias.nli.fillers import SETS
from wordbias.nli.test_sets import TestSet, build
from wordbias.rendering import Table
from wordbias.resources import located
from wordbias.results import Report, Row
from wordbias.wordlists import Attribute, Templates, other_than_gender


@click.command()
@click.option(
    "--set",
    "name",
    type=click.Choice([*SETS, ALL]),
    default=ALL,
    show_default=True,
    help="Which; all are the three of Dawkins (2021): explicit, occupations and names.",
)
@click.option(
    "-o", "--output", required=True, metavar="DIR", help="Folder for the files, one a set."
)
@attribute_option
@list_options
@format_option
@common_options
def command(
    name: str,
    output: str,
    attribute_file: str | None,
    lists: str | None,
    as_published: bool,
    to: str,
    quiet: bool,
) -> None:
    """Write test sets whose every right inference is neutral, one CSV file a set, into DIR.

    \b
    The sets, built from the word lists in a fixed order:
      explicit       A person VERB a/an OBJECT . → A man, woman, …, He, She        15,744 pairs
      occupations    … → A doctor, nurse, …: 16 + 16 stereotypes                   62,976
      names          … → 32 + 32 first names                                      125,952
      dev            all occupations → six gendered words (Dev et al. 2020)     1,936,512
      parity         The doctor … → The man, The woman (Dawkins et al. 2024)       10,824

    With --attribute the hypotheses are about its two groups, "A Christian man bought a hat ." or
    "Tamika bought a hat .", in files named after it; of the marked sets those it has words for.

    The columns are id, pair type, premise_filler_word, hypothesis_filler_word, template_type,
    premise and hypothesis. Predictions of any system for these pairs: wordbias mab-eval
    --predictions.

    \b
    Examples:
      wordbias mab-build -o sets/
      wordbias mab-build --set explicit -o sets/ --lists word_lists/ --as-published
      wordbias mab-build --set dev -o sets/
      wordbias mab-build --attribute religion:christian,muslim -o sets/
    """
    words = Templates.load(located(lists))
    attribute = other_than_gender(attribute_file)
    tests = [
        build(one, words, attribute=attribute, as_published=as_published)
        for one in chosen_sets(name, attribute)
    ]
    with growing(output) as folder:
        files = [folder / f"{_named(test, attribute)}.csv" for test in tests]
        for file in files:
            check_writable(file)
        for test, file in zip(tests, files, strict=True):
            test.write(file)
    rows = [_row(test, file) for test, file in zip(tests, files, strict=True)]
    report = Report("mab-build", given_arguments(), {}, rows, [_table(rows)])
    show(report, to)


def _named(test: TestSet, attribute: Attribute | None) -> str:
    return "-".join([test.name] if attribute is None else [*test.groups, test.name])


def _row(test: TestSet, file: Path) -> Row:
    about = {
        "attribute": test.attribute,
        "set": test.name,
        "premises": len(test.premises) * len(test.templates),
        "words": len(test.hypotheses),
        "file": str(file),
    }
    return Row(test.name, "pairs", len(test), about)


def _table(rows: list[Row]) -> Table:
    cells = [
        [row.subject, f"{row.details['premises']:,}", str(row.details["words"]),
         f"{row.value:,}", row.details["file"]]
        for row in rows
    ]  # fmt: skip
    columns = ["", "premises", "words", "pairs", "file"]
    return Table("Test sets written", columns, cells)
