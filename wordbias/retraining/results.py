"""Values of all runs of an experiment, by strategy, stage and seed, and what each task measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.measures.held_out_probes import BEST
from wordbias.measures.registry import column_title, ideal
from wordbias.outcomes.fairness import ACCURACY, ALL, CORRELATION, DIVERGENCES, SUM
from wordbias.outcomes.fairness import GAPS as RATE_GAPS
from wordbias.probes.mdl import ACCURACY as PROBE_ACCURACY
from wordbias.probes.mdl import COMPRESSION, CONTROL, PUBLISHED, SELECTIVITY
from wordbias.results import Row
from wordbias.retraining.arms import NONE, ORIGINAL, OWN, RANDOM, is_random
from wordbias.stereotypes.winobias import ANTI, DIFFERENCE, F1, PRO, UNDECIDED

WITHIN = "within"
REPRESENTATION, BEFORE, AFTER, RESTORED = "representation", "before", "after", "restored"
"""Stages: vectors, the model as trained, with its last layer retrained, and the difference."""
PRETRAINED, UNTRAINED = "pretrained", "untrained"
BASELINES = (PRETRAINED, UNTRAINED)
CEAT_MEASURE = "ceat"
TEST, PRO_ANTI = "test", f"{PRO} − {ANTI}"
_TOTALS = (ALL, SUM, CORRELATION, CONTROL, WITHIN, SELECTIVITY)
Values = NDArray[np.float64]


_PARTS = {
    ALL: "",
    SUM: " (S)",
    CORRELATION: " (P)",
    WITHIN: " within classes",
    CONTROL: " knowing the class alone",
    TEST: " on the test set",
    PRO_ANTI: " (pro − anti)",
}


class Metric(NamedTuple):
    """A measure over a set of classes or a total."""

    measure: str
    set: str

    @property
    def title(self) -> str:
        """Title in tables."""
        name = column_title(self.measure)
        return f"{name[0].upper()}{name[1:]}{_PARTS[self.set]}"

    @property
    def head(self) -> str:
        """Head of a column beside that of the measure over all classes."""
        return _PARTS[self.set].strip() or column_title(self.measure)


COMPRESSED = Metric(COMPRESSION, ALL)
COMPRESSED_WITHIN = Metric(COMPRESSION, WITHIN)
KNOWING_CLASS = Metric(COMPRESSION, CONTROL)
COMPRESSED_AS_PUBLISHED = Metric(PUBLISHED, ALL)
PROBED = Metric(PROBE_ACCURACY, ALL)
READ = Metric(BEST, ALL)
CEAT = Metric(CEAT_MEASURE, ALL)
ACCURATE = Metric(ACCURACY, ALL)
GAPS = (
    *(Metric(name, part) for name in RATE_GAPS[:3] for part in (CORRELATION, SUM)),
    *(Metric(name, SUM) for name in DIVERGENCES),
)
"""Extrinsic metrics in the order of the published tables."""
F1_GAP = Metric(DIFFERENCE, PRO_ANTI)
UNRESOLVED = Metric(UNDECIDED, ALL)


@dataclass(frozen=True)
class Task:
    """What is measured of the models of one task, and the published tables that show it."""

    accurate: Metric  # how good the models are at their task
    gaps: tuple[Metric, ...]  # extrinsic bias, in the order of the published tables
    main: Metric  # the gap that verdicts are about
    short: tuple[Metric, ...]  # metrics of the short table
    drawn: tuple[Metric, ...]  # gaps that have a panel in the figure
    # numbers of the tables of Orgad et al. (2022): short, all before, all after, frozen.
    tables: tuple[str, str, str, str]
    units: str  # what the models are trained on, and what is trained again
    layers: str
    # sentences for readers: what a random change does, what methods for vectors are fitted to, and
    # what the figures mean
    at_random: str
    fitted: str
    conventions: str
    undecided: Metric | None = None  # share of examples of the gaps without a prediction

    @property
    def of_predictions(self) -> tuple[Metric, ...]:
        """All metrics of predictions."""
        return self.accurate, *([self.undecided] if self.undecided else []), *self.gaps

    @property
    def sums(self) -> tuple[Metric, ...]:
        """Gaps that can be reduced and restored by a share."""
        return tuple(metric for metric in self.gaps if metric.set in (SUM, PRO_ANTI))


OCCUPATION = Task(
    ACCURATE,
    GAPS,
    main=GAPS[1],
    short=(ACCURATE, GAPS[0], GAPS[1], GAPS[3], GAPS[7], GAPS[8]),
    drawn=tuple(GAPS[i] for i in (0, 1, 3, 5, 7, 8)),
    tables=("Table 1a", "Table 3", "Table 4", "Table 5"),
    units="biographies",
    layers="the last layer",
    at_random="A random change leaves out or repeats the same number of biographies, or replaces "
    "the same number of words, without regard to gender. Or it removes random directions until the "
    "vectors move as far.",
    fitted="Methods are fitted to the vectors of the training set, and gender is probed in the "
    "test set.",
    conventions="Gaps are F − M on equally many women and men of each class; 0 is fair. S: sum of "
    "absolute gaps over classes; P: Pearson's r of the gap with the share of women. Compression, "
    "in bits: 1 if this probe cannot read gender from the vectors and half of the people are "
    "women; unequal shares alone give more. Higher: gender is easier to read.",
)
"""Classifiers of biographies; independence is not drawn, as it is close to separation."""
COREFERENCE = Task(
    Metric(F1, TEST),
    (F1_GAP, *GAPS),
    main=F1_GAP,
    short=(Metric(F1, TEST), UNRESOLVED, F1_GAP, GAPS[1], GAPS[3], GAPS[7], GAPS[8]),
    drawn=(F1_GAP, *(GAPS[i] for i in (1, 3, 5, 7, 8))),
    tables=("Table 1b", "Table 7", "Table 8", ""),
    units="documents",
    layers="all above the encoder",
    at_random="A random change replaces or repeats as many words, without regard to gender. Or it "
    "removes random directions until the vectors move as far.",
    fitted="Methods are fitted to the vectors of she and he in the training documents.",
    conventions="F1 is CoNLL F1 in percent. Its difference is pro-stereotyped minus "
    "anti-stereotyped sentences of WinoBias; 0 for a model that ignores stereotypes. Other gaps "
    "are F − M by pronoun, of the profession that it is resolved to. S: sum of absolute gaps over "
    "professions; P: Pearson's r of the gap with the share of women. Compression, in bits: 1 or "
    "less if this probe cannot read the usual gender of a profession where the pronoun is masked; "
    "the best of several may. No profession is in training and test of a probe. Share undecided: "
    "sentences of WinoBias whose pronoun is resolved to no profession, or to several.",
    undecided=UNRESOLVED,
)
"""Models of coreference on WinoBias."""


class Place(NamedTuple):
    """Key of the values of all seeds."""

    strategy: str
    stage: str
    view: str
    measure: str
    set: str


class Spread(NamedTuple):
    """Mean and standard deviation (n − 1) over `n` seeds; None if undefined."""

    mean: float | None
    sd: float | None
    n: int


@dataclass(frozen=True, eq=False)
class Runs:
    """Values of all runs."""

    strategies: tuple[str, ...]  # strategies in the order of the rows, without `BASELINES`
    baselines: tuple[str, ...]  # encoders that were not trained on the task
    seeds: tuple[int, ...]
    # values by place and seed; nan if undefined
    values: Mapping[tuple[Place, int], float] = field(repr=False)
    # reasons why the values of a place are undefined
    reasons: Mapping[Place, str] = field(repr=False)
    about: Mapping[Place, Mapping[str, Any]] = field(repr=False)  # details of a row of each place
    # sums that lack a class in some run, where it is undefined
    partial: frozenset[Metric] = frozenset()

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Runs:
        """Collect the rows of all jobs; those without a seed and a stage are left out."""
        own = [row for row in rows if {"seed", "stage"} <= row.details.keys()]
        own += [*within(own), *controls(own)]
        values = {(_place(row), int(row.details["seed"])): _value(row) for row in own}
        undefined = {_place(row): str(row.details.get("reason", "")) for row in own}
        defined = {_place(row) for row in own if row.value is not None}
        subjects = dict.fromkeys(row.subject for row in own)
        return cls(
            tuple(name for name in subjects if name not in BASELINES),
            tuple(name for name in BASELINES if name in subjects),
            tuple(sorted({seed for _, seed in values})),
            values,
            {place: why for place, why in undefined.items() if place not in defined},
            {_place(row): row.details for row in own},
            frozenset(Metric(row.measure, SUM) for row in own if row.details.get("left_out")),
        )

    def column(self, metric: Metric, strategy: str, stage: str, view: str = OWN) -> Values:
        """Return one strategy's values, shape ``(seeds,)``; nan where a seed has none."""
        # The stage `RESTORED` is the change by retraining: after minus before.
        if stage == RESTORED:
            after, before = (self.column(metric, strategy, s, view) for s in (AFTER, BEFORE))
            return after - before
        place = Place(strategy, stage, view, metric.measure, metric.set)
        return np.array([self.values.get((place, seed), np.nan) for seed in self.seeds], float)

    def paired(self, metric: Metric, *pair: tuple[str, str, str]) -> Sequence[Values]:
        """Return the values of two strategies, each with its stage and view, shape ``(seeds,)``."""
        # A sum is over the classes for which both runs of a seed have a gap.
        columns = [self.column(metric, *run) for run in pair]
        if metric not in self.partial:
            return columns
        for i, seed in enumerate(self.seeds):
            gaps = [self._classes.get((Place(*run, *metric), seed), {}) for run in pair]
            both = sorted(gaps[0].keys() & gaps[1].keys())
            if len(both) < max(map(len, gaps)):
                for column, of_classes in zip(columns, gaps, strict=True):
                    column[i] = sum(abs(of_classes[name]) for name in both) if both else np.nan
        return columns

    @cached_property
    def _classes(self) -> Mapping[tuple[Place, int], Mapping[str, float]]:
        """Defined gaps of classes, by the sum over them and the seed."""
        gaps: dict[tuple[Place, int], dict[str, float]] = {}
        for (place, seed), value in self.values.items():
            if place.set not in _TOTALS and np.isfinite(value):
                gaps.setdefault((place._replace(set=SUM), seed), {})[place.set] = value
        return gaps

    def every(
        self, metric: Metric, stage: str, strategies: Sequence[str] | None = None, view: str = OWN
    ) -> Values:
        """Return the values of some strategies' runs, by default without the random changes."""
        chosen = self.studied() if strategies is None else strategies
        columns = [self.column(metric, name, stage, view) for name in chosen]
        return np.concatenate([np.zeros(0), *columns])

    def spread(self, metric: Metric, strategy: str, stage: str, view: str = OWN) -> Spread:
        """Return mean and standard deviation over seeds."""
        return spread(self.column(metric, strategy, stage, view))

    def reason(self, metric: Metric, strategy: str, stage: str, view: str = OWN) -> str:
        """Return why a strategy's values are undefined, if the rows say it."""
        return self.reasons.get(Place(strategy, stage, view, metric.measure, metric.set), "")

    def details(
        self, metric: Metric, strategy: str, stage: str, view: str = OWN
    ) -> Mapping[str, Any]:
        """Return the details of a row of one place, empty if there is none."""
        return self.about.get(Place(strategy, stage, view, metric.measure, metric.set), {})

    def has(self, stage: str, view: str = OWN) -> bool:
        """Return whether anything was measured at this stage."""
        return any(place.stage == stage and place.view == view for place, _ in self.values)

    def rewritten(self) -> tuple[str, ...]:
        """Return the strategies that were also measured on the original texts."""
        also = {place.strategy for place, _ in self.values if place.view == ORIGINAL}
        return tuple(name for name in self.strategies if name in also)

    def studied(self) -> tuple[str, ...]:
        """Return the strategies that are no random change."""
        return tuple(name for name in self.strategies if not is_random(name))

    def debiased(self) -> tuple[str, ...]:
        """Return the strategies that debias the data."""
        return tuple(name for name in self.studied() if name != self.base())

    def random_change(self, strategy: str) -> str | None:
        """Return the random change of a strategy, if it was run."""
        name = f"{RANDOM}{strategy}"
        return name if name in self.strategies else None

    def base(self) -> str | None:
        """Return the strategy without debiasing, if it was run; the others are compared with it."""
        return NONE if NONE in self.strategies else None


def spread(values: Values) -> Spread:
    """Return mean and standard deviation of the values that are defined."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Spread(None, None, 0)
    sd = float(known.std(ddof=1)) if len(known) > 1 else None
    return Spread(float(known.mean()), sd, len(known))


def _place(row: Row) -> Place:
    about = row.details
    part = ALL if row.measure == CEAT_MEASURE else str(about.get("set", ALL))
    return Place(row.subject, str(about["stage"]), str(about.get("view", OWN)), row.measure, part)


def _value(row: Row) -> float:
    return np.nan if row.value is None else float(row.value)


# rows derived from those of jobs


def within(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield one compression within classes for each run, from those of its classes."""
    # The code of the genders of all people whose class is known takes the bits of those of the
    # classes together. Its compression is therefore the harmonic mean of theirs, weighted by
    # examples.
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
            **ideal(COMPRESSION, 1),
        }
        yield Row(subject, COMPRESSION, float(n.sum() / (n / each).sum()), about)


def controls(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the compression of a receiver who knows only the class, where a row has one."""
    for row in rows:
        if row.measure == COMPRESSION and row.details.get(CONTROL) is not None:
            yield Row(
                row.subject, COMPRESSION, row.details[CONTROL], {**row.details, "set": CONTROL}
            )
