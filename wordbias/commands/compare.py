"""`wordbias compare`: how the measures of many embeddings correlate."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import combinations

import click

from wordbias.commands.compare_inputs import from_files, measured
from wordbias.commands.inputs import Reading
from wordbias.commands.options import (
    attribute_option,
    common_options,
    format_option,
    given_arguments,
    jobs_options,
    reading_options,
    seed_option,
    show,
)
from wordbias.comparison import Comparison
from wordbias.correlation import METHODS, Correlation, Correlations, correlations
from wordbias.rendering import Table
from wordbias.report.plots import SYMBOLS, check_plot, save_comparison
from wordbias.results import Report, Row, number
from wordbias.workers import Workers

_CELL = 8  # "-0.166" and two spaces


@click.command()
@click.argument("rows", nargs=-1, required=True, metavar="ROWS...")
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="pearson",
    show_default=True,
    help="Kind of correlation.",
)
@click.option("--only", multiple=True, help="Compare only these measures, separated by commas.")
@click.option("--plot", help="Draw the matrix and the scatter of one pair: .png, .pdf or .svg.")
@click.option("--x", help="Measure of the scatter.  [default: of the pair with the largest |r|]")
@click.option("--y", help="Measure of the scatter.  [default: of the pair with the largest |r|]")
@click.option("--measure", is_flag=True, help="ROWS are embeddings: measure them first.")
@click.option("--original", help="With --measure: the embedding before debiasing.")
@attribute_option
@reading_options
@jobs_options
@seed_option
@format_option
@common_options
def command(
    rows: tuple[str, ...],
    method: str,
    only: tuple[str, ...],
    plot: str | None,
    x: str | None,
    y: str | None,
    measure: bool,
    original: str | None,
    attribute_file: str | None,
    skip_bad: bool,
    allow_pickle: bool,
    cache: bool,
    jobs: int | None,
    backend: str,
    seed: int,
    to: str,
    quiet: bool,
) -> None:
    """Correlate the measures in ROWS over the embeddings, as Dawkins (2021) does in Table 5.

    ROWS are files that commands printed with --format json, jsonl or csv, or CSV tables with a
    line for each embedding, its name first, and a column for each measure (NA: undefined). With
    --measure they are embeddings, three or more, which are measured first.

    \b
    Examples:
      wordbias compare glove.json glove-hd.json glove-misp.json
      wordbias compare table.csv --only MIDB,GIPE,E --plot compare.pdf
      wordbias compare table.csv --x MIDB --y E --plot compare.png
      wordbias compare --measure glove.txt misp.txt hard.txt --original glove.txt --jobs 2
    """
    for option, value in {"--original": original, "--attribute": attribute_file}.items():
        if value and not measure:
            raise click.UsageError(f"{option} is for --measure, which is not given")
    if plot:
        check_plot(plot)
    found = (
        measured(
            rows,
            original,
            attribute_file,
            Reading(cache, skip_bad, allow_pickle),
            Workers(jobs, backend),
            seed=seed,
            quiet=quiet,
        )
        if measure
        else from_files(rows)
    )
    table = found.table
    if only:
        table = table.only([name for given in only for name in _names(given, table)])
    chosen = [table.name(name) for name in (x, y) if name is not None]
    if len(chosen) == 2 and chosen[0] == chosen[1]:
        raise click.UsageError(f"--x and --y are both {chosen[0]}; name two measures")
    related = correlations(table, method)
    pair = _pair(related.strongest(*chosen), x is not None, chosen)
    if plot:
        save_comparison(plot, table, related, pair)
    report = Report(
        "compare",
        given_arguments(),
        found.inputs,
        [*found.rows, *(_row(each, method) for each in related.pairs)],
        _tables(related, table, _width() if to == "table" else None),
        [
            f"{method.capitalize()} correlation between {len(table.measures)} measures over "
            f"{len(table.subjects)} embeddings."
        ],
        [_said(pair, related, plot, chosen)],
    )
    show(report, to)


def _names(given: str, table: Comparison) -> list[str]:
    """Split at commas outside brackets: ``midb (after, self)`` is one name."""
    if given in table.measures:
        return [given]
    depth, names = 0, [""]
    for character in given:
        depth = max(0, depth + (character in "([") - (character in ")]"))
        if character == "," and depth == 0:
            names.append("")
        else:
            names[-1] += character
    return [name.strip() for name in names if name.strip()]


def _pair(pair: Correlation, x_given: bool, chosen: Sequence[str]) -> Correlation:
    """Turn a pair so that what was asked for as --x is its x."""
    turned = chosen and (pair.x if x_given else pair.y) != chosen[0]
    return pair._replace(x=pair.y, y=pair.x) if turned else pair


def _row(pair: Correlation, method: str) -> Row:
    details = {"x": pair.x, "y": pair.y, "n": pair.n, "p": pair.p, "method": method, "neutral": 0.0}
    because = {"reason": pair.reason} if pair.reason else {}
    return Row(f"{pair.x} – {pair.y}", "correlation", pair.r, {**details, **because})


def _said(pair: Correlation, found: Correlations, plot: str | None, chosen: Sequence[str]) -> str:
    symbol = SYMBOLS[found.method]
    what = "Chosen pair" if len(chosen) == 2 else f"Largest |{symbol}|"
    p = "p < 0.001" if pair.p is not None and pair.p < 0.001 else f"p = {number(pair.p, 3)}"
    drawn = f" Drawn: {plot}." if plot else ""
    return (
        f"{what}: {pair.x} – {pair.y}, {symbol} = {number(pair.r, 3)}, n = {pair.n}, {p}, "
        f"not corrected for {len(found.pairs)} pairs.{drawn}"
    )


def _width() -> int:
    return min(shutil.get_terminal_size((100, 24)).columns, 100)


def _tables(found: Correlations, table: Comparison, width: int | None) -> list[Table]:
    """Arrange the upper triangle: in one piece with names, or numbered and in as many as needed."""
    names, longest = found.measures, max(map(len, found.measures))
    room = 2 + longest + sum(2 + max(_CELL - 2, len(name)) for name in names)
    if width is None or room <= width:
        return [_matrix(found, names, range(len(names)), names)]
    numbers = [str(i + 1) for i in range(len(names))]
    legend = [[i, name, str(n)] for i, name, n in zip(numbers, names, table.counts(), strict=True)]
    step = max(1, (width - 4 - len(numbers[-1])) // _CELL)
    starts = range(0, len(names), step)
    blocks = [range(start, min(start + step, len(names))) for start in starts]
    return [
        Table("Measures", ["", "measure", "embeddings"], legend, cut="measure"),
        *(_matrix(found, numbers, block, names) for block in blocks),
    ]


def _matrix(
    found: Correlations, heads: Sequence[str], columns: range, names: Sequence[str]
) -> Table:
    r = dict(zip(combinations(names, 2), found.pairs, strict=True))
    cells = [
        [heads[i], *(_cell(r.get((names[i], names[j])), i == j) for j in columns)]
        for i in range(columns.stop)
    ]
    undefined = [pair for pair in found.pairs if pair.r is None]
    note = f"– is undefined ({len(undefined)} pairs)." if undefined else ""
    return Table(
        f"{SYMBOLS[found.method]} over the embeddings that have both",
        ["", *(heads[j] for j in columns)],
        cells,
        note,
    )


def _cell(pair: Correlation | None, diagonal: bool) -> str:
    if pair is None:
        return "1" if diagonal else ""
    return "–" if pair.r is None else f"{pair.r:z.3f}"
