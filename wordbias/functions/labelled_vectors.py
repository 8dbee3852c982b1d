"""Vectors with labels as arguments of `probe`: files, arrays, representations, embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from wordbias.columns import Column, LazyColumns
from wordbias.embedding import EmbeddingLike, as_embedding, is_words_and_vectors
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats import is_static_model
from wordbias.formats.rows import Rows, is_rows, is_table, matrix_of, open_rows
from wordbias.formats.source import sha256_of
from wordbias.functions.inputs import EmbeddingsLike, ReadOptions, each_once, open_subject, path_of
from wordbias.labelled import CellsLike, Labelled
from wordbias.models.representations import Layers, Representations, which_layers
from wordbias.models.texts import Texts
from wordbias.probes.inputs import (
    is_arrays,
    labels_in,
    load_vectors,
    name_labels,
    of_array,
    other_arrays,
    random_vectors,
    read_word_labels,
)
from wordbias.resources import located

VectorsLike = EmbeddingLike | Representations | NDArray[Any]
"""Representations, an array of shape ``(n, d)`` or ``(L, n, d)``, an embedding, or their file."""
ManyVectorsLike = VectorsLike | Sequence[VectorsLike] | Mapping[str, VectorsLike] | None


def rows_of_texts(texts: Texts) -> Labelled:
    """Return texts with their columns as rows that have no vectors yet."""
    return Labelled(
        None, len(texts), name=texts.name, columns=texts.columns,
        kind="text", lines=texts.lines, unit=texts.unit,
    )  # fmt: skip


def random_like(labelled: Labelled, seed: int) -> Labelled:
    """Return normal vectors of the same shape and scale, with the same labels."""
    name = f"random ({labelled.name})" if labelled.name != "sample" else "random"
    info = {"random": True, "like": labelled.name, "seed": seed}
    return replace(
        labelled.with_vectors(random_vectors(labelled.vectors, seed)),
        name=name,
        described=f"normal vectors of the same shape and scale, seed {seed}",
        info=info | {key: labelled.info[key] for key in ("layers",) if key in labelled.info},
    )


def several_of(vectors: ManyVectorsLike) -> list[tuple[str | None, VectorsLike | None]]:
    """Return one or several inputs as a list, each once, with its name if it has one."""
    if isinstance(vectors, Mapping) and not _is_embedding(vectors):
        named = cast("Mapping[str, VectorsLike]", vectors)
        return [(str(name), source) for name, source in named.items()]
    return [(None, source) for source in each_once(cast("EmbeddingsLike", vectors))]


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
    """Open vectors, words or a file, recognised by its content, and find their labels."""
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
    encoded, columns = opened
    what = path or encoded.name
    if names:
        raise UsageError(f"--first-names is for embeddings; {what} holds no words")
    columns = encoded.columns or columns
    if path is None and array is not None and not is_table(source):
        raise UsageError(f"--array is for files that hold several; {what} is none")
    chosen = which_layers(layers, encoded.layers)
    places = [encoded.place(layer) for layer in chosen]
    in_order = places == list(range(places[0], places[-1] + 1))  # then they are a view
    vectors = encoded.vectors[places[0] : places[-1] + 1] if in_order else encoded.vectors[places]
    kind = "text" if encoded.columns else "row"
    labelled = Labelled.of(vectors, name=what, layers=chosen, columns=columns, kind=kind)
    if labels is None:
        raise WordbiasError(labelled.none_named())
    label, remedy = path_of(labels) or "label", "leave them out"
    if label in encoded.columns:
        remedy = f"encode only those that have one, with: wordbias encode --where {label}=VALUE"
    column = labelled.column("--labels", labels)
    labelled = labelled.with_labels({label: column}, remedy=remedy)
    info: dict[str, Any] = {}
    if path is not None:
        info = {"path": path, **({} if Path(path).is_dir() else {"sha256": sha256_of(path)})}
    info |= {"n": len(labelled), "dim": encoded.dim}
    info |= {"layers": list(chosen)} if len(chosen) > 1 or encoded.about else {}
    info |= {"about": dict(encoded.about)} if encoded.about else {}
    shape = f"{len(labelled):,} vectors × {encoded.dim}"
    many = f", {len(chosen)} layers" if len(chosen) > 1 else ""
    where = "" if path is None else f"{path}: "
    template = encoded.about.get("template")
    around = f", each text in the template {template!r}" if template else ""
    described = f"{where}{shape}{many}{around}"
    return replace(labelled, name=name or encoded.name, described=described, info=info)


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
        encoded = load_vectors(path, array)
        return encoded, encoded.columns or other_arrays(path, len(encoded))
    if not is_rows(path):
        return None
    return _of_rows(open_rows(path, array=array))


def _of_rows(rows: Rows) -> tuple[Representations, Mapping[str, Column]]:
    encoded = of_array(rows.vectors(), rows.name, rows.path)
    return encoded, LazyColumns.of(rows)


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
        words = Labelled(None, len(embedding), name=embedding.name, kind="word")
        wanted = dict(zip(embedding.words, words.column("--labels", labels).cells(), strict=True))
    known, missing = labels_in(wanted, embedding)
    if not known:
        raise WordbiasError(
            f"{embedding.name}: has none of {len(wanted):,} labelled words, such as "
            f"{next(iter(wanted), '')!r}; label words of its own with --labels FILE"
        )
    column = Column.of(known.values())
    labelled = Labelled.of(
        embedding.take(known), column, name=embedding.name, kind="word",
        columns={"word": Column.of(known), "label": column},
    )  # fmt: skip
    lost = f", {len(missing):,} missing" if missing else ""
    return replace(
        labelled,
        described=f"{subject.description()}; {len(labelled):,} {what}{lost}",
        info={**subject.info.to_dict(), "n": len(labelled), "missing": len(missing)},
    )


def with_names(inputs: Sequence[Labelled]) -> list[Labelled]:
    """Name inputs: those of equal names by their paths, or by numbers if they have none."""
    names = [vectors.name for vectors in inputs]
    renamed = []
    for i, labelled in enumerate(inputs, 1):
        name = labelled.name
        if names.count(name) > 1:
            name = str(labelled.info["path"]) if labelled.info.get("path") else f"{name} {i}"
        renamed.append(replace(labelled, name=name))
    return renamed
