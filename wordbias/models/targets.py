"""A model for interventions, loaded with the head that its folder or name has."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from wordbias.errors import UsageError, WordbiasError
from wordbias.models.families import (
    FAMILIES,
    base_of,
    family_of,
    head_of,
    is_decoder,
    language_head_of,
    layer_count,
)
from wordbias.models.loading import LoadedModel, load_pretrained, where_of
from wordbias.models.model_like import ModelLike, name_of, need_transformers, silent
from wordbias.models.sites import Site, published_sites
from wordbias.models.weight_files import check_sizes
from wordbias.resources.models import local_model

_WHAT = "an encoder or a decoder"
_NEXT = "NextSentencePrediction"
_KINDS = {
    _NEXT: "AutoModelForNextSentencePrediction",
    "SequenceClassification": "AutoModelForSequenceClassification",
    "MultipleChoice": "AutoModelForMultipleChoice",
    "MaskedLM": "AutoModelForMaskedLM",
    "CausalLM": "AutoModelForCausalLM",
}
HEADS = {
    "next-sentence": _NEXT,
    "classification": "SequenceClassification",
    "multiple-choice": "MultipleChoice",
    "masked-lm": "MaskedLM",
    "none": "",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Target(LoadedModel):
    """A loaded model for interventions."""

    sentence: bool  # True if the model has a trained vector of the sentence

    def sites(self) -> tuple[Site, ...]:
        """Return the published sites of an encoder; of a decoder the output of every layer."""
        if is_decoder(self.model):
            return self.outputs()
        wanted = published_sites(self.model)
        return tuple(site for site in wanted if self.sentence or site.kind != "sentence")

    def outputs(self) -> tuple[Site, ...]:
        """Return the output of every layer, ``tokens@all``."""
        return tuple(Site("tokens", i) for i in range(1, layer_count(self.model) + 1))


def load_target(source: ModelLike, device: str | None = None, head: str | None = None) -> Target:
    """Load a model with its head; a subspace fitted with one head is not for another."""
    # By default the head is the one that the model's config names, if it has weights: the config of
    # a sentence encoder often names the masked-language head of its training. Pre-trained BERT gets
    # the next-sentence head that comes with its weights, and a decoder its language-modelling head.
    name = name_of(source)
    if isinstance(source, (str, os.PathLike)):
        with local_model(name) as folder:
            loaded = replace(_loaded(folder, head), name=name)
    elif head is None:
        loaded = load_pretrained("AutoModel", source, _WHAT)
    else:
        raise UsageError("--head goes with the name of a model; one that is loaded has its own")
    family, has_head = family_of(loaded.model), head_of(loaded.model) is not None
    language = language_head_of(loaded.model) is not None
    what = f"{name}: holds a {type(loaded.model).__name__} without"
    if lacking := _missing_in_encoder(loaded):
        raise WordbiasError(
            f"{what} trained weights for {lacking[0]}; give a folder whose weights are its own"
        )
    if loaded.missing and (has_head or language or head == "masked-lm"):
        raise WordbiasError(f"{what} {loaded.missing[0]}; give a model folder with a trained head")
    pooled = bool(family.pooled) and getattr(loaded.model, family.pooled, None) is not None
    drawn = any(family.pooler in parameter for parameter in loaded.missing)
    sentence = has_head or (pooled and not drawn)
    return Target(**vars(loaded.on(device)), sentence=sentence)


def _missing_in_encoder(loaded: LoadedModel) -> list[str]:
    """Return the missing parameters of the encoder, without those of a head or a pooler."""
    model, base = loaded.model, base_of(loaded.model)
    prefix = "" if base is model else f"{model.base_model_prefix}."
    own = {prefix + name for name, _ in base.named_parameters()}
    pooler = family_of(model).pooler
    return [name for name in loaded.missing if name in own and pooler not in name.split(".")]


def _loaded(name: str, head: str | None) -> LoadedModel:
    config = _config(name)
    kind = getattr(config, "model_type", "")
    architectures = getattr(config, "architectures", None) or [""]
    purpose = architectures[0].partition("For")[2]
    causal = kind in FAMILIES and FAMILIES[kind].causal
    if causal and head not in (None, "none", "classification"):
        raise UsageError(
            f"--head={head} is for encoders; this is a decoder, of type {kind}, whose own head is "
            "loaded without --head"
        )
    own = FAMILIES[kind].comes_with.get(purpose) if head is None and kind in FAMILIES else None
    if own is not None:
        loaded = load_pretrained(_KINDS[own], name, _WHAT)
        if not loaded.missing:
            return loaded
    if head is not None:
        purpose = HEADS[head]
    elif causal and ("LMHead" in architectures[0] or not architectures[0]):
        purpose = "CausalLM"  # as GPT2LMHeadModel, or of a GGUF file
    loaded = load_pretrained(_KINDS.get(purpose, "AutoModel"), name, _WHAT)
    if head is None and purpose == "MaskedLM" and loaded.missing:
        return load_pretrained("AutoModel", name, _WHAT)
    return loaded


def _config(folder: str) -> Any:
    """Return a model's config; None if it cannot be read, which loading the model will report."""
    transformers = need_transformers()
    with silent(transformers), suppress(Exception):
        check_sizes(folder)
        return transformers.AutoConfig.from_pretrained(
            folder, trust_remote_code=False, **where_of(folder)
        )
    return None
