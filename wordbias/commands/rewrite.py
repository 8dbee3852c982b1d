"""`wordbias rewrite`: training data without gendered words, balanced, swapped or anonymised."""

from __future__ import annotations

from typing import Any

import click

from wordbias.commands.finite import FiniteRange
from wordbias.commands.options import (
    attribute_option,
    common_options,
    format_option,
    given_arguments,
    seed_option,
    show,
    split_names,
    split_where,
)
from wordbias.commands.rewrite_options import check_output
from wordbias.commands.rewrite_plan import METHODS, Plan, parse_methods
from wordbias.commands.rewrite_usage import option_of, refuse_unused
from wordbias.commands.rewrite_views import rewrite_report
from wordbias.outcomes.iterative_scrubbing import PER_ROUND, ROUNDS, SPLITS
from wordbias.outcomes.scrubbing import MASK

_LISTED = "\n".join(f"  {name:12} {summary}" for name, summary in METHODS.items())
_HELP = f"""Rewrite the texts in DATA by METHODS, one or several with commas between, in order.

DATA is plain text, one text a line, or has columns (.tsv, .csv, .jsonl), compressed or not, of any
size. The output has the same form, and all that is not rewritten is as it was.

\b
METHODS, and what they do:
{_LISTED}

\b
Examples:
  wordbias rewrite scrub bios.tsv.gz -o scrubbed.tsv.gz --names-column first,last
  wordbias rewrite oversample bios.tsv -o over.tsv --label profession --group gender
  wordbias rewrite anonymise,swap docs.jsonl -o both.jsonl --spans entities --keep-original
  wordbias rewrite swap texts.txt -o other.txt --attribute religion:christian,muslim
  wordbias rewrite scrub,extra-scrub bios.tsv -o x.tsv --group gender --within profession
"""


def _split_values(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> dict[str, dict[str, str]]:
    """Split ``column=a,b`` into what each becomes."""
    found: dict[str, dict[str, str]] = {}
    for equation in value:
        column, _, pair = equation.partition("=")
        a, _, b = (part.strip() for part in pair.partition(","))
        if not (column and a and b) or a == b or "," in b:
            raise click.BadParameter(f"expected COLUMN=A,B, found {equation!r}", ctx, param)
        found.setdefault(column, {}).update({a: b, b: a})
    return found


def _mask(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if any(character in value for character in "\t\r\n"):
        raise click.BadParameter("expected a mask without tabs and line breaks", ctx, param)
    return value


@click.command(help=_HELP)
@click.argument("methods")
@click.argument("data")
@click.option("-o", "--output", required=True, help="File to write, compressed as its suffix says.")
@click.option("--text-column", metavar="COLUMN", help="Of the texts.  [default: text, sentence]")
@click.option(
    "--where",
    metavar="COLUMN=VALUE",
    multiple=True,
    callback=split_where,
    help="Rewrite only such rows, the others pass; repeatable.",
)
@click.option("--mask", default=MASK, callback=_mask, show_default=True, help="scrub: the mask.")
@click.option("--as-published", is_flag=True, help="scrub: the eleven words of De-Arteaga et al.")
@click.option("--words", metavar="FILE", help="scrub: further words, one a line.")
@click.option(
    "--names-column",
    metavar="COLUMNS",
    callback=split_names,
    help="scrub: columns of the person's names.",
)
@click.option("--first-names", is_flag=True, help="scrub: 1,250 first names of anybody, too.")
@click.option("--label", metavar="COLUMN", help="subsample, oversample: classes to balance within.")
@click.option("--group", metavar="COLUMN", help="subsample, oversample, extra-scrub: of the group.")
@click.option("--within", metavar="COLUMN", help="extra-scrub: for each of its values apart.")
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=ROUNDS,
    show_default=True,
    help="extra-scrub: at most so many.",
)
@click.option(
    "--words-per-round",
    type=click.IntRange(1),
    default=PER_ROUND,
    show_default=True,
    help="extra-scrub: words of each group.",
)
@click.option(
    "--splits",
    type=click.IntRange(1),
    default=SPLITS,
    show_default=True,
    help="extra-scrub: random splits a round.",
)
@click.option(
    "--until",
    type=FiniteRange(0, 1),
    metavar="ACCURACY",
    help="extra-scrub: stop at this accuracy.  [default: chance]",
)
@click.option("--swap-names", is_flag=True, help="swap: first names too, by frequency.")
@click.option("--keep-original", is_flag=True, help="swap: all rows, then all swapped ones.")
@click.option(
    "--swap-values",
    metavar="COLUMN=A,B",
    multiple=True,
    callback=_split_values,
    help="swap: A becomes B and B becomes A in swapped rows.",
)
@click.option(
    "--spans",
    metavar="COLUMNS",
    callback=split_names,
    help="anonymise: a column with a list of spans, or two with start and end.",
)
@click.option("--spacy", "model", metavar="MODEL", help="anonymise: find names with spaCy.")
@click.option(
    "--entities",
    metavar="LABELS",
    callback=split_names,
    help="anonymise: of what kind.  [default: PERSON,PER]",
)
@attribute_option
@click.option("--shuffle", is_flag=True, help="Write the rows in random order.")
@click.option("--skip-bad", is_flag=True, help="Drop and count rows that cannot be used.")
@seed_option
@format_option
@common_options
def command(
    methods: str,
    data: str,
    output: str,
    to: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Read, rewrite, write, report; `_HELP` is what a user reads."""
    chosen = parse_methods(methods)
    refuse_unused(chosen, options)
    lists = {option_of(key): options[key] for key in ("words", "attribute_file")}
    check_output(data, output, lists)
    plan = Plan.open(chosen, data, options)
    done = plan.run(output)
    report = rewrite_report(done, given_arguments(), data, output, options["seed"])
    show(report, to, quiet=quiet)
