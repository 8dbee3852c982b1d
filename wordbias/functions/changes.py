"""Changes between two results: value by value, paired where the same items were drawn."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wordbias import cells, verdicts
from wordbias.calls import public
from wordbias.draws import SAMPLE, change_keys, paired, seed_keys, with_holm
from wordbias.errors import WordbiasError
from wordbias.measures.registry import short_title
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.rows import IDENTITY, read_rows

_KEYS = tuple(key for key in IDENTITY if key != "original")
"""Keys that tell values apart; the name of an original may differ as that of its subject."""
INDEPENDENT = "independent"
Key = tuple[Any, ...]


@public
def changes(
    old: str | os.PathLike[str] | Report,
    new: str | os.PathLike[str] | Report,
) -> Report:
    """Measure how each value of one result differs from the same value of another.

    Values are the same if measure, set, setting, group, word and layer are; the names of the
    inputs may differ if each result has one. Where both results have drawn the same items again,
    the 95 % interval of a change is paired: of the differences draw by draw. Elsewhere it is that
    of two independent values, which is wider, and said. Values of several seeds are paired by the
    seed.

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
        ``change_high``, and ``paired``: what was drawn again in both, ``seeds``, or
        ``independent``; over seeds also the sign-flip ``p``, and ``p_holm`` over all rows.

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
    found = [_rows_of(one) for one in (old, new)]
    across = _one_subject_each(*found)
    before, after = ({_key(row, i, across): row for row, i in _numbered(rows)} for rows in found)
    matched = {key: (before[key], after[key]) for key in after if key in before}
    if not matched:
        raise WordbiasError(
            f"changes: the results have no value in common: {_subjects(found[0])} and "
            f"{_subjects(found[1])}; give two results of one command, of the same inputs or of one "
            "input each"
        )
    rows = with_holm([*_over_seeds(matched), *_of_single(matched)], lambda row: row.measure)
    alone = len(before) + len(after) - 2 * len(matched)
    notes = [f"{how_many(alone, 'value')} that only one of the results has"] if alone else []
    if unpaired := sum(row.details["paired"] == INDEPENDENT for row in rows):
        notes.append(
            f"{how_many(unpaired, 'change')} of values that did not draw the same items, or of "
            "results without their draws (JSON has them, CSV and JSON lines do not): the interval "
            "is that of two independent values"
        )
    inputs = {
        name: {"path": os.fspath(one)}
        for name, one in (("old", old), ("new", new))
        if not isinstance(one, Report)
    }
    return Report(inputs=inputs, rows=rows, tables=[_table(rows)], notes=notes)


def _rows_of(one: str | os.PathLike[str] | Report) -> Sequence[Row]:
    return one.rows if isinstance(one, Report) else read_rows(Path(os.fspath(one)))


def _one_subject_each(before: Iterable[Row], after: Iterable[Row]) -> bool:
    """Return whether two results are about one input each, of whatever name."""
    return all(len({row.subject for row in rows}) == 1 for rows in (before, after))


def _subjects(rows: Iterable[Row]) -> str:
    return ", ".join(dict.fromkeys(row.subject for row in rows)) or "none"


def _numbered(rows: Iterable[Row]) -> Iterable[tuple[Row, int]]:
    """Yield rows with the number of those before that have the same keys."""
    counts: Counter[Key] = Counter()
    for row in rows:
        key = _key(row, 0, across=False)
        yield row, counts[key]
        counts[key] += 1


def _key(row: Row, place: int, across: bool) -> Key:
    found = {**row.details, "subject": "" if across else row.subject, "measure": row.measure}
    return (*(str(found.get(key, "")) for key in _KEYS), place)


def _of_single(matched: Mapping[Key, tuple[Row, Row]]) -> list[Row]:
    """Return the changes of values that are not paired by a seed."""
    rows = []
    for before, after in matched.values():
        draws = before.draws.get(SAMPLE), after.draws.get(SAMPLE)
        differences = paired(*draws, certain=True)
        how = INDEPENDENT if differences is None or draws[0] is None else draws[0].unit
        about = {
            "before": before.value,
            **change_keys(before, after, independent=True, certain=True),
        }
        rows.append(replace(after, details={**after.details, **about, "paired": how}))
    return rows


_SEED = _KEYS.index("seed")


def _over_seeds(matched: Mapping[Key, tuple[Row, Row]]) -> list[Row]:
    """Return the mean changes of values that were measured under several seeds."""
    groups: dict[Key, list[tuple[Row, Row]]] = {}
    for key, rows in matched.items():
        if all(row.value is not None for row in rows):
            groups.setdefault((*key[:_SEED], *key[_SEED + 1 :]), []).append(rows)
    means = []
    for pairs in groups.values():
        if len(pairs) < 2:
            continue
        d = [float(after.value or 0) - float(before.value or 0) for before, after in pairs]
        found = seed_keys(d)
        ends = {f"change_{end}": found.pop(end) for end in ("low", "high")}
        first = pairs[0][1]
        kept = {key: first.details[key] for key in first.details if key in (*IDENTITY, "better")}
        about = {
            "before": sum(float(one.value or 0) for one, _ in pairs) / len(pairs),
            "change": sum(d) / len(d),
            **ends,
            **{key: found[key] for key in ("sd", "p", "excluded", "detectable")},
            "n": len(d),
            "paired": "seeds",
        }
        value = sum(float(one.value or 0) for _, one in pairs) / len(pairs)
        kept.pop("seed", None)
        means.append(Row(first.subject, first.measure, value, {**kept, **about}))
    return means


def _table(rows: Sequence[Row]) -> Table:
    several = len({row.subject for row in rows}) > 1

    def name(row: Row) -> str:
        keys = [key for key in _KEYS if key in row.details]
        parts = [short_title(row.measure), *(str(row.details[key]) for key in keys)]
        return ", ".join(filter(None, [*parts, row.subject if several else ""]))

    def verdict(row: Row) -> str:
        old = {**row.to_dict(), "value": row.details["before"]}
        return verdicts.change(old, row.to_dict()) if row.value is not None else ""

    columns = values(("before", cells.detail("before")), ("after", cells.value))
    columns += values(
        ("change, 95 %", cells.change), ("", verdict), ("paired", cells.detail("paired"))
    )
    return pivot("Changes", rows, name, columns, "paired: what both results have drawn again")
