"""Tables of an experiment, in the layout of Orgad et al. (2022)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from wordbias import cells
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.results import Row
from wordbias.retraining.arms import ORIGINAL, OWN
from wordbias.retraining.results import (
    AFTER,
    BEFORE,
    CEAT,
    COMPRESSED,
    COMPRESSED_WITHIN,
    KNOWING_CLASS,
    READ,
    REPRESENTATION,
    Metric,
    spread,
)
from wordbias.retraining.summary import (
    INTRINSIC,
    NAME,
    OF_VECTORS,
    Cell,
    PairedTest,
    Summary,
    too_few,
)
from wordbias.statistics import EXACT_PAIRS
from wordbias.verdicts import LEVEL

_PAPER = "as Orgad et al. 2022"
_STAGES = {BEFORE: "before", AFTER: "after"}


def tables(summary: Summary, *, frozen: bool = False) -> list[Table]:
    """Return all tables of an experiment, with the encoder `frozen` or fine-tuned."""
    all_tables = [_vectors_table(summary)]
    if summary.runs.has(BEFORE):
        all_tables += _representative_tables(summary)
        all_tables += _difference_tables(summary)
        all_tables += _association_tables(summary)
        all_tables += _stage_tables(summary, BEFORE, frozen=frozen)
    if summary.runs.has(AFTER):
        all_tables += _stage_tables(summary, AFTER, frozen=frozen)
    if summary.runs.rewritten():
        all_tables += _original_tables(summary)
    return all_tables


def _vectors_table(summary: Summary) -> Table:
    """Return a line for each encoder: how much of the gender is in its vectors."""
    runs = summary.runs
    subjects = [*runs.baselines, *runs.strategies]
    measured = {metric for metric, *_ in summary.cells}
    measured |= {*OF_VECTORS} - {READ, COMPRESSED_WITHIN}
    of_vectors = [metric for metric in OF_VECTORS if metric in measured]
    encoder_cells = [
        summary.cell(metric, name, REPRESENTATION) for metric in of_vectors for name in subjects
    ]
    about = ""
    if COMPRESSED_WITHIN in measured:
        about = "Within classes: compression of equally many women and men of each class. "
    known = spread(runs.every(KNOWING_CLASS, REPRESENTATION, subjects)).mean
    if known is not None:
        about += f"Knowing only the class gives a compression of {known:.3f}. "
    rows = [
        _row(metric.head, name, summary.cell(metric, name, REPRESENTATION))
        for name in subjects
        for metric in of_vectors
    ]
    heads = [metric.head for metric in of_vectors]
    columns = [column for head in heads for column in values((head, _drawn), measure=head)]
    note = about + _note_of(summary, encoder_cells)
    return pivot("Gender in the vectors", rows, {"encoder": "subject"}, columns, note)


def _representative_tables(summary: Summary) -> list[Table]:
    """Return the metrics of the short table, before and after retraining."""
    title = (
        f"Before and after retraining {summary.task.layers} ({_PAPER}, {summary.task.tables[0]})"
    )
    return _by_strategy(summary, title, _lines(summary, summary.task.short))


def _lines(summary: Summary, metrics: Sequence[Metric]) -> list[tuple[Metric, str, str]]:
    """Return metrics of vectors, and those of predictions before and after retraining."""
    lines = [(metric, REPRESENTATION, metric.title) for metric in (COMPRESSED, READ, CEAT)]
    for metric in metrics:
        lines += [
            (metric, stage, f"{metric.title}, {_STAGES[stage]}") for stage in _stages_of(summary)
        ]
    return lines


def _difference_tables(summary: Summary) -> list[Table]:
    """Return how far strategies are from no debiasing, and from random changes, seed by seed."""
    # They have the metrics of all tables, also of those as fine-tuned and retrained.
    note = (
        "Mean difference and its 95 % interval over the seeds, by Student's t. It covers what "
        f"another seed may change, not other {summary.task.units}."
    )
    kinds = (
        (f"Differences from {summary.runs.base()}, paired by seed", lambda cell: cell.test, note),
        (
            "Differences from random changes of the same size, paired by seed",
            lambda cell: cell.null_test,
            f"{note} {summary.task.at_random}",
        ),
    )
    return [
        table
        for title, kind, remark in kinds
        for table in _tables_of_differences(summary, title, kind, remark)
    ]


def _tables_of_differences(
    summary: Summary, title: str, test_of: Callable[[Cell], PairedTest | None], note: str
) -> list[Table]:
    """Return tables of one kind of tests, by strategy."""
    rows = []
    tests = []
    for metric, stage, line in _lines(summary, summary.task.of_predictions):
        for name in summary.runs.strategies:
            test = test_of(summary.cell(metric, name, stage))
            if test is not None and test.interval is not None:
                low, high = test.interval
                about = {"low": low, "high": high, "star": test.is_significant}
                rows.append(Row(name, line, test.difference, about))
            tests += [] if test is None else [test]
    if not rows:
        return []
    sums = [metric.title for metric in summary.task.gaps if metric in summary.runs.partial]
    of_both = f"{', '.join(sums)}: over the classes for which both runs define it." if sums else ""
    note = " ".join(filter(None, [note, of_both, _stars_note(tests, summary.is_corrected)]))
    return [_by_subject(title, rows, _starred, note)]


def _starred(row: Row) -> str:
    return cells.with_interval(row) + ("*" if row.details["star"] else "")


def _by_subject(title: str, rows: Sequence[Row], cell: Callable[[Row], str], note: str) -> Table:
    """Return a table of a line for each measure, and a column for each subject."""
    names = dict.fromkeys(row.subject for row in rows)
    columns = [column for name in names for column in values((name, cell), part=name, subject=name)]
    return pivot(title, rows, "measure", columns, note.strip())


def _stage_tables(summary: Summary, stage: str, *, frozen: bool) -> list[Table]:
    """Return all metrics of one stage."""
    _, as_tuned, as_retrained, as_frozen = summary.task.tables
    layers = summary.task.layers.removeprefix("the ")
    title, table = {
        (BEFORE, False): ("As fine-tuned", as_tuned),
        (AFTER, False): (f"{layers.capitalize()} retrained", as_retrained),
        (BEFORE, True): ("Frozen encoder", as_frozen),
        (AFTER, True): (f"Frozen encoder, {layers} retrained on the original data", ""),
    }[stage, frozen]
    title += f" ({_PAPER}, {table})" * bool(table)
    lines = [(metric, stage, metric.title) for metric in summary.task.of_predictions]
    return _by_strategy(summary, title, lines)


def _original_tables(summary: Summary) -> list[Table]:
    """Return the metrics of models of rewritten texts, also on the original texts."""
    lines = [
        (metric, REPRESENTATION, metric.title)
        for metric in (COMPRESSED, COMPRESSED_WITHIN)
        if summary.runs.has(REPRESENTATION, ORIGINAL)
    ]
    for metric in summary.task.short:
        lines += [
            (metric, stage, f"{metric.title}, {_STAGES[stage]}")
            for stage in (BEFORE, AFTER)
            if summary.runs.has(stage, ORIGINAL)
        ]
    columns = [
        (f"{name}: {texts}", name, view)
        for name in summary.runs.rewritten()
        for texts, view in (("rewritten texts", OWN), ("original texts", ORIGINAL))
    ]
    title = "Models trained on rewritten texts, tested on rewritten and on original texts"
    return _by_strategy(summary, title, lines, columns)


def _association_tables(summary: Summary) -> list[Table]:
    """Return squared correlations: over all runs, as Table 2, and within each strategy."""
    # Where none is defined there is no table; `wordbias.retraining.summary` says why.
    overall_tables = [_over_all(summary, x) for x in INTRINSIC if _defined(summary, x)]
    defined = _defined(summary, COMPRESSED)
    if not defined:
        return overall_tables
    within = [
        Row(f"{name}, {_STAGES[stage]}", y.title, summary.association(COMPRESSED, y, stage, name).r)
        for name in summary.runs.studied()
        for stage in _stages_of(summary)
        for y in defined
    ]
    title = "R² of compression and each metric within each strategy, over seeds"
    note = f"− where r < 0; – where undefined. {how_many(len(summary.runs.seeds), 'seed')}."
    return [*overall_tables, _by_subject(title, within, _squared, note)]


def _defined(summary: Summary, x: Metric) -> list[Metric]:
    """Return the metrics whose correlation with `x` over all runs is defined at some stage."""
    return [
        y
        for y in summary.task.gaps
        if any(summary.association(x, y, stage).r is not None for stage in _stages_of(summary))
    ]


def _over_all(summary: Summary, x: Metric) -> Table:
    stages = _stages_of(summary)
    associations = {
        (y, stage): summary.association(x, y, stage) for y in summary.task.gaps for stage in stages
    }
    rows = [
        Row("", y.title, associations[y, stage].r, {"stage": stage, "p": associations[y, stage].p})
        for y in _defined(summary, x)
        for stage in stages
    ]
    columns = []
    for stage in stages:
        r2 = ("R²", lambda row: _squared(row).rstrip("−"))
        heads = (r2, ("r", cells.rounded(2)), ("p", cells.p))
        columns += values(
            *((f"{head} {_STAGES[stage]}", cell) for head, cell in heads), stage=stage
        )
    undefined = _reasons(
        (association.y, association.reason)
        for association in associations.values()
        if association.reason
    )
    counts = sorted(
        {association.n for association in associations.values() if association.r is not None}
    )
    ends = " to ".join(str(n) for n in dict.fromkeys(counts[:1] + counts[-1:]))
    runs = summary.runs
    of = [name for name in runs.studied() if runs.spread(x, name, REPRESENTATION).n]
    n = f"n = {ends} runs of {', '.join(of)}. " * bool(counts)
    warning = "Runs of one strategy are similar, but p takes them as independent: it is too "
    return pivot(
        f"{x.title} and extrinsic bias over all runs ({_PAPER}, Table 2)",
        rows,
        "measure",
        columns,
        f"{n}{warning}small. {undefined}".strip(),
    )


def _stages_of(summary: Summary) -> list[str]:
    """Return the stages at which anything was measured."""
    return [stage for stage in (BEFORE, AFTER) if summary.runs.has(stage)]


def _squared(row: Row) -> str:
    """Write R², and the sign of a negative r."""
    return "–" if row.value is None else f"{row.value**2:.3f}{'−' if row.value < 0 else ''}"


def _by_strategy(
    summary: Summary,
    title: str,
    lines: Sequence[tuple[Metric, str, str]],
    columns: Sequence[tuple[str, str, str]] = (),
) -> list[Table]:
    """Return a table of metrics by strategy."""
    # Metrics without any defined value are left out, and named below.
    columns = columns or [(name, name, OWN) for name in summary.runs.strategies]
    cells_by_line = [
        (label, [summary.cell(metric, name, stage, view) for _, name, view in columns])
        for metric, stage, label in lines
    ]
    rows = [
        _row(label, head, cell)
        for label, of in cells_by_line
        if any(cell.spread.n for cell in of)
        for (head, _, _), cell in zip(columns, of, strict=True)
    ]
    note = _note_of(summary, [cell for _, of in cells_by_line for cell in of])
    return [_by_subject(title, rows, _drawn, note)]


def _row(line: str, name: str, cell: Cell) -> Row:
    mean, sd, _ = cell.spread
    star = cell.test is not None and cell.test.is_significant
    return Row(name, line, mean, {"sd": sd, "star": star})


def _drawn(row: Row) -> str:
    """Write mean ± standard deviation, with a star where a strategy differs from none."""
    return cells.with_spread(row) + ("*" if row.details["star"] else "")


def _note_of(summary: Summary, cells: Sequence[Cell]) -> str:
    """Return a note: the number of seeds, what a star means, and what is undefined."""
    seeds = len(summary.runs.seeds)
    parts = ["One seed: no interval over seeds, no test."]
    if seeds > 1:
        tests = [cell.test for cell in cells if cell.test is not None]
        parts = [f"Mean ± sd (n − 1) over {seeds} seeds."]
        parts.append(_stars_note(tests, summary.is_corrected, " against none"))
    fewer = sorted({cell.metric.title for cell in cells if 0 < cell.spread.n < seeds})
    if fewer:
        parts.append(f"From fewer seeds: {', '.join(fewer)}.")
    sums = dict.fromkeys(cell.metric for cell in cells if cell.metric in summary.runs.partial)
    if sums:
        titles = ", ".join(metric.title for metric in sums)
        parts.append(f"{titles}: some runs leave out classes for which it is undefined.")
    parts.append(_reasons((cell.metric, cell.reason) for cell in cells if cell.reason))
    return " ".join(filter(None, parts))


def _stars_note(tests: Sequence[PairedTest], is_corrected: bool, against: str = "") -> str:
    """Say what a star means, or why there is none."""
    defined = [test for test in tests if test.p is not None]
    if defined:
        holm = ", corrected by Holm's method" if is_corrected else ""
        exact = "exact " * all(test.n <= EXACT_PAIRS for test in defined)
        return f"* p < {LEVEL:g}{against}, {exact}{NAME}{holm}."
    return f"No stars: {too_few(max(test.n for test in tests))}." if tests else ""


def _reasons(undefined: Iterable[tuple[Metric, str]]) -> str:
    """Name the metrics that are undefined, by reason."""
    by_reason: dict[str, dict[str, None]] = {}
    for metric, reason in undefined:
        text = reason.removeprefix("undefined: ").partition("; ")[0].rstrip(".")
        by_reason.setdefault(text, {})[metric.title] = None
    parts = [f"{', '.join(titles)} ({reason})" for reason, titles in by_reason.items()]
    return f"Undefined: {'; '.join(parts)}." if parts else ""
