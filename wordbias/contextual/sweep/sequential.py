"""Subspaces of a setting that are fitted one after another, each with those before it removed.

Fitted in the order of the model's computation, each is that of the model in which it is removed;
every setting has subspaces of its own. The published ones are all fitted on the unmodified model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from wordbias.contextual.fitting import BATCH, Recipe, encode_pairs, fit_site, observe, positions
from wordbias.errors import WordbiasError
from wordbias.models.adapters import Adapter
from wordbias.models.families import PARTS
from wordbias.models.hooks import Intervention, applied
from wordbias.models.sentence_pairs import SentencePair
from wordbias.models.settings import all_settings
from wordbias.models.sites import Site
from wordbias.progress import progress
from wordbias.subspace import Subspace

_Step = tuple[Site, int, bool]
"""A removal: its site, the number of its components, and whether it is hard."""


def fit_in_sequence(
    model: Any,
    tokenizer: Any,
    pairs: Sequence[SentencePair],
    recipe: Recipe,
    adapter: Adapter,
    *,
    batch: int = BATCH,
) -> dict[str, Adapter]:
    """Fit the subspaces of every published setting, each with its removals at earlier sites on."""
    # Query, key and value of a layer are computed from the same vectors, and fitted together. What
    # settings have in common is fitted once, 45 times in all.
    encoded = encode_pairs(model, tokenizer, pairs)
    where, tokens = positions(encoded, recipe.tokens), encoded.first + encoded.second
    known: dict[tuple[tuple[_Step, ...], Site], Subspace] = {}
    adapters = {}
    settings = all_settings()
    with progress("fitting in sequence", len(settings), "setting") as bar:
        for setting in settings:
            path: tuple[_Step, ...] = ()
            before: list[Intervention] = []
            subspaces: dict[Site, Subspace] = {}
            groups = groupby(adapter.interventions(setting), lambda step: step.site.kind in PARTS)
            stages = [
                stage
                for parts, group in groups
                for stage in ([list(group)] if parts else [[step] for step in group])
            ]
            for stage in stages:
                here = [step.site for step in stage]
                if not path:
                    known |= {(path, site): adapter.subspaces[site] for site in here}
                elif (path, here[0]) not in known:
                    with applied(model, before, setting.name):
                        vectors = observe(model, tokenizer, tokens, where, here, batch)
                    for site in here:
                        try:
                            subspace, _ = fit_site(
                                model, site, vectors, encoded, recipe, steady=False
                            )
                        except WordbiasError as error:
                            raise WordbiasError(f"setting {setting}: {error}") from None
                        known[path, site] = subspace
                for intervention in stage:
                    fitted = subspaces[intervention.site] = known[path, intervention.site]
                    dims = _dims(intervention)
                    removed = Subspace(fitted.basis[:dims], fitted.weights[:dims])
                    before.append(Intervention(intervention.site, removed, intervention.hard))
                path += tuple((step.site, _dims(step), step.hard) for step in stage)
            adapters[setting.name] = _of_setting(adapter, subspaces)
            bar.update(1)
    return adapters


def _dims(intervention: Intervention) -> int:
    assert isinstance(intervention.what, Subspace)
    return intervention.what.dims


def _of_setting(adapter: Adapter, subspaces: Mapping[Site, Subspace]) -> Adapter:
    """Return an adapter with the subspaces of one setting."""
    facts = {name: about for name, about in adapter.facts.items() if name != "sites"}
    return replace(
        adapter, subspaces=subspaces, sent_debias=None, facts={**facts, "sequential": True}
    )
