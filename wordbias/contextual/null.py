"""Random directions at the sites of a model, in place of fitted ones; see `methods.null`.

A file of its own so that adapters can be read without them.
"""

from __future__ import annotations

import numpy as np

from wordbias.contextual.families import PARTS
from wordbias.contextual.hooks import of_heads
from wordbias.contextual.sites import Site
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


def generator(seed: int, site: Site | str) -> np.random.Generator:
    """Return the generator of a site, so that its directions do not depend on other sites."""
    return np.random.default_rng([seed, *str(site).encode()])
