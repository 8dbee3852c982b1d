"""Forward hooks that change the values at sites of a model, or record them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from wordbias.arrays import like
from wordbias.errors import WordbiasError, need
from wordbias.methods.leace import Erasure
from wordbias.methods.transform import Projection
from wordbias.models.families import PARTS
from wordbias.models.model_like import Applied, intervening, interventions_in
from wordbias.models.sentence_folder import place_of_modules
from wordbias.models.sites import EMBEDDING, Place, Site, check_read, locate, locate_all
from wordbias.subspace import Subspace, random_frame

PURPOSE = "an intervention in an encoder"
Change = Callable[[Any], Any]
"""Function from the values at a place to the new ones; None leaves them as they are."""


# Interventions


@dataclass(frozen=True, eq=False)
class Intervention:
    """The removal of a subspace at a site, as MISP and MHD do it, or an affine map there."""

    site: Site
    # subspace to remove, or the affine map that removes, such as that of LEACE. At query, key and
    # value a subspace spans one direction of each head, a row of the basis being zero outside its
    # head (see `of_heads`): removing the rows projects every head alone. DeBERTa sends its relative
    # positions through the same linear maps; they are projected too, in hooks as in folded weights.
    what: Subspace | Erasure
    hard: bool = False  # take all weights of the subspace as 1. An affine map has no weights.

    def __str__(self) -> str:
        if isinstance(self.what, Erasure):
            how, dims = "by an affine map", self.what.left.shape[1]
        else:
            how, dims = "hard" if self.hard else "by its weights", self.what.dims
        return f"{self.site}: {dims} of {self.width}, {how}"

    @property
    def width(self) -> int:
        """Number of values of a vector that it changes."""
        changed = self.what.bias if isinstance(self.what, Erasure) else self.what.basis[0]
        return len(changed)

    @property
    def step(self) -> Projection | Erasure:
        """The removal as a step of a fitted method, a function on arrays."""
        return self.what if isinstance(self.what, Erasure) else Projection(self.what, self.hard)

    @property
    def content(self) -> bytes:
        """What is removed, whatever the site: equal for equal removals."""
        if isinstance(self.what, Erasure):
            arrays = [self.what.left, self.what.right, self.what.bias]
            head = f"erasure {self.what.left.shape}\n"
        else:
            arrays = [self.what.basis, self.what.weights]
            head = f"{self.hard} {self.what.basis.shape}\n"
        return head.encode() + b"".join(array.astype("<f8").tobytes() for array in arrays)

    @property
    def removes(self) -> bool:
        """Return whether anything is removed: a soft removal with weights of 0 changes nothing."""
        if isinstance(self.what, Erasure):
            return bool((self.what.left @ self.what.right).any())
        return self.hard or bool(self.what.weights.any())

    def within(self, model: Any) -> Place:
        """Find the place in a model."""
        place = locate(model, self.site)
        if place.width != self.width:
            what = "map" if isinstance(self.what, Erasure) else "subspace"
            raise WordbiasError(
                f"site {self.site}: {type(model).__name__} has vectors of {place.width} values "
                f"there, the {what} is of {self.width}; fit one on this model"
            )
        return place

    def removal(self) -> Removal:
        """Return the removal as a function on tensors."""
        return Removal(self.what, self.hard)


class Removal:
    """A removal as a function on tensors; caches its arrays by type and device."""

    # Half-precision tensors are changed in float32: rounding of the directions would leave a part
    # of the component in.

    def __init__(self, what: Subspace | Erasure, hard: bool = False) -> None:
        self.what = what
        self.hard = hard
        self._torch = need("torch", extra="contextual", purpose=PURPOSE)
        self._cast: dict[Any, Change] = {}

    def __call__(self, x: Any) -> Any:
        """Return `x`, shape ``(…, d)``, after the removal, in its own type."""
        wide = x.float() if x.element_size() < 4 else x
        key = (wide.dtype, wide.device)
        if key not in self._cast:
            with self._torch.inference_mode(False):  # so that a later pass may have gradients
                self._cast[key] = self._like(
                    self._torch.empty(0, dtype=wide.dtype, device=wide.device)
                )
        return self._cast[key](wide).to(x.dtype)

    def _like(self, x: Any) -> Change:
        """Return the removal with its arrays in the type and on the device of a tensor."""
        if isinstance(self.what, Subspace):
            return partial(self.what.like(x).remove, hard=self.hard)
        erasure = self.what
        left, right = like(erasure.left, x), like(erasure.right, x)
        offset = like(erasure.right @ erasure.bias, x)
        return lambda y: y - (y @ right.T - offset) @ left.T


@contextmanager
def applied(model: Any, interventions: Iterable[Intervention], setting: str = "") -> Iterator[None]:
    """Apply interventions to a model for a block, also if the block ends in an exception."""
    # Two at one site are applied in their order. All are checked before the first is applied. Of
    # nested blocks the inner one is applied first at a site. `setting` is for the provenance of
    # vectors.
    wanted = list(interventions)
    places = [it.within(model) for it in wanted]
    check_read(model, [it.site for it in wanted if it.removes], [it.site for it in wanted])
    named = [str(place.site) for place in places]
    removals = [it.removal() for it in wanted]
    values = next(model.parameters())
    for it, removal in zip(wanted, removals, strict=True):
        removal(values.new_empty(0, it.width))  # torch.compile cannot trace arrays of numpy
    with intervening(model, named, setting, sha256_of(wanted, named)) as active:
        changes = [
            (place, partial(_unless_paused, active, removal))
            for place, removal in zip(places, removals, strict=True)
        ]
        with changing(changes):
            yield


def sha256_of(interventions: Sequence[Intervention], sites: Sequence[str]) -> str:
    """Return a hash of sites and of what is removed there."""
    digest = hashlib.sha256()
    for site, intervention in zip(sites, interventions, strict=True):
        digest.update(f"{site} ".encode() + intervention.content)
    return digest.hexdigest()


def _unless_paused(active: Applied, removal: Removal, x: Any) -> Any:
    return None if active.paused else removal(x)


def check_plain(model: Any, what: str = "fit") -> None:
    """Refuse a model to which interventions are applied."""
    if interventions_in(model):
        raise WordbiasError(
            f"{type(model).__name__}: interventions are applied to it; subspaces are of the "
            f"unmodified model, so {what} outside the block"
        )


def of_heads(subspaces: Sequence[Subspace]) -> Subspace:
    """Join the subspaces of all heads of a layer, `k` directions of size `s` each."""
    # Block-diagonal, of heads · s dimensions and heads · k directions: rows of different heads have
    # no coordinate in common. They are orthonormal, and removing all of them is removing each in
    # its head.
    from scipy.linalg import block_diag

    basis = block_diag(*(subspace.basis for subspace in subspaces))
    return Subspace(basis, np.concatenate([subspace.weights for subspace in subspaces]))


def random_subspace(subspace: Subspace, rng: np.random.Generator, kind: str = "") -> Subspace:
    """Return a subspace of random orthonormal directions with the weights of another one."""
    # At query, key and value each direction stays within its head.
    k, d = subspace.basis.shape
    if kind in PARTS:  # one direction for each head
        frames = (random_frame(1, d // k, rng) for _ in range(k))
        return of_heads(
            [
                Subspace(frame, [weight])
                for frame, weight in zip(frames, subspace.weights, strict=True)
            ]
        )
    return Subspace(random_frame(k, d, rng), subspace.weights)


# Hooks


@contextmanager
def changing(changes: Sequence[tuple[Place, Change]]) -> Iterator[None]:
    """Replace the values at places by functions of them, for a block."""
    # Changes at one place are applied in their order, and before every other hook there: hidden
    # states which transformers collects are the changed ones.
    with ExitStack() as stack:
        for place, change in reversed(changes):  # each is put before the earlier ones
            _hook(stack, place, change, prepend=True)
        yield


@contextmanager
def recording(model: Any, wanted: Sequence[Site]) -> Iterator[dict[Site, Any]]:
    """Record the values at sites; yields a dictionary that each pass fills anew."""
    # A tensor has shape (batch, d) for the sentence and cls, (batch, tokens, d) otherwise. If a
    # linear map is applied more than once in a pass (DeBERTa's to positions too), its first
    # application is recorded: that to the tokens.
    values: dict[Site, Any] = {}

    def record(site: Site, x: Any) -> None:
        values.setdefault(site, x.detach())

    with ExitStack() as stack:
        start = model.register_forward_pre_hook(lambda *_: values.clear())
        stack.callback(start.remove)
        for site, place in zip(wanted, locate_all(model, wanted), strict=True):
            _hook(stack, place, partial(record, site), prepend=False)
        yield values


class Calls:
    """Counter of the calls of a module in a pass."""

    wanted: int | None
    made: int

    def __init__(self, place: Place, stack: ExitStack) -> None:
        self.wanted = place.call
        self.made = 0
        if place.rewinds is not None:
            stack.callback(place.rewinds.register_forward_pre_hook(self._restart).remove)

    def _restart(self, *_: Any) -> None:
        self.made = 0

    def meant(self) -> bool:
        """Count a call and return whether it belongs to the place."""
        self.made += 1
        return self.wanted is None or self.made - 1 == self.wanted


def _hook(stack: ExitStack, place: Place, change: Change, *, prepend: bool) -> None:
    """Register a hook on the input or output of a place's module."""
    calls = Calls(place, stack)
    if place.entering:
        handle = place.module.register_forward_pre_hook(
            _before(place, calls, change), prepend=prepend, with_kwargs=True
        )
    else:
        handle = place.module.register_forward_hook(_after(place, calls, change), prepend=prepend)
    stack.callback(handle.remove)


def _after(place: Place, calls: Calls, change: Change) -> Callable[..., Any]:
    """Make a hook on the output of a module, which may be a tensor or a tuple with it first."""

    def hook(module: Any, args: Any, output: Any) -> Any:
        if not calls.meant():
            return None
        new = _changed(place, output[0] if isinstance(output, tuple) else output, change)
        if new is None or not isinstance(output, tuple):
            return new
        replaced = (new, *output[1:])
        return type(output)._make(replaced) if hasattr(output, "_make") else replaced

    return hook


def _before(place: Place, calls: Calls, change: Change) -> Callable[..., Any]:
    """Make a hook on the first argument of a module, which may be given by its name."""

    def hook(module: Any, args: Any, named: Any) -> Any:
        if not calls.meant():
            return None
        name = "" if args else next(name for name in _FIRST if name in named)
        new = _changed(place, named[name] if name else args[0], change)
        if new is None:
            return None
        return ((), {**named, name: new}) if name else ((new, *args[1:]), named)

    return hook


_FIRST = ("hidden_states", "input")
"""Names of the first argument of layers and of linear maps."""


def _changed(place: Place, x: Any, change: Change) -> Any:
    """Apply a change to the part of `x` that belongs to the place, in a copy of it."""
    if not place.first and place.width == x.shape[-1]:
        return change(x)
    part = (..., 0, place.values) if place.first else (..., place.values)
    new = change(x[part])
    if new is None:
        return None
    copy = x.clone()
    copy[part] = new
    return copy


@contextmanager
def applied_behind(
    model: Any, interventions: Sequence[Intervention], setting: str
) -> Iterator[None]:
    """Remove subspaces from what a loaded ``SentenceTransformer`` outputs, for a block."""
    modules = [module for _, module in model.named_children()]
    last = modules[place_of_modules([type(module).__name__ for module in modules]) - 1]
    removals = [intervention.removal() for intervention in interventions]
    named = [str(intervention.site) for intervention in interventions]
    with intervening(model, named, setting, sha256_of(interventions, named)) as active:

        def hook(module: Any, args: Any, output: Any) -> Any:
            if active.paused:
                return None
            x = output["sentence_embedding"]
            if any(intervention.width != x.shape[-1] for intervention in interventions):
                raise WordbiasError(
                    f"site {EMBEDDING}: the model outputs vectors of {x.shape[-1]} values, but "
                    "the subspace is of another length; fit one on this model"
                )
            for remove in removals:
                x = remove(x)
            return {**output, "sentence_embedding": x}

        handle = last.register_forward_hook(hook)
        try:
            yield
        finally:
            handle.remove()
