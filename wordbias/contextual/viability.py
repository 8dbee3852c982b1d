"""Is a debiased model still of use for what it was trained on? (Dawkins et al. 2024, section 3)."""

from __future__ import annotations

from typing import NamedTuple

from wordbias.results import Row
from wordbias.statistics import wilson

DROP = 0.05
"""Largest loss of accuracy on SNLI of a model that is still viable."""
_BEST = {"neutral": 1, "better": "higher"}


def is_viable(accuracy: float, base: float, drop: float = DROP, *, relative: bool = False) -> bool:
    """Say whether a debiased model may still be used for NLI.

    Parameters
    ----------
    accuracy, base
        On SNLI, with and without debiasing.
    drop
        In points of accuracy by default, .05 of 1. The paper's "by more than 5%" can also mean a
        share of what the base model reaches: `relative`. Its Table 5 fits neither: the best model
        of layer 11 in it loses 5.19 points, 5.84 % of the base.
    """
    least = base * (1 - drop) if relative else base - drop
    return accuracy >= least - 1e-9


class Viability(NamedTuple):
    """Arguments of `is_viable`; without a base rows do not report it."""

    base: float | None = None
    drop: float = DROP
    relative: bool = False


def snli_row(
    accuracy: float, n: int, subject: str, *, setting: str = "", viability: Viability | None = None
) -> Row:
    """Return accuracy on `n` pairs of SNLI as a row, and whether it is viable if there is a base.

    The interval is Wilson's, for the pairs are drawn from many.
    """
    low, high = wilson(accuracy, n)
    about = {"setting": setting, "n": n, **_BEST, "low": low, "high": high}
    if viability is not None and viability.base is not None:
        base, drop, relative = viability.base, viability.drop, viability.relative
        viable = is_viable(accuracy, base, drop, relative=relative)
        about |= {**viability._asdict(), "viable": viable}
    return Row(subject, "snli-accuracy", accuracy, about)
