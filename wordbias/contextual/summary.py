"""What was fitted, as rows and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wordbias.contextual.adapters import Adapter
from wordbias.contextual.families import PARTS
from wordbias.contextual.sites import Site
from wordbias.rendering import Table
from wordbias.results import Row, number

_DESCRIPTIVE = {"neutral": None, "better": None}


def adapter_rows(adapter: Adapter, subject: str) -> list[Row]:
    """Return the rows of an adapter.

    `explained-variance` is the share of the differences' variance that a component has; at query,
    key and value its median over the heads, from the lowest to the highest. It describes, it does
    not judge: the first of `n` pairs in `d` dimensions has at least ``1 / min(n, d)``, and 1 where
    all pairs differ in one direction. `direction-stability` is the mean cosine of the first
    component with that of pairs drawn again.
    """
    rows = []
    for site in adapter.subspaces:
        rows += _shares(adapter, site, subject)
        rows += _steadiness(adapter, site, subject)
    return rows


def _shares(adapter: Adapter, site: Site, subject: str) -> list[Row]:
    weights = adapter.subspaces[site].weights
    common = {"site": str(site), "n": _about(adapter, site)["pairs"], **_DESCRIPTIVE}
    if site.kind in PARTS:
        ends = {"lowest": float(weights.min()), "highest": float(weights.max())}
        heads = {"component": 1, "heads": len(weights), **ends}
        value = float(np.median(weights))
        return [Row(subject, "explained-variance", value, {**common, **heads})]
    return [
        Row(subject, "explained-variance", float(share), {**common, "component": i})
        for i, share in enumerate(weights, 1)
    ]


def _steadiness(adapter: Adapter, site: Site, subject: str) -> list[Row]:
    about = _about(adapter, site)
    if "stability" not in about:
        return []
    found = about["stability"]
    details = {
        "site": str(site),
        "component": 1,
        "n": about["pairs"],
        "low": found["low"],
        "high": found["high"],
        "neutral": 1.0,
        "better": "higher",
        "seed": adapter.facts["seed"],
    }
    return [Row(subject, "direction-stability", found["mean"], details)]


def _about(adapter: Adapter, site: Site) -> dict[str, Any]:
    found: dict[str, Any] = adapter.facts["sites"][str(site)]
    return found


def adapter_tables(rows: Sequence[Row], subject: str) -> list[Table]:
    """One line a site: shares of variance, and how steady the first component is."""
    places = list(dict.fromkeys(row.details["site"] for row in rows))
    return [
        Table(
            f"Subspaces of {subject}, fitted to differences of paired sentences",
            ["site", "pairs", "1st", "others", "steady", "95 %"],
            [_line([row for row in rows if row.details["site"] == site]) for site in places],
            "1st, others: share of the differences' variance that a component has, at query, key "
            "and value the median over the heads and their range. steady: cosine of the first "
            "component with that of pairs drawn again; 1 is best.",
        )
    ]


def _line(rows: Sequence[Row]) -> list[str]:
    shares = [row for row in rows if row.measure == "explained-variance"]
    steady = [row for row in rows if row.measure == "direction-stability"]
    first = shares[0].details
    others = ", ".join(number(row.value, 3) for row in shares[1:])
    if "heads" in first:
        ends = f"{number(first['lowest'], 3)} … {number(first['highest'], 3)}"
        others = f"{ends} in {first['heads']} heads"
    certain = ["–", "–"]
    if steady:
        low, high = (number(steady[0].details[end], 2) for end in ("low", "high"))
        certain = [number(steady[0].value, 3), f"{low} … {high}"]
    return [
        first["site"],
        str(first["n"]),
        number(shares[0].value, 3),
        others or "–",
        *certain,
    ]
