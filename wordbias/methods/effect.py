"""Effect of debiasing: bias before and after, how far words moved, which neighbours they kept.

`effect` compares any two embeddings of the same words; `study` is one run of MISP as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.chance import chance, with_chance
from wordbias.measures.family import Values
from wordbias.measures.midb import Value, fit_directions
from wordbias.measures.movement import displacement, neighbours_preserved
from wordbias.measures.panel import Panel
from wordbias.measures.registry import BY_KEY, ideal, short_title
from wordbias.methods.diagnosis import Diagnosis, about_removal
from wordbias.methods.misp import random_removals, reweighted
from wordbias.methods.transform import Projection, transformed
from wordbias.methods.words import listed_words
from wordbias.results import Row
from wordbias.statistics import ends, p_of_null
from wordbias.wordlists import Attribute

Float = NDArray[np.float64]
Change = tuple[str, str]
"""Measure, and the directions along which it was taken after: those before, or self."""

NEIGHBOURS = 10
QUERIES = 1000
MOST_MOVED = 10

_STAGES = (("before", None), ("after", "before"))
_SHOULD_FALL = tuple(
    one.name
    for key in ("midb", "direct-bias")
    for one in BY_KEY[key].measures
    if one.listed and one.better == "lower"
)
_LEAST = 0.01
"""Part of its value that a measure must lose to be called fallen."""


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
    center: bool = False,
    seed: int = 0,
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
    dims, center
        Components of the subspace that MIDB is measured along; see `wordbias.methods.misp.fit`.
    seed
        Seed of the words whose neighbours are compared.

    Returns
    -------
    Effect
        Rows with ``reference="before"`` are measured along the directions fitted before; those
        with ``reference="self"``, as in the papers' tables, along directions fitted anew.
    """
    chosen = before.rows(vocabulary)[0]
    finite = np.isfinite(after.vectors).all(axis=1)
    if not finite.all():
        word = after.words[int(finite.argmin())]
        raise WordbiasError(f"{after.name}: the vector of {word!r} leaves the range of float32")
    in_order = np.array_equal(chosen, np.arange(len(chosen)))
    places = slice(len(chosen)) if in_order else chosen  # a slice copies nothing
    old, new = before.vectors[places], after.vectors[places]
    rows: list[Row] = []
    if attribute is not None:
        frozen = fit_directions(before, attribute, dims=dims, center=center)
        anew = fit_directions(after, attribute, dims=dims, center=center)
        name, n = before.name, len(old)
        rows += _bias_rows(name, frozen.measure(old), center, n=n, stage="before")
        rows += _bias_rows(
            name, frozen.measure(new), center, n=n, stage="after", reference="before"
        )
        rows += _bias_rows(name, anew.measure(new), center, n=n, stage="after", reference="self")
    moved = displacement(old, new)
    furthest = np.argsort(-moved, kind="stable")[:MOST_MOVED].tolist()
    most_moved = [
        _displacement_row(before.name, moved[[i]], word=before.words[chosen[i]]) for i in furthest
    ]
    rows += [_displacement_row(before.name, moved), *most_moved]
    rows += _neighbour_rows(before.name, old, new, seed)
    return Effect(rows, most_moved)


def _bias_rows(
    subject: str, values: dict[str, Value], center: bool, **details: Any
) -> Iterator[Row]:
    for measure, (value, reason) in values.items():
        more: dict[str, Any] = {"reason": reason} if reason else {}
        if measure.startswith("midb"):
            more["centred"] = center
        yield Row(subject, measure, value, {**details, **ideal(measure), **more})


def _displacement_row(subject: str, moved: NDArray[np.float64], **details: Any) -> Row:
    details = {"stage": "after", "n": len(moved), **ideal("displacement"), **details}
    return Row(subject, "displacement", float(moved.mean()), details)


def _neighbour_rows(
    subject: str, old: NDArray[np.float32], new: NDArray[np.float32], seed: int
) -> Iterator[Row]:
    k = min(NEIGHBOURS, len(old) - 1)
    details = {"stage": "after", "setting": f"k={k}", **ideal("neighbours-preserved")}
    if k < 1:
        reason = "undefined: the vocabulary has a single word"
        yield Row(subject, "neighbours-preserved", None, {**details, "reason": reason})
        return
    kept = neighbours_preserved(old, new, np.random.default_rng(seed), sample=QUERIES, k=k)
    if len(kept) == 0:
        reason = "undefined: every vector is zero before or after"
        yield Row(subject, "neighbours-preserved", None, {**details, "n": 0, "reason": reason})
        return
    yield Row(subject, "neighbours-preserved", float(kept.mean()), {**details, "n": len(kept)})


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


def with_null(rows: Sequence[Row], null: Mapping[Change, Float]) -> list[Row]:
    """Add to rows after a removal their change, and what random removals changed.

    Parameters
    ----------
    rows
        Rows of `effect`.
    null
        Changes by random removals, shape ``(draws,)`` each.

    Returns
    -------
    list of Row
        With `change`; of the random changes their mean `null`, the middle 95 % (`null_low`,
        `null_high`) and number `null_draws`; `null_less`, how many are smaller in size; and the
        two-sided `null_p`, (1 + those that are not smaller) / (1 + draws).
    """
    real = changes(rows)
    made = []
    for row in rows:
        key = _change_of(row)
        if key in null and key in real:
            drawn = null[key]
            size, sizes = abs(real[key]), np.abs(drawn)
            row = replace(
                row,
                details={
                    **row.details,
                    "change": real[key],
                    "null": float(drawn.mean()),
                    **{f"null_{end}": value for end, value in ends(drawn).items()},
                    "null_draws": len(drawn),
                    "null_less": int((sizes < size).sum()),
                    "null_p": p_of_null(sizes, size),
                },
            )
        made.append(row)
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
        Changes by random removals; see `with_null`.
    """

    projection: Projection
    vocabulary: Sequence[str]
    diagnosis: Diagnosis
    measured: Effect
    chance: Values
    null: Mapping[Change, Float]

    @cached_property
    def removal(self) -> Row:
        """Share of the groups' difference that was removed."""
        return self.diagnosis.removed_row(self.projection)

    @property
    def rows(self) -> list[Row]:
        """All values: what was removed, the components, what changed."""
        measured = with_null(self.measured.rows, self.null)
        rows = [*self.diagnosis.component_rows(self.projection), *measured]
        return [self.removal, *with_chance(rows, self.chance)]

    @property
    def summary(self) -> list[str]:
        """Sentences on what was removed, what fell, what did not, and what it cost."""
        return [*about_removal(self.removal), *self._about_change(), self._about_cost()]

    def _about_change(self) -> list[str]:
        """Separate what fell, as it should, along the directions fitted before, from the rest."""
        values = {
            (row.measure, row.details.get("stage"), row.details.get("reference")): row.value
            for row in self.measured.rows
        }
        fell: list[str] = []
        stayed: list[str] = []
        for measure in _SHOULD_FALL:
            before, after = (values.get((measure, *stage)) for stage in _STAGES)
            if before is not None and after is not None:
                changes = fell if after < (1 - _LEAST) * before else stayed
                changes.append(f"{short_title(measure)} {before:.3f} → {after:.3f}")
        lists = (("Fell", fell), (f"Did not fall by {_LEAST:.0%}", stayed))
        return [f"{what}: {', '.join(changes)}." for what, changes in lists if changes]

    def _about_cost(self) -> str:
        cost = {row.measure: row for row in self.measured.rows if "word" not in row.details}
        moved, kept = cost["displacement"], cost["neighbours-preserved"]
        sentence = f"Cost: words moved by {moved.value:.1%} of their length on average"
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
    center: bool = False,
    hard: bool = False,
    weights: str = "variance",
    seed: int = 0,
    chance: Values | None = None,
    null: int = 0,
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
    dims, center, hard, weights
        See `wordbias.methods.misp.fit`. MIDB is measured along the weights of the variance,
        whatever weights are removed.
    seed
        Seed of the bootstrap, and of the words whose neighbours are compared.
    chance
        Values by chance; see `chance_levels`.
    null
        Number of removals with the same weights along random directions.
    """
    part = embedding.subset([*vocabulary, *sorted(listed_words(attribute))])
    diagnosis = Diagnosis.of(part, attribute, dims, center=center, seed=seed)
    projection = Projection(reweighted(diagnosis.subspace, weights), hard)

    def effect_of(removal: Projection) -> Effect:
        after = transformed(part, removal)
        return effect(part, after, vocabulary, attribute, dims=dims, center=center, seed=seed)

    measured = effect_of(projection)
    drawn = [changes(effect_of(one).rows) for one in random_removals(projection, null, seed=seed)]
    known = {key: [one[key] for one in drawn if key in one] for key in changes(measured.rows)}
    by_chance = {key: np.array(values) for key, values in known.items() if values}
    return Study(projection, vocabulary, diagnosis, measured, chance or {}, by_chance)


def chance_levels(
    embedding: Embedding,
    vocabulary: Sequence[str],
    attribute: Attribute,
    *,
    dims: int = 4,
    center: bool = False,
    seed: int = 0,
) -> Values:
    """Measure bias along directions that do not mean the attribute, before anything is removed.

    The words of the embedding are in the order of frequency.
    """
    panel = Panel(embedding, embedding, vocabulary, attribute, dims=dims, center=center, seed=seed)
    return chance(panel, ("midb", "direct-bias"))
