"""What `wordbias nli-fairness` found, as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.rendering import Table
from wordbias.results import Row, number

_SNLI = "snli-accuracy"


def fairness_table(rows: Sequence[Row], parity: str, drop: float, relative: bool) -> Table:
    """One line a setting."""
    cells = []
    for setting in dict.fromkeys(row.details["setting"] for row in rows):
        found = {_key(row): row for row in rows if row.details["setting"] == setting}
        line = [setting or "as it is"]
        line += [_with_interval(found[key]) for key in found if key != _SNLI]
        if snli := found.get(_SNLI):
            viable = snli.details.get("viable")
            verdict = "" if viable is None else ", viable" if viable else ", not viable"
            line.append(f"{number(snli.value)}{verdict}")
        cells.append(line)
    heads = ["accuracy", "parity, mean", "parity, strict", "fairness η"]
    has_snli = any(row.measure == _SNLI for row in rows)
    limit = f"{drop:.0%} of the base" if relative else f"{100 * drop:g} points"
    viability = f" Viable: loses at most {limit} on SNLI." if has_snli else ""
    return Table(
        rows[0].subject,
        ["", *heads, *(["SNLI"] if has_snli else [])],
        cells,
        f"1 is best. η = accuracy · parity ({parity}). 95 % intervals draw the occupations "
        f"again.{viability}",
    )


def _key(row: Row) -> str:
    """Both kinds of parity have one name."""
    return f"{row.measure} {row.details['parity']}" if row.measure == "nli-parity" else row.measure


def _with_interval(row: Row) -> str:
    return f"{number(row.value, 3)} {row.details['low']:.2f}…{row.details['high']:.2f}"
