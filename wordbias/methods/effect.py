"""One run of MISP, whole: fitted, diagnosed, measured before and after.

What a debiasing did: bias before and after, how far words moved, which neighbours they kept.

What the components of a fitted subspace describe, and what a reader must know of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.chance import chance, with_chance
from wordbias.measures.components import ALIKE, DESCRIBES_DIFFERENCE, STABLE, Components, components
from wordbias.measures.direction import axis
from wordbias.measures.family import Values
from wordbias.measures.midb import Value, fit_directions
from wordbias.measures.movement import displacement, neighbours_preserved
from wordbias.measures.panel import Panel
from wordbias.measures.registry import BY_KEY, ideal, short_title
from wordbias.methods.fitted import Fitted
from wordbias.methods.misp import (
    Groups,
    check_dims,
    find_groups,
    fit_groups,
    group_vectors,
    resolve_groups,
    reweighted,
)
from wordbias.methods.transform import Projection, transformed
from wordbias.methods.words import listed_words
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, Resolved, WordGroups
from wordbias.wordlists.groups import FEW_NAMES

NEIGHBOURS = 10
QUERIES = 1000
MOST_MOVED = 10


@dataclass(frozen=True)
class Effect:
    """Rows of all values; `most_moved` are those of the ten words that moved furthest."""

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
        What bias is measured along; None takes no bias, only what it cost.
    dims, center
        Of the subspace that MIDB is measured along.
    seed
        For the words whose neighbours are compared.

    Returns
    -------
    Effect
        ``reference="before"`` is measured along what was fitted before and is frozen since;
        ``reference="self"``, what the papers' tables show, along the same recipe fitted anew.
    """
    chosen = before.rows(vocabulary)[0]
    finite = np.isfinite(after.vectors).all(axis=1)
    if not finite.all():
        word = after.words[int(finite.argmin())]
        raise WordbiasError(f"{after.name}: the vector of {word!r} leaves the range of float32")
    first = slice(len(chosen)) if np.array_equal(chosen, np.arange(len(chosen))) else chosen
    old, new = before.vectors[first], after.vectors[first]  # no copies where that is possible
    rows: list[Row] = []
    if attribute is not None:
        frozen = fit_directions(before, attribute, dims=dims, center=center)
        anew = fit_directions(after, attribute, dims=dims, center=center)
        name, n = before.name, len(old)
        rows += _rows(name, frozen.measure(old), center, n=n, stage="before")
        rows += _rows(name, frozen.measure(new), center, n=n, stage="after", reference="before")
        rows += _rows(name, anew.measure(new), center, n=n, stage="after", reference="self")
    moved = displacement(old, new)
    furthest = np.argsort(-moved, kind="stable")[:MOST_MOVED].tolist()
    most_moved = [
        _displacement_row(before.name, moved[[i]], word=before.words[chosen[i]]) for i in furthest
    ]
    rows += [_displacement_row(before.name, moved), *most_moved]
    rows += _neighbour_rows(before.name, old, new, seed)
    return Effect(rows, most_moved)


def _rows(subject: str, values: dict[str, Value], center: bool, **details: Any) -> Iterator[Row]:
    for measure, (value, reason) in values.items():
        because: dict[str, Any] = {"reason": reason} if reason else {}
        if measure.startswith("midb"):
            because["centred"] = center
        yield Row(subject, measure, value, {**details, **ideal(measure), **because})


def _displacement_row(subject: str, moved: NDArray[np.float64], **details: Any) -> Row:
    convention = {"stage": "after", "n": len(moved), **ideal("displacement")}
    return Row(subject, "displacement", float(moved.mean()), {**convention, **details})


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


REMOVED = "difference-removed"


def diagnosed(
    projection: Projection,
    embedding: Embedding,
    attribute: Attribute | WordGroups,
    settings: dict[str, Any],
) -> Fitted:
    """Make a fitted method of MISP or MHD: with what its components describe.

    Parameters
    ----------
    projection
        Fitted on the embedding and the attribute's groups.
    settings
        Of the fit; ``center`` among them. The components are those weighed by variance, whatever
        weights are removed.
    """
    center = bool(settings["center"] or settings.get("as_published"))
    settings = {**settings, "dims": projection.subspace.dims, "center": center}
    if isinstance(attribute, WordGroups):
        return _of_means(projection, embedding, attribute, settings)
    groups = find_groups(embedding, attribute)
    vectors = groups.vectors(embedding)
    fitted = Subspace.from_groups(*vectors, settings["dims"], center=center)
    direction = axis(embedding, attribute)[0]
    found = components(fitted, *vectors, direction, np.random.default_rng(0), center=center)
    rows = component_rows(embedding.name, found, groups, _removed(projection), center)
    rows.insert(0, removed_row(embedding.name, projection, vectors, center))
    said = cautions(found, attribute, groups)
    return Fitted(
        projection.name, (projection,), found=tuple(rows), settings=settings, warnings=tuple(said)
    )


def _of_means(
    projection: Projection, embedding: Embedding, groups: WordGroups, settings: dict[str, Any]
) -> Fitted:
    """One row a component of the groups' means, with how far each group's mean lies along it."""
    found = resolve_groups(embedding, groups)
    said = {
        "n": sum(len(group.found) for group in found),
        "missing": [word for group in found for word in group.missing],
    }
    return Fitted(
        projection.name,
        (projection,),
        found=tuple(_mean_rows(projection, embedding, groups, said)),
        settings={
            key: value for key, value in settings.items() if key not in ("center", "as_published")
        },
        warnings=tuple(_about_missing(groups.groups, found, first_names=groups.first_names)),
    )


def _mean_rows(
    projection: Projection, embedding: Embedding, groups: WordGroups, said: dict[str, Any]
) -> Iterator[Row]:
    means = np.stack([x.mean(0, np.float64) for x in group_vectors(embedding, groups)])
    fitted = fit_groups(embedding, groups, projection.subspace.dims)
    along = fitted.coordinates(means - means.mean(0))
    removed = _removed(projection)
    for i, weight in enumerate(fitted.weights.tolist()):
        means_along = dict(zip(groups.groups, along[:, i].tolist(), strict=True))
        about = {"component": i + 1, "removed": removed[i], **means_along, **said}
        yield Row(embedding.name, "variance-between-means", weight, about)


def _removed(projection: Projection) -> list[float]:
    """Return how much of each component is removed."""
    weights: list[float] = projection.subspace.weights.tolist()
    return [1.0] * len(weights) if projection.hard else weights


def component_rows(
    subject: str, found: Components, groups: Groups, removed: Sequence[float], center: bool
) -> list[Row]:
    """One row a component, and the share of the groups' difference that lies in their span."""
    sizes = {
        "n": sum(len(group.found) for group in groups),
        "setting": "centred" if center else "not centred",
        "centred": center,
    }
    missing = [word for group in groups for word in group.missing]
    along = found.cos_direction
    rows = []
    for i, weight in enumerate(found.weights.tolist()):
        details = {
            "component": i + 1,
            "removed": removed[i],
            "cos_difference": float(found.cos_difference[i]),
            "cos_direction": None if along is None else float(along[i]),
            "sign_stability": float(found.stability[i]),
        }
        rows.append(Row(subject, "explained-variance", weight, {**details, **sizes}))
    return [*rows, Row(subject, "difference-in-span", found.share, {**sizes, "missing": missing})]


def difference_removed(
    projection: Projection, first: NDArray[np.float32], second: NDArray[np.float32]
) -> float | None:
    """Share of ``‖Δ‖²``, the squared difference of the groups' means, that a projection removes.

    None where the groups do not differ.
    """
    delta = first.mean(0, np.float64) - second.mean(0, np.float64)
    left = projection(delta)
    return float(1 - left @ left / (delta @ delta)) if delta.any() else None


def about_removal(row: Row) -> list[str]:
    """Say in one sentence what a `removed_row` tells; nothing where it is undefined."""
    share, published = row.value, row.details.get("published")
    if share is None:
        return []
    beside = "" if published is None else f"; the published variant {_percent(published)}"
    if row.details["centred"] and share == published:
        beside = ", as published: the differences are centred"
    return [f"Removed {_percent(share)} of the difference between the groups{beside}."]


def _percent(share: float) -> str:
    """Write a share; one that is nearly all of it with one more digit."""
    return f"{share:.1%}" if 0.99 < share < 1 else f"{share:.0%}"


def removed_row(
    subject: str,
    projection: Projection,
    vectors: Sequence[NDArray[np.float32]],
    center: bool,
) -> Row:
    """Say how much of the groups' difference a fit removes, and the published fit beside it."""
    first, second = vectors
    details: dict[str, Any] = {"centred": center, "n": len(first) + len(second)}
    share = difference_removed(projection, first, second)
    if share is None:
        details["reason"] = "undefined: the groups' means are the same"
    try:
        centred = Subspace.from_groups(first, second, projection.subspace.dims, center=True)
    except WordbiasError:  # centred differences of few words span fewer components
        return Row(subject, REMOVED, share, details)
    published = difference_removed(replace(projection, subspace=centred), first, second)
    return Row(subject, REMOVED, share, {"published": published, **details})


def fit_cautions(
    embedding: Embedding, attribute: Attribute, *, dims: int, center: bool, seed: int
) -> list[str]:
    """Fit the subspace of MIDB and say what a reader must know of it; nothing if it has none."""
    try:
        groups = find_groups(embedding, attribute)
        vectors = groups.vectors(embedding)
        fitted = Subspace.from_groups(*vectors, dims, center=center)
    except WordbiasError:
        return []  # what is measured along it says why it is undefined
    rng = np.random.default_rng(seed)
    direction = axis(embedding, attribute)[0]
    found = components(fitted, *vectors, direction, rng, center=center)
    return cautions(found, attribute, groups)


def cautions(found: Components, attribute: Attribute, groups: Groups) -> list[str]:
    """Say where too few words were found, the difference is left out, or a component is noise."""
    said = _about_missing(attribute.groups, groups, first_names=attribute.first_names)
    if found.first_stability is not None and found.first_stability < ALIKE:
        said.append(
            f"the first component hangs on which words are in the groups: of words drawn again it "
            f"has the mean |cos| {found.first_stability:.2f} with this one; give more words"
        )
    if found.share < DESCRIBES_DIFFERENCE:
        said.append(
            f"these components hold {found.share:.0%} of the difference between the groups: "
            "they describe variation within the groups (among their words) more than that "
            "difference; without --center or --as-published they contain it"
        )
    noisy = ", ".join(f"g{i + 1}" for i, share in enumerate(found.stability) if share < STABLE)
    if noisy:
        said.append(
            f"the sign of {noisy} is noise (bootstrap stability below {STABLE}), and signed "
            "MIDB with it; midb-rms does not depend on signs"
        )
    return said


def _about_missing(
    names: Sequence[str], groups: Sequence[Resolved[str]], *, first_names: bool
) -> list[str]:
    said = []
    for name, group in zip(names, groups, strict=True):
        few = first_names and len(group.found) < FEW_NAMES
        if few or len(group.found) < len(group.listed) / 2:
            noun = "first names" if first_names else "words"
            first = ", ".join(group.missing[:3])
            said.append(
                f"group {name}: only {len(group.found)} of {len(group.listed)} {noun} found"
                + (f" (missing: {first}, …)" if first else "")
                + "; another choice may give another result"
            )
    return said


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
class Settings:
    """What is fitted and removed, see `wordbias.methods.misp.fit`; whether chance is measured."""

    dims: int = 4
    center: bool = False
    hard: bool = False
    weights: str = "variance"
    chance: bool = True
    seed: int = 0


@dataclass(frozen=True)
class Study:
    """What was fitted, on which words, and what it changed."""

    subject: str
    attribute: Attribute
    projection: Projection
    groups: Groups
    vocabulary: Sequence[str]
    diagnosis: Components
    removal: Row
    measured: Effect
    settings: Settings
    chance: Values

    @property
    def removed(self) -> list[float]:
        """How much of each component was removed."""
        weights: list[float] = self.projection.subspace.weights.tolist()
        return [1.0] * len(weights) if self.projection.hard else weights

    @property
    def rows(self) -> list[Row]:
        """All values: what was removed, the components, what changed."""
        own = component_rows(
            self.subject, self.diagnosis, self.groups, self.removed, self.settings.center
        )
        return [self.removal, *with_chance([*own, *self.measured.rows], self.chance)]

    @property
    def warnings(self) -> list[str]:
        """What a reader of the values must know."""
        return cautions(self.diagnosis, self.attribute, self.groups)

    @property
    def summary(self) -> list[str]:
        """Say what was removed, what fell, what did not, and what it cost."""
        removal = about_removal(self.removal)
        return [*removal, *self._about_change(), self._about_cost()]

    def _about_change(self) -> list[str]:
        """Separate what fell, as it should, along the directions fitted before, from the rest."""
        found = {
            (row.measure, row.details.get("stage"), row.details.get("reference")): row.value
            for row in self.measured.rows
        }
        fell: list[str] = []
        stayed: list[str] = []
        for measure in _SHOULD_FALL:
            before, after = (found.get((measure, *k)) for k in _STAGES)
            if before is not None and after is not None:
                told = fell if after < (1 - _LEAST) * before else stayed
                told.append(f"{short_title(measure)} {before:.3f} → {after:.3f}")
        lists = (("Fell", fell), (f"Did not fall by {_LEAST:.0%}", stayed))
        return [f"{what}: {', '.join(steps)}." for what, steps in lists if steps]

    def _about_cost(self) -> str:
        cost = {row.measure: row for row in self.measured.rows if "word" not in row.details}
        moved, kept = cost["displacement"], cost["neighbours-preserved"]
        said = f"Cost: words moved by {moved.value:.1%} of their length on average"
        if kept.value is None:
            return f"{said}."
        k = str(kept.details["setting"]).removeprefix("k=")
        return f"{said} and keep {kept.value:.1%} of their {k} nearest words."


def study(
    embedding: Embedding,
    vocabulary: Sequence[str],
    attribute: Attribute,
    settings: Settings,
    levels: Values | None = None,
) -> Study:
    """Fit MISP on an embedding and compare it with what the removal leaves.

    Parameters
    ----------
    embedding
        At least the vocabulary and the `listed_words`; what else it holds is not looked at.
    vocabulary
        V_t, the words to average over.
    attribute
        The groups.
    settings
        What to fit and remove. MIDB is measured along the weights of the variance, whatever
        weights are removed.
    levels
        Of chance, if they are known; see `chance_levels`.
    """
    dims, center, seed = settings.dims, settings.center, settings.seed
    if levels is None:
        levels = chance_levels(embedding, vocabulary, attribute, settings)
    part = embedding.subset([*vocabulary, *sorted(listed_words(attribute))])
    groups = find_groups(part, attribute)
    check_dims(dims, part.dim)
    vectors = groups.vectors(part)
    fitted = Subspace.from_groups(*vectors, dims, center=center)
    projection = Projection(reweighted(fitted, settings.weights), settings.hard)
    after = transformed(part, projection)
    return Study(
        subject=embedding.name,
        attribute=attribute,
        projection=projection,
        groups=groups,
        vocabulary=vocabulary,
        diagnosis=components(
            fitted,
            *vectors,
            axis(part, attribute)[0],
            np.random.default_rng(seed),
            center=center,
        ),
        removal=removed_row(embedding.name, projection, vectors, center),
        measured=effect(part, after, vocabulary, attribute, dims=dims, center=center, seed=seed),
        settings=settings,
        chance=levels,
    )


def chance_levels(
    embedding: Embedding, vocabulary: Sequence[str], attribute: Attribute, settings: Settings
) -> Values:
    """Take the measures along what does not mean the attribute, before anything is removed.

    The words of the embedding are in the order of frequency.
    """
    if not settings.chance:
        return {}
    panel = Panel(
        embedding,
        embedding,
        vocabulary,
        attribute,
        dims=settings.dims,
        center=settings.center,
        seed=settings.seed,
    )
    return chance(panel, ("midb", "direct-bias"))
