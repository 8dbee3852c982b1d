"""A model to fine-tune: an encoder with its own head for the task, or a new one."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from wordbias.contextual.families import base_of, family_of, text_head_of
from wordbias.contextual.labelled_pairs import NEXT
from wordbias.errors import WordbiasError
from wordbias.nli.pairs import label_indices
from wordbias.pretrained import LoadedModel, load_pretrained

CLASSIFIER = "AutoModelForSequenceClassification"
_NEXT_SENTENCE = "AutoModelForNextSentencePrediction"


@dataclass(frozen=True, eq=False, kw_only=True)
class Headed(LoadedModel):
    """A model with the head of a task, in float32; missing parameters were drawn at random.

    Attributes
    ----------
    places
        Index among the outputs of each label of the task.
    """

    places: tuple[int, ...]

    @property
    def new_parameters(self) -> int:
        """Number of parameters that were drawn at random."""
        known = dict(self.model.named_parameters())
        return sum(known[name].numel() for name in self.missing)


def load_headed(task: str, names: Sequence[str], model: str, seed: int = 0) -> Headed:
    """Load an encoder with a head.

    A head for the same labels is kept and trained further. BERT gets its own next-sentence head,
    any other model a classifier, whose config then names its outputs.

    Parameters
    ----------
    task
        ``nli`` or ``nsp``.
    names
        The labels of the task.
    model
        A folder, or a name on the hub.
    seed
        Seed of a new head's parameters.

    Raises
    ------
    WordbiasError
        If there is no such model, its family is not known, or weights of its encoder are missing.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        loaded, own = _load(task, model)
        _check(loaded, model)
        places = tuple(range(len(names))) if own else _known(loaded, names)
        if places is None:
            loaded, places = _with_classifier(loaded, names), tuple(range(len(names)))
        elif own:
            _name_outputs(loaded.model.config, names)
    text_head_of(loaded.model)  # refuses other heads
    loaded = replace(loaded, model=loaded.model.float(), precision="float32")
    return Headed(**vars(loaded), places=places)


def encoder_parameters(model: Any) -> list[Any]:
    """Return the parameters of the encoder, without its pooler and the head."""
    named, pooler = base_of(model).named_parameters(), family_of(model).pooler
    return [parameter for name, parameter in named if pooler not in name.split(".")[0]]


def _load(task: str, name: str) -> tuple[LoadedModel, bool]:
    """Load a model; return whether it has BERT's own next-sentence head."""
    if task == "nsp":
        try:
            return load_pretrained(_NEXT_SENTENCE, name, "a next-sentence model"), True
        except WordbiasError:
            pass  # other families have none
    return load_pretrained(CLASSIFIER, name, "an encoder"), False


def _check(loaded: LoadedModel, name: str) -> None:
    pooler = family_of(loaded.model).pooler
    prefix = f"{loaded.model.base_model_prefix}."
    lost = [key for key in loaded.missing if key.startswith(prefix) and pooler not in key]
    if lost:
        raise WordbiasError(
            f"{name}: has no trained weights for {lost[0]}; give a folder whose weights are of "
            "this model"
        )
    weights = loaded.model.named_parameters()
    damaged = [key for key, weight in weights if not bool(torch.isfinite(weight).all())]
    if damaged:
        raise WordbiasError(
            f"{name}: its weights are damaged: {damaged[0]} holds what is no number; fetch or "
            "write them again"
        )


def _known(loaded: LoadedModel, names: Sequence[str]) -> tuple[int, ...] | None:
    """Return the indices of the labels in a trained head of the same task; None for others."""
    labels = [str(label) for _, label in sorted(loaded.model.config.id2label.items())]
    if loaded.missing or len(labels) != len(names):
        return None
    if tuple(names) == NEXT:
        return tuple(map(labels.index, names)) if set(labels) == set(names) else None
    return label_indices(labels)


def _with_classifier(loaded: LoadedModel, names: Sequence[str]) -> LoadedModel:
    """Put a new final layer on a classifier, and keep every weight that fits."""
    config = copy.deepcopy(loaded.model.config)
    _name_outputs(config, names)
    config.problem_type = "single_label_classification"
    made = type(loaded.model)(config)
    shapes = {name: value.shape for name, value in made.state_dict().items()}
    kept = {
        name: value
        for name, value in loaded.model.state_dict().items()
        if shapes.get(name) == value.shape and name not in loaded.missing
    }
    made.load_state_dict(kept, strict=False)
    new = sorted(set(dict(made.named_parameters())) - set(kept))
    return replace(loaded, model=made, missing=tuple(new))


def _name_outputs(config: Any, names: Sequence[str]) -> None:
    config.id2label = dict(enumerate(names))
    config.label2id = {name: i for i, name in enumerate(names)}
