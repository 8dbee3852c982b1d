"""One run of MISP, whole: fitted, diagnosed, measured before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wordbias.debias.diagnosis import cautions, component_rows
from wordbias.debias.effect import Effect, effect
from wordbias.debias.misp import Groups, check_dims, find_groups, reweighted
from wordbias.debias.projection import Projection
from wordbias.debias.transform import transformed
from wordbias.debias.words import listed_words
from wordbias.embedding import Embedding
from wordbias.measures.components import Components, components
from wordbias.measures.lens import axis
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute

_STAGES = (("before", None), ("after", "before"))


@dataclass(frozen=True)
class Settings:
    """What is fitted and removed; see `wordbias.debias.misp.fit`."""

    dims: int = 4
    center: bool = True
    hard: bool = False
    weights: str = "variance"
    seed: int = 0


@dataclass(frozen=True)
class Study:
    """What was fitted, on which words, and what it changed."""

    subject: str
    names: tuple[str, str]
    projection: Projection
    groups: Groups
    vocabulary: Sequence[str]
    diagnosis: Components
    measured: Effect
    settings: Settings

    @property
    def removed(self) -> list[float]:
        """How much of each component was removed."""
        weights: list[float] = self.projection.subspace.weights.tolist()
        return [1.0] * len(weights) if self.projection.hard else weights

    @property
    def rows(self) -> list[Row]:
        """All values, the components' first."""
        own = component_rows(
            self.subject, self.diagnosis, self.groups, self.removed, self.settings.center
        )
        return [*own, *self.measured.rows]

    @property
    def warnings(self) -> list[str]:
        """What a reader of the values must know."""
        return [*cautions(self.diagnosis, self.names, self.groups), *self._about_worse()]

    def _about_worse(self) -> list[str]:
        """Name what should be lower and is not, along the frozen lens."""
        found = {
            (row.measure, row.details.get("stage"), row.details.get("reference")): row.value
            for row in self.measured.rows
        }
        worse = []
        for measure in ("midb-abs", "midb-rms", "direct-bias", "direct-bias-pca"):
            before, after = (found.get((measure, *k)) for k in _STAGES)
            if before is not None and after is not None and after >= before:
                worse.append(f"{measure} {before:.4f} → {after:.4f}")
        return [f"did not fall: {', '.join(worse)}"] if worse else []


def study(
    embedding: Embedding, vocabulary: Sequence[str], attribute: Attribute, settings: Settings
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
    """
    dims, center, seed = settings.dims, settings.center, settings.seed
    part = embedding.subset([*vocabulary, *sorted(listed_words(attribute))])
    groups = find_groups(part, attribute)
    check_dims(dims, part.dim)
    vectors = groups.vectors(part)
    fitted = Subspace.from_groups(*vectors, dims, center=center)
    projection = Projection(reweighted(fitted, settings.weights), settings.hard)
    after = transformed(part, projection)
    return Study(
        subject=embedding.name,
        names=attribute.groups,
        projection=projection,
        groups=groups,
        vocabulary=vocabulary,
        diagnosis=components(
            fitted, *vectors, axis(part, attribute)[0], np.random.default_rng(seed)
        ),
        measured=effect(part, after, vocabulary, attribute, dims=dims, center=center, seed=seed),
        settings=settings,
    )
