"""Recoverability: can a classifier tell the groups of biased words? (Gonen and Goldberg 2019)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import blas_threads
from wordbias.errors import WordbiasError
from wordbias.measures.chance import Key, Null, chance_of_most_biased
from wordbias.measures.panel import Panel
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import resampled_means

WORDS = 5000
"""Most biased words in all, half of each side."""
CLASSIFIERS = ("linear-svm", "rbf-svm", "logistic", "mlp")
MEASURES = tuple(f"recoverability-{name}" for name in CLASSIFIERS)
TRAIN_SHARE = 0.2


class Recovered(NamedTuple):
    """Result of one classifier: which of the words tested it has right, shape ``(n,)``."""

    right: NDArray[np.bool_]
    converged: bool = True

    @property
    def accuracy(self) -> float:
        """Share of the words tested that it has right, neutral .5."""
        return int(self.right.sum()) / len(self.right)


def recoverability(
    vectors: NDArray[np.float32],
    labels: NDArray[np.bool_],
    *,
    seed: int = 0,
    train_share: float = TRAIN_SHARE,
) -> dict[str, Recovered]:
    """Train four classifiers on a balanced fifth of the words and test on the others."""
    # Labels are the groups to which words lean in the original embedding. The settings are
    # sklearn's defaults but for what the papers fix: linear kernel, RBF with gamma="auto", one
    # hidden layer of 100.
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(
        np.arange(len(labels)), train_size=train_share, stratify=labels, random_state=seed
    )
    recovered = {}
    with blas_threads(1):
        for name in CLASSIFIERS:
            model, converged = _fitted(make_classifier(name, seed), vectors[train], labels[train])
            recovered[name] = Recovered(model.predict(vectors[test]) == labels[test], converged)
    return recovered


def _fitted(model: Any, x: NDArray[np.float32], y: NDArray[np.bool_]) -> tuple[Any, bool]:
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(x, y)
    return model, not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)


def make_classifier(name: str, seed: int) -> Any:
    """Build one of `CLASSIFIERS`, untrained."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    return {
        "linear-svm": lambda: SVC(kernel="linear", random_state=seed),
        "rbf-svm": lambda: SVC(kernel="rbf", gamma="auto", random_state=seed),
        "logistic": lambda: LogisticRegression(max_iter=1000, random_state=seed),
        "mlp": lambda: MLPClassifier((100,), max_iter=500, random_state=seed),
    }[name]()


def recoverability_rows(panel: Panel, words: int = WORDS) -> list[Row]:
    """Classify the words that lean most in the original by their vectors in the embedding."""
    about = panel.against()
    try:
        chosen = panel.most_biased(words)
    except WordbiasError as error:
        return panel.undefined(MEASURES, f"undefined: {error}", **about)
    recovered = recoverability(panel.vectors[chosen.rows], chosen.labels, seed=panel.seed)
    right = np.stack([result.right for result in recovered.values()], axis=1)
    samples = resampled_means(right.astype(np.float64), panel.rng())
    return [
        panel.row(
            f"recoverability-{name}",
            result.accuracy,
            samples[:, i],
            items=(panel.vocabulary, chosen.rows.tolist()),
            n=len(right),
            **ideal(f"recoverability-{name}"),
            converged=None if result.converged else False,
            **about,
        )
        for i, (name, result) in enumerate(recovered.items())
    ]


def chance_of_recoverability(panel: Panel, nulls: Sequence[Null]) -> dict[Key, NDArray[np.float64]]:
    """Classify the words that lean most along each null in the original, by their vectors."""

    def evaluate(vectors: NDArray[np.float32], labels: NDArray[np.bool_]) -> list[float]:
        recovered = recoverability(vectors, labels, seed=panel.seed)
        return [outcome.accuracy for outcome in recovered.values()]

    return chance_of_most_biased(panel, nulls, WORDS, MEASURES, evaluate)
