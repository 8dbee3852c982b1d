"""Fits of five methods to labelled rows: LEACE, MISP, MHD and Hard by their moments, INLP by rows.

Several labels, such as gender and race, are erased together. LEACE makes the means equal of the
classes of each. Hard removes the span of the differences between the means of each. MISP, MHD and
INLP are fitted to one after the other, in the order given, each to what the one before left; one
of which nothing is left is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.calls import plain
from wordbias.errors import WordbiasError
from wordbias.methods import inlp, misp
from wordbias.methods.fitted import Fitted
from wordbias.methods.leace import erase
from wordbias.methods.transform import Normalise, Projection, Step
from wordbias.moments import Moments, constant_coordinates
from wordbias.subspace import Subspace, principal

ROW_METHODS = ("leace", "inlp", "misp", "mhd", "hard")
HELD_OUT = 0.3
"""Share of each class of rows whose accuracy ends the rounds of INLP."""
_SILENT = 1e-8
Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


def fit_moments(
    name: str, moments: Moments | Sequence[Moments], settings: Mapping[str, Any] | None = None
) -> Fitted:
    """Fit a method to the moments of rows.

    Parameters
    ----------
    name
        ``leace``, ``misp``, ``mhd`` or ``hard``.
    moments
        Moments of the rows by their labels; several of the same rows by several labels.
    settings
        Settings of the method, as its function ``fit`` has them; others are ignored.

    Raises
    ------
    WordbiasError
        If the method needs the rows, the moments are of other rows or of one class, or nothing
        differs.
    """
    listed = [moments] if isinstance(moments, Moments) else list(moments)
    given = dict(settings or {})
    _check(name, listed)
    steps: tuple[Step, ...]
    if name == "leace":
        steps = (erase(listed, given.get("method", "leace"), given.get("shrinkage", True)),)
    elif name == "hard":
        steps = (means_removed(listed, given.get("direction", "means")), Normalise())
    else:
        steps = _projections(name, listed, given)
    return Fitted(name, steps, settings={key: plain(value) for key, value in given.items()})


def fit_rows(
    name: str,
    x: NDArray[np.floating[Any]],
    labels: Integers | Sequence[Integers],
    settings: Mapping[str, Any] | None = None,
) -> Fitted:
    """Fit a method to rows and their classes.

    Parameters
    ----------
    name
        One of `ROW_METHODS`.
    x
        Rows, shape ``(n, d)``.
    labels
        Class of each row, 0 to K − 1, shape ``(n,)``; several for several labels.
    settings
        See `fit_moments`.

    Raises
    ------
    WordbiasError
        See `fit_moments`; for INLP also if fewer than two classes have two rows.
    """
    listed = [labels] if isinstance(labels, np.ndarray) else list(labels)
    given = dict(settings or {})
    if name == "inlp":
        steps, warnings = _rounds(x, listed, given)
        kept = {key: plain(value) for key, value in given.items()}
        return Fitted(name, steps, settings=kept, warnings=warnings)
    unit = name == "hard"
    return fit_moments(
        name, [Moments.of_codes(x, codes, numbered(codes), unit=unit) for codes in listed], given
    )


def numbered(codes: Integers) -> list[str]:
    """Return names of classes that are sorted as their numbers are."""
    return [f"{number:09d}" for number in range(int(codes.max()) + 1)]


def _check(name: str, moments: Sequence[Moments]) -> None:
    if name not in ROW_METHODS:
        raise WordbiasError(f"method {name!r}: expected one of {', '.join(ROW_METHODS)}")
    if name == "inlp":
        raise WordbiasError(
            "inlp: moments are not enough, its rounds read the rows again and again; give the "
            "rows, or a sample of them"
        )
    for one in moments:
        if len(one.classes) < 2:
            raise WordbiasError(
                f"{name}: {one.n:,} vectors are of one class, {one.classes[0]!r:.40}: expected two "
                "classes or more"
            )
        if one.unit != (name == "hard"):
            how = "with" if name == "hard" else "without"
            raise WordbiasError(f"{name}: needs moments that were made {how} unit=True")
        if (one.n, one.dim) != (moments[0].n, moments[0].dim):
            raise WordbiasError(
                f"{name}: the moments by several labels must be of the same rows, got {one!r} "
                f"beside {moments[0]!r}"
            )


# MISP, MHD and Hard


def _projections(
    name: str, moments: Sequence[Moments], settings: Mapping[str, Any]
) -> tuple[Step, ...]:
    """Fit a projection to each label, after those before it."""
    steps: list[Projection] = []
    centre = bool(settings.get("centre") or settings.get("as_published"))
    hard = name == "mhd"
    for one in moments:
        left = one
        for step in steps:
            left = _projected(left, step)
        if steps and np.ptp(left.means, axis=0).max() <= _SILENT * np.abs(one.means).max():
            continue  # its means differed in nothing else than those of a label before
        found = subspace_of(left, settings.get("dims"), centre=centre)
        if name == "misp":
            found = misp.reweighted(found, settings.get("weights", "variance"))
        steps.append(Projection(found, hard))
    if len(steps) > 1 and hard and sum(step.subspace.dims for step in steps) >= moments[0].dim:
        raise WordbiasError(
            f"{name}: the components of {len(steps)} labels are together all {moments[0].dim} "
            "dimensions, and every vector would be zero; give fewer dims, or fewer labels"
        )
    return tuple(steps)


def _projected(moments: Moments, step: Step) -> Moments:
    """Return the moments of the rows after a projection, which is a symmetric matrix."""
    p = step(np.eye(moments.dim))
    return replace(moments, means=moments.means @ p, within=p @ moments.within @ p)


def subspace_of(moments: Moments, dims: int | None = None, *, centre: bool = False) -> Subspace:
    """Fit the subspace of MISP: differences of the rows of two classes, means of more classes.

    Parameters
    ----------
    dims
        Number of components; by default 4 of two classes and K − 1 of more, or as many as there
        are, but of two dimensions or more one is kept.
    centre
        See `Subspace.from_groups`.
    """
    means, counts = moments.means, moments.counts
    if len(means) > 2:
        if centre:
            raise WordbiasError("centre= is for two groups; for more the means are compared")
        rows, most = means - means.mean(0), len(means) - 1
        return _components(rows, rows[0], dims, most, moments, f"the means of {len(means)} groups")
    if counts.min() < 2:
        raise WordbiasError(
            "expected two groups of at least two vectors, got "
            f"{' and '.join(f'{int(count):,}' for count in counts)}"
        )
    apart = means[0] - means[1]
    c = (moments.within / counts[:, None, None]).sum(0)
    c += 0 if centre else np.outer(apart, apart)
    what = f"the differences of {int(counts[0]):,} and {int(counts[1]):,} vectors"
    return _components(_root(c), apart, dims, misp.DIMS, moments, what)


def means_removed(moments: Sequence[Moments], direction: str = "means") -> Projection:
    """Return the removal of the span of the differences between the means of each label."""
    if direction not in ("pca", "means"):
        raise WordbiasError(f"Hard: the direction {direction!r} is for words; rows take only means")
    rows = np.concatenate([one.means - one.means.mean(0) for one in moments])
    most = sum(len(one.classes) - 1 for one in moments)
    what = f"the means of {' and '.join(str(len(one.classes)) for one in moments)} groups"
    found = _components(rows, rows[0], None, most, moments[0], what)
    return Projection(Subspace(found.basis, np.ones(found.dims)), hard=True)


def _components(
    rows: Floats, towards: Floats, dims: int | None, most: int, moments: Moments, what: str
) -> Subspace:
    """Return the components of rows, by default as many as there are, `most` at the most."""
    d, constant = moments.dim, constant_coordinates(moments)

    def fitted(k: int) -> Subspace:
        basis, shares = principal(rows, towards, k, moments.noise, what)
        return Subspace(np.where(constant, 0, basis), shares)

    if dims is not None:
        misp.check_dims(dims, d)
        return fitted(dims)
    for k in range(min(most, d - 1), 1, -1):
        with suppress(WordbiasError):
            return fitted(k)
    return fitted(1)


def _root(c: Floats) -> Floats:
    """Return rows `r` with ``r.T @ r`` equal to a covariance, up to rounding."""
    values, vectors = np.linalg.eigh(c)
    kept = values > values[-1] * len(c) * np.finfo(float).eps
    kept[-1] = True  # a row of zeros if nothing varies
    rows: Floats = (vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0))).T
    return rows


# INLP


def _rounds(
    x: NDArray[np.floating[Any]], labels: Sequence[Integers], settings: Mapping[str, Any]
) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """Fit INLP to each label, after those before it; return the steps and warnings."""
    left, steps, warnings = x.astype(np.float64), list[Step](), list[str]()
    removed = 0
    most = settings.get("rounds", inlp.ROUNDS)
    for codes in labels:
        if removed == x.shape[1] - 1:
            warnings.append("a further label is not fitted, as one dimension is left")
            break
        held_out = _held_out(codes, settings.get("seed", 0))
        projection, trained = inlp.fit_vectors(
            left, codes, np.flatnonzero(~held_out), np.flatnonzero(held_out),
            rounds=most, weights=settings.get("weights", "hard"),
            classifier=settings.get("classifier", "svm"),
            as_published=bool(settings.get("as_published")), at_least=1 + removed,
        )  # fmt: skip
        if projection is None:
            warnings.append(
                "no classifier was better than chance on held-out rows: nothing is removed"
            )
            continue
        tested = len(np.unique(codes[held_out]))
        notes = inlp.unfinished(trained, tested, most)
        removed += int((projection.subspace.weights == 1).sum())
        if removed == x.shape[1] - 1:
            notes = [f"of {x.shape[1]} dimensions one is left; use fewer rounds"]
        warnings += notes
        steps.append(projection)
        left = projection(left)
    return tuple(steps), tuple(warnings)


def _held_out(codes: Integers, seed: int) -> NDArray[np.bool_]:
    """Draw the rows whose accuracy ends the rounds: a share of each class that leaves one."""
    rng, held_out = np.random.default_rng(seed), np.zeros(len(codes), bool)
    for label in range(codes.max() + 1):
        places = rng.permutation(np.flatnonzero(codes == label))
        held_out[places[: min(int(np.ceil(HELD_OUT * len(places))), len(places) - 1)]] = True
    found = len(np.unique(codes[held_out]))
    if found < 2:
        raise WordbiasError(
            f"INLP: {'one' if found else 'no'} group has two rows or more; expected two such "
            "groups, as held-out rows of both end the rounds; give more rows, or use LEACE"
        )
    return held_out
