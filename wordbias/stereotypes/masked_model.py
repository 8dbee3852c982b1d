"""Probabilities of masked words in a masked-language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.models.loading import LoadedModel, load_pretrained
from wordbias.models.model_like import ModelLike, to_float64
from wordbias.progress import progress

Float = NDArray[np.float64]
BATCH = 64
_LOGITS = 1 << 26
"""Maximal number of values in the output of one batch: tokens × vocabulary."""


class Masked(NamedTuple):
    """A sentence with one masked token: token numbers, position of the mask, original token."""

    ids: tuple[int, ...]
    place: int
    token: int


@dataclass(frozen=True, eq=False)
class MaskedModel(LoadedModel):
    """A model with a masked-language head."""

    @classmethod
    def load(cls, source: ModelLike, *, device: str | None = None) -> Self:
        """Load a model with a masked-language head; a loaded model stays on its device."""
        loaded = load_pretrained("AutoModelForMaskedLM", source, "a masked-language model")
        if loaded.missing:
            raise WordbiasError(
                f"{loaded.name}: has no trained masked-language head (it lacks "
                f"{loaded.missing[-1]}); give a model with one"
            )
        tokenizer = loaded.tokenizer
        if tokenizer.mask_token_id is None or not tokenizer.is_fast:
            reason = "has no mask" if tokenizer.mask_token_id is None else "is a slow one"
            raise WordbiasError(
                f"{loaded.name}: its tokenizer {reason}; masking words needs a fast one, with a "
                "tokenizer.json and a mask"
            )
        return cls(**vars(loaded.on(device)))

    def log_probabilities(self, masked: Sequence[Masked], what: str = "masked words") -> Float:
        """Return the natural logarithm of each masked token's probability, shape ``(n,)``."""
        # Equal sentences are computed once, the longest first.
        distinct = {sentence: i for i, sentence in enumerate(dict.fromkeys(masked))}
        sentences, log_probs = list(distinct), np.empty(len(distinct))
        lengths = np.array([len(sentence.ids) for sentence in sentences], np.intp)
        self.check_lengths(
            lengths, "a sentence", lambda i: str(self.tokenizer.decode(sentences[i].ids))
        )
        order = np.argsort(-lengths, kind="stable")
        start = 0
        with self.predicting() as torch, progress(what, len(order), "mask") as bar:
            while start < len(order):
                numbers = int(lengths[order[start]]) * self.model.config.vocab_size
                rows = order[start : start + max(1, min(BATCH, _LOGITS // numbers))]
                log_probs[rows] = self._predict([sentences[i] for i in rows], torch)
                start += len(rows)
                bar.update(len(rows))
        return log_probs[[distinct[sentence] for sentence in masked]]

    def _predict(self, batch: Sequence[Masked], torch: Any) -> Float:
        ids = [torch.tensor(masked.ids) for masked in batch]
        mask = [torch.ones_like(row) for row in ids]
        pad = self.tokenizer.pad_token_id or 0
        padded = [
            torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=value)
            for rows, value in ((ids, pad), (mask, 0))
        ]
        inputs, attention = (rows.to(self.device) for rows in padded)
        logits = self.model(input_ids=inputs, attention_mask=attention).logits  # (B, T, V)
        at = torch.arange(len(batch), device=self.device)
        places = torch.tensor([masked.place for masked in batch], device=self.device)
        tokens = torch.tensor([masked.token for masked in batch], device=self.device)
        log_p = to_float64(logits[at, places]).log_softmax(-1)  # (B, V)
        log_probs: Float = log_p[at.to(log_p.device), tokens.to(log_p.device)].cpu().numpy()
        return self.finite(log_probs)
