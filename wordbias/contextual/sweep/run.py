"""Logits of every model of a plan for all pairs, in one process or several, with a store."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from wordbias.models.token_batches import Places, TokenisedPairs
from wordbias.nli.hugging_face import Classifier
from wordbias.progress import progress
from wordbias.stereotypes.next_sentence import NextSentence
from wordbias.store import Store
from wordbias.workers import Workers

Float32 = NDArray[np.float32]
Model = NextSentence | Classifier
BATCHES_TOGETHER = 4
"""Number of batches that a worker process gets at a time."""
_Part = tuple[int, Places, dict[str, NDArray[np.int64]]]
"""A batch for a worker: its index, the indices of its pairs, and the model's inputs."""
_Done = tuple[int, Places, Float32]
"""A batch that was computed: its index, the indices of its pairs, and their logits."""


@dataclass(frozen=True)
class ModelSource:
    """Arguments to load a model, in this process and in workers.

    Attributes
    ----------
    head
        ``next sentence`` or ``inference``.
    model
        A folder, a name on the hub, or, for this process only, a loaded model with its tokenizer.
    labels
        Labels of its outputs: the one that means "is next", or the order of three.
    device
        By default the first of cuda, mps and cpu that is there.
    """

    head: str
    model: ModelLike
    labels: tuple[str, ...] = ()
    device: str | None = None

    def load(self) -> Model:
        """Load the model; errors are those of `NextSentence` and `Classifier`."""
        if self.head != "inference":
            label = self.labels[0] if self.labels else None
            return NextSentence.load(self.model, next_label=label, device=self.device)
        return Classifier.load(self.model, labels=self.labels or None, device=self.device)


def outputs(
    source: ModelSource,
    model: Model,
    plan: Plan,
    pairs: TokenisedPairs,
    *,
    file: Path | None = None,
    workers: Workers | None = None,
) -> Float32:
    """Return the logits of every model of a plan for every pair, shape ``(n, models, labels)``.

    Parameters
    ----------
    source, model
        The loaded model, and its source for other processes; one without a name runs here.
    file
        Store of the batches that are computed. The caller removes it when the result is stored.

    Raises
    ------
    WordbiasError
        If the store is of another sweep, or the logits are not finite.
    """
    by_name = isinstance(source.model, (str, os.PathLike))
    workers = workers if workers and by_name else Workers()  # a loaded model runs here
    shape = (len(pairs.tokens), len(plan.names), model.model.config.num_labels)
    about = {} if file is None else _identity(model, plan, pairs)
    store = Store(file, about, ("batch",), what="sweep")
    batches = range(len(pairs.batches))
    left = [batch for batch in batches if store.get(batch) is None]
    with progress(f"sweep, {source.head}", sum(len(pairs.batches[i]) for i in left), "pair") as bar:
        for batch, places, computed in _computed(source, model, plan, pairs, left, workers):
            store.put(batch, arrays={"places": places, "logits": computed})
            bar.update(len(places))
    logits = np.zeros(shape, np.float32)
    for batch in batches:
        arrays = store.entries[batch,].arrays
        logits[arrays["places"]] = arrays["logits"]
    if not np.isfinite(logits).all():
        raise WordbiasError(f"{model.name}: predicts what is no number; its weights are damaged")
    return logits[pairs.places]


def _identity(model: Model, plan: Plan, pairs: TokenisedPairs) -> dict[str, Any]:
    digest = hashlib.sha256()
    for i, name in enumerate(plan.names):
        digest.update(name.encode())
        for step in plan.steps_of(i):
            digest.update(f"{step} ".encode() + step.content)
    return {
        "model": Fingerprint.of(model.model).to_dict(),
        "interventions": digest.hexdigest(),
        "pairs": pairs.sha256(),
    }


# In this process, or in workers


def _computed(
    source: ModelSource,
    model: Model,
    plan: Plan,
    pairs: TokenisedPairs,
    left: Sequence[int],
    workers: Workers,
) -> Iterator[_Done]:
    """Compute batches in this process or in workers, and yield each when it is done."""
    if workers.in_process or len(left) <= BATCHES_TOGETHER:  # loading the model again takes longer
        torch.set_num_threads(native_threads())
        forward = Forward(model.model, plan)
        for batch in left:
            places, inputs = pairs.inputs(batch)
            yield batch, places, _logits(forward, model.device, inputs)
        return
    groups = [left[i : i + BATCHES_TOGETHER] for i in range(0, len(left), BATCHES_TOGETHER)]
    parts = [[_part(pairs, batch) for batch in group] for group in groups]
    lost = "the same call resumes with what is left, if it has an output"
    for _, done in workers.unordered(_worker, parts, shared=(source, plan), lost=lost):
        yield from done


def _logits(forward: Forward, device: str, inputs: Mapping[str, Any]) -> Float32:
    """Return the logits of a batch, shape ``(B, models, labels)``."""
    with torch.inference_mode():
        logits = forward({name: x.to(device) for name, x in inputs.items()})
    found: Float32 = logits.float().transpose(0, 1).cpu().numpy()
    return found


_loaded: dict[ModelSource, Any] = {}
"""The model that a worker loaded last, kept for its next batches."""


def _part(pairs: TokenisedPairs, batch: int) -> _Part:
    places, inputs = pairs.inputs(batch)
    return batch, places, {name: x.numpy() for name, x in inputs.items()}


def _worker(source: ModelSource, plan: Plan, parts: Sequence[_Part]) -> list[_Done]:
    """Compute some batches in another process."""
    torch.set_num_threads(native_threads())
    if source not in _loaded:
        _loaded.clear()
        _loaded[source] = source.load()
    model = _loaded[source]
    forward = Forward(model.model, plan)
    return [
        (
            batch,
            places,
            _logits(forward, model.device, {name: torch.tensor(x) for name, x in inputs.items()}),
        )
        for batch, places, inputs in parts
    ]
