"""Clustering: does k-means recover the groups of biased words? (Gonen and Goldberg 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import one_thread
from wordbias.errors import WordbiasError
from wordbias.measures.chance import Key, Null, chance_of_most_biased
from wordbias.measures.panel import CLUSTERED, Panel
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import resampled_means

MEASURES = ("clustering-accuracy", "clustering-v")
SEEDS = 10
N_INIT = 10


class Clustering(NamedTuple):
    """Agreement of clusters with labels over several seeds; neutral: accuracy .5, v-measure 0."""

    places: NDArray[np.intp]  # cell of each word, twice its label plus its cluster, shape `(s, n)`

    @property
    def cells(self) -> NDArray[np.intp]:
        """Number of words of each (label, cluster), shape ``(s, 2, 2)``."""
        counts = [np.bincount(of_words, minlength=4) for of_words in self.places]
        return np.stack(counts).reshape(-1, 2, 2)

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """One value a seed, shape ``(s,)``."""
        return accuracy(self.cells)

    @property
    def v_measure(self) -> NDArray[np.float64]:
        """One value a seed, shape ``(s,)``."""
        return v_measure(self.cells)

    def resampled(self, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return mean accuracy and v-measure over the seeds, of words drawn again, (b,) each."""
        # All seeds have the same draws: a word is in a sample or not, whichever k-means is run.
        seeds, n = self.places.shape
        in_cell = (self.places[..., None] == np.arange(4)).transpose(1, 0, 2).reshape(n, -1)
        drawn = resampled_means(in_cell.astype(np.float64), rng).reshape(-1, seeds, 2, 2)
        return accuracy(drawn).mean(1), v_measure(drawn).mean(1)


def clustering(
    vectors: NDArray[np.float32],
    labels: NDArray[np.bool_],
    *,
    seed: int = 0,
    seeds: int = SEEDS,
    n_init: int = N_INIT,
) -> Clustering:
    """Cluster the most biased words, (n, d), into two; compare with their original groups (n,)."""
    # Vectors are not normalised, as in the published code. A single run of k-means is unstable.
    from sklearn.cluster import KMeans

    places = np.empty((seeds, len(labels)), np.intp)
    with one_thread():
        for i in range(seeds):
            clusters = KMeans(2, n_init=n_init, random_state=seed + i).fit_predict(vectors)
            places[i] = 2 * labels + clusters
    return Clustering(places)


def accuracy(cells: NDArray[Any]) -> NDArray[np.float64]:
    """Return the alignment accuracy ``max(acc, 1 − acc)`` of ``(…, label, cluster)`` counts."""
    right = cells[..., 0, 0] + cells[..., 1, 1]
    share = right / cells.sum((-1, -2))
    aligned: NDArray[np.float64] = np.maximum(share, 1 - share)
    return aligned


def v_measure(cells: NDArray[Any]) -> NDArray[np.float64]:
    """Return the V-measure (Rosenberg and Hirschberg 2007) of ``(…, label, cluster)`` counts."""
    joint = cells / cells.sum((-1, -2), keepdims=True)
    labels, clusters = _entropy(joint.sum(-1)), _entropy(joint.sum(-2))
    mutual = labels + clusters - _entropy(joint.reshape(*joint.shape[:-2], 4))
    total = labels + clusters
    return np.where(total == 0, 1.0, 2 * mutual / np.where(total == 0, 1, total))


def _entropy(p: NDArray[np.float64]) -> NDArray[np.float64]:
    positive = np.where(p > 0, p, 1)
    bits: NDArray[np.float64] = -(positive * np.log(positive)).sum(-1)
    return bits


def clustering_rows(panel: Panel) -> list[Row]:
    """Cluster the words that lean most in the original, by their vectors in the embedding."""
    return [row for words in panel.clustered for row in _rows_of(panel, words)]


def _setting(words: int) -> str:
    """Return the setting of rows: the number of words, where it is not the usual one."""
    return "" if words == CLUSTERED else f"n={words}"


def _rows_of(panel: Panel, words: int) -> list[Row]:
    about = {**panel.against(), "seeds": SEEDS, "setting": _setting(words) or None}
    try:
        chosen = panel.most_biased(words)
    except WordbiasError as error:
        return panel.undefined(MEASURES, f"undefined: {error}", **about)
    clustered = clustering(panel.vectors[chosen.rows], chosen.labels, seed=panel.seed)
    values = (clustered.accuracy, clustered.v_measure)
    return [
        panel.row(
            name,
            float(of_seeds.mean()),
            samples,
            sd=float(of_seeds.std(ddof=1)),
            items=(panel.vocabulary, chosen.rows.tolist()),
            n=len(chosen.rows),
            **ideal(name),
            **about,
        )
        for name, of_seeds, samples in zip(
            MEASURES, values, clustered.resampled(panel.rng()), strict=True
        )
    ]


def chance_of_clustering(panel: Panel, nulls: Sequence[Null]) -> dict[Key, NDArray[np.float64]]:
    """Cluster the words that lean most along each null in the original, by their vectors."""

    def evaluate(vectors: NDArray[np.float32], labels: NDArray[np.bool_]) -> list[float]:
        clustered = clustering(vectors, labels, seed=panel.seed)
        return [float(clustered.accuracy.mean()), float(clustered.v_measure.mean())]

    values: dict[Key, NDArray[np.float64]] = {}
    for words in panel.clustered:
        chances = chance_of_most_biased(panel, nulls, words, MEASURES, evaluate)
        values |= {(name, _setting(words)): row for (name, _), row in chances.items()}
    return values
