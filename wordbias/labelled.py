"""Rows with labels: classes, units, splits, folds, scaling and moments, of vectors of any kind.

`Labelled` is the one door for vectors with labels: layers in memory, rows that stream from files,
or texts that have no vectors yet. What reads a file, a model or the sites of one hands over vectors
and columns; what a label may not be is refused here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.calls import path_of
from wordbias.columns import Column, LazyColumns, blank_cells, read_labels
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.rows import Rows
from wordbias.moments import Moments
from wordbias.progress import progress
from wordbias.rendering import how_many
from wordbias.resources.hub import fetched
from wordbias.splits import DEV, TEST, TRAIN, Folds, combined, parts_of, ranks

Integers = NDArray[np.intp]
Places = NDArray[np.bool_]
CellsLike = str | os.PathLike[str] | Column | Iterable[object]
"""A column's name, a file with one line for each row, or a value for each row."""
LabelsLike = CellsLike | Mapping[str, object]
"""One label, or several by name."""
GivenLabels = Column | ArrayLike | Sequence[object] | Mapping[str, Any]

MISSING = ("refuse", "drop")
HELD_OUT = 0.2
"""Share of the rows of each class that is held out by default."""
SHOWN = 8
"""Number of classes that a message lists."""
FEW = 30
"""Number of held-out rows below which the figures of a class say little."""
_TILE = 1 << 22  # numbers that are checked at once
_LARGE = 1e15  # float32 cannot square the gradient of larger ones
_ROUNDING = 1e-6
"""Share of the size of vectors below which their deviation is rounding."""


@dataclass(frozen=True, eq=False)
class Label:
    """A label of each row, as the number of its class."""

    # number of the class of each row, shape `(n,)`; −1 where it is missing
    codes: Integers = field(repr=False)
    classes: tuple[str, ...]  # names of the classes, in the order of their numbers

    def counts(self, places: Integers | Places) -> Integers:
        """Return the number of rows of each class among some that have one."""
        return np.bincount(self.codes[places], minlength=len(self.classes))

    def cells(self, places: Integers) -> NDArray[np.str_]:
        """Return the names of the classes of some rows."""
        return np.array(self.classes)[self.codes[places]]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows with one label or several; with none before `with_labels`."""

    # vectors of one layer or several, shape `(L, n, d)`, any float type, perhaps a memory map; rows
    # that are read in blocks; None where they are not known yet
    rows: Rows | NDArray[np.floating[Any]] | None = field(repr=False)
    n: int  # number of rows
    # labels by name; a row that lacks one has none of them
    labels: Mapping[str, Label] = field(default_factory=dict)
    name: str = "vectors"
    layers: tuple[int, ...] = (0,)
    # other columns of the rows, by name
    columns: Mapping[str, Column] = field(default_factory=dict, repr=False)
    kind: str = "row"  # what a row is called in messages, such as a text
    # number of each row where it is from, and what that counts; by default rows are counted
    lines: Sequence[int] | None = field(default=None, repr=False)
    unit: str = "line"
    described: str = ""  # description for people and for machines
    info: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        vectors: Rows | ArrayLike,
        labels: GivenLabels | None = None,
        *,
        name: str = "vectors",
        layers: Sequence[int] | None = None,
        columns: Mapping[str, Column] | None = None,
        kind: str = "row",
    ) -> Labelled:
        """Check vectors, and the labels if there are any, see `with_labels`."""
        if isinstance(vectors, Rows):
            where, known = vectors.path or vectors.name, LazyColumns.of(vectors)
            labelled = cls(vectors, vectors.n, name=where, columns=known, kind=kind)
        else:
            x = _layers(vectors, name)
            numbers = tuple(range(len(x)) if layers is None else layers)
            _check_finite(x, numbers, name)
            labelled = cls(x, x.shape[1], {}, name, numbers, columns or {}, kind)
        return labelled if labels is None else labelled.with_labels(labels)

    def with_labels(
        self, labels: GivenLabels, missing: str = MISSING[0], remedy: str = "leave them out"
    ) -> Labelled:
        """Return the rows with labels, whose classes are numbered."""
        several = labels if isinstance(labels, Mapping) else {"label": labels}
        numbered = {key: self._numbered(key, label_cells) for key, label_cells in several.items()}
        blank = {key: codes < 0 for key, (codes, _) in numbered.items()}
        if missing == MISSING[0]:
            for key, without in blank.items():
                self.refuse_blank(key, without, remedy)
        there = ~np.any(list(blank.values()), axis=0)
        by_key = {}
        for key, (codes, names) in numbered.items():
            used, places = np.unique(codes[there], return_inverse=True)
            classes = tuple(names[i] for i in used)
            self._check_classes(key, classes, int(there.sum()))
            among = np.full(self.n, -1, np.intp)
            among[there] = places
            by_key[key] = Label(among, classes)
        return replace(self, labels=by_key)

    def with_vectors(
        self, vectors: NDArray[np.floating[Any]], layers: Sequence[int] | None = None
    ) -> Labelled:
        """Return the same labels with other vectors, shape ``(L, n, d)``."""
        return replace(self, rows=vectors, layers=tuple(self.layers if layers is None else layers))

    def __len__(self) -> int:
        return self.n

    @property
    def label(self) -> Label:
        """The label, of several the first."""
        return next(iter(self.labels.values()))

    @property
    def there(self) -> Places:
        """Which rows have labels, shape ``(n,)``."""
        has_label: Places = self.label.codes >= 0
        return has_label

    @cached_property
    def vectors(self) -> NDArray[np.floating[Any]]:
        """All vectors in memory, shape ``(L, n, d)``."""
        if isinstance(self.rows, Rows):
            return self.rows.vectors()[None]
        if self.rows is None:
            raise TypeError(f"{self.name}: has no vectors yet")
        return self.rows

    def _numbered(self, what: str, given: Any) -> tuple[Integers, list[str]]:
        """Return the class of each row as a number, −1 where it is blank, and the classes."""
        cells = None if isinstance(given, Column) else np.asarray(given)
        if cells is not None and cells.ndim != 1:
            raise WordbiasError(
                f"{self.name}: expected one {what} for each {self.kind}, found shape {cells.shape}"
            )
        if cells is not None and cells.dtype.kind in "iub":
            values, codes = np.unique(cells, return_inverse=True)
        else:
            column = given if cells is None else Column.of(given)
            values, places = np.unique(np.array(column.values, np.str_), return_inverse=True)
            codes = np.where(blank_cells(column), -1, places.astype(np.intp)[column.codes])
        self._check_length(what, len(codes))
        return codes.astype(np.intp), [str(class_name) for class_name in values]

    # refusals

    def refuse_blank(self, what: str, blank: Places, remedy: str) -> None:
        """Refuse rows without a label or another value, which would be a class of their own."""
        if blank.any():
            place = int(blank.argmax())
            first = f"{self.kind} {place + 1:,}"
            first = first if self.lines is None else f"{self.unit} {self.lines[place]:,}"
            raise WordbiasError(
                f"{self.name}: {blank.sum():,} of {how_many(self.n, self.kind)} have no {what}, "
                f"the first is {first}; {remedy}"
            )

    def _check_length(self, what: str, length: int) -> None:
        if length != self.n:
            mapping = ", or a dictionary of words and labels" if self.kind == "word" else ""
            raise WordbiasError(
                f"{self.name}: {how_many(self.n, self.kind)}, but {how_many(length, 'value')} of "
                f"{what}; give one for each {self.kind}{mapping}"
            )

    def _check_classes(self, what: str, classes: Sequence[str], n: int) -> None:
        name, kind = self.name, self.kind
        if len(classes) < 2:
            only = f"all are {classes[0]!r:.40}" if classes else f"no {kind} has one"
            raise WordbiasError(f"{name}: {what} needs two classes at least; {only}")
        if len(classes) > n / 2:
            raise WordbiasError(
                f"{name}: {what} has {len(classes):,} classes in {how_many(n, kind)}, such as "
                f"{classes[0]!r:.40}: fewer than two {kind}s each; name another column, or give "
                f"more {kind}s"
            )

    # columns of options

    def several(self, option: str, given: Any) -> dict[str, Column]:
        """Return the values of an option by name: columns, files with one a line, or values."""
        text, columns = path_of(given), self.columns
        names = given if isinstance(given, list | tuple) else []
        if text is not None:
            whole = text in columns or Path(text).exists()
            names = [text] if whole else [part.strip() for part in text.split(",") if part.strip()]
            if not names:
                raise UsageError(f"{option}: expected a column or a file, got {text!r}")
        elif not all(isinstance(name, str) and name in columns for name in names):
            names = []
        if names:
            given = {name if name in columns else Path(name).stem: name for name in names}
        elif not isinstance(given, Mapping):
            own = getattr(given, "name", None)  # of a column of pandas
            named = isinstance(own, str) and own
            given = {named or option.strip("-").removesuffix("s"): given}
        return {str(name): self.column(option, source) for name, source in given.items()}

    def column(self, option: str, given: Any) -> Column:
        """Return a column, the lines of a file, or values, one for each row."""
        spec, what = path_of(given), option
        if spec is not None and spec in self.columns:
            return self.columns[spec]
        if spec is not None:
            what = fetched(spec)
            if not Path(what).exists():
                known = ", ".join(self.columns) or "none"
                raise WordbiasError(
                    f"{option} {spec!r}: neither a column of {self.name} (it has {known:.200}) "
                    "nor a file"
                )
            given = read_labels(what)
        one_each = isinstance(given, Iterable) and not isinstance(given, Mapping)
        if not isinstance(given, Column) and not (one_each and getattr(given, "ndim", 1) == 1):
            shape = f" of shape {given.shape}" if hasattr(given, "shape") else ""
            raise WordbiasError(
                f"{option}: expected a column's name, a file or a value for each {self.kind} of "
                f"{self.name}, got {type(given).__name__}{shape}"
            )
        column = given if isinstance(given, Column) else Column.of(given)
        self._check_length(what, len(column.codes))
        return column

    def none_named(self) -> str:
        """Say that no labels were given, and which columns could have them."""
        return (
            f"{self.name}: no labels given: name them with --labels COLUMN or --labels FILE (one "
            f"a line); its columns: {', '.join(self.columns) or 'none':.200}"
        )

    def units(self, given: Any) -> Column | None:
        """Return what each row belongs to, such as a person; refuse labelled rows without one."""
        if given is None:
            return None
        column = self.column("--unit", given)
        without = blank_cells(column) & self.there
        self.refuse_blank("group", without, "name it, or leave them out")
        return column

    def places(self, option: str, given: Any) -> Integers:
        """Return the places of rows by ``COLUMN=VALUE`` or a mask: some of them, not all."""
        spec = path_of(given)
        if spec is None:
            mask = np.asarray(list(given) if isinstance(given, Iterable) else given)
            if mask.dtype != bool or mask.shape != (self.n,):
                raise WordbiasError(
                    f"{option}: expected COLUMN=VALUE, or true or false for each of "
                    f"{how_many(self.n, self.kind)}; found {mask.dtype} of shape {mask.shape}"
                )
            return np.flatnonzero(mask)
        name, equals, value = spec.rpartition("=")
        if not (name and equals):
            raise UsageError(f"{option}: expected FILE-or-COLUMN=VALUE, found {spec!r}")
        column = self.column(option, name)
        if value not in column.values:
            known = ", ".join(column.values[:SHOWN])
            raise WordbiasError(f"{option}: no {name} is {value!r}; there are {known}")
        places = np.flatnonzero(column.codes == column.values.index(value))
        if len(places) == self.n:
            raise WordbiasError(f"{option}: every {name} is {value!r}; choose one that some have")
        return places

    # parts of the rows

    def split(
        self, share: float, seed: int, *, split_column: Any = None, units: Column | None = None
    ) -> NDArray[np.int8]:
        """Divide the rows into `TRAIN` and `TEST`; 0 is neither."""
        # Of each class, or combination of classes of several labels, the share is held out,
        # rounded, but one row at least is for training. Units are held out whole, drawn until they
        # are the share of all rows. A column names the parts itself.
        part, there = np.zeros(self.n, np.int8), self.there
        rng = np.random.default_rng(seed)
        if split_column is not None:
            column = self.column("--split-column", split_column)
            named_parts = parts_of("--split-column", column)
            for role, number in (("train", TRAIN), ("test", TEST)):
                if not (named_parts == number).any():
                    raise WordbiasError(f"--split-column: no row is {role}; name another column")
            part[there] = np.where(named_parts == DEV, 0, named_parts)[there]
        elif units is not None:
            _, unit, counts = np.unique(units.codes[there], return_inverse=True, return_counts=True)
            order = rng.permutation(len(counts))
            before = np.cumsum(counts[order]) - counts[order]
            held = order[before < share * len(unit)]
            part[there] = np.where(np.isin(unit, held), TEST, TRAIN)
        else:
            group = combined([label.codes[there] for label in self.labels.values()])
            counts = np.bincount(group)
            held = np.minimum(np.round(share * counts), counts - 1)
            part[there] = np.where(ranks(group, rng) < held[group], TEST, TRAIN)
        self._check_parts(part)
        return part

    def _check_parts(self, part: NDArray[np.int8]) -> None:
        if not (part == TEST).any():
            raise WordbiasError(
                f"{self.name}: {(part == TRAIN).sum():,} labelled rows leave none to hold out; "
                "give more rows, or a larger --held-out"
            )
        for name, label in self.labels.items():
            learned = np.flatnonzero(label.counts(part == TRAIN))
            if len(learned) < 2:
                content = f"only {label.classes[learned[0]]!r}" if len(learned) else "no rows"
                raise WordbiasError(
                    f"{self.name}: the training part has {content} of {name}; expected two classes "
                    "or more; name another --split-column"
                )

    def balanced(self, training: Places, tasks: Mapping[str, Column], seed: int) -> Places:
        """Draw training rows: in each class of the tasks equally many of each label's classes."""
        # What is read of the task then says nothing of the labels.
        named = ~np.any([blank_cells(column) for column in tasks.values()], axis=0)
        places = np.flatnonzero(training & named)
        task = combined([column.codes[places].astype(np.intp) for column in tasks.values()])
        label = combined([coded.codes[places] for coded in self.labels.values()])
        classes = label.max(initial=0) + 1
        cell = task * classes + label
        counts = np.bincount(cell, minlength=(task.max(initial=0) + 1) * classes)
        fewest = counts.reshape(-1, classes).min(1)
        chosen = np.zeros(self.n, bool)
        chosen[places[ranks(cell, np.random.default_rng(seed)) < fewest[task]]] = True
        if not chosen.any():
            raise WordbiasError(
                f"{self.name}: no class of {' and '.join(tasks)} has training rows of every class "
                f"of {' and '.join(self.labels)}: there are none to balance; leave out --balance, "
                "or name another --also"
            )
        return chosen

    def rare(self, part: NDArray[np.int8]) -> list[str]:
        """Return notes on the classes with few held-out rows, and on those without training."""
        notes = []
        for name, label in self.labels.items():
            names, counts = label.classes, label.counts(part == TEST)
            few = [f"{names[i]:.40} ({counts[i]})" for i in np.flatnonzero(counts < FEW)]
            if few:
                notes.append(
                    f"{name}: fewer than {FEW} held-out rows of {_listed(few)}: the figures say "
                    "little of these classes"
                )
            learned = label.counts(part == TRAIN)
            if lost := [names[i] for i in np.flatnonzero((learned == 0) & (counts > 0))]:
                notes.append(
                    f"{name}: the training part has no {', '.join(lost[:SHOWN])}, which nothing "
                    "was fitted on"
                )
        return notes

    def once(self) -> list[str]:
        """Return a note on the classes of one row, if there are any."""
        names = self.label.classes
        counts = self.label.counts(self.there)
        rare = [f"{names[i]:.40}" for i in np.flatnonzero(counts == 1)]
        if not rare:
            return []
        return [
            f"{self.name}: {len(rare)} of {len(names)} classes occur only once ({_listed(rare)}); "
            "a probe cannot be both trained and tested on them"
        ]

    # moments

    def blocks(self) -> Iterator[tuple[int, NDArray[np.floating[Any]]]]:
        """Yield the rows in order, with the number of the first; in memory they are one block."""
        if isinstance(self.rows, Rows):
            for block in self.rows.blocks():
                yield block.start, block.vectors
            return
        (vectors,) = self.vectors
        yield 0, vectors

    def take(self, places: Integers) -> NDArray[np.floating[Any]]:
        """Return rows by number."""
        if isinstance(self.rows, Rows):
            return self.rows.take(places)
        (vectors,) = self.vectors
        taken: NDArray[np.floating[Any]] = vectors[places]
        return taken

    def moments(self, *, unit: bool = False, among: Places | None = None) -> list[Moments]:
        """Return the moments of the rows, or some `among` them, by each label, of one pass."""
        chosen = self.there if among is None else among
        ((_, moments),) = self.moments_of_folds(Folds.of(self.n, 0, None), chosen, unit=unit)
        return moments

    def moments_of_folds(
        self, folds: Folds, among: Places, *, unit: bool = False
    ) -> list[tuple[int, list[Moments]]]:
        """Return the number of each fold of some rows and their moments by each label."""
        totals: dict[int, list[Moments]] = {}
        with progress(Path(self.name).name, self.n, self.kind) as bar:
            for start, vectors in self.blocks():
                inside = among[start : start + len(vectors)]
                x, at = vectors[inside], start + np.flatnonzero(inside)
                numbers = folds.enter(x, at)
                for number in np.unique(numbers).tolist():
                    chosen = numbers == number if folds.k else slice(None)
                    moments = [
                        Moments.of_codes(
                            x[chosen], label.codes[at[chosen]], label.classes, unit=unit
                        )
                        for label in self.labels.values()
                    ]
                    old = totals.get(number)
                    totals[number] = moments if old is None else list(map(add, old, moments))
                bar.update(len(inside))
        return sorted(totals.items())

    # scaling

    def sizes(self) -> list[float]:
        """Return the root of the mean square of each layer's vectors; 1 where all are zero."""
        return [
            math.sqrt(np.einsum("nd,nd->", layer, layer, dtype=np.float64) / layer.size) or 1.0
            for layer in self.vectors
        ]

    def deviations(self) -> list[float]:
        """Return the root mean square deviation of each layer's vectors from their mean."""
        pairs = zip(self.sizes(), self.vectors.mean(1, dtype=np.float64), strict=True)
        return [
            math.sqrt(max(size**2 - float(np.mean(centre**2)), (_ROUNDING * size) ** 2))
            for size, centre in pairs
        ]

    def scaled(self, sizes: Sequence[float], centres: ArrayLike | None = None) -> Labelled:
        """Return the rows, less `centres` (L, d), with each layer divided by its size."""
        # The learning rate of a probe suits vectors of one size, and those of a decoder grow from
        # layer to layer.
        vectors = np.empty(self.vectors.shape, np.float32)
        shifts = np.zeros((len(vectors), 1)) if centres is None else np.asarray(centres)
        for layer, given, size, shift in zip(vectors, self.vectors, sizes, shifts, strict=True):
            np.subtract(given, shift.astype(np.float32), out=layer, casting="same_kind")
            layer /= np.float32(size)
        return self.with_vectors(vectors)

    def spread(self) -> tuple[list[float], NDArray[np.float64]]:
        """Return the root mean square deviation of each layer, and the means that it is from."""
        # Where vectors deviate by rounding alone it is their size, which keeps rounding small.
        centres = self.vectors.mean(1, dtype=np.float64)
        spreads = self.scaled([1.0] * len(centres), centres).sizes()
        pairs = zip(spreads, self.sizes(), strict=True)
        return [spread if spread > _ROUNDING * size else size for spread, size in pairs], centres


# columns of options


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


def _layers(vectors: ArrayLike, name: str) -> NDArray[np.floating[Any]]:
    """Return vectors of shape ``(L, n, d)``."""
    x = np.asarray(vectors)
    if x.dtype.kind in "iub":
        x = x.astype(np.float32)
    if x.dtype.kind != "f" or x.ndim not in (2, 3) or not x.shape[-1]:
        raise WordbiasError(
            f"{name}: expected numbers of shape (rows, dimensions) or (layers, rows, dimensions), "
            f"found {x.dtype} of shape {x.shape}"
        )
    return np.ascontiguousarray(x[None] if x.ndim == 2 else x)


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:SHOWN])}{' …' * (len(names) > SHOWN)}"
