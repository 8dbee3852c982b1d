"""Forward hooks at places: reading what passes there, or putting something else in its place.

Interventions: a subspace removed at a site while a model computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from wordbias.contextual.sites import Place, Site, check_read, locate, locate_all
from wordbias.errors import WordbiasError, need
from wordbias.pretrained.interventions import Applied, intervening, interventions_in
from wordbias.subspace import Subspace

Change = Callable[[Any], Any]


class Calls:
    """Count the calls of a module in a pass, and tell the one that is meant."""

    made: int

    def __init__(self, wanted: int | None) -> None:
        self.wanted = wanted
        self.made = 0

    def rewind(self, *_: Any) -> None:
        """Begin a pass."""
        self.made = 0

    def meant(self) -> bool:
        """Count a call and tell whether it is the one."""
        self.made += 1
        return self.wanted is None or self.made - 1 == self.wanted


@contextmanager
def changing(changes: Sequence[tuple[Place, Change]]) -> Iterator[None]:
    """Replace what passes at places by what functions make of it.

    Changes at one place follow each other in their order, and come before every other hook there,
    so that hidden states which transformers collects are the changed ones.
    """
    with ExitStack() as stack:
        for place, change in reversed(changes):  # each is put before those that are there
            calls = _counted(stack, place)
            if place.entering:
                handle = place.module.register_forward_pre_hook(
                    _before(place, calls, change), prepend=True
                )
            else:
                handle = place.module.register_forward_hook(
                    _after(place, calls, change), prepend=True
                )
            stack.callback(handle.remove)
        yield


@contextmanager
def recording(model: Any, wanted: Sequence[Site]) -> Iterator[dict[Site, Any]]:
    """Keep what passes at sites; yields a dictionary that each pass fills anew.

    A tensor is of shape ``(batch, d)`` for the sentence and cls, ``(batch, tokens, d)`` otherwise.
    Where a linear map is applied more than once in a pass (DeBERTa's to positions too), its first
    application is kept: that to the tokens.
    """
    seen: dict[Site, Any] = {}
    with ExitStack() as stack:
        for site, place in zip(wanted, locate_all(model, wanted), strict=True):
            calls = _counted(stack, place)
            rewind = _forget(seen, site)
            stack.callback(model.register_forward_pre_hook(rewind).remove)
            keep = _keep(seen, site)
            if place.entering:
                handle = place.module.register_forward_pre_hook(_before(place, calls, keep))
            else:
                handle = place.module.register_forward_hook(_after(place, calls, keep))
            stack.callback(handle.remove)
        yield seen


def _forget(seen: dict[Site, Any], site: Site) -> Callable[..., None]:
    def hook(*_: Any) -> None:
        seen.pop(site, None)

    return hook


def _keep(seen: dict[Site, Any], site: Site) -> Change:
    def keep(x: Any) -> None:
        seen.setdefault(site, x.detach())

    return keep


def _counted(stack: ExitStack, place: Place) -> Calls:
    calls = Calls(place.call)
    if place.rewinds is not None:
        stack.callback(place.rewinds.register_forward_pre_hook(calls.rewind).remove)
    return calls


def _after(place: Place, calls: Calls, change: Change) -> Callable[..., Any]:
    """Make a hook on the output of a module, which may be a tensor or a tuple with it first."""

    def hook(module: Any, args: Any, output: Any) -> Any:
        if not calls.meant():
            return None
        new = _at(place, output[0] if isinstance(output, tuple) else output, change)
        if new is None or not isinstance(output, tuple):
            return new
        replaced = (new, *output[1:])
        return type(output)._make(replaced) if hasattr(output, "_make") else replaced

    return hook


def _before(place: Place, calls: Calls, change: Change) -> Callable[..., Any]:
    """Make a hook on the first argument of a module."""

    def hook(module: Any, args: Any) -> Any:
        if not calls.meant():
            return None
        new = _at(place, args[0], change)
        return None if new is None else (new, *args[1:])

    return hook


def _at(place: Place, x: Any, change: Change) -> Any:
    """Apply a change to the part of `x` that is meant, in a copy of it."""
    if not place.first:
        return change(x)
    new = change(x[..., 0, :])
    if new is None:
        return None
    copy = x.clone()
    copy[..., 0, :] = new
    return copy


PURPOSE = "an intervention in an encoder"


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

    @property
    def removes(self) -> bool:
        """Whether anything is removed: by its weights, nothing is where they are all 0."""
        return self.hard or bool(self.subspace.weights.any())

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
        If the model lacks a site, a subspace does not fit it, or all of them together change no
        output of the model; the message names settings that would.

    Examples
    --------
    >>> with applied(model, adapter.interventions("L11-11101")):  # doctest: +SKIP
    ...     model(**batch)
    """
    wanted = list(interventions)
    places = [it.within(model) for it in wanted]
    check_read(model, [it.site for it in wanted if it.removes], [it.site for it in wanted])
    with intervening(model, [str(place.site) for place in places]) as one:
        removals = [Removal(it.subspace, it.hard) for it in wanted]
        steps = [_unless_paused(one, removal) for removal in removals]
        with changing(list(zip(places, steps, strict=True))):
            yield


def _unless_paused(one: Applied, removal: Removal) -> Callable[[Any], Any]:
    def change(x: Any) -> Any:
        return None if one.paused else removal(x)

    return change


def check_plain(model: Any, what: str = "fit") -> None:
    """Refuse a model in which something is being intervened.

    Parameters
    ----------
    what
        To do outside of the block.

    Raises
    ------
    WordbiasError
        Inside a block of `applied`.
    """
    if interventions_in(model):
        raise WordbiasError(
            f"{type(model).__name__}: interventions are applied to it; subspaces are of the "
            f"unmodified model, so {what} outside the block"
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
