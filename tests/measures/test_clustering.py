"""Clustering against scikit-learn, called directly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import examples
from sklearn.cluster import KMeans
from sklearn.metrics import v_measure_score
from threadpoolctl import threadpool_info

from wordbias import Attribute, Embedding
from wordbias.devices import blas_threads
from wordbias.measures.clustering import (
    SEEDS,
    Clustering,
    accuracy,
    clustering,
    clustering_rows,
    v_measure,
)
from wordbias.measures.direction import projections
from wordbias.measures.panel import Panel
from wordbias.statistics import percentile_interval
from wordbias.subspace import Subspace

pytestmark = pytest.mark.usefixtures("one_thread")

PAIR = ("she", "he")
GENDER = Attribute("gender", ("f", "m"), ((), ()), (PAIR,), direction=PAIR)


def _expand(cells: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    flat = np.repeat(np.arange(4), np.asarray(cells).ravel())
    return flat // 2, flat % 2


@settings(max_examples=examples(200), deadline=None)
@given(cells=st.lists(st.integers(0, 60), min_size=4, max_size=4).filter(any))
def test_v_measure_is_that_of_scikit_learn(cells: list[int]) -> None:
    labels, clusters = _expand(cells)
    expected = v_measure_score(labels, clusters)
    got = v_measure(np.array(cells).reshape(2, 2))
    # entropies of three tables, whose errors the smaller total enlarges
    p = np.bincount(labels, minlength=2) / len(labels), np.bincount(clusters) / len(labels)
    total = sum(-(x[x > 0] * np.log(x[x > 0])).sum() for x in p)
    assert got == pytest.approx(expected, abs=1e-14 / max(total, 1e-3))


def test_v_measure_of_many_tables_at_once() -> None:
    cells = np.random.default_rng(0).integers(0, 9, (5, 6, 2, 2)) + 1
    scores = v_measure(cells)
    assert scores.shape == (5, 6)
    for i in np.ndindex(5, 6):
        assert scores[i] == pytest.approx(v_measure_score(*_expand(cells[i])), abs=1e-14)


@pytest.mark.parametrize(
    ("cells", "v", "share"),
    [
        ([[5, 0], [0, 5]], 1, 1),
        ([[0, 5], [5, 0]], 1, 1),  # the number of a cluster means nothing
        ([[5, 5], [5, 5]], 0, 0.5),
        ([[5, 0], [5, 0]], 0, 0.5),  # an empty cluster
        ([[9, 0], [0, 0]], 1, 1),  # one label, one cluster
        ([[8, 2], [4, 6]], None, 0.7),
        ([[2, 8], [6, 4]], None, 0.7),
    ],
)
def test_the_agreement_of_known_tables(cells: Any, v: float | None, share: float) -> None:
    table = np.array(cells)
    assert accuracy(table) == pytest.approx(share, abs=1e-15)
    expected = v_measure_score(*_expand(table)) if v is None else v
    assert v_measure(table) == pytest.approx(expected, abs=1e-14)


@pytest.fixture
def words() -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Two clouds that overlap, so that seeds and restarts matter."""
    rng = np.random.default_rng(0)
    labels = np.repeat([True, False], 60)
    x = rng.normal(size=(120, 6)) + 0.9 * labels[:, None]
    return x.astype(np.float32), labels


@pytest.mark.parametrize("seed", [0, 4])
def test_it_is_k_means_with_these_seeds(words: Any, seed: int) -> None:
    x, labels = words
    runs = clustering(x, labels, seed=seed, seeds=3, n_init=2)
    for i in range(3):
        clusters = KMeans(n_clusters=2, n_init=2, random_state=seed + i).fit(x).labels_
        assert runs.v_measure[i] == pytest.approx(v_measure_score(labels, clusters), abs=1e-14)
        right = np.mean(labels == clusters)
        assert runs.accuracy[i] == pytest.approx(max(right, 1 - right), abs=1e-15)
        assert runs.cells[i].sum() == 120
        assert runs.cells[i].sum(1).tolist() == [60, 60]


def test_rotation_keeps_the_partition_of_clear_clusters() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([True, False], 40)
    x = rng.normal(size=(80, 6)) + 2 * labels[:, None]
    q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    raw, other = (clustering(vectors.astype(np.float32), labels, seeds=3) for vectors in (x, x @ q))
    np.testing.assert_array_equal(raw.accuracy, other.accuracy)
    np.testing.assert_allclose(raw.v_measure, other.v_measure, rtol=0, atol=1e-14)


def test_rotation_keeps_the_inertia() -> None:
    """Even where clusters overlap: distances are all that k-means sees."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(80, 4))
    q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    best = [KMeans(2, n_init=10, random_state=0).fit(v).inertia_ for v in (x, x @ q)]
    assert best[0] == pytest.approx(best[1], rel=1e-9)


def test_length_in_common_changes_nothing(words: Any) -> None:
    x, labels = words
    plain, other = (clustering(v, labels, seeds=2) for v in (x, x * np.float32(4)))
    np.testing.assert_array_equal(np.sort(plain.cells, -1), np.sort(other.cells, -1))


def test_the_intervals_hold_the_means_and_pool_the_seeds(words: Any) -> None:
    x, labels = words
    runs = clustering(x, labels, seeds=3)
    share, v = map(percentile_interval, runs.resampled(np.random.default_rng(0)))
    assert share.low <= runs.accuracy.mean() <= share.high
    assert 0 <= v.low <= v.high <= 1
    p = float(runs.accuracy[0])
    same, ten = Clustering(runs.places[:1]), Clustering(np.repeat(runs.places[:1], 10, axis=0))
    for pooled in (same, ten):  # ten runs that agree are no more words
        low, high = percentile_interval(pooled.resampled(np.random.default_rng(0))[0])
        assert (high - low) / (2 * 1.96 * np.sqrt(p * (1 - p) / 120)) == pytest.approx(1, abs=0.2)


def test_a_draw_has_the_accuracy_and_v_measure_of_the_words_drawn(words: Any) -> None:
    x, labels = words
    runs = clustering(x, labels, seeds=2)
    share, v = runs.resampled(np.random.default_rng(3))
    drawn = np.random.default_rng(3).integers(len(labels), size=(1000, len(labels)))
    for i in (0, 1, 999):
        clusters = [places[drawn[i]] % 2 for places in runs.places]
        of = labels[drawn[i]]
        agreed = [np.mean(of == c) for c in clusters]
        assert share[i] == pytest.approx(np.mean([max(a, 1 - a) for a in agreed]))
        assert v[i] == pytest.approx(np.mean([v_measure_score(of, c) for c in clusters]))


@pytest.fixture
def original() -> Embedding:
    rng = np.random.default_rng(2)
    names = ["she", "he", *(f"w{i}" for i in range(100))]
    vectors = rng.normal(size=(102, 8))
    vectors[2:52] += [1.5, 0, 0, 0, 0, 0, 0, 0]
    vectors[0], vectors[1] = 3 * np.eye(8)[0], -3 * np.eye(8)[0] + 0.5
    return Embedding(names, vectors, "before")


@pytest.fixture
def debiased(original: Embedding) -> Embedding:
    """The original without one direction between she − he and another."""
    g = Subspace.from_direction(np.eye(8)[0] + 0.5 * np.eye(8)[1])
    x = g.remove(original.vectors.astype(float), hard=True)
    return Embedding(original.words, x, "after")


def test_labels_come_from_the_original_and_vectors_from_the_debiased(
    original: Embedding, debiased: Embedding
) -> None:
    vocabulary = original.words[2:]
    lean = []
    for word in vocabulary:
        v, g = original[word].astype(float), original["she"].astype(float) - original["he"]
        lean.append(v @ g / np.linalg.norm(v) / np.linalg.norm(g))
    order = np.argsort(lean)
    chosen = [*order[::-1][:20], *order[:20]]
    labels = np.repeat([1, 0], 20)
    x = debiased.take([vocabulary[i] for i in chosen])
    scores, shares = [], []
    for seed in range(3, 3 + SEEDS):
        clusters = KMeans(2, n_init=10, random_state=seed).fit(x).labels_
        scores.append(v_measure_score(labels, clusters))
        shares.append(max(np.mean(labels == clusters), np.mean(labels != clusters)))
    rows = clustering_rows(Panel(debiased, original, vocabulary, GENDER, clustered=(40,), seed=3))
    for row, values, neutral in zip(rows, (shares, scores), (0.5, 0), strict=True):
        assert row.value == pytest.approx(np.mean(values), abs=1e-14)
        assert row.details["sd"] == pytest.approx(np.std(values, ddof=1), abs=1e-14)
        assert (row.details["neutral"], row.details["better"]) == (neutral, "lower")
        assert (row.details["n"], row.details["original"]) == (40, "before")
    own = projections(debiased.take(vocabulary), Panel(debiased, debiased, vocabulary, GENDER)
                      .own_direction.defined())  # fmt: skip
    assert set(np.argsort(own)[:20]) != set(order[:20])


def test_too_few_words_on_a_side_have_a_reason(original: Embedding) -> None:
    rows = clustering_rows(Panel(original, original, original.words[2:], GENDER))
    assert [row.value for row in rows] == [None, None]
    assert all("750 words a side needed" in row.details["reason"] for row in rows)


def test_k_means_runs_in_one_blas_thread(words: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two, on a busy machine of two cores, took eleven times as long."""
    seen: list[int] = []

    def watched(self: KMeans, x: Any) -> Any:
        seen.extend(f["num_threads"] for f in threadpool_info() if f["user_api"] == "blas")
        return self.fit(x).labels_

    monkeypatch.setattr(KMeans, "fit_predict", watched)
    with blas_threads(2):
        clustering(*words, seeds=1, n_init=1)
    assert set(seen) == {1}
