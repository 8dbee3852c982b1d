"""Biographies: texts about people, each of an occupation and a gender."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError

Codes = NDArray[np.intp]
FEMALE, MALE = "F", "M"
GROUPS = (FEMALE, MALE)
TRAIN, DEV, TEST = "train", "dev", "test"


@dataclass(frozen=True, eq=False)
class Biographies:
    """Texts about `n` people.

    Attributes
    ----------
    path
        Where they are from, as outputs say it.
    texts
        One for each person.
    labels
        Occupations, as places in `classes`, shape ``(n,)``.
    classes
        Sorted; some may have no text.
    genders
        Places in `groups`, shape ``(n,)``.
    groups
        In the order of differences: female minus male.
    names
        Of each person, its parts separated by spaces, or None where the file has none.
    splits
        ``train``, ``dev`` or ``test`` for each, or None where the file does not say.
    dropped, problem
        How many records of the file cannot be used and were left out, and the first reason.
    """

    path: str
    texts: tuple[str, ...] = field(repr=False)
    labels: Codes = field(repr=False)
    classes: tuple[str, ...]
    genders: Codes = field(repr=False)
    groups: tuple[str, str] = GROUPS
    names: tuple[str, ...] | None = field(default=None, repr=False)
    splits: tuple[str, ...] | None = field(default=None, repr=False)
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
        """Make biographies of columns; genders are `FEMALE` or `MALE`."""
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
        """Hash of everything that is known of every person, in order; not of the file's bytes."""
        digest = hashlib.sha256(json.dumps([self.classes, self.groups]).encode())
        for i, text in enumerate(self.texts):
            known = [text, int(self.labels[i]), int(self.genders[i])]
            known += [None if cells is None else cells[i] for cells in (self.names, self.splits)]
            digest.update(json.dumps(known).encode() + b"\n")
        return digest.hexdigest()

    def take(self, rows: ArrayLike) -> Biographies:
        """Return these people, in this order, repeated where `rows` repeats; classes stay.

        Parameters
        ----------
        rows
            Places, shape ``(m,)``, or a mask of shape ``(n,)``.
        """
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
        """Return how many there are of each class and group, shape ``(classes, 2)``."""
        shape = (len(self.classes), len(self.groups))
        cells = np.ravel_multi_index((self.labels, self.genders), shape)
        return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(np.intp)

    def shares(self) -> NDArray[np.float64]:
        """Return the share of women in each class, shape ``(classes,)``; nan where it is empty."""
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
