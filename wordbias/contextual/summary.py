"""What was fitted, as rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordbias.contextual.adapters import Adapter
from wordbias.contextual.families import PARTS
from wordbias.contextual.sites import Site
from wordbias.results import Row

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
        heads = {"component": 1, "heads": len(weights), **_range(weights)}
        value = float(np.median(weights))
        return [Row(subject, "explained-variance", value, {**common, **heads})]
    return [
        Row(subject, "explained-variance", float(share), {**common, "component": i})
        for i, share in enumerate(weights, 1)
    ]


def _range(weights: Any) -> dict[str, Any]:
    return {"lowest": float(weights.min()), "highest": float(weights.max())}


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
