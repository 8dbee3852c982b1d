"""Correlations between the measures of many embeddings."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, cast

from wordbias import cells
from wordbias.calls import note, public, refuse_given
from wordbias.comparison import (
    Comparison,
    Correlations,
    constants,
    correlation_row,
    correlations,
    joined,
)
from wordbias.configuration import READS_VECTORS, STARTS_PROCESSES, current_config, uses
from wordbias.correlation import METHODS, Correlation
from wordbias.embedding import EmbeddingLike
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.inputs import (
    ReadOptions,
    distinctly_named,
    input_facts,
    open_subject,
    path_of,
    reading,
)
from wordbias.functions.report import report_of
from wordbias.measures.evaluate import evaluate_panels
from wordbias.measures.known import with_known_values
from wordbias.measures.panel import make_panels
from wordbias.measures.registry import BY_KEY
from wordbias.pages.compare_plots import SYMBOLS, plot_comparison
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.results import Row, number
from wordbias.rows import Source, read_source, source_of
from wordbias.wordlists import Attribute, GroupsLike
from wordbias.workers import Workers

_DETAILED = 10  # pairs of which the intervals are shown
_NAMED = 8  # measures; more have numbers in place of names
_MIDB = BY_KEY["midb"]
_BY_LENGTH = {measure.name for measure in _MIDB.measures if measure.by_length}
_AFTER_MEASURE = re.compile(r"[\[ ]")
Inputs = Mapping[str, Mapping[str, Any]]


@public
@uses(*READS_VECTORS, *STARTS_PROCESSES)
def compare(
    *rows: str | os.PathLike[str] | Report | EmbeddingLike,
    correlation: str = "pearson",
    only: str | Sequence[str] = (),
    x: str | None = None,
    y: str | None = None,
    measure: bool = False,
    original: EmbeddingLike | None = None,
    groups: GroupsLike | None = None,
    seed: int = 0,
) -> Report:
    """Correlate the measures in ``rows`` over the embeddings, as Dawkins (2021) does in Table 5.

    ``rows`` are files that commands printed with --format json, jsonl or csv. They can also be CSV
    tables with a line for each embedding: its name first, then a column for each measure (NA:
    undefined). With ``measure`` they are three or more embeddings, which are measured first.

    With four embeddings or more, each correlation has 95 % intervals (Fisher, and a bootstrap over
    embeddings) and the other coefficient. The report also has the range of the correlation with one
    embedding left out, and the embedding whose absence changes it most.

    Parameters
    ----------
    *rows : Report, path, or with ``measure`` an embedding
        Results of three embeddings or more; in Python also reports, and objects with a report.
    correlation : str
        Correlation coefficient.
    only : str or sequence of str
        Measures to compare, separated by commas.  [default: all, MIDB on unit length]
    x : str, optional
        Measure on the x axis of the scatter.  [default: from the pair with the largest |r|]
    y : str, optional
        Measure on the y axis of the scatter.  [default: from the pair with the largest |r|]
    measure : bool
        ``rows`` are embeddings: measure them first.
    original : path, fetched name or object, optional
        With ``measure``: embedding before debiasing.
    groups : name, path or mapping, optional
        With ``measure``: groups to compare: gender, gender-fr, age, religion:A,B, … (wordbias
        lists), or a TOML file.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        A row for each pair of measures: r, n and the two-sided p; ``low``, ``high``,
        ``bootstrap_low`` and ``bootstrap_high``; ``spearman``, or ``pearson`` with
        ``method="spearman"``; ``without_low`` and ``without_high``, ``driver`` and
        ``without_driver``. Before them the rows of ``measure``.

    Raises
    ------
    WordbiasError
        If results cannot be read or contradict each other, or there is too little to correlate.

    References
    ----------
    Dawkins (2021), "Marked Attribute Bias in Natural Language Inference", Table 5.

    Examples
    --------
    >>> import wordbias as wb
    >>> sample = wb.Embedding.sample().subset(wb.Embedding.sample().words[:9000])
    >>> noisy = [sample.with_vectors(sample.vectors ** power, f"e{power}") for power in (1, 3, 5)]
    >>> reports = [wb.measure(one, only=["midb"], chance=False) for one in noisy]
    >>> wb.compare(*reports, only="midb-rms,midb-abs")["correlation"][0].details["n"]
    3
    """
    how = current_config()
    rows = _one_by_one(rows)
    if not measure:
        refuse_given(("original", "groups"), "is for --measure", "give --measure, or leave it out")
    measured: Sequence[Row] = []
    if measure:
        read_options, workers = reading(), Workers(how.jobs, how.backend)
        embeddings = cast("Sequence[EmbeddingLike]", rows)
        measured, inputs = _measured(embeddings, original, groups, read_options, workers, seed)
        sources = [Source("what was measured", "measured", "", [row.to_dict() for row in measured])]
    else:
        sources, inputs = _read(rows)
    table = joined(sources)
    if only:
        given = [only] if isinstance(only, str) else only
        table = table.only([name for text in given for name in _names(text, table)])
    axes = [table.name(name) for name in (x, y) if name is not None]
    if len(axes) == 2 and axes[0] == axes[1]:
        raise UsageError(f"--x and --y are both {axes[0]}; name two measures")
    notes: list[str] = []
    if not only:
        table, notes = _comparable(table, axes, constant=not measure)
    coefficients = correlations(table, correlation)
    pair = coefficients.strongest(*axes)
    if axes and (pair.y if x is None else pair.x) != axes[0]:
        pair = pair._replace(x=pair.y, y=pair.x)
    related = [
        correlation_row(
            coefficient,
            (table.column(coefficient.x), table.column(coefficient.y)),
            table.subjects,
            correlation,
            seed,
        )
        for coefficient in coefficients.pairs
    ]
    return Report(
        inputs=inputs,
        rows=[*measured, *related],
        tables=_tables(coefficients, table, related, axes),
        heading=[
            f"{correlation.capitalize()} correlation between "
            f"{how_many(len(table.measures), 'measure')} over {len(table.subjects)} embeddings."
        ],
        closing=[_about_pair(pair, related, axes)],
        seed=seed,
        notes=notes,
        picture=partial(plot_comparison, table, coefficients, pair),
    )


def _one_by_one(rows: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the inputs, which may be given as one list."""
    if len(rows) == 1 and isinstance(rows[0], (list, tuple)):
        rows = tuple(rows[0])
    if not rows:
        raise WordbiasError("compare: name results, or give reports, of three embeddings or more")
    return rows


def _measured(
    embeddings: Sequence[EmbeddingLike],
    original: EmbeddingLike | None,
    groups: GroupsLike | None,
    read_options: ReadOptions,
    workers: Workers,
    seed: int,
) -> tuple[list[Row], Inputs]:
    """Take the classic measures of embeddings, as `wordbias.measure` does."""
    subjects = distinctly_named([open_subject(embedding, read_options) for embedding in embeddings])
    before = None if original is None else open_subject(original, read_options)
    panels = make_panels(
        [subject.embedding for subject in subjects],
        None if before is None else before.embedding,
        Attribute.load(groups),
        None,
        seed=seed,
    )
    rows = with_known_values(evaluate_panels(panels, chance=False, workers=workers), panels)
    return rows, input_facts(subjects, before)


def _read(rows: Sequence[object]) -> tuple[list[Source], Inputs]:
    """Read results, and take reports as they are."""
    sources: list[Source] = []
    inputs: dict[str, Mapping[str, Any]] = {}
    for i, report_like in enumerate(rows, 1):
        if (report := report_of(report_like)) is not None:
            source = source_of(report.to_dict(), f"report {i}")
            inputs[source.path] = {"format": source.kind, "command": report.command}
        elif (path := path_of(report_like)) is not None:
            source = read_source(Path(path))
            inputs[source.path] = {
                "path": source.path,
                "format": source.kind,
                "sha256": source.sha256,
            }
        else:
            raise WordbiasError(
                f"compare: expected reports and files of results, got {type(report_like).__name__}"
                "; embeddings are for --measure"
            )
        sources.append(source)
    return sources, inputs


def _comparable(
    table: Comparison, axes: Sequence[str], *, constant: bool
) -> tuple[Comparison, list[str]]:
    """Leave out what was not chosen by name and does not compare, with a note."""
    # That is MIDB of vectors as they are, beside MIDB of unit length; and constant measures, unless
    # `constant`.
    notes, left_out = [], set[str]()
    if not constant:
        same = {name: text for name, text in constants(table).items() if name not in axes}
        left_out |= same.keys()
        notes += [
            f"{text}: left out, as nothing correlates with a constant" for text in same.values()
        ]
    measures = {name: _AFTER_MEASURE.split(name)[0] for name in table.measures}
    raw = [name for name, of in measures.items() if of in _BY_LENGTH and name not in axes]
    if raw and _MIDB.main in measures.values():
        left_out |= {*raw}
        names = ", ".join(dict.fromkeys(measures[name] for name in raw))
        notes.append(
            f"{names}: left out, as they grow with the length of the vectors, in which embeddings "
            "differ; --only takes them"
        )
    for line in notes:
        note(line, reported=True)
    return table.only([name for name in table.measures if name not in left_out]), notes


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


def _about_pair(pair: Correlation, rows: Sequence[Row], axes: Sequence[str]) -> str:
    """Describe the pair of both axes, or the largest correlation, with the one axis if given."""
    names = {pair.x, pair.y}
    row = next(row for row in rows if {row.details["x"], row.details["y"]} == names)
    symbol = SYMBOLS[row.details["method"]]
    among = [
        candidate
        for candidate in rows
        if {*axes} <= {candidate.details["x"], candidate.details["y"]}
    ]
    what = "Chosen pair" if len(axes) == 2 else " with ".join([f"Largest |{symbol}|", *axes])
    pairs = how_many(len(rows if len(axes) == 2 else among), "pair")
    p = "p < 0.001" if pair.p is not None and pair.p < 0.001 else f"p = {number(pair.p, 3)}"
    interval = f", 95 % {cells.ends(row)}" if cells.ends(row) else ""
    return (
        f"{what}: {pair.x} – {pair.y}, {symbol} = {number(pair.r, 3)}{interval}, n = {pair.n}, "
        f"{p}, not corrected for {pairs}."
    )


def _tables(
    coefficients: Correlations, table: Comparison, related: Sequence[Row], axes: Sequence[str]
) -> list[Table]:
    """Return the triangle and the largest correlations, with numbers for many names."""
    names = coefficients.measures
    if len(names) <= _NAMED:
        heads = {name: name for name in names}
        return [_matrix(coefficients, heads), *_robustness_tables(related, axes, heads)]
    heads = {name: str(i) for i, name in enumerate(names, 1)}
    legend = [[heads[name], name, str(n)] for name, n in zip(names, table.counts(), strict=True)]
    return [
        Table("Measures", ["", "measure", "embeddings"], legend),
        _matrix(coefficients, heads),
        *_robustness_tables(related, axes, heads),
    ]


def _matrix(coefficients: Correlations, heads: Mapping[str, str]) -> Table:
    """Arrange the upper triangle; `heads` stand for the names of the measures."""
    r = dict(zip(combinations(coefficients.measures, 2), coefficients.pairs, strict=True))
    undefined = [pair for pair in coefficients.pairs if pair.r is None]
    note = f"– is undefined ({how_many(len(undefined), 'pair')})." if undefined else ""
    columns = ["", *heads.values()]
    return Table(
        f"{SYMBOLS[coefficients.method]} over the embeddings that have both",
        columns,
        [[head, *(_cell(r.get((x, y)), x == y) for y in heads)] for x, head in heads.items()],
        note,
        columns,
    )


def _cell(pair: Correlation | None, diagonal: bool) -> str:
    if pair is None:
        return "1" if diagonal else ""
    return "–" if pair.r is None else f"{pair.r:z.3f}"


def _robustness_tables(
    related: Sequence[Row], axes: Sequence[str], heads: Mapping[str, str]
) -> list[Table]:
    """Tabulate the largest correlations with the chosen measures, how far each can be trusted."""
    known = [
        row
        for row in related
        if "driver" in row.details and {row.details["x"], row.details["y"]} >= set(axes)
    ]
    rows = sorted(known, key=lambda row: -abs(row.value or 0))[:_DETAILED]
    if not rows:
        return []
    return [_intervals_table(rows, heads, len(known)), _left_out_table(rows, heads)]


def _intervals_table(rows: Sequence[Row], heads: Mapping[str, str], pairs: int) -> Table:
    """Tabulate both intervals of each pair, and the other coefficient."""
    method = str(rows[0].details["method"])
    (other,) = (coefficient for coefficient in METHODS if coefficient != method)
    symbol = SYMBOLS[method]
    largest = f" The {len(rows)} largest of {pairs} pairs." if len(rows) < pairs else ""
    title = f"{symbol} with 95 % intervals, and {SYMBOLS[other]}"
    columns = values(symbol, ("Fisher", cells.interval))
    columns += values(("bootstrap", cells.interval_of("bootstrap")))
    columns += values((SYMBOLS[other], cells.detail(other)))
    note = (
        "Fisher assumes normal values; the bootstrap draws embeddings again, and is too narrow for "
        f"few. Neither is corrected for the number of pairs.{largest}"
    )
    return pivot(title, rows, partial(_pair, heads), columns, note)


def _left_out_table(rows: Sequence[Row], heads: Mapping[str, str]) -> Table:
    """Tabulate the range of each correlation with one embedding left out, and which moves it."""
    symbol = SYMBOLS[str(rows[0].details["method"])]
    columns = values(symbol, ("range", cells.interval_of("without")), *WITHOUT)
    return pivot(f"{symbol} with one embedding left out", rows, partial(_pair, heads), columns)


WITHOUT = (
    ("changes most without", cells.detail("driver")),
    ("then", cells.detail("without_driver")),
)


def _pair(heads: Mapping[str, str], row: Row) -> str:
    return f"{heads[row.details['x']]} – {heads[row.details['y']]}"
