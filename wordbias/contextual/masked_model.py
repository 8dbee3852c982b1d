"""A masked-language model: how probable it finds what was at a mask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.contextual.next_sentence import longest
from wordbias.errors import WordbiasError
from wordbias.optional import need
from wordbias.pretrained import PURPOSE, ModelLike, load_pretrained, name_of, to_float64
from wordbias.progress import progress
from wordbias.threads import threads

Float = NDArray[np.float64]
BATCH = 64
_LOGITS = 1 << 26
"""Numbers in the output of one batch at most: tokens × vocabulary."""


class Masked(NamedTuple):
    """A sentence with one token masked: its numbers, where the mask is, and what was there."""

    ids: tuple[int, ...]
    place: int
    token: int


@dataclass(frozen=True, eq=False)
class MaskedModel:
    """A model that says what a masked token is.

    Attributes
    ----------
    name
        Its folder, or its name on the hub.
    model, tokenizer
        As transformers loads them.
    device
        Where it computes.
    """

    name: str
    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    device: str

    @classmethod
    def load(cls, source: ModelLike, *, device: str | None = None) -> MaskedModel:
        """Load a model with a masked-language head; one that is loaded stays where it is.

        Raises
        ------
        WordbiasError
            If there is no such model or device, or it has no trained head of that kind, or a
            tokenizer without a mask or that does not say what characters a token is of.
        """
        name = name_of(source)
        loaded = load_pretrained("AutoModelForMaskedLM", source, "a masked-language model")
        if loaded.missing:
            raise WordbiasError(
                f"{name}: has no trained masked-language head (it lacks {loaded.missing[-1]}); "
                "give a model with one"
            )
        tokenizer = loaded.tokenizer
        if tokenizer.mask_token_id is None or not tokenizer.is_fast:
            reason = "has no mask" if tokenizer.mask_token_id is None else "is a slow one"
            raise WordbiasError(
                f"{name}: its tokenizer {reason}; masking words needs a fast one, with a "
                "tokenizer.json and a mask"
            )
        model, chosen = loaded.on(device)
        return cls(name, model, tokenizer, chosen)

    def log_probabilities(self, masked: Sequence[Masked], what: str = "masked words") -> Float:
        """Return the natural logarithm of each masked token's probability, shape ``(n,)``.

        Raises
        ------
        WordbiasError
            If a sentence is longer than the model can read, or its weights are damaged.
        """
        torch = need("torch", extra="contextual", purpose=PURPOSE)
        torch.set_num_threads(threads())
        distinct = {one: i for i, one in enumerate(dict.fromkeys(masked))}
        found = np.empty(len(distinct))
        with torch.inference_mode(), progress(what, len(distinct), "mask") as bar:
            for rows, batch in self._batches(list(distinct)):
                found[rows] = self._predict(batch, torch)
                bar.update(len(rows))
        return found[[distinct[one] for one in masked]]

    def _batches(
        self, masked: Sequence[Masked]
    ) -> Iterator[tuple[NDArray[np.intp], Sequence[Masked]]]:
        lengths = np.array([len(one.ids) for one in masked], np.intp)
        limit = longest(self.model, self.tokenizer)
        if limit is not None and lengths.max(initial=0) > limit:
            text = self.tokenizer.decode(masked[int(lengths.argmax())].ids)
            raise WordbiasError(
                f"{self.name}: reads at most {limit} tokens; a sentence has {lengths.max()}: "
                f"{text[:60]!r}"
            )
        order = np.argsort(-lengths, kind="stable")
        start = 0
        while start < len(order):
            numbers = lengths[order[start]] * self.model.config.vocab_size
            rows = order[start : start + max(1, min(BATCH, _LOGITS // int(numbers)))]
            yield rows, [masked[i] for i in rows]
            start += len(rows)

    def _predict(self, batch: Sequence[Masked], torch: Any) -> Float:
        ids = [torch.tensor(one.ids) for one in batch]
        mask = [torch.ones_like(one) for one in ids]
        pad = self.tokenizer.pad_token_id or 0
        padded = [
            torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=value)
            for rows, value in ((ids, pad), (mask, 0))
        ]
        inputs, attention = (rows.to(self.device) for rows in padded)
        logits = self.model(input_ids=inputs, attention_mask=attention).logits  # (B, T, V)
        at = torch.arange(len(batch), device=self.device)
        places = torch.tensor([one.place for one in batch], device=self.device)
        tokens = torch.tensor([one.token for one in batch], device=self.device)
        log_p = to_float64(logits[at, places]).log_softmax(-1)  # (B, V)
        found: Float = log_p[at.to(log_p.device), tokens.to(log_p.device)].cpu().numpy()
        if not np.isfinite(found).all():
            raise WordbiasError(f"{self.name}: predicts what is no number; its weights are damaged")
        return found
