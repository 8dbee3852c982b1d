"""Random directions in place of fitted ones: what a removal of the same size does by itself."""

from __future__ import annotations

import numpy as np

from wordbias.contextual.families import PARTS
from wordbias.contextual.hooks import of_heads
from wordbias.contextual.sites import Site
from wordbias.methods.leace import Erasure
from wordbias.methods.transform import Projection
from wordbias.subspace import Subspace, random_frame


def random_subspace(subspace: Subspace, rng: np.random.Generator, kind: str = "") -> Subspace:
    """Return a subspace of random orthonormal directions with the weights of another one.

    Parameters
    ----------
    kind
        Kind of the site: at query, key and value each head has a random direction of its own.
    """
    k, d = subspace.basis.shape
    if kind in PARTS:
        size = d // k  # one direction for each head
        heads = [Subspace(random_frame(1, size, rng), [weight]) for weight in subspace.weights]
        return of_heads(heads)
    return Subspace(random_frame(k, d, rng), subspace.weights)


def random_step(step: Projection | Erasure, rng: np.random.Generator) -> Projection | Erasure:
    """Return the removal of random directions, as many as a fitted removal has.

    A projection keeps its weights. An affine map, such as that of LEACE, becomes the orthogonal
    projection along random directions; it leaves the same row where it is.
    """
    if isinstance(step, Projection):
        return Projection(random_subspace(step.subspace, rng), step.hard)
    k, d = step.right.shape
    drawn = random_frame(k, d, rng)
    return Erasure(drawn.T, drawn, step.bias)


def generator(seed: int, site: Site | str) -> np.random.Generator:
    """Return the generator of a site, so that its directions do not depend on other sites."""
    return np.random.default_rng([seed, *str(site).encode()])
