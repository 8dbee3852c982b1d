"""Vectors with labels as arguments of `probe`: files, arrays, representations, embeddings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from wordbias.columns import Column
from wordbias.embedding import EmbeddingLike, as_embedding, is_words_and_vectors
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats import is_static_model
from wordbias.formats.rows import Rows, is_rows, is_table, matrix_of, open_rows
from wordbias.formats.source import sha256_of
from wordbias.functions.inputs import ReadOptions, open_subject, path_of
from wordbias.probes.inputs import (
    Examples,
    LabelledVocabulary,
    LazyColumns,
    is_arrays,
    load_vectors,
    name_labels,
    of_array,
    other_arrays,
    random_vectors,
    read_labels,
    read_word_labels,
)
from wordbias.probes.representations import Layers, Representations, which_layers
from wordbias.probes.texts import Texts
from wordbias.resources import located

VectorsLike = EmbeddingLike | Representations | NDArray[Any]
"""Representations, an array of shape ``(n, d)`` or ``(L, n, d)``, an embedding, or their file."""
ManyVectorsLike = VectorsLike | Sequence[VectorsLike] | Mapping[str, VectorsLike] | None
CellsLike = str | os.PathLike[str] | Column | Iterable[object]
"""A column's name, a file with one line for each example, or a value for each example."""

_NAMED = 5


@dataclass(frozen=True)
class Labelled:
    """Vectors and labels, with the other columns of the examples.

    Attributes
    ----------
    examples
        Vectors and labels.
    columns
        Columns of the examples, by name.
    described
        Description for people.
    info
        Description for machines.
    """

    examples: Examples
    columns: Mapping[str, Column] = field(repr=False)
    described: str
    info: Mapping[str, Any]

    @property
    def notes(self) -> list[str]:
        """Note on the classes that occur once, if there are any."""
        rare = [] if "random" in self.info else self.examples.rare()
        if not rare:
            return []
        listed = ", ".join(f"{name:.40}" for name in rare[:_NAMED])
        return [
            f"{self.examples.name}: {len(rare)} of {len(self.examples.classes)} classes occur "
            f"only once ({listed}{' …' * (len(rare) > _NAMED)}); a probe cannot be both trained "
            "and tested on them"
        ]

    @property
    def one_layer(self) -> bool:
        """True if the vectors have no layers."""
        return len(self.examples.layers) == 1 and "layers" not in self.info

    def column(self, option: str, given: CellsLike) -> Column:
        """Return the values of an option: a column, the lines of a file, or given values."""
        name, count = self.examples.name, len(self.examples)
        found = _column(option, given, name, self.columns)
        if len(found.codes) != count:
            path = path_of(given)
            what = f"{option}: {len(found.codes):,} values"
            if path is not None:
                what = f"{path}: {len(found.codes):,} lines"
            raise WordbiasError(f"{what} for {count:,} vectors of {name}")
        return found

    def codes(self, option: str, given: CellsLike | None) -> NDArray[np.intp] | None:
        """Return the values of an option as a code for each example."""
        return None if given is None else self.column(option, given).codes.astype(np.intp)

    def places(self, option: str, given: CellsLike) -> NDArray[np.intp]:
        """Return the places of examples by ``COLUMN=VALUE`` or a mask: some of them, not all."""
        spec = path_of(given)
        if spec is None:
            mask = np.asarray(list(given) if isinstance(given, Iterable) else given)
            if mask.dtype != bool or mask.shape != (len(self.examples),):
                raise WordbiasError(
                    f"{option}: expected COLUMN=VALUE, or true or false for each of "
                    f"{len(self.examples):,} examples; found {mask.dtype} of shape {mask.shape}"
                )
            return np.flatnonzero(mask)
        name, equals, value = spec.rpartition("=")
        if not (name and equals):
            raise UsageError(f"{option}: expected FILE-or-COLUMN=VALUE, found {spec!r}")
        column = self.column(option, name)
        if value not in column.values:
            known = ", ".join(column.values[:_NAMED])
            raise WordbiasError(f"{option}: no {name} is {value!r}; there are {known}")
        found = np.flatnonzero(column.codes == column.values.index(value))
        if len(found) == len(column.codes):
            raise WordbiasError(f"{option}: every {name} is {value!r}; choose one that some have")
        return found

    def random(self, seed: int) -> Labelled:
        """Return normal vectors of the same shape and scale, with the same labels."""
        e = self.examples
        name = f"random ({e.name})" if e.name != "sample" else "random"
        like = replace(e, vectors=random_vectors(e.vectors, seed), name=name)
        described = f"normal vectors of the same shape and scale, seed {seed}"
        info = {"random": True, "like": e.name, "seed": seed}
        info |= {"layers": self.info["layers"]} if "layers" in self.info else {}
        return Labelled(like, self.columns, described, info)


def several_of(vectors: ManyVectorsLike) -> list[tuple[str | None, VectorsLike | None]]:
    """Return one or several inputs as a list, each once, with its name if it has one."""
    if isinstance(vectors, Mapping) and not _is_embedding(vectors):
        named = cast("Mapping[str, VectorsLike]", vectors)
        return [(str(name), one) for name, one in named.items()]
    if not isinstance(vectors, (list, tuple)) or is_words_and_vectors(vectors):
        return [(None, cast("VectorsLike | None", vectors))]
    found: list[VectorsLike] = []
    for one in vectors:
        path = path_of(one)
        if not any(one is other or (path and path == path_of(other)) for other in found):
            found.append(one)
    return [(None, one) for one in found] or [(None, None)]


def _is_embedding(given: Mapping[str, object]) -> bool:
    """Return whether a mapping is one embedding, of words to vectors, and not several inputs."""
    first = next(iter(given.values()), None)
    if not isinstance(first, (np.ndarray, list, tuple)) or is_words_and_vectors(first):
        return False
    return np.ndim(first) == 1


def open_labelled(
    source: VectorsLike | None,
    name: str | None,
    read_options: ReadOptions,
    labels: CellsLike | Mapping[str, str] | None,
    names: bool,
    layers: Layers,
    array: str | None,
) -> Labelled:
    """Open vectors and find their labels.

    Parameters
    ----------
    source
        Vectors or a file, which is recognised by its content; None is the sample.
    name
        Name in results.
    labels
        File, column or values; for an embedding the labels of words, or a file with them.
    names
        Label first names by gender, the default for an embedding.
    layers
        Layers to probe; all by default.
    array
        Name of the array, if a file holds several.
    """
    path = path_of(source)
    path = None if path is None else located(path)
    opened = _open_rows(source, path, array)
    if opened is None:
        if layers is not None or array is not None:
            raise UsageError("--layers and --array are for arrays, tables and files of encode")
        embedding = cast("EmbeddingLike | None", source)
        if embedding is not None and path is None:
            embedding = as_embedding(embedding)
        return _open_words(embedding, name, read_options, labels, names)
    found, columns = opened
    what = path or found.name
    if names:
        raise UsageError(f"--first-names is for embeddings; {what} holds no words")
    columns = found.columns or columns
    if path is None and array is not None and not is_table(source):
        raise UsageError(f"--array is for files that hold several; {what} is none")
    if labels is None:
        known = ", ".join(columns) or "none"
        raise WordbiasError(
            f"{what}: no labels given: name them with --labels FILE (one per line) or --labels "
            f"COLUMN; its columns: {known}"
        )
    column = _column("--labels", labels, found.name, columns)
    _refuse_blank(what, labels, column, encoded=bool(found.columns))
    chosen = which_layers(layers, found.layers)
    places = [found.place(layer) for layer in chosen]
    in_order = places == list(range(places[0], places[-1] + 1))  # then they are a view
    vectors = found.vectors[places[0] : places[-1] + 1] if in_order else found.vectors[places]
    examples = Examples.of(vectors, column, layers=chosen, name=name or found.name)
    info: dict[str, Any] = {}
    if path is not None:
        info = {"path": path, **({} if Path(path).is_dir() else {"sha256": sha256_of(path)})}
    info |= {"n": len(examples), "dim": found.dim}
    info |= {"layers": list(chosen)} if len(chosen) > 1 or found.about else {}
    info |= {"about": dict(found.about)} if found.about else {}
    shape = f"{len(examples):,} vectors × {found.dim}"
    many = f", {len(chosen)} layers" if len(chosen) > 1 else ""
    where = "" if path is None else f"{path}: "
    template = found.about.get("template")
    around = f", each text in the template {template!r}" if template else ""
    return Labelled(examples, columns, f"{where}{shape}{many}{around}", info)


def _open_rows(
    source: object, path: str | None, array: str | None
) -> tuple[Representations, Mapping[str, Column]] | None:
    """Open vectors without words, with the columns beside them; None for words with vectors."""
    if isinstance(source, Representations):
        return source, {}
    if path is None and is_table(source):
        return _of_rows(open_rows(source, array=array))
    if path is None and hasattr(source, "__array__") and not hasattr(source, "columns"):
        return of_array(matrix_of(source), "vectors"), {}
    if path is None or is_static_model(path):
        return None
    if not Path(path).is_dir() and is_arrays(path):
        found = load_vectors(path, array)
        return found, found.columns or other_arrays(path, len(found))
    if not is_rows(path):
        return None
    return _of_rows(open_rows(path, array=array))


def _of_rows(rows: Rows) -> tuple[Representations, Mapping[str, Column]]:
    found = of_array(rows.vectors(), rows.name, rows.path)
    return found, LazyColumns(rows.columns, lambda name: Column.of(rows.cells(name)))


def _open_words(
    source: EmbeddingLike | None,
    name: str | None,
    read_options: ReadOptions,
    labels: CellsLike | Mapping[str, str] | None,
    names: bool,
) -> Labelled:
    """Open an embedding and take the words that have labels."""
    if labels is not None and names:
        raise UsageError("choose one of --labels and --first-names")
    file, what = path_of(labels), "labelled words"
    wanted: Mapping[str, str] | None
    if labels is None:
        wanted, what = name_labels(), "first names by gender"
    elif isinstance(labels, Mapping):
        wanted = {str(word): str(label) for word, label in labels.items()}
    elif file is None:
        wanted = None
    elif Path(file).exists():
        wanted, what = read_word_labels(file), f"words of {file}"
    else:
        what = "the sample" if source is None else str(path_of(source) or source)
        raise WordbiasError(
            f"{what}: holds words, whose --labels is a file of words and labels with a tab between "
            f"them; {file!r} is not (vectors of texts are made with: wordbias encode)"
        )
    subject = open_subject(source, read_options, wanted=wanted or ())
    embedding = subject.embedding if name is None else subject.embedding.renamed(name)
    if wanted is None:
        column = _column("--labels", () if labels is None else labels, embedding.name, {})
        _refuse_blank(embedding.name, labels, column)
        if len(column.codes) != len(embedding):
            raise WordbiasError(
                f"{embedding.name}: {len(embedding):,} words, but {len(column.codes):,} labels; "
                "give one for each, or a dictionary of words and labels"
            )
        wanted = dict(zip(embedding.words, column.cells(), strict=True))
    known = LabelledVocabulary.of(wanted, embedding)
    if not known.words:
        raise WordbiasError(
            f"{embedding.name}: has none of {len(wanted):,} labelled words, such as "
            f"{next(iter(wanted), '')!r}; label words of its own with --labels FILE"
        )
    examples = Examples.of(embedding.take(known.words), known.labels, name=embedding.name)
    lost = f", {len(known.missing):,} missing" if known.missing else ""
    return Labelled(
        examples,
        {"word": Column.of(known.words), "label": known.labels},
        f"{subject.description()}; {len(examples):,} {what}{lost}",
        {**subject.info.to_dict(), "n": len(examples), "missing": len(known.missing)},
    )


def _column(
    option: str, given: CellsLike | Mapping[str, str], name: str, columns: Mapping[str, Column]
) -> Column:
    """Return the values of an option: a column, the lines of a file, or given values.

    Parameters
    ----------
    name
        Name of the vectors in messages.
    columns
        Columns of the vectors.
    """
    spec = path_of(given)
    if spec is not None and spec in columns:
        return columns[spec]
    if spec is not None:
        if not Path(spec).exists():
            known = ", ".join(columns) or "none"
            raise WordbiasError(
                f"{option} {spec!r}: neither a column of {name} (it has {known}) nor a file"
            )
        return read_labels(spec)
    if isinstance(given, Column):
        return given
    shape = getattr(given, "shape", None)
    if isinstance(given, Mapping) or (shape is not None and len(shape) != 1):
        raise WordbiasError(
            f"{option}: expected a value for each example of {name}, found "
            f"{type(given).__name__}{'' if shape is None else f' of shape {tuple(shape)}'}"
        )
    if not isinstance(given, Iterable):
        raise WordbiasError(
            f"{option}: expected a column's name, a file or a value for each example of {name}, "
            f"got {type(given).__name__}"
        )
    return Column.of(given)


def _refuse_blank(what: str, labels: object, column: Column, *, encoded: bool = False) -> None:
    """Refuse examples without a label, which would be a class of their own."""
    blank = [not value.strip() for value in column.values]
    count = int(np.array(blank)[column.codes].sum()) if any(blank) else 0
    if not count:
        return
    named = path_of(labels)
    rows, mend = "examples", "leave them out"
    if encoded and named is not None:
        rows = "texts"
        mend = f"encode only those that have one, with: wordbias encode --where {named}=VALUE"
    raise WordbiasError(
        f"{what}: {count:,} of {len(column.codes):,} {rows} have no {named or 'label'}; {mend}"
    )


def labels_of_texts(texts: Texts, labels: CellsLike, *, skip_bad: bool) -> tuple[Texts, list[str]]:
    """Return texts and the label of each: a column of them, the lines of a file, or given values.

    Parameters
    ----------
    skip_bad
        Drop texts without a label.

    Raises
    ------
    WordbiasError
        If there is no such column or file, their numbers differ, or a text has no label and is not
        to be dropped.
    """
    column = _column("--labels", labels, texts.name, texts.columns)
    if len(column.codes) != len(texts):
        raise WordbiasError(
            f"{path_of(labels) or '--labels'}: {len(column.codes):,} labels for {len(texts):,} "
            f"texts of {texts.name}; give one for each"
        )
    cells = column.cells()
    reason = f"has no {path_of(labels) or 'label'}"
    bad = {place: reason for place, cell in enumerate(cells) if not cell.strip()}
    kept = texts.without(bad, skip_bad)
    return kept, [cell for place, cell in enumerate(cells) if place not in bad]


def with_names(inputs: Sequence[Labelled]) -> list[Labelled]:
    """Name inputs: those of equal names by their paths, or by numbers if they have none."""
    names = [one.examples.name for one in inputs]
    found = []
    for i, one in enumerate(inputs, 1):
        name = one.examples.name
        if names.count(name) > 1:
            name = str(one.info["path"]) if one.info.get("path") else f"{name} {i}"
        found.append(replace(one, examples=replace(one.examples, name=name)))
    return found
