"""What an audit measures of a decoder by likelihood: the pronoun that it expects, and perplexity.

The lean of an occupation is the mean over beginnings of sentences of

    log p("she" | "The nurse waited for the bus because") − log p("he" | the same).

Shares of women that are permuted give the chance level of its correlation with them. That a decoder
expects one pronoun in general is measured by the same lean of people whose occupation is not said.
The share of a pronoun is its probability over that of *she*, *he*, *they* and *xe* together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.models.causal_model import CausalModel
from wordbias.probes.estimates import Estimate
from wordbias.results import Row
from wordbias.statistics import SAMPLES, resampled_cells

STEREOTYPE, GAP, LEAN, SHARE = (
    "expected-pronoun-stereotype",
    "expected-pronoun-gap",
    "expected-pronoun-lean",
    "expected-pronoun-share",
)
PERPLEXITY, BITS, KEPT = "perplexity", "bits-per-byte", "perplexity-kept"
MEASURES = (STEREOTYPE, GAP, LEAN)
PRONOUNS = ("she", "he", "they", "xe")
Array = NDArray[np.float64]


def pronoun_scores(model: CausalModel, beginnings: Mapping[str, Sequence[str]]) -> Array:
    """Return log p in nats of each of `PRONOUNS` after beginnings, (n, beginnings, 4)."""
    continuations = [
        (beginning, f" {word}")
        for group in beginnings.values()
        for beginning in group
        for word in PRONOUNS
    ]
    scores: Array = model.score_continuations(continuations, "pronouns").total
    return scores.reshape(len(beginnings), -1, len(PRONOUNS))


def pronoun_leans(scores: Array) -> Array:
    """Return how much more likely "she" is than "he", in nats, shape ``(n,)``."""
    leans: Array = (scores[..., 0] - scores[..., 1]).mean(1)
    return leans


def pronoun_shares(scores: Array) -> Array:
    """Return the mean share of each pronoun, shape ``(n, 4)``; those of a subject add up to 1."""
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    means: Array = shares.mean(1)
    return means


def share_rows(
    subject: str, about: Mapping[str, Any], shares: Array, people: Array, *, seed: int = 0
) -> list[Row]:
    """Return the mean share of each pronoun, from shares (n, 4), with bootstrap intervals."""
    n = len(shares)
    times = resampled_cells(np.ones(n, np.intp), np.random.default_rng(seed), SAMPLES)
    samples, means = times @ shares / n, people.mean(0)
    return [
        Estimate(float(shares[:, i].mean()), samples[:, i], "occupations").row(
            subject, SHARE, {**about, "set": word, "n": n, "people": float(means[i])}
        )
        for i, word in enumerate(PRONOUNS)
    ]


@dataclass(frozen=True, eq=False)
class Predicted:
    """How well a decoder predicts sentences."""

    total: Array = field(repr=False)  # log-likelihood of each sentence, in nats, shape `(n,)`
    tokens: NDArray[np.int64] = field(repr=False)  # numbers of its tokens and of its bytes
    size: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, model: CausalModel, sentences: Sequence[str]) -> Predicted:
        """Score sentences one by one."""
        scores = model.score_texts(sentences, "sentences")
        return cls(
            scores.total,
            scores.tokens,
            np.array([len(sentence.encode()) for sentence in sentences]),
        )

    def rows(
        self,
        subject: str,
        about: Mapping[str, Any],
        *,
        before: Predicted | None = None,
        seed: int = 0,
    ) -> list[Row]:
        """Return perplexity, bits per byte and `perplexity-kept`, that `before` over that after."""
        n = len(self.total)
        details = {
            **about,
            "n": int(self.tokens.sum()),
            "bytes": int(self.size.sum()),
            "sentences": n,
        }
        times = resampled_cells(np.ones(n, np.intp), np.random.default_rng(seed), SAMPLES)
        weights = np.concatenate([np.ones((1, n)), times])  # the value itself comes first
        losses = self._losses(weights)
        by_measure = dict(zip((PERPLEXITY, BITS), losses, strict=True))
        if before is not None:
            by_measure[KEPT] = before._losses(weights)[0] / losses[0]
        return [
            Estimate(float(values[0]), values[1:], "sentences").row(subject, name, details)
            for name, values in by_measure.items()
        ]

    def _losses(self, weights: Array) -> tuple[Array, Array]:
        """Return perplexity and bits per byte under weights of the sentences."""
        loss = -(weights @ self.total)
        perplexity: Array = np.exp(loss / (weights @ self.tokens))
        bits: Array = loss / (weights @ self.size) / np.log(2)
        return perplexity, bits
