"""MISP and MHD of pairs: fitted to differences of the vectors of pairs of sentences.

``misp`` and ``mhd`` compare every vector of one class with every one of the other. These compare
only the two of a pair; what the pairs have in common is then no part of it. The components are
those of Bolukbasi et al. (2016), who compare words, and of Dawkins et al. (2024), who compare
sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import rounding
from wordbias.methods.transform import Projection
from wordbias.settings import Settings, Takes, settings_of
from wordbias.subspace import Subspace, principal

Vectors = NDArray[np.floating[Any]]


@dataclass(kw_only=True)
class MISPPairs(Settings):
    """Weaken the first components of the differences of pairs of sentences by their weights.

    Fitted to pairs of sentences: ``misp`` is fitted to all sentences of two classes.

    Parameters
    ----------
    dims : int
        Number of components.
    """

    _name = "misp-pairs"
    dims: int = 4


@dataclass(kw_only=True)
class MHDPairs(Settings):
    """Remove the first components of the differences of pairs of sentences completely.

    Fitted to pairs of sentences: ``mhd`` is fitted to all sentences of two classes.

    Parameters
    ----------
    dims : int
        Number of components.
    """

    _name = "mhd-pairs"
    dims: int = 1


PAIR_METHODS: Mapping[str, type[MISPPairs] | type[MHDPairs]] = {
    MISPPairs._name: MISPPairs,
    MHDPairs._name: MHDPairs,
}
PAIR_SETTINGS: Takes = {name: list(settings_of(kind)) for name, kind in PAIR_METHODS.items()}


def fit_pairs(
    name: str, first: Vectors, second: Vectors, settings: Mapping[str, Any]
) -> Projection:
    """Fit a method to vectors of pairs, both of shape ``(n, d)``."""
    dims, hard = removed(name, settings)
    return Projection(subspace_of_pairs(first, second, dims), hard)


def removed(name: str, settings: Mapping[str, Any]) -> tuple[int, bool]:
    """Return how many components a method removes, and whether it removes them completely."""
    return settings.get("dims", PAIR_METHODS[name].dims), name == MHDPairs._name


def subspace_of_pairs(
    first: Vectors, second: Vectors, dims: int, one_sided: bool = False
) -> Subspace:
    """Fit a subspace to the differences of pairs, both of shape ``(n, d)``."""
    # Each pair counts as ± half its difference, as in Bolukbasi et al. (2016); `one_sided` centres
    # the differences instead.
    if not one_sided:
        return Subspace.from_pairs(first, second, dims)
    differences = first.astype(float) - second.astype(float)
    mean = differences.mean(0)
    noise = max(rounding(first), rounding(second))
    return Subspace(
        *principal(differences - mean, mean, dims, noise, f"{len(first)} centred differences")
    )
