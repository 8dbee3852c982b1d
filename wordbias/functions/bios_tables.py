"""Tables of the occupation experiment, and the lines above and below them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from wordbias.biographies.data import Biographies
from wordbias.biographies.results import (
    ACCURATE,
    AFTER,
    BEFORE,
    CEAT,
    COMPRESSED,
    COMPRESSED_WITHIN,
    GAPS,
    KNOWING_CLASS,
    REPRESENTATION,
    REPRESENTATIVE,
    Metric,
    spread,
)
from wordbias.biographies.strategies import ORIGINAL, OWN
from wordbias.biographies.summary import (
    INTRINSIC,
    NAME,
    OF_VECTORS,
    Association,
    Cell,
    PairedTest,
    Summary,
    conclusions,
    too_few,
)
from wordbias.rendering import Table, how_many
from wordbias.results import number
from wordbias.statistics import EXACT_PAIRS
from wordbias.verdicts import LEVEL

_PAPER = "as Orgad et al. 2022"
_STAGES = {BEFORE: "before", AFTER: "after"}
_WIDTH = 100
_FEW = 6
_HEADS = ("compression", "as published", "class known", "probe accuracy", "CEAT")
_SHORT = (ACCURATE, *(metric for metric in GAPS if metric in (*REPRESENTATIVE, GAPS[1])))


def heading(bios: Biographies, model: str) -> list[str]:
    """Return the line above the tables: the data and the encoder."""
    shares = women_by_class(bios)
    women = bios.counts()[:, 0].sum() / max(1, len(bios))
    listed = [
        f"{name} {100 * shares[name]:.0f} %" for name in sorted(shares, key=shares.__getitem__)
    ]
    by_class = ", ".join(listed) if len(listed) <= _FEW else f"from {listed[0]} to {listed[-1]}"
    return [
        f"Occupation experiment on {bios.path}: {len(bios):,} biographies, {len(shares)} "
        f"classes, {100 * women:.0f} % women ({by_class}). Encoder: {model}."
    ]


def women_by_class(bios: Biographies) -> dict[str, float]:
    """Return the share of women in each class that is not empty; `--limit` can leave one empty."""
    shares = zip(bios.classes, bios.shares().tolist(), strict=True)
    return {name: share for name, share in shares if not math.isnan(share)}


def tables(found: Summary, *, frozen: bool = False) -> list[Table]:
    """Return all tables of an experiment, with the encoder `frozen` or fine-tuned."""
    shown = [_vectors_table(found)]
    if found.runs.has(BEFORE):
        shown += _representative_tables(found)
        shown += _difference_tables(found)
        shown += _association_tables(found)
        shown += _stage_tables(found, BEFORE, frozen=frozen)
    if found.runs.has(AFTER):
        shown += _stage_tables(found, AFTER, frozen=frozen)
    if found.runs.rewritten():
        shown += _original_tables(found)
    return shown


def closing(found: Summary) -> list[str]:
    """Return the lines below the tables: conclusions, and what the figures mean."""
    conventions = (
        "Gaps are F − M on equally many women and men of each class; 0 is fair. S: sum of "
        "absolute gaps over classes; P: Pearson's r of the gap with the share of women. "
        "Compression, in bits: 1 if gender cannot be read off the vectors and as many are women as "
        "men, more by their shares alone if not; higher: more easily."
    )
    return [*conclusions(found), conventions]


def _vectors_table(found: Summary) -> Table:
    """Return a line for each encoder: how much of the gender is in its vectors."""
    runs = found.runs
    subjects = [*runs.baselines, *runs.strategies]
    cells = [
        [name, *(_drawn(found.cell(metric, name, REPRESENTATION)) for metric in OF_VECTORS)]
        for name in subjects
    ]
    shown = [found.cell(metric, name, REPRESENTATION) for metric in OF_VECTORS for name in subjects]
    about = "class known: compression within classes, of equally many women and men each. "
    known = spread(runs.every(KNOWING_CLASS, REPRESENTATION, subjects)).mean
    if known is not None:
        about += f"Knowing only the class gives a compression of {known:.3f}. "
    columns = ["encoder", *_HEADS]
    return Table("Gender in the vectors", columns, cells, about + _note_of(found, shown))


def _representative_tables(found: Summary) -> list[Table]:
    """Return the metrics of Table 1a, before and after retraining."""
    title = f"Before and after retraining the last layer ({_PAPER}, Table 1a)"
    return _by_strategy(found, title, _representative_lines(found))


def _representative_lines(found: Summary) -> list[tuple[Metric, str, str]]:
    """Return the metrics of Table 1a with their stages and titles."""
    lines = [(metric, REPRESENTATION, metric.title) for metric in (COMPRESSED, CEAT)]
    for metric in _SHORT:
        lines += [
            (metric, stage, f"{metric.title}, {_STAGES[stage]}") for stage in _stages_of(found)
        ]
    return lines


def _difference_tables(found: Summary) -> list[Table]:
    """Return how far strategies are from no debiasing, and from random changes, seed by seed."""
    note = (
        "Mean difference and its 95 % interval over the seeds, by Student's t: what another seed "
        "may change, not other biographies."
    )
    null = (
        "A random change leaves out or repeats as many biographies, or replaces as many words, "
        "without regard to gender."
    )
    kinds = (
        (f"Differences from {found.runs.base()}, paired by seed", lambda cell: cell.test, note),
        (
            "Differences from random changes of the same size, paired by seed",
            lambda cell: cell.null_test,
            f"{note} {null}",
        ),
    )
    return [
        table
        for title, kind, said in kinds
        for table in _tables_of_differences(found, title, kind, said)
    ]


def _tables_of_differences(
    found: Summary, title: str, test_of: Callable[[Cell], PairedTest | None], note: str
) -> list[Table]:
    """Return tables of one kind of tests, by strategy."""
    made = [
        (line, {name: test_of(found.cell(metric, name, stage)) for name in found.runs.strategies})
        for metric, stage, line in _representative_lines(found)
    ]
    kept = [(line, tests) for line, tests in made if any(map(_has_interval, tests.values()))]
    if not kept:
        return []
    names = [
        name
        for name in found.runs.strategies
        if any(_has_interval(tests[name]) for _, tests in kept)
    ]
    columns = [(name, [_difference(tests[name]) for _, tests in kept]) for name in names]
    tests = [test for _, by_name in kept for test in by_name.values() if test is not None]
    stars = _stars_note(tests, found.is_corrected)
    return _in_parts(title, ["", *(line for line, _ in kept)], columns, f"{note} {stars}".strip())


def _has_interval(test: PairedTest | None) -> bool:
    return test is not None and test.interval is not None


def _difference(test: PairedTest | None) -> str:
    """Write a difference and its interval."""
    if test is None or test.interval is None or test.difference is None:
        return "–"
    star = "*" if test.is_significant else ""
    low, high = test.interval
    return f"{test.difference:.3f} ({low:.3f} … {high:.3f}){star}"


def _stage_tables(found: Summary, stage: str, *, frozen: bool) -> list[Table]:
    """Return all metrics of one stage: Tables 3, 4 or 5."""
    if frozen and stage == AFTER:
        title = "Frozen encoder, last layer retrained on the original data"
    elif frozen:
        title = f"Frozen encoder ({_PAPER}, Table 5)"
    elif stage == BEFORE:
        title = f"As fine-tuned ({_PAPER}, Table 3)"
    else:
        title = f"Last layer retrained ({_PAPER}, Table 4)"
    lines = [(metric, stage, metric.title) for metric in (ACCURATE, *GAPS)]
    return _by_strategy(found, title, lines)


def _original_tables(found: Summary) -> list[Table]:
    """Return the metrics of models of rewritten texts, also on the original texts."""
    lines = [
        (metric, REPRESENTATION, metric.title)
        for metric in (COMPRESSED, COMPRESSED_WITHIN)
        if found.runs.has(REPRESENTATION, ORIGINAL)
    ]
    for metric in _SHORT:
        lines += [
            (metric, stage, f"{metric.title}, {_STAGES[stage]}")
            for stage in (BEFORE, AFTER)
            if found.runs.has(stage, ORIGINAL)
        ]
    columns = [
        (f"{name}: {texts}", name, view)
        for name in found.runs.rewritten()
        for texts, view in (("rewritten texts", OWN), ("original texts", ORIGINAL))
    ]
    title = "Models trained on rewritten texts, tested on rewritten and on original texts"
    return _by_strategy(found, title, lines, columns)


def _association_tables(found: Summary) -> list[Table]:
    """Return squared correlations: over all runs, as Table 2, and within each strategy.

    Where none is defined there is no table; `wordbias.biographies.summary` says why.
    """
    made = [_over_all(found, x) for x in INTRINSIC if _defined(found, x)]
    defined = _defined(found, COMPRESSED)
    if not defined:
        return made
    within = [
        (f"{name}, {_STAGES[stage]}", [_squared(found, y, stage, name) for y in defined])
        for name in found.runs.studied()
        for stage in _stages_of(found)
    ]
    title = "R² of compression and each metric within each strategy, over seeds"
    note = f"− where r < 0; – where undefined. {how_many(len(found.runs.seeds), 'seed')}."
    return made + _in_parts(title, ["", *(y.title for y in defined)], within, note)


def _defined(found: Summary, x: Metric) -> list[Metric]:
    """Return the metrics whose correlation with `x` over all runs is defined at some stage."""
    return [
        y
        for y in GAPS
        if any(found.association(x, y, stage).r is not None for stage in _stages_of(found))
    ]


def _over_all(found: Summary, x: Metric) -> Table:
    stages = _stages_of(found)
    made = {(y, stage): found.association(x, y, stage) for y in GAPS for stage in stages}
    heads = [f"{head} {_STAGES[stage]}" for stage in stages for head in ("R²", "r", "p")]
    cells = [
        [y.title, *(cell for stage in stages for cell in _cells(made[y, stage]))]
        for y in _defined(found, x)
    ]
    undefined = _reasons((one.y, one.reason) for one in made.values() if one.reason)
    counts = sorted({one.n for one in made.values() if one.r is not None})
    ends = " to ".join(str(n) for n in dict.fromkeys(counts[:1] + counts[-1:]))
    n = f"n = {ends} runs. " * bool(counts)
    warning = "Runs of one strategy are similar, but p takes them as independent: it is too "
    return Table(
        f"{x.title} and extrinsic bias over all runs ({_PAPER}, Table 2)",
        ["", *heads],
        cells,
        f"{n}{warning}small. {undefined}".strip(),
    )


def _stages_of(found: Summary) -> list[str]:
    """Return the stages at which anything was measured."""
    return [stage for stage in (BEFORE, AFTER) if found.runs.has(stage)]


def _cells(one: Association) -> list[str]:
    if one.r is None or one.p is None:
        return ["–", "–", "–"]
    p = f"{one.p:.1e}" if 0 < one.p < 0.001 else f"{one.p:.3f}"
    return [number(one.r2, 3), number(one.r, 2), p]


def _squared(found: Summary, y: Metric, stage: str, strategy: str) -> str:
    one = found.association(COMPRESSED, y, stage, strategy)
    if one.r is None:
        return "–"
    return f"{one.r**2:.3f}{'−' if one.r < 0 else ''}"


def _by_strategy(
    found: Summary,
    title: str,
    lines: Sequence[tuple[Metric, str, str]],
    columns: Sequence[tuple[str, str, str]] = (),
) -> list[Table]:
    """Return tables of metrics by strategy that fit the width.

    Metrics of which nothing is defined are left out, and named below.
    """
    columns = columns or [(name, name, OWN) for name in found.runs.strategies]
    made = [
        (label, [found.cell(metric, name, stage, view) for _, name, view in columns])
        for metric, stage, label in lines
    ]
    kept = [(label, cells) for label, cells in made if any(cell.spread.n for cell in cells)]
    texts = [
        (head, [_drawn(cells[i]) for _, cells in kept]) for i, (head, _, _) in enumerate(columns)
    ]
    note = _note_of(found, [cell for _, cells in made for cell in cells])
    return _in_parts(title, ["", *(label for label, _ in kept)], texts, note)


def _in_parts(
    title: str, first: Sequence[str], columns: Sequence[tuple[str, list[str]]], note: str
) -> list[Table]:
    """Return tables with as many of the columns as fit, each beginning with the first one."""
    most = _WIDTH - 2 - max(map(len, first))
    chunks: list[list[tuple[str, list[str]]]] = []
    left = 0
    for name, cells in columns:
        width = 2 + max(map(len, (name, *cells)))
        if width > left or not chunks:
            chunks.append([])
            left = most
        chunks[-1].append((name, cells))
        left -= width
    made = []
    for i, chunk in enumerate(chunks, 1):
        part = f", part {i} of {len(chunks)}" if len(chunks) > 1 else ""
        lines = zip(first[1:], *(cells for _, cells in chunk), strict=True)
        heads = [first[0], *(name for name, _ in chunk)]
        last = note if i == len(chunks) else ""
        made.append(Table(title + part, heads, list(map(list, lines)), last))
    return made


def _drawn(cell: Cell) -> str:
    """Write mean ± standard deviation, with a star where a strategy differs from none."""
    mean, sd, _ = cell.spread
    if mean is None:
        return "–"
    star = "*" if cell.test is not None and cell.test.is_significant else ""
    return number(mean, 3) + (f" ± {sd:.3f}" if sd is not None else "") + star


def _note_of(found: Summary, cells: Sequence[Cell]) -> str:
    """Return a note: the number of seeds, what a star means, and what is undefined."""
    seeds = len(found.runs.seeds)
    parts = [f"Mean ± sd (n − 1) over {seeds} seeds." if seeds > 1 else "One seed."]
    tests = [cell.test for cell in cells if cell.test is not None]
    parts.append(_stars_note(tests, found.is_corrected, " against none"))
    fewer = sorted({cell.metric.title for cell in cells if 0 < cell.spread.n < seeds})
    if fewer:
        parts.append(f"From fewer seeds: {', '.join(fewer)}.")
    parts.append(_reasons((cell.metric, cell.reason) for cell in cells if cell.reason))
    return " ".join(filter(None, parts))


def _stars_note(tests: Sequence[PairedTest], is_corrected: bool, against: str = "") -> str:
    """Say what a star means, or why there is none."""
    made = [test for test in tests if test.p is not None]
    if made:
        holm = ", corrected by Holm's method" if is_corrected else ""
        exact = "exact " * all(test.n <= EXACT_PAIRS for test in made)
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
