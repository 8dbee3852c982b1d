"""Next-sentence models: the probability that a sentence comes next, and the label for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.models.loading import LoadedModel, check_padding, load_pretrained
from wordbias.models.model_like import ModelLike, name_of, to_float64
from wordbias.progress import progress

Float = NDArray[np.float64]
BATCH = 64
IS_NEXT = 0
"""Index of "is next" in BERT's own head."""
_NEXT = frozenset({"isnext", "next", "isnextsentence", "nextsentence"})
_NOT_NEXT = frozenset({"notnext", "isnotnext", "random", "randomsentence", "notnextsentence"})


class Sentences(NamedTuple):
    """A context and a next sentence."""

    context: str
    following: str


@dataclass(frozen=True, eq=False, kw_only=True)
class NextSentence(LoadedModel):
    """A model that predicts whether a sentence follows another."""

    place: int  # index of "is next" among its two outputs

    @classmethod
    def load(
        cls, source: ModelLike, *, next_label: str | None = None, device: str | None = None
    ) -> Self:
        """Load a model with a next-sentence head, or a classifier with two labels."""
        # `next_label` is by default that of the config or, for BERT's own head, whose config does
        # not name it, the first.
        loaded, own = _load(source)
        check_padding(loaded.tokenizer, loaded.name)
        labels = loaded.model.config.id2label if loaded.model.config.num_labels == 2 else {}
        place = next_place(labels, next_label, loaded.name, IS_NEXT if own else None)
        return cls(**vars(loaded.on(device)), place=place)

    def probabilities(self, pairs: Sequence[Sentences], batch: int = BATCH) -> Float:
        """Return the probability that the second sentence of each pair is next, shape ``(n,)``."""
        # Equal pairs are computed once, the longest first; the first sentence is segment 0, the
        # second segment 1.
        distinct = {pair: i for i, pair in enumerate(dict.fromkeys(pairs))}
        texts, probabilities = list(distinct), np.empty(len(distinct))
        lengths = np.array([len(ids) for ids in self._tokenised(texts)["input_ids"]])
        self.check_lengths(lengths, "a pair", lambda i: texts[i].context)
        order = np.argsort(-lengths, kind="stable")
        with self.predicting(), progress("next sentence", len(order), "pair") as bar:
            for start in range(0, len(order), batch):
                rows = order[start : start + batch]
                chosen = [texts[i] for i in rows]
                inputs = self._tokenised(chosen, padding=True, return_tensors="pt").to(self.device)
                logits = to_float64(self.model(**inputs).logits)  # (B, 2)
                probabilities[rows] = self.finite(logits.softmax(-1)[:, self.place].cpu().numpy())
                bar.update(len(rows))
        return probabilities[[distinct[pair] for pair in pairs]]

    def _tokenised(self, pairs: Sequence[Sentences], **how: Any) -> Any:
        first, second = (list(side) for side in zip(*pairs, strict=True))
        return self.tokenizer(first, second, **how)


def _load(source: ModelLike) -> tuple[LoadedModel, bool]:
    """Load a model with its head; return whether the head is of BERT's own kind."""
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


def _lacks(loaded: LoadedModel) -> str:
    return f"it lacks {loaded.missing[-1]}" if loaded.missing else ""


def next_place(
    id2label: Mapping[int, str], given: str | None, name: str, default: int | None
) -> int:
    """Return the index of the output that means "is next"."""
    # `default` is the index if the labels of the config do not tell; None to refuse such a config.
    names = [str(id2label[i]) for i in sorted(id2label)] or ["LABEL_0", "LABEL_1"]
    if given is not None:
        if given in names:
            return names.index(given)
        if given in ("0", "1"):
            return int(given)
        raise WordbiasError(f"next_label={given!r}: {name} has the labels {', '.join(names)}")
    plain = ["".join(filter(str.isalnum, label)).lower() for label in names]
    is_next = [label in _NEXT or plain[1 - i] in _NOT_NEXT for i, label in enumerate(plain)]
    if sum(is_next) == 1:
        return is_next.index(True)
    if default is None:
        raise WordbiasError(
            f"{name}: its labels {', '.join(names)} do not tell which one means that a sentence is "
            f"next; say so in its config.json, id2label (IsNext, NotNext), or in Python by "
            f"next_label={names[0]!r} or {names[1]!r}"
        )
    return default
