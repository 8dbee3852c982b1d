"""Double-hard debiasing against its recipe written out, its theorems, and what peers left out."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sklearn.cluster  # noqa: F401  only libraries that are loaded are bound to one thread
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import examples

from wordbias import Attribute, Embedding, WordbiasError, devices
from wordbias.methods import double_hard
from wordbias.methods.double_hard import Candidate, Leaning, fit, try_component, two_means
from wordbias.methods.fitted import Fitted
from wordbias.methods.words import Pairs, pair_vectors
from wordbias.subspace import Subspace

Matrix = NDArray[np.float64]
EPS, EPS32 = (float(np.finfo(kind).eps) for kind in (float, np.float32))
SMALL = {"candidates": 8, "per_side": 500}


@pytest.fixture(scope="module")
def fitted(sample: Embedding) -> Fitted:
    return fit(sample, **SMALL)


@pytest.fixture
def toy() -> Embedding:
    """Words of letters, the first two of them far apart along the first axis."""
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(26 * 26, 6)) * [3, 2.5, 2, 1.5, 1, 0.5] + rng.normal(size=6)
    vectors[:2] = [[4, 1, 0, 0, 0, 1], [-4, 1, 1, 0, 0, 0]]
    letters = "abcdefghijklmnopqrstuvwxyz"
    return Embedding([a + b for a in letters for b in letters], vectors, "toy")


@pytest.fixture
def two() -> Attribute:
    pairs = (("aa", "ab"), ("ac", "ad"))
    return Attribute("side", ("l", "r"), (("aa", "ac"), ("ab", "ad")), pairs, (), pairs[0])


def _first_component(pairs: list[tuple[Matrix, Matrix]]) -> Matrix:
    from sklearn.decomposition import PCA

    rows = []
    for a, b in pairs:
        rows += [a - (a + b) / 2, b - (a + b) / 2]
    return np.array(PCA(1).fit(np.array(rows)).components_[0])


def _recipe(
    embedding: Embedding, attribute: Attribute, candidates: int, per_side: int
) -> tuple[int, Matrix]:
    """Wang et al. (2020), with all of sklearn's PCA, its k-means, and a loop over words."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA

    w = {word: embedding[word].astype(float) for word in embedding.words}
    components = PCA(svd_solver="full").fit(np.array(list(w.values()))).components_
    mean = sum(w.values()) / len(w)
    axis = w[attribute.direction[0]] - w[attribute.direction[1]]  # type: ignore[index]
    specific = {word.lower() for word in attribute.specific}
    neutral = [v for v in list(w)[:50_000] if v.isalpha() and v.lower() not in specific]
    ranked = sorted(neutral, key=lambda v: w[v] @ axis / np.linalg.norm(w[v]))
    biased = ranked[:per_side] + ranked[-per_side:]
    truth = np.repeat([0, 1], per_side)

    def purified(word: str, k: int) -> Matrix:
        return np.array(w[word] - (w[word] @ components[k]) * components[k] - mean)

    def direction(k: int) -> Matrix:
        return _first_component([(purified(a, k), purified(b, k)) for a, b in attribute.pairs])

    def debiased(word: str, k: int, g: Matrix) -> Matrix:
        return np.array(purified(word, k) - (purified(word, k) @ g) * g)

    shares = []
    for k in range(candidates):
        g = direction(k)
        rows = np.array([debiased(word, k, g) for word in biased])
        clusters = KMeans(2, n_init=10, random_state=1).fit_predict(rows)
        right = (clusters == truth).mean()
        shares.append(max(right, 1 - right))
    best = int(np.argmin(shares))
    g = direction(best)
    return best, np.array([debiased(word, best, g) for word in w])


@pytest.mark.usefixtures("one_thread")
def test_it_is_its_recipe_on_every_word(
    sample: Embedding, gender: Attribute, fitted: Fitted
) -> None:
    best, expected = _recipe(sample, gender, **SMALL)
    assert [row.details["candidate"] for row in fitted.found if row.details["chosen"]] == [best]
    longest = np.linalg.norm(sample.vectors, axis=1).max()
    bound = 3 * (sample.dim + 3) * EPS32 * longest  # three steps in float32, sums of d terms each
    np.testing.assert_allclose(fitted(sample).vectors, expected, rtol=0, atol=bound)


def test_all_words_change_not_only_the_biased_ones(sample: Embedding, fitted: Fitted) -> None:
    after = fitted(sample).vectors
    assert (after != sample.vectors).any(axis=1).all()
    assert fitted.reach(sample.words) == (len(sample), 0, 0)
    assert np.abs(after.mean(0)).max() < np.abs(sample.vectors.mean(0)).max()


def test_nothing_is_left_along_the_direction_and_one_value_along_the_component(
    sample: Embedding, fitted: Fitted
) -> None:
    component, shift, direction = fitted.steps
    p, g = component.subspace.basis[0], direction.subspace.basis[0]  # type: ignore[attr-defined]
    after = fitted(sample).vectors.astype(float)
    longest = np.linalg.norm(sample.vectors, axis=1).max()
    bound = 3 * (sample.dim + 3) * EPS32 * longest
    assert np.abs(after @ g).max() < bound
    mean = shift.vector  # type: ignore[attr-defined]
    # the component is taken off the vector itself, and then the mean, which has its own
    np.testing.assert_allclose(after @ p, -(mean @ p), rtol=0, atol=bound)
    np.testing.assert_allclose(mean, sample.vectors.astype(float).mean(0), atol=1e3 * EPS)


def test_the_direction_is_estimated_anew_without_the_component(
    sample: Embedding, gender: Attribute, fitted: Fitted
) -> None:
    p, _, g = (getattr(step, "subspace", None) for step in fitted.steps)
    assert p is not None
    assert g is not None
    pairs = pair_vectors(sample, gender, gender.pairs, "test")
    before = Subspace.from_pairs(pairs.first, pairs.second).basis[0]
    orthogonal = sample.dim * EPS
    assert abs(g.basis[0] @ p.basis[0]) < orthogonal
    assert abs(before @ p.basis[0]) > 1e6 * orthogonal


def test_the_candidate_with_the_lowest_accuracy_is_chosen(
    sample: Embedding, fitted: Fitted
) -> None:
    values = [row.value for row in fitted.found]
    best = values.index(min(values))  # type: ignore[type-var]
    assert [row.details["candidate"] for row in fitted.found] == list(range(8))
    assert [row.details["chosen"] for row in fitted.found] == [k == best for k in range(8)]
    for row in fitted.found:
        assert (row.subject, row.measure) == (sample.name, "clustering-accuracy")
        assert {key: row.details[key] for key in ("n", "neutral", "better")} == {
            "n": 1000,
            "neutral": 0.5,
            "better": "lower",
        }


def test_a_candidate_is_clustered_without_its_component_and_without_its_direction() -> None:
    """Without both, what is left of these words is two heaps that know nothing of the labels."""
    rng = np.random.default_rng(0)
    labels, heap = (np.repeat(part, 50) for part in ([True, True, False, False], [1, -1, 1, -1]))
    leans = np.where(labels, 1, -1)
    x = np.column_stack([40 * leans, 20 * leans, 10 * heap, rng.normal(size=200)])
    first = np.array([[1.0, 3, 0, 0], [2, 3, 0, 0]])
    pairs = Pairs((("a", "b"), ("c", "d")), first, -first)  # type: ignore[arg-type]
    by_component = Subspace.from_direction(np.eye(4)[0])
    got = try_component(by_component, pairs, Leaning(x, labels))  # type: ignore[arg-type]
    assert got.component is by_component
    np.testing.assert_allclose(got.direction.basis, np.eye(4)[1:2], atol=10 * EPS)
    assert got.accuracy == 0.5
    by_other = Subspace.from_direction(np.eye(4)[3])
    assert try_component(by_other, pairs, Leaning(x, labels)).accuracy == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("accuracies", "chosen"), [([0.7, 0.6, 0.6], 1), ([0.5] * 3, 0), ([0.9, 0.8, 0.7], 2)]
)
def test_of_equals_the_first_is_chosen(
    toy: Embedding,
    two: Attribute,
    monkeypatch: pytest.MonkeyPatch,
    accuracies: list[float],
    chosen: int,
) -> None:
    components: list[Subspace] = []

    def try_component(component: Subspace, *_: Any) -> Candidate:
        components.append(component)
        return Candidate(component, component, accuracies[len(components) - 1])

    monkeypatch.setattr(double_hard, "try_component", try_component)
    monkeypatch.setattr(double_hard, "ordered_map", map)
    got = fit(toy, two, candidates=3, per_side=50)
    assert got.steps[0].subspace is components[chosen]  # type: ignore[attr-defined]


def test_the_candidates_are_the_principal_components_of_all_words(
    toy: Embedding, two: Attribute
) -> None:
    x = toy.vectors.astype(float)
    _, s, vt = np.linalg.svd(x - x.mean(0), full_matrices=False)
    seen = []
    for k in range(1, 7):
        rows = fit(toy, two, candidates=k, per_side=50).found
        seen.append([row.value for row in rows])
    assert all(values == seen[-1][: len(values)] for values in seen)
    p = fit(toy, two, candidates=1, per_side=50).steps[0].subspace  # type: ignore[attr-defined]
    assert abs(p.basis[0] @ vt[0]) == pytest.approx(1, abs=1e3 * EPS)
    assert p.weights[0] == pytest.approx(s[0] ** 2 / (s**2).sum(), rel=1e3 * EPS)


def test_a_permuted_and_mirrored_space_is_debiased_alike(toy: Embedding, two: Attribute) -> None:
    rng = np.random.default_rng(0)
    order, signs = rng.permutation(6), rng.choice([-1, 1], 6)  # a rotation without rounding
    turned = toy.with_vectors(toy.vectors[:, order] * signs)
    arguments = {"candidates": 6, "per_side": 50}
    straight, other = fit(toy, two, **arguments), fit(turned, two, **arguments)
    expected = straight(toy).vectors[:, order] * signs
    bound = 3 * 9 * EPS32 * np.linalg.norm(toy.vectors, axis=1).max()
    np.testing.assert_allclose(other(turned).vectors, expected, rtol=0, atol=bound)
    values = [row.value for row in straight.found]
    assert values == pytest.approx([row.value for row in other.found], rel=10 * EPS)


def test_it_is_the_same_every_time_and_on_any_number_of_threads(
    toy: Embedding, two: Attribute
) -> None:
    results = []
    for count in (1, 2, 5, 5):
        devices.set_threads(count)
        results.append(fit(toy, two, candidates=6, per_side=50)(toy).vectors)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_settings_are_kept_as_json_can_hold_them(fitted: Fitted) -> None:
    assert json.loads(json.dumps(dict(fitted.settings))) == SMALL
    assert (fitted.name, fitted.warnings, fitted.exempt) == ("double-hard", (), frozenset())
    for row in fitted.found:
        json.dumps(row.to_dict())


def test_fewer_words_than_asked_are_used_with_a_warning(toy: Embedding, two: Attribute) -> None:
    got = fit(toy, two, candidates=3, per_side=5000)
    used = got.found[0].details["n"] // 2
    assert 50 <= used < 338
    assert got.warnings == (
        f"candidates were compared on {used} words a side, for no more lean to one",
    )


@pytest.mark.parametrize("per_side", [60, 5000])
def test_far_too_few_words_are_refused(toy: Embedding, two: Attribute, per_side: int) -> None:
    few = toy.subset(toy.words[:80])
    with pytest.raises(WordbiasError, match="toy: at least 50 words a side needed, but of"):
        fit(few, two, candidates=3, per_side=per_side)
    fit(few, two, candidates=3, per_side=10)  # unless a call needs few


@pytest.mark.parametrize("per_side", [0, -1])
def test_no_words_a_side_are_refused(toy: Embedding, two: Attribute, per_side: int) -> None:
    with pytest.raises(WordbiasError, match=f"at least 1 word a side, got {per_side}"):
        fit(toy, two, candidates=3, per_side=per_side)


@pytest.mark.parametrize("candidates", [0, -1, 7, 20])
def test_candidates_that_are_not_there_are_refused(
    toy: Embedding, two: Attribute, candidates: int
) -> None:
    message = rf"{candidates} candidates cannot be tried: toy varies along 6 comp.* 1 to 6 \(cand"
    with pytest.raises(WordbiasError, match=message):
        fit(toy, two, candidates=candidates)


def test_vectors_that_vary_in_a_plane_are_refused(toy: Embedding, two: Attribute) -> None:
    flat = toy.vectors.copy()
    flat[:, 2:] = 7
    with pytest.raises(
        WordbiasError, match=r"varies along 2 components; double-hard needs at least 3"
    ):
        fit(toy.with_vectors(flat), two, candidates=1)


def test_an_attribute_without_pairs_is_refused(toy: Embedding, two: Attribute) -> None:
    message = r"double-hard needs pairs .* differ in side alone.* has none; .*\[pairs\]"
    with pytest.raises(WordbiasError, match=message):
        fit(toy, replace(two, pairs=()))


def test_pairs_that_are_not_there_are_refused(toy: Embedding, two: Attribute) -> None:
    with pytest.raises(WordbiasError, match=r"toy: pairs for double-hard: 0 of 1 pairs found"):
        fit(toy, replace(two, pairs=(("she", "he"),)))


def test_pairs_without_a_difference_are_refused(toy: Embedding, two: Attribute) -> None:
    same = toy.vectors.copy()
    same[1], same[3] = same[0], same[2]
    with pytest.raises(WordbiasError, match="all 2 pairs for double-hard have equal vectors"):
        fit(toy.with_vectors(same), two)


def test_an_attribute_without_an_axis_is_refused(toy: Embedding, two: Attribute) -> None:
    with pytest.raises(WordbiasError, match="side has no pairs"):
        fit(toy, replace(two, direction=None), candidates=3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_word_of_no_list_that_is_not_finite_is_named(
    toy: Embedding, two: Attribute, value: float
) -> None:
    vectors = toy.vectors.copy()
    vectors[400, 2] = value
    with pytest.raises(WordbiasError, match=f"toy: the vector of '{toy.words[400]}' is not finite"):
        fit(toy.with_vectors(vectors), two, candidates=3)


def test_anything_but_an_embedding_is_refused() -> None:
    with pytest.raises(WordbiasError, match="expected an Embedding, got str"):
        fit("glove.txt")  # type: ignore[arg-type]


def _random(seed: int, n: int, d: int) -> Matrix:
    return np.random.default_rng(seed).normal(size=(n, d))


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 6))
def test_two_means_end_where_every_vector_is_nearest_to_its_own_mean(
    seed: int, n: int, d: int
) -> None:
    x = _random(seed, n, d)
    inside = two_means(x)
    assert 0 < inside.sum() < n
    means = np.array([x[~inside].mean(0), x[inside].mean(0)])
    distance = np.linalg.norm(x[:, None] - means, axis=2)
    own = distance[np.arange(n), inside.astype(int)]
    assert (own <= distance.min(1) + n * d * EPS * np.abs(x).max()).all()


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 6))
def test_two_means_are_no_worse_than_the_split_they_start_from(seed: int, n: int, d: int) -> None:
    x = _random(seed, n, d)

    def within(inside: NDArray[np.bool_]) -> float:
        return sum(float(((part - part.mean(0)) ** 2).sum()) for part in (x[inside], x[~inside]))

    centred = x - x.mean(0)
    start = centred @ np.linalg.svd(centred)[2][0] > 0
    assert within(two_means(x)) <= within(start) * (1 + n * d * EPS)


@pytest.mark.usefixtures("one_thread")
def test_two_means_are_those_of_sklearn_from_the_same_start(
    sample: Embedding, gender: Attribute
) -> None:
    from sklearn.cluster import KMeans

    x = sample.vectors[1000:2000].astype(float)
    centred = x - x.mean(0)
    side = centred @ np.linalg.svd(centred, full_matrices=False)[2][0] > 0
    start = np.array([x[side].mean(0), x[~side].mean(0)])
    expected = KMeans(2, init=start, n_init=1, tol=0).fit_predict(x) == 0
    got = two_means(x)
    assert (got == expected).all() or (got == ~expected).all()


def test_two_means_of_two_heaps_are_the_heaps() -> None:
    x = _random(0, 200, 5)
    x[:100] += 20
    got = two_means(x)
    assert got[:100].all() != got[100:].all()
    assert got[:100].any() != got[100:].any()


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_vectors_that_are_all_alike_are_one_cluster(value: float) -> None:
    assert len(set(two_means(np.full((8, 3), value)).tolist())) == 1
