"""The fit of `erase`: a method on training rows, of a file or of texts, and without each fold."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from wordbias.errors import WordbiasError
from wordbias.labelled import Folds, Labelled, Places
from wordbias.methods.fitted import Fitted
from wordbias.methods.rows import fit_moments, fit_rows


def fit_labelled(
    labelled: Labelled,
    method: str,
    settings: Mapping[str, Any],
    fitting: Places,
    folds: Folds,
    most: int | None = None,
    seed: int = 0,
) -> tuple[list[Fitted], int]:
    """Return a method fitted on some rows, then those without each fold; and how many it read.

    Parameters
    ----------
    most
        Largest number of rows that INLP is fitted on, whose rounds need them in memory; of more
        it is fitted on a sample.
    """
    given = {**settings, "labels": {key: list(one.classes) for key, one in labelled.labels.items()}}
    places = np.flatnonzero(fitting)
    if method == "inlp":
        if most is not None and len(places) > most:
            places = np.sort(np.random.default_rng(seed).choice(places, most, replace=False))
        x = labelled.take(places)
        numbers = folds.enter(x, places)
    else:
        totals = labelled.moments_of_folds(folds, fitting, unit=method == "hard")
    fitted: list[Fitted] = []
    for fold in range(folds.k + 1):
        with folds.without(labelled.name, fold):
            if method == "inlp":
                among = numbers != fold if fold else slice(None)
                codes = [one.codes[places[among]] for one in labelled.labels.values()]
                codes = [np.unique(one, return_inverse=True)[1] for one in codes]
                fitted.append(fit_rows(method, x[among], codes, given))
                if not fitted[-1].steps:
                    raise WordbiasError(
                        f"{labelled.name}: inlp found no classifier better than chance, so that "
                        "there is nothing to erase; are they debiased already?"
                    )
                continue
            parts = [of for number, of in totals if number != fold or not folds.k]
            if not parts:
                raise WordbiasError("no row is left")
            moments = [reduce(add, by_label) for by_label in zip(*parts, strict=True)]
            fitted.append(fit_moments(method, moments, given))
    return fitted, len(places)


def alike_in(labelled: Labelled, tasks: Collection[str]) -> str:
    """Say that rows are balanced over tasks; nothing if there are none."""
    if not tasks:
        return ""
    return f", as many of each {' and '.join(labelled.labels)} within each {' and '.join(tasks)}"
