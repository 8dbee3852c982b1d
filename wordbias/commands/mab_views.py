"""Marked attribute bias: the options both commands share, and its rows as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from wordbias.commands.options import stacked
from wordbias.nli.evaluation import BIAS, MEANS
from wordbias.nli.fillers import MARKED, marked_sets
from wordbias.rendering import Table
from wordbias.results import Row, number
from wordbias.wordlists import Attribute

ALL = "all"
EXPLICIT = MARKED[0]
_LABELS = {
    "mab-distance": "distance d",
    "mab-error": "error E",
    "mab-error-per-pair": "error E, per pair",
}

list_options = stacked(
    click.option(
        "--lists", metavar="FOLDER", help="Word lists as Dev et al. (2020) publish theirs."
    ),
    click.option(
        "--as-published",
        is_flag=True,
        help="Articles by the first letter alone, as in the published sets: a SUV.",
    ),
)


def chosen_sets(name: str | None, attribute: Attribute | None = None) -> tuple[str, ...]:
    """Return the sets that the option --set names: without it the first there are words for."""
    if name == ALL:
        return marked_sets(attribute)
    return (marked_sets(attribute)[0] if name is None else name,)


def marked_table(rows: Sequence[Row]) -> Table:
    """One line a kind of word: the columns of Dawkins (2021), Tables 1, 2 and 4."""
    cells, groups = [], groups_of(rows)
    for setting in _settings(rows):
        found = {(row.measure, row.details.get("group")): row for row in _of(rows, setting)}
        means = [_share(found[measure, group].value) for group in groups for measure in MEANS]
        bias = [found[measure, None] for measure in BIAS]
        values = [number(row.value, 3) for row in bias[:2]]
        cells.append([setting, *means, *values, _p(bias[0].details.get("p"))])
    first, second = initials(groups)
    return Table(
        "Mean probabilities of neutral, entailment and contradiction, by group",
        ["", *heads(groups), "d", "E", "p"],
        cells,
        f"{first}: {groups[0]}, {second}: {groups[1]}. The right ones are 1, 0, 0. "
        f"d = ‖{first} − {second}‖; E = mean distance of {first} and {second} from the right "
        f"ones{_about_p(rows)}.",
    )


def groups_of(rows: Sequence[Row]) -> tuple[str, str]:
    """Return the two groups that rows compare, in their order."""
    first, second = dict.fromkeys(row.details["group"] for row in rows if "group" in row.details)
    return first, second


def heads(groups: tuple[str, str]) -> list[str]:
    """Return the heads of six columns: N, E and C of either group."""
    return [f"{side} {label}" for side in initials(groups) for label in "NEC"]


def initials(groups: tuple[str, str]) -> tuple[str, str]:
    """Return what is short for two groups: as few letters as tell them apart."""
    n = next(n for n in range(1, max(map(len, groups)) + 1) if groups[0][:n] != groups[1][:n])
    return groups[0][:n].capitalize(), groups[1][:n].capitalize()


def bias_table(rows: Sequence[Row]) -> Table:
    """One line a measure of bias, with its interval over premises."""
    chosen = [row for row in rows if row.measure in BIAS]
    cells = [
        [
            f"{row.details['setting']}, {_LABELS[row.measure]}",
            number(row.value),
            f"{number(row.details['low'])} … {number(row.details['high'])}",
            f"{row.details['n']:,}",
        ]
        for row in chosen
    ]
    return Table(
        "Marked attribute bias: 0 is none, lower is better",
        ["", "value", "95 %", "pairs"],
        cells,
        "The intervals draw the premises again; the words are fixed.",
    )


def words_tables(rows: Sequence[Row]) -> list[Table]:
    """One table a kind of word, one line a word: the most entailed ones first."""
    return [_words_table(setting, _of(rows, setting)) for setting in _settings(rows)]


def _words_table(setting: str, rows: Sequence[Row]) -> Table:
    lines: dict[tuple[str, str], dict[str, float | None]] = {}
    for row in rows:
        key = (row.details["word"], row.details["group"])
        lines.setdefault(key, {})[row.measure] = row.value
    ordered = sorted(lines.items(), key=_by_entailment)
    measures = (*MEANS, *BIAS[1:])
    cells = [[*key, *(_share(found[one]) for one in measures)] for key, found in ordered]
    columns = ["", "group", "N", "E", "C", "error", "per pair"]
    return Table(f"Words: {setting}, the most entailed first", columns, cells)


def _by_entailment(line: tuple[Any, dict[str, float | None]]) -> float:
    return -(line[1]["mab-entailment"] or 0)


def _settings(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row.details["setting"] for row in rows))


def _of(rows: Sequence[Row], setting: str) -> list[Row]:
    return [row for row in rows if row.details["setting"] == setting]


def _share(value: float | None) -> str:
    """Format what is at most √2 in five characters, so that tables fit."""
    return "–" if value is None else f"{value:.3f}"


def _p(p: float | None) -> str:
    return "–" if p is None else f"{p:.1e}" if 0 < p < 0.001 else f"{p:.4f}"


def _about_p(rows: Sequence[Row]) -> str:
    tested = [row.details for row in rows if "p" in row.details]
    if not tested:
        return ""
    asked = "d* > d, as published" if tested[0]["strict"] else "d* ≥ d"
    kind = "all" if tested[0]["method"] == "exact" else f"{tested[0]['partitions']:,} random"
    return f"; p = share of {kind} partitions of the words with {asked}"
