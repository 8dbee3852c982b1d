"""NLI models as functions take them: decomposable attention of ours, or one of Hugging Face."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from wordbias.data import nli_sample_path
from wordbias.embedding import Embedding, EmbeddingLike
from wordbias.errors import WordbiasError
from wordbias.functions.checks import path_named
from wordbias.functions.inputs import Reading, Subject, names_of, open_subject, path_of
from wordbias.nli.files import Model
from wordbias.nli.hugging_face import Classifier
from wordbias.nli.pairs import PairsLike
from wordbias.resources import located

File = str | os.PathLike[str]


class HoldsModel(Protocol):
    """A pipeline of transformers, a CrossEncoder, or what looks like them."""

    model: Any
    tokenizer: Any


HuggingFaceLike = File | HoldsModel | tuple[object, object]
"""A folder or a hub name; or a loaded model and its tokenizer, as a pair or in a pipeline."""


@dataclass(frozen=True)
class Ours:
    """Decomposable attention and the embedding that it reads; `path` is where the model was."""

    model: Model
    path: str
    subject: Subject

    @property
    def embedding(self) -> Embedding:
        """What it reads."""
        return self.subject.embedding

    def described(self) -> str:
        """Name the model, the embedding and its size."""
        return f"decomposable attention ({self.path}) on {self.subject.described()}"


def open_ours(
    model: File | Model | None, embedding: EmbeddingLike | None, reading: Reading
) -> Ours:
    """Load what nli-train wrote, and the embedding; without them, those that come along."""
    if isinstance(model, Model):
        return Ours(model, "in memory", open_subject(embedding, reading))
    path = path_named("--model", nli_sample_path() if model is None else model)
    return Ours(Model.load(path), path, open_subject(embedding, reading))


def open_classifier(
    model: HuggingFaceLike, labels: str | Sequence[str] | None, device: str | None
) -> Classifier:
    """Load a model of transformers by its name, or take one that is loaded.

    Raises
    ------
    WordbiasError
        If it is something else, or cannot be used as it is; see `Classifier.load`.
    """
    name, order = path_of(model), names_of(labels) or None
    if name is not None:
        return Classifier.load(name, labels=order, device=device)
    if hasattr(model, "model") and hasattr(model, "tokenizer"):
        held = cast("HoldsModel", model)
        return Classifier.of(held.model, held.tokenizer, labels=order, device=device)
    if isinstance(model, tuple) and len(model) == 2 and hasattr(model[0], "config"):
        return Classifier.of(*model, labels=order, device=device)
    raise WordbiasError(
        "expected a Hugging Face model: a folder, a hub name, (model, tokenizer) or a pipeline; "
        f"got {type(model).__name__}"
    )


def open_pairs(pairs: PairsLike) -> PairsLike:
    """Return where labelled pairs are, if they have been fetched; those in memory as they are."""
    name = path_of(pairs)
    return pairs if name is None else located(name)
