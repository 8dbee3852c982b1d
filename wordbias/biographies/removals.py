"""Arms of vectors: a removal between the encoder and the last layer of a classifier.

Under an arm of data the classifier is trained anew. Under an arm of vectors it is that of `none`
with the same seed, and a removal stands before its last layer. A method is fitted to the vectors
of the original training part and the genders of its people, never to the development or test part.
With ``subsample+`` or ``oversample+`` before it, these are as many women as men of each occupation.
An adapter was fitted before. A removal that makes the genders alike also takes what tells the
occupation, if the occupation tells the gender: without balance it can turn gaps within occupations
round. The stages are those of all strategies:

- representation: gender is probed in the vectors of the test part after the removal;
- before: the last layer of `none` reads the vectors after the removal, as a model does to which the
  removal is added;
- after: a new last layer is trained on the vectors of the original training part after the removal.

Its random change is a removal of random directions, by another draw for each seed, of as many as
move the training vectors as far; see `random_removal`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wordbias.biographies.data import Biographies
from wordbias.biographies.strategies import OVERSAMPLE, STRATEGIES, SUBSAMPLE
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
from wordbias.outcomes.balance import copies
from wordbias.resources.hub import is_address
from wordbias.retraining.arms import NONE, RANDOM
from wordbias.settings import only_method


def is_removal(strategy: str) -> bool:
    """Return whether a strategy is a method for vectors, an adapter, or the random removal of one.

    A method that needs words counts as one, so that it is refused as such.
    """
    name = _divided(strategy)[1]
    return _is_method(name) or is_adapter(name)


def _divided(strategy: str) -> tuple[Literal["", "subsample", "oversample"], str]:
    """Return how the people that a removal is fitted to are balanced, and what it is."""
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
    if _is_method(name) or set(name.split("+")) <= set(STRATEGIES):
        return False
    return is_address(name) or bool(Path(name).suffix) or os.path.isfile(name)


def check_removals(strategies: Sequence[str], pooling: str, *, frozen: bool) -> None:
    """Refuse arms of vectors that cannot be fitted or applied, or that stand without `none`.

    Raises
    ------
    WordbiasError
        Also UsageError, of settings that a method does not take.
    """
    for strategy in filter(is_removal, strategies):
        name = _divided(strategy)[1]
        method = name.partition(":")[0]
        if is_adapter(name):
            if not frozen:
                raise WordbiasError(
                    f"strategy {strategy!r}: was fitted to the encoder as it is, and every seed "
                    "fine-tunes it; freeze it with --head-only, or name a method such as leace"
                )
            adapter_interventions(name, strategy, pooling)
        elif method not in ROW_METHODS:
            raise WordbiasError(
                f"strategy {strategy!r}: {method} is fitted to words, and here are vectors of "
                f"texts; expected one of {', '.join(ROW_METHODS)}"
            )
        else:
            only_method(name, ROW_METHODS, ROW_SETTINGS)
        if NONE not in strategies:
            raise WordbiasError(
                f"strategy {strategy!r}: changes the vectors that the classifier of {NONE} reads; "
                f"give {NONE} with --strategies too"
            )


def digest_of_adapter(strategy: str, pooling: str) -> str:
    """Return a hash of what an adapter removes; empty if the strategy is no adapter."""
    name = strategy.removeprefix(RANDOM)
    if not is_adapter(name):
        return ""
    found = adapter_interventions(name, strategy, pooling)
    return sha256_of(found, [str(one.site) for one in found])


def check_adapters(strategies: Iterable[str], model: Any) -> None:
    """Refuse adapters that were fitted on another model."""
    for name in dict.fromkeys(strategy.removeprefix(RANDOM) for strategy in strategies):
        if is_adapter(name):
            read_adapter(name).check(model, name=name, inside=True)


def adapter_interventions(name: str, strategy: str, pooling: str) -> list[Intervention]:
    """Return what an adapter removes where the last layer reads.

    A removal from all tokens is one from their mean too, since it is affine.
    """
    adapter = read_adapter(name)
    found = adapter.interventions(adapter.chosen or written(adapter.sites))
    layers = adapter.fingerprint.layers
    read = [Site("tokens", layers), *([Site("cls", layers)] if pooling == "first" else [])]
    if other := [one.site for one in found if one.site not in read]:
        raise WordbiasError(
            f"strategy {strategy!r}: removes at {written(other)}, and the last layer reads "
            f"{written(read)}; fit one there with: wordbias project ENCODER -o ADAPTER "
            f"--texts TEXTS --labels COLUMN --sites tokens@{layers}"
        )
    return found


def fit_removal(
    strategy: str,
    vectors: NDArray[np.float32],
    people: Biographies,
    *,
    pooling: str,
    seed: int,
) -> Sequence[Step]:
    """Fit the removal of an arm of vectors.

    Parameters
    ----------
    vectors, people
        Vectors of the original training part, shape ``(n, d)``, and its people.
    seed
        Seed of who is left out or repeated, of a method that draws, and of the directions of a
        random removal.

    Raises
    ------
    WordbiasError
        If there is one gender only, or there is nothing to remove.
    """
    how, name = _divided(strategy)
    if is_adapter(name):
        found = adapter_interventions(name, strategy, pooling)
        steps: Sequence[Step] = [one.step for one in found]
    else:
        method = only_method(name, ROW_METHODS, ROW_SETTINGS)
        rows = np.arange(len(people))
        if how:
            rows = np.repeat(rows, copies(people.labels, people.genders, how, seed))
        codes = np.unique(people.genders[rows], return_inverse=True)[1]
        settings = arguments_of(method, seed=seed)
        steps = fit_rows(method.name, vectors[rows], codes, settings, inside=True).steps
    if not steps:
        raise WordbiasError(
            f"{name} found no classifier better than chance, so that there is nothing to remove"
        )
    if strategy.startswith(RANDOM):
        steps = random_removal(steps, vectors, np.random.default_rng([seed, *name.encode()]))
    return steps


def random_removal(
    steps: Sequence[Step], vectors: NDArray[np.float32], rng: np.random.Generator
) -> tuple[Erasure]:
    """Return a removal of random directions that moves vectors as far, in the mean square.

    Directions are orthonormal and removed whole, the last one in part. A removal of the rank of the
    fitted one would be no change of the same size: one random direction of 384 has a fraction of
    what LEACE takes, since vectors vary along the gender more than along others.
    """
    moved = (remove(steps, vectors) - vectors).astype(np.float64)
    bias = next((one.bias for one in steps if isinstance(one, Erasure)), np.zeros(vectors.shape[1]))
    return (erasure_as_far(moved, vectors.astype(np.float64), bias, rng),)


def remove(steps: Sequence[Step], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors after a removal, in float32."""
    x: NDArray[Any] = vectors
    for step in steps:
        x = step(x)
    return x.astype(np.float32)
