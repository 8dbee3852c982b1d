"""CEAT's rows as tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wordbias.rendering import Table
from wordbias.results import Row, number
from wordbias.wordlists.queries import Query

FEW = 10
_SHOWN = 12
_MEDIUM, _LARGE = 0.5, 0.8
P_SHRINKS = (
    "p is no test of significance: its standard error, se, falls as 1/√draws, so that with draws "
    "enough any effect but 0 has p near 0 (or, one-sided and negative, near 1). Read the interval "
    "over sentences, which does not shrink."
)
CONVENTION = (
    "Effect sizes as of WEAT: neutral 0; positive: X goes with A, Y with B; beyond ±0.5 medium, "
    "beyond ±0.8 large. The interval is that of a bootstrap over the distinct sentences of every "
    "word; the words are fixed."
)


def effects_table(subject: str, rows: Sequence[Row], queries: Sequence[Query]) -> Table:
    """One line a query and layer: combined effect, its interval, words and sentences."""
    words = {query.name: _words(query) for query in queries}
    heads = ["X/Y × A/B", "effect", "95 %, sentences", "", "words", "sentences"]
    cells = [_effect_cells(row, words[row.details["set"]]) for row in rows]
    title = f"CEAT of {subject}{_one_layer(rows)}: combined effect sizes"
    return _with_places(rows, Table(title, heads, cells, _reasons(rows)))


def draws_table(rows: Sequence[Row]) -> Table:
    """One line a query and layer: how the draws spread, and what their number makes of p."""
    measured = [row for row in rows if row.value is not None]
    heads = ["draws", "mean", "sd", "middle 95 %", "above 0", "se", "p, one-sided", "two-sided"]
    cells = [_draw_cells(row.details) for row in measured]
    title = f"The draws{_one_layer(rows)}, and p of the random-effects model"
    return _with_places(measured, Table(title, heads, cells, P_SHRINKS))


def words_lines(rows: Sequence[Row]) -> list[str]:
    """Name for every query measured the words that are missing or have few sentences."""
    first: dict[str, Row] = {}
    for row in rows:
        first.setdefault(row.details["set"], row)
    found = {name: _few_words(row.details) for name, row in first.items()}
    return [f"{name}: {few}." for name, few in found.items() if few]


def _few_words(about: Mapping[str, Any]) -> str:
    left_out, kept = about.get("too_few", {}), about.get("sentences", {})
    missing = [word for words in about.get("missing", {}).values() for word in words]
    none = [word for word in missing if word not in left_out]
    few = {word: count for word, count in kept.items() if count < FEW}
    parts = [f"no sentence has {_listed(none)}"] * bool(none)
    parts += [f"left out, too few have {_counted(left_out)}"] * bool(left_out)
    parts += [f"fewer than {FEW} sentences have {_counted(few)}"] * bool(few)
    if single := about.get("single"):
        noun = "word has" if single == 1 else "words have"
        narrow = "" if about.get("low") is None else ": the interval is too narrow"
        parts.append(f"{single} {noun} one, of whose spread nothing is known{narrow}")
    return "; ".join(parts)


def _with_places(rows: Sequence[Row], table: Table) -> Table:
    """Put before each line its stimuli, and its layer where there are several."""
    columns, places = ["stimuli"], [[row.details["set"]] for row in rows]
    if not _one_layer(rows):
        columns.append("layer")
        places = [
            [*place, str(row.details["layer"])] for place, row in zip(places, rows, strict=True)
        ]
    cells = [[*place, *line] for place, line in zip(places, table.cells, strict=True)]
    return replace(table, columns=[*columns, *table.columns], cells=cells)


def _one_layer(rows: Sequence[Row]) -> str:
    layers = {row.details["layer"] for row in rows}
    return f", layer {layers.pop()}" if len(layers) == 1 else ""


def _reasons(rows: Sequence[Row]) -> str:
    """Say each reason once, and of what stimuli and layers it is."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        if reason := _reason(row):
            places = found.setdefault(reason, {}).setdefault(row.details["set"], [])
            places.append(str(row.details["layer"]))
    return ". ".join(
        f"{'; '.join(_where(name, layers) for name, layers in places.items())}: {reason}"
        for reason, places in found.items()
    )


def _where(name: str, layers: Sequence[str]) -> str:
    return f"{name}, layer{'s' * (len(layers) > 1)} {', '.join(layers)}"


def _reason(row: Row) -> str:
    """Say why there is no value, without the remedy, or why no interval."""
    if row.value is None:
        return str(row.details["reason"]).partition("; ")[0]
    why = str(row.details.get("interval_reason", ""))
    return f"no interval: {why.removeprefix('undefined: ')}" if why else ""


def _effect_cells(row: Row, words: str) -> list[str]:
    about: dict[str, Any] = dict(row.details)
    low, high = about.get("low"), about.get("high")
    sizes = [str(n) for n in about.get("n", {}).values()]
    return [
        words,
        number(row.value, 3),
        "–" if low is None else f"{number(low, 3)} … {number(high, 3)}",
        _size(row.value),
        f"{'+'.join(sizes[:2])} × {'+'.join(sizes[2:])}" if sizes else "–",
        f"{sum(about['sentences'].values()):,}" if sizes else "–",
    ]


def _draw_cells(about: Mapping[str, Any]) -> list[str]:
    return [
        f"{about['draws']:,}",
        number(about["draws_mean"], 3),
        number(about["draws_sd"], 3),
        f"{number(about['draws_low'], 2)} … {number(about['draws_high'], 2)}",
        f"{100 * about['draws_above_0']:.1f} %",
        number(about["random_effects_se"], 4),
        _p(about["p"]),
        _p(about["p_two_sided"]),
    ]


def _size(effect: float | None) -> str:
    if effect is None or abs(effect) <= _MEDIUM:
        return ""
    return "large" if abs(effect) > _LARGE else "medium"


def _words(query: Query) -> str:
    x, y, a, b = query.names
    return f"{x}/{y} × {a}/{b}"


def _counted(counts: Mapping[str, int]) -> str:
    """List words and how many sentences they have, fewest first."""
    ordered = sorted(counts.items(), key=lambda item: item[1])
    return _listed([f"{word} {count}" for word, count in ordered])


def _listed(words: Sequence[str]) -> str:
    more = [f"and {len(words) - _SHOWN} more"] * (len(words) > _SHOWN)
    return ", ".join([*words[:_SHOWN], *more])


def _p(p: float) -> str:
    return f"{p:.1e}" if 0 < p < 0.001 else f"{p:.4f}" if p else "< 1e-300"
