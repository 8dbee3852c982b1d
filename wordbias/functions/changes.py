"""Changes between two results: value by value, paired where the same items were drawn."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wordbias import cells, verdicts
from wordbias.arguments import path_named
from wordbias.calls import public
from wordbias.draws import SAMPLE, change_keys, seed_change, with_holm
from wordbias.errors import WordbiasError
from wordbias.measures.registry import short_title
from wordbias.pages.forest_plot import forest_plot
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.results import Row, flat
from wordbias.rows import IDENTITY, read_rows

_KEYS = tuple(key for key in IDENTITY if key != "original")
"""Keys that tell values apart; the name of an original may differ as that of its subject."""
_SAID = frozenset({"original", "better", "interval", "unit", "reason", "paired"})
"""Texts that say something of a value, and do not tell it from another one."""
_NUMBERED = frozenset({"layer", "component", "seed"})
INDEPENDENT = "independent"
Key = tuple[Any, ...]


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
    found = [_rows_of("old", old), _rows_of("new", new)]
    across = _one_subject_each(*found)
    before, after = _keyed(*found, across=across)
    matched = {key: (before[key], _as_measured(after[key])) for key in after if key in before}
    if not matched:
        raise WordbiasError(
            f"changes: the results have no value in common: {_subjects(found[0])} and "
            f"{_subjects(found[1])}; give two results of one command, of the same inputs or of one "
            "input each"
        )
    single = zip((old for old, _ in matched.values()), _of_single(matched), strict=True)
    pairs = [*_over_seeds(matched), *single]
    rows = [row for _, row in pairs]
    alone = len(before) + len(after) - 2 * len(matched)
    notes = [f"{how_many(alone, 'value')} that only one of the results has"] if alone else []
    if unpaired := sum(row.details.get("paired") == INDEPENDENT for row in rows):
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
    return Report(
        inputs=inputs,
        rows=rows,
        tables=[_table(pairs, _title(*found) if across else "Changes")],
        notes=notes,
        picture=lambda _, ax: forest_plot(Report("changes", rows=_both(pairs)), ax),
    )


def _both(pairs: Sequence[Pair]) -> list[Row]:
    """Return the values of both results for a figure, which tells them apart by their subjects."""
    return [
        replace(row, subject=f"{row.subject} ({when})")
        for pair in pairs
        for row, when in zip(pair, ("old", "new"), strict=True)
    ]


def _rows_of(name: str, one: str | os.PathLike[str] | Report) -> Sequence[Row]:
    return one.rows if isinstance(one, Report) else read_rows(Path(path_named(name, one)))


def _one_subject_each(before: Iterable[Row], after: Iterable[Row]) -> bool:
    """Return whether two results are about one input each, of whatever name."""
    return all(len({row.subject for row in rows}) == 1 for rows in (before, after))


def _subjects(rows: Iterable[Row]) -> str:
    return ", ".join(dict.fromkeys(row.subject for row in rows)) or "none"


def _keyed(
    before: Sequence[Row], after: Sequence[Row], *, across: bool
) -> tuple[dict[Key, Row], dict[Key, Row]]:
    """Return the rows of two results by what tells them apart.

    Where the keys of every report do not, all texts of the rows do, and then their order.
    """
    results = [[(_key(row, across), row) for row in rows] for rows in (before, after)]
    several = {key for rows in results for key, n in Counter(k for k, _ in rows).items() if n > 1}
    found: list[dict[Key, Row]] = []
    for rows in results:
        counts: Counter[Key] = Counter()
        by_key = {}
        for key, row in rows:
            whole = (*key, _texts(row) if key in several else ())
            by_key[(*whole, counts[whole])] = row
            counts[whole] += 1
        found.append(by_key)
    return found[0], found[1]


def _key(row: Row, across: bool) -> Key:
    found = flat({**row.to_dict(), **({"subject": ""} if across else {})})
    return tuple(_text(found.get(key)) for key in _KEYS)


def _text(found: Any) -> str:
    return "" if found is None else str(found)


def _texts(row: Row) -> tuple[tuple[str, str], ...]:
    """Return the names of a row that are none of every report's."""
    found = flat(row.details)
    return tuple(
        (key, text)
        for key, text in sorted(found.items())
        if isinstance(text, str) and text and key not in (*_KEYS, *_SAID)
    )


Pair = tuple[Row, Row]
"""A row before, and the row after with its change."""


def _of_single(matched: Mapping[Key, Pair]) -> list[Row]:
    """Return the changes of values that are not paired by a seed."""
    rows = []
    for before, after in matched.values():
        changed = change_keys(before, after, certain=True)
        if "change_low" in changed:
            changed["paired"] = after.draws[SAMPLE].unit
        else:
            changed |= change_keys(before, after, independent=True, certain=True)
            changed |= {"paired": INDEPENDENT} if "change_low" in changed else {}
        about = {"before": before.value, **changed}
        rows.append(replace(after, details={**after.details, **about}))
    return rows


def _without(row: Row, keys: Container[str]) -> Row:
    details = {key: found for key, found in row.details.items() if key not in keys}
    return replace(row, details=details)


def _as_measured(row: Row) -> Row:
    """Return a row without the changes inside its result, as an audit has them."""
    inside = ("change", "null", "unseen")
    return _without(row, {"before", *(key for key in row.details if key.startswith(inside))})


_SEED = _KEYS.index("seed")


def _over_seeds(matched: Mapping[Key, Pair]) -> list[Pair]:
    """Return the mean changes of values that were measured under several seeds."""
    groups: dict[Key, list[Pair]] = {}
    for key, rows in matched.items():
        if all(row.value is not None for row in rows):
            groups.setdefault((*key[:_SEED], *key[_SEED + 1 :]), []).append(rows)
    means = []
    for pairs in groups.values():
        if len(pairs) < 2:
            continue
        old, new = (_mean(rows) for rows in zip(*pairs, strict=True))
        d = [float(after.value or 0) - float(before.value or 0) for before, after in pairs]
        about = {"before": old.value, **seed_change(d), "n": len(d), "paired": "seeds"}
        means.append((old, replace(new, details={**new.details, **about})))
    tested = with_holm([row for _, row in means], lambda row: row.measure)
    return [(old, row) for (old, _), row in zip(means, tested, strict=True)]


def _mean(rows: Sequence[Row]) -> Row:
    """Return the mean over seeds, with what tells it apart."""
    first, kept = rows[0], (*_KEYS, "better", "neutral")
    names = {key for key, _ in _texts(first)} | {*kept} - {"seed"}
    details = {key: value for key, value in first.details.items() if key in names}
    return replace(
        first,
        value=sum(float(row.value or 0) for row in rows) / len(rows),
        details=details,
        draws={},
    )


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
    some = any("paired" in row.details for row in rows)
    note = "paired: what both results have drawn again" if some else ""
    return pivot(title, rows, lambda row: names[id(row)], columns, note)


def _names(rows: Sequence[Row]) -> list[str]:
    """Return a name for each row: its measure, its set, and what tells it from others of these."""
    found = [flat(row.to_dict()) for row in rows]
    names: list[tuple[str, ...]] = [
        (short_title(row.measure), _text(row.details.get("set"))) for row in rows
    ]
    texts = dict.fromkeys(key for row in rows for key, _ in _texts(row))
    for keys in ([key for key in _KEYS if key not in ("measure", "set")], [*texts]):
        alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for name, own in zip(names, found, strict=True):
            alike.setdefault(name, []).append(own)
        names = [
            (*name, *(_named(key, own.get(key)) for key in keys if _differ(alike[name], key)))
            for name, own in zip(names, found, strict=True)
        ]
    return [", ".join(filter(None, name)) for name in names]


def _named(key: str, found: Any) -> str:
    return f"{key} {found}" if key in _NUMBERED and found is not None else _text(found)


def _differ(rows: Iterable[Mapping[str, Any]], key: str) -> bool:
    return len({_text(row.get(key)) for row in rows}) > 1
