"""What passes at sites while a model reads sentences: one pass, every site, one vector a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.contextual.encoding import EncodedPairs, Tokens, batches
from wordbias.contextual.hooks import recording
from wordbias.contextual.sites import Site
from wordbias.errors import WordbiasError
from wordbias.optional import need
from wordbias.pretrained import evaluating
from wordbias.progress import progress
from wordbias.threads import threads

Float32 = NDArray[np.float32]
TOKENS = ("mean", "word", "cls")
PURPOSE = "reading sentences with an encoder"
BATCH = 32


def observe(
    model: Any,
    tokenizer: Any,
    tokens: Sequence[Tokens],
    chosen: Sequence[Sequence[int]],
    wanted: Sequence[Site],
    batch: int = BATCH,
) -> dict[Site, Float32]:
    """Return one vector a text at each site.

    Parameters
    ----------
    tokens
        The texts, `n` of them.
    chosen
        For each text the positions over whose vectors the mean is taken, at sites that have a
        vector for every token.
    wanted
        The sites, all observed in one pass.

    Returns
    -------
    dict
        For each site an array of shape ``(n, d)``.
    """
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    padding = tokenizer.pad_token_id or 0
    device = next(model.parameters()).device
    found: dict[Site, list[Any]] = {site: [None] * len(tokens) for site in wanted}
    torch.set_num_threads(threads())
    with (
        evaluating(model),
        torch.inference_mode(),
        recording(model, wanted) as seen,
        progress("reading sentences", len(tokens), "sentence") as bar,
    ):
        for places, inputs in batches(tokens, batch, padding):
            model(**{name: x.to(device) for name, x in inputs.items()})
            shares = _shares([chosen[i] for i in places], inputs["attention_mask"].shape[1])
            for site, x in seen.items():
                for i, vector in zip(places, _means(x, shares), strict=True):
                    found[site][i] = vector
            bar.update(len(places))
    return {site: _stacked(site, vectors) for site, vectors in found.items()}


def _stacked(site: Site, vectors: list[Float32]) -> Float32:
    x = np.stack(vectors)
    if not np.isfinite(x).all():
        raise WordbiasError(f"site {site}: the model puts out no numbers; its weights are damaged")
    return x


def positions(pairs: EncodedPairs, tokens: str) -> list[list[int]]:
    """Choose the positions of every text, the first ones of the pairs and then the second ones.

    Parameters
    ----------
    tokens
        ``mean``, all positions, markers too, for the removal touches them all; ``word``, those
        where the two differ; ``cls``, the first. For pairs of unequal length, which only ``cls``
        can use, the first position stands in.
    """
    chosen = [_of_pair(pairs, i, tokens) for i in range(len(pairs.pairs))]
    return chosen + chosen


def _of_pair(pairs: EncodedPairs, i: int, tokens: str) -> list[int]:
    if tokens not in TOKENS:
        raise WordbiasError(f"tokens {tokens!r}: expected one of {', '.join(TOKENS)}")
    if tokens == "cls" or i in pairs.uneven:
        return [0]
    first, second = pairs.first[i]["input_ids"], pairs.second[i]["input_ids"]
    if tokens == "mean":
        return list(range(len(first)))
    return [t for t, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]


def _shares(chosen: Sequence[Sequence[int]], width: int) -> Float32:
    """Return the weight of every position in its text's mean, shape ``(batch, tokens)``."""
    shares = np.zeros((len(chosen), width), np.float32)
    for row, places in zip(shares, chosen, strict=True):
        row[list(places)] = 1 / len(places)
    return shares


def _means(x: Any, shares: Float32) -> Float32:
    values: Float32 = x.float().cpu().numpy()
    return values if values.ndim == 2 else np.einsum("bt,btd->bd", shares, values)
