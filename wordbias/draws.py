"""What draws of a value say: its interval, its chance level, and its change.

Every key of a row about its draws is made here. Draws of other units or items are never paired.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.results import Draws, Row
from wordbias.statistics import (
    TIE,
    Interval,
    detectable_effect,
    excluded_effect,
    holm,
    is_constant,
    mean_interval,
    normal_interval,
    p_of_null,
    percentile_interval,
    sign_flip_p,
    wilson,
)

Array = NDArray[np.float64]
SAMPLE, CHANCE, NULL, LISTS = "sample", "chance", "null", "lists"
"""Kinds of draws: of the items that were measured, along axes that mean nothing, by random removals
(further ones in `wordbias.methods.beside_null.random_removals`), with other word lists."""
CONTROLS = (NULL, LISTS)
"""Kinds of what is drawn in place of a method, to compare it with."""


def control_name(kind: str, draw: int) -> str:
    """Return the name of a column that is drawn, such as ``null-0``; see `control_of`."""
    return f"{kind}-{draw}"


def control_of(name: str) -> tuple[str, int] | None:
    """Return the kind and number of a column that is drawn; None of any other."""
    kind, _, draw = name.partition("-")
    return (kind, int(draw)) if kind in CONTROLS and draw.isdigit() else None


BOOTSTRAP, WILSON, STUDENT = "bootstrap", "Wilson", "Student's t"
NORMAL, FISHER = "normal", "Fisher's z"
"""Kinds of intervals, these and the three above."""
ENDS = ("low", "high")
"""Keys of an interval."""


# Intervals


def interval_keys(ends: Interval | None, kind: str, unit: str) -> dict[str, Any]:
    """Return an interval as keys of a row, with its kind and its unit (words, pairs, …)."""
    return {} if ends is None else {**ends._asdict(), "interval": kind, "unit": unit}


def by_bootstrap(samples: Array | None, unit: str) -> dict[str, Any]:
    """Return the middle 95 % of bootstrap values; empty without two defined values."""
    return interval_keys(middle(samples), BOOTSTRAP, unit)


def by_wilson(share: float, n: int, unit: str) -> dict[str, Any]:
    """Return Wilson's interval of a share of `n`."""
    return interval_keys(wilson(share, n), WILSON, unit)


def by_student(values: ArrayLike, unit: str) -> dict[str, Any]:
    """Return the interval of the mean of a few independent values; empty for fewer than two."""
    return interval_keys(mean_interval(values), STUDENT, unit)


def by_normal(
    estimate: float, error: float, unit: str, within: tuple[float, float] | None = None
) -> dict[str, Any]:
    """Return the interval of a normal estimate, cut to the range that its values can have."""
    low, high = normal_interval(estimate, error)
    if within is not None:
        low, high = max(within[0], low), min(within[1], high)
    return interval_keys(Interval(low, high), NORMAL, unit)


def of_share(share: float, samples: Array, n: int, unit: str) -> dict[str, Any]:
    """Return the interval of a share of items that lie in `n` units, such as templates."""
    # It is that of the bootstrap over units; where all units have the same share, which no draw can
    # change, Wilson's of that number of units.
    constant = is_constant(samples)
    return by_wilson(share, n, unit) if constant else by_bootstrap(samples, unit)


def drawn(values: Array | None, unit: str, items: str = "", kind: str = SAMPLE) -> dict[str, Draws]:
    """Return draws for `Row.draws`; empty without any."""
    return {} if values is None else {kind: Draws(values, unit, items)}


def sampled_row(
    subject: str,
    measure: str,
    value: float,
    details: Mapping[str, Any],
    samples: Array | None,
    unit: str,
) -> Row:
    """Return a row with its bootstrap values, whose interval follows the details."""
    about = {**details, **by_bootstrap(samples, unit)}
    return Row(subject, measure, value, about, drawn(samples, unit))


def with_items(rows: Sequence[Row], *parts: Any) -> list[Row]:
    """Return rows whose draws of items that were not named are of these; see `items_of`."""
    items = items_of(*parts)
    return [
        replace(
            row,
            draws={
                kind: row_draws if row_draws.items else replace(row_draws, items=items)
                for kind, row_draws in row.draws.items()
            },
        )
        for row in rows
    ]


def items_of(*parts: Any) -> str:
    """Return a hash of the items that are drawn from: arrays, sequences of texts, and the seed."""
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(repr(part).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def middle(samples: Array | None) -> Interval | None:
    """Return the middle 95 % of the defined draws; None of fewer than two."""
    known = np.zeros(0) if samples is None else samples[np.isfinite(samples)]
    return percentile_interval(known) if len(known) > 1 else None


# Other draws of one value


def spread_keys(kind: str, values: Array) -> dict[str, Any]:
    """Return the number of defined draws of a kind, and their middle 95 %; empty without any."""
    # The keys begin with the kind: `lists_draws`, `lists_low`, `lists_high`.
    known = values[np.isfinite(values)]
    ends = middle(known)
    keys = {} if ends is None else {f"{kind}_low": ends.low, f"{kind}_high": ends.high}
    return {f"{kind}_draws": len(known), **keys} if len(known) else {}


def chance_keys(
    value: float | None, draws: ArrayLike, better: str, *, judged: bool = True
) -> dict[str, Any]:
    """Return the chance level of a value, and whether the value is beyond it."""
    # Where lower is better (`better`), only a value above the range is beyond chance; else also one
    # below.
    all_draws = np.asarray(draws, np.float64)
    known = all_draws[np.isfinite(all_draws)]
    if not len(known):
        return {}
    low, high = float(known.min()), float(known.max())
    keys: dict[str, Any] = {
        "chance": float(known.mean()),
        "chance_low": low,
        "chance_high": high,
        "chance_draws": len(known),
    }
    if judged and value is not None:
        keys["beyond_chance"] = bool(value > high or (value < low and better != "lower"))
    return keys


def null_keys(kind: str, value: float, change: float, draws: Array) -> dict[str, Any]:
    """Return what random removals change, beside the change to a value by one that was fitted."""
    # The two-sided p is (1 + the number that are not smaller in size) / (1 + draws).
    sizes, size = np.abs(draws), abs(change)
    size -= TIE * (abs(value) + size)  # the same means in another order differ by rounding
    return {
        kind: float(draws.mean()),
        **spread_keys(kind, draws),
        f"{kind}_less": int((sizes < size).sum()),
        f"{kind}_p": p_of_null(sizes, size),
    }


# Changes


def change_keys(
    before: Row, after: Row, *, independent: bool = False, certain: bool = False
) -> dict[str, Any]:
    """Return what changed between two rows of one measure: the value, and its paired intervals."""
    # Paired draws have the same words, pairs or persons. Where they are not paired, `independent`
    # takes the interval of two independent values, from their intervals (Zou and Donner 2008),
    # which is wider where the two go together.
    if before.value is None or after.value is None:
        return {}
    keys: dict[str, Any] = {"change": after.value - before.value}
    for kind, name in ((SAMPLE, ""), (LISTS, LISTS)):
        ends = middle(paired(before.draws.get(kind), after.draws.get(kind), certain=certain))
        keys |= {} if ends is None else change_interval(ends, name)
    if independent and "change_low" not in keys and (ends := _independent(before, after)):
        keys |= change_interval(ends)
    return keys


def _independent(before: Row, after: Row) -> Interval | None:
    """Return the interval of the difference of two independent values; None without intervals."""
    numbers = [x for row in (before, after) for x in (row.value, *map(row.details.get, ENDS))]
    known = [float(x) for x in numbers if x is not None]
    if len(known) < len(numbers):
        return None
    a, a_low, a_high, b, b_low, b_high = known
    below, above = math.hypot(b - b_low, a_high - a), math.hypot(b_high - b, a - a_low)
    return Interval(b - a - below, b - a + above)


def change_interval(ends: Interval, kind: str = "") -> dict[str, float]:
    """Return the interval of a change for the details of a row; of a kind of draws, by its name."""
    prefix = f"change_{kind}" if kind else "change"
    return {f"{prefix}_low": ends.low, f"{prefix}_high": ends.high}


def paired(before: Draws | None, after: Draws | None, *, certain: bool = False) -> Array | None:
    """Return differences draw by draw, (b,); None unless both draw the same items."""
    # Items that are not `certain` are of results of two calls. Their draws are compared in single
    # precision, as JSON holds them: equal ones do not differ by rounding.
    if before is None or after is None or before.values.shape != after.values.shape:
        return None
    same = before.unit == after.unit and before.items == after.items
    if not same or (certain and not before.items):
        return None
    old, new = before.values, after.values
    if certain:
        old, new = (draws.astype("<f4").astype(np.float64) for draws in (old, new))
    return new - old


def with_change(before: Row, after: Row, **more: Any) -> Row:
    """Return the row after with its change; see `change_keys`."""
    return replace(after, details={**after.details, **more, **change_keys(before, after)})


def seed_keys(differences: ArrayLike) -> dict[str, Any]:
    """Return what differences (n,) between two arms under the same seeds say; of one, nothing."""
    # Student's t interval of the mean, sd, the exact sign-flip p, `excluded` and `detectable`.
    d = np.asarray(differences, np.float64)
    if len(d) < 2:
        return {}
    sd = float(d.std(ddof=1))
    return {
        **by_student(d, "seeds"),
        "sd": sd,
        "p": sign_flip_p(d),
        "excluded": excluded_effect(d),
        "detectable": detectable_effect(sd, len(d)),
    }


def seed_change(differences: ArrayLike) -> dict[str, Any]:
    """Return the change of a row that is a mean over seeds, from its differences seed by seed."""
    # See `seed_keys`.
    d = np.asarray(differences, np.float64)
    statistics = seed_keys(d)
    keys: dict[str, Any] = {"change": float(d.mean())}
    if statistics:
        keys |= change_interval(Interval(statistics["low"], statistics["high"]))
        keys |= {key: statistics[key] for key in ("p", "excluded", "detectable")}
    return keys


def with_holm(
    rows: Sequence[Row], together: Callable[[Row], str] = lambda row: row.subject
) -> list[Row]:
    """Add ``p_holm`` to the rows with a ``p``, and the number of ``tests`` it is corrected for."""
    # Tests with equal `together` are corrected together; by default those of one subject.
    tested: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        if row.details.get("p") is not None:
            tested.setdefault(together(row), []).append(i)
    done = list(rows)
    for places in tested.values():
        corrected = holm([rows[i].details["p"] for i in places]).tolist()
        for i, p in zip(places, corrected, strict=True):
            details = {**rows[i].details, "p_holm": p, "tests": len(places)}
            done[i] = replace(rows[i], details=details)
    return done


# Draws in a file


def stored_draws(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the draws of rows for JSON, in single precision, from which `with_draws` has them."""
    return [
        {
            "row": i,
            "kind": kind,
            "unit": row_draws.unit,
            "items": row_draws.items,
            "values": base64.b64encode(row_draws.values.astype("<f4").tobytes()).decode(),
        }
        for i, row in enumerate(rows)
        for kind, row_draws in row.draws.items()
    ]


def with_draws(rows: Sequence[Row], stored: Any) -> list[Row]:
    """Return rows with the draws that `stored_draws` wrote; what is damaged is left out."""
    restored = list(rows)
    for record in stored if isinstance(stored, list) else ():
        with suppress(TypeError, ValueError, KeyError, IndexError):
            values = np.frombuffer(base64.b64decode(record["values"]), "<f4").astype(np.float64)
            draws = Draws(values, str(record["unit"]), str(record["items"]))
            row = restored[record["row"]]
            restored[record["row"]] = replace(row, draws={**row.draws, str(record["kind"]): draws})
    return restored
