r"""Holm's correction of p-values of several tests (Holm 1979, "A simple sequentially rejective …").

.. math:: \tilde p_{(i)} = \max_{j \le i} \min\bigl(1, (m - j + 1)\, p_{(j)}\bigr)

The chance that any true null hypothesis among the `m` is rejected at a level is at most that level,
however the tests depend on each other: those of one embedding share words, and depend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError
from wordbias.results import Row


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Correct p-values, shape ``(m,)``, for their number; in the order given.

    Raises
    ------
    WordbiasError
        If one is not in [0, 1].
    """
    values = np.asarray(p, np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise WordbiasError(f"expected p-values in [0, 1], shape (m,), got {values.tolist()}")
    order = np.argsort(values, kind="stable")
    steps = np.minimum(1, values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty_like(values)
    corrected[order] = np.maximum.accumulate(steps)
    return corrected


def with_holm(rows: Sequence[Row]) -> list[Row]:
    """Add ``p_holm`` to the rows with a ``p``, corrected for the tests of the same subject."""
    tested: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        if row.details.get("p") is not None:
            tested.setdefault(row.subject, []).append(i)
    done = list(rows)
    for places in tested.values():
        corrected = holm([rows[i].details["p"] for i in places]).tolist()
        for i, p in zip(places, corrected, strict=True):
            said = {**rows[i].details, "p_holm": p, "tests": len(places)}
            done[i] = replace(rows[i], details=said)
    return done
