"""Interventions: a subspace removed at a site while a model computes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from wordbias.contextual.hooks import changing
from wordbias.contextual.places import Place, locate
from wordbias.contextual.sites import Site
from wordbias.errors import WordbiasError
from wordbias.optional import need
from wordbias.subspace import Subspace

PURPOSE = "an intervention in an encoder"
_active: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Intervention:
    """The removal of a subspace at a site, by the `remove` that MISP and MHD are.

    Attributes
    ----------
    site
        Where.
    subspace
        What is removed. At query, key and value it spans one direction of each head, a row of
        the basis being zero outside its head (see `of_heads`): removing the rows is the same as
        projecting every head by itself. Where DeBERTa sends its relative positions through the
        same linear maps they are projected too, in hooks as in folded weights.
    hard
        Take all weights as 1.
    """

    site: Site
    subspace: Subspace
    hard: bool = False

    def __str__(self) -> str:
        how = "hard" if self.hard else "by its weights"
        return f"{self.site}: {self.subspace.dims} of {self.subspace.basis.shape[1]}, {how}"

    def within(self, model: Any) -> Place:
        """Find the place in a model.

        Raises
        ------
        WordbiasError
            If the model lacks the site, or its vectors there have another length.
        """
        place = locate(model, self.site)
        d = self.subspace.basis.shape[1]
        if place.width != d:
            raise WordbiasError(
                f"site {self.site}: {type(model).__name__} has vectors of {place.width} values "
                f"there, the subspace is of {d}; fit one on this model"
            )
        return place


class Removal:
    """The removal as a function on tensors; what it casts it keeps, by type and device.

    Half-precision tensors are met in float32, so that rounding the directions does not leave a
    part of the component in.
    """

    def __init__(self, subspace: Subspace, hard: bool) -> None:
        self.subspace = subspace
        self.hard = hard
        self._torch = need("torch", extra="contextual", purpose=PURPOSE)
        self._cast: dict[Any, Subspace] = {}

    def __call__(self, x: Any) -> Any:
        """Return `x`, shape ``(…, d)``, without the subspace, in its own type."""
        wide = x.float() if x.element_size() < 4 else x
        key = (wide.dtype, wide.device)
        if key not in self._cast:
            with self._torch.inference_mode(False):  # so that a later pass may have gradients
                like = self._torch.empty(0, dtype=wide.dtype, device=wide.device)
                self._cast[key] = self.subspace.like(like)
        return self._cast[key].remove(wide, self.hard).to(x.dtype)


@contextmanager
def applied(model: Any, interventions: Iterable[Intervention]) -> Iterator[None]:
    """Intervene in a model as long as the block lasts, also if it ends in an exception.

    Parameters
    ----------
    model
        Of transformers and of a family in `wordbias.contextual.families.FAMILIES`.
    interventions
        Any number; two at one site follow each other in their order. All are checked before the
        first is applied. Of blocks inside each other the inner one comes first at a site.

    Raises
    ------
    WordbiasError
        If the model lacks a site, or a subspace does not fit it.

    Examples
    --------
    >>> with applied(model, adapter.interventions("L11-11101")):  # doctest: +SKIP
    ...     model(**batch)
    """
    changes = [(it.within(model), Removal(it.subspace, it.hard)) for it in list(interventions)]
    _active[model] = _active.get(model, 0) + 1
    try:
        with changing(changes):
            yield
    finally:
        _active[model] -= 1


def check_plain(model: Any) -> None:
    """Refuse a model in which something is being intervened.

    Raises
    ------
    WordbiasError
        Inside a block of `applied`.
    """
    if _active.get(model):
        raise WordbiasError(
            f"{type(model).__name__}: interventions are applied to it; subspaces are fitted to the "
            "unmodified model, so fit outside the block"
        )


def of_heads(subspaces: Sequence[Subspace]) -> Subspace:
    """Put one subspace a head into one of all heads.

    Parameters
    ----------
    subspaces
        For each head one of vectors of the head's size `s`, with `k` directions each.

    Returns
    -------
    Subspace
        Of ``heads · s`` dimensions and ``heads · k`` directions, block-diagonal: rows of
        different heads have no coordinate in common, so they are orthonormal, and removing them
        all is removing each in its head.
    """
    import numpy as np
    from scipy.linalg import block_diag

    basis = block_diag(*(subspace.basis for subspace in subspaces))
    return Subspace(basis, np.concatenate([subspace.weights for subspace in subspaces]))
