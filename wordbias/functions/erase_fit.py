"""What `erase` does alike with rows of a file and with texts: their parts, and the fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.columns import Column
from wordbias.errors import UsageError, WordbiasError
from wordbias.labelled import CellsLike, Labelled, LabelsLike, Places
from wordbias.methods.fitted import Fitted
from wordbias.methods.rows import fit_moments, fit_rows
from wordbias.splits import TEST, TRAIN, Folds

ROUNDS_NUMBERS = 1 << 25
"""Maximum count of numbers in the rows that INLP is fitted on, which every round reads."""
_UNLABELLED = "label them, or --missing=drop: they are then mapped, but not fitted on"


@dataclass(frozen=True, eq=False)
class Parts:
    """Labelled rows, those to fit on and those held out.

    Attributes
    ----------
    labelled
        The rows with the labels to remove.
    tasks, units
        Other labels, by name; what rows belong to.
    part
        `TRAIN` or `TEST` for each row, or 0.
    fitting
        Training rows that a method is fitted on.
    balanced
        Names of the tasks over which these are balanced.
    """

    labelled: Labelled
    tasks: Mapping[str, Column]
    units: Column | None
    part: NDArray[np.int8]
    fitting: Places
    balanced: Collection[str]

    @classmethod
    def of(
        cls,
        rows: Labelled,
        labels: LabelsLike | None,
        also: LabelsLike | None,
        unit: CellsLike | None,
        split_column: CellsLike | None,
        *,
        balance: bool,
        missing: str,
        held_out: float,
        seed: int,
    ) -> Parts:
        """Read the labels of rows, and divide these; see `wordbias.erase`."""
        if labels is None:
            raise UsageError(rows.none_named())
        labelled = rows.with_labels(rows.several("--labels", labels), missing, _UNLABELLED)
        tasks = {} if also is None else rows.several("--also", also)
        units = labelled.units(unit)
        part = labelled.split(held_out, seed, split_column=split_column, units=units)
        fitting = labelled.balanced(part == TRAIN, tasks, seed) if balance else part == TRAIN
        return cls(labelled, tasks, units, part, fitting, tasks if balance else ())

    @property
    def training(self) -> NDArray[np.intp]:
        """Places of the training rows."""
        return np.flatnonzero(self.part == TRAIN)

    @property
    def held_out(self) -> NDArray[np.intp]:
        """Places of the held-out rows."""
        return np.flatnonzero(self.part == TEST)

    def about(self) -> dict[str, Any]:
        """Return the numbers of rows and the classes, for the inputs of a report."""
        return {
            "training": len(self.training),
            **({"fitted": int(self.fitting.sum())} if self.balanced else {}),
            "held_out": len(self.held_out),
            "missing": int((~self.labelled.there).sum()),
            "labels": {name: list(one.classes) for name, one in self.labelled.labels.items()},
        }

    def read(self, places: NDArray[np.intp]) -> dict[str, Any]:
        """Return the labels of some rows, for `wordbias.probes.held_out.held_out_rows`."""
        labels, tasks = self.labelled.labels, self.tasks
        return {
            "labels": {name: one.cells(places) for name, one in labels.items()},
            "also": {name: np.array(one.cells())[places] for name, one in tasks.items()},
            "groups": None if self.units is None else self.units.codes[places].astype(np.intp),
        }

    def alike(self) -> str:
        """Say that rows are balanced over tasks; nothing if there are none."""
        if not self.balanced:
            return ""
        labels, tasks = (" and ".join(one) for one in (self.labelled.labels, self.balanced))
        return f", equally many of each {labels} within each {tasks}"

    def fit(
        self,
        method: str,
        settings: Mapping[str, Any],
        folds: Folds,
        dim: int,
        seed: int,
    ) -> tuple[list[Fitted], int]:
        """Return a method fitted on rows, those without each fold, and how many rows it read.

        Parameters
        ----------
        dim
            Number of values of a row. INLP, whose rounds need the rows in memory, is fitted on a
            sample where they have more than `ROUNDS_NUMBERS` in all.
        """
        labelled, given = self.labelled, {**settings, "labels": self.about()["labels"]}
        places = np.flatnonzero(self.fitting)
        if method == "inlp":
            if len(places) > (most := max(1, ROUNDS_NUMBERS // dim)):
                places = np.sort(np.random.default_rng(seed).choice(places, most, replace=False))
            x = labelled.take(places)
            numbers = folds.enter(x, places)
        else:
            totals = labelled.moments_of_folds(folds, self.fitting, unit=method == "hard")

        def fitted(fold: int) -> Fitted:
            if method == "inlp":
                among = numbers != fold if fold else slice(None)
                codes = [one.codes[places[among]] for one in labelled.labels.values()]
                codes = [np.unique(one, return_inverse=True)[1] for one in codes]
                return fit_rows(method, x[among], codes, given)
            parts = [of for number, of in totals if number != fold or not folds.k]
            if not parts:
                raise WordbiasError("no row is left")
            moments = [reduce(add, by_label) for by_label in zip(*parts, strict=True)]
            return fit_moments(method, moments, given)

        found = []
        for fold in range(folds.k + 1):
            try:
                found.append(fitted(fold))
                if not found[-1].steps:
                    raise WordbiasError(
                        f"{labelled.name}: {method} found no classifier better than chance: there "
                        "is nothing to erase; are they debiased already?"
                    )
            except WordbiasError as error:
                if not fold:
                    raise
                raise WordbiasError(
                    f"{labelled.name}: without fold {fold} of {folds.k} (--cross-fit): {error}; "
                    "choose another number of folds, or more --unit than folds"
                ) from None
        return found, len(places)
