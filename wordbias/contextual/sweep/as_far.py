"""Random removals inside a model that move vectors as far as fitted ones.

A direction of the groups' difference has more of the vectors than a random one of as many values. A
random removal with the same weights then hardly moves them, and shows nothing of what any change of
that size does. So each site has as many random directions as move the vectors of some texts there
as far, in the mean square, as the fitted removal does; see `wordbias.methods.null`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.contextual.fitting import observe
from wordbias.methods.leace import Erasure
from wordbias.methods.null import erasure_as_far, subspace_as_far
from wordbias.models.families import PARTS
from wordbias.models.hooks import Intervention, of_heads
from wordbias.models.sites import Site, locate
from wordbias.models.token_batches import encode

Float32 = NDArray[np.float32]
TEXTS = 300
"""Number of texts whose vectors are to move as far, at most."""


@dataclass(frozen=True, eq=False)
class RandomRemovals:
    """Random removals in place of fitted ones, by the number of a draw."""

    # vectors of texts at each site, `(n, d)`: where each token has one, their mean
    values: Mapping[Site, Float32]
    heads: Mapping[Site, int]  # number of heads of each site; 1 outside of the attention
    _drawn: dict[tuple[Any, ...], Intervention] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, model: Any, tokenizer: Any, texts: Sequence[str], wanted: Sequence[Site], seed: int
    ) -> RandomRemovals:
        """Read the vectors of some texts at sites of an unmodified model."""
        sampled = np.random.default_rng(seed).permutation(len(texts))[:TEXTS]
        tokens = encode(model, tokenizer, [texts[i] for i in sampled])
        positions = [list(range(len(text_tokens["input_ids"]))) for text_tokens in tokens]
        vectors = observe(model, tokenizer, tokens, positions, wanted)
        return cls(vectors, {site: locate(model, site).heads for site in wanted})

    def drawn(self, steps: Sequence[Intervention], draw: int) -> list[Intervention]:
        """Return a draw in place of removals; equal removals at a site have equal draws."""
        draws = []
        for removal in steps:
            key = (removal.site, removal.content, draw)
            if key not in self._drawn:
                self._drawn[key] = self._draw(removal, draw)
            draws.append(self._drawn[key])
        return draws

    def _draw(self, removal: Intervention, draw: int) -> Intervention:
        rng = np.random.default_rng([draw, *str(removal.site).encode()])
        x = self.values[removal.site].astype(np.float64)
        moved = removal.step(x) - x
        if isinstance(removal.what, Erasure):
            return Intervention(removal.site, erasure_as_far(moved, x, removal.what.bias, rng))
        if removal.site.kind not in PARTS:
            return Intervention(removal.site, subspace_as_far(moved, x, rng), False)
        heads = self.heads[removal.site]
        each = zip(np.split(moved, heads, axis=1), np.split(x, heads, axis=1), strict=True)
        return Intervention(
            removal.site, of_heads([subspace_as_far(*head, rng) for head in each]), False
        )
