"""Means of a study, over the seeds of models and over the embeddings of an arm; correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from statistics import fmean
from typing import Any, TypeVar

import numpy as np

from wordbias.comparison import correlation_row
from wordbias.correlation import correlation
from wordbias.measures.panel import SELF
from wordbias.measures.registry import MEASURES, variant_of
from wordbias.nli.arms import ORDERS, Arm, in_order, is_one
from wordbias.results import Row, number

K = TypeVar("K")
ERROR = "mab-error"
QUALITY = ("similarity", "analogy")


# Models


def over_seeds(rows: Sequence[Row]) -> list[Row]:
    """Average the rows of each embedding over its models, those that have a value."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        key = (row.subject, row.measure, *(row.details.get(k) for k in ("set", "setting", "group")))
        groups.setdefault(key, []).append(row)
    return [_mean(group) for group in groups.values()]


def _mean(rows: Sequence[Row]) -> Row:
    keys = ("attribute", "set", "setting", "group", "n", "neutral", "better", "reason")
    first = next((row for row in rows if row.value is not None), rows[0])
    details = {key: first.details[key] for key in keys if key in first.details}
    defined = [row for row in rows if row.value is not None]
    if not defined:  # the embedding lacks words, whatever the seed
        none = {**details, "seeds": len(rows), "sd": None}
        return Row(rows[0].subject, rows[0].measure, None, none)
    values = np.array([row.value for row in defined], float)
    spread = float(values.std(ddof=1)) if len(values) > 1 else None
    more = {"seeds": len(values), "sd": spread}
    return Row(rows[0].subject, rows[0].measure, float(values.mean()), {**details, **more})


# Embeddings


_OF_ONE = ("low", "high", "interval", "unit")
"""Keys of a row that are about one embedding, not about a mean of several."""


def over_arms(
    arms: Mapping[str, Arm],
    keys: Mapping[str, Mapping[int, K]],
    rows: Mapping[K, Sequence[Row]],
    seeds: Sequence[int],
) -> list[Row]:
    """Return the rows of every arm: those of its one embedding, or means over its models."""
    # A draw, or a file of a seed, counts once for each of its models, as it does in the mean of E.
    # The intervals, which are about one of them, are left out; `sd` is the standard deviation over
    # them.
    arm_rows: list[Row] = []
    for name, by_seed in keys.items():
        different_keys = list(dict.fromkeys(by_seed.values()))
        if len(different_keys) == 1 and is_one(name, arms[name]):
            arm_rows += rows[different_keys[0]]
            continue
        places = [different_keys.index(by_seed[seed]) for seed in seeds]
        identified = [_identified(rows[key]) for key in different_keys]
        for identity in dict.fromkeys(
            identity for by_identity in identified for identity in by_identity
        ):
            same = [by_identity.get(identity) for by_identity in identified]
            arm_rows.append(_mean_of_draws(name, next(iter(arms)), places, same))
    return arm_rows


def _identified(rows: Sequence[Row]) -> dict[tuple[object, ...], Row]:
    """Return rows by measure, set and setting, those that have these in common by their order."""
    identified: dict[tuple[object, ...], Row] = {}
    for row in rows:
        identity = (row.measure, row.details.get("set"), row.details.get("setting"))
        identified[next((*identity, i) for i in count() if (*identity, i) not in identified)] = row
    return identified


def _mean_of_draws(arm: str, first: str, places: Sequence[int], rows: Sequence[Row | None]) -> Row:
    """Average one measure over the models of an arm, whose draws stand at places of `rows`."""
    # Where a draw has no value, as its embedding lacks words, the arm has none.
    there = [row for row in rows if row is not None]
    about = next((row for row in there if row.value is None), there[0])
    details = {key: about.details[key] for key in about.details if key not in _OF_ONE}
    details["draws"] = len(rows)
    if details.get("original", SELF) != SELF:  # one of those of the first arm
        details["original"] = first
    values = np.array([np.nan if row is None else row.value for row in rows], float)
    if not np.isfinite(values).all():
        details.setdefault("reason", "undefined: not for all seeds")
        return Row(arm, about.measure, None, details)
    if len(values) > 1:
        details["sd"] = float(values.std(ddof=1))
    return Row(arm, about.measure, float(values[places].mean()), details)


# Rows about bias, and correlations with E


def intrinsic_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows about bias in vectors: not those about models, nor about quality."""
    other = ("mab", "snli", *QUALITY)
    return [row for row in rows if row.measure.split("-")[0] not in other]


def settings(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return the marked sets, and the kinds of words in them, that have a value, in order."""
    details = (row.details for row in rows if row.measure == ERROR and row.value is not None)
    return list(dict.fromkeys((about["set"], about["setting"]) for about in details))


def mean_errors(rows: Sequence[Row]) -> dict[str, float]:
    """Return E of each embedding, averaged over seeds: of the first setting, nouns (Table 6)."""
    # For an attribute without nouns it is E of the names.
    averaged = [row for row in rows if row.measure == ERROR and "seeds" in row.details]
    first = settings(averaged)[:1]
    return {
        row.subject: row.value
        for row in averaged
        if row.value is not None and (row.details["set"], row.details["setting"]) in first
    }


def about_orders(rows: Sequence[Row], first: str) -> list[str]:
    """Say whether E with the weights of MISP in the right order is low among all orders."""
    error_by_name = mean_errors(rows)
    errors = [
        error_by_name[name]
        for name in (in_order(first, order) for order in ORDERS)
        if name in error_by_name
    ]
    if len(errors) < len(ORDERS):
        return []
    right, *others = errors
    rank, many = 1 + sum(other <= right for other in others), len(errors)
    return [
        f"MISP with its weights in {many} orders: E of the right one is {number(right, 3)}. "
        f"{rank - 1} of the {many - 1} others have as low an E or a lower one (mean "
        f"{number(fmean(others), 3)}, {number(min(others), 3)} to {number(max(others), 3)}). If "
        "the order does not matter, the right one has such a rank or a better one with "
        f"probability {number(rank / many, 2)}."
    ]


def correlations_with_error(rows: Sequence[Row], *, signed: bool = False) -> list[Row]:
    """Correlate E with every measure over the embeddings that have both (Pearson, Table 5)."""
    # Where a measure has a sign, and nearer to its neutral value is better, its size is correlated,
    # the distance from that value; `x` is then its name between bars. Dawkins (2021) correlates
    # signed MIDB: `signed` does that.
    error = mean_errors(rows)
    columns: dict[str, dict[str, float]] = {}
    for row in intrinsic_rows(rows):
        variant = variant_of(row.measure, row.details)
        name = f"{row.measure} ({variant})" if variant else row.measure
        value = np.nan if row.value is None else row.value
        known = MEASURES.get(row.measure)
        ideal = {**(known.ideal if known else {}), **row.details}  # a row without a value has none
        if not signed and ideal.get("better") == "neutral" and "neutral" in ideal:
            name, value = f"|{name}|", abs(value - ideal["neutral"])
        columns.setdefault(name, {})[row.subject] = value
    e = np.array(list(error.values()))
    correlations = []
    for name, values in columns.items():
        x = np.array([values.get(subject, np.nan) for subject in error])
        pearson = correlation((name, x), ("E", e), "pearson")
        correlations.append(correlation_row(pearson, (x, e), list(error), "pearson"))
    return correlations
