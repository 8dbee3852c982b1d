"""Adapters: the subspaces of one model's sites, kept in a small file, and what becomes of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wordbias.contextual.families import PARTS
from wordbias.contextual.fingerprint import Fingerprint
from wordbias.contextual.interventions import Intervention
from wordbias.contextual.settings import SENT_DEBIAS, Settings
from wordbias.contextual.sites import Site, attention, sites
from wordbias.errors import WordbiasError
from wordbias.formats.atomic import replacing
from wordbias.subspace import Subspace

FORMAT = "wordbias adapter 1"
SENTENCE = Site("sentence")


@dataclass(frozen=True, eq=False)
class Adapter:
    """The subspaces that were fitted at the sites of a model.

    Attributes
    ----------
    subspaces
        By site, layers counted from 1; weights are shares of the variance.
    fingerprint
        The model's.
    sent_debias
        The subspace of the baseline at the sentence, if one was fitted.
    facts
        How it was fitted, as JSON has it.
    """

    subspaces: Mapping[Site, Subspace]
    fingerprint: Fingerprint
    sent_debias: Subspace | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"<Adapter of a {self.fingerprint.architecture}: {', '.join(map(str, self.subspaces))}>"
        )

    def interventions(self, setting: Settings | str) -> list[Intervention]:
        """Return what a setting does to the model, the earliest in the model first.

        Parameters
        ----------
        setting
            One of the published ones, or its name such as ``L11-11101``, or ``sent-debias``. Layer
            12 is the model's last, layer 11 the last but one, however many it has. Sites such as
            ``tokens@3,attention@3`` stand for the hard removal of their first components.

        Raises
        ------
        WordbiasError
            If there is no such setting, or a site that it needs was not fitted.
        """
        if setting == SENT_DEBIAS:
            return [self._baseline()]
        wanted = sites_of(setting, self.fingerprint.layers)
        if _names_sites(setting):
            return [self.intervention(site, None if site.kind in PARTS else 1) for site in wanted]
        chosen = setting if isinstance(setting, Settings) else Settings.parse(str(setting))
        how = {
            "sentence": (chosen.np, 0),
            "cls": (chosen.n12, chosen.c12),
            "tokens": (chosen.n11, chosen.c11),
        }
        found = []
        for site in wanted:
            n, c = how.get(site.kind, (0, 0))
            dims = None if site.kind in PARTS else 1 + (c or 0)
            found.append(self.intervention(site, dims, not n))
        return found

    def intervention(self, site: Site, dims: int | None = None, hard: bool = True) -> Intervention:
        """Return the removal at one site.

        Parameters
        ----------
        site
            Its layer counted from 1.
        dims
            How many components, the first ones; by default all that were fitted.

        Raises
        ------
        WordbiasError
            If the site was not fitted, or has fewer components.
        """
        if site not in self.subspaces:
            known = ", ".join(map(str, self.subspaces))
            raise WordbiasError(
                f"site {site}: not in this adapter, which has {known}; "
                f"fit it with: wordbias project MODEL -o ADAPTER --sites {site}"
            )
        subspace = self.subspaces[site]
        if dims is not None and dims > subspace.dims:
            raise WordbiasError(
                f"site {site}: {dims} components asked for, {subspace.dims} fitted; fit with --dims"
            )
        if dims is not None:
            subspace = Subspace(subspace.basis[:dims], subspace.weights[:dims])
        return Intervention(site, subspace, hard)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to one safetensors file whose metadata is JSON."""
        from safetensors.numpy import save

        stored = {str(site): subspace for site, subspace in self.subspaces.items()}
        if self.sent_debias is not None:
            stored[SENT_DEBIAS] = self.sent_debias
        tensors = {}
        for name, subspace in stored.items():
            tensors[f"{name}.basis"] = subspace.basis
            tensors[f"{name}.weights"] = subspace.weights
        about = {"model": self.fingerprint.to_dict(), "facts": dict(self.facts)}
        text = json.dumps(about, ensure_ascii=False, allow_nan=False)
        with replacing(path) as file:
            file.write(save(tensors, {FORMAT: text}))  # one entry: several come in any order

    def _baseline(self) -> Intervention:
        if self.sent_debias is None:
            raise WordbiasError(
                "setting sent-debias: not in this adapter; "
                "fit it with: wordbias project MODEL -o ADAPTER --sent-debias TEXT"
            )
        return Intervention(SENTENCE, self.sent_debias, True)


def sites_of(setting: Settings | str, layers: int) -> tuple[Site, ...]:
    """Return where a setting removes something in a model of so many layers, the earliest first.

    Raises
    ------
    WordbiasError
        If there is no such setting, or the model has too few layers for it.
    """
    if setting == SENT_DEBIAS:
        return (SENTENCE,)
    if _names_sites(setting):
        return tuple(sorted((site.counted(layers) for site in sites(str(setting))), key=depth))
    chosen = setting if isinstance(setting, Settings) else Settings.parse(setting)
    if chosen.n11 is not None and layers < 2:
        raise WordbiasError(f"setting {chosen}: the model has one layer, it needs two")
    inner = attention(layers - 1) if chosen.attention else ()
    tokens = (Site("tokens", layers - 1),) if chosen.n11 is not None else ()
    cls = (Site("cls", layers),) if chosen.n12 is not None else ()
    return (*inner, *tokens, *cls, SENTENCE)


def _names_sites(setting: Settings | str) -> bool:
    return isinstance(setting, str) and ("@" in setting or setting == SENTENCE.kind)


def depth(site: Site) -> tuple[float, int]:
    """Order sites as a forward pass meets them."""
    order = ("query", "key", "value", "cls", "tokens", "sentence")
    return (float("inf") if site.layer is None else site.layer, order.index(site.kind))
