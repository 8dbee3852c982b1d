"""Tables 5 to 7 of Dawkins et al. (2024), of all settings of a sweep or of a table of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from wordbias import cells
from wordbias.contextual.nli_fairness import DROP, is_viable
from wordbias.contextual.table7 import (
    ALL,
    BASE,
    Best,
    Entry,
    attention,
    best_by_level,
    differences,
    load_table,
    misprints,
    summary_rows,
    weighting_rows,
)
from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal, symbol
from wordbias.pages.sweep_plots import plot_strength_fairness
from wordbias.pivot import pivot, values
from wordbias.rendering import Table
from wordbias.reports import Report
from wordbias.results import Row, number

_LEVELS = {
    ALL: "all",
    "SENT": "sentence",
    "L12": "layer 12",
    "L11": "layer 11",
    "attn": "+ attention",
}
_OF_TABLE_7 = (
    "strength", "distance", "nli-parity", "nli-accuracy", "nli-fairness", "snli-accuracy"
)  # fmt: skip
_PUBLISHED_MODELS = 76
_PUBLISHED_BASE = (0.3069, 0.7052, 0.8889)
_UNINFORMATIVE = 0.7
"""SNLI accuracy below which the effect of a setting on an NLI model says little."""


def _remarks(entries: Sequence[Entry], drop: float, relative: bool) -> list[str]:
    """Return notes on a table: misprints, and an NLI model of low accuracy."""
    notes = [
        f"{row.name}: the table says η = {row.printed:.4f}, parity · accuracy is {row.fairness:.4f}"
        for row in misprints(entries)
    ]
    base = [entry for entry in entries if entry.level == BASE]
    if base and (base[0].strength, base[0].distance, base[0].snli) == _PUBLISHED_BASE:
        if len(entries) == _PUBLISHED_MODELS:
            notes += differences(best_by_level(entries, drop, relative=relative))
        else:
            notes.append(
                f"{len(entries)} of the {_PUBLISHED_MODELS} models of the published Table 7: the "
                "best of each level are not compared with the published Table 5"
            )
    if base and base[0].snli < _UNINFORMATIVE:
        notes.append(
            f"the unmodified NLI model reaches {base[0].snli:.3f} on SNLI, less than "
            f"{_UNINFORMATIVE:g}: the effect of a setting on it says little"
        )
    return notes


def report_of_table(path: str) -> Report:
    """Return Tables 5 to 7 of a table of all settings that a sweep wrote, without its models."""
    entries = load_table(path)
    summary = summarise(entries, path)
    return Report(
        inputs={"table": {"path": path}},
        rows=summary.rows,
        tables=summary.tables,
        heading=[f"The sweep in {path}."],
        closing=summary.closing,
        notes=summary.notes,
        picture=partial(plot_strength_fairness, entries),
    )


@dataclass(frozen=True)
class Summary:
    """Tables 7, 5 and 6, Tables 5 and 6 as rows, lines below the tables, and notes."""

    tables: list[Table]
    rows: list[Row]
    closing: list[str]
    notes: list[str]


def summarise(
    entries: Sequence[Entry],
    subject: str,
    drop: float = DROP,
    *,
    relative: bool = False,
    seed: int = 0,
) -> Summary:
    """Summarise all settings: the best of each level, the weight n_p, attention, correlation."""
    tables, rows, lines = [_table7(entries, drop, relative)], list[Row](), list[str]()
    if any(entry.level == BASE for entry in entries):
        best = best_by_level(entries, drop, relative=relative)
        rows = _best_rows(best, subject)
        tables.append(_best_table(rows, {entry.name: entry.snli for entry in entries}))
    tables.append(_weighting_table(weighting_rows(entries, subject)))
    gain = attention(entries)
    if gain.pairs:
        lines.append(
            f"With attention S is lower in {gain.improved} of {gain.pairs} settings of layer 11."
        )
    notes = _remarks(entries, drop, relative)
    try:
        rows += summary_rows(entries, subject, seed)
        lines.append(_correlation_line(rows[-1]))
    except WordbiasError as error:
        notes.append(str(error))
    return Summary(tables, rows, lines, notes)


def _table7(entries: Sequence[Entry], drop: float, relative: bool) -> Table:
    """Return Table 7, one line a model."""
    base = next((model.snli for model in entries if model.level == BASE), None)
    cells = []
    for entry in entries:
        values = (
            entry.strength,
            entry.distance,
            entry.parity,
            entry.accuracy,
            entry.fairness,
            entry.snli,
        )
        viable = base is None or is_viable(entry.snli, base, drop, relative=relative)
        cells.append([entry.name, *map(number, values), "yes" if viable else "no"])
    limit = f"{drop:.0%} of the base's accuracy" if relative else f"{100 * drop:g} points"
    return Table(
        "All settings (Dawkins et al. 2024, Table 7)",
        ["model", *map(symbol, _OF_TABLE_7), "viable"],
        cells,
        "Layers are counted from the end: L12 is the last. Digits are n11 c11 n12 c12 np, without "
        "those of unchanged layers. Lower is better for S and D, higher for the others; "
        f"η = parity · accuracy. Viable: loses at most {limit} on SNLI.",
    )


def _best_table(rows: Sequence[Row], accuracies: Mapping[str, float]) -> Table:
    """Return Table 5, one line a level; accuracies on SNLI are by the names of settings."""

    def best(row: Row) -> str:
        digits = row.details.get("setting", "").rpartition("-")[2]
        return f"{number(row.value)} ({','.join(digits)})" if digits else "–"

    columns = values(("lowest S", best), measure="best-strength")
    columns += values(("lowest D", best), measure="best-distance")
    snli = ("its SNLI", lambda row: number(accuracies.get(row.details.get("setting"))))
    columns += values(("highest η that is viable", best), snli, measure="best-fairness")
    title = "The best of each level (Table 5)"
    return pivot(title, rows, lambda row: _LEVELS[row.details["level"]], columns)


def _best_rows(levels: Sequence[Best], subject: str) -> list[Row]:
    """Return Table 5 as rows."""
    rows = []
    for best in levels:
        for name in ("strength", "distance", "fairness"):
            entry, about = getattr(best, name), dict[str, Any](level=best.level)
            if entry is None:
                rows.append(
                    Row(subject, f"best-{name}", None, {**about, "reason": "no model is viable"})
                )
                continue
            about |= {"setting": entry.name, "n": 1}
            about |= ideal("nli-fairness" if name == "fairness" else name)
            rows.append(Row(subject, f"best-{name}", getattr(entry, name), about))
    return rows


def _weighting_table(rows: Sequence[Row]) -> Table:
    """Return Table 6, one line a level: SNLI accuracy without and with a soft projection."""
    columns = values(("pairs", cells.n), ("np = 0", cells.detail("hard", 4)))
    columns += values(("np = 1", cells.detail("soft", 4)), ("increase", cells.rounded(4)))
    columns += values(("sd", cells.detail("sd", 4)))
    columns += values(("improved", lambda row: "{improved} of {n}".format(**row.details)))
    title = "SNLI accuracy without and with the weight n_p at the sentence (Table 6)"
    return pivot(title, rows, lambda row: _LEVELS[row.details["level"]], columns)


def _correlation_line(rho: Row) -> str:
    about = rho.details
    return (
        f"Spearman's ρ of S and η over {about['n']} models: {number(rho.value, 3)} (p = "
        f"{about['p']:.3f}; 95 % bootstrap over models: {about['low']:.2f} to {about['high']:.2f})."
    )
