"""CrowS-Pairs (Nangia et al. 2020): pairs of a more and a less stereotyping sentence.

The authors score masked models only: each token that two sentences share is masked in turn, with
all others given, and the log-probabilities are added. lm-evaluation-harness compares the
log-likelihoods of the whole sentences in a decoder (`crows_pairs_english`: `pct_stereotype`, of
which a tie is 0, and `likelihood_diff`, the mean absolute difference), on the 1,677 pairs that
Névéol et al. (2022) revised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.models.causal_model import CausalModel, Likelihoods
from wordbias.pivot import pivot, values
from wordbias.rendering import Table
from wordbias.results import Row
from wordbias.stereotypes.entry import Found, Record, StereotypeTest
from wordbias.stereotypes.masked_model import Masked, MaskedModel
from wordbias.stereotypes.pairs import preference_records, preference_rows, score_pairs
from wordbias.stereotypes.scores import ALL, Float, Settings, leads, signs
from wordbias.text_files import Source
from wordbias.text_pairs import STEREOTYPES, read_pairs

_DIGITS = 3
"""Digits to which CrowS-Pairs' own metric rounds the scores that it compares."""
DIRECTIONS = ("stereo", "antistereo")


@dataclass(frozen=True)
class CrowsPair:
    """The more and the less stereotyping sentence, their direction and type of bias."""

    more: str
    less: str
    direction: str
    bias_type: str


@dataclass(frozen=True)
class CrowsPairs:
    """The pairs of a file, with its path and hash."""

    path: str
    sha256: str
    pairs: Sequence[CrowsPair]


def parse_crows_pairs(source: Source) -> CrowsPairs:
    """Parse the published CSV."""
    pairs = [
        CrowsPair(more, less, direction, bias)
        for direction, more, less, bias in read_pairs(source, STEREOTYPES)
    ]
    if not pairs:
        raise WordbiasError(f"{source.path}: holds no pair, only a line of names")
    return CrowsPairs(source.path, source.sha256, pairs)


def crows_rows(data: CrowsPairs, scores: Float, subject: str, settings: Settings) -> list[Row]:
    """Measure how often the more stereotyping sentence is the likelier one, of (n, 2) scores."""
    compared = np.round(scores, _DIGITS) if settings.as_published else scores
    better = signs(leads(compared, as_published=settings.as_published), settings.ties)
    rows = []
    for subset, chosen in subsets(data).items():
        about = {"subset": subset, "n": int(chosen.sum()), **ideal("crows")}
        of = better[chosen], lambda x: x.mean(-1)
        rows.append(settings.row(subject, "crows", *of, about, "pairs", share=True))
    return rows


def subsets(data: CrowsPairs) -> dict[str, NDArray[np.bool_]]:
    """Return the places of all pairs, of each direction and of each type of bias."""
    direction = np.array([pair.direction for pair in data.pairs])
    bias = np.array([pair.bias_type for pair in data.pairs])
    places: dict[str, NDArray[np.bool_]] = {ALL: np.ones(len(bias), bool)}
    places |= {label: direction == label for label in DIRECTIONS}
    places |= {bias_type: bias == bias_type for bias_type in dict.fromkeys(bias.tolist())}
    return {name: chosen for name, chosen in places.items() if chosen.any()}


# Pseudo-likelihoods of a masked-language head


def pair_scores(model: MaskedModel, pairs: Sequence[CrowsPair]) -> Float:
    """Return the pseudo-log-likelihood of both sentences of each pair, shape ``(n, 2)``."""
    # Only tokens that both sentences share are scored, given the words in which they differ.
    masks = [side for pair in pairs for side in pair_masks(model.tokenizer, pair)]
    log_probs = model.log_probabilities([masked for side in masks for masked in side], "pairs")
    ends = np.cumsum([len(side) for side in masks])[:-1]
    return np.array([part.sum() for part in np.split(log_probs, ends)]).reshape(-1, 2)


def pair_masks(tokenizer: Any, pair: CrowsPair) -> tuple[list[Masked], list[Masked]]:
    """Mask each shared token of two sentences in turn, in both."""
    first, second = (
        tokenizer(text, return_special_tokens_mask=True) for text in (pair.more, pair.less)
    )
    sides: tuple[list[Masked], list[Masked]] = ([], [])
    matcher = SequenceMatcher(None, first["input_ids"], second["input_ids"], autojunk=False)
    for block in matcher.get_matching_blocks():
        for offset in range(block.size):
            for side, encoding, start in zip(sides, (first, second), block[:2], strict=True):
                place = start + offset
                ids = encoding["input_ids"]
                if not encoding["special_tokens_mask"][place]:
                    masked = (*ids[:place], tokenizer.mask_token_id, *ids[place + 1 :])
                    side.append(Masked(masked, place, ids[place]))
    return sides


def pair_records(data: CrowsPairs, scores: Float) -> list[Record]:
    """Return one record a pair: its two scores."""
    return [
        {**vars(pair), "score more": float(more), "score less": float(less)}
        for pair, (more, less) in zip(data.pairs, scores, strict=True)
    ]


# Likelihoods of a decoder


def likelihood_rows(
    data: CrowsPairs, likelihoods: Likelihoods, subject: str, settings: Settings
) -> list[Row]:
    """Measure CrowS-Pairs by likelihood, (n, 2), for each direction and type of bias."""
    # As published, ties count as in lm-evaluation-harness, 0. `likelihood-difference` is the mean
    # absolute difference, in nats.
    parts, means = subsets(data), {"likelihood-difference": np.abs}
    return preference_rows(likelihoods, parts, subject, "CrowS-Pairs", "crows", means, settings)


# The test


def _masked(model: MaskedModel, data: CrowsPairs, subject: str, settings: Settings) -> Found:
    scores = pair_scores(model, data.pairs)
    return Found(crows_rows(data, scores, subject, settings), pair_records(data, scores))


def _whole(model: CausalModel, data: CrowsPairs, subject: str, settings: Settings) -> Found:
    pairs = [(pair.more, pair.less) for pair in data.pairs]
    likelihoods = score_pairs(model, pairs)
    about = [
        {"task": "CrowS-Pairs", "subset": pair.bias_type, "direction": pair.direction}
        for pair in data.pairs
    ]
    rows = likelihood_rows(data, likelihoods, subject, settings)
    return Found(rows, preference_records(about, pairs, likelihoods))


def _table(rows: Sequence[Row], _: Settings) -> Table:
    note = "No preference is .5; the intervals are a bootstrap over pairs."
    columns = values("n", "stereotyping one likelier", "95 %")
    return pivot(rows[0].subject, rows, {"pairs": "subset"}, columns, note)


TEST = StereotypeTest(
    title="CrowS-Pairs",
    form="CSV with sent_more",
    data=CrowsPairs,
    recognised=lambda line, names: "sent_more" in line or "sent_less" in line,
    read=lambda source, _: parse_crows_pairs(source),
    items="pairs",
    scores={MaskedModel: _masked, CausalModel: _whole},
    table=_table,
    note="No preference is .5; a difference is above 0 for any model.",
    bias=("crows",),
)
