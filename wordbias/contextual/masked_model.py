"""A masked-language model: how probable it finds what was at a mask.

How probable a masked-language model finds words: StereoSet's blanks, and CrowS-Pairs' sentences.

Nadeem et al. (2021) mask the sub-words of a blank from left to right: those before are there, those
after are not yet. Nangia et al. (2020) mask each token that two sentences share in turn, everything
else being there, and add up.

What fills a blank is by default all of its words, split as the model reads them in the sentence.
StereoSet's released code (``dataloader.py``) asks for less, and `published_masks` does as it does:

- of several words only the first, with what is written on to the blank (``BLANKed``) and without
  any sign: *ice-cold tea* is asked for as *icecold*;
- split by itself, so that a byte-level tokenizer (RoBERTa) gives it no space before, although there
  is one: another token than the model would read there;
- the sub-words before the mask are put back as text and split again, and what is written on to the
  blank stands after the mask too;
- of two blanks, the first mask is read;
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

from wordbias.contextual.stereoset.crows_pairs import CrowsPair
from wordbias.contextual.stereoset.stereoset import BLANK, Cluster
from wordbias.errors import WordbiasError
from wordbias.pretrained import LoadedModel, ModelLike, load_pretrained, to_float64
from wordbias.progress import progress

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
class MaskedModel(LoadedModel):
    """A model that says what a masked token is."""

    @classmethod
    def load(cls, source: ModelLike, *, device: str | None = None) -> Self:
        """Load a model with a masked-language head; one that is loaded stays where it is.

        Raises
        ------
        WordbiasError
            If there is no such model or device, or it has no trained head of that kind, or a
            tokenizer without a mask or that does not say what characters a token is of.
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

        Equal ones are computed once, the longest first.

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


__all__ = [
    "MaskedModel",
    "blank_masks",
    "blank_scores",
    "pair_masks",
    "pair_scores",
    "published_masks",
]

_NO_SIGNS = str.maketrans("", "", string.punctuation)


def blank_scores(
    model: MaskedModel, clusters: Sequence[Cluster], *, as_published: bool = False
) -> Float:
    """Score what fills each blank, shape ``(n, 3)`` in the order of the labels.

    Parameters
    ----------
    as_published
        Fill the blank and average as StereoSet's code does, see this module. By default the mean
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

    Of several blanks each is masked in turn, and the others hold as many sub-words and a mask: the
    word is not to be read off one blank for the other.
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
    """Mask each sub-word of a blank as StereoSet's released code does; this module says how."""
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
    """Return a context with a word in its blanks, and where in it the word begins."""
    *before, _ = context.split(BLANK)
    lengths = np.array([len(one) for one in before]) + len(word)
    return context.replace(BLANK, word), (np.cumsum(lengths) - len(word)).tolist()


def _partly(
    ids: Sequence[int], spans: Sequence[tuple[int, int]], blank: int, shown: int, mask: int
) -> Masked:
    """Show some sub-words of every blank and mask the next; ask for the one of this blank."""
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


def pair_scores(model: MaskedModel, pairs: Sequence[CrowsPair]) -> Float:
    """Return the pseudo-log-likelihood of both sentences of each pair, shape ``(n, 2)``.

    Only tokens that both sentences share are added up: what the stereotype is about is given, and
    the rest is asked for.

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
