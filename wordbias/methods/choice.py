"""Choice of a method and its strength: tried on one half of the words, reported on the other.

Each candidate is fitted as it would be alone, on the whole word lists. What is *measured* is
divided in two halves at random. The candidate is chosen on the first half; its value on the second
is then not that of the luckiest of many. The halves still share the embedding, the lists that
methods are fitted to, forms of one word (nurse, nurses), and words that occur in pairs of both.

The file is long because the halves, the candidates, the trials on them and the rows are read
together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import FLOAT32_ROUNDING
from wordbias.draws import by_bootstrap, change_keys
from wordbias.embedding import Embedding
from wordbias.errors import UsageError, WordbiasError
from wordbias.measures.direction import projections
from wordbias.measures.evaluate import evaluate
from wordbias.measures.movement import displacement, neighbours
from wordbias.measures.panel import Panel
from wordbias.measures.registry import BY_KEY, FAMILIES, FAMILY_OF, ideal, short_title, variant_of
from wordbias.measures.sembias import CATEGORIES, COLUMNS, SemBias
from wordbias.measures.weat import cosines, effect_size, resampled_effect_sizes
from wordbias.methods.methods import fit_methods
from wordbias.methods.trade_off import badness, shares_kept, values_of
from wordbias.methods.words import listed_words
from wordbias.rendering import how_many
from wordbias.results import Row, number
from wordbias.settings import Configured, text_of
from wordbias.statistics import resampled_means
from wordbias.word_tasks import SimilaritySet, quality
from wordbias.wordlists import (
    Attribute,
    Templates,
    group_queries,
    load_queries,
    load_two_sets,
    resolve,
)
from wordbias.wordlists.queries import Query
from wordbias.wordlists.resolve import candidates as spelled

T = TypeVar("T")
Array = NDArray[np.float64]

GRID = (
    *(f"misp:dims={dims}" for dims in (1, 2, 4, 8)),
    *(f"mhd:dims={dims}" for dims in (1, 2, 4, 8)),
    *("hard", "hard:direction=she-he", "hard,misp", "leace"),
    *(f"inlp:rounds={rounds}" for rounds in (1, 4, 16, 35)),
    *("half-sibling:alpha=600", "half-sibling:alpha=6000"),
    *(f"conceptor:aperture={aperture}" for aperture in (0.1, 0.3, 2)),
    "oscar",
)
"""Candidates that are tried where none is named: each is fitted in seconds and needs no extra."""
KEEP = 0.95
"""Share of neighbours and similarity that a candidate must keep."""
CHOOSE, REPORT = "choose", "report"
"""Names of the halves."""
NEIGHBOURS = 10
QUERIES = 1000
_LEAN = "lean"
_GIPE_WORDS = 50_000  # most frequent words among which GIPE looks for neighbours, as in an audit
_MEAN = "mean of |·|"
_DIGITS = 6  # values that agree to as many are tied


# Measures that can be chosen by


def metric_names() -> list[str]:
    """Return the measures that a method can be chosen by: those with a better way to go."""
    # Signed means are not among them: where words on both sides cancel, nothing is removed.
    named = [
        metric.name
        for family in FAMILIES
        if family.rows
        for metric in family.measures
        if metric.listed and metric.better in ("lower", "higher")
    ]
    return [*named, "weat", _LEAN]


def check_metric(name: str) -> None:
    """Refuse what no method can be chosen by."""
    if name not in metric_names():
        raise UsageError(f"--by={name}: expected one of {', '.join(metric_names())}")


# Halves


@dataclass(frozen=True)
class Half:
    """What is measured of one half: words, questions, association tests and test sets."""

    name: str
    vocabulary: Sequence[str]
    occupations: Sequence[str] = ()
    sembias: SemBias | None = None
    query: Query | None = None
    sets: Sequence[SimilaritySet] = ()


def split(items: Sequence[T], seed: int) -> tuple[list[T], list[T]]:
    """Divide items at random into two halves, each in the order given."""
    # The first has one more where their number is odd.
    order = np.random.default_rng(seed).permutation(len(items))
    first = set(order[: (len(items) + 1) // 2].tolist())
    return (
        [item for i, item in enumerate(items) if i in first],
        [item for i, item in enumerate(items) if i not in first],
    )


def make_halves(
    vocabulary: Sequence[str],
    seed: int,
    *,
    occupations: Sequence[str] = (),
    sembias: SemBias | None = None,
    query: Query | None = None,
    sets: Sequence[SimilaritySet] = (),
) -> tuple[Half, Half]:
    """Divide all that is measured into the half to choose on and the half to report on."""
    # Questions with one stereotyped pair belong to one half; each set of a query is divided.
    if len(vocabulary) < 4:
        raise WordbiasError(
            f"{how_many(len(vocabulary), 'neutral word')}: to choose on one half and report on the "
            "other at least 4 are needed; give words with --vocab FILE"
        )
    words, jobs = split(vocabulary, seed), split(occupations, seed)
    questions = _halves_of_sembias(sembias, seed)
    tests = (None, None) if query is None else _halves_of_query(query, seed)
    pairs = [_halves_of_set(pair_set, seed) for pair_set in sets]
    chosen, reported = (
        Half(
            name,
            tuple(words[i]),
            tuple(jobs[i]),
            questions[i],
            tests[i],
            tuple(both[i] for both in pairs),
        )
        for i, name in enumerate((CHOOSE, REPORT))
    )
    return chosen, reported


def _halves_of_sembias(sembias: SemBias | None, seed: int) -> tuple[SemBias | None, SemBias | None]:
    if sembias is None:
        return None, None
    stereotyped = COLUMNS.index(CATEGORIES.index("stereotype"))
    pairs = list(dict.fromkeys(question[stereotyped] for question in sembias.questions))
    first, second = (
        SemBias(tuple(question for question in sembias.questions if question[stereotyped] in half))
        for half in split(pairs, seed)
    )
    return first, second


def _halves_of_query(query: Query, seed: int) -> tuple[Query, Query]:
    halves = [(name, split(words, seed)) for name, words in (*query.targets, *query.attributes)]
    x, y, a, b = ([(name, tuple(words)) for words in both] for name, both in halves)
    first, second = (
        Query(query.name, (x[i], y[i]), (a[i], b[i]), query.source, about=query.about)
        for i in range(2)
    )
    return first, second


def _halves_of_set(pair_set: SimilaritySet, seed: int) -> tuple[SimilaritySet, SimilaritySet]:
    first, second = (
        SimilaritySet(pair_set.name, tuple(pairs), tuple(scores))
        for half in split(list(zip(pair_set.pairs, pair_set.scores, strict=True)), seed)
        for pairs, scores in [zip(*half, strict=True) if half else ((), ())]
    )
    return first, second


# The task


@dataclass(frozen=True, eq=False)
class Task:
    """An embedding, what is measured of it, and the measure to choose by."""

    embedding: Embedding
    part: Embedding  # the words of it that are measured
    # groups to measure; `fitted_to` are those that methods are fitted to, None their default
    attribute: Attribute
    fitted_to: Attribute | None
    vocabulary: Sequence[str]  # V_t, both halves: the words among which neighbours are looked for
    chosen_on: Half
    reported_on: Half
    metric: str
    seed: int = 0
    # the metric before on each half, by its name
    before: Mapping[str, Row] = field(default_factory=dict)

    @property
    def better(self) -> str:
        """Better values of the metric, ``lower`` or ``higher``."""
        return str(_ideal(self.metric)["better"])


def _ideal(metric: str) -> dict[str, Any]:
    """Return the neutral value and the better way of a metric; WEAT and lean are without sign."""
    return ideal(metric) | ({"better": "lower"} if metric in ("weat", _LEAN) else {})


def make_task(
    embedding: Embedding,
    metric: str,
    vocabulary: Sequence[str],
    attribute: Attribute,
    *,
    fitted_to: Attribute | None = None,
    sembias: SemBias | None = None,
    sets: Sequence[SimilaritySet] = (),
    seed: int = 0,
) -> Task:
    """Divide what is measured, and select the words that measuring needs."""
    check_metric(metric)
    occupations = resolve(Templates.load().occupations, embedding).found
    query = main_query(attribute) if metric == "weat" else None
    halves = make_halves(
        vocabulary, seed, occupations=occupations, sembias=sembias, query=query, sets=sets
    )
    words = [
        *(embedding.words[:_GIPE_WORDS] if metric == "gipe" else ()),
        *vocabulary,
        *occupations,
        *sorted(listed_words(attribute)),
        *sorted(spelled(() if sembias is None else sembias.words)),
        *sorted(() if query is None else query.candidates()),
        *sorted(spelled(word for pair_set in sets for pair in pair_set.pairs for word in pair)),
    ]
    part = embedding.subset(words)
    task = Task(embedding, part, attribute, fitted_to, tuple(vocabulary), *halves, metric, seed)
    before = {half.name: measure(task, half, part) for half in halves}
    for row in before.values():
        if row.value is None:
            reason = str(row.details.get("reason", "")).removeprefix("undefined: ")
            raise WordbiasError(
                f"{embedding.name}: {short_title(metric)} has no value before on one half of the "
                f"words: {reason}"
            )
    return replace(task, before=before)


def main_query(attribute: Attribute) -> Query:
    """Return the association test that stands for WEAT in summaries."""
    # Other groups than gender's are targets, with pleasant and unpleasant words as attributes.
    if attribute == Attribute.load():
        (main,) = (query for query in load_queries() if query.name == BY_KEY["weat"].main_variant)
        return main
    return group_queries(attribute, load_two_sets(("pleasant", "unpleasant")))[0]


# Measuring one half


def measure(task: Task, half: Half, after: Embedding) -> Row:
    """Measure the metric of one half on the words of ``task.part``, which may be those before."""
    panel = Panel(
        after,
        task.part,
        half.vocabulary,
        task.attribute,
        sembias=half.sembias,
        seed=task.seed,
    )
    if task.metric == _LEAN:
        return _lean(panel, half)
    if task.metric == "weat":
        return _weat(panel, half.query)
    family = FAMILY_OF[task.metric]
    rows = [row for row in evaluate(panel, [family.key]) if row.measure == task.metric]
    wanted = (r for r in rows if variant_of(r.measure, r.details).startswith(family.main_variant))
    return next(wanted, rows[0])


def _lean(panel: Panel, half: Half) -> Row:
    """Measure how far occupations lie along the axis before, from the mean of neutral words."""
    about = {"set": "occupations", "setting": _MEAN, **_ideal(_LEAN)}
    direction = panel.original_direction
    if direction.subspace is None or len(half.occupations) < 2:
        reason = direction.reason or "undefined: fewer than two occupations on this half"
        return panel.row(_LEAN, None, reason=reason, **about)
    mean = projections(panel.vectors, direction.subspace).mean()
    lean = projections(panel.embedding.take(half.occupations), direction.subspace) - mean
    samples = resampled_means(np.abs(lean)[:, None], panel.rng())[:, 0]
    value, items = float(np.abs(lean).mean()), half.occupations
    return panel.row(_LEAN, value, samples, unit="occupations", items=items, n=len(lean), **about)


def _weat(panel: Panel, query: Query | None) -> Row:
    """Measure the size of the effect of an association test, whichever way it goes."""
    assert query is not None  # the task has one where it is the metric
    about = {"set": query.name, "setting": "|d|", **_ideal("weat")}
    try:
        resolved = query.find(panel.embedding)
    except WordbiasError as error:
        return panel.row("weat", None, reason=f"undefined: {error}", **about)
    x, y, a, b = (panel.embedding.take(words.found) for words in resolved.sets)
    c = cosines(np.concatenate([x, y]), np.concatenate([a, b]))
    s = c[:, : len(a)].mean(1) - c[:, len(a) :].mean(1)
    d = effect_size(s[: len(x)], s[len(x) :], least=FLOAT32_ROUNDING)
    if np.isnan(d):
        reason = "undefined: all target words are associated alike"
        return panel.row("weat", None, reason=reason, **about)
    sizes = (len(x), len(y), len(a), len(b))
    samples = np.abs(resampled_effect_sizes(c, sizes, panel.rng()))
    n = dict(zip(query.names, sizes, strict=True))
    return panel.row("weat", abs(d), samples, items=query.name, n=n, **about)


def cost_rows(task: Task, half: Half, after: Embedding) -> list[Row]:
    """Measure what is kept on one half: neighbours, and similarity before and after."""
    # Neighbours are those of up to 1000 words of the half, among all neutral words.
    words = {word: i for i, word in enumerate(task.vocabulary)}
    rows = np.array([words[word] for word in half.vocabulary], np.intp)
    rng = np.random.default_rng(task.seed)
    queries = np.sort(rng.choice(rows, min(QUERIES, len(rows)), replace=False))
    k = min(NEIGHBOURS, len(words) - 1)
    old, new = (
        neighbours(version.take(task.vocabulary), queries, k) for version in (task.part, after)
    )
    shares = np.array([len(np.intersect1d(a, b)) / k for a, b in zip(old, new, strict=True)])
    samples = resampled_means(shares[:, None], rng)[:, 0]
    about = {
        "stage": "after",
        "setting": f"k={k}",
        "n": len(shares),
        **by_bootstrap(samples, "words"),
    }
    name, measured = task.embedding.name, "neighbours-preserved"
    costs = [Row(name, measured, float(shares.mean()), {**about, **ideal(measured)})]
    if half.sets:
        for stage, embedding in (("before", task.part), ("after", after)):
            costs += [
                replace(of.row, details={"stage": stage, **of.row.details})
                for of in quality(embedding, half.sets, seed=task.seed, name=name)
            ]
    return costs


# Trying and choosing


@dataclass(frozen=True)
class Tried:
    """A candidate on the half to choose on."""

    candidate: str
    row: Row  # value, its change, costs; a `reason` where it could not be fitted or measured

    @property
    def moved(self) -> float:
        """Mean displacement of the half's words."""
        distance: float = self.row.details.get("moved", math.inf)
        return distance

    @property
    def kept(self) -> float | None:
        """Smallest share kept."""
        share: float | None = self.row.details.get("kept")
        return share

    @property
    def improves(self) -> bool:
        """True if the interval of the change lies on the better side of 0."""
        # Not of a value that grows with the length of the vectors, where this was changed.
        if "length_ratio" in self.row.details:
            return False
        low, high = (self.row.details.get(key) for key in ("change_low", "change_high"))
        if low is None or high is None:
            return False
        return bool(low > 0 if self.row.details.get("better") == "higher" else high < 0)


def compare(task: Task, half: Half, after: Embedding, label: str) -> list[Row]:
    """Return the rows of one half: the metric before and after with its change, and the costs."""
    part = after.subset(task.part.words)
    if part.dim != task.part.dim:
        raise WordbiasError(
            f"its vectors have {part.dim} dimensions and those before {task.part.dim}, which are "
            "not measured along the same axes"
        )
    old, new = task.before[half.name], measure(task, half, part)
    costs = cost_rows(task, half, part)
    before, after_ = (
        values_of([row for row in costs if row.details["stage"] == stage])
        for stage in ("before", "after")
    )
    shares = shares_kept(before, after_)
    moved = displacement(task.part.take(half.vocabulary), part.take(half.vocabulary))
    subject, about = task.embedding.name, {"half": half.name}
    first = replace(old, subject=subject, details={"stage": "before", **about, **old.details})
    details = {"stage": "after", "debiased": label, **about, **new.details}
    details |= {"kept": min(shares.values()), "costs": shares, "moved": float(moved.mean())}
    details |= change_keys(old, new, independent=True)
    second = replace(new, subject=subject, details=details)
    others = [replace(row, details={**row.details, "debiased": label, **about}) for row in costs]
    return [first, second, *others]


def fit_candidate(task: Task, candidate: Sequence[Configured]) -> Embedding:
    """Return the embedding after a candidate, fitted as `wordbias.debias` fits it."""
    return fit_methods(candidate, task.embedding, task.fitted_to, seed=task.seed)[1]


def try_candidate(task: Task, candidate: Sequence[Configured]) -> Tried:
    """Fit a candidate and measure it on the half to choose on; a failure becomes a reason."""
    half, label = task.chosen_on, text_of(candidate)
    try:
        after = fit_candidate(task, candidate).renamed(label)
        row = compare(task, half, after, label)[1]
    except WordbiasError as error:
        about = {"stage": "after", "debiased": label, "half": half.name}
        row = Row(task.embedding.name, task.metric, None, {**about, "reason": str(error)})
    return Tried(label, row)


def choose(task: Task, tried: Sequence[Tried], keep: float) -> Tried:
    """Return the candidate with the best value among those that keep enough and improve it."""
    # Of equally good ones it is the one that moves words least.
    enough = [trial for trial in tried if trial.kept is not None and trial.kept >= keep]
    good = [trial for trial in enough if trial.improves]
    if good:
        return min(good, key=lambda trial: (round(_badness(task, trial), _DIGITS), trial.moved))
    measured = [trial for trial in tried if trial.row.value is not None and trial.kept is not None]
    if not measured:
        first = tried[0]
        raise WordbiasError(
            f"{task.embedding.name}: no method gives a value of {_title(task)}; "
            f"{first.candidate}: {first.row.details.get('reason')}"
        )
    if enough := [trial for trial in enough if trial in measured]:
        nearest = min(enough, key=lambda trial: _badness(task, trial))
        problem = (
            f"{how_many(len(enough), 'method')} tried with {percent(keep)} kept, and none improves "
            f"{_title(task)} by an interval that excludes 0"
        )
    else:
        improving = [trial for trial in measured if trial.improves] or measured
        nearest = max(improving, key=lambda trial: trial.kept or 0.0)
        problem = f"no method keeps {percent(keep)} of {' and '.join(nearest.row.details['costs'])}"
    raise WordbiasError(
        f"{task.embedding.name}: {problem}; the nearest, {_in_words(task, nearest)}; give a lower "
        "--keep, or other methods"
    )


def percent(keep: float) -> str:
    """Write the share to keep with all of its digits."""
    return f"{100 * keep:.6g}%"


def _badness(task: Task, trial: Tried) -> float:
    return math.inf if trial.row.value is None else badness(trial.row.value, task.better, 0.0)


def _title(task: Task) -> str:
    return short_title(task.metric)


def _in_words(task: Task, trial: Tried) -> str:
    """Say what a candidate keeps and changes."""
    details, value = trial.row.details, trial.row.value
    before = None if value is None or "change" not in details else value - details["change"]
    ends = ""
    if "change_low" in details:
        ends = f" (change {number(details['change_low'])} to {number(details['change_high'])})"
    return (
        f"{trial.candidate}, keeps {trial.kept:.1%} and takes {_title(task)} from "
        f"{number(before)} to {number(value)}{ends}"
    )
