"""Changes between the rows of two results: which values are the same one, and how each differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wordbias.draws import SAMPLE, change_keys, seed_change, with_holm
from wordbias.results import Row, flat
from wordbias.rows import IDENTITY

KEYS = tuple(key for key in IDENTITY if key != "original")
"""Keys that tell values apart; the name of an original may differ as that of its subject."""
_SAID = frozenset({"original", "better", "interval", "unit", "reason", "paired"})
"""Texts that say something of a value, and do not tell it from another one."""
INDEPENDENT = "independent"
Key = tuple[Any, ...]
Pair = tuple[Row, Row]
"""A row before, and the row after with its change."""


def one_subject_each(before: Iterable[Row], after: Iterable[Row]) -> bool:
    """Return whether two results are about one input each, of whatever name."""
    return all(len({row.subject for row in rows}) == 1 for rows in (before, after))


def keyed(
    before: Sequence[Row], after: Sequence[Row], *, across: bool
) -> tuple[dict[Key, Row], dict[Key, Row]]:
    """Return the rows of two results by what tells them apart."""
    # Where the keys of every report do not, all texts of the rows do, and then their order.
    results = [[(_key(row, across), row) for row in rows] for rows in (before, after)]
    several = {key for rows in results for key, n in Counter(k for k, _ in rows).items() if n > 1}
    keyed_rows: list[dict[Key, Row]] = []
    for rows in results:
        counts: Counter[Key] = Counter()
        by_key = {}
        for key, row in rows:
            whole = (*key, texts_of(row) if key in several else ())
            by_key[(*whole, counts[whole])] = row
            counts[whole] += 1
        keyed_rows.append(by_key)
    return keyed_rows[0], keyed_rows[1]


def _key(row: Row, across: bool) -> Key:
    flattened = flat({**row.to_dict(), **({"subject": ""} if across else {})})
    return tuple(text_of(flattened.get(key)) for key in KEYS)


def text_of(name: Any) -> str:
    """Return a name as text; none as an empty one."""
    return "" if name is None else str(name)


def texts_of(row: Row) -> tuple[tuple[str, str], ...]:
    """Return the names of a row that are none of every report's."""
    details = flat(row.details)
    return tuple(
        (key, text)
        for key, text in sorted(details.items())
        if isinstance(text, str) and text and key not in (*KEYS, *_SAID)
    )


def with_changes(matched: Mapping[Key, Pair]) -> list[Pair]:
    """Return the pairs of `matched_rows` with changes; means over seeds are first, if any."""
    single = zip((old for old, _ in matched.values()), _of_single(matched), strict=True)
    return [*_over_seeds(matched), *single]


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
    details = {key: detail for key, detail in row.details.items() if key not in keys}
    return replace(row, details=details)


def as_measured(row: Row) -> Row:
    """Return a row without the changes inside its result, as an audit has them."""
    inside = ("change", "null", "unseen")
    return _without(row, {"before", *(key for key in row.details if key.startswith(inside))})


_SEED = KEYS.index("seed")


def unseeded(key: Key) -> Key:
    """Return what tells a row apart, other than its seed."""
    return (*key[:_SEED], *key[_SEED + 1 :])


def _over_seeds(matched: Mapping[Key, Pair]) -> list[Pair]:
    """Return the mean changes of values that were measured under several seeds."""
    groups: dict[Key, list[Pair]] = {}
    for key, rows in matched.items():
        if all(row.value is not None for row in rows):
            groups.setdefault(unseeded(key), []).append(rows)
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
    first, kept_keys = rows[0], (*KEYS, "better", "neutral")
    names = {key for key, _ in texts_of(first)} | {*kept_keys} - {"seed"}
    details = {key: value for key, value in first.details.items() if key in names}
    return replace(
        first,
        value=sum(float(row.value or 0) for row in rows) / len(rows),
        details=details,
        draws={},
    )
