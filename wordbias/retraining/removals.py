"""Arms of vectors: a removal between the encoder and what reads its vectors.

Under an arm of data a model is trained anew. Under an arm of vectors it is that of `none` with the
same seed, and a removal stands behind its encoder. A method is fitted to vectors of the original
training part and their genders, never to the development or test part. An adapter was fitted
before. The stages are those of all strategies:

- representation: gender is probed in vectors after the removal;
- before: the model of `none` reads the vectors after the removal;
- after: all that reads them is trained anew, on the original training part after the removal.

Its random change is a removal of random directions, by another draw for each seed, of as many as
move vectors as far; see `random_removal`.

With ``subsample+`` or ``oversample+`` before it, a method is fitted to as many women as men of each
occupation. A removal that makes the genders alike also takes what tells the occupation, if the
occupation tells the gender: without balance it can turn gaps within occupations round.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.methods.leace import Erasure
from wordbias.methods.methods import arguments_of
from wordbias.methods.null import erasure_as_far
from wordbias.methods.rows import fit_rows
from wordbias.methods.settings import METHODS, ROW_METHODS, ROW_SETTINGS
from wordbias.methods.transform import Step
from wordbias.models.adapters import read_adapter
from wordbias.models.hooks import Intervention, sha256_of
from wordbias.models.sites import Site, written
from wordbias.resources.hub import is_address
from wordbias.retraining.arms import NONE, OF_DATA, OVERSAMPLE, RANDOM, SUBSAMPLE
from wordbias.settings import only_method


def is_removal(strategy: str) -> bool:
    """Return whether a strategy is a method for vectors, an adapter, or a random removal."""
    # A method that needs words counts as one, to be refused as such.
    name = divided(strategy)[1]
    return _is_method(name) or is_adapter(name)


def divided(strategy: str) -> tuple[Literal["", "subsample", "oversample"], str]:
    """Return how those that a removal is fitted to are balanced, and the name of the removal."""
    name = strategy.removeprefix(RANDOM)
    for how in (SUBSAMPLE, OVERSAMPLE):
        rest = name.removeprefix(f"{how}+")
        if rest != name and _is_method(rest):
            return how, rest
    return "", name


def _is_method(name: str) -> bool:
    return name.partition(":")[0] in METHODS


def is_adapter(name: str) -> bool:
    """Return whether the name of an arm is the file or address of an adapter."""
    if _is_method(name) or set(name.split("+")) <= set(OF_DATA):
        return False
    return is_address(name) or bool(Path(name).suffix) or os.path.isfile(name)


def check_removals(strategies: Sequence[str], pooling: str, *, frozen: bool) -> None:
    """Refuse arms of vectors that cannot be fitted or applied, or that stand without `none`."""
    for strategy in filter(is_removal, strategies):
        name = divided(strategy)[1]
        method = name.partition(":")[0]
        if is_adapter(name):
            if not frozen:
                raise WordbiasError(
                    f"strategy {strategy!r}: was fitted to the encoder as it is, and every seed "
                    "fine-tunes it; freeze it with --head-only, or name a method such as leace"
                )
            _interventions(name, pooling)
        elif method not in ROW_METHODS:
            raise WordbiasError(
                f"strategy {strategy!r}: {method} is fitted to words, and here are vectors of "
                f"texts; expected one of {', '.join(ROW_METHODS)}"
            )
        else:
            only_method(name, ROW_METHODS, ROW_SETTINGS)
        if NONE not in strategies:
            raise WordbiasError(
                f"strategy {strategy!r}: changes the vectors that the model of {NONE} reads; "
                f"give {NONE} with --strategies too"
            )


def digest_of_adapter(strategy: str, pooling: str) -> str:
    """Return a hash of what an adapter removes; empty if the strategy is no adapter."""
    name = strategy.removeprefix(RANDOM)
    if not is_adapter(name):
        return ""
    interventions = _interventions(name, pooling)
    return sha256_of(interventions, [str(intervention.site) for intervention in interventions])


def check_adapters(strategies: Iterable[str], model: Any) -> None:
    """Refuse adapters that were fitted on another model."""
    for name in dict.fromkeys(strategy.removeprefix(RANDOM) for strategy in strategies):
        if is_adapter(name):
            read_adapter(name).check(model, name=name, inside=True)


def _interventions(name: str, pooling: str) -> list[Intervention]:
    """Return what an adapter removes where the last layer reads."""
    # A removal from all tokens is one from their mean too, since it is affine.
    adapter = read_adapter(name)
    interventions = adapter.interventions(adapter.chosen or written(adapter.sites))
    layers = adapter.fingerprint.layers
    read = [Site("tokens", layers), *([Site("cls", layers)] if pooling == "first" else [])]
    if other := [
        intervention.site for intervention in interventions if intervention.site not in read
    ]:
        raise WordbiasError(
            f"strategy {name!r}: removes at {written(other)}, and the last layer reads "
            f"{written(read)}; fit one there with: wordbias project ENCODER -o ADAPTER "
            f"--texts TEXTS --labels COLUMN --sites tokens@{layers}"
        )
    return interventions


def fit_removal(
    name: str,
    vectors: NDArray[np.float32],
    genders: NDArray[np.intp],
    *,
    pooling: str,
    seed: int,
) -> Sequence[Step]:
    """Fit a method to vectors (n, d) and genders (n,), or read what an adapter removes."""
    if is_adapter(name):
        return [intervention.step for intervention in _interventions(name, pooling)]
    method = only_method(name, ROW_METHODS, ROW_SETTINGS)
    settings = arguments_of(method, seed=seed)
    steps = fit_rows(method.name, vectors, genders, settings, inside=True).steps
    if not steps:
        raise WordbiasError(
            f"{name} found no classifier better than chance, so that there is nothing to remove"
        )
    return steps


def random_removal(
    steps: Sequence[Step], vectors: NDArray[np.float32], rng: np.random.Generator
) -> tuple[Erasure]:
    """Return a removal of random directions that moves vectors as far, in the mean square."""
    # Directions are orthonormal and removed whole, the last one in part. A removal of the rank of
    # the fitted one would be no change of the same size: one random direction of 384 has a fraction
    # of what LEACE takes, since vectors vary along the gender more than along others.
    moved = (remove(steps, vectors) - vectors).astype(np.float64)
    bias = next(
        (step.bias for step in steps if isinstance(step, Erasure)), np.zeros(vectors.shape[1])
    )
    return (erasure_as_far(moved, vectors.astype(np.float64), bias, rng),)


def remove(steps: Sequence[Step], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors after a removal, in float32."""
    x: NDArray[Any] = vectors
    for step in steps:
        x = step(x)
    return x.astype(np.float32)
