"""Rows and tables of an adapter: what was fitted at its sites, to pairs and to labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wordbias import cells
from wordbias.draws import BOOTSTRAP, ENDS, interval_keys
from wordbias.measures.registry import ideal
from wordbias.models.families import PARTS
from wordbias.models.sites import Site
from wordbias.pivot import pivot, values
from wordbias.rendering import Table
from wordbias.results import Row, number
from wordbias.statistics import Interval

if TYPE_CHECKING:
    from wordbias.models.adapters import Adapter

FITTED = ("input", "attention-output", "mlp-output", "cls", "tokens")
"""Kinds of sites at which a removal can be fitted to labels."""
EXPLAINED = "label-explained"
STAGES = ("before", "after")


def adapter_rows(adapter: Adapter, subject: str) -> list[Row]:
    """Return the rows of an adapter: explained variance, median over heads, and stability."""
    # The share of variance describes, it does not judge: the first of n pairs in d dimensions has
    # at least 1 / min(n, d), and 1 if all pairs differ in one direction. `direction-stability` is
    # the mean cosine of the first component with that of resampled pairs.
    rows = []
    for site, subspace in adapter.subspaces.items():
        fitted = adapter.facts["sites"][str(site)]
        common = {"site": str(site), "n": fitted["pairs"], "neutral": None, "better": None}
        shares, about = subspace.weights.tolist(), common
        if site.kind in PARTS:
            about = {
                **common,
                "component": 1,
                "heads": len(shares),
                "heads_low": min(shares),
                "heads_high": max(shares),
            }
            shares = [float(np.median(subspace.weights))]
        rows += [
            Row(subject, "explained-variance", share, {**about, "component": i})
            for i, share in enumerate(shares, 1)
        ]
        if "stability" in fitted:
            details = {
                "site": str(site),
                "component": 1,
                "n": fitted["pairs"],
                **interval_keys(
                    Interval(fitted["stability"]["low"], fitted["stability"]["high"]),
                    BOOTSTRAP,
                    "pairs",
                ),
                "neutral": 1.0,
                "better": "higher",
                "seed": adapter.facts["seed"],
            }
            mean = fitted["stability"]["mean"]
            rows.append(Row(subject, "direction-stability", mean, details))
    return rows


def adapter_tables(rows: Sequence[Row], subject: str) -> list[Table]:
    """Return a table with one line a site: shares of variance, stability of the first component."""
    others: dict[str, list[str]] = {}
    for row in rows:
        if row.measure == "explained-variance" and row.details["component"] > 1:
            others.setdefault(row.details["site"], []).append(cells.value(row))

    def rest(row: Row) -> str:
        if "heads" not in row.details:
            return ", ".join(others.get(row.details["site"], ["–"]))
        ends = (number(row.details[f"heads_{end}"], 3) for end in ENDS)
        return f"{' to '.join(ends)} in {row.details['heads']} heads"

    title = f"Subspaces of {subject}, fitted to differences of paired sentences"
    heads = (("pairs", cells.n), "1st", ("others", rest))
    columns = values(*heads, measure="explained-variance", component=1)
    columns += values("steady", "95 %", measure="direction-stability")
    note = (
        "1st, others: share of the differences' variance that a component has, at query, key "
        "and value the median over the heads and their range. steady: cosine of the first "
        "component with that of pairs drawn again; 1 is best."
    )
    return [pivot(title, rows, {"site": "site"}, columns, note)]


def scrubbing_rows(adapter: Adapter, subject: str) -> list[Row]:
    """Return the rows of what was fitted to labels: `explained` at each site, before and after."""
    about = adapter.facts.get("sites", {})
    return [
        Row(
            subject,
            EXPLAINED,
            about[str(site)][stage],
            {
                "site": str(site),
                "layer": site.layer,
                "stage": stage,
                "n": about[str(site)]["vectors"],
                **ideal(EXPLAINED),
            },
        )
        for site in adapter.steps
        for stage in STAGES
    ]


def scrubbing_tables(adapter: Adapter, subject: str) -> list[Table]:
    """Return a table with one line a layer and one column a kind of sites."""
    shares = {
        site: " → ".join(number(adapter.facts["sites"][str(site)][stage], 3) for stage in STAGES)
        for site in adapter.steps
    }
    kinds = [kind for kind in FITTED if any(site.kind == kind for site in shares)]
    layers = sorted({site.layer or 0 for site in shares})
    cells = [
        [str(layer), *(shares.get(Site(kind, layer), "–") for kind in kinds)] for layer in layers
    ]
    what = adapter.facts["labels"] or "the label"
    before = "with the removals at earlier sites"
    after = "with that of the site too"
    if not adapter.facts["sequential"]:
        before, after = "in the unmodified model", "with the removal at the site alone"
    return [
        Table(
            f"{subject}: share of {what} that a linear map of the vectors explains, on the fitted "
            "texts",
            ["layer", *kinds],
            cells,
            f"Before → after. Before: {before}; after: {after}.",
        )
    ]
