"""Classifier of occupations: a linear layer on one vector of a text, and the encoder below it.

Orgad et al. (2022, appendix A.1) put one linear layer on the last hidden state of the first token.
The probed vectors are then also those that the layer is retrained on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from wordbias.biographies.data import Biographies
from wordbias.biographies.encoding import EncodingSettings, Float32, unwrapped
from wordbias.biographies.plan import Recipe
from wordbias.classifier_training import ABOUT, Examples, Places, train_classifier
from wordbias.errors import WordbiasError
from wordbias.formats.files import new_folder
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import EncodingJob, pooled_tokens
from wordbias.models.model_like import need_transformers, silent
from wordbias.models.tokenising import padded
from wordbias.rendering import as_json
from wordbias.store import difference
from wordbias.training import Stack, write_checkpoint

HEAD = "head.safetensors"


def new_head(dim: int, classes: int, seed: int) -> nn.Linear:
    """Draw a last layer as torch does, without changing the state of its generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Linear(dim, classes)


def predict(head: nn.Linear, vectors: Float32) -> Places:
    """Return the class that a last layer gives to each vector, shape ``(n,)``."""
    weights, bias = (tensor.detach().cpu() for tensor in (head.weight, head.bias))
    with torch.inference_mode():
        logits: Tensor = torch.from_numpy(np.array(vectors)) @ weights.T + bias
    predicted: Places = logits.argmax(1).numpy().astype(np.intp)
    return predicted


class Fitted(NamedTuple):
    """A last layer, its accuracy on dev, and the evaluation, from 1, at which that was best."""

    head: nn.Linear
    accuracy: float
    round: int


class Labelled(NamedTuple):
    """Vectors, shape ``(n, d)``, and their classes, shape ``(n,)``."""

    vectors: Float32
    labels: Places


def train_head(
    training: Labelled, dev: Labelled, classes: int, recipe: Recipe, what: str = "last layer"
) -> Fitted:
    """Train a new last layer; the recipe's seed draws it and orders the batches.

    Orgad et al. (2022, §4.2) retrain it so on the original data: bias that comes back had only been
    hidden by debiasing.
    """
    head = new_head(training.vectors.shape[1], classes, recipe.seed)
    examples, evaluated = (_VectorExamples(head, *part) for part in (training, dev))
    return _train(head, None, examples, evaluated, recipe, what=what)


class _VectorExamples:
    """Vectors as examples."""

    lengths: Places
    targets: Tensor

    def __init__(self, head: nn.Linear, vectors: Float32, labels: Places) -> None:
        self.head, self.vectors = head, torch.from_numpy(np.array(vectors, np.float32))
        self.lengths, self.targets = np.zeros(len(labels), np.intp), torch.from_numpy(labels)

    def batch(self, rows: Places) -> tuple[Tensor, Tensor]:
        """Return logits and classes of some of them, shapes ``(B, C)`` and ``(B,)``."""
        chosen = torch.from_numpy(rows)
        return self.head(self.vectors[chosen]), self.targets[chosen]


def fine_tune(
    encoder: Encoder,
    training: Biographies,
    dev: Biographies,
    recipe: Recipe,
    settings: EncodingSettings,
    *,
    checkpoint: Path | None = None,
    about: Mapping[str, Any] | None = None,
    what: str = "fine-tuning",
) -> Fitted:
    """Train an encoder in place, with a new last layer."""
    head = new_head(encoder.dim, len(training.classes), recipe.seed).to(encoder.device)
    examples, evaluated = (TextExamples(encoder, head, settings, part) for part in (training, dev))
    options = {"checkpoint": checkpoint, "about": about, "what": what}
    return _train(head, encoder.model, examples, evaluated, recipe, **options)


class TextExamples:
    """Biographies as examples, encoded by the encoder that is trained."""

    encoder: Encoder
    head: nn.Linear
    work: EncodingJob
    lengths: Places
    targets: Tensor

    def __init__(
        self, encoder: Encoder, head: nn.Linear, settings: EncodingSettings, bios: Biographies
    ) -> None:
        self.encoder, self.head = encoder, head
        self.targets = torch.from_numpy(bios.labels)
        self.lengths = np.empty(0, np.intp)
        if len(bios):
            self.work = EncodingJob.of(encoder, bios.texts, settings=settings.for_encoder(encoder))
            self.lengths = self.work.tokens.lengths[self.work.texts]

    def batch(self, rows: Places) -> tuple[Tensor, Tensor]:
        """Return logits and classes of some of them, shapes ``(B, C)`` and ``(B,)``."""
        distinct = self.work.texts[rows]
        given = padded(self.work.tokens, distinct, self.encoder)
        device = self.encoder.device
        inputs = {name: torch.from_numpy(x).to(device) for name, x in given.items()}
        states = self.encoder.model(**inputs)[0].float()
        targets = self.targets[torch.from_numpy(rows)].to(device)
        return self.head(self._pooled(states, distinct)), targets

    def _pooled(self, states: Tensor, distinct: Places) -> Tensor:
        """Return the vectors that `wordbias.models.encoding` would, shape ``(B, d)``."""
        if self.work.settings.pooling == "first":
            return states[:, 0]
        shares = np.zeros(states.shape[:2], np.float32)
        for i, text in enumerate(distinct.tolist()):
            chosen = pooled_tokens(self.work.tokens, text, self.work.settings)
            shares[i, : len(chosen)] = chosen / chosen.sum()
        return torch.einsum("bt,btd->bd", torch.from_numpy(shares).to(states), states)


# training


def _train(
    head: nn.Linear,
    encoder: nn.Module | None,
    data: Examples,
    dev: Examples,
    recipe: Recipe,
    **options: Any,
) -> Fitted:
    """Train a last layer and, if one is given, the encoder below it."""
    for part, name in ((data, "train on"), (dev, "choose the best epoch by")):
        if not len(part.lengths):
            raise WordbiasError(f"no biography is left to {name}; give more, or another strategy")
    model = nn.ModuleDict({"head": head} | ({} if encoder is None else {"encoder": encoder}))
    stack = Stack(dict(model.named_parameters()), model)
    tuned = train_classifier(stack, data, dev, recipe, plain=recipe.plain, **options)
    return Fitted(head, tuned.accuracy, tuned.round)


# storing


def save_model(
    folder: Path,
    encoder: Encoder,
    head: nn.Linear,
    classes: Sequence[str],
    about: Mapping[str, Any],
) -> None:
    """Write a folder for transformers with the last layer, unless one of this `about` is there."""
    wanted = {**about, "classes": list(classes)}
    if folder.exists():
        try:
            known = json.loads((folder / ABOUT).read_text("utf-8"))
        except (OSError, ValueError):
            known = {}
        if (different := difference(known, dict(wanted))) is not None:
            raise WordbiasError(
                f"{folder}: holds another model: its {different}; remove it, or name another folder"
            )
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    model = unwrapped(encoder)
    layer = {name: parameter.detach() for name, parameter in head.named_parameters()}
    with new_folder(folder) as part, silent(need_transformers()):
        model.save_pretrained(part)
        encoder.tokenizer.save_pretrained(part)
        write_checkpoint(part / HEAD, {"head": layer}, wanted)
        (part / ABOUT).write_text(as_json(wanted, indent=2) + "\n", "utf-8")
