"""Further probes that try to read a label: nearest neighbours, boosted trees and a network.

They are scikit-learn's, or give what those give. With the ridge probes of
`wordbias.measures.held_out_probes` they are the attacks of a certificate, which is why they share
its folds, its permuted labels and its choice of the best. Each predicts the class whose
probability is largest when divided by its share of the training rows, so that classes count alike.

Nearest neighbours are found once for all permuted labels. The others are trained anew for each. To
choose their setting they are trained without two folds, the outer one and the next, and tested on
the next.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.measures.held_out_probes import (
    BOOSTING,
    FOLDS,
    NEAREST,
    NETWORK,
    Array,
    Design,
    Found,
    Integers,
)

NEIGHBOURS = (1, 5, 25)
"""Numbers of neighbours to choose from."""
GRIDS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    BOOSTING: ({"max_leaf_nodes": 3}, {"max_leaf_nodes": 15}),
    NETWORK: ({"alpha": 0.01}, {"alpha": 1.0}),
}
"""Settings of the others to choose from."""
_TREES, _RATE, _SHARE, _BINS = 60, 0.1, 0.2, 31
_UNITS, _UPDATES, _BATCH, _STEP = 50, 400, 50, 0.003


def attacks(x: Array, design: Design) -> Iterator[Found]:
    """Train the probes on all labels, and rows (n, d), each coordinate of one spread."""
    yield from _nearest(x, design)
    for name in (BOOSTING, NETWORK):
        yield _trained(name, x.astype(np.float32), design)


def _nearest(x: Array, design: Design) -> Iterator[Found]:
    """Vote by the nearest rows of other folds; a vote weighs less the more rows its class has."""
    norms = np.einsum("nd,nd->n", x, x)
    squares = norms[:, None] + norms - 2 * x @ x.T
    fold_of = np.empty(len(x), np.intp)
    for fold, places in enumerate(design.folds):
        fold_of[places] = fold
    shape = (len(NEIGHBOURS), *design.labels.shape)
    right = np.empty(shape, bool)
    accuracies = np.empty((len(NEIGHBOURS), FOLDS, design.labels.shape[1]))
    for outer, tested in enumerate(design.folds):
        known = np.flatnonzero(fold_of != outer)
        right[:, tested] = _voted(squares, tested, known, design)
        inner = np.empty(shape, bool)
        for fold in set(range(FOLDS)) - {outer}:
            inner[:, design.folds[fold]] = _voted(
                squares, design.folds[fold], known[fold_of[known] != fold], design
            )
        weights = design.weights(known)
        accuracies[:, outer] = (weights * inner[:, known]).sum(1)
    for i in range(len(NEIGHBOURS)):
        yield NEAREST, accuracies[i], right[i]


def _voted(squares: Array, tested: Integers, known: Integers, design: Design) -> NDArray[np.bool_]:
    """Return which rows the nearest known ones predict right, by number of them, ``(J, m, L)``."""
    most = min(NEIGHBOURS[-1], len(known))
    near = known[np.argsort(squares[np.ix_(tested, known)], axis=1, kind="stable")[:, :most]]
    labels = design.labels
    votes = np.stack([(labels[near] == c) / (labels[known] == c).mean(0) for c in range(design.k)])
    sums = votes.cumsum(2)[:, :, [min(number, most) - 1 for number in NEIGHBOURS]]
    right: NDArray[np.bool_] = sums.round(9).argmax(0).swapaxes(0, 1) == labels[tested]
    return right


def _trained(name: str, x: NDArray[np.float32], design: Design) -> Found:
    """Train a classifier on each labels in turn; its best setting stands for it."""
    accuracies = np.zeros((FOLDS, design.labels.shape[1]))
    right = np.empty(design.labels.shape, bool)
    for outer, tested in enumerate(design.folds):
        following = design.folds[(outer + 1) % FOLDS]
        known = np.setdiff1d(np.arange(len(x)), tested)
        fewer = np.setdiff1d(known, following)
        weights = design.weights(following)
        for draw, labels in enumerate(design.labels.T):
            tuned = [
                weights[:, draw] @ _right(name, setting, x, labels, fewer, following)
                for setting in GRIDS[name]
            ]
            chosen = GRIDS[name][int(np.argmax(tuned))]
            accuracies[outer, draw] = max(tuned)
            right[tested, draw] = _right(name, chosen, x, labels, known, tested)
    return name, accuracies, right


def _right(
    name: str,
    setting: Mapping[str, Any],
    x: NDArray[np.float32],
    labels: Integers,
    known: Integers,
    tested: Integers,
) -> NDArray[np.bool_]:
    """Train a classifier on some rows, and return which others it predicts right."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    if name == BOOSTING:
        model = HistGradientBoostingClassifier(
            max_iter=_TREES, learning_rate=_RATE, max_features=_SHARE, max_bins=_BINS,
            early_stopping=False, random_state=0, **setting,
        )  # fmt: skip
    else:
        batch = min(_BATCH, len(known))
        model = MLPClassifier(
            (_UNITS,), max_iter=math.ceil(_UPDATES / math.ceil(len(known) / batch)),
            batch_size=batch, learning_rate_init=_STEP, random_state=0, **setting,
        )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what it has found is tested
        model.fit(x[known], labels[known])
        chances = model.predict_proba(x[tested])
    shares = np.bincount(labels[known])
    right: NDArray[np.bool_] = (chances / shares).argmax(1) == labels[tested]
    return right
