"""Opening what `wordbias probe` works on: arrays and files of encode, or words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from numpy.typing import NDArray

from wordbias.commands.options import Layers, which_layers
from wordbias.commands.probe_columns import Known, refuse_blank
from wordbias.commands.probe_inputs import Input, rare_notes
from wordbias.errors import WordbiasError
from wordbias.formats.digest import Digest
from wordbias.functions.inputs import Reading, open_subject
from wordbias.probes.examples import Examples
from wordbias.probes.labels import LabelledVocabulary, name_labels, read_word_labels
from wordbias.probes.reading import is_arrays, load_vectors
from wordbias.probes.representations import Column, Representations
from wordbias.resources import located

WORD = "word"
"""The column of an embedding's words."""


def open_input(
    name: str | None,
    reading: Reading,
    *,
    labels: str | None,
    names: bool,
    layers: Layers,
    array: str | None,
    quiet: bool,
) -> Input:
    """Open vectors and find their labels.

    Parameters
    ----------
    name
        A file, recognised by its content; None means the sample.
    labels
        File or column; of an embedding a file with words and labels.
    names
        Label first names by gender, which an embedding's words are by default.
    layers
        Which; all by default.
    array
        Name of the array where a file holds several.
    """
    name = located(name)
    if name is None or not is_arrays(name):
        if layers is not None or array is not None:
            raise click.UsageError("--layers and --array are for arrays and for files of encode")
        return _words(name, reading, labels, names, quiet)
    if names:
        raise click.UsageError(f"--names is for embeddings; {name} holds no words")
    return _file(name, load_vectors(name, array), labels, layers)


def _file(path: str, found: Representations, labels: str | None, layers: Layers) -> Input:
    if labels is None:
        known = ", ".join(found.columns) or "none"
        raise WordbiasError(
            f"{path}: which labels? give --labels FILE (one a line) or --labels COLUMN; its "
            f"columns: {known}"
        )
    column = Known(found.name, found.columns).column("--labels", labels)
    refuse_blank(path, labels, column)
    chosen = which_layers(layers, found.layers)
    vectors = _taken(found.vectors, [found.place(layer) for layer in chosen])
    examples = Examples.of(vectors, column, layers=chosen, name=found.name)
    digest = Digest()
    digest.read(Path(path))
    several = len(chosen) > 1 or found.about
    info = {"path": path, "sha256": digest.hex(), "n": len(examples), "dim": found.dim}
    info |= {"layers": list(chosen)} if several else {}
    info |= {"about": dict(found.about)} if found.about else {}
    shape = f"{len(examples):,} vectors × {found.dim}"
    many = f", {len(chosen)} layers" if len(chosen) > 1 else ""
    return Input(examples, found.columns, f"{path}: {shape}{many}", info, rare_notes(examples))


def _taken(vectors: NDArray[Any], places: list[int]) -> NDArray[Any]:
    """Return some layers, as a view where they are neighbours."""
    start, stop = places[0], places[-1] + 1
    return vectors[start:stop] if places == list(range(start, stop)) else vectors[places]


def _words(
    name: str | None, reading: Reading, labels: str | None, names: bool, quiet: bool
) -> Input:
    if labels is not None and names:
        raise click.UsageError("choose one of --labels and --names")
    if labels is not None and not Path(labels).exists():
        raise WordbiasError(
            f"{name or 'the sample'}: holds words, whose --labels is a file of words and labels "
            f"with a tab between them; {labels!r} is none (texts are made vectors with: wordbias "
            "encode)"
        )
    wanted = name_labels() if labels is None else read_word_labels(labels)
    subject = open_subject(name, reading, head=0, wanted=wanted, output=None, quiet=quiet)
    embedding = subject.embedding
    known = LabelledVocabulary.of(wanted, embedding)
    if not known.words:
        raise WordbiasError(
            f"{embedding.name}: has none of {len(wanted):,} labelled words, such as "
            f"{next(iter(wanted))!r}; label words of its own with --labels FILE"
        )
    examples = Examples.of(embedding.take(known.words), known.labels, name=embedding.name)
    what = "first names by gender" if labels is None else f"words of {labels}"
    lost = f", {len(known.missing):,} missing" if known.missing else ""
    described = f"{subject.described()}; {len(examples):,} {what}{lost}"
    info = {**subject.info.to_dict(), "n": len(examples), "missing": len(known.missing)}
    columns = {WORD: Column.of(known.words), "label": known.labels}
    return Input(examples, columns, described, info, rare_notes(examples))
