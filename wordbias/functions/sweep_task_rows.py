"""Rows of a sweep on a task: every setting where it is chosen, the chosen one on other texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordbias.contextual.table7 import BASE, Entry
from wordbias.draws import NULL, SAMPLE, by_bootstrap, drawn, items_of, null_keys, with_change
from wordbias.errors import WordbiasError
from wordbias.functions.task_texts import LabelledTexts
from wordbias.measures.registry import ideal
from wordbias.methods.choice import CHOOSE, REPORT
from wordbias.methods.linear_classifiers import predicted as class_of
from wordbias.methods.linear_classifiers import scores
from wordbias.outcomes.choice import MACRO_F1, Examples, Limit, Rule, choose
from wordbias.outcomes.fairness import ACCURACY, ALL, EXAMPLES, SUM, fairness_rows
from wordbias.outcomes.metrics import Settings
from wordbias.rendering import how_many
from wordbias.results import Row
from wordbias.statistics import weighted_spearman

if TYPE_CHECKING:
    from wordbias.contextual.sweep.task import Predicted, TaskModel
    from wordbias.models.hooks import Intervention

Places = NDArray[np.intp]
Values = NDArray[np.float64]
SHOWN = ("tpr-gap", "fpr-gap", "separation", "sufficiency")
_AFTER, _RETRAINED = "after", "retrained"
_SAMPLED, _RANKED = 1, 2
"""Keys of random numbers: of the intervals, and of those of rank correlations."""
_BESIDE = {"strength": "S", "distance": "D", "fairness": "η"}


# What was measured


@dataclass(frozen=True, eq=False)
class TaskSweep:
    """Predictions under every setting; one setting is chosen on some texts."""

    subject: str
    whole: Examples
    found: Predicted
    chosen_on: Places  # texts of `whole` to choose on and to report on
    reported_on: Places
    by: str
    limit: Limit
    rule: Rule | None
    seed: int
    unit: str | None

    @cached_property
    def place(self) -> int:
        """Place of the chosen setting; 0 if none is chosen."""
        return choose(self._values, self.by, self.limit, self.rule)

    @property
    def chosen(self) -> str:
        """Name of the chosen setting."""
        return self.found.names[self.place]

    @cached_property
    def null_places(self) -> list[int]:
        """Place of the random removal that the same rule chooses among those of each draw."""
        return [choose(values, self.by, self.limit, self.rule) for values in self._null_values]

    @cached_property
    def _values(self) -> dict[str, Values]:
        rows = self.chosen_on
        return self.whole.part(rows).values(self.found.classes[rows])

    @cached_property
    def _null_values(self) -> list[dict[str, Values]]:
        """Values of the random removals of each draw, after those of the model as it is."""
        rows = self.chosen_on
        base, part = self.found.classes[rows, :1], self.whole.part(rows)
        return [
            part.values(np.concatenate([base, self.found.nulls[rows, k]], axis=1))
            for k in range(self.found.nulls.shape[1])
        ]

    def _null_changes(self, rows: Places) -> dict[str, Values]:
        """Return what the chosen random removals change, shape ``(draws,)``."""
        base, nulls = self.found.classes[rows, :1], self.found.nulls
        chosen = [nulls[rows, k, i - 1 : i] if i else base for k, i in enumerate(self.null_places)]
        if not chosen:
            return {}
        values = self.whole.part(rows).values(np.concatenate([base, *chosen], axis=1))
        return {name: measured[1:] - measured[0] for name, measured in values.items()}

    @property
    def shown(self) -> tuple[str, ...]:
        """Measures that are shown, that of the choice first."""
        return tuple(dict.fromkeys([self.by, ACCURACY, MACRO_F1, *SHOWN]))

    def choice_rows(self) -> list[Row]:
        """Return the measures of every setting on the texts that were chosen on."""
        values, nulls = self._values, self._null_changes(self.chosen_on)
        rows = []
        for i, name in enumerate(self.found.names):
            for measure in self.shown:
                value = float(values[measure][i])
                about = self._about(measure, name, "before" if not i else name, CHOOSE)
                about |= {"n": len(self.chosen_on), "chosen": i == self.place}
                if i:
                    about["change"] = value - float(values[measure][0])
                draws = {}
                if i == self.place and i and nulls:
                    about |= null_keys(NULL, value, about["change"], nulls[measure])
                    draws = drawn(nulls[measure], "removals", kind=NULL)
                rows.append(_row(self.subject, measure, value, about, draws))
        return rows

    def reported_rows(self) -> list[Row]:
        """Return the measures before and after on the other texts, paired, beside random ones."""
        rows = self.reported_on
        both = self.found.classes[rows][:, [0, self.place]]
        before, after = self.compared(both, (BASE, self.chosen), _AFTER)
        if not self.place:
            return before
        nulls = self._null_changes(rows)
        after_rows = []
        for row in after:
            if nulls and "change" in row.details:
                draws = nulls[row.measure]
                keys = null_keys(NULL, row.value or 0.0, row.details["change"], draws)
                kinds = {**row.draws, **drawn(draws, "removals", kind=NULL)}
                row = replace(row, details={**row.details, **keys}, draws=kinds)
            after_rows.append(row)
        return [*before, *after_rows]

    def compared(
        self, both: Places, names: tuple[str, str], stage: str
    ) -> tuple[list[Row], list[Row]]:
        """Measure two classifiers, (n, 2), on the texts to report on; the second has its change."""
        part = self.whole.part(self.reported_on)
        rng = np.random.default_rng([self.seed, _SAMPLED])
        samples = part.resampled(both, rng)
        units = part.labels if part.units is None else tuple(part.units)
        items = items_of(np.asarray(part.labels), units if part.units else "", self.seed)
        row_lists: list[list[Row]] = []
        for k, name in enumerate(names):
            settings = Settings(seed=self.seed)
            known = fairness_rows(
                part.confusion(both[:, k]), self.subject, settings, unit=self.unit or EXAMPLES
            )
            by_measure = {row.measure: row for row in known if row.details["set"] in (SUM, ALL)}
            values = part.values(both[:, [k]])
            first = "before" if stage == _AFTER else stage
            rows = []
            for measure in self.shown:
                about = self._about(measure, name, stage if k else first, REPORT)
                known_row = by_measure.get(measure)
                value = float(values[measure][0]) if known_row is None else known_row.value
                about |= {"n": len(part)} if known_row is None else dict(known_row.details)
                if known_row is None:
                    about |= by_bootstrap(samples[measure][k], self.unit or EXAMPLES)
                draws = drawn(samples[measure][k], self.unit or EXAMPLES, items)
                rows.append(_row(self.subject, measure, value, about, draws))
            row_lists.append(rows)
        first_rows, second = row_lists
        return first_rows, [
            with_change(old, new) for old, new in zip(first_rows, second, strict=True)
        ]

    def _about(self, measure: str, name: str, stage: str, half: str) -> dict[str, Any]:
        level = name.rpartition("-")[0] if name[-1:].isdigit() and ":" not in name else name
        return {
            "set": ALL if measure in (ACCURACY, MACRO_F1) else SUM,
            "setting": name,
            "level": level,
            "stage": stage,
            "half": half,
            "groups": list(self.whole.groups),
            **ideal(measure),
        }

    def rank_rows(self, entries: Sequence[Entry]) -> list[Row]:
        """Correlate the gap of the settings with S, D and η of another sweep, by their ranks."""
        # The settings are not independent: the intervals draw texts again, and the items of the
        # other sweep if its draws are known, not settings.
        known = {entry.name: entry for entry in entries}
        places = [i for i, name in enumerate(self.found.names) if i and name in known]
        if len(places) < 3:
            raise WordbiasError(
                f"--best: the table has {how_many(len(places), 'setting')} of this sweep; three "
                "are needed to correlate"
            )
        rng = np.random.default_rng([self.seed, _RANKED])
        predicted = self.found.classes[:, places]
        gap = self.whole.values(predicted)[self.by]
        samples = self.whole.resampled(predicted, rng)[self.by].T
        rows = []
        for name, symbol in _BESIDE.items():
            other = np.array([getattr(known[self.found.names[i]], name) for i in places])
            once = np.ones((1, len(places)))
            rho = float(weighted_spearman(other, gap, once)[0])
            unit = self.unit or EXAMPLES
            items = [known[self.found.names[i]].samples.get(name) for i in places]
            redrawn = [other] * len(samples)
            if all(draws is not None for draws in items):
                redrawn, unit = list(np.array(items).T), f"{unit} and items"
            both = zip(redrawn, samples, strict=False)  # independent: as many as the fewer have
            several = np.array([weighted_spearman(*pair, once)[0] for pair in both])
            about = {"x": name, "y": self.by, "method": "spearman", "n": len(places)}
            about |= {"neutral": 0.0, **by_bootstrap(several, unit)}
            subject = f"{symbol} – {self.by}"
            rows.append(_row(subject, "correlation", rho, about, {}))
        return rows

    def records(self) -> list[dict[str, Any]]:
        """Return the table of all settings on both parts, for a file."""
        rows = self.reported_on
        reported = self.whole.part(rows).values(self.found.classes[rows])
        parts = {CHOOSE: self._values, REPORT: reported}
        return [
            {
                "setting": name,
                "chosen": "yes" if i == self.place else "",
                **{
                    f"{measure} ({half})": float(values[measure][i])
                    for half, values in parts.items()
                    for measure in self.shown
                },
            }
            for i, name in enumerate(self.found.names)
        ]

    def points(self) -> dict[str, list[tuple[float, float]]]:
        """Return gap and accuracy on the texts that were chosen on, by what they are of."""

        def both(values: Mapping[str, Values]) -> list[tuple[float, float]]:
            return list(zip(values[self.by].tolist(), values[ACCURACY].tolist(), strict=True))

        every = both(self._values)
        return {
            "random removals": [
                point for values in self._null_values for point in both(values)[1:]
            ],
            "settings": every[1:],
            "as it is": every[:1],
            "chosen": [every[self.place]],
        }


def _row(
    subject: str, measure: str, value: float | None, about: Mapping[str, Any], draws: Any
) -> Row:
    """Return a row; one of a value that is no number is undefined."""
    if value is None or np.isnan(value):
        reason = about.get("reason", "undefined in every class")
        return Row(subject, measure, None, {**about, "reason": reason}, draws)
    return Row(subject, measure, value, about, draws)


# The last layer, trained anew


def retrained_rows(
    swept: TaskModel,
    sweep: TaskSweep,
    texts: Sequence[str],
    training: LabelledTexts,
    reported: Sequence[Row],
    file: Path | None,
) -> list[Row]:
    """Measure a last layer that was trained anew, without and under the chosen removal."""
    # Also under random removals. The last row says how much of the removed gap is back.
    from wordbias.contextual.sweep.task import vectors_under

    name = sweep.chosen
    steps = sweep.found.adapters[name].interventions()
    draws = range(sweep.seed, sweep.seed + sweep.found.nulls.shape[1])
    arms: dict[str, list[Intervention]] = {BASE: [], name: steps}
    arms |= {f"{name} null {draw}": sweep.found.removals.drawn(steps, draw) for draw in draws}
    read = [*training.texts.texts, *(texts[i] for i in sweep.reported_on)]
    vectors = vectors_under(swept, arms, read, file)
    n = len(training.labels)
    place = {label: i for i, label in enumerate(sweep.whole.classes)}
    codes = np.array([place[label] for label in training.labels])
    present, labels = np.unique(codes, return_inverse=True)
    if len(present) < 2:
        raise WordbiasError(
            f"--retrain: {training.texts.name}: all texts are of one class, "
            f"{training.labels[0]!r}; expected two classes or more"
        )
    predicted = {
        arm: present[class_of(scores("logistic", x[:n], labels, x[n:]))]
        for arm, x in ((arm, of_arm.astype(np.float64)) for arm, of_arm in vectors.items())
    }
    both = np.stack([predicted[BASE], predicted[name]], axis=1)
    first, second = sweep.compared(both, (BASE, name), _RETRAINED)
    part = sweep.whole.part(sweep.reported_on)
    second_rows = []
    for old, new in zip(first, second, strict=True):
        if draws and "change" in new.details:
            others = np.stack([predicted[f"{name} null {draw}"] for draw in draws], axis=1)
            changes = part.values(others)[new.measure] - (old.value or 0.0)
            keys = null_keys(NULL, new.value or 0.0, new.details["change"], changes)
            new = replace(new, details={**new.details, **keys})
        second_rows.append(new)
    return [*first, *second_rows, _returned_row(sweep, [*reported, *first, *second_rows])]


def _returned_row(sweep: TaskSweep, rows: Sequence[Row]) -> Row:
    r"""Return the share of the removed gap that is back after the last layer was trained anew.

    .. math:: 1 - (r_0 - r_1) / (g_0 - g_1)

    with the gaps g before training anew and r after it, without (0) and under (1) the removal.
    """
    gaps = [row for row in rows if row.measure == sweep.by]  # in the order g₀, g₁, r₀, r₁
    about: dict[str, Any] = {"setting": sweep.chosen, "stage": _RETRAINED, "half": REPORT}
    about |= {"set": sweep.by, "n": len(sweep.reported_on)}
    about |= ideal("gap-returned")
    values = [row.value for row in gaps]
    if any(value is None for value in values) or values[0] == values[1]:
        return Row(sweep.subject, "gap-returned", None, {**about, "reason": "nothing was removed"})
    g0, g1, r0, r1 = (row.draws[SAMPLE].values for row in gaps)
    away = np.abs(g0 - g1) > 0
    samples = np.divide(r0 - r1, g0 - g1, out=np.full(len(g0), np.nan), where=away)
    a, b, c, d = (float(value or 0.0) for value in values)
    share = 1 - (c - d) / (a - b)
    about |= by_bootstrap(1 - samples, sweep.unit or EXAMPLES)
    return Row(sweep.subject, "gap-returned", share, about)
