"""How probable is it that a sentence comes next: heads for next-sentence prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.contextual.next_label import next_place
from wordbias.contextual.stereoset.gsss import Sentences
from wordbias.errors import WordbiasError
from wordbias.optional import need
from wordbias.pretrained import (
    PURPOSE,
    Loaded,
    ModelLike,
    check_padding,
    load_pretrained,
    name_of,
    to_float64,
)
from wordbias.probes.encoder import position_limit
from wordbias.progress import progress
from wordbias.threads import threads

Float = NDArray[np.float64]
BATCH = 64
_NO_LIMIT = 1 << 20
"""Tokenizers that know of no limit say 10^30."""
IS_NEXT = 0
"""Where BERT's own head has "is next"."""


@dataclass(frozen=True, eq=False)
class NextSentence:
    """A model that says whether a sentence follows another.

    Attributes
    ----------
    name
        Its folder, or its name on the hub.
    model, tokenizer
        As transformers loads them.
    place
        Where "is next" stands among its two outputs.
    device
        Where it computes.
    """

    name: str
    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    place: int
    device: str

    @classmethod
    def load(
        cls, source: ModelLike, *, next_label: str | None = None, device: str | None = None
    ) -> NextSentence:
        """Load a model with a next-sentence head, or a classifier with two labels.

        Parameters
        ----------
        source
            A folder, a name on the hub, or such a model loaded, with its tokenizer.
        next_label
            Name or number of the output that means "is next". By default what the config says, and
            for BERT's own head, whose config says nothing, the first.
        device
            By default the first of cuda, mps and cpu that is there; a loaded model computes where
            it is.

        Raises
        ------
        WordbiasError
            If there is no such model or device, it has no trained head of that kind, or nothing
            says which of two labels is which.
        """
        name = name_of(source)
        loaded, own = _load(source)
        check_padding(loaded.tokenizer, name)
        labels = loaded.model.config.id2label if loaded.model.config.num_labels == 2 else {}
        place = next_place(labels, next_label, name, IS_NEXT if own else None)
        model, chosen = loaded.on(device)
        return cls(name, model, loaded.tokenizer, place, chosen)

    def probabilities(self, pairs: Sequence[Sentences], batch: int = BATCH) -> Float:
        """Return the probability that the second sentence of each pair is next, shape ``(n,)``.

        Equal pairs are computed once, pairs of like length together; the first sentence is
        segment 0, the second segment 1.

        Raises
        ------
        WordbiasError
            If a pair is longer than the model can read, or its weights are damaged.
        """
        torch = need("torch", extra="contextual", purpose=PURPOSE)
        torch.set_num_threads(threads())
        distinct = {pair: i for i, pair in enumerate(dict.fromkeys(pairs))}
        found = np.empty(len(distinct))
        with torch.inference_mode(), progress("next sentence", len(distinct), "pair") as bar:
            for rows, inputs in self._batches(list(distinct), batch):
                found[rows] = self._predict(inputs)
                bar.update(len(rows))
        return found[[distinct[pair] for pair in pairs]]

    def _batches(
        self, pairs: Sequence[Sentences], batch: int
    ) -> Iterator[tuple[NDArray[np.intp], Any]]:
        """Yield the longest first, so that what does not fit is known at once."""
        lengths = np.array([len(ids) for ids in self._tokenised(pairs)["input_ids"]])
        _check_length(self, pairs, lengths)
        order = np.argsort(-lengths, kind="stable")
        for start in range(0, len(pairs), batch):
            rows = order[start : start + batch]
            chosen = [pairs[i] for i in rows]
            yield rows, self._tokenised(chosen, padding=True, return_tensors="pt").to(self.device)

    def _tokenised(self, pairs: Sequence[Sentences], **how: Any) -> Any:
        first, second = (list(side) for side in zip(*pairs, strict=True))
        return self.tokenizer(first, second, **how)

    def _predict(self, inputs: Any) -> Float:
        logits = to_float64(self.model(**inputs).logits)  # (B, 2)
        found: Float = logits.softmax(-1)[:, self.place].cpu().numpy()
        if not np.isfinite(found).all():
            raise WordbiasError(f"{self.name}: predicts what is no number; its weights are damaged")
        return found


def _load(source: ModelLike) -> tuple[Loaded, bool]:
    """Load the head that a model has; say whether it is BERT's own kind."""
    try:
        loaded = load_pretrained(
            "AutoModelForNextSentencePrediction", source, "a next-sentence model"
        )
        lacks = _lacks(loaded)
    except WordbiasError:
        lacks = "its kind has none"
    if not lacks:
        return loaded, True
    other = load_pretrained("AutoModelForSequenceClassification", source, "a classifier of pairs")
    count = other.model.config.num_labels
    also = _lacks(other) if count == 2 or other.missing else f"it has {count} labels"
    if also:
        raise WordbiasError(
            f"{name_of(source)}: has no trained next-sentence head ({lacks}) and is no two-way "
            f"classifier ({also}); give a model with either (a masked-language model is measured "
            "on StereoSet's own JSON or CrowS-Pairs)"
        )
    return other, False


def _lacks(loaded: Loaded) -> str:
    return f"it lacks {loaded.missing[-1]}" if loaded.missing else ""


def _check_length(
    judge: NextSentence, pairs: Sequence[Sentences], lengths: NDArray[np.intp]
) -> None:
    limit = longest(judge.model, judge.tokenizer)
    worst = int(lengths.argmax())
    if limit is not None and lengths[worst] > limit:
        raise WordbiasError(
            f"{judge.name}: reads at most {limit} tokens; a pair has {lengths[worst]}: "
            f"{pairs[worst].context[:60]!r}"
        )


def longest(model: Any, tokenizer: Any) -> int | None:
    """Return how many tokens a model reads at most; None if nothing says so."""
    known = [position_limit(model), tokenizer.model_max_length]
    limits = [limit for limit in known if limit is not None and limit < _NO_LIMIT]
    return min(limits) if limits else None
