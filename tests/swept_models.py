"""The settings of a sweep on a small model, by one pass and by as many whole passes with hooks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wordbias.models.families import PARTS, layer_count, width
from wordbias.models.hooks import Intervention, applied, of_heads
from wordbias.models.settings import Settings, all_settings
from wordbias.models.sites import Site, attention, locate, published_sites, read_site
from wordbias.subspace import Subspace

torch = pytest.importorskip("torch")

from wordbias.contextual.sweep.forward import Forward, Plan  # noqa: E402

ALIKE = 1e-5
"""What is asked for; logits here are of size one."""


def subspaces(model: Any) -> dict[Site, Subspace]:
    """Random ones at the published sites: nothing here depends on their being about gender."""
    rng = np.random.default_rng(0)

    def one(k: int, d: int) -> Subspace:
        return Subspace(np.linalg.qr(rng.normal(size=(d, k)))[0].T, rng.uniform(0.2, 0.8, k))

    by_site = {}
    for site in published_sites(model):
        place = locate(model, site)
        parts = [one(1, place.width // place.heads) for _ in range(place.heads)]
        by_site[place.site] = of_heads(parts) if site.kind in PARTS else one(2, width(model))
    return by_site


def models_of(model: Any, some: int = 1) -> dict[str, list[Intervention]]:
    """The base and every so many of the settings, written from the paper's words."""
    known, n = subspaces(model), layer_count(model)

    def steps(setting: Settings) -> list[Intervention]:
        sites = attention(n - 1) if setting.attention else ()
        interventions = [Intervention(site, known[site], True) for site in sites]
        for site, weighted, second in (
            (Site("tokens", n - 1), setting.n11, setting.c11),
            (read_site(model), setting.n12, setting.c12),
            (Site("sentence"), setting.np, 0),
        ):
            if weighted is not None:
                k = 1 + (second or 0)
                whole = known[site]
                part = Subspace(whole.basis[:k], whole.weights[:k])
                interventions.append(Intervention(site, part, not weighted))
        return interventions

    base: dict[str, list[Intervention]] = {"Base": []}
    return base | {setting.name: steps(setting) for setting in all_settings()[::some]}


def naive(model: Any, models: dict[str, list[Intervention]], inputs: dict[str, Any]) -> Any:
    logits = []
    for steps in models.values():
        with applied(model, steps):
            logits.append(model(**inputs).logits)
    return torch.stack(logits)


def swept(model: Any, models: dict[str, list[Intervention]], inputs: dict[str, Any]) -> Any:
    return Forward(model, Plan.of(models, read_site(model)))(inputs)[0]
