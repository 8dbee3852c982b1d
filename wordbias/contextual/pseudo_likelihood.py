"""How probable a masked-language model finds words: StereoSet's blanks, and CrowS-Pairs' sentences.

Nadeem et al. (2021) mask the sub-words of a blank from left to right: those before are there, those
after are not yet. Nangia et al. (2020) mask each token that two sentences share in turn, everything
else being there, and add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.contextual.masked_model import Masked, MaskedModel
from wordbias.contextual.stereoset.crows_pairs import CrowsPair
from wordbias.contextual.stereoset.original import BLANK, Cluster
from wordbias.errors import WordbiasError

__all__ = ["MaskedModel", "blank_masks", "blank_scores", "pair_masks", "pair_scores"]

Float = NDArray[np.float64]


def blank_scores(
    model: MaskedModel, clusters: Sequence[Cluster], *, as_published: bool = False
) -> Float:
    """Score what fills each blank, shape ``(n, 3)`` in the order of the labels.

    Parameters
    ----------
    as_published
        The mean of the sub-words' probabilities, as StereoSet's code takes it. By default the mean
        of their logarithms: a likelihood of the word, in which one impossible sub-word counts.

    Raises
    ------
    WordbiasError
        If a filler has no token (with the id), or as `MaskedModel.log_probabilities` does.
    """
    words = [blank_masks(model.tokenizer, one, word) for one in clusters for word in one.candidates]
    found = model.log_probabilities([one for word in words for one in word], "blanks")
    parts = np.split(found, np.cumsum([len(word) for word in words])[:-1])
    means = [np.exp(part).mean() if as_published else part.mean() for part in parts]
    return np.array(means).reshape(-1, 3)


def blank_masks(tokenizer: Any, cluster: Cluster, word: str) -> list[Masked]:
    """Mask each sub-word of a blank; those to the right of the mask are left out."""
    start = cluster.context.index(BLANK)
    text = cluster.context.replace(BLANK, word)
    found = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
    ids, offsets, special = (
        found[key] for key in ("input_ids", "offset_mapping", "special_tokens_mask")
    )
    inside = [
        i
        for i, (a, b) in enumerate(offsets)
        if a < start + len(word) and start < b and not special[i]
    ]
    if not inside:
        raise WordbiasError(f"intrasentence {cluster.id}: the tokenizer has no token for {word!r}")
    rest = tuple(ids[inside[-1] + 1 :])
    return [
        Masked((*ids[:i], tokenizer.mask_token_id, *rest), i, ids[i])
        for i in range(inside[0], inside[-1] + 1)
    ]


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
                if not found["special_tokens_mask"][place]:
                    side.append(_masked(tokenizer, found["input_ids"], place))
    return sides


def _masked(tokenizer: Any, ids: Sequence[int], place: int) -> Masked:
    return Masked((*ids[:place], tokenizer.mask_token_id, *ids[place + 1 :]), place, ids[place])
