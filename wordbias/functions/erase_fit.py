"""What `erase` does alike with rows of a file and with texts: their parts, and the fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.batches import map_rows
from wordbias.columns import Column
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.rows import MapByRow
from wordbias.labelled import CellsLike, Label, Labelled, LabelsLike, Places
from wordbias.methods import density_matching, qleace
from wordbias.methods.fitted import Fitted
from wordbias.methods.rows import NOTHING_LEFT, fit_moments, fit_rows, nothing_left, taken
from wordbias.moments import Moments
from wordbias.splits import TEST, TRAIN, Folds

INLP = "inlp"
ROUNDS_NUMBERS = 1 << 25
"""Maximum count of numbers in the rows that INLP is fitted on, which every round reads."""
_UNLABELLED = "label them, or --missing=drop: they are then mapped, but not fitted on"


@dataclass(frozen=True, eq=False)
class Parts:
    """Labelled rows, those to fit on and those held out."""

    labelled: Labelled
    tasks: Mapping[str, Column]  # other labels, by name; what rows belong to
    units: Column | None
    part: NDArray[np.int8]  # `TRAIN` or `TEST` for each row, or 0
    fitting: Places  # training rows that a method is fitted on
    balanced: Collection[str]  # names of the tasks over which these are balanced

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
            "labels": {name: list(label.classes) for name, label in self.labelled.labels.items()},
        }

    def read(self, places: NDArray[np.intp]) -> dict[str, Any]:
        """Return the labels of some rows, for `wordbias.probes.held_out.held_out_rows`."""
        labels, tasks = self.labelled.labels, self.tasks
        return {
            "labels": {name: label.cells(places) for name, label in labels.items()},
            "also": {name: np.array(task.cells())[places] for name, task in tasks.items()},
            "groups": None if self.units is None else self.units.codes[places].astype(np.intp),
        }

    def alike(self) -> str:
        """Say that rows are balanced over tasks; nothing if there are none."""
        if not self.balanced:
            return ""
        labels, tasks = (" and ".join(names) for names in (self.labelled.labels, self.balanced))
        return f", equally many of each {labels} within each {tasks}"

    def fit(
        self,
        method: str,
        settings: Mapping[str, Any],
        folds: Folds,
        dim: int,
        seed: int,
    ) -> tuple[list[Fitted], int]:
        """Return a method fitted on rows, those without each fold, and how many rows it read."""
        # INLP, whose rounds need the rows in memory, is fitted on a sample where they have more
        # than `ROUNDS_NUMBERS` values in all.
        fit_without, used = self._reader(method, settings, folds, dim, seed)
        fits = []
        for fold in range(folds.k + 1):
            try:
                fits.append(fit_without(fold))
                if not fits[-1].steps:
                    raise WordbiasError(
                        f"{self.labelled.name}: {method} found no classifier better than chance: "
                        "there is nothing to erase; are they debiased already?"
                    )
                if nothing_left(fits[-1], taken(self.labelled, np.flatnonzero(self.fitting))):
                    raise WordbiasError(
                        f"{self.labelled.name}: {method}: {NOTHING_LEFT}; erase fewer classes, or "
                        "give vectors of more dimensions"
                    )
            except WordbiasError as error:
                if not fold:
                    raise
                raise WordbiasError(
                    f"{self.labelled.name}: without fold {fold} of {folds.k} (--cross-fit): "
                    f"{error}; choose another number of folds, or more --unit than folds"
                ) from None
        return fits, used

    def maps(self, fits: Sequence[Fitted], folds: Folds) -> tuple[MapByRow, MapByRow]:
        """Return the maps of all rows by the saved method, and by that of the fold of each row."""
        classes = np.zeros(self.labelled.n, np.intp)
        fitted = [_of_classes(fit) for fit in fits]
        if len(fitted[0]) > 1:
            classes = self.labelled.label.codes
        steps = tuple(partial(map_rows, of) for by_class in fitted for of in by_class)
        numbers = folds.numbers.astype(np.intp) * len(fitted[0])
        return MapByRow(steps, classes), MapByRow(steps, numbers + classes)

    def _reader(
        self, method: str, settings: Mapping[str, Any], folds: Folds, dim: int, seed: int
    ) -> tuple[Callable[[int], Fitted], int]:
        """Read the rows; return the fit without a fold, and how many rows it reads."""
        labelled, given = self.labelled, {**settings, "labels": self.about()["labels"]}
        places = np.flatnonzero(self.fitting)
        if method in (INLP, density_matching.NAME):
            if len(places) > (most := max(1, ROUNDS_NUMBERS // dim)):
                places = np.sort(np.random.default_rng(seed).choice(places, most, replace=False))
            x = labelled.take(places)
            numbers = folds.enter(x, places)

            def of_rows(fold: int) -> Fitted:
                among = numbers != fold if fold else slice(None)
                codes = [label.codes[places[among]] for label in labelled.labels.values()]
                codes = [np.unique(column, return_inverse=True)[1] for column in codes]
                return fit_rows(method, x[among], codes, given)

            return of_rows, len(places)
        if method == qleace.NAME:
            classes = self._only_label()
            totals = [
                labelled.moments_of_folds(folds, self.fitting & (classes.codes == k))
                for k in range(len(classes.classes))
            ]
            shrinkage = bool(given.get("shrinkage"))

            def of_classes(fold: int) -> Fitted:
                moments = [_without(fold, total, folds)[0] for total in totals]
                step = qleace.fit_classes(moments, shrinkage=shrinkage)
                return Fitted(method, (step,), settings=given)

            return of_classes, len(places)
        of_all = labelled.moments_of_folds(folds, self.fitting, unit=method == "hard")
        return lambda fold: fit_moments(method, _without(fold, of_all, folds), given), len(places)

    def _only_label(self) -> Label:
        """Return the label by which each row is mapped; refuse what has none, or several."""
        labelled = self.labelled
        if len(labelled.labels) > 1:
            raise UsageError(
                f"--labels: {qleace.NAME} maps rows by one label, found "
                f"{', '.join(labelled.labels)}; name a column of their combinations"
            )
        (name,) = labelled.labels
        labelled.refuse_blank(name, ~labelled.there, f"{qleace.NAME} maps each row by its label")
        counts = labelled.label.counts(self.fitting)
        if not counts.all():
            lost = labelled.label.classes[int(counts.argmin())]
            raise WordbiasError(
                f"{labelled.name}: the training part has no row of {lost!r:.40}, which "
                f"{qleace.NAME} then cannot map; leave that class out"
            )
        return labelled.label


def _without(fold: int, totals: Sequence[tuple[int, list[Moments]]], folds: Folds) -> list[Moments]:
    """Return the moments by each label of all folds but one; with 0 of all."""
    parts = [of for number, of in totals if number != fold or not folds.k]
    if not parts:
        raise WordbiasError("no row is left")
    return [reduce(add, by_label) for by_label in zip(*parts, strict=True)]


def _of_classes(fitted: Fitted) -> list[Fitted]:
    """Return the maps of a method: one, or one for each class."""
    first = fitted.steps[0]
    return first.of_classes() if isinstance(first, qleace.Transport) else [fitted]
