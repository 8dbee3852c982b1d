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
        some = np.random.default_rng(seed).permutation(len(texts))[:TEXTS]
        tokens = encode(model, tokenizer, [texts[i] for i in some])
        positions = [list(range(len(one["input_ids"]))) for one in tokens]
        found = observe(model, tokenizer, tokens, positions, wanted)
        return cls(found, {site: locate(model, site).heads for site in wanted})

    def drawn(self, steps: Sequence[Intervention], draw: int) -> list[Intervention]:
        """Return a draw in place of removals; equal removals at a site have equal draws."""
        found = []
        for one in steps:
            key = (one.site, one.content, draw)
            if key not in self._drawn:
                self._drawn[key] = self._draw(one, draw)
            found.append(self._drawn[key])
        return found

    def _draw(self, one: Intervention, draw: int) -> Intervention:
        rng = np.random.default_rng([draw, *str(one.site).encode()])
        x = self.values[one.site].astype(np.float64)
        moved = one.step(x) - x
        if isinstance(one.what, Erasure):
            return Intervention(one.site, erasure_as_far(moved, x, one.what.bias, rng))
        if one.site.kind not in PARTS:
            return Intervention(one.site, subspace_as_far(moved, x, rng), False)
        heads = self.heads[one.site]
        each = zip(np.split(moved, heads, axis=1), np.split(x, heads, axis=1), strict=True)
        return Intervention(
            one.site, of_heads([subspace_as_far(*head, rng) for head in each]), False
        )
