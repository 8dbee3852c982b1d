"""The best settings against the base and random removals: by items, heads and redrawn pairs.

S and D are measured on triples, η on occupations. All models are measured on the same ones, so
differences are paired: a bootstrap sample draws the same items for both. Several heads, trained
from several seeds, are paired by head.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias import cells
from wordbias.contextual.table7 import BASE, SENT_DEBIAS
from wordbias.draws import LISTS, NULL, by_bootstrap, seed_keys, spread_keys, with_holm
from wordbias.measures.registry import MEASURES
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.results import Row
from wordbias.statistics import TIE, Array, p_of_null, resamples
from wordbias.stereotypes.scores import Settings, extremes, tail_mean

_ENTRIES = {
    "strength": MEASURES["strength"],
    "distance": MEASURES["distance"],
    "fairness": MEASURES["nli-fairness"],
}
UNITS = {"strength": "triples", "distance": "triples", "fairness": "occupations"}
"""What the intervals of each measure draw again."""
_Rows = NDArray[np.intp]


class Items(NamedTuple):
    """Values of a model; its measures are their means."""

    strength: Array  # s and d of each triple, shape `(n,)`; see `wordbias.stereotypes.scores`
    distance: Array
    # for each occupation the share of pairs predicted neutral and whether the prediction is the
    # same for both genders, shape `(o,)`; see `wordbias.contextual.nli_fairness`
    neutral: Array
    parity: Array


def drawn_file(file: Path, kind: str) -> Path:
    """Return the store of random removals, or of redraws, beside that of all settings."""
    return file.with_name(f"{file.name.removesuffix('.part')}.{kind}.part")


def measured(items: Items, measure: str, extreme: int, rows: _Rows) -> Array:
    """Return S, D or η of samples of items, (b,), whose row numbers are (b, n)."""
    if measure == "fairness":
        fairness: Array = items.neutral[rows].mean(-1) * items.parity[rows].mean(-1)
        return fairness
    values = items.strength if measure == "strength" else items.distance
    return tail_mean(values[rows], extreme)


def comparison_rows(
    names: Sequence[str],
    heads: Sequence[Mapping[str, Items]],
    nulls: Sequence[Mapping[str, Sequence[Items]]],
    subjects: tuple[str, str],
    settings: Settings,
    seeds: Sequence[int] = (),
    lists: Sequence[Mapping[str, Sequence[Items]]] = (),
) -> list[Row]:
    """Compare settings with the base, with random removals, and with redrawn pairs."""
    # `reached` counts the draws that are as good as the setting or better; `p` is the chance of
    # that if its directions are no better than random ones. For several heads all are means, with
    # Student's t interval over heads and the exact sign-flip `p`. Items are not drawn again in
    # redraws.
    rows: list[Row] = []
    for measure in _ENTRIES:
        n = len(heads[0][BASE].neutral if measure == "fairness" else heads[0][BASE].strength)
        size = 0 if measure == "fairness" else extremes(n, settings.share, settings.rounding)
        drawn = np.concatenate(list(resamples(n, _generator(settings), settings.samples)))
        whole = np.arange(n)[None]

        def both(
            items: Items,
            measure: str = measure,
            size: int = size,
            whole: _Rows = whole,
            drawn: _Rows = drawn,
        ) -> tuple[float, Array]:
            value = measured(items, measure, size, whole)
            return float(value[0]), measured(items, measure, size, drawn)

        subject = subjects[1] if measure == "fairness" else subjects[0]
        common: dict[str, Any] = {"n": n, "seed": settings.seed}
        if seeds:
            common["heads"] = list(seeds)
        measure_rows = _of_measure(measure, names, heads, nulls, both, subject, common, settings)
        rows += (
            _with_lists(measure_rows, heads, lists, measure, size, whole) if lists else measure_rows
        )
    return rows


_Both = Callable[[Items], tuple[float, Array]]
"""Function from items to a measure, and its bootstrap values."""


def _of_measure(
    measure: str,
    names: Sequence[str],
    heads: Sequence[Mapping[str, Items]],
    nulls: Sequence[Mapping[str, Sequence[Items]]],
    both: _Both,
    subject: str,
    common: Mapping[str, Any],
    settings: Settings,
) -> list[Row]:
    """Return the rows of one measure: differences from the base, nulls, and differences of them."""
    base = _stacked([both(head[BASE]) for head in heads])
    against_base, of_nulls, against_null = list[Row](), list[Row](), list[Row]()
    for name in names:
        about = {"setting": name, "level": name.rpartition("-")[0], **common}
        if name == SENT_DEBIAS:
            about["level"] = name
        own = _stacked([both(head[name]) for head in heads])
        value = float(own[0].mean())
        against_base.append(_change(measure, subject, own, base, {**about, "against": BASE}, value))
        if not nulls:
            continue
        each = [_stacked([both(items) for items in head[name]]) for head in nulls]
        values, samples = (np.stack(part) for part in zip(*each, strict=True))  # (H, K), (H, K, b)
        of_nulls.append(_null(measure, subject, values.mean(0), value, about))
        k = values.shape[1]
        draws = np.random.default_rng([settings.seed, 1])  # whatever items are drawn
        times = draws.multinomial(k, np.full(k, 1 / k), samples.shape[-1])  # (b, K)
        mean = values.mean(1), np.einsum("hkb,bk->hb", samples, times) / k
        detail = {**about, "against": NULL, "draws": k}
        against_null.append(_change(measure, subject, own, mean, detail, value))
    return [*with_holm(against_base), *of_nulls, *with_holm(against_null)]


def _with_lists(
    rows: Sequence[Row],
    heads: Sequence[Mapping[str, Items]],
    lists: Sequence[Mapping[str, Sequence[Items]]],
    measure: str,
    size: int,
    whole: _Rows,
) -> list[Row]:
    """Add to the changes against the base those of redraws, means over the heads."""

    def value(items: Items) -> float:
        return float(measured(items, measure, size, whole)[0])

    base = np.mean([value(head[BASE]) for head in heads])
    extended = []
    for row in rows:
        if row.details.get("against") == BASE:
            name = row.details["setting"]
            drawn = np.mean([[value(items) for items in head[name]] for head in lists], axis=0)
            row = replace(row, details={**row.details, **spread_keys(LISTS, drawn - base)})
        extended.append(row)
    return extended


def _generator(settings: Settings) -> np.random.Generator:
    return np.random.default_rng(settings.seed)


def _stacked(pairs: Sequence[tuple[float, Array]]) -> tuple[Array, Array]:
    values, samples = zip(*pairs, strict=True)
    return np.array(values), np.stack(samples)


def _change(
    measure: str,
    subject: str,
    own: tuple[Array, Array],
    other: tuple[Array, Array],
    about: Mapping[str, Any],
    value: float,
) -> Row:
    """Return the difference of a setting from another arm, of the heads' values ``(H,)``."""
    d = own[0] - other[0]
    details = {**about, "neutral": 0, "better": _ENTRIES[measure].better, "setting_value": value}
    details |= by_bootstrap((own[1] - other[1]).mean(0), UNITS[measure])
    over_heads = seed_keys(d)
    for end in ("low", "high") if over_heads else ():
        details[f"heads_{end}"] = over_heads.pop(end)
    details |= {key: over_heads[key] for key in over_heads if key not in ("interval", "unit")}
    return Row(subject, f"{measure}-change", float(d.mean()), details)


def _null(measure: str, subject: str, draws: Array, value: float, about: Mapping[str, Any]) -> Row:
    """Return the null of a setting: the mean of its draws, and how many reach the setting."""
    sign = 1 if _ENTRIES[measure].better == "higher" else -1
    least = sign * value - TIE  # means over heads that are equal differ by rounding
    details = {
        **about,
        "draws": len(draws),
        **by_bootstrap(draws, "removals"),
        "setting_value": value,
        "reached": int((sign * draws >= least).sum()),
        "p": p_of_null(sign * draws, least),
        **_ENTRIES[measure].ideal,
    }
    return Row(subject, f"null-{measure}", float(draws.mean()), details)


# Tables


def comparison_tables(rows: Sequence[Row]) -> list[Table]:
    """Return a table of each measure, and of several heads one with the intervals over heads."""
    tables = []
    for measure, known in _ENTRIES.items():
        changes = [row for row in rows if row.measure == f"{measure}-change"]
        nulls = [row for row in rows if row.measure == f"null-{measure}"]
        if not changes:
            continue
        tables.append(_items_table(known.symbol, changes, nulls))
        if any("p" in row.details for row in changes):
            tables.append(_heads_table(known.symbol, changes))
    drawn = [row for row in rows if cells.has(row, LISTS)]
    return [*tables, *([_lists_table(drawn)] if drawn else [])]


def _lists_table(rows: Sequence[Row]) -> Table:
    """Make a line for each change against the base, with both its intervals."""

    def name(row: Row) -> str:
        symbol = _ENTRIES[row.measure.removesuffix("-change")].symbol
        return f"{symbol}, {row.details['setting']}"

    title = f"over {how_many(rows[0].details['lists_draws'], 'redraw')} of the pairs"
    columns = values("− base", ("95 % over items", cells.interval))
    columns += values(("95 % over pairs", cells.interval_of(LISTS)))
    note = (
        "over pairs: the settings are fitted to the same number of pairs of sentences, drawn again "
        "with replacement; the items stay. The interval covers the choice of pairs of this kind, "
        "not other kinds of pairs."
    )
    return pivot(f"Change from the base, and {title}", rows, name, columns, note)


def _items_table(symbol: str, changes: Sequence[Row], nulls: Sequence[Row]) -> Table:
    title, note = f"{symbol} of the best settings, against the base", "95 %: bootstrap over items."
    columns = values((symbol, cells.detail("setting_value")), "− base", "95 %", against=BASE)
    if nulls:
        title += " and against random directions"
        columns += values("null", ("95 % of draws", cells.interval), measure=nulls[0].measure)
        columns += values("− null", "95 %", against=NULL)
        columns += values(("reach", cells.detail("reached")), measure=nulls[0].measure)
        note = (
            f"null: mean of {nulls[0].details['draws']} removals along the same number of random "
            "directions, with the same weights; reach: how many of these are as good as the "
            "setting, or better. 95 %: bootstrap over items, and over these draws."
        )
    return pivot(title, [*changes, *nulls], {"setting": "setting"}, columns, note)


def _heads_table(symbol: str, changes: Sequence[Row]) -> Table:
    columns = []
    for against in (BASE, NULL):
        heads = (
            f"− {against.lower()}",
            ("95 % over heads", cells.interval_of("heads")),
            "p",
            "Holm",
        )
        columns += values(*heads, against=against)
    n = len(changes[0].details["heads"])
    title = f"{symbol} of the best settings, paired over {n} heads"
    note = (
        f"95 %: Student's t. p: exact sign-flip test, at least {2 ** (1 - n):.2g} with this number "
        "of heads; Holm: corrected for the number of settings."
    )
    return pivot(title, changes, {"setting": "setting"}, columns, note)
