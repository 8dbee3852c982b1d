"""One run of MISP, whole: fitted, diagnosed, measured before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wordbias.embedding import Embedding
from wordbias.measures.chance import chance, with_chance
from wordbias.measures.components import Components, components
from wordbias.measures.family import Values
from wordbias.measures.lens import axis
from wordbias.measures.panel import Panel
from wordbias.measures.registry import BY_KEY, short_title
from wordbias.methods.diagnosis import about_removal, cautions, component_rows, removed_row
from wordbias.methods.effect import Effect, effect
from wordbias.methods.misp import Groups, check_dims, find_groups, reweighted
from wordbias.methods.projection import Projection
from wordbias.methods.transform import transformed
from wordbias.methods.words import listed_words
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute

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
