"""What `wordbias probe` works on: vectors of a file or of words, and a label for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from wordbias.commands.inputs import Reading, open_subject
from wordbias.commands.options import Layers, which_layers
from wordbias.errors import WordbiasError
from wordbias.formats.source import Digest
from wordbias.probes.control import random_vectors
from wordbias.probes.examples import Examples
from wordbias.probes.labels import LabelledVocabulary, name_labels, read_labels, read_word_labels
from wordbias.probes.reading import is_arrays, load_vectors
from wordbias.probes.representations import Column, Representations

WORD = "word"
"""The column of an embedding's words."""
_SHOWN = 5


@dataclass(frozen=True)
class Input:
    """Vectors and labels that fit together, and what else is known of them.

    Attributes
    ----------
    examples
        What is probed.
    columns
        What is known of each example, by name.
    described
        What they are, for people.
    info
        The same for machines.
    notes
        What a reader must know.
    """

    examples: Examples
    columns: Mapping[str, Column] = field(repr=False)
    described: str
    info: Mapping[str, Any]
    notes: Sequence[str] = ()

    @property
    def one_layer(self) -> bool:
        """Whether there is no layer to tell from others."""
        return len(self.examples.layers) == 1 and "layers" not in self.info

    def codes(self, option: str, spec: str | None) -> NDArray[np.intp] | None:
        """Return a code for each example of the column or file that an option names."""
        column = self.column(option, spec)
        return None if column is None else column.codes.astype(np.intp)

    def column(self, option: str, spec: str | None) -> Column | None:
        """Return the column or the lines of the file that an option names."""
        if spec is None:
            return None
        return _column(self.examples.name, self.columns, option, spec, len(self.examples))

    def rows_where(self, option: str, spec: str | None) -> NDArray[np.intp] | None:
        """Return the examples for which ``COLUMN=VALUE`` holds."""
        if spec is None:
            return None
        name, equals, value = spec.rpartition("=")
        if not (name and equals):
            raise click.UsageError(f"{option}: expected FILE-or-COLUMN=VALUE, found {spec!r}")
        column = _column(self.examples.name, self.columns, option, name, len(self.examples))
        if value not in column.values:
            known = ", ".join(column.values[:_SHOWN])
            raise WordbiasError(f"{option}: no {name} is {value!r}; there are {known}")
        return np.flatnonzero(column.codes == column.values.index(value))

    def random(self, seed: int) -> Input:
        """Return normal vectors of the same shape and scale, with the same labels."""
        e = self.examples
        vectors = random_vectors(e.vectors, seed)
        name = f"random ({e.name})" if e.name != "sample" else "random"
        like = Examples(vectors, e.labels, e.classes, e.layers, name)
        described = f"normal vectors of the same shape and scale, seed {seed}"
        info = {"random": True, "like": e.name, "seed": seed}
        info |= {key: self.info[key] for key in ("layers",) if key in self.info}
        return Input(like, self.columns, described, info)


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
    column = _column(found.name, found.columns, "labels", labels, None)
    _check_blank(path, labels, column)
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
    return Input(examples, found.columns, f"{path}: {shape}{many}", info, _notes(examples))


def _check_blank(path: str, labels: str, column: Column) -> None:
    """Refuse to take what has no label for a class of its own."""
    blank = [not value.strip() for value in column.values]
    count = int(np.array(blank)[column.codes].sum()) if any(blank) else 0
    if count:
        raise WordbiasError(
            f"{path}: {count:,} of {len(column.codes):,} texts have no {labels}; encode only those "
            f"that have one, with: wordbias encode --where {labels}=VALUE"
        )


def _taken(vectors: NDArray[Any], places: list[int]) -> NDArray[Any]:
    """Return some layers, as a view where they are neighbours."""
    start, stop = places[0], places[-1] + 1
    return vectors[start:stop] if places == list(range(start, stop)) else vectors[places]


def _words(
    name: str | None, reading: Reading, labels: str | None, names: bool, quiet: bool
) -> Input:
    if labels is not None and names:
        raise click.UsageError("choose one of --labels and --names")
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
    return Input(examples, columns, described, info, _notes(examples))


def _notes(examples: Examples) -> list[str]:
    rare = examples.rare()
    if not rare:
        return []
    said = ", ".join(rare[:_SHOWN]) + (" …" if len(rare) > _SHOWN else "")
    return [
        f"{examples.name}: {len(rare)} of {len(examples.classes)} classes occur once ({said}); "
        "no probe is both taught and tested on them"
    ]


def _column(
    name: str, columns: Mapping[str, Column], option: str, spec: str, n: int | None
) -> Column:
    """Find a column, or read a file with one line an example."""
    if spec in columns:
        return columns[spec]
    if not Path(spec).exists():
        known = ", ".join(columns) or "none"
        raise WordbiasError(
            f"{option} {spec!r}: neither a column of {name} (it has {known}) nor a file"
        )
    found = read_labels(spec)
    if n is not None and len(found.codes) != n:
        raise WordbiasError(f"{spec}: {len(found.codes):,} lines for {n:,} vectors of {name}")
    return found
