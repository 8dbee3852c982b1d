"""Moments of labelled rows: counts, means and centred second moments, which add up over shards.

Four of the methods for rows need no more of them, see `wordbias.methods.rows`: they are fitted in
one pass over rows of any number, on any machines, whose moments are added. Second moments are
centred before they are added (Chan, Golub and LeVeque 1983), which keeps the digits that sums of
squares lose if the mean is far from zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.arrays import frozen, normalise, rounding
from wordbias.batches import column_of, open_batch
from wordbias.calls import python_messages
from wordbias.devices import blas_threads, ordered_map
from wordbias.errors import WordbiasError, on_a_line
from wordbias.formats.tables import cell_of
from wordbias.rendering import how_many

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
_NUMBERS = 1 << 20
"""Numbers that are float64 at one time, in each thread."""
_APART = 2
"""Number of classes up to which second moments are kept apart: only pairs are compared by them."""
_OF_MEAN, _OF_ALL = 1e-10, 1e-14
"""Standard deviation of a constant coordinate, in units of its mean and of all coordinates."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Counts, means and centred second moments of rows, by the class of each row.

    The moments of two shards add up to those of both, ``a + b``, and ``sum`` adds many; classes
    that only one of them has are kept. They can be pickled. ``fit`` of `LEACE`, `MISP`, `MHD` and
    `Hard` takes them in place of rows; `INLP` needs the rows.

    Parameters
    ----------
    classes : tuple of str
        Names of the classes, sorted.
    counts : array of shape (K,)
        Number of rows of each class.
    means : array of shape (K, d)
        Mean row of each class.
    within : array of shape (K, d, d) or (d, d)
        Sum over the rows of a class of ``(x − mean)(x − mean)ᵀ``: of each of two classes, which
        `MISP` compares, and of all together if there are more.
    unit : bool
        The rows were brought to length one, as `Hard` does.
    noise : float
        Bound of the rounding error of a row.

    Raises
    ------
    WordbiasError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import wordbias as wb
    >>> x = np.random.default_rng(0).normal(size=(100, 3))
    >>> y = np.where(x[:, 0] > 0, "f", "m")
    >>> moments = wb.Moments.of(x[:60], y[:60]) + wb.Moments.of(x[60:], y[60:])
    >>> moments
    <Moments: 100 rows × 3, 2 classes>
    >>> bool(np.allclose(wb.LEACE().fit(moments).transform(x), wb.LEACE().fit(x, y).transform(x)))
    True
    """

    classes: tuple[str, ...]
    counts: Any
    means: Any = field(repr=False)
    within: Any = field(repr=False)
    unit: bool = False
    noise: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(self.classes))
        for name in ("counts", "means", "within"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        k, d = len(self.classes), self.means.shape[-1] if self.means.ndim else 0
        square = (k, d, d) if k <= _APART else (d, d)
        shapes = (self.counts.shape, self.means.shape, self.within.shape)
        if not k or not d or shapes != ((k,), (k, d), square):
            raise WordbiasError(
                f"moments of {how_many(k, 'class', 'classes')}: expected counts, means and second "
                f"moments of shapes ({k},), ({k}, d) and {'(K, d, d)' if k <= _APART else '(d, d)'}"
                f", got {shapes[0]}, {shapes[1]} and {shapes[2]}"
            )

    @classmethod
    def of(cls, x: ArrayLike, labels: ArrayLike, *, unit: bool = False) -> Moments:
        """Return the moments of rows, such as those of one shard.

        Parameters
        ----------
        x
            Rows, shape ``(n, d)``, any float type; they are read in blocks.
        labels
            Label of each row, shape ``(n,)``: texts, whole numbers or booleans.
        unit
            Bring rows to length one first, for `Hard`.

        Raises
        ------
        WordbiasError
            If shapes do not fit, a number is not finite, or a label is missing.
        """
        with python_messages("unit"):
            rows, given = np.asarray(x), np.asarray(labels, object)
            if rows.ndim != 2 or not rows.size or rows.dtype.kind not in "fiu":
                raise WordbiasError(
                    f"expected rows of numbers, shape (n, d), got {rows.dtype} of shape "
                    f"{rows.shape}"
                )
            if given.shape != (len(rows),):
                raise WordbiasError(
                    f"{len(rows):,} rows, but labels of shape {given.shape}; give one label for "
                    "each row"
                )
            cells = np.array([cell_of(label) or "" for label in given])
            missing = np.flatnonzero(cells == "")
            if len(missing):
                raise WordbiasError(
                    f"labels: {len(missing):,} of {len(cells):,} are missing, the first that of "
                    f"row {missing[0] + 1}; leave those rows out"
                )
            classes, codes = np.unique(cells, return_inverse=True)
            return cls.of_codes(rows, codes, classes.tolist(), unit=unit)

    @classmethod
    def of_batch(
        cls, batch: Any, labels: str, array: str | None = None, *, unit: bool = False
    ) -> Moments:
        """Return the moments of a batch of an engine, such as Ray, Spark, Dask or datasets.

        Parameters
        ----------
        batch
            A pyarrow Table or RecordBatch, a pandas DataFrame, or a mapping of columns.
        labels
            Name of the column with the label of each row.
        array
            Name of the vectors' column, or of the first of a run of columns that count up; by
            default the only one there is.
        unit
            Bring rows to length one first, for `Hard`.

        Raises
        ------
        WordbiasError
            If a column is not there, or see `of`.

        Examples
        --------
        >>> import wordbias as wb
        >>> batch = {"vector": [[1.0, 3.0], [2.0, 3.0], [5.0, 1.0]], "gender": ["f", "f", "m"]}
        >>> wb.Moments.of_batch(batch, "gender")
        <Moments: 3 rows × 2, 2 classes>
        """
        with python_messages("unit"):
            x, _ = open_batch(batch, array)
            return cls.of(x, column_of(batch, labels), unit=unit)

    @classmethod
    def of_codes(
        cls,
        x: NDArray[Any],
        codes: Integers,
        classes: Sequence[str],
        *,
        unit: bool = False,
        start: int = 0,
    ) -> Moments:
        """Return the moments of rows whose labels are numbers of classes.

        The result does not depend on the number of threads.

        Parameters
        ----------
        x, codes
            Rows and the numbers of their classes, shapes ``(n, d)`` and ``(n,)``, n ≥ 1.
        classes
            Names of the classes, sorted.
        unit
            Bring rows to length one first.
        start
            Number of the first row, for messages.
        """
        step = max(1, _NUMBERS // x.shape[1])

        def work(first: int) -> Moments:
            part = slice(first, first + step)
            return _of_block(x[part], codes[part], classes, unit, start + first)

        with blas_threads(1):
            return reduce(add, ordered_map(work, range(0, len(x), step)))

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def dim(self) -> int:
        """Dimensions of a row."""
        return int(self.means.shape[1])

    @property
    def mean(self) -> Floats:
        """Mean of all rows, shape ``(d,)``."""
        mean: Floats = self.counts @ self.means / self.n
        return mean

    def covariance(self) -> Floats:
        """Return the covariance of all rows, shape ``(d, d)``."""
        apart = self.means - self.mean
        within = self.within.sum(0) if self.within.ndim == 3 else self.within
        covariance: Floats = (within + (apart * self.counts[:, None]).T @ apart) / self.n
        return covariance

    def __repr__(self) -> str:
        classes = how_many(len(self.classes), "class", "classes")
        unit = " of length one" if self.unit else ""
        return on_a_line(f"<Moments: {how_many(self.n, 'row')}{unit} × {self.dim}, {classes}>")

    def __radd__(self, other: object) -> Moments:
        return self + other

    def __add__(self, other: object) -> Moments:
        if isinstance(other, int) and other == 0:  # where sum() begins
            return self
        if not isinstance(other, Moments):
            return NotImplemented
        if (self.dim, self.unit) != (other.dim, other.unit):
            raise WordbiasError(
                f"{self!r} and {other!r} do not add up: both need rows of the same dimensions, "
                "and of length one or not"
            )
        classes = tuple(sorted({*self.classes, *other.classes}))
        (a, a_means, a_within), (b, b_means, b_within) = (
            _among(classes, moments) for moments in (self, other)
        )
        apart, counts = b_means - a_means, a + b
        means = a_means + apart * (b / counts)[:, None]
        shift = (a * b / counts)[:, None] * apart
        between = shift.T @ apart if a_within.ndim == 2 else shift[:, :, None] * apart[:, None]
        within = a_within + b_within + between
        return Moments(classes, counts, means, within, self.unit, max(self.noise, other.noise))


def mapped(moments: Moments, step: Any) -> Moments:
    """Return the moments of the rows after an affine map of them."""
    offset = step(np.zeros((1, moments.dim)))
    linear = step(np.eye(moments.dim)) - offset  # row i is the image of unit vector i
    within = linear.T @ moments.within @ linear
    return replace(moments, means=step(moments.means), within=within)


def numbered(codes: Integers) -> list[str]:
    """Return names of classes that are sorted as their numbers are."""
    return [f"{number:09d}" for number in range(int(codes.max()) + 1)]


def constant_coordinates(moments: Moments) -> NDArray[np.bool_]:
    """Return which coordinates do not vary, but for rounding, shape ``(d,)``."""
    # A probe that scales coordinates to one spread would read a label off 1e-19 of it: no method
    # may bring it there from others.
    variance = np.diag(moments.covariance())
    finest = np.maximum(_OF_MEAN * np.abs(moments.mean), _OF_ALL * np.sqrt(variance.mean()))
    constant: NDArray[np.bool_] = variance <= finest**2
    return constant


def _among(classes: tuple[str, ...], moments: Moments) -> tuple[Floats, Floats, Floats]:
    """Return counts, means and second moments in the places of more classes, zero where absent."""
    if classes == moments.classes:
        return moments.counts, moments.means, moments.within
    places = np.searchsorted(classes, moments.classes)
    counts, means = np.zeros(len(classes)), np.zeros((len(classes), moments.dim))
    counts[places], means[places] = moments.counts, moments.means
    if len(classes) > _APART:
        return counts, means, moments.within.sum(0) if moments.within.ndim == 3 else moments.within
    within = np.zeros((len(classes), moments.dim, moments.dim))
    within[places] = moments.within
    return counts, means, within


def _of_block(
    x: NDArray[Any], codes: Integers, classes: Sequence[str], unit: bool, start: int
) -> Moments:
    """Return the moments of a few rows, centred before they are multiplied."""
    present, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    rows = x[np.argsort(places, kind="stable")].astype(np.float64, copy=False)
    if not np.isfinite(rows).all():
        bad = start + int(np.argwhere(~np.isfinite(x))[0, 0])
        raise WordbiasError(
            f"row {bad + 1} holds a value that is not finite; leave it out or mend it"
        )
    noise = rounding(x)
    if unit:
        rows = normalise(rows)
        noise = rounding(np.ones((1, 1), x.dtype)) * x.shape[1]
    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    means = np.zeros((len(present), rows.shape[1]))
    for _ in range(2):  # once more for what rounding left
        rest = np.add.reduceat(rows, firsts, axis=0) / counts[:, None]
        means += rest
        rows = rows - np.repeat(rest, counts, axis=0)
    if len(present) > _APART:
        within = rows.T @ rows
    else:
        parts = np.split(rows, firsts[1:])
        within = np.stack([part.T @ part for part in parts])
    return Moments(tuple(classes[i] for i in present), counts, means, within, unit, noise)
