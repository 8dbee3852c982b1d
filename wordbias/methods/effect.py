"""Effect of debiasing: bias before and after, how far words moved, which neighbours they kept.

`effect` compares any two embeddings of the same words; `study` is one run of MISP as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.draws import LISTS, change_interval, drawn, middle, null_keys, spread_keys
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.chance import Values, with_chance
from wordbias.measures.evaluate import chance_values
from wordbias.measures.midb import (
    MIDB,
    BiasDirections,
    Value,
    directions_of,
    fit_directions,
)
from wordbias.measures.movement import displacement, length_ratio, neighbours_kept_by
from wordbias.measures.panel import Panel
from wordbias.measures.registry import BY_KEY, MEASURES, ideal
from wordbias.measures.word_lists import redrawn, redraws
from wordbias.methods.diagnosis import Diagnosis, about_removal, nearer
from wordbias.methods.fitted import Chain, Fitted
from wordbias.methods.misp import reweighted
from wordbias.methods.null import chains_as_far, random_chains
from wordbias.methods.transform import Projection, transformed
from wordbias.methods.words import listed_words
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute

Float = NDArray[np.float64]
Change = tuple[str, str]
"""Measure, and the directions along which it was taken after: those before, or self."""
Stage = tuple[str, str, str]
"""Measure, before or after, and the directions along which it was taken."""
Null = Mapping[Change, Float] | str
"""Changes by random removals, shape ``(draws,)`` each, and under ``("directions", "")`` the sum of
the weights of each; or why there is none."""
LEFT_OUT = "left-out"
"""Directions of the names that a redraw of the word lists leaves out."""

NEIGHBOURS = 10
QUERIES = 1000
MOST_MOVED = 10


@dataclass(frozen=True)
class Effect:
    """Change of an embedding.

    Attributes
    ----------
    rows
        All values.
    most_moved
        The rows among them of the ten words that moved furthest.
    """

    rows: list[Row]
    most_moved: list[Row]


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
    """Compare an embedding before and after debiasing.

    Parameters
    ----------
    before, after
        The same words; at least the vocabulary and the attribute's words.
    vocabulary
        V_t, the words that should be neutral; not empty.
    attribute
        Groups to measure bias of; None measures only what debiasing cost.
    dims, centre
        Components of the subspace that MIDB is measured along; see `wordbias.methods.misp.fit`.
    seed
        Seed of the words whose neighbours are compared.
    along
        Directions before and after, in place of those fitted to the attribute.

    Returns
    -------
    Effect
        Rows with ``reference="before"`` are measured along the directions fitted before; those
        with ``reference="self"``, as in the papers' tables, along directions fitted anew.
    """
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


def _neighbour_row(subject: str, k: int, kept: Float | None) -> Row:
    details = {"stage": "after", "setting": f"k={k}", **ideal("neighbours-preserved")}
    if kept is None:
        undefined = "undefined: the vocabulary has a single word"
    else:
        details["n"] = len(kept)
        undefined = "" if len(kept) else "undefined: every vector is zero before or after"
    if undefined:
        details["reason"] = undefined
    value = None if kept is None or undefined else float(kept.mean())
    return Row(subject, "neighbours-preserved", value, details)


# random removals


def changes(rows: Sequence[Row]) -> dict[Change, float]:
    """Return after less before of each defined measure of `effect`, by measure and reference.

    Displacement and the neighbours kept have no value before: they are less their neutral value,
    that of no change.
    """
    found: dict[Change, float] = {}
    before = {row.measure: row.value for row in rows if row.details.get("stage") == "before"}
    for row in rows:
        key = _change_of(row)
        start = before.get(row.measure, row.details["neutral"])
        if key is not None and row.value is not None and start is not None:
            found[key] = row.value - start
    return found


def _change_of(row: Row) -> Change | None:
    """Return the key of a row about all words after the removal; None for another row."""
    if row.details.get("stage") != "after" or "word" in row.details:
        return None
    return row.measure, str(row.details.get("reference", ""))


def beside_random(
    part: Embedding,
    chain: Chain,
    vocabulary: Sequence[str],
    attribute: Attribute,
    draws: int,
    *,
    dims: int = 4,
    centre: bool = False,
    seed: int = 0,
) -> tuple[Effect, dict[str, Null]]:
    """Measure a chain, and chains of random directions in its place.

    Parameters
    ----------
    part
        At least the vocabulary and the `listed_words`.

    Returns
    -------
    Effect, dict
        The effect of the chain, and the changes by random removals. ``null``: with the same
        weights; ``null_as_far``: of as many directions as move words as far as the chain, see
        `chains_as_far`; ``null_covariance``: the same, with directions drawn by the words'
        covariance. Empty without draws.
    """
    drawn, directions, reasons = random_removals(part, chain, vocabulary, draws, seed=seed)
    nulls: dict[str, Null] = {**reasons}
    results = (one(part) for chains in ([chain], *drawn.values()) for one in chains)
    measured = effects(part, results, vocabulary, attribute, dims=dims, centre=centre, seed=seed)
    own = next(measured)
    for name, chains in drawn.items():
        found = [changes(one.rows) for one in islice(measured, len(chains))]
        known = {key: [one[key] for one in found if key in one] for key in changes(own.rows)}
        changed = {key: np.array(values) for key, values in known.items() if values}
        if name in directions:
            changed["directions", ""] = directions[name]
        nulls[name] = changed
    return own, nulls


def random_removals(
    embedding: Embedding, chain: Chain, vocabulary: Sequence[str], draws: int, *, seed: int = 0
) -> tuple[dict[str, list[Chain]], dict[str, Float], dict[str, str]]:
    """Draw chains of random directions in place of a chain's, of each kind; see `beside_random`.

    Returns
    -------
    chains, directions, reasons
        By kind: the chains, the number of directions of those that move words as far, and the
        reason why there are none.
    """
    if not draws:
        return {}, {}, {}
    drawn = {"null": list(random_chains(chain, draws, seed=seed))}
    directions: dict[str, Float] = {}
    reasons: dict[str, str] = {}
    for name, by_covariance in (("null_as_far", False), ("null_covariance", True)):
        try:
            drawn[name], directions[name] = chains_as_far(
                chain, embedding, vocabulary, draws, by_covariance=by_covariance, seed=seed
            )
        except WordbiasError as error:
            reasons[name] = str(error)
    return drawn, directions, reasons


def with_null(rows: Sequence[Row], nulls: Mapping[str, Null]) -> list[Row]:
    """Add to rows after a removal their change, and what random removals changed.

    Parameters
    ----------
    rows
        Rows of `effect`.
    nulls
        See `beside_random`.

    Returns
    -------
    list of Row
        With `change`; for each name of `nulls`, such as `null`, the mean of the random changes
        (`null`), the middle 95 % (`null_low`, `null_high`) and number (`null_draws`); `null_less`,
        how many are smaller in size; and the two-sided `null_p`, (1 + those that are not smaller) /
        (1 + draws). The row of displacement also has the mean number of directions,
        `null_as_far_directions`, or the reason why there is no such null, `null_as_far_reason`.
    """
    real = changes(rows)
    made = []
    for row in rows:
        key = _change_of(row)
        if key is None or key not in real:
            made.append(row)
            continue
        details, draws = dict(row.details), dict(row.draws)
        for name, null in nulls.items():
            about = {} if isinstance(null, str) else null
            if key in about:
                found = null_keys(name, row.value or 0.0, real[key], about[key])
                details |= {"change": real[key], **found}
                draws |= drawn(about[key], "removals", kind=name)
            if row.measure == "displacement" and isinstance(null, str):
                details[f"{name}_reason"] = null
            elif row.measure == "displacement" and ("directions", "") in about:
                details[f"{name}_directions"] = float(about["directions", ""].mean())
        made.append(replace(row, details=details, draws=draws))
    return made


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
    """Repeat fit and measurement with redrawn word lists.

    A redraw takes the place of the lists throughout: the removal is fitted to its names, and bias
    is measured before and after along its names and pairs. MIDB is also measured along the names
    that it leaves out, which the removal has not seen.

    Parameters
    ----------
    before
        At least the vocabulary and the `listed_words`.
    removal
        Makes the removal of a redraw from its subspace.
    draws
        Number of redraws; see `wordbias.measures.word_lists.redraws`.

    Returns
    -------
    dict
        Values of `effect`, shape ``(draws,)``, nan where undefined. Those along the names left out
        have the reference left-out, before and after.
    """
    panel = Panel(before, before, vocabulary, attribute, dims=dims, centre=centre, seed=seed)
    drawn = redraws(attribute, draws, seed)
    found: dict[Stage, Float] = {}
    nulls = zip(redrawn(panel, drawn), redrawn(panel, drawn, left_out=True), strict=True)
    for draw, (fitted, others) in enumerate(nulls):
        if fitted.subspace is None:
            continue
        after = transformed(before, removal(fitted.subspace))
        (anew,) = redrawn(replace(panel, embedding=after, original=after), [drawn[draw]])
        along = directions_of(fitted), directions_of(anew)
        measured = effect(before, after, vocabulary, attribute, seed=seed, along=along)
        values = {_stage_of(row): row.value for row in measured.rows if "word" not in row.details}
        unseen = directions_of(others)
        for stage, embedding in (("before", before), ("after", after)):
            midb = unseen.measure(embedding.take(vocabulary))
            values |= {(name, stage, LEFT_OUT): midb[name].value for name in MIDB}
        for key, value in values.items():
            column = found.setdefault(key, np.full(draws, np.nan))
            column[draw] = np.nan if value is None else value
    return found


def _stage_of(row: Row) -> Stage:
    return row.measure, str(row.details["stage"]), str(row.details.get("reference", ""))


def with_lists(rows: Sequence[Row], lists: Mapping[Stage, Float]) -> list[Row]:
    """Add intervals over word lists to the rows of `effect`.

    Parameters
    ----------
    lists
        See `over_lists`.

    Returns
    -------
    list of Row
        With `lists_draws`, the number of redraws with a value, and the middle 95 % of these,
        `lists_low` and `lists_high`; after the removal also with the `change`, and the middle 95 %
        of the changes, `change_lists_low` and `change_lists_high`. MIDB along the directions fitted
        before has the mean over the redraws, along the names that each leaves out, of its value
        before, `unseen_before`, and of its change, `unseen_change`, with their middle 95 %,
        `unseen_low` and `unseen_high`.
    """
    real = changes(rows)
    made = []
    for row in rows:
        key = _stage_of(row)
        own = lists.get(key, np.zeros(0))
        known = own[np.isfinite(own)]
        if "word" in row.details or row.value is None or not len(known):
            made.append(row)
            continue
        details = {**row.details, **spread_keys(LISTS, known)}
        if (change := _change_of(row)) in real:
            start = lists.get((row.measure, "before", ""), row.details["neutral"])
            details["change"] = real[change]
            ends = middle(own - start)
            details |= {} if ends is None else change_interval(ends, LISTS)
        if key[1:] == ("after", "before") and (row.measure, "after", LEFT_OUT) in lists:
            start, end = (lists[row.measure, stage, LEFT_OUT] for stage in ("before", "after"))
            if np.isfinite(end - start).any():
                details["unseen_before"] = float(np.nanmean(start))
                details["unseen_change"] = float(np.nanmean(end - start))
                details |= spread_keys("unseen", end - start)
        draws = {**row.draws, **drawn(own, LISTS, kind=LISTS)}
        made.append(replace(row, details=details, draws=draws))
    return made


# one run of MISP


@dataclass(frozen=True, eq=False)
class Study:
    """A run of MISP: what was fitted, on which words, and what it changed.

    Attributes
    ----------
    projection
        The removal.
    vocabulary
        Words to average over.
    diagnosis
        The subspace before its weights were replaced.
    measured
        Change of the embedding.
    chance
        Values by chance, by measure.
    null
        Changes by random removals; see `beside_random`.
    lists
        Values over redrawn word lists; see `over_lists`.
    """

    projection: Projection
    vocabulary: Sequence[str]
    diagnosis: Diagnosis
    measured: Effect
    chance: Values
    null: Mapping[str, Null]
    lists: Mapping[Stage, Float]

    @cached_property
    def removal(self) -> Row:
        """Share of the groups' difference that was removed."""
        return self.diagnosis.removed_row(self.projection)

    @property
    def rows(self) -> list[Row]:
        """All values: what was removed, the components, what changed."""
        measured = with_lists(with_null(self.measured.rows, self.null), self.lists)
        rows = [*self.diagnosis.component_rows(self.projection), *measured]
        return [self.removal, *with_chance(rows, self.chance)]

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
            for row in with_chance(self.measured.rows, self.chance)
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
        moved, kept = cost["displacement"], cost["neighbours-preserved"]
        sentence = f"Cost: words move by {moved.value:.1%} of their length on average"
        if kept.value is None:
            return f"{sentence}."
        k = str(kept.details["setting"]).removeprefix("k=")
        return f"{sentence} and keep {kept.value:.1%} of their {k} nearest words."


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
    """Fit MISP on an embedding and compare it with what the removal leaves.

    Parameters
    ----------
    embedding
        At least the vocabulary and the `listed_words`; other words are not looked at.
    vocabulary
        V_t, the words to average over.
    attribute
        The groups.
    dims, centre, hard, weights
        See `wordbias.methods.misp.fit`. MIDB is measured along the weights of the variance,
        whatever weights are removed.
    seed
        Seed of the bootstrap, and of the words whose neighbours are compared.
    chance
        Values by chance; see `chance_levels`.
    null
        Number of random removals of each kind; see `beside_random`.
    lists
        Number of redraws of the word lists.
    """
    part = embedding.subset([*vocabulary, *sorted(listed_words(attribute))])
    diagnosis = Diagnosis.of(part, attribute, dims, centre=centre, seed=seed)
    options: dict[str, Any] = {"dims": dims, "centre": centre, "seed": seed}

    def removal(subspace: Subspace) -> Projection:
        return Projection(reweighted(subspace, weights), hard)

    projection = removal(diagnosis.subspace)
    chain = Chain((Fitted(projection.name, (projection,)),))
    measured, by_chance = beside_random(part, chain, vocabulary, attribute, null, **options)
    redrawn_lists = over_lists(part, vocabulary, attribute, removal, lists, **options)
    return Study(
        projection, vocabulary, diagnosis, measured, chance or {}, by_chance, redrawn_lists
    )


def chance_levels(
    embedding: Embedding,
    vocabulary: Sequence[str],
    attribute: Attribute,
    *,
    dims: int = 4,
    centre: bool = False,
    seed: int = 0,
) -> Values:
    """Measure bias along directions that do not mean the attribute, before anything is removed.

    The words of the embedding are in the order of frequency.
    """
    panel = Panel(embedding, embedding, vocabulary, attribute, dims=dims, centre=centre, seed=seed)
    return chance_values(panel, ("midb", "direct-bias"))
