"""Adapters as arguments of functions on encoders.

Functions without encoders must not import adapters.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from wordbias.arguments import path_named
from wordbias.calls import note
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.source import sha256_of
from wordbias.functions.inputs import path_of
from wordbias.models.adapters import Adapter, names_sites, part_of_sequence, read_adapter
from wordbias.models.encoder import Encoder
from wordbias.models.hooks import Intervention, applied
from wordbias.models.model_like import ModelLike
from wordbias.models.sentence_folder import SentenceVectors
from wordbias.models.sentence_transformers import Step
from wordbias.models.sites import EMBEDDING, first_layer
from wordbias.resources.hub import ADAPTER_FILE, fetched, named

AdapterLike = str | os.PathLike[str] | Adapter
"""An adapter, or the file that one was written to."""


def open_adapter(
    given: AdapterLike | None, setting: str | Sequence[str], *, force: bool = False
) -> OpenAdapter:
    """Read an adapter, if one is given; without settings to measure take its default one."""
    if force and given is None:
        raise UsageError("--force goes with --adapter")
    names = list(dict.fromkeys([setting] if isinstance(setting, str) else setting))
    if given is None:
        if names:
            raise UsageError("--adapter and --setting go together")
        return OpenAdapter(None, None, (), force)
    adapter = given if isinstance(given, Adapter) else read_adapter(path_named("--adapter", given))
    if adapter.chosen is not None:
        names = names or [adapter.chosen]
    for remark in [part_of_sequence(adapter, name) for name in names]:
        if remark:
            note(remark)
    if not names:
        raise UsageError(
            f"--adapter and --setting go together: {path_of(given) or 'the adapter'} has no "
            "setting that it removes by default; name one with --setting"
        )
    return OpenAdapter(given, adapter, names, force)


@dataclass(frozen=True, eq=False)
class OpenAdapter:
    """An adapter as an argument, or none."""

    given: AdapterLike | None  # the argument
    adapter: Adapter | None
    settings: Sequence[str]  # names of its settings to measure
    force: bool  # accept it for another model with the same sites and dimensions

    def check(self, model: Any, *, inside: bool = True) -> None:
        """Refuse another model than that of the fit; with `inside`, another encoder."""
        if self.adapter is not None:
            name = path_of(self.given) or "adapter"
            self.adapter.check(model, force=self.force, name=name, inside=inside)

    def load_encoder(
        self,
        model: ModelLike,
        *,
        device: str | None,
        precision: str | None = None,
        random_init: int | None = None,
    ) -> tuple[Encoder, list[Removal]]:
        """Load an encoder; return it with what each setting removes in it."""
        # The adapter may have been fitted on the same encoder with a head.
        if self.adapter is None:
            encoder = Encoder.load(
                model, device=device, precision=precision, random_init=random_init
            )
            return encoder, []
        if random_init is not None:
            raise UsageError(
                "--random-init draws other weights than those that --adapter was fitted on; leave "
                "out one of them"
            )
        encoder = self.load_checked(model, device=device, precision=precision)
        return encoder, [removal_of(encoder, self.adapter, name) for name in self.settings]

    def load_checked(
        self, model: ModelLike, *, device: str | None, precision: str | None
    ) -> Encoder:
        """Load the encoder that the adapter was fitted on."""
        # compared as it is stored: float16 rounds small weights away
        encoder = Encoder.load(model, device=device)
        self.check(encoder.model)
        return encoder if precision is None else encoder.on(device, precision)

    def about(self) -> dict[str, dict[str, Any]]:
        """Return the adapter, if there is one, among the inputs of a report."""
        if self.adapter is None:
            return {}
        return {"adapter": about_adapter(self.given, self.adapter)}


@dataclass(frozen=True, eq=False)
class Removal:
    """A setting of an adapter in an encoder, as far as vectors depend on it."""

    setting: str  # name of the setting
    # removals, without that of the sentence vector after the last layer, on which no vector of a
    # token depends
    steps: tuple[Intervention, ...] = field(repr=False)
    first: int  # first layer that they change

    @contextmanager
    def on(self, encoder: Encoder) -> Iterator[None]:
        """Remove while the encoder computes in the block."""
        with applied(encoder.model, self.steps, self.setting):
            yield

    def details(self, layers: Sequence[int]) -> dict[str, Any]:
        """Return the setting, its sites, and the layers that are as without it, for a row."""
        return {
            "setting": self.setting,
            "sites": list(dict.fromkeys(str(step.site) for step in self.steps)),
            "unchanged": [layer for layer in layers if layer < self.first],
        }

    def sentence(self, layers: Sequence[int]) -> str:
        """Say which of some layers the removal changes, and which are unchanged."""
        before = [layer for layer in layers if layer < self.first]
        where = ", ".join(dict.fromkeys(str(step.site) for step in self.steps))
        changed = _layers([layer for layer in layers if layer >= self.first])
        unchanged = f"; unchanged: {_layers(before)}" if before else ""
        named = "" if names_sites(self.setting) else f" ({self.setting})"
        return f"Removed at {where}{named}. Changed: {changed}{unchanged}."


@contextmanager
def texts_with(encoder: Encoder, adapter: Adapter, setting: str) -> Iterator[Encoder]:
    """Yield an encoder whose vectors of texts are those after a setting is removed, for a block."""
    # Unlike `removal_of` it also removes from what a sentence model outputs, before its last
    # Normalize.
    steps = adapter.interventions(setting)
    behind = [step for step in steps if step.site == EMBEDDING]
    with ExitStack() as stack:
        if len(behind) < len(steps):
            stack.enter_context(removal_of(encoder, adapter, setting).on(encoder))
        if behind:
            parts = SentenceVectors.of(encoder)
            first, last = parts.encoder.sentence, parts.last
            assert first is not None
            for intervention in behind:
                if intervention.width != parts.width:
                    raise WordbiasError(
                        f"site {EMBEDDING}: {encoder.name} outputs vectors of {parts.width} "
                        f"values, and the removal is of {intervention.width}; fit one on this model"
                    )
            added = [Step("removal", step.removal(), step.width, step.width) for step in behind]
            steps_with = (*first.steps, *added, *last.steps)
            encoder = replace(encoder, sentence=replace(first, steps=steps_with))
        yield encoder


def _layers(numbers: Sequence[int]) -> str:
    """Name layers."""
    if not numbers:
        return "none of the layers"
    listed = ", ".join(map(str, numbers))
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        listed = f"{numbers[0]} to {numbers[-1]}"
    return f"layer {listed}" if len(numbers) == 1 else f"layers {listed}"


def about_adapter(given: AdapterLike | None, adapter: Adapter) -> dict[str, Any]:
    """Return an adapter among the inputs of a report."""
    path = path_of(given)
    about = {}
    if path is not None:
        file = fetched(named(path), wanted=ADAPTER_FILE)
        about = {"path": path, "sha256": sha256_of(file)}
    return {**about, "sites": [str(site) for site in adapter.sites]}


def removal_of(encoder: Encoder, adapter: Adapter, setting: str) -> Removal:
    """Return what a setting removes in an encoder."""
    every = adapter.interventions(setting)
    steps = tuple(step for step in every if step.site.layer is not None)
    if not any(step.removes for step in steps):
        named = ", ".join(str(step.site) for step in every)
        raise WordbiasError(
            f"{encoder.name}: {setting} removes at {named} alone, which no vector of a layer "
            "depends on; choose a setting such as L11-…, attn-…, or sites such as tokens@L and "
            "attention@L"
        )
    for intervention in steps:
        intervention.within(encoder.model)
    return Removal(setting, steps, first_layer([step.site for step in steps], encoder.layers))
