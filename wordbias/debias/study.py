"""One run of MISP, whole: fitted, diagnosed, measured before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wordbias.debias.effect import Effect, effect
from wordbias.debias.misp import Groups, check_dims, find_groups, reweighted
from wordbias.debias.projection import Projection
from wordbias.debias.transform import transformed
from wordbias.embedding import Embedding
from wordbias.measures.components import DESCRIBES_DIFFERENCE, STABLE, Components, components
from wordbias.measures.lens import axis
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, candidates

_FEW = 10
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
        return [*self._component_rows(), *self.measured.rows]

    @property
    def warnings(self) -> list[str]:
        """What a reader of the values must know."""
        found = self.diagnosis
        noisy = ", ".join(f"g{i + 1}" for i, share in enumerate(found.stability) if share < STABLE)
        said = self._about_missing()
        if found.share < DESCRIBES_DIFFERENCE:
            said.append(
                f"these components hold {found.share:.0%} of the difference between the groups: "
                "they describe variation within the groups (among names) more than that "
                "difference; --no-center keeps it"
            )
        if noisy:
            said.append(
                f"the sign of {noisy} is noise (bootstrap stability below {STABLE}), and signed "
                "MIDB with it; midb-rms does not depend on signs"
            )
        return said + self._about_worse()

    def _about_missing(self) -> list[str]:
        said = []
        for name, group in zip(self.names, self.groups, strict=True):
            if len(group.found) < len(group.asked) / 2 or len(group.found) < _FEW:
                first = ", ".join(group.missing[:3]) or "none"
                said.append(
                    f"group {name}: only {len(group.found)} of {len(group.asked)} words found "
                    f"(missing: {first}, …); what is fitted on so few is noise"
                )
        return said

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

    def _component_rows(self) -> list[Row]:
        found = self.diagnosis
        sizes = {
            "n": sum(len(group.found) for group in self.groups),
            "setting": "centred" if self.settings.center else "not centred",
        }
        missing = [word for group in self.groups for word in group.missing]
        along = found.cos_direction
        rows = []
        for i, weight in enumerate(found.weights.tolist()):
            details = {
                "component": i + 1,
                "removed": self.removed[i],
                "cos_difference": float(found.cos_difference[i]),
                "cos_direction": None if along is None else float(along[i]),
                "sign_stability": float(found.stability[i]),
            }
            rows.append(Row(self.subject, "explained-variance", weight, {**details, **sizes}))
        return [
            *rows,
            Row(self.subject, "difference-in-span", found.share, {**sizes, "missing": missing}),
        ]


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
    part = embedding.subset([*vocabulary, *sorted(listed_words(attribute))])
    groups = find_groups(part, attribute)
    check_dims(settings.dims, part.dim)
    vectors = groups.vectors(part)
    fitted = Subspace.from_groups(*vectors, settings.dims, center=settings.center)
    projection = Projection(reweighted(fitted, settings.weights), settings.hard)
    rng = np.random.default_rng(settings.seed)
    diagnosis = components(fitted, *vectors, axis(part, attribute)[0], rng)
    measured = effect(
        part,
        transformed(part, projection),
        vocabulary,
        attribute,
        dims=settings.dims,
        center=settings.center,
        seed=settings.seed,
    )
    return Study(
        embedding.name,
        attribute.groups,
        projection,
        groups,
        vocabulary,
        diagnosis,
        measured,
        settings,
    )


def listed_words(attribute: Attribute) -> set[str]:
    """Return every spelling of the words that fitting and measuring may look up."""
    pairs = [*attribute.pairs, attribute.direction or ()]
    listed = [*attribute.members[0], *attribute.members[1]]
    return candidates([*listed, *(word for pair in pairs for word in pair)])
