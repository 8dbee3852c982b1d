"""Adapters: the removals fitted at the sites of one model, their file, and their settings.

The file is long because what an adapter applies, folds, refuses, writes and reads is one format.
"""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from wordbias.calls import WordbiasWarning, python_messages
from wordbias.errors import WordbiasError, on_a_line
from wordbias.formats.stored import ADAPTER, ADAPTER_OF_LABELS, reading, write
from wordbias.methods.leace import Erasure
from wordbias.methods.null import random_step
from wordbias.methods.pairs import PAIR_METHODS, removed
from wordbias.methods.transform import Projection
from wordbias.models.adapter_tables import adapter_rows, adapter_tables, scrubbing_tables
from wordbias.models.families import PARTS
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.folding import fold, reasons_text
from wordbias.models.hooks import Intervention, applied, applied_behind, random_subspace
from wordbias.models.model_like import held_by, transformer_of
from wordbias.models.sentence_folder import modules_of, with_modules
from wordbias.models.sentence_transformers import is_sentence_transformer
from wordbias.models.settings import SENT_DEBIAS, Settings, all_settings
from wordbias.models.sites import EMBEDDING, KINDS, Site, attention, sites, written
from wordbias.rendering import as_html, as_paragraph, how_many
from wordbias.resources.hub import ADAPTER_FILE, local, named
from wordbias.subspace import Subspace

if TYPE_CHECKING:
    from wordbias.reports import Report

SENTENCE = Site("sentence")
Model = TypeVar("Model")
_PARTS_OF_ERASURE = ("left", "right", "bias")
READ = "read"
"""Fact of an adapter with the published sites: the site of `cls@L`, where the head reads."""
_OF_THE_FIT = ("sites", "sequential")
"""Facts about what was fitted at each site, which random directions do not have."""


@dataclass(frozen=True, eq=False)
class Adapter:
    """Removals fitted at the sites of a model, to be applied while it computes.

    `wordbias.project` fits one. A setting names the subspaces to remove. It is one of the 74 of
    Dawkins et al. (2024) by its name, such as ``L12-110``, or ``sent-debias``, or sites such as
    ``tokens@3,attention@3``. The first components at sites are removed completely, or as the method
    that was fitted to pairs says: ``misp-pairs`` or ``mhd-pairs:dims=2``. A removal fitted to
    labels, such as LEACE, is applied whole, and a setting names its sites, such as
    ``tokens@3..10``.

    Parameters
    ----------
    subspaces : mapping
        Subspaces by site, layers counted from 1; weights are shares of the variance.
    fingerprint : Fingerprint
        Fingerprint of the model.
    sent_debias : Subspace, optional
        Subspace of the baseline at the sentence, if one was fitted.
    facts : mapping
        Settings and results of the fit, as JSON.
    chosen : str, optional
        Default setting.
    report : Report, optional
        Report of the fit.
    steps : mapping
        Removals fitted to labels by site: affine maps, such as that of LEACE, and projections.

    Examples
    --------
    >>> import wordbias as wb
    >>> adapter = wb.project("bert-base-uncased", setting="L12-110")  # doctest: +SKIP
    >>> with adapter.on(model):  # doctest: +SKIP
    ...     model(**inputs)
    >>> adapter.fold(model).save_pretrained("debiased")  # doctest: +SKIP
    """

    subspaces: Mapping[Site, Subspace]
    fingerprint: Fingerprint
    sent_debias: Subspace | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    chosen: str | None = None
    report: Report | None = None
    steps: Mapping[Site, Projection | Erasure] = field(default_factory=dict)

    def __repr__(self) -> str:
        names = list(map(str, self.sites))
        site_text = ", ".join(names) if len(names) < 8 else how_many(len(names), "site")
        chosen = f"; {self.chosen}" if self.chosen else ""
        kind = "Null adapter" if "null" in self.facts else "Adapter"
        return on_a_line(f"<{kind} of a {self.fingerprint.architecture}{chosen}: {site_text}>")

    def _repr_html_(self) -> str:
        """Show the subspaces in a notebook."""
        architecture = self.fingerprint.architecture
        rows = adapter_rows(self, architecture) if "sites" in self.facts else []
        tables = adapter_tables(rows, architecture) if rows else []
        if self.steps and "sites" in self.facts:
            tables += scrubbing_tables(self, architecture)
        return "\n".join([as_paragraph(repr(self)), *map(as_html, tables)])

    @property
    def sites(self) -> tuple[Site, ...]:
        """Sites at which something was fitted, the earliest in the model first."""
        return tuple(sorted({*self.subspaces, *self.steps}, key=depth))

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of the published settings, and of the baseline, that it has subspaces for."""
        names = []
        for name in (*map(str, all_settings()), SENT_DEBIAS):
            try:
                self.interventions(name)
            except WordbiasError:
                continue
            names.append(name)
        return tuple(names)

    def setting(self, name: Settings | str) -> Adapter:
        """Return the adapter with another default setting.

        Raises
        ------
        WordbiasError
            If there is no such setting, or a site that it needs was not fitted.
        """
        with python_messages():
            self.interventions(name)
        return replace(self, chosen="".join(str(name).split()))

    def null(self, seed: int = 0) -> Adapter:
        """Return the adapter with random directions in place of those that were fitted.

        There are equally many at each site, with the same weights and settings. What its removal
        changes in a measure, any removal of these weights changes: compare several seeds with the
        fitted adapter. Vectors have less of a random direction than of a fitted one, and move less.
        A removal that was fitted to labels by LEACE becomes an orthogonal projection.

        Parameters
        ----------
        seed
            Seed of the directions. Those at a site do not depend on what else was fitted.
        """

        def generator(site: Site | str) -> np.random.Generator:
            return np.random.default_rng([seed, *str(site).encode()])

        subspaces = {
            site: random_subspace(subspace, generator(site), site.kind)
            for site, subspace in self.subspaces.items()
        }
        steps = {site: random_step(step, generator(site)) for site, step in self.steps.items()}
        baseline = self.sent_debias
        if baseline is not None:
            baseline = random_subspace(baseline, generator(SENT_DEBIAS))
        facts = {name: about for name, about in self.facts.items() if name not in _OF_THE_FIT}
        facts["null"] = seed
        return replace(
            self,
            subspaces=subspaces,
            sent_debias=baseline,
            facts=facts,
            report=None,
            steps=steps,
        )

    @contextmanager
    def on(
        self, model: Model, setting: Settings | str | None = None, *, force: bool = False
    ) -> Iterator[Model]:
        """Remove the subspaces while a model computes in the block.

        Parameters
        ----------
        model
            A model of transformers, or a ``SentenceTransformer``: the one that this was fitted on.
        setting
            Setting to remove; by default `chosen`.
        force
            Accept another model, if it has the same sites and dimensions.

        Raises
        ------
        WordbiasError
            If this was fitted on another model, no setting is chosen or named, or no output of the
            model would change.
        """
        encoder = transformer_of(model)
        with ExitStack() as stack:
            with python_messages("force"):
                self.check(encoder, force=force)
                name = str(self.chosen if setting is None else setting)
                inside, behind = _divided(model, self.interventions(setting))
                if inside:
                    stack.enter_context(applied(encoder, inside, name))
                if behind:
                    stack.enter_context(applied_behind(model, behind, name))
            yield model

    def fold(
        self,
        model: Model,
        setting: Settings | str | None = None,
        *,
        partly: bool = False,
        force: bool = False,
    ) -> Model:
        """Return a copy of a model with the removal in its weights, to be saved or published.

        It predicts the same as the model in a block of `on`. Adapters of PEFT, such as LoRA, are
        merged into its weights; of a ``PeftModel`` the model inside it is returned.

        Parameters
        ----------
        model
            A model of transformers, or a ``SentenceTransformer``: the one that this was fitted on.
        setting
            Setting to remove; by default `chosen`.
        partly
            Fold the sites that can be folded and warn of the others, instead of refusing.
        force
            Accept another model, if it has the same sites and dimensions.

        Raises
        ------
        WordbiasError
            If this was fitted on another model, no setting is chosen or named, or a removal cannot
            be folded: a layer's tokens also go past every linear map.
        """
        encoder = transformer_of(model)
        with python_messages("force", "partly"):
            self.check(encoder, force=force)
            inside, behind = _divided(model, self.interventions(setting))
            folded = fold(encoder, inside)
            left = reasons_text((intervention.site, reason) for intervention, reason in folded.left)
            if left and not (partly and (folded.folded or behind)):
                raise WordbiasError(
                    f"{type(encoder).__name__}: cannot be folded into the weights: {left}; use "
                    f"on(model){', or fold the rest with --partly' if folded.folded else ''}"
                )
        if left:
            warnings.warn(f"not folded: {left}", WordbiasWarning, stacklevel=2)
        # copies the object around the encoder, with the folded model in its place
        copied = copy.deepcopy(model, {id(held_by(model)): folded.model})
        if not behind:
            return copied
        modules = modules_of([intervention.step for intervention in behind], behind[0].width)
        changed: Model = with_modules(copied, modules)
        return changed

    def check(
        self, model: Any, *, force: bool = False, name: str = "adapter", inside: bool = False
    ) -> None:
        """Refuse another model than the one that this was fitted on.

        The head may be another one if nothing was fitted at the sentence, which it computes.

        Parameters
        ----------
        force
            Accept any model.
        name
            Name of the adapter, for the message.
        inside
            Compare the encoders only, for removals inside the layers.

        Raises
        ------
        WordbiasError
            If it is another model; the message names the difference.
        """
        if force:
            return
        theirs = Fingerprint.of(model)
        encoder_only = inside or (SENTENCE not in self.sites and self.sent_debias is None)
        compare = Fingerprint.encoder_difference if encoder_only else Fingerprint.difference
        if difference := compare(self.fingerprint, theirs):
            raise WordbiasError(
                f"{name}: was fitted on another model ({difference}); fit one on this model with: "
                f"wordbias project MODEL -o {os.path.basename(name)}, or insist with --force"
            )

    def interventions(self, setting: Settings | str | None = None) -> list[Intervention]:
        """Return the removals of a setting, the earliest in the model first.

        Parameters
        ----------
        setting
            A published setting, or its name such as ``L11-11101``, or ``sent-debias``. Layer 12 is
            the model's last, layer 11 the last but one, however many it has. Sites such as
            ``tokens@3,attention@3`` stand for the removal of their first components, completely
            unless another method was fitted to the pairs. By default `chosen`.

        Raises
        ------
        WordbiasError
            If there is no such setting, none is chosen, or a site that it needs was not fitted.
        """
        setting = self.chosen if setting is None else setting
        if setting is None:
            such = "tokens@3" if self.steps else "L12-110"
            raise WordbiasError(f"no setting is chosen: name one with --setting, such as {such}")
        if setting == SENT_DEBIAS:
            if self.sent_debias is None:
                raise WordbiasError(
                    "setting sent-debias: not in this adapter; "
                    "fit it with: wordbias project MODEL -o ADAPTER --sent-debias TEXT"
                )
            return [Intervention(SENTENCE, self.sent_debias, True)]
        wanted = sites_of(setting, self.fingerprint.layers)
        if names_sites(setting):
            method = self.facts.get("method", "")
            given = self.facts.get("settings", {})
            first, hard = removed(method, given) if method in PAIR_METHODS else (1, True)
            return [
                self.intervention(site, None if site.kind in PARTS else first, hard)
                for site in wanted
            ]
        chosen = setting if isinstance(setting, Settings) else Settings.parse(str(setting))
        how = {
            "sentence": (chosen.np, 0),
            "cls": (chosen.n12, chosen.c12),
            "tokens": (chosen.n11, chosen.c11),
        }
        removals = []
        for site in wanted:
            n, c = how.get(site.kind, (0, 0))
            dims = None if site.kind in PARTS else 1 + (c or 0)
            read = site.kind == "cls" and READ in self.facts
            there = Site.parse(self.facts[READ]) if read else site
            removals.append(self.intervention(there, dims, not n))
        return removals

    def intervention(self, site: Site, dims: int | None = None, hard: bool = True) -> Intervention:
        """Return the removal at one site.

        Parameters
        ----------
        site
            Site with its layer counted from 1.
        dims
            Number of first components to remove; by default all that were fitted. A removal fitted
            to labels is removed as it was fitted, whatever `dims` and `hard` are.

        Raises
        ------
        WordbiasError
            If the site was not fitted, or has fewer components.
        """
        step = self.steps.get(site)
        if isinstance(step, Erasure):
            return Intervention(site, step)
        if step is not None:
            return Intervention(site, step.subspace, step.hard)
        if site not in self.subspaces:
            known = ", ".join(map(str, self.sites))
            raise WordbiasError(
                f"site {site}: not in this adapter, which has {known}; "
                f"fit it with: wordbias project MODEL -o ADAPTER --sites {site}"
            )
        subspace = self.subspaces[site]
        if dims is not None and dims > subspace.dims:
            raise WordbiasError(
                f"site {site}: {dims} components needed, {subspace.dims} fitted; "
                "fit more, mhd-pairs:dims=N"
            )
        if dims is not None:
            subspace = Subspace(subspace.basis[:dims], subspace.weights[:dims])
        return Intervention(site, subspace, hard)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to one safetensors file whose metadata is JSON."""
        stored = {str(site): subspace for site, subspace in self.subspaces.items()}
        if self.sent_debias is not None:
            stored[SENT_DEBIAS] = self.sent_debias
        tensors = {}
        for name, subspace in stored.items():
            tensors[f"{name}.basis"] = subspace.basis
            tensors[f"{name}.weights"] = subspace.weights
        about: dict[str, Any] = {"model": self.fingerprint.to_dict(), "facts": dict(self.facts)}
        about |= {"setting": self.chosen} if self.chosen else {}
        kind = ADAPTER_OF_LABELS if self.steps else ADAPTER
        if self.steps:
            about["steps"] = {
                str(site): _packed(str(site), step, tensors) for site, step in self.steps.items()
            }
        write(path, kind, tensors, about, ensure_ascii=False, allow_nan=False)


def read_adapter(path: str | os.PathLike[str]) -> Adapter:
    """Read a file that `save` or ``wordbias project`` wrote, or one on the hub; no code is run."""
    with (
        local(named(os.fspath(path)), wanted=ADAPTER_FILE) as file,
        reading(file, ADAPTER) as (tensors, about),
    ):
        fitted = about.get("steps", {})
        steps = {Site.parse(name): _step(name, fitted[name], tensors) for name in fitted}
        names = [name.removesuffix(".basis") for name in tensors if name.endswith(".basis")]
        by_name = {
            name: Subspace(tensors[f"{name}.basis"], tensors[f"{name}.weights"])
            for name in names
            if name not in fitted
        }
        baseline = by_name.pop(SENT_DEBIAS, None)
        subspaces = {Site.parse(name): subspace for name, subspace in by_name.items()}
        chosen = about.get("setting")
        if not isinstance(chosen, (str, type(None))):
            raise TypeError(f"its setting is {chosen!r}")
        if not isinstance(about["facts"], dict):
            raise TypeError(f"its facts are {about['facts']!r:.40}")
        if not (subspaces or steps or baseline):
            raise WordbiasError("holds no removal")
        return Adapter(
            dict(sorted(subspaces.items(), key=lambda item: depth(item[0]))),
            Fingerprint(**about["model"]),
            baseline,
            about["facts"],
            chosen,
            steps=dict(sorted(steps.items(), key=lambda item: depth(item[0]))),
        )


def _packed(name: str, step: Projection | Erasure, tensors: dict[str, Any]) -> dict[str, Any]:
    """Add the arrays of a step to the tensors of a file; return its other fields."""
    if isinstance(step, Erasure):
        tensors |= {f"{name}.{part}": getattr(step, part) for part in _PARTS_OF_ERASURE}
        return {"kind": step.kind}
    tensors[f"{name}.basis"], tensors[f"{name}.weights"] = (
        step.subspace.basis,
        step.subspace.weights,
    )
    return {"kind": step.kind, "hard": step.hard}


def _step(name: str, about: Mapping[str, Any], tensors: Mapping[str, Any]) -> Projection | Erasure:
    """Return a step of a file; see `_packed`."""
    if about["kind"] == Erasure.kind:
        return Erasure(*(tensors[f"{name}.{part}"] for part in _PARTS_OF_ERASURE))
    if about["kind"] != Projection.kind:
        raise WordbiasError(f"holds a step of the kind {about['kind']!r} at {name}")
    subspace = Subspace(tensors[f"{name}.basis"], tensors[f"{name}.weights"])
    return Projection(subspace, bool(about["hard"]))


def _divided(
    model: Any, interventions: Sequence[Intervention]
) -> tuple[list[Intervention], list[Intervention]]:
    """Divide removals into those in the transformer, and those after a model's pooling."""
    # Only a `SentenceTransformer` has the latter; for others they are left with the former, which
    # are refused with the reason.
    if not is_sentence_transformer(model):
        return list(interventions), []
    behind = [intervention for intervention in interventions if intervention.site == EMBEDDING]
    return [
        intervention for intervention in interventions if intervention.site != EMBEDDING
    ], behind


def part_of_sequence(adapter: Adapter, setting: str | None = None) -> str:
    """Say what a setting leaves on of removals that were fitted one after another."""
    # Empty if it removes all of them, or all up to its last site, each fitted on what those before
    # it left.
    setting = adapter.chosen if setting is None else setting
    if not adapter.steps or setting is None or not adapter.facts.get("sequential"):
        return ""
    named = sites_of(setting, adapter.fingerprint.layers)
    left = [site for site in adapter.steps if site not in named and depth(site) < depth(named[-1])]
    if not left or not set(named) <= set(adapter.steps):
        return ""
    return (
        f"{setting}: is a part of removals that were fitted one after another; without "
        f"{written(left)} the later ones do not remove what is left there, so fit it by itself "
        f"with --sites={setting}, or fit all with --simultaneous"
    )


def sites_of(setting: Settings | str, layers: int) -> tuple[Site, ...]:
    """Return the sites of a setting in a model of `layers` layers, the earliest first."""
    if setting == SENT_DEBIAS:
        return (SENTENCE,)
    if names_sites(setting):
        return tuple(sorted(sites(str(setting), layers), key=depth))
    chosen = setting if isinstance(setting, Settings) else Settings.parse(setting)
    if chosen.n11 is not None and layers < 2:
        raise WordbiasError(f"setting {chosen}: the model has one layer, it needs two")
    inner = attention(layers - 1) if chosen.attention else ()
    tokens = (Site("tokens", layers - 1),) if chosen.n11 is not None else ()
    cls = (Site("cls", layers),) if chosen.n12 is not None else ()
    return (*inner, *tokens, *cls, SENTENCE)


def names_sites(setting: Settings | str) -> bool:
    """Return whether a setting is given by sites, such as ``tokens@3,attention@3``."""
    alone = (SENTENCE.kind, EMBEDDING.kind)
    return isinstance(setting, str) and ("@" in setting or setting in alone)


def depth(site: Site) -> tuple[float, int]:
    """Return the sort key of a site: its order in a forward pass."""
    return (float("inf") if site.layer is None else site.layer, KINDS.index(site.kind))


def load_adapter(
    model: Any, path: str | os.PathLike[str] | Adapter, *, force: bool = False
) -> Adapter:
    """Load an adapter for a model."""
    adapter = path if isinstance(path, Adapter) else read_adapter(path)
    with python_messages("force"):
        adapter.check(model, force=force, name="adapter" if adapter is path else str(path))
    return adapter
