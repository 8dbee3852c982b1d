"""Changes between two results: value by value, paired where the same items were drawn."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wordbias import cells, verdicts
from wordbias.arguments import path_named
from wordbias.calls import public
from wordbias.errors import WordbiasError
from wordbias.measures.registry import short_title
from wordbias.pages.forest_plot import forest_plot
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.results import Row, flat
from wordbias.row_changes import (
    INDEPENDENT,
    KEYS,
    Pair,
    as_measured,
    keyed,
    one_subject_each,
    text_of,
    texts_of,
    with_changes,
)
from wordbias.rows import read_rows

_NUMBERED = frozenset({"layer", "component", "seed"})


@public
def changes(
    old: str | os.PathLike[str] | Report,
    new: str | os.PathLike[str] | Report,
) -> Report:
    """Measure how each value of one result differs from the same value of another.

    Two values are compared if their measure, set, setting, group, word and layer are the same. The
    names of the inputs may differ if each result has one input. Where both results have drawn the
    same items again, the 95 % interval of a change is paired: it comes from the differences draw by
    draw. Elsewhere the two values count as independent, which gives a wider interval; the result
    says so. Values of several seeds are paired by the seed.

    Parameters
    ----------
    old : Report or path
        Result before, as a command printed it with --format json.
    new : Report or path
        Result after, of the same command.

    Returns
    -------
    Report
        The rows of ``new`` that ``old`` has too, each with its ``change``, ``change_low`` and
        ``change_high``. ``paired`` says what was drawn again in both, or ``seeds``, or
        ``independent``. Over seeds a row also has the sign-flip ``p``, and ``p_holm``, corrected
        over all values of one measure.

    Raises
    ------
    WordbiasError
        If results cannot be read, or have no value in common.

    Examples
    --------
    >>> import wordbias as wb
    >>> sample = wb.Embedding.sample()
    >>> clean = wb.debias(sample, "misp")
    >>> both = [wb.measure(one, only=["same"], chance=False) for one in (sample, clean)]
    >>> report = wb.changes(*both)
    >>> report["same"][0].details["paired"]
    'words'
    """
    sides = [_rows_of("old", old), _rows_of("new", new)]
    across = one_subject_each(*sides)
    before, after = keyed(*sides, across=across)
    matched = {key: (before[key], as_measured(after[key])) for key in after if key in before}
    if not matched:
        raise WordbiasError(
            f"changes: the results have no value in common: {_subjects(sides[0])} and "
            f"{_subjects(sides[1])}; give two results of one command, of the same inputs or of one "
            "input each"
        )
    pairs = with_changes(matched)
    rows = [row for _, row in pairs]
    alone = len(before) + len(after) - 2 * len(matched)
    notes = [f"{how_many(alone, 'value')} that only one of the results has"] if alone else []
    if unpaired := sum(row.details.get("paired") == INDEPENDENT for row in rows):
        notes.append(
            f"{how_many(unpaired, 'change')} not paired: the values did not draw the same items, "
            "or the results lack their draws (JSON has them, CSV and JSON lines do not). The "
            "interval is that of two independent values"
        )
    inputs = {
        name: {"path": os.fspath(source)}
        for name, source in (("old", old), ("new", new))
        if not isinstance(source, Report)
    }
    return Report(
        inputs=inputs,
        rows=rows,
        tables=[_table(pairs, _title(*sides) if across else "Changes")],
        notes=notes,
        picture=lambda _, ax: forest_plot(Report("changes", rows=_old_and_new(pairs)), ax),
    )


def _old_and_new(pairs: Sequence[Pair]) -> list[Row]:
    """Return the values of both results for a figure, which tells them apart by their subjects."""
    return [
        replace(row, subject=f"{row.subject} ({when})")
        for pair in pairs
        for row, when in zip(pair, ("old", "new"), strict=True)
    ]


def _rows_of(name: str, source: str | os.PathLike[str] | Report) -> Sequence[Row]:
    return source.rows if isinstance(source, Report) else read_rows(Path(path_named(name, source)))


def _subjects(rows: Iterable[Row]) -> str:
    return ", ".join(dict.fromkeys(row.subject for row in rows)) or "none"


def _title(before: Sequence[Row], after: Sequence[Row]) -> str:
    old, new = before[0].subject, after[0].subject
    return "Changes" if old == new else f"Changes from {old} to {new}"


def _table(pairs: Sequence[Pair], title: str) -> Table:
    rows = [row for _, row in pairs]
    names = {id(row): name for row, name in zip(rows, _names(rows), strict=True)}
    old = {id(after): before for before, after in pairs}

    def verdict(row: Row) -> str:
        if row.value is None:
            return ""
        return verdicts.change(old[id(row)].to_dict(), row.to_dict())

    columns = values(("before", cells.detail("before")), ("after", cells.value))
    columns += values(
        ("change, 95 %", cells.change), ("", verdict), ("paired", cells.detail("paired"))
    )
    has_paired = any("paired" in row.details for row in rows)
    note = "paired: what both results have drawn again" if has_paired else ""
    return pivot(title, rows, lambda row: names[id(row)], columns, note)


def _names(rows: Sequence[Row]) -> list[str]:
    """Return a name for each row: its measure, its set, and what tells it from others of these."""
    flat_rows = [flat(row.to_dict()) for row in rows]
    names: list[tuple[str, ...]] = [
        (short_title(row.measure), text_of(row.details.get("set"))) for row in rows
    ]
    texts = dict.fromkeys(key for row in rows for key, _ in texts_of(row))
    for keys in ([key for key in KEYS if key not in ("measure", "set")], [*texts]):
        alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for name, own in zip(names, flat_rows, strict=True):
            alike.setdefault(name, []).append(own)
        names = [
            (*name, *(_named(key, own.get(key)) for key in keys if _differ(alike[name], key)))
            for name, own in zip(names, flat_rows, strict=True)
        ]
    return [", ".join(filter(None, name)) for name in names]


def _named(key: str, detail: Any) -> str:
    return f"{key} {detail}" if key in _NUMBERED and detail is not None else text_of(detail)


def _differ(rows: Iterable[Mapping[str, Any]], key: str) -> bool:
    return len({text_of(row.get(key)) for row in rows}) > 1
