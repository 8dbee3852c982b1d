"""What the best of several tuned probes reads of a label, on groups that it has not seen.

A probe is a kernel ridge classifier, linear or with a Gaussian kernel. Its penalty and width, and
the probe that counts as the best, are chosen on inner folds and tested on an outer fold. A group,
such as a name or a person, is never divided between folds. Chance is the same with permuted labels
of whole groups. Tuning and choice are repeated for each permutation: the best of several probes is
compared with the best of the same number.

Ridge regression makes this cheap. With :math:`G = (K + λI)^{-1}`, the residuals of rows B of a fit
that leaves them out are :math:`G_{BB}^{-1} (Gy)_B`: one inverse serves all folds, outer and inner,
and each permuted label is one more column of y.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.devices import one_thread
from wordbias.draws import by_normal, change_interval
from wordbias.errors import WordbiasError
from wordbias.measures.registry import column_title, ideal
from wordbias.results import Row
from wordbias.statistics import Z95, normal_interval, p_of_null

Array = NDArray[np.float64]
Integers = NDArray[np.intp]

BEST, LINEAR, RBF = "best-probe", "ridge-probe", "rbf-probe"
PROBES = (LINEAR, RBF)
"""The probes; the best is chosen."""
NEAREST, BOOSTING, NETWORK = "nearest-probe", "boosting-probe", "network-probe"
ATTACKS = (NEAREST, BOOSTING, NETWORK)
"""Further probes of a certificate; `wordbias.measures.attacks` trains them."""
FOLDS = 5
"""Outer folds. All but one of them are the inner ones."""
DRAWS, FEWEST_DRAWS = 99, 19
"""Permutations of the labels of two classes, and fewest of more classes or with further probes."""
ROWS = 1500
"""Most rows that are read."""
PENALTIES = (10.0, 1.0, 0.1, 0.01)
"""Penalties, in units of the mean eigenvalue of the kernel."""
WIDTHS = (1.0, 0.25)
"""Widths of the Gaussian kernel, in units of the median squared distance."""
LEVEL = 0.05
"""Largest p of a value that is beyond chance."""
NOT_CODED = "at chance: nothing there, or too few examples for this many dimensions"
"""What a code at chance says where a probe is beyond it."""


@dataclass(frozen=True, eq=False)
class Probed:
    """One probe, or the best of several."""

    measure: str  # one of `PROBES` or `ATTACKS`, or `BEST`
    # balanced accuracy: the mean over the classes, of the mean over their groups, of the share of
    # rows that is right
    value: float
    shares: Array = field(repr=False)  # share of the rows of each group that is right, shape `(G,)`
    null: Array = field(repr=False)  # values with permuted labels, shape `(P,)`


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What probes read of a label on groups that they have not seen."""

    probes: tuple[Probed, ...]  # the best, and each of those that it is chosen from
    classes: Integers = field(repr=False)  # class of each group, shape `(G,)`
    n: int
    # what was left out: rows beyond `ROWS`, and classes of fewer groups than `FOLDS`
    notes: tuple[str, ...] = ()
    # block of each group: blocks have a group of each class, and are never divided between folds
    blocks: Integers | None = field(default=None, repr=False)

    def rows(
        self, subject: str, about: Mapping[str, Any], *, before: HeldOut | None = None
    ) -> list[Row]:
        """Return a row for each probe, with its interval over groups and its chance level."""
        # Each probe is compared with the largest value of all of them in each permutation (Westfall
        # and Young 1993). Any of them is then beyond chance by accident in at most a share `LEVEL`
        # of cases. `chance_high` is the end of those largest values, `chance_low` that of the
        # probe's own. `left` is the share of what was beyond chance before.
        k, rows = int(self.classes.max()) + 1, []
        largest = np.sort(self.largest)
        rank = int(LEVEL * (len(largest) + 1))
        for i, probe in enumerate(self.probes):
            p = self.p(probe)
            error = self._error(probe.shares, Z95**2 / 2)
            details: dict[str, Any] = {
                **about,
                "n": self.n,
                "groups": len(self.classes if self.blocks is None else np.unique(self.blocks)),
                **ideal(probe.measure, 1 / k),
                **by_normal(probe.value, error, "groups", within=(0, 1)),
                "p": p,
                "chance": float(probe.null.mean()),
                "chance_low": float(np.sort(probe.null)[rank - 1]),
                "chance_high": float(largest[-rank]),
                "chance_draws": len(largest),
                "beyond_chance": p <= LEVEL,
            }
            if before is not None:
                details |= self._since(probe, before.probes[i], before.p(before.probes[i]))
            rows.append(Row(subject, probe.measure, probe.value, details))
        return rows

    @property
    def largest(self) -> Array:
        """Return the largest value of all probes in each permutation of the labels."""
        largest: Array = np.max([probe.null for probe in self.probes], axis=0)
        return largest

    def p(self, probe: Probed) -> float:
        """Return how often any probe reads permuted labels as well as this one the true ones."""
        return p_of_null(self.largest, probe.value - 1e-9)

    def _since(self, probe: Probed, old: Probed, p: float) -> dict[str, float]:
        """Return the change of a probe and the share left, with their intervals over groups."""
        change = probe.value - old.value
        error = self._error(probe.shares - old.shares)
        details = {"change": change, **change_interval(normal_interval(change, error))}
        beyond = old.value - float(old.null.mean())
        if p <= LEVEL and beyond > 0:
            left = details["left"] = max(0.0, probe.value - float(probe.null.mean())) / beyond
            error = self._error(probe.shares - left * old.shares) / beyond
            ends = normal_interval(left, error)
            details |= {"left_low": max(0.0, ends.low), "left_high": ends.high}
        return details

    def _error(self, values: Array, added: float = 0.0) -> float:
        """Return the standard error of a mean of values of the groups."""
        if self.blocks is None:
            return _error(values, self.classes, added)
        means = np.bincount(self.blocks, values) / np.bincount(self.blocks)
        return _error(means, np.zeros(len(means), np.intp), added)


@dataclass(frozen=True, eq=False)
class Design:
    """Rows in outer folds, with their classes, and these permuted within folds."""

    # Groups are never divided between folds, and each fold has the same number of groups of each
    # class under every permutation.

    folds: Sequence[Integers]  # places of the rows of each fold
    labels: Integers  # classes, 0 to K − 1, and permutations of them, shape `(n, L)`
    classes: Integers  # class of each group, and group of each row
    units: Integers

    @property
    def k(self) -> int:
        """Number of classes."""
        return int(self.classes.max()) + 1

    def weights(self, places: Integers) -> Array:
        """Return the weight of each of some rows in a balanced accuracy, shape ``(m, L)``."""
        # Classes weigh alike, within a class its groups, and within a group its rows.
        groups = self.units[places]
        counts = np.bincount(self.classes[np.unique(groups)], minlength=self.k)
        sizes = np.bincount(self.units)[groups, None]
        weights: Array = 1 / (self.k * counts[self.labels[places]] * sizes)
        return weights


Found = tuple[str, Array, NDArray[np.bool_]]
"""A probe with one setting: its name; its accuracy on inner folds for each outer fold, ``(F, L)``;
and which rows it predicts right whose fold it was not trained on, ``(n, L)``."""
Attack = Callable[[Array, Design], Iterator[Found]]


def left_text(left: Mapping[str, float]) -> str:
    """Say what share is left, by the probe that has most left; nothing without shares."""
    if not left:
        return ""
    worst = max(left, key=left.__getitem__)
    return f"{left[worst]:.0%} of what the {column_title(worst)} read beyond chance is left"


def read_groups(
    x: ArrayLike,
    labels: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    blocks: ArrayLike | None = None,
    seed: int = 0,
    rounding: float = float(np.finfo(np.float32).eps),
    attacks: Attack | None = None,
) -> HeldOut:
    """Read a label (n,) off vectors (n, d) with several probes, on groups these have not seen."""
    # No method may have been fitted to these rows. Each group has one label; by default each row is
    # a group. `blocks` (n,) name the versions of one text, a row of each label: they are in one
    # fold, labels are permuted within them, and intervals are over them. `attacks` take long:
    # labels are then permuted `FEWEST_DRAWS` times.
    x, names = np.asarray(x), np.asarray(labels)
    units = np.arange(len(x)) if groups is None else np.unique(groups, return_inverse=True)[1]
    rng, notes = np.random.default_rng(seed), []
    label_names, codes = np.unique(names, return_inverse=True)
    _check_groups(codes, units, label_names)
    counts = np.bincount(codes[np.unique(units, return_index=True)[1]])
    many = counts >= FOLDS
    if many.sum() < 2:
        raise WordbiasError(
            f"probes on held-out groups need {FOLDS} groups in each of two classes at least; "
            f"{int(many.sum())} of {len(many)} have as many: give more examples"
        )
    if not many.all():
        few = ", ".join(f"{name:.40}" for name in label_names[~many][:FOLDS].astype(str))
        notes.append(f"classes of fewer than {FOLDS} groups are not read: {few}")
    rows = np.flatnonzero(many[codes])
    if len(rows) > ROWS:
        rows = _drawn(rows, codes, units, rng)
        notes.append(f"{len(rows):,} of {len(x):,} rows are read, drawn in turn from each group")
    x = scaled(x[rows].astype(np.float32), np.zeros((0, x.shape[1]), np.float32), rounding)[0]
    _, first, units = np.unique(units[rows], return_index=True, return_inverse=True)
    of_blocks = (
        None
        if blocks is None
        else np.unique(np.asarray(blocks)[rows], return_inverse=True)[1][first]
    )
    classes = np.unique(codes[rows][first], return_inverse=True)[1].astype(np.intp)
    with one_thread():
        design = _designed(classes, units.astype(np.intp), rng, of_blocks, few=attacks is not None)
        candidates = list(_ridges(x.astype(np.float64), design))
        candidates += [] if attacks is None else attacks(x.astype(np.float64), design)
        probes = _chosen(candidates, design)
    return HeldOut(probes, classes, len(rows), tuple(notes), of_blocks)


def scaled(
    training: NDArray[np.floating[Any]], tested: NDArray[np.floating[Any]], rounding: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Centre coordinates and bring them to one spread, by the training rows, in place."""
    # A coordinate that varies only by rounding is set to zero: scaled up, what rounding left of a
    # label could be read again. Values are rounded one by one: a large coordinate does not make
    # others constant; only float32 arithmetic mixes them.
    x = training.astype(np.float32, copy=False)
    n, finest = len(x), float(np.finfo(np.float32).eps)
    sizes = np.sqrt(np.einsum("nd,nd->d", x, x, dtype=np.float64) / n)
    mixed = finest * np.sqrt((sizes**2).mean())
    mean = x.mean(0, dtype=np.float64).astype(np.float32)
    x -= mean
    spread = np.sqrt(np.einsum("nd,nd->d", x, x, dtype=np.float64) / n)
    constant = spread <= 10 * np.maximum(max(rounding, finest) * sizes, mixed)
    scale = np.where(constant, 0, 1 / np.where(constant, 1, spread)).astype(np.float32)
    x *= scale
    y = tested.astype(np.float32, copy=False)
    y -= mean
    y *= scale
    return x, y


def _check_groups(codes: Integers, units: Integers, names: NDArray[Any]) -> None:
    """Refuse a group with two labels."""
    pairs = np.unique(np.stack([units, codes]), axis=1)
    same = np.flatnonzero(np.diff(pairs[0]) == 0)
    if len(same):
        label, other = (str(name) for name in names[pairs[1, same[0] : same[0] + 2]])
        raise WordbiasError(
            f"a group has the labels {label!r:.40} and {other!r:.40}; labels are permuted over "
            "groups: each needs one label"
        )


def _drawn(rows: Integers, codes: Integers, units: Integers, rng: np.random.Generator) -> Integers:
    """Draw `ROWS` rows: first one of each group, the classes in turn, then a second, and so on."""
    order = rng.permutation(len(rows))
    _, place, of, sizes = np.unique(
        units[rows][order], return_index=True, return_inverse=True, return_counts=True
    )
    rank, turn = np.empty(len(place), np.intp), np.empty(len(rows), np.intp)
    classes = codes[rows][order][place]
    for code in np.unique(classes):
        members = np.flatnonzero(classes == code)
        rank[members[np.argsort(place[members])]] = np.arange(len(members))
    turn[np.argsort(of, kind="stable")] = np.arange(len(rows)) - np.repeat(
        np.cumsum(sizes) - sizes, sizes
    )
    drawn: Integers = np.sort(rows[order][np.lexsort((place[of], rank[of], turn))[:ROWS]])
    return drawn


# Probes


def _kernels(x: Array) -> Iterator[tuple[str, Array]]:
    """Yield the kernel matrices of the probes, centred, of mean diagonal 1, with an intercept."""
    inner = x @ x.T
    norms = np.diag(inner)
    squares = np.maximum(norms[:, None] + norms - 2 * inner, 0)
    median = float(np.median(squares[np.triu_indices(len(x), 1)])) or float(squares.max()) or 1.0
    kernels = [(LINEAR, inner), *((RBF, np.exp(-squares / (w * median))) for w in WIDTHS)]
    for name, kernel in kernels:
        centred = kernel - kernel.mean(0)
        centred -= centred.mean(1)[:, None]
        size = np.trace(centred) / len(x)
        yield name, centred / (size if size > 0 else 1) + 1


def _left_out(
    kernel: Array, penalty: float, y: Array, folds: Sequence[Integers]
) -> tuple[Array, Array]:
    """Return ridge predictions (n, m) without a row's fold; and without a second, (J, n, m)."""
    from scipy.linalg import cho_factor, cho_solve, lapack

    factor, _ = lapack.dpotrf(kernel + penalty * np.eye(len(kernel)), lower=1, overwrite_a=1)
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    inverse = np.tril(inverse)
    inverse += np.tril(inverse, -1).T
    given = inverse @ y
    outer, inner = np.empty_like(y), np.zeros((len(folds), *y.shape))
    for rows in folds:
        factor = cho_factor(inverse[np.ix_(rows, rows)], lower=True)
        outer[rows] = y[rows] - cho_solve(factor, given[rows])
    for j, k in combinations(range(len(folds)), 2):
        rows, n = np.concatenate([folds[j], folds[k]]), len(folds[j])
        factor = cho_factor(inverse[np.ix_(rows, rows)], lower=True)
        both = y[rows] - cho_solve(factor, given[rows])
        inner[k, folds[j]], inner[j, folds[k]] = both[:n], both[n:]
    return outer, inner


def _designed(
    classes: Integers,
    units: Integers,
    rng: np.random.Generator,
    blocks: Integers | None,
    *,
    few: bool,
) -> Design:
    """Draw folds, and permutations within these or within blocks."""
    k = int(classes.max()) + 1
    draws = DRAWS if k == 2 else max(FEWEST_DRAWS, DRAWS // k)
    draws = FEWEST_DRAWS if few else draws
    if blocks is None:
        order = rng.permutation(len(classes))
        order = order[np.argsort(classes[order], kind="stable")]
        fold_of = np.empty(len(classes), np.intp)
        fold_of[order] = np.arange(len(classes)) % FOLDS
    else:
        fold_of = rng.permutation(int(blocks.max()) + 1)[blocks] % FOLDS
    together = fold_of if blocks is None else blocks
    exchanged = [np.flatnonzero(together == block) for block in range(int(together.max()) + 1)]
    permuted = np.repeat(classes[:, None], draws + 1, axis=1)
    for draw in range(1, draws + 1):
        for places in exchanged:
            permuted[places, draw] = classes[rng.permutation(places)]
    folds = [np.flatnonzero(fold_of[units] == fold) for fold in range(FOLDS)]
    return Design(folds, permuted[units], classes, units)


def _ridges(x: Array, design: Design) -> Iterator[Found]:
    """Train ridge probes with each kernel and penalty on all labels."""
    k, labels, folds = design.k, design.labels, design.folds
    # the label of two classes is one column: the other would be its negative
    columns = range(1, 2) if k == 2 else range(k)
    y = np.stack([(labels == c) / (labels == c).mean(0) - 1 for c in columns], axis=2)
    others = [np.setdiff1d(np.arange(len(x)), tested) for tested in folds]
    weights = [design.weights(rest) for rest in others]
    for name, kernel in _kernels(x):
        for penalty in PENALTIES:
            outer, inner = _left_out(kernel, penalty, y.reshape(len(x), -1), folds)
            outer, inner = outer.reshape(y.shape), inner.reshape(FOLDS, *y.shape)
            accuracies = np.empty((FOLDS, labels.shape[1]))
            correct = np.empty(labels.shape, bool)
            for f, (tested, rest) in enumerate(zip(folds, others, strict=True)):
                # where the classes weigh alike, the middle between them is nobody's
                middle = np.einsum("nl,nlc->lc", weights[f], inner[f, rest])
                guessed = _guessed(inner[f, rest] - middle)
                accuracies[f] = (weights[f] * (guessed == labels[rest])).sum(0)
                correct[tested] = _guessed(outer[tested] - middle) == labels[tested]
            yield name, accuracies, correct


def _chosen(candidates: Sequence[Found], design: Design) -> tuple[Probed, ...]:
    """Choose each probe's setting, and the best of all, by the inner folds; test on the outer."""
    weights, sizes = design.weights(np.arange(len(design.units))), np.bincount(design.units)
    probes = []
    for measure in (BEST, *dict.fromkeys(name for name, *_ in candidates)):
        own = [candidate for candidate in candidates if measure in (BEST, candidate[0])]
        chosen = np.stack([accuracies for _, accuracies, _ in own]).argmax(0)
        correct = np.empty(design.labels.shape, bool)
        for f, tested in enumerate(design.folds):
            of_fold = np.stack([right[tested] for *_, right in own])
            correct[tested] = np.take_along_axis(of_fold, chosen[f][None, None], 0)[0]
        values = (weights * correct).sum(0).round(12)
        shares = np.bincount(design.units, correct[:, 0]) / sizes
        probes.append(Probed(measure, float(values[0]), shares, values[1:]))
    return tuple(probes)


def _guessed(scores: Array) -> Integers:
    """Return the class of the largest score, shape ``(n, l)``; of one column by its sign."""
    # Scores that differ only by rounding are equal.
    if scores.shape[2] == 1:
        return (scores[:, :, 0] > 1e-9).astype(np.intp)
    guesses: Integers = scores.round(9).argmax(2)
    return guesses


def _error(values: Array, classes: Integers, added: float = 0.0) -> float:
    """Return the standard error of a mean over classes of means over groups."""
    # `added` zeros and ones are added to each class for its variance, as in the interval of Agresti
    # and Coull (1998): a class that is right throughout could be wrong.
    total, k = 0.0, int(classes.max()) + 1
    for code in range(k):
        of = values[classes == code]
        n = len(of) + 2 * added
        mean = (of.sum() + added) / n
        squares = ((of - mean) ** 2).sum() + added * (mean**2 + (1 - mean) ** 2)
        total += float(squares) / (n - 1) / len(of)
    return math.sqrt(total) / k
