"""Inputs of probes: vectors of one or several layers, labels, and random controls of both."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.columns import Column, LazyColumns, read
from wordbias.errors import WordbiasError
from wordbias.formats.arrays import (
    NUMPY,
    ZIP,
    beginning,
    is_npz,
    is_safetensors,
    load_npz,
    map_npy,
    npz_names,
    npz_shapes,
)
from wordbias.formats.stored import REPRESENTATIONS
from wordbias.formats.tensors import map_tensors
from wordbias.models.representations import Representations, load_representations
from wordbias.wordlists.resolve import resolve
from wordbias.wordlists.templates import names

Integers = NDArray[np.intp]

Array = NDArray[Any]

FEMALE = 0.5
"""Share of female bearers from which on a name counts as female."""
_STREAM = 1  # makes these draws independent of those of orders and weights


# labels


def read_word_labels(path: str | Path) -> dict[str, str]:
    """Read a file with a word, a tab and its label on each line."""
    names = ("word", "label")
    table = read(Path(path), names, unnamed=names, blank=names, kind="tsv")
    labels: dict[str, str] = {}
    for where, row in table.rows():
        word, label = row["word"], row["label"].strip()
        if not (word and label):
            raise WordbiasError(f"{where}: expected a word, a tab and its label; mend it")
        if labels.setdefault(word, label) != label:
            raise WordbiasError(
                f"{where}: {word!r} is labelled {label!r}, but {labels[word]!r} before; leave one"
            )
    return labels


def name_labels() -> dict[str, str]:
    """Return the gender of first names: female where at least half of their bearers are."""
    return {name: "female" if share >= FEMALE else "male" for name, share in names().items()}


def labels_in(
    labels: Mapping[str, str], vocabulary: Container[str]
) -> tuple[dict[str, str], list[str]]:
    """Return the labels of words as a vocabulary spells them, and words that it has in no form."""
    # Each is looked for as written, else lower-cased, else capitalised; the first one counts.
    known: dict[str, str] = {}
    missing = []
    for word, label in labels.items():
        spelled = resolve([word], vocabulary).found
        if spelled:
            known.setdefault(spelled[0], label)
        else:
            missing.append(word)
    return known, missing


# vectors


def is_arrays(path: str | Path) -> bool:
    """Return whether a file holds representations or arrays, rather than words and vectors."""
    start = beginning(Path(path))
    if start.startswith((NUMPY, ZIP)):
        return start.startswith(NUMPY) or is_npz(Path(path))
    if not is_safetensors(start):
        return False
    tensors, metadata = map_tensors(Path(path))
    return REPRESENTATIONS in metadata or not {"vectors", "words"} <= tensors.keys()


def is_representations(path: str | Path) -> bool:
    """Return whether a file holds representations, as `encode` writes them."""
    return is_safetensors(beginning(Path(path))) and REPRESENTATIONS in map_tensors(Path(path))[1]


def load_vectors(path: str | Path, array: str | None = None) -> Representations:
    """Map a file of vectors into memory: of `encode`, or an array (.npy, .npz, safetensors)."""
    path = Path(path)
    start = beginning(path)
    if is_safetensors(start):
        tensors, metadata = map_tensors(path)
        if REPRESENTATIONS in metadata:
            return load_representations(path)
        if array is None:
            known = {name: (tensors[name].shape, tensors[name].dtype) for name in tensors.known()}
            array = _only_array(path, known, list(tensors))
        return of_array(tensors[_name(path, list(tensors), array)], path.stem, str(path))
    if not start.startswith(ZIP):
        return of_array(np.asarray(map_npy(path)), path.stem, str(path))
    if array is None:
        shapes = npz_shapes(path)
        array = _only_array(path, shapes, list(shapes))
    return of_array(load_npz(path, _name(path, npz_names(path), array)), path.stem, str(path))


def _only_array(
    path: Path, known: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]], names: list[str]
) -> str:
    """Return the only array that can be vectors: of floats, else of other numbers."""
    dtypes = {name: dtype for name, (shape, dtype) in known.items() if len(shape) in (2, 3)}
    floats = [name for name, dtype in dtypes.items() if dtype.kind == "f"]
    return _name(path, floats or list(dtypes) or names, None)


def other_arrays(path: str | Path, count: int) -> Mapping[str, Column]:
    """Return the arrays of a .npz or safetensors file that have one value for each vector."""
    path = Path(path)
    start = beginning(path)
    load: Callable[[str], Array]
    if is_safetensors(start):
        tensors, _ = map_tensors(path)
        names = [name for name in tensors.known() if tensors[name].shape == (count,)]
        load = tensors.__getitem__
    elif start.startswith(ZIP):
        names = [name for name, (shape, _) in npz_shapes(path).items() if shape == (count,)]
        load = partial(load_npz, path)
    else:
        return {}
    return LazyColumns(names, lambda name: Column.of(load(name).tolist()))


def of_array(array: Array, name: str, where: str = "") -> Representations:
    """Return an array, ``(n, d)`` or ``(L, n, d)`` of several layers, as representations."""
    if array.ndim not in (2, 3) or array.dtype.kind not in "fiu":
        raise WordbiasError(
            f"{where or name}: expected numbers of shape (examples, dimensions) or (layers, "
            f"examples, dimensions), found {array.dtype} of shape {array.shape}"
        )
    vectors = array[None] if array.ndim == 2 else array
    return Representations(vectors, tuple(range(len(vectors))), name=name)


def _name(path: Path, known: list[str], array: str | None) -> str:
    """Return the given name of an array, or the name of the only one."""
    listed = ", ".join(known) or "none"
    if array is not None and array not in known:
        raise WordbiasError(f"{path}: no array {array!r}; it holds {listed[:200]}")
    if array is None and len(known) != 1:
        raise WordbiasError(
            f"{path}: expected one array of vectors, found {listed[:200]}; choose with --array NAME"
        )
    return array or known[0]


# controls


def control_labels(labels: Integers, types: Integers | None, seed: int) -> Integers:
    """Draw the labels of a control task for each example's type (Hewitt and Liang 2019)."""
    # Every type, such as a word, gets one label at random, drawn as often as the labels occur; a
    # probe can only learn them by heart. Selectivity is how much better it does on the true ones.
    rng = np.random.default_rng([seed, _STREAM])
    codes = np.arange(len(labels)) if types is None else np.unique(types, return_inverse=True)[1]
    drawn = labels[rng.integers(len(labels), size=int(codes.max()) + 1)]
    controls: Integers = drawn[codes]
    return controls


def random_vectors(vectors: NDArray[np.floating[Any]], seed: int) -> NDArray[np.float32]:
    """Draw normal vectors of the same shape, (L, n, d), and mean square of each layer."""
    rng = np.random.default_rng([seed, _STREAM])
    drawn = rng.standard_normal(vectors.shape, np.float32)
    for layer, like in zip(drawn, vectors, strict=True):
        layer *= np.sqrt(np.mean(np.square(like, dtype=np.float64)))
    return drawn
