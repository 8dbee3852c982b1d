"""Associations arranged for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wordbias.measures.across_groups import AT_ONCE
from wordbias.measures.weat import READING, Settings
from wordbias.rendering import Table, how_many
from wordbias.results import Row, number
from wordbias.wordlists.queries import Query

_MARK = "*"
"""Stands in the lines with a small p whose interval includes 0."""
_MEANING = {
    "weat": "weat: effect size d of X over Y, nearness to A against B; neutral 0",
    "rnd": "rnd: distance to X less distance to Y; neutral 0",
    "rnsb": "rnsb: KL divergence of being like B from uniform; neutral 0, lower is better",
    "mac": "mac: mean cosine distance to A and B; neutral 1",
    "ect": "ect: do X and Y rank the words alike; neutral 1, higher is better",
    "ripa": "ripa: inner product with X − Y; neutral 0",
}


def associations_table(
    subject: str,
    rows: Sequence[Row],
    queries: Sequence[Query],
    settings: Settings,
    *,
    by_group: bool,
) -> Table:
    """One line a value, and below it what the numbers mean and which words are missing.

    Parameters
    ----------
    subject
        The embedding.
    rows, queries, settings
        What was measured, and how.
    by_group
        The rows are of groups, many of which stand in several lines: those name them themselves.
    """
    corrected = any("p_holm" in row.details for row in rows)
    targets = {query.name: "/".join(query.names[:2]) for query in queries}
    columns = ["groups" if by_group else "query", "measure", "words", "value", "95 %", "p"]
    columns += [*["p Holm"] * corrected, "", "n"]
    cells = [[*_about(row, targets, by_group), *_numbers(row, corrected)] for row in rows]
    one = len({row.measure for row in rows}) == 1
    empty = {i for i, column in enumerate(zip(*cells, strict=True)) if not any(column)}
    shown = [i for i in range(len(columns)) if i not in empty and not (one and i == 1)]
    said = "; ".join(_notes(rows, settings, by_group))
    return Table(
        f"Associations in {subject}",
        [columns[i] for i in shown],
        [[line[i] for i in shown] for line in cells],
        f"{said}.",
    )


def _notes(rows: Sequence[Row], settings: Settings, by_group: bool) -> list[str]:
    notes = [_MEANING[name] for name in dict.fromkeys(row.measure for row in rows)]
    if any("p" in row.details for row in rows):
        sided = "one-sided" if settings.alternative == "greater" else "two-sided"
        drawn = f"exact or of {settings.samples:,} partitions"
        notes.append(f"p {sided}, {drawn}; ddof {settings.ddof}")
    if any("reading" in row.details for row in rows):
        notes.append(f"{_MARK}: {READING}")
    abouts = [] if by_group else _listed((row.details.get("about"), row) for row in rows)
    if abouts:
        notes.append(f"about: {', '.join(abouts)}")
    missing = _missing(rows, by_group)
    if missing:
        notes.append(f"missing: {', '.join(missing)}")
    reasons = [f"{r.details['set']} {r.details['reason']}" for r in rows if r.value is None]
    notes += dict.fromkeys(reasons)
    lacking = dict.fromkeys(name for row in rows for name in row.details.get("left_out", ()))
    return [*notes, *[f"without {', '.join(lacking)}, whose words are missing"] * bool(lacking)]


def _listed(named: Iterable[tuple[str | None, Row]]) -> list[str]:
    """Name what queries are about, each with its queries."""
    found: dict[str, dict[str, None]] = {}
    for name, row in named:
        if name:
            found.setdefault(name, {})[row.details["set"]] = None
    return [f"{name} ({', '.join(sets)})" for name, sets in found.items()]


def _missing(rows: Sequence[Row], by_group: bool) -> list[str]:
    """Name the missing words, query by query; of groups, which are in several, group by group."""
    lists: dict[str, list[str]] = {}
    for row in rows:
        for name, words in row.details.get("missing", {}).items():
            key = name if by_group else row.details["set"]
            lists.setdefault(key, []).extend(words)
    return [f"{name} ({', '.join(dict.fromkeys(words))})" for name, words in lists.items()]


def _about(row: Row, targets: Mapping[str, str], by_group: bool) -> list[str]:
    """Say what was measured; of groups, those at once by the name of the one, and two by both."""
    name, words = row.details["set"], row.details.get("words", "")
    if not by_group:
        return [name, row.measure, words or targets[name]]
    at_once = row.measure in AT_ONCE and words
    return [words if at_once else name, row.measure, "" if at_once else words]


def _numbers(row: Row, corrected: bool) -> list[str]:
    about: dict[str, Any] = dict(row.details)
    low, high = about.get("low"), about.get("high")
    n = list(about.get("n", {}).values())
    compared = str(sum(n[:-2])) if len(n) > 4 else "+".join(map(str, n[:-2]))
    if "pairs" in about:
        compared = how_many(about["pairs"], "pair")
    return [
        number(row.value),
        "–" if low is None else f"{number(low, 2)} … {number(high, 2)}",
        _p(about.get("p")),
        *[_p(about.get("p_holm"))] * corrected,
        _MARK if "reading" in about else "",
        f"{compared} × {'+'.join(map(str, n[-2:]))}" if n else "–",
    ]


def _p(p: float | None) -> str:
    return "–" if p is None else f"{p:.1e}" if p < 0.001 else f"{p:.4f}"
