"""Inputs of probes: vectors of one or several layers, labels, and random controls of both."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.columns import Column, read
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
from wordbias.formats.tables import PLAIN, read_lines
from wordbias.formats.tensors import map_tensors
from wordbias.probes.representations import Representations, load_representations
from wordbias.wordlists.resolve import resolve
from wordbias.wordlists.templates import names

Integers = NDArray[np.intp]

Array = NDArray[Any]

FEMALE = 0.5
"""Share of female bearers from which on a name counts as female."""
_TILE = 1 << 22  # numbers that are checked at once
_LARGE = 1e15  # float32 cannot square the gradient of larger ones
_ROUNDING = 1e-6
"""Share of the size of vectors below which their deviation is rounding."""
_STREAM = 1  # makes these draws independent of those of orders and weights


@dataclass(frozen=True, eq=False)
class Examples:
    """Vectors and a label for each.

    Attributes
    ----------
    vectors
        Shape ``(L, n, d)``, any float type; may be a memory map.
    labels
        Codes 0 to K - 1, shape ``(n,)``.
    classes
        Names of the K labels.
    layers
        Numbers of the layers, shape ``(L,)``.
    name
        Name of the vectors in results.
    """

    vectors: NDArray[np.floating[Any]] = field(repr=False)
    labels: Integers = field(repr=False)
    classes: tuple[str, ...]
    layers: tuple[int, ...]
    name: str = "vectors"

    @classmethod
    def of(
        cls,
        vectors: ArrayLike,
        labels: Column | ArrayLike,
        *,
        layers: Sequence[int] | None = None,
        name: str = "vectors",
    ) -> Examples:
        """Check vectors and labels.

        Parameters
        ----------
        vectors
            Shape ``(n, d)``, or ``(L, n, d)`` for several layers.
        labels
            Label of each example, of any type that can be sorted, or a column.
        layers
            Numbers of the layers, by default 0 to L - 1.
        name
            Name of the vectors in messages.

        Raises
        ------
        WordbiasError
            If shapes do not fit, a number is not finite, or there are fewer than two classes, or
            so many that labels are no labels.
        """
        x = _as_layers(vectors, name)
        codes, classes = _as_codes(labels)
        _, n, d = x.shape
        if len(codes) != n:
            raise WordbiasError(
                f"{name}: {n:,} vectors, but {len(codes):,} labels; give one label for each vector"
            )
        if not d:
            raise WordbiasError(f"{name}: the vectors have no dimensions: shape {x.shape}")
        _check_classes(classes, n, name)
        numbers = tuple(range(len(x))) if layers is None else tuple(layers)
        _check_finite(x, numbers, name)
        return cls(x, codes, classes, numbers, name)

    def __len__(self) -> int:
        return len(self.labels)

    def sizes(self) -> list[float]:
        """Return the root of the mean square of each layer's vectors; 1 where all are zero."""
        return [
            math.sqrt(np.einsum("nd,nd->", one, one, dtype=np.float64) / one.size) or 1.0
            for one in self.vectors
        ]

    def deviations(self) -> list[float]:
        """Return the root mean square deviation of each layer's vectors from their mean."""
        pairs = zip(self.sizes(), self.vectors.mean(1, dtype=np.float64), strict=True)
        return [
            math.sqrt(max(size**2 - float(np.mean(centre**2)), (_ROUNDING * size) ** 2))
            for size, centre in pairs
        ]

    def scaled(self, sizes: Sequence[float], centres: ArrayLike | None = None) -> Examples:
        """Return the examples with each layer divided by one number; held in memory.

        The learning rate of a probe suits vectors of one size, and those of a decoder grow from
        layer to layer.

        Parameters
        ----------
        sizes
            Number of each layer.
        centres
            What is subtracted before, shape ``(L, d)``.
        """
        vectors = np.empty(self.vectors.shape, np.float32)
        shifts = np.zeros((len(vectors), 1)) if centres is None else np.asarray(centres)
        for layer, given, size, shift in zip(vectors, self.vectors, sizes, shifts, strict=True):
            np.subtract(given, shift.astype(np.float32), out=layer, casting="same_kind")
            layer /= np.float32(size)
        return replace(self, vectors=vectors)

    def spread(self) -> tuple[list[float], NDArray[np.float64]]:
        """Return the root mean square deviation of each layer, and the means that it is from.

        Where vectors deviate by rounding alone it is their size, so that rounding stays small.
        """
        centres = self.vectors.mean(1, dtype=np.float64)
        spreads = self.scaled([1.0] * len(centres), centres).sizes()
        pairs = zip(spreads, self.sizes(), strict=True)
        return [one if one > _ROUNDING * size else size for one, size in pairs], centres

    def rare(self) -> list[str]:
        """Return the classes that occur once: no probe is both trained and tested on them."""
        counts = np.bincount(self.labels, minlength=len(self.classes))
        return [self.classes[i] for i in np.flatnonzero(counts == 1)]


def _as_layers(vectors: ArrayLike, name: str) -> NDArray[np.floating[Any]]:
    x = np.asarray(vectors)
    if x.dtype.kind in "iub":
        x = x.astype(np.float32)
    if x.dtype.kind != "f" or x.ndim not in (2, 3):
        raise WordbiasError(
            f"{name}: expected numbers of shape (examples, dimensions) or (layers, examples, "
            f"dimensions), found {x.dtype} of shape {x.shape}"
        )
    return np.ascontiguousarray(x[None] if x.ndim == 2 else x)


def _as_codes(labels: Column | ArrayLike) -> tuple[Integers, tuple[str, ...]]:
    given = np.array(labels.values)[labels.codes] if isinstance(labels, Column) else labels
    y = np.asarray(given)
    if y.ndim != 1:
        raise WordbiasError(f"labels: expected one for each example, found shape {y.shape}")
    values, codes = np.unique(y, return_inverse=True)
    return codes.astype(np.intp), tuple(map(str, values))


def _check_classes(classes: Sequence[str], n: int, name: str) -> None:
    if len(classes) < 2:
        only = f"all are {classes[0]!r}" if classes else "there are none"
        raise WordbiasError(f"{name}: the labels need at least two classes; {only}")
    if len(classes) > n / 2:
        raise WordbiasError(
            f"{name}: {len(classes):,} different labels for {n:,} examples, such as "
            f"{classes[0]!r:.40}: fewer than two each; give more examples, or name another column "
            "or file"
        )


def _check_finite(x: NDArray[np.floating[Any]], layers: Sequence[int], name: str) -> None:
    step = max(1, _TILE // x.shape[2])
    limit = x.dtype.type(min(_LARGE, float(np.finfo(x.dtype).max)))
    for layer, vectors in zip(layers, x, strict=True):
        for start in range(0, len(vectors), step):
            good = np.abs(vectors[start : start + step]) <= limit
            if not good.all():
                row, place = np.argwhere(~good)[0].tolist()
                where = f"layer {layer}, row" if len(layers) > 1 else "row"
                raise WordbiasError(
                    f"{name}: {where} {start + row + 1} holds {vectors[start + row, place]:g}; "
                    f"probes need finite numbers up to {limit:g}, so leave it out or mend it"
                )


# labels


def read_labels(path: str | Path, *, blank: bool = False) -> Column:
    """Read a file with one label a line.

    Parameters
    ----------
    blank
        Take a blank line as a label that is missing.

    Raises
    ------
    WordbiasError
        If it cannot be read, is not UTF-8, or a line is blank.
    """
    cells = [line.cells[PLAIN].strip() for line in read_lines(Path(path), "plain")]
    if not cells:
        raise WordbiasError(f"{path}: is empty; expected one label a line")
    if "" in cells and not blank:
        number = cells.index("") + 1
        raise WordbiasError(f"{path}: line {number} is blank; expected one label a line")
    return Column.of(cells)


def read_word_labels(path: str | Path) -> dict[str, str]:
    """Read a file with a word, a tab and its label on each line.

    Raises
    ------
    WordbiasError
        If it cannot be read, is not UTF-8, a line is of another form, or a word has two labels.
    """
    names = ("word", "label")
    table = read(Path(path), names, unnamed=names, blank=names, kind="tsv")
    found: dict[str, str] = {}
    for where, row in table.rows():
        word, label = row["word"], row["label"].strip()
        if not (word and label):
            raise WordbiasError(f"{where}: expected a word, a tab and its label; mend it")
        if found.setdefault(word, label) != label:
            raise WordbiasError(
                f"{where}: {word!r} is labelled {label!r}, but {found[word]!r} before; leave one"
            )
    return found


def name_labels() -> dict[str, str]:
    """Return the gender of first names: female where at least half of their bearers are."""
    return {name: "female" if share >= FEMALE else "male" for name, share in names().items()}


@dataclass(frozen=True)
class LabelledVocabulary:
    """Labelled words of a vocabulary, as it spells them.

    Attributes
    ----------
    words, labels
        Words in the vocabulary, and a label for each.
    missing
        Words that the vocabulary has in no form.
    """

    words: Sequence[str]
    labels: Column
    missing: Sequence[str]

    @classmethod
    def of(cls, labels: Mapping[str, str], vocabulary: Container[str]) -> LabelledVocabulary:
        """Find each word as written, else lower-cased, else capitalised; the first one counts."""
        found: dict[str, str] = {}
        missing = []
        for word, label in labels.items():
            spelled = resolve([word], vocabulary).found
            if spelled:
                found.setdefault(spelled[0], label)
            else:
                missing.append(word)
        return cls(tuple(found), Column.of(found.values()), missing)


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
    """Map a file of vectors into memory: of `encode`, or an array (.npy, .npz, safetensors).

    Parameters
    ----------
    path
        The file, whose format is recognised by its content.
    array
        Name of the array where there are several; it has shape ``(n, d)``, or ``(L, n, d)`` for
        several layers.

    Raises
    ------
    WordbiasError
        If the file holds no such array, or Python objects, which are never loaded.
    """
    path = Path(path)
    start = beginning(path)
    if is_safetensors(start):
        tensors, metadata = map_tensors(path)
        if REPRESENTATIONS in metadata:
            return load_representations(path)
        if array is None:
            known = {name: (tensors[name].shape, tensors[name].dtype) for name in tensors.known()}
            array = _only(path, known, list(tensors))
        return of_array(tensors[_name(path, list(tensors), array)], path.stem, str(path))
    if not start.startswith(ZIP):
        return of_array(np.asarray(map_npy(path)), path.stem, str(path))
    if array is None:
        shapes = npz_shapes(path)
        array = _only(path, shapes, list(shapes))
    return of_array(load_npz(path, _name(path, npz_names(path), array)), path.stem, str(path))


def _only(
    path: Path, known: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]], names: list[str]
) -> str:
    """Return the only array that can be vectors: of floats, else of other numbers."""
    found = {name: dtype for name, (shape, dtype) in known.items() if len(shape) in (2, 3)}
    floats = [name for name, dtype in found.items() if dtype.kind == "f"]
    return _name(path, floats or list(found) or names, None)


class LazyColumns(Mapping[str, Column]):
    """Columns by name, each read when it is asked for.

    Parameters
    ----------
    names
        Names of the columns.
    read
        Function that reads one.
    """

    def __init__(self, names: Sequence[str], read: Callable[[str], Column]) -> None:
        self._names, self._read = tuple(names), read

    def __getitem__(self, name: str) -> Column:
        if name not in self._names:
            raise KeyError(name)
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def other_arrays(path: str | Path, count: int) -> Mapping[str, Column]:
    """Return the arrays of a .npz or safetensors file that have one value for each vector.

    Parameters
    ----------
    path
        The file.
    count
        Number of vectors.
    """
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
    """Return an array of shape ``(n, d)``, or ``(L, n, d)`` for several layers, as representations.

    Parameters
    ----------
    name
        Name in results.
    where
        Name in messages, by default the same.

    Raises
    ------
    WordbiasError
        If it has another shape, or holds no numbers.
    """
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
    """Draw the labels of a control task (Hewitt and Liang 2019).

    Every type, such as a word, gets one label at random, drawn as often as the labels occur; a
    probe can only learn them by heart. Selectivity is how much better it does on the true ones.

    Parameters
    ----------
    labels
        Codes of the true labels, shape ``(n,)``.
    types
        Code of each example's type, shape ``(n,)``; by default every example has its own.
    seed
        Seed of the draws.

    Returns
    -------
    array of int, shape (n,)
    """
    rng = np.random.default_rng([seed, _STREAM])
    codes = np.arange(len(labels)) if types is None else np.unique(types, return_inverse=True)[1]
    drawn = labels[rng.integers(len(labels), size=int(codes.max()) + 1)]
    found: Integers = drawn[codes]
    return found


def random_vectors(vectors: NDArray[np.floating[Any]], seed: int) -> NDArray[np.float32]:
    """Draw normal vectors of the same shape and scale.

    Parameters
    ----------
    vectors
        Shape ``(L, n, d)``.
    seed
        Seed of the draws.

    Returns
    -------
    array of float32, shape (L, n, d)
        Independent of everything; the mean square of each layer is that of `vectors`.
    """
    rng = np.random.default_rng([seed, _STREAM])
    drawn = rng.standard_normal(vectors.shape, np.float32)
    for layer, like in zip(drawn, vectors, strict=True):
        layer *= np.sqrt(np.mean(np.square(like, dtype=np.float64)))
    return drawn
