"""The plan of a sweep: what the 74 settings share, and that nothing is lost in sharing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.contextual.sweep.forward import Plan
from wordbias.errors import WordbiasError
from wordbias.models.hooks import Intervention
from wordbias.models.settings import Settings, all_settings
from wordbias.models.sites import Site, attention
from wordbias.subspace import Subspace

LAYERS = 5
READ = Site("cls", LAYERS)


def subspace(seed: int, dims: int) -> Subspace:
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.normal(size=(8, 2)))[0].T
    return Subspace(q[:dims], np.array([0.6, 0.3])[:dims])


def interventions(setting: Settings) -> list[Intervention]:
    """What a published setting does, written from the paper's words."""
    steps = []
    if setting.attention:
        steps += [Intervention(site, subspace(9, 1), True) for site in attention(LAYERS - 1)]
    for seed, site, n, c in (
        (1, Site("tokens", LAYERS - 1), setting.n11, setting.c11 or 0),
        (2, Site("cls", LAYERS), setting.n12, setting.c12 or 0),
        (3, Site("sentence"), setting.np, 0),
    ):
        if n is not None:
            steps.append(Intervention(site, subspace(seed, 1 + c), not n))
    return steps


def published() -> dict[str, list[Intervention]]:
    base: dict[str, list[Intervention]] = {"Base": []}
    return base | {setting.name: interventions(setting) for setting in all_settings()}


def described(steps: Sequence[Intervention]) -> list[tuple[object, ...]]:
    return [(step.site, step.content) for step in steps]


def test_the_74_settings_and_the_base_share_what_the_paper_s_levels_imply() -> None:
    """2 attentions; tokens: none, 4 without attention, 4 with; CLS: base and SENT, 4, 16, 16."""
    plan = Plan.of(published(), READ)
    assert [len(stage) for stage in plan.stages] == [2, 1 + 4 + 4, 1 + 4 + 16 + 16, 1 + 74]


def test_the_steps_of_a_model_in_the_tree_are_its_interventions() -> None:
    models = published()
    plan = Plan.of(models, READ)
    assert list(plan.names) == list(models)
    for i, steps in enumerate(models.values()):
        assert described(plan.steps_of(i)) == described(steps)


POSSIBLE = (
    *(Intervention(site, subspace(seed, 1), hard)
      for site in (Site("query", 4), Site("tokens", 4), Site("cls", 5), Site("sentence"))
      for seed in (0, 1)
      for hard in (True, False)),
)  # fmt: skip


@given(st.lists(st.sets(st.sampled_from(range(len(POSSIBLE)))), min_size=1, max_size=12))
def test_any_models_come_out_as_they_went_in_and_no_state_twice(chosen: list[set[int]]) -> None:
    models: Mapping[str, list[Intervention]] = {
        str(i): [POSSIBLE[k] for k in sorted(places)] for i, places in enumerate(chosen)
    }
    plan = Plan.of(models, READ)
    for i, steps in enumerate(models.values()):
        assert described(plan.steps_of(i)) == described(steps)
    distinct = {tuple(described(steps)) for steps in models.values()}
    assert len(plan.stages[-1]) == len(distinct)
    sizes = [len(stage) for stage in plan.stages]
    assert sizes == sorted(sizes)


def test_layers_may_be_counted_from_the_end() -> None:
    step = Intervention(Site("tokens", -2), subspace(0, 1), True)
    assert len(Plan.of({"a": [], "b": [step]}, READ).stages[1]) == 2


@pytest.mark.parametrize("site", ["tokens@3", "cls@4", "query@5", "tokens@5"])
def test_other_places_are_refused(site: str) -> None:
    with pytest.raises(WordbiasError, match=f"site {site}: a sweep shares computation up to query"):
        Plan.of({"a": [Intervention(Site.parse(site), subspace(0, 1))]}, READ)
