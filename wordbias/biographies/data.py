"""Biographies: texts about people with an occupation and a gender; reading and splitting them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.biographies.pickles import is_pickle, read_pickle
from wordbias.calls import path_of
from wordbias.columns import BadRows, Table, TableLike, choose_column, open_table
from wordbias.errors import WordbiasError, listed
from wordbias.formats.tables import Line

Codes = NDArray[np.intp]
FEMALE, MALE = "F", "M"
GROUPS = (FEMALE, MALE)
TRAIN, DEV, TEST = "train", "dev", "test"
RAW, START = "raw", "start_pos"


@dataclass(frozen=True, eq=False)
class Biographies:
    """Biographies of `n` people."""

    path: str
    texts: tuple[str, ...] = field(repr=False)
    labels: Codes = field(repr=False)  # occupations, as indices of `classes`, shape `(n,)`
    classes: tuple[str, ...]  # names of the occupations, sorted; some may have no text
    genders: Codes = field(repr=False)  # indices of `groups`, shape `(n,)`
    groups: tuple[str, str] = GROUPS  # genders in the order of differences: female minus male
    # name of each person, its parts separated by spaces, or None if the file has none
    names: tuple[str, ...] | None = field(default=None, repr=False)
    # `train`, `dev` or `test` for each person, or None if the file has no splits
    splits: tuple[str, ...] | None = field(default=None, repr=False)
    # number of records that were left out because they cannot be used, and the first reason
    dropped: int = 0
    problem: str = ""

    def __post_init__(self) -> None:
        n = len(self.texts)
        columns: dict[str, Sequence[object] | Codes | None] = {
            "labels": self.labels,
            "genders": self.genders,
            "names": self.names,
            "splits": self.splits,
        }
        for name, values in columns.items():
            if values is not None and len(values) != n:
                raise WordbiasError(f"{self.path}: {n} texts, but {len(values)} {name}")

    @classmethod
    def of(
        cls,
        path: str,
        texts: Iterable[str],
        labels: Iterable[str],
        genders: Iterable[str],
        *,
        names: Iterable[str] | None = None,
        splits: Iterable[str] | None = None,
    ) -> Biographies:
        """Make biographies from columns; genders are `FEMALE` or `MALE`."""
        occupations = list(labels)
        classes = tuple(sorted(set(occupations)))
        places = {name: i for i, name in enumerate(classes)}
        return cls(
            path,
            tuple(texts),
            np.array([places[name] for name in occupations], np.intp),
            classes,
            np.array([GROUPS.index(gender) for gender in genders], np.intp),
            names=None if names is None else tuple(names),
            splits=None if splits is None else tuple(splits),
        )

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def sha256(self) -> str:
        """Hash of all that is known about every person, in order; not of the file's bytes."""
        digest = hashlib.sha256(json.dumps([self.classes, self.groups]).encode())
        for i, text in enumerate(self.texts):
            known = [text, int(self.labels[i]), int(self.genders[i])]
            known += [None if cells is None else cells[i] for cells in (self.names, self.splits)]
            digest.update(json.dumps(known).encode() + b"\n")
        return digest.hexdigest()

    def take(self, rows: ArrayLike) -> Biographies:
        """Return the people of indices (m,) or of a mask (n,), repeated if `rows` repeats."""
        given = np.asarray(rows)
        places = np.flatnonzero(given) if given.dtype == bool else given.astype(np.intp)
        return replace(
            self,
            texts=tuple(self.texts[i] for i in places),
            labels=self.labels[places],
            genders=self.genders[places],
            names=None if self.names is None else tuple(self.names[i] for i in places),
            splits=None if self.splits is None else tuple(self.splits[i] for i in places),
        )

    def with_texts(self, texts: Iterable[str]) -> Biographies:
        """Return the same people with other texts."""
        return replace(self, texts=tuple(texts))

    def counts(self) -> Codes:
        """Return the number of people of each class and group, shape ``(classes, 2)``."""
        shape = (len(self.classes), len(self.groups))
        cells = np.ravel_multi_index((self.labels, self.genders), shape)
        return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(np.intp)

    def shares(self) -> NDArray[np.float64]:
        """Return the share of women in each class, shape ``(classes,)``; nan if it is empty."""
        counts = self.counts()
        total = counts.sum(axis=1)
        shares: NDArray[np.float64] = np.divide(
            counts[:, 0], total, out=np.full(len(total), np.nan), where=total > 0
        )
        return shares

    def label_names(self) -> list[str]:
        """Return the occupation of each person."""
        return [self.classes[i] for i in self.labels]

    def gender_names(self) -> list[str]:
        """Return the group of each person."""
        return [self.groups[i] for i in self.genders]


def sample(bios: Biographies, count: int, seed: int = 0) -> Biographies:
    """Return so many biographies, drawn at random, in their order; all if there are fewer."""
    rng = np.random.default_rng(seed)
    return bios.take(np.sort(rng.permutation(len(bios))[:count]))


# reading files and frames


_USUAL: Mapping[str, Sequence[str]] = {
    "text": (RAW, "hard_text", "text", "bio"),
    "label": ("profession", "title", "label", "p"),
    "gender": ("gender", "g"),
    "split": ("split",),
    "name": ("name", "names"),
}
_OPTIONS = {"text": "text-column", "label": "labels", "gender": "sensitive"}
"""Options of ``wordbias bios`` that name the columns without which nothing is read."""


def load_biographies(
    source: TableLike,
    *,
    text: str | None = None,
    label: str | None = None,
    gender: str | None = None,
    split: str | None = None,
    name: str | None = None,
    female: str | None = None,
    skip_bad: bool = False,
) -> Biographies:
    """Read biographies from a table, a pickle of De-Arteaga et al. (2019), or a frame of pandas."""
    # If there are both columns, texts are `raw` from `start_pos` on: a biography without its first
    # sentence, which says the occupation.
    named = {"text": text, "label": label, "gender": gender, "split": split, "name": name}
    table = _opened(source)
    columns: dict[str, str] = {}
    people: list[Person] = []
    bad = BadRows(table.name, skip_bad)
    for line in table.lines:
        try:
            if line.problem:
                raise BadPersonError(line.problem)
            columns = columns or _columns(table.name, line.cells, named)
            cells: Mapping[str, Any] = line.cells
            if line.nulls and table.unit == "row":
                cells = {name: cell for name, cell in cells.items() if name not in line.nulls}
            people.append(read_person(cells, columns, female))
        except BadPersonError as error:
            bad.add(f"{table.unit} {line.number}", str(error))
    if not people:
        raise WordbiasError(f"{table.name}: holds no biographies{bad.among()}")
    bios = _collected(table.name, people, columns, female)
    return replace(bios, dropped=bad.count, problem=bad.first)


def _opened(source: TableLike) -> Table:
    """Open a pickle or another table."""
    path = path_of(source)
    if path is not None and is_pickle(Path(path)):
        return Table(str(Path(path)), _pickled(Path(path)), "", "record")
    table = open_table(source, "the frame given")
    if table.plain:
        raise WordbiasError(
            f"{table.name}: expected .tsv, .csv or .jsonl, compressed or not, .parquet, or a "
            "pickle (.pkl) of biographies; rename it if it is one"
        )
    return table


def _pickled(file: Path) -> Iterator[Line]:
    for number, cells in enumerate(read_pickle(file), 1):
        if isinstance(cells, dict):
            yield Line(number, cells)
        else:
            yield Line(number, {}, f"expected a dict, found {type(cells).__name__}")


def _columns(
    file: str, cells: Mapping[str, Any], named: Mapping[str, str | None]
) -> dict[str, str]:
    """Return the columns of text, label, gender, split and name, found in the first record."""
    known = [name for name in cells if isinstance(name, str) and name.isprintable()]
    columns: dict[str, str] = {}
    for what, usual in _USUAL.items():
        order = (*usual[1:], RAW) if what == "text" and START not in known else usual
        if named[what] or what in _OPTIONS or not set(order).isdisjoint(known):
            columns[what] = choose_column(
                file, known, named[what], order, only=False,
                what=f"the {what} ({' or '.join(order)})",
                option=f"--{_OPTIONS.get(what, what + '-column')}",
            )  # fmt: skip
    return columns


def _collected(
    file: str, people: Sequence[Person], columns: Mapping[str, str], female: str | None
) -> Biographies:
    texts, labels, genders, splits, names = zip(*people, strict=True)
    if female is not None:
        genders = _two_genders(file, genders, columns["gender"], female)
    for what, values in (("occupation", labels), ("gender", genders)):
        if len(set(values)) < 2:
            raise WordbiasError(
                f"{file}: every biography has the same {what}, {values[0]!r}; expected two or more"
            )
    return Biographies.of(
        file,
        texts,
        labels,
        genders,
        names=names if any(names) else None,
        splits=splits if "split" in columns else None,
    )


def _two_genders(file: str, genders: Sequence[str], column: str, female: str) -> tuple[str, ...]:
    others = sorted(set(genders) - {female})
    if female not in genders:
        raise WordbiasError(
            f"{file}: column {column!r}: nobody has {female!r}, which is to mean female; found "
            f"{listed(others)}"
        )
    if len(others) > 1:
        raise WordbiasError(
            f"{file}: column {column!r}: expected {female!r} and one other value, found "
            f"{listed(others)}"
        )
    return tuple(FEMALE if gender == female else MALE for gender in genders)


_LARGE = 10**18
_GENDERS = {
    **dict.fromkeys(("f", "female", "w", "woman"), FEMALE),
    **dict.fromkeys(("m", "male", "man"), MALE),
}
_SPLITS = {
    **dict.fromkeys(("train", "training"), TRAIN),
    **dict.fromkeys(("dev", "development", "val", "valid", "validate", "validation"), DEV),
    **dict.fromkeys(("test", "testing"), TEST),
}


class Person(NamedTuple):
    """A record of one person; the split and the name are empty if the file has none."""

    text: str
    label: str
    gender: str
    split: str
    name: str


class BadPersonError(Exception):
    """Record that cannot be used."""


def read_person(cells: Mapping[str, Any], columns: Mapping[str, str], female: str | None) -> Person:
    """Read one record; if `female` is given, values of gender are kept as they are."""
    text = _text(cells, columns["text"])
    label = _cell(cells, columns["label"])
    gender = _gender(_cell(cells, columns["gender"]), columns["gender"], female)
    split = _split(_cell(cells, columns["split"])) if "split" in columns else ""
    name = _name(cells.get(columns["name"])) if "name" in columns else ""
    return Person(text, label, gender, split, name)


def _text(cells: Mapping[str, Any], column: str) -> str:
    text = _cell(cells, column)
    if column != RAW or START not in cells:
        return text
    start = _cell(cells, START)
    whole = str(cells[RAW])
    if not (start.isdecimal() and len(start) < len(str(_LARGE)) and int(start) <= len(whole)):
        raise BadPersonError(
            f"{START!r}: expected a place in its text of {len(whole)} characters, found "
            f"{start[:40]!r}"
        )
    rest = whole[int(start) :].strip()
    if not rest:
        raise BadPersonError(f"has no text from {START!r}, {start}, on")
    return rest


def _cell(cells: Mapping[str, Any], column: str) -> str:
    """Return a cell as text; refuse one that is empty, or null in jsonl."""
    value = cells.get(column)
    if _is_whole(value):
        return str(value)
    if value is not None and not isinstance(value, str):
        raise BadPersonError(f"{column!r}: expected text, found {type(value).__name__}")
    text = (value or "").strip()
    if text in ("", "null"):
        raise BadPersonError(f"has no {column!r}")
    return text


def _is_whole(value: Any) -> bool:
    """Return whether a value is a number that can be a code for a label, of at most 18 digits."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGE


def _gender(value: str, column: str, female: str | None) -> str:
    if female is not None:
        return value  # checked when all are read
    known = _GENDERS.get(value.lower())
    if known is None:
        raise BadPersonError(
            f"{column!r}: expected F or M (female, male, woman, man), found {value[:40]!r}; say "
            "which value means female with --female"
        )
    return known


def _split(value: str) -> str:
    known = _SPLITS.get(value.lower())
    if known is None:
        raise BadPersonError(f"the split: expected train, dev or test, found {value[:40]!r}")
    return known


def _name(value: Any) -> str:
    """Return a name; its parts, such as first and last name, may be given separately."""
    parts = value if isinstance(value, (tuple, list)) else [value]
    return " ".join(part.strip() for part in parts if isinstance(part, str) and part.strip())


# training, development and test part


TEST_SHARE, DEV_SHARE = 0.25, 0.133
"""Shares of all biographies, and of those that are not for testing (Orgad et al. 2022)."""


class Parts(NamedTuple):
    """A split of biographies."""

    train: Biographies
    dev: Biographies
    test: Biographies


def split(bios: Biographies, seed: int) -> Parts:
    """Split as given, else at random by class: a quarter for test, of the rest 13.3 % for dev."""
    # As published, by scikit-learn's `train_test_split`.
    if bios.splits is None:
        rest, test = _drawn(bios, TEST_SHARE, seed)
        return Parts(*_drawn(rest, DEV_SHARE, seed), test)
    kinds = np.array(bios.splits)
    train, dev, test = (bios.take(kinds == kind) for kind in (TRAIN, DEV, TEST))
    for kind, part in ((TRAIN, train), (TEST, test)):
        if not len(part):
            raise WordbiasError(
                f"{bios.path}: of {len(bios):,} biographies none is for {kind}: the column of "
                f"splits says {listed(sorted(set(bios.splits)))}; give more, name train and test "
                "there, or leave the column out"
            )
    return Parts(train, dev, test) if len(dev) else Parts(*_drawn(train, DEV_SHARE, seed), test)


def _drawn(bios: Biographies, share: float, seed: int) -> tuple[Biographies, Biographies]:
    """Return the rest and a random share, each in the order of the file."""
    from sklearn.model_selection import train_test_split

    try:
        rest, drawn = train_test_split(
            np.arange(len(bios)), test_size=share, stratify=bios.labels, random_state=seed
        )
    except ValueError:
        sizes = bios.counts().sum(axis=1)
        least = int(np.where(sizes > 0, sizes, len(bios) + 1).argmin())
        raise WordbiasError(
            f"{bios.path}: {100 * share:g} % cannot be drawn of {len(bios):,} biographies of "
            f"{int((sizes > 0).sum())} classes: {bios.classes[least]} has {sizes[least]}, and each "
            "class must be in both parts; give more, or leave rare classes out"
        ) from None
    return bios.take(np.sort(rest)), bios.take(np.sort(drawn))
