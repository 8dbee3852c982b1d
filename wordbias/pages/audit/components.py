"""What the components of MIDB weigh and contribute, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wordbias.arrays import blocks
from wordbias.measures.midb import contributions
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import percentile_interval, resampled_means

if TYPE_CHECKING:
    from wordbias.pages.audit.plan import Plan
    from wordbias.pages.audit.stages import Stages


def component_parts(one: Stages, plan: Plan) -> list[Row]:
    """Take the rows of the fit, and each component's mean contribution to MIDB.

    The components are those of the vectors before at both stages, so that what MISP left along
    them, ``1 − a_i`` of it, can be seen.
    """
    if one.fitted is None or one.projection is None:
        return []
    subspace = one.projection.subspace
    rows = one.rows("before", one.fitted.found)
    for stage, panel in one.panels():
        parts = [np.abs(contributions(x, [subspace])) for x in blocks(panel.vectors)]
        values = np.concatenate([np.zeros((0, subspace.dims)), *parts])
        samples = resampled_means(values, panel.rng())
        for i, value in enumerate(values.mean(0).tolist()):
            about = {
                "component": i + 1,
                "reference": "before",
                **percentile_interval(samples[:, i])._asdict(),
                "n": len(values),
                **ideal("midb-component"),
            }
            rows.append(one.row(stage, Row(one.name, "midb-component", value, about)))
    return rows
