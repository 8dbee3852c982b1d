"""Logits of every model of a plan for all texts, in one process or several, with a store."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wordbias.contextual.sweep.forward import Forward, Plan
from wordbias.devices import native_threads
from wordbias.errors import WordbiasError
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.model_like import ModelLike
from wordbias.models.text_classifier import TextClassifier
from wordbias.models.token_batches import Places, TokenisedTexts
from wordbias.nli.hugging_face import Classifier
from wordbias.products import products
from wordbias.progress import progress
from wordbias.stereotypes.next_sentence import NextSentence
from wordbias.store import Store
from wordbias.workers import Workers

Float32 = NDArray[np.float32]
Model = NextSentence | Classifier | TextClassifier
Arrays = dict[str, NDArray[Any]]
BATCHES_TOGETHER = 4
"""Number of batches that a worker process gets at a time."""
_NONE = np.iinfo(np.int16).min
"""In place of a class, where logits are no numbers."""
_Part = tuple[int, Places, dict[str, NDArray[np.int64]]]
"""A batch for a worker: its index, the indices of its texts, and the model's inputs."""
_Done = tuple[int, Places, Arrays]
"""A batch that was computed: its index, the indices of its texts, and what is kept of them."""


@dataclass(frozen=True)
class ModelSource:
    """Arguments to load a model, in this process and in workers."""

    head: str  # `next sentence`, `inference` or `classes`
    # a folder, a name on the hub, or, for this process only, a loaded model with its tokenizer
    model: ModelLike
    # labels of its outputs: the one that means "is next", or the order of three
    labels: tuple[str, ...] = ()
    device: str | None = None

    def load(self) -> Model:
        """Load the model; errors are those of its class."""
        if self.head == "classes":
            return TextClassifier.load(self.model, device=self.device)
        if self.head != "inference":
            label = self.labels[0] if self.labels else None
            return NextSentence.load(self.model, next_label=label, device=self.device)
        return Classifier.load(self.model, labels=self.labels or None, device=self.device)


@dataclass(frozen=True)
class Kept:
    """What is kept of every text."""

    # the number of the likeliest class in place of all logits, which are too many for hundreds of
    # models
    classes: bool = False
    # indices of the models whose inputs of the final linear layer are kept
    vectors: tuple[int, ...] = ()


def outputs(
    source: ModelSource,
    model: Model,
    plan: Plan,
    texts: TokenisedTexts,
    selection: Kept | None = None,
    *,
    file: Path | None = None,
    workers: Workers | None = None,
) -> Arrays:
    """Return the outputs of every model of a plan for every text, whose batches `file` stores."""
    # `logits`, (n, models, labels), or `classes`, (n, models), int16; and `vectors`, (n, k, d), of
    # the models that are kept. A model without a name runs in this process.
    by_name = isinstance(source.model, (str, os.PathLike))
    workers = workers if workers and by_name else Workers()  # a loaded model runs here
    selection = selection or Kept()
    about = {} if file is None else _identity(model, plan, texts, selection)
    store = Store(file, about, ("batch",), what="sweep")
    batches = range(len(texts.batches))
    left = [batch for batch in batches if store.get(batch) is None]
    with progress(f"sweep, {source.head}", sum(len(texts.batches[i]) for i in left), "text") as bar:
        for batch, places, computed in _computed(
            source, model, plan, texts, selection, left, workers
        ):
            store.put(batch, arrays={"places": places, **computed})
            bar.update(len(places))
    collected: Arrays = {}
    for batch in batches:
        arrays = dict(store.entries[batch,].arrays)
        places = arrays.pop("places")
        for name, array in arrays.items():
            whole = collected.setdefault(
                name, np.zeros((len(texts.tokens), *array.shape[1:]), array.dtype)
            )
            whole[places] = array
    if not all(
        (array != _NONE).all() if name == "classes" else np.isfinite(array).all()
        for name, array in collected.items()
    ):
        raise WordbiasError(f"{model.name}: predicts what is no number; its weights are damaged")
    return {name: array[texts.places] for name, array in collected.items()}


def _identity(model: Model, plan: Plan, texts: TokenisedTexts, selection: Kept) -> dict[str, Any]:
    digest = hashlib.sha256()
    for i, name in enumerate(plan.names):
        digest.update(name.encode())
        for step in plan.steps_of(i):
            digest.update(f"{step} ".encode() + step.content)
    return {
        "model": Fingerprint.of(model.model).to_dict(),
        "interventions": digest.hexdigest(),
        "texts": texts.sha256(),
        "kept": asdict(selection),
    }


# In this process, or in workers


def _computed(
    source: ModelSource,
    model: Model,
    plan: Plan,
    texts: TokenisedTexts,
    selection: Kept,
    left: Sequence[int],
    workers: Workers,
) -> Iterator[_Done]:
    """Compute batches in this process or in workers, and yield each when it is done."""
    if workers.in_process or len(left) <= BATCHES_TOGETHER:  # loading the model again takes longer
        torch.set_num_threads(native_threads())
        forward = Forward(model.model, plan)
        for batch in left:
            places, inputs = texts.inputs(batch)
            yield batch, places, _outputs(forward, model.device, inputs, selection)
        return
    groups = [left[i : i + BATCHES_TOGETHER] for i in range(0, len(left), BATCHES_TOGETHER)]
    parts = [[_part(texts, batch) for batch in group] for group in groups]
    lost = "the same call resumes with what is left, if it has an output"
    for _, done in workers.unordered(_worker, parts, shared=(source, plan, selection), lost=lost):
        yield from done


def _outputs(forward: Forward, device: str, inputs: Mapping[str, Any], selection: Kept) -> Arrays:
    """Return what is kept of a batch, each array of shape ``(B, models, …)``."""
    with torch.inference_mode(), products(device):
        placed = {name: x.to(device) for name, x in inputs.items()}
        logits, vectors = forward(placed, selection.vectors)
        tensors = {"logits": logits.float()}
        if selection.classes:
            known = logits.isfinite().all(-1)
            tensors = {"classes": logits.argmax(-1).where(known, _NONE).to(torch.int16)}
        if selection.vectors:
            tensors["vectors"] = vectors.float()
        return {name: x.transpose(0, 1).cpu().numpy() for name, x in tensors.items()}


_loaded: dict[ModelSource, Any] = {}
"""The model that a worker loaded last, kept for its next batches."""


def _part(texts: TokenisedTexts, batch: int) -> _Part:
    places, inputs = texts.inputs(batch)
    return batch, places, {name: x.numpy() for name, x in inputs.items()}


def _worker(
    source: ModelSource, plan: Plan, selection: Kept, parts: Sequence[_Part]
) -> list[_Done]:
    """Compute some batches in another process."""
    torch.set_num_threads(native_threads())
    if source not in _loaded:
        _loaded.clear()
        _loaded[source] = source.load()
    model = _loaded[source]
    forward = Forward(model.model, plan)
    done = []
    for batch, places, given in parts:
        inputs = {name: torch.tensor(x) for name, x in given.items()}
        done.append((batch, places, _outputs(forward, model.device, inputs, selection)))
    return done
