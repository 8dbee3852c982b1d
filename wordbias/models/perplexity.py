r"""Perplexity of a text in a decoder: what a change of the model costs.

The text is one: its tokens are predicted in windows of the model's length, as lm-evaluation-harness
does (`loglikelihood_rolling`). Each window begins with the last token of the one before it, the
first with the BOS token. The last window begins early enough to be as long as the others.
Perplexity is :math:`\exp(-\frac1n \sum \log p)` over tokens; bits per byte, :math:`-\frac{1}{b \ln
2} \sum \log p`, compares models with different tokens.
"""

from __future__ import annotations

import math

import numpy as np

from wordbias.draws import sampled_row
from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.models.causal_model import CausalModel, Tokens
from wordbias.results import Row
from wordbias.statistics import resampled_means

LENGTH = 1024
"""Default of the length of a window, where the model can read that much."""


def windows(ids: tuple[int, ...], start: int, length: int) -> list[Tokens]:
    """Divide a text into windows of at most `length` tokens to predict, each after one token."""
    whole = (start, *ids)
    token_windows = []
    for place in range(0, len(ids), length):
        end = min(place + length, len(ids))
        first = max(0, end - length)
        token_windows.append(Tokens(whole[first : end + 1], place - first + 1))
    return token_windows


def perplexity_rows(
    model: CausalModel, text: str, subject: str, *, length: int = LENGTH, seed: int = 0
) -> list[Row]:
    """Measure ``perplexity`` and ``bits-per-byte`` of a text, with a bootstrap over windows."""
    whole = ((model.start,) if model.bos else ()) + model.ids(text)
    ids = whole[1:]
    if not ids:
        raise WordbiasError(f"{subject}: the text for the perplexity has no token to score")
    size = min(length, model.limit or length)
    likelihoods = model.score(windows(ids, whole[0], size), "perplexity")
    n_bytes = len(text.encode())
    loss = -float(likelihoods.total.sum())
    about = {"n": len(ids), "bytes": n_bytes, "windows": len(likelihoods.total), "length": size}
    values = {
        "perplexity": math.exp(loss / len(ids)),
        "bits-per-byte": loss / n_bytes / math.log(2),
    }
    samples = {}
    if len(likelihoods.total) > 1:
        sums = np.stack([-likelihoods.total, likelihoods.tokens.astype(float)], axis=1)
        means = resampled_means(sums, np.random.default_rng(seed))
        per_token = means[:, 0] / means[:, 1]
        scale = len(ids) / n_bytes / math.log(2)
        samples = {"perplexity": np.exp(per_token), "bits-per-byte": per_token * scale}
    return [
        sampled_row(
            subject,
            name,
            value,
            {**about, **ideal(name), "seed": seed},
            samples.get(name),
            "windows",
        )
        for name, value in values.items()
    ]
