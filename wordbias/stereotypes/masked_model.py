"""Pseudo-likelihoods of a masked-language model: StereoSet's blanks and CrowS-Pairs' sentences.

Nadeem et al. (2021) mask the sub-words of a blank from left to right: the earlier ones are given,
the later ones left out. Nangia et al. (2020) mask each token that two sentences share in turn, with
all others given, and add the log-probabilities.

By default all words of a filler are scored, tokenised as in the sentence. StereoSet's released code
(``dataloader.py``) scores less, and `published_masks` follows it:

- of several words only the first, together with text joined to the blank (``BLANKed``) and without
  signs: *ice-cold tea* is scored as *icecold*;
- tokenised by itself, so that a byte-level tokenizer (RoBERTa) gives it no space before, although
  there is one: another token than the model would read there;
- the sub-words before the mask are decoded and tokenised again, and text joined to the blank stands
  behind the mask too;
- of two blanks, the first mask is scored;
- the score is the mean of the probabilities, not of their logarithms.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.models.loading import LoadedModel, load_pretrained
from wordbias.models.model_like import ModelLike, to_float64
from wordbias.progress import progress
from wordbias.stereotypes.crows_pairs import CrowsPair
from wordbias.stereotypes.stereoset import BLANK, Cluster

Float = NDArray[np.float64]
BATCH = 64
_LOGITS = 1 << 26
"""Maximal number of values in the output of one batch: tokens × vocabulary."""
_NO_SIGNS = str.maketrans("", "", string.punctuation)


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
        """Load a model with a masked-language head; a loaded model stays on its device.

        Raises
        ------
        WordbiasError
            If there is no such model or device, it has no trained head of that kind, or its
            tokenizer has no mask or no character offsets.
        """
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
        """Return the natural logarithm of each masked token's probability, shape ``(n,)``.

        Equal sentences are computed once, the longest first.

        Raises
        ------
        WordbiasError
            If a sentence is longer than the model can read, or its weights are damaged.
        """
        distinct = {one: i for i, one in enumerate(dict.fromkeys(masked))}
        sentences, found = list(distinct), np.empty(len(distinct))
        lengths = np.array([len(one.ids) for one in sentences], np.intp)
        self.check_lengths(
            lengths, "a sentence", lambda i: str(self.tokenizer.decode(sentences[i].ids))
        )
        order = np.argsort(-lengths, kind="stable")
        start = 0
        with self.predicting() as torch, progress(what, len(order), "mask") as bar:
            while start < len(order):
                numbers = int(lengths[order[start]]) * self.model.config.vocab_size
                rows = order[start : start + max(1, min(BATCH, _LOGITS // numbers))]
                found[rows] = self._predict([sentences[i] for i in rows], torch)
                start += len(rows)
                bar.update(len(rows))
        return found[[distinct[one] for one in masked]]

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
        return self.finite(found)


# StereoSet


def blank_scores(
    model: MaskedModel, clusters: Sequence[Cluster], *, as_published: bool = False
) -> Float:
    """Score the fillers of blanks, shape ``(n, 3)`` in the order of the labels.

    Parameters
    ----------
    as_published
        Mask and average as StereoSet's code does, see this module. By default the score is the mean
        of the logarithms over all sub-words: a likelihood, in which one impossible sub-word counts.

    Raises
    ------
    WordbiasError
        If a filler has no token (with the id), or as `MaskedModel.log_probabilities` does.
    """
    mask = published_masks if as_published else blank_masks
    words = [mask(model.tokenizer, one, word) for one in clusters for word in one.candidates]
    found = model.log_probabilities([one for word in words for one in word], "blanks")
    parts = np.split(found, np.cumsum([len(word) for word in words])[:-1])
    means = [np.exp(part).mean() if as_published else part.mean() for part in parts]
    return np.array(means).reshape(-1, 3)


def blank_masks(tokenizer: Any, cluster: Cluster, word: str) -> list[Masked]:
    """Mask each sub-word of a blank; those to the right of the mask are left out.

    Several blanks are masked in turn; the others have as many sub-words and a mask, so that one
    blank does not reveal the word of the other.
    """
    text, starts = _filled(cluster.context, word)
    found = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
    ids, offsets, special = (
        found[key] for key in ("input_ids", "offset_mapping", "special_tokens_mask")
    )
    spans = []
    for start in starts:
        inside = [
            i
            for i, (a, b) in enumerate(offsets)
            if a < start + len(word) and start < b and not special[i]
        ]
        if not inside:
            raise _no_token(cluster, word)
        spans.append((inside[0], inside[-1] + 1))
    mask = tokenizer.mask_token_id
    return [
        _partly(ids, spans, blank, shown, mask)
        for blank, (first, end) in enumerate(spans)
        for shown in range(end - first)
    ]


def published_masks(tokenizer: Any, cluster: Cluster, word: str) -> list[Masked]:
    """Mask each sub-word of a blank as StereoSet's released code does, see this module."""
    place = max(i for i, one in enumerate(cluster.context.split(" ")) if BLANK in one)
    filled = cluster.context.replace(BLANK, word).split(" ")[place].translate(_NO_SIGNS)
    tokens = tokenizer(filled, add_special_tokens=False)["input_ids"]
    if not tokens:
        raise _no_token(cluster, word)
    masked = []
    for i, token in enumerate(tokens):
        before = tokenizer.decode(tokens[:i])
        text = cluster.context.replace(BLANK, f"{before}{tokenizer.mask_token}")
        ids = tokenizer(text)["input_ids"]
        masked.append(Masked(tuple(ids), ids.index(tokenizer.mask_token_id), token))
    return masked


def _filled(context: str, word: str) -> tuple[str, list[int]]:
    """Return a context with a word in its blanks, and the character offsets of the word."""
    *before, _ = context.split(BLANK)
    lengths = np.array([len(one) for one in before]) + len(word)
    return context.replace(BLANK, word), (np.cumsum(lengths) - len(word)).tolist()


def _partly(
    ids: Sequence[int], spans: Sequence[tuple[int, int]], blank: int, shown: int, mask: int
) -> Masked:
    """Show the first sub-words of every blank and mask the next, which is scored in one blank."""
    out: list[int] = []
    place = last = 0
    for i, (first, end) in enumerate(spans):
        out += [*ids[last:first], *ids[first : min(first + shown, end)], mask]
        place = len(out) - 1 if i == blank else place
        last = end
    return Masked((*out, *ids[last:]), place, ids[spans[blank][0] + shown])


def _no_token(cluster: Cluster, word: str) -> WordbiasError:
    return WordbiasError(
        f"intrasentence {cluster.id}: the tokenizer has no token for {word!r}; leave the item out"
    )


# CrowS-Pairs


def pair_scores(model: MaskedModel, pairs: Sequence[CrowsPair]) -> Float:
    """Return the pseudo-log-likelihood of both sentences of each pair, shape ``(n, 2)``.

    Only tokens that both sentences share are scored, given the words in which they differ.

    Raises
    ------
    WordbiasError
        As `MaskedModel.log_probabilities` does.
    """
    masks = [side for pair in pairs for side in pair_masks(model.tokenizer, pair)]
    found = model.log_probabilities([one for side in masks for one in side], "pairs")
    ends = np.cumsum([len(side) for side in masks])[:-1]
    return np.array([part.sum() for part in np.split(found, ends)]).reshape(-1, 2)


def pair_masks(tokenizer: Any, pair: CrowsPair) -> tuple[list[Masked], list[Masked]]:
    """Mask each shared token of two sentences in turn, in both."""
    first, second = (
        tokenizer(text, return_special_tokens_mask=True) for text in (pair.more, pair.less)
    )
    sides: tuple[list[Masked], list[Masked]] = ([], [])
    matcher = SequenceMatcher(None, first["input_ids"], second["input_ids"], autojunk=False)
    for block in matcher.get_matching_blocks():
        for offset in range(block.size):
            for side, found, start in zip(sides, (first, second), block[:2], strict=True):
                place = start + offset
                ids = found["input_ids"]
                if not found["special_tokens_mask"][place]:
                    masked = (*ids[:place], tokenizer.mask_token_id, *ids[place + 1 :])
                    side.append(Masked(masked, place, ids[place]))
    return sides
