"""What `wordbias compare` found, as rows, tables and sentences for people."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import combinations

from wordbias.comparison import Comparison
from wordbias.correlation import Correlation, Correlations
from wordbias.pages.plots import SYMBOLS
from wordbias.rendering import Table, how_many
from wordbias.results import Row, number

_CELL = 8  # "-0.166" and two spaces


def correlation_rows(found: Correlations) -> list[Row]:
    """Return a row a pair of measures."""
    return [_row(pair, found.method) for pair in found.pairs]


def _row(pair: Correlation, method: str) -> Row:
    details = {"x": pair.x, "y": pair.y, "n": pair.n, "p": pair.p, "method": method, "neutral": 0.0}
    because = {"reason": pair.reason} if pair.reason else {}
    return Row(f"{pair.x} – {pair.y}", "correlation", pair.r, {**details, **because})


def heading(table: Comparison, found: Correlations) -> list[str]:
    """Say what is compared."""
    return [
        f"{found.method.capitalize()} correlation between "
        f"{how_many(len(table.measures), 'measure')} over {len(table.subjects)} embeddings."
    ]


def closing(
    pair: Correlation, found: Correlations, plot: str | None, axes: Sequence[str]
) -> list[str]:
    """Say how strong the pair is that was chosen, by its two `axes` or for its strength."""
    symbol = SYMBOLS[found.method]
    what = "Chosen pair" if len(axes) == 2 else f"Largest |{symbol}|"
    p = "p < 0.001" if pair.p is not None and pair.p < 0.001 else f"p = {number(pair.p, 3)}"
    drawn = f" Drawn: {plot}." if plot else ""
    return [
        f"{what}: {pair.x} – {pair.y}, {symbol} = {number(pair.r, 3)}, n = {pair.n}, {p}, "
        f"not corrected for {how_many(len(found.pairs), 'pair')}.{drawn}"
    ]


def terminal_width() -> int:
    """Return how wide a table may be."""
    return min(shutil.get_terminal_size((100, 24)).columns, 100)


def correlation_tables(found: Correlations, table: Comparison, width: int | None) -> list[Table]:
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
        Table("Measures", ["", "measure", "embeddings"], legend),
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
    note = f"– is undefined ({how_many(len(undefined), 'pair')})." if undefined else ""
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
