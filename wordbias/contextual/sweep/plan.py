"""The plan of a sweep: a tree of the interventions of many models, each computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wordbias.contextual.families import PARTS
from wordbias.contextual.hooks import Intervention
from wordbias.contextual.sites import Site
from wordbias.errors import WordbiasError

Steps = tuple[Intervention, ...]
_Key = tuple[object, ...]
ATTENTION, TOKENS, CLS, SENTENCE = range(4)
"""Indices of the stages, in the order of a forward pass."""


@dataclass(frozen=True, eq=False)
class Stage:
    """The distinct states of the models at one place.

    Attributes
    ----------
    parents
        For each state its parent, an index into the states of the stage before.
    steps
        For each state the interventions that make it of its parent; possibly none.
    """

    parents: tuple[int, ...]
    steps: tuple[Steps, ...]

    def __len__(self) -> int:
        return len(self.parents)

    def children(self, parent: int) -> tuple[int, ...]:
        """Return the indices of the states with a parent."""
        return tuple(i for i, found in enumerate(self.parents) if found == parent)


@dataclass(frozen=True, eq=False)
class Plan:
    """A tree of interventions in the last two of a model's layers.

    Attributes
    ----------
    names
        Names of the models in their order.
    stages
        Attention of the last layer but one; tokens behind it; position 0 behind the last layer;
        the sentence's vector.
    leaves
        For each model an index into the states of the last stage.

    Notes
    -----
    Of the 74 published settings, the model as it is and one more baseline, 2 differ in the
    attention, 9 have reached the last layer, 37 its end and 76 the final linear map.
    """

    names: tuple[str, ...]
    stages: tuple[Stage, Stage, Stage, Stage]
    leaves: tuple[int, ...]

    def steps_of(self, model: int) -> Steps:
        """Return the interventions of a model, by its index in `names`."""
        found: Steps = ()
        place = self.leaves[model]
        for stage in reversed(self.stages):
            found = stage.steps[place] + found
            place = stage.parents[place]
        return found

    @classmethod
    def of(cls, models: Mapping[str, Sequence[Intervention]], layers: int) -> Plan:
        """Plan the interventions of several models.

        Parameters
        ----------
        models
            Interventions of each model, in the order of a forward pass.
        layers
            Number of layers of the model.

        Raises
        ------
        WordbiasError
            If an intervention is at none of the four stages.
        """
        split = [_split(steps, layers) for steps in models.values()]
        places = [0] * len(split)
        stages = []
        for k in range(len(_places(layers))):
            known: dict[tuple[int, tuple[_Key, ...]], int] = {}
            chosen: list[tuple[int, Steps]] = []
            for i, steps in enumerate(split):
                key = (places[i], tuple(map(_key, steps[k])))
                if key not in known:
                    known[key] = len(chosen)
                    chosen.append((places[i], steps[k]))
                places[i] = known[key]
            stages.append(Stage(*(tuple(part) for part in zip(*chosen, strict=True))))
        first, second, third, last = stages
        return cls(tuple(models), (first, second, third, last), tuple(places))


def _places(layers: int) -> tuple[tuple[Site, ...], ...]:
    """Return the sites of each stage."""
    return (
        tuple(Site(part, layers - 1) for part in PARTS) if layers > 1 else (),
        (Site("tokens", layers - 1),) if layers > 1 else (),
        (Site("cls", layers),),
        (Site("sentence"),),
    )


def _split(steps: Sequence[Intervention], layers: int) -> tuple[Steps, ...]:
    places = _places(layers)
    for step in steps:
        site = step.site.counted(layers)
        if not any(site in stage for stage in places):
            known = ", ".join(str(site) for stage in places for site in stage)
            raise WordbiasError(f"site {step.site}: a sweep shares computation up to {known} alone")
    return tuple(
        tuple(step for step in steps if step.site.counted(layers) in stage) for stage in places
    )


def _key(step: Intervention) -> _Key:
    basis, weights = step.subspace.basis, step.subspace.weights
    return (step.site, step.hard, basis.shape, basis.tobytes(), weights.tobytes())
