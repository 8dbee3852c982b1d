"""Rows that follow from those of jobs: compression within classes, and knowing the class alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from wordbias.biographies.strategies import OWN
from wordbias.outcomes.measuring import ALL, CORRELATION, SUM
from wordbias.probes.rows import COMPRESSION, CONTROL, SELECTIVITY
from wordbias.results import Row

WITHIN = "within"
_TOTALS = (ALL, SUM, CORRELATION, CONTROL, WITHIN, SELECTIVITY)


def controls(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield, for each compression that has one beside it, that of whoever knows the class alone."""
    for row in rows:
        if row.measure == COMPRESSION and row.details.get(CONTROL) is not None:
            yield Row(
                row.subject, COMPRESSION, row.details[CONTROL], {**row.details, "set": CONTROL}
            )


def within(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield one compression within classes for each run, of those of its classes.

    The code of the genders of all people whose class is known takes as many bits as those of the
    classes together, so it is the harmonic mean of their compressions by number of examples.
    """
    groups: dict[tuple[str, str, str, int], list[Row]] = {}
    for row in rows:
        about = row.details
        if row.measure == COMPRESSION and about.get("set", ALL) not in _TOTALS and row.value:
            key = row.subject, str(about["stage"]), str(about.get("view", OWN)), about["seed"]
            groups.setdefault(key, []).append(row)
    for (subject, stage, view, seed), parts in groups.items():
        n = np.array([part.details["n"] for part in parts], float)
        each = np.array([part.value for part in parts], float)
        about = {
            "stage": stage,
            "view": view,
            "seed": seed,
            "set": WITHIN,
            "n": int(n.sum()),
            "classes_measured": len(parts),
            "neutral": 1,
            "better": "lower",
        }
        yield Row(subject, COMPRESSION, float(n.sum() / (n / each).sum()), about)
