"""Fine-tuning an encoder with a last layer on it, to tell occupations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from wordbias.biographies.biographies import Biographies
from wordbias.biographies.classifier import Classifier, new_head
from wordbias.biographies.descent import Places, descend
from wordbias.biographies.encoding import Reading
from wordbias.biographies.recipe import Recipe
from wordbias.biographies.retraining import Fitted
from wordbias.probes.encoder import Encoder
from wordbias.probes.encoding import Work
from wordbias.probes.padding import padded
from wordbias.probes.pooling import pooled_tokens


def tune(
    encoder: Encoder,
    learned: Biographies,
    dev: Biographies,
    recipe: Recipe,
    reading: Reading,
    *,
    checkpoint: Path | None = None,
    about: Mapping[str, Any] | None = None,
    what: str = "fine-tuning",
) -> Fitted:
    """Train an encoder in place, with a new last layer.

    Both end with the parameters that were best on dev. See `wordbias.biographies.descent.descend`.
    """
    head = new_head(encoder.dim, len(learned.classes), recipe.seed).to(encoder.device)
    read, watched = (TextExamples(encoder, head, reading, part) for part in (learned, dev))
    model = Classifier(head, encoder.model)
    state = descend(model, read, watched, recipe, checkpoint=checkpoint, about=about, what=what)
    return Fitted(head, float(state.score[0]), int(state.epoch[0]))


@dataclass(init=False)
class TextExamples:
    """Biographies as examples, read by the encoder that is trained."""

    lengths: Places
    targets: Tensor

    def __init__(
        self, encoder: Encoder, head: nn.Linear, reading: Reading, bios: Biographies
    ) -> None:
        self.encoder, self.head = encoder, head
        self.targets = torch.from_numpy(bios.labels)
        self.lengths = np.empty(0, np.intp)
        if len(bios):
            self.work = Work.of(encoder, bios.texts, settings=reading.settings(encoder))
            self.lengths = self.work.tokens.lengths[self.work.texts]

    def logits(self, rows: Places) -> Tensor:
        """Return the scores of some of them, shape ``(B, C)``."""
        distinct = self.work.texts[rows]
        given = padded(self.work.tokens, distinct, self.encoder.tokenizer)
        device = self.encoder.device
        inputs = {name: torch.from_numpy(x).to(device) for name, x in given.items()}
        states = self.encoder.model(**inputs)[0].float()
        found: Tensor = self.head(self._pooled(states, distinct))
        return found

    def _pooled(self, states: Tensor, distinct: Places) -> Tensor:
        """Return the vectors that `wordbias.probes.encoding` would, shape ``(B, d)``."""
        if self.work.settings.pooling == "first":
            return states[:, 0]
        shares = np.zeros(states.shape[:2], np.float32)
        for i, text in enumerate(distinct.tolist()):
            chosen = pooled_tokens(self.work.tokens, text, self.work.settings)
            shares[i, : len(chosen)] = chosen / chosen.sum()
        return torch.einsum("bt,btd->bd", torch.from_numpy(shares).to(states), states)
