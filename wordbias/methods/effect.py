"""Effect of debiasing: bias before and after, how far words moved, which neighbours they kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.draws import LISTS, spread_keys, with_change
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.chance import Values, with_chance
from wordbias.measures.evaluate import chance_values
from wordbias.measures.midb import MIDB, BiasDirections, Value, directions_of, fit_directions
from wordbias.measures.movement import displacement, length_ratio, neighbours_kept_by
from wordbias.measures.panel import Panel
from wordbias.measures.registry import BY_KEY, MEASURES, ideal
from wordbias.measures.word_lists import items_of_lists, redrawn, redraws, with_redraws
from wordbias.methods.beside_null import Removals, random_removals, with_null
from wordbias.methods.diagnosis import Diagnosis, about_removal, nearer
from wordbias.methods.fitted import Chain, Fitted
from wordbias.methods.transform import Projection, transformed
from wordbias.methods.words import listed_words
from wordbias.results import Row
from wordbias.subspace import Subspace, reweighted
from wordbias.wordlists import Attribute

Float = NDArray[np.float64]
Change = tuple[str, str]
"""Measure, and the directions along which it was taken after: those before, or self."""
Stage = tuple[str, str, str]
"""Measure, before or after, and the directions along which it was taken."""
LEFT_OUT = "left-out"
"""Directions of the names that a redraw of the word lists leaves out."""

NEIGHBOURS = 10
QUERIES = 1000
MOST_MOVED = 10


@dataclass(frozen=True)
class Effect:
    """Change of an embedding."""

    rows: list[Row]
    most_moved: list[Row]  # the rows among them of the ten words that moved furthest


def effect(
    before: Embedding,
    after: Embedding,
    vocabulary: Sequence[str],
    attribute: Attribute | None,
    *,
    dims: int = 4,
    centre: bool = False,
    seed: int = 0,
    along: tuple[BiasDirections, BiasDirections] | None = None,
) -> Effect:
    """Compare an embedding before and after debiasing, over the words that should be neutral."""
    # Without an attribute only the cost is measured. Rows with reference="before" are measured
    # along the directions fitted before; those with reference="self", as in the papers' tables,
    # along directions fitted anew.
    options: dict[str, Any] = {"dims": dims, "centre": centre, "seed": seed, "along": along}
    return next(effects(before, [after], vocabulary, attribute, **options))


def effects(
    before: Embedding,
    afters: Iterable[Embedding],
    vocabulary: Sequence[str],
    attribute: Attribute | None,
    *,
    dims: int = 4,
    centre: bool = False,
    seed: int = 0,
    along: tuple[BiasDirections, BiasDirections] | None = None,
) -> Iterator[Effect]:
    """Yield `effect` of several results, for which what was before is measured once."""
    chosen = before.rows(vocabulary)[0]
    in_order = np.array_equal(chosen, np.arange(len(chosen)))
    places = slice(len(chosen)) if in_order else chosen  # a slice copies nothing
    name, n, old = before.name, len(chosen), before.vectors[places]
    first: list[Row] = []
    if attribute is not None:
        fitted = partial(fit_directions, attribute=attribute, dims=dims, centre=centre)
        frozen = along[0] if along else fitted(before)
        first += _bias_rows(name, frozen.measure(old), centre, n=n, stage="before")
    k = min(NEIGHBOURS, n - 1)
    rng = np.random.default_rng(seed)
    kept_by = neighbours_kept_by(old, rng, sample=QUERIES, k=k) if k else None
    for after in afters:
        finite = np.isfinite(after.vectors).all(axis=1)
        if not finite.all():
            word = after.words[int(finite.argmin())]
            raise WordbiasError(f"{after.name}: the vector of {word!r} leaves the range of float32")
        rows, new = [*first], after.vectors[places]
        if attribute is not None:
            anew = along[1] if along else fitted(after)
            after_it = {"n": n, "stage": "after", "length_ratio": length_ratio(old, new)}
            rows += _bias_rows(name, frozen.measure(new), centre, reference="before", **after_it)
            rows += _bias_rows(name, anew.measure(new), centre, reference="self", **after_it)
        moved = displacement(old, new)
        furthest = np.argsort(-moved, kind="stable")[:MOST_MOVED].tolist()
        most_moved = [
            _displacement_row(name, moved[[i]], word=before.words[chosen[i]]) for i in furthest
        ]
        rows += [_displacement_row(name, moved), *most_moved]
        rows.append(_neighbour_row(name, k, None if kept_by is None else kept_by(new)))
        yield Effect(rows, most_moved)


def _bias_rows(
    subject: str, values: dict[str, Value], centre: bool, **details: Any
) -> Iterator[Row]:
    ratio = details.pop("length_ratio", None)
    for measure, (value, reason) in values.items():
        more: dict[str, Any] = {"reason": reason} if reason else {}
        if ratio is not None and MEASURES[measure].by_length:
            more["length_ratio"] = ratio
        if measure.startswith("midb"):
            more["centred"] = centre
        yield Row(subject, measure, value, {**details, **ideal(measure), **more})


def _displacement_row(subject: str, moved: NDArray[np.float64], **details: Any) -> Row:
    details = {"stage": "after", "n": len(moved), **ideal("displacement"), **details}
    return Row(subject, "displacement", float(moved.mean()), details)


def _neighbour_row(subject: str, k: int, shares: Float | None) -> Row:
    details = {"stage": "after", "setting": f"k={k}", **ideal("neighbours-preserved")}
    if shares is None:
        undefined = "undefined: the vocabulary has a single word"
    else:
        details["n"] = len(shares)
        undefined = "" if len(shares) else "undefined: every vector is zero before or after"
    if undefined:
        details["reason"] = undefined
    value = None if shares is None or undefined else float(shares.mean())
    return Row(subject, "neighbours-preserved", value, details)


# random removals


def changes(rows: Sequence[Row]) -> dict[Change, float]:
    """Return after less before of each defined measure of `effect`, by measure and reference."""
    # Displacement and the neighbours kept have no value before: they are less their neutral value,
    # that of no change.
    differences: dict[Change, float] = {}
    before = {row.measure: row.value for row in rows if row.details.get("stage") == "before"}
    for row in rows:
        key = change_of(row)
        start = before.get(row.measure, row.details["neutral"])
        if key is not None and row.value is not None and start is not None:
            differences[key] = row.value - start
    return differences


def change_of(row: Row) -> Change | None:
    """Return the key of a row about all words after the removal; None for another row."""
    if row.details.get("stage") != "after" or "word" in row.details:
        return None
    return row.measure, str(row.details.get("reference", ""))


def effect_beside_null(
    part: Embedding,
    chain: Chain,
    vocabulary: Sequence[str],
    attribute: Attribute,
    removals: Removals,
    *,
    dims: int = 4,
    centre: bool = False,
    seed: int = 0,
) -> Effect:
    """Measure what a chain of methods changes, and what random removals in its place change."""
    # `part` has at least the vocabulary and the `listed_words`.
    results = (removal(part) for removal in (chain, *removals.every))
    measured = effects(part, results, vocabulary, attribute, dims=dims, centre=centre, seed=seed)
    own = next(measured)
    others = (changes(outcome.rows) for outcome in measured)
    rows = with_null(own.rows, removals, changes(own.rows), others, change_of)
    return replace(own, rows=rows)


# other word lists


def over_lists(
    before: Embedding,
    vocabulary: Sequence[str],
    attribute: Attribute,
    removal: Callable[[Subspace], Projection],
    draws: int,
    *,
    dims: int = 4,
    centre: bool = False,
    seed: int = 0,
) -> dict[Stage, Float]:
    """Repeat fit and measurement with redrawn word lists: values of `effect`, ``(draws,)``."""
    # A redraw takes the place of the lists throughout: the removal is fitted to its names, and bias
    # is measured before and after along its names and pairs. MIDB is also measured along the names
    # that it leaves out, which the removal has not seen. `before` has at least the vocabulary and
    # the `listed_words`.
    panel = Panel(before, before, vocabulary, attribute, dims=dims, centre=centre, seed=seed)
    drawn = redraws(attribute, draws, seed)
    by_stage: dict[Stage, Float] = {}
    nulls = zip(redrawn(panel, drawn), redrawn(panel, drawn, left_out=True), strict=True)
    for draw, (fitted, others) in enumerate(nulls):
        if fitted.subspace is None:
            continue
        after = transformed(before, removal(fitted.subspace))
        (anew,) = redrawn(replace(panel, embedding=after, original=after), [drawn[draw]])
        along = directions_of(fitted), directions_of(anew)
        measured = effect(before, after, vocabulary, attribute, seed=seed, along=along)
        values = {key: row.value for row in measured.rows if (key := _stage_of(row)) is not None}
        unseen = directions_of(others)
        for stage, embedding in (("before", before), ("after", after)):
            midb = unseen.measure(embedding.take(vocabulary))
            values |= {(name, stage, LEFT_OUT): midb[name].value for name in MIDB}
        for key, value in values.items():
            column = by_stage.setdefault(key, np.full(draws, np.nan))
            column[draw] = np.nan if value is None else value
    return by_stage


def _stage_of(row: Row) -> Stage | None:
    """Return the key of a row about all words; None for one about a single word."""
    if "word" in row.details:
        return None
    return row.measure, str(row.details["stage"]), str(row.details.get("reference", ""))


def with_lists(rows: Sequence[Row], lists: Mapping[Stage, Float], items: str) -> list[Row]:
    """Add intervals over word lists to the rows of `effect`."""
    # MIDB along the directions fitted before is also measured along the names that each redraw
    # leaves out: `unseen_before` is the mean over the redraws of its value before, and
    # `unseen_change` of its change, with the middle 95 % of the changes.
    known = with_redraws(rows, lists, items, _stage_of)
    starts = {row.measure: row for row in known if row.details["stage"] == "before"}
    extended = []
    for row in known:
        if change_of(row) is not None and LISTS in row.draws:
            row = with_change(starts.get(row.measure) or _unchanged(row), row)
            start, end = (lists.get((row.measure, at, LEFT_OUT)) for at in ("before", "after"))
            if row.details.get("reference") == "before" and start is not None and end is not None:
                row = replace(row, details={**row.details, **_unseen(start, end - start)})
        extended.append(row)
    return extended


def _unchanged(row: Row) -> Row:
    """Return the row before of a measure of change: its neutral value, whatever the lists."""
    neutral, own = row.details["neutral"], row.draws[LISTS]
    draws = {LISTS: replace(own, values=np.full_like(own.values, neutral))}
    return Row(row.subject, row.measure, neutral, draws=draws)


def _unseen(start: Float, change: Float) -> dict[str, Any]:
    """Return the change along the names that redraws leave out; empty without any."""
    if not np.isfinite(change).any():
        return {}
    means = float(np.nanmean(start)), float(np.nanmean(change))
    keys = dict(zip(("unseen_before", "unseen_change"), means, strict=True))
    return {**keys, **spread_keys("unseen", change)}


# one run of MISP


@dataclass(frozen=True, eq=False)
class Study:
    """A run of MISP: what was fitted, on which words, and what it changed."""

    projection: Projection
    vocabulary: Sequence[str]
    diagnosis: Diagnosis  # the subspace before its weights were replaced
    # change of the embedding, with those by random removals and over redrawn word lists
    measured: Effect
    # rows of the components, and of the share of the groups' difference in their span
    components: list[Row]

    @cached_property
    def removal(self) -> Row:
        """Share of the groups' difference that was removed."""
        return self.diagnosis.removed_row(self.projection)

    @property
    def rows(self) -> list[Row]:
        """All values: what was removed, the components, what changed."""
        return [self.removal, *self.components, *self.measured.rows]

    @property
    def summary(self) -> list[str]:
        """Sentences on what was removed, what is left, how words lean, and what it cost."""
        sentences = about_removal(self.removal)
        if sentences and not self.projection.hard:
            left = 1 - nearer(self.removal.value or 0)
            sentences.append(f"MISP is soft: {left:.1%} of the distance stays; --mhd removes more.")
        return [*sentences, *self._about_lean(), self._about_cost()]

    def _about_lean(self) -> list[str]:
        """Say whether neutral words leaned more than chance along the directions of the groups."""
        row = next(
            row
            for row in self.measured.rows
            if row.measure == BY_KEY["midb"].main and row.details["stage"] == "before"
        )
        if "beyond_chance" not in row.details:
            return []
        more = "more than" if row.details["beyond_chance"] else "no more than"
        return [
            f"Before, neutral words lean along the directions of the groups {more} along others "
            "that mean nothing."
        ]

    def _about_cost(self) -> str:
        cost = {row.measure: row for row in self.measured.rows if "word" not in row.details}
        moved, preserved = cost["displacement"], cost["neighbours-preserved"]
        sentence = f"Cost: words move by {moved.value:.1%} of their length on average"
        if preserved.value is None:
            return f"{sentence}."
        k = str(preserved.details["setting"]).removeprefix("k=")
        return f"{sentence} and keep {preserved.value:.1%} of their {k} nearest words."


def study(
    embedding: Embedding,
    vocabulary: Sequence[str],
    attribute: Attribute,
    *,
    dims: int = 4,
    centre: bool = False,
    hard: bool = False,
    weights: str = "variance",
    seed: int = 0,
    chance: Values | None = None,
    null: int = 0,
    lists: int = 0,
) -> Study:
    """Fit MISP on an embedding and compare it with what the removal leaves."""
    # The embedding has at least the vocabulary and the `listed_words`; other words are not looked
    # at. MIDB is measured along the weights of the variance, whatever weights are removed.
    part = embedding.subset([*vocabulary, *sorted(listed_words(attribute))])
    diagnosis = Diagnosis.of(part, attribute, dims, centre=centre, seed=seed)
    options: dict[str, Any] = {"dims": dims, "centre": centre, "seed": seed}

    def removal(subspace: Subspace) -> Projection:
        return Projection(reweighted(subspace, weights), hard)

    projection = removal(diagnosis.subspace)
    chain = Chain((Fitted(projection.name, (projection,)),))
    removals = random_removals(part, chain, vocabulary, null, seed=seed)
    measured = effect_beside_null(part, chain, vocabulary, attribute, removals, **options)
    if lists:
        values = over_lists(part, vocabulary, attribute, removal, lists, **options)
        rows = with_lists(measured.rows, values, items_of_lists(attribute, seed))
        measured = replace(measured, rows=rows)
    measured = replace(measured, rows=with_chance(measured.rows, chance or {}))
    of_components = with_chance(diagnosis.component_rows(projection), chance or {})
    return Study(projection, vocabulary, diagnosis, measured, of_components)


def chance_levels(
    embedding: Embedding,
    vocabulary: Sequence[str],
    attribute: Attribute,
    *,
    dims: int = 4,
    centre: bool = False,
    seed: int = 0,
) -> Values:
    """Measure bias along directions that do not mean the attribute, before anything is removed."""
    # The words of the embedding are in the order of frequency.
    panel = Panel(embedding, embedding, vocabulary, attribute, dims=dims, centre=centre, seed=seed)
    return chance_values(panel, ("midb", "direct-bias"))
