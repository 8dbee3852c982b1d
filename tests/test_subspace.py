"""The subspace against theorems, sklearn's PCA and numpy's eigh of the differences themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from wordbias.data import sample_path
from wordbias.errors import WordbiasError
from wordbias.measures import direct_bias, midb, midb_of_words
from wordbias.methods.misp import Projection
from wordbias.subspace import Subspace, orient, read_subspace

Matrix = NDArray[np.float64]
EPS = np.finfo(float).eps
some = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 2**32 - 1)


class Two(NamedTuple):
    """Two groups, other vectors, and a bound on the relative rounding of sums over them."""

    first: Matrix
    second: Matrix
    words: Matrix
    rounding: float


def _two(seed: int, n: int, m: int, d: int) -> Two:
    rng = np.random.default_rng(seed)
    spread = rng.uniform(0.5, 2, d)  # unequal variances keep the components apart
    first = rng.normal(size=(n, d)) * spread + rng.normal(size=d)
    second = rng.normal(size=(m, d)) * spread
    return Two(first, second, rng.normal(size=(6, d)) * 3, 4 * n * m * d * EPS)


two = st.builds(_two, seeds, n=st.integers(4, 8), m=st.integers(4, 8), d=st.integers(3, 6))


def _differences(first: Matrix, second: Matrix) -> Matrix:
    return (first[:, None] - second[None]).reshape(-1, first.shape[1])


def _moment(rows: Matrix, centre: bool) -> Matrix:
    if centre:
        rows = rows - rows.mean(0)
    return rows.T @ rows / len(rows)


def _rounding_of_directions(moment: Matrix, rounding: float, k: int) -> Matrix:
    """Davis-Kahan: an eigenvector turns by at most the error over the gap to its neighbours."""
    values = np.linalg.eigvalsh(moment)[::-1]
    gaps = np.abs(np.subtract.outer(values, values)) + np.diag(np.full(len(values), np.inf))
    gap = gaps.min(axis=1)[:k]
    assume(gap.min() > 1e-4 * values[0])
    return 4 * rounding * values[0] / gap


@some
@given(groups=two, centre=st.booleans())
def test_moments_of_all_differences_are_those_of_the_groups(groups: Two, centre: bool) -> None:
    f, m, _, rounding = groups
    delta = f.mean(0) - m.mean(0)
    closed = np.cov(f.T, bias=True) + np.cov(m.T, bias=True)
    closed += 0 if centre else np.outer(delta, delta)
    materialised = _moment(_differences(f, m), centre)
    bound = rounding * np.trace(materialised)
    np.testing.assert_allclose(closed, materialised, rtol=0, atol=bound)
    whole = Subspace.from_groups(f, m, f.shape[1], centre=centre)
    rebuilt = (whole.basis.T * whole.weights) @ whole.basis * np.trace(materialised)
    np.testing.assert_allclose(rebuilt, materialised, rtol=0, atol=bound)


@some
@given(groups=two)
def test_centred_fit_is_sklearns_pca_of_all_differences(groups: Two) -> None:
    f, m, _, rounding = groups
    rows = _differences(f, m)
    turn = _rounding_of_directions(_moment(rows, centre=True), rounding, 2)
    with np.errstate(all="ignore"):
        pca = PCA(2, svd_solver="full").fit(rows)
    fitted = Subspace.from_groups(f, m, 2, centre=True)
    signs = np.sign((fitted.basis * pca.components_).sum(1))
    off = np.linalg.norm(fitted.basis - signs[:, None] * pca.components_, axis=1)
    assert (off <= turn).all()
    np.testing.assert_allclose(fitted.weights, pca.explained_variance_ratio_, rtol=0, atol=rounding)


@some
@given(groups=two)
def test_uncentred_fit_is_the_eigenbasis_of_the_second_moment(groups: Two) -> None:
    f, m, _, rounding = groups
    moment = _moment(_differences(f, m), centre=False)
    turn = _rounding_of_directions(moment, rounding, 2)
    values, vectors = np.linalg.eigh(moment)
    expected = vectors[:, ::-1].T[:2]
    fitted = Subspace.from_groups(f, m, 2, centre=False)
    signs = np.sign((fitted.basis * expected).sum(1))
    assert (np.linalg.norm(fitted.basis - signs[:, None] * expected, axis=1) <= turn).all()
    both = np.concatenate([_differences(f, m), _differences(m, f)])  # each with its mirror image
    np.testing.assert_allclose(
        _moment(both, centre=True), moment, rtol=0, atol=rounding * values[-1]
    )
    assert (Subspace.from_groups(f, m, 2).basis == fitted.basis).all()  # and so by default
    shares = values[::-1][:2] / values.sum()
    np.testing.assert_allclose(fitted.weights, shares, rtol=0, atol=rounding)


@some
@given(groups=two, centre=st.booleans())
def test_weights_are_shares_of_the_total_variance(groups: Two, centre: bool) -> None:
    f, m, _, rounding = groups
    few = Subspace.from_groups(f, m, 2, centre=centre)
    all_ = Subspace.from_groups(f, m, f.shape[1], centre=centre)
    assert few.weights.tolist() == all_.weights[:2].tolist()
    assert abs(all_.weights.sum() - 1) <= rounding
    assert few.weights.sum() < 1 - all_.weights[2:].sum() + rounding
    assert (np.diff(all_.weights) <= 0).all()


@some
@given(seed=seeds, n=st.integers(2, 5), m=st.integers(2, 5))
def test_centred_differences_span_two_dimensions_less_than_there_are_words(
    seed: int, n: int, m: int
) -> None:
    f, m_, _, _ = _two(seed, n, m, 20)
    assert Subspace.from_groups(f, m_, n + m - 2, centre=True).dims == n + m - 2
    with pytest.raises(WordbiasError, match=f"span {n + m - 2} of 20 dimensions"):
        Subspace.from_groups(f, m_, n + m - 1, centre=True)
    assert Subspace.from_groups(f, m_, n + m - 1, centre=False).dims == n + m - 1
    with pytest.raises(WordbiasError, match=f"span {n + m - 1} of 20"):
        Subspace.from_groups(f, m_, n + m, centre=False)


def test_the_rank_does_not_grow_by_rounding_when_the_groups_lie_far_from_zero() -> None:
    f, m, _, _ = _two(0, 3, 3, 20)
    with pytest.raises(WordbiasError, match="span 4 of 20"):
        Subspace.from_groups(f + 1e6, m + 1e6, 5, centre=True)


def test_groups_that_do_not_vary_are_refused() -> None:
    same = np.full((3, 4), 0.1)  # in float64, the mean of three 0.1 is not 0.1
    with pytest.raises(WordbiasError, match="span 0 of 4"):
        Subspace.from_groups(same, same, 1)


@some
@given(groups=two, centre=st.booleans())
def test_directions_point_to_the_first_group(groups: Two, centre: bool) -> None:
    f, m, _, _ = groups
    delta = f.mean(0) - m.mean(0)
    assert (Subspace.from_groups(f, m, 3, centre=centre).basis @ delta >= 0).all()
    assert (Subspace.from_groups(m, f, 3, centre=centre).basis @ delta <= 0).all()


def test_without_a_difference_the_largest_coordinate_is_positive() -> None:
    spread = np.array([[3.0, 0, 0], [-3, 0, 0], [0, -1, 0], [0, 1, 0]])
    fitted = Subspace.from_groups(spread, spread[::-1], 2)
    np.testing.assert_array_equal(fitted.basis, [[1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(("cosine", "sign"), [(-0.9e-6, 1), (-1.1e-6, -1), (1.1e-6, 1), (0, 1)])
def test_an_inner_product_within_rounding_of_zero_does_not_decide(cosine: float, sign: int) -> None:
    towards = 7 * np.array([cosine, np.sqrt(1 - cosine**2)])
    assert orient(np.array([[1.0, 0.0]]), towards).tolist() == [[sign, 0]]
    assert orient(np.array([[-1.0, 0.0]]), towards).tolist() == [[sign, 0]]


def test_a_vector_within_its_rounding_does_not_decide() -> None:
    basis, towards = np.array([[1.0, 0.0], [0, -1]]), np.array([-1e-7, -1e-7])
    assert orient(basis, towards).tolist() == [[-1, 0], [0, -1]]
    assert orient(basis, towards, 1e-7).tolist() == [[-1, 0], [0, -1]]
    assert orient(basis, towards, 1e-6).tolist() == [[1, 0], [0, 1]]
    # a mean difference of float32 rounding, 1e-9 along the first coordinate
    spread = np.array([[3.0, 0, 0], [-3, 0, 0], [0, -1, 0], [0, 1, 0]], np.float32)
    shifted = spread - np.array([-1e-9, 1e-9, 0], np.float32)
    fitted = Subspace.from_groups(spread, shifted, 2)
    np.testing.assert_allclose(fitted.basis, [[1, 0, 0], [0, 1, 0]], atol=1e-8)


@some
@given(groups=two, centre=st.booleans())
def test_misp_has_the_eigenvalues_one_minus_weight(groups: Two, centre: bool) -> None:
    f, m, _, rounding = groups
    d = f.shape[1]
    fitted = Subspace.from_groups(f, m, 2, centre=centre)
    matrix = fitted.remove(np.eye(d))
    np.testing.assert_allclose(matrix, matrix.T, rtol=0, atol=rounding)
    expected = np.sort([*(1 - fitted.weights), *np.ones(d - 2)])
    np.testing.assert_allclose(
        np.linalg.eigvalsh((matrix + matrix.T) / 2), expected, rtol=0, atol=rounding
    )
    twice = np.linalg.norm(matrix @ matrix - matrix, 2)
    a = fitted.weights
    assert abs(twice - (a * (1 - a)).max()) <= rounding  # not idempotent unless a is 0 or 1


@some
@given(groups=two, s=st.floats(-10, 10), t=st.floats(-10, 10), hard=st.booleans())
def test_removal_is_linear(groups: Two, s: float, t: float, hard: bool) -> None:
    f, m, x, rounding = groups
    fitted = Subspace.from_groups(f, m, 2)
    together = fitted.remove(s * x[0] + t * x[1], hard)
    apart = s * fitted.remove(x[0], hard) + t * fitted.remove(x[1], hard)
    bound = rounding * (abs(s) + abs(t)) * np.abs(x).max()
    least = 100 * np.finfo(float).smallest_subnormal  # what so small a sum is rounded by
    np.testing.assert_allclose(together, apart, rtol=0, atol=bound + least)


@some
@given(groups=two, centre=st.booleans())
def test_midb_after_one_pass(groups: Two, centre: bool) -> None:
    f, m, x, rounding = groups
    fitted = Subspace.from_groups(f, m, 3, centre=centre)
    a = fitted.weights
    expected = [sum(a * (1 - a) * [g @ word for g in fitted.basis]) for word in x]
    got = midb_of_words(fitted.remove(x), fitted)
    np.testing.assert_allclose(got, expected, rtol=0, atol=rounding * np.abs(x).max())


@some
@given(groups=two, centre=st.booleans())
def test_hard_removal_is_idempotent_and_leaves_no_coordinate(groups: Two, centre: bool) -> None:
    f, m, x, rounding = groups
    fitted = Subspace.from_groups(f, m, 3, centre=centre)
    once = Projection(fitted, hard=True)(x)
    bound = rounding * np.abs(x).max()
    np.testing.assert_allclose(fitted.coordinates(once), 0, rtol=0, atol=bound)
    np.testing.assert_allclose(Projection(fitted, hard=True)(once), once, rtol=0, atol=bound)


@some
@given(groups=two)
def test_a_flip_changes_signed_midb_and_neither_misp_nor_midb_rms(groups: Two) -> None:
    f, m, x, rounding = groups
    fitted = Subspace.from_groups(f, m, 2)
    flipped = Subspace(fitted.basis * [[-1.0], [1.0]], fitted.weights)
    np.testing.assert_array_equal(fitted.remove(x), flipped.remove(x))
    before, after = midb(x, fitted), midb(x, flipped)
    assert before.rms == after.rms
    along = 2 * fitted.weights[0] * (x @ fitted.basis[0]).mean()
    bound = rounding * np.abs(x).max()
    assert abs(before.signed - after.signed - along) <= bound


@some
@given(groups=two, centre=st.booleans(), seed=seeds)
def test_a_rotation_of_all_vectors_changes_no_value(groups: Two, centre: bool, seed: int) -> None:
    f, m, x, rounding = groups
    turn = _rounding_of_directions(_moment(_differences(f, m), centre), rounding, 2)
    delta = f.mean(0) - m.mean(0)
    fitted = Subspace.from_groups(f, m, 2, centre=centre)
    cosines = fitted.basis @ delta / np.linalg.norm(delta)
    assume(np.abs(cosines).min() > 1e-5)  # on a tie the coordinates decide, by definition
    d = f.shape[1]
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
    turned = Subspace.from_groups(f @ q, m @ q, 2, centre=centre)
    off = np.linalg.norm(turned.basis - fitted.basis @ q, axis=1)
    assert (off <= 2 * turn).all()
    np.testing.assert_allclose(turned.weights, fitted.weights, rtol=0, atol=2 * rounding)
    length = np.linalg.norm(x, axis=1).max()
    bound = 8 * (turn.sum() + rounding) * length
    np.testing.assert_allclose(turned.remove(x @ q), fitted.remove(x) @ q, rtol=0, atol=bound)
    np.testing.assert_allclose(
        midb(x @ q, turned),
        midb(x, fitted),
        rtol=0,
        atol=bound,
    )
    there, here = direct_bias(x @ q, delta @ q), direct_bias(x, delta)
    assert abs(there - here) <= rounding


@some
@given(groups=two, centre=st.booleans(), seed=seeds)
def test_the_order_of_the_words_does_not_matter(groups: Two, centre: bool, seed: int) -> None:
    f, m, x, rounding = groups
    turn = _rounding_of_directions(_moment(_differences(f, m), centre), rounding, 2)
    rng = np.random.default_rng(seed)
    fitted = Subspace.from_groups(f, m, 2, centre=centre)
    shuffled = Subspace.from_groups(rng.permutation(f), rng.permutation(m), 2, centre=centre)
    assume(np.abs(fitted.basis @ (f.mean(0) - m.mean(0))).min() > 1e-5)
    assert (np.linalg.norm(shuffled.basis - fitted.basis, axis=1) <= 2 * turn).all()
    bound = 4 * rounding * np.abs(x).max()
    got = midb(rng.permutation(x), fitted)
    np.testing.assert_allclose(got, midb(x, fitted), rtol=0, atol=bound)


@some
@given(seed=seeds, n=st.integers(3, 10), d=st.integers(3, 8))
def test_pairs_are_fitted_as_debiaswe_does(seed: int, n: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n, d)) + rng.normal(size=(2, 1, d))
    centre = (a + b) / 2
    stacked = np.concatenate([a - centre, b - centre])
    k = min(3, n, d)
    rounding = 4 * n * d * EPS
    turn = _rounding_of_directions(_moment(stacked, centre=True), rounding, k)
    with np.errstate(all="ignore"):
        pca = PCA(k, svd_solver="full").fit(stacked)
    fitted = Subspace.from_pairs(a, b, k)
    signs = np.sign((fitted.basis * pca.components_).sum(1))
    off = np.linalg.norm(fitted.basis - signs[:, None] * pca.components_, axis=1)
    assert (off <= turn).all()
    np.testing.assert_allclose(fitted.weights, pca.explained_variance_ratio_, rtol=0, atol=rounding)
    assert fitted.basis[0] @ (a - b).mean(0) > 0


def test_one_pair_gives_its_own_direction() -> None:
    fitted = Subspace.from_pairs([[3.0, 4.0]], [[0.0, 0.0]])
    np.testing.assert_allclose(fitted.basis, [[0.6, 0.8]], rtol=4 * EPS)
    assert fitted.weights.tolist() == [1]
    with pytest.raises(WordbiasError, match="span 1 of 2"):
        Subspace.from_pairs([[3.0, 4.0]], [[0.0, 0.0]], 2)


def test_a_direction_of_any_length_is_a_subspace() -> None:
    fitted = Subspace.from_direction([0, -3, 4], 0.25)
    np.testing.assert_allclose(fitted.basis, [[0, -0.6, 0.8]], rtol=4 * EPS)
    np.testing.assert_allclose(fitted.remove(np.array([1.0, -3, 4])), [1, -2.25, 3], rtol=8 * EPS)
    with pytest.raises(WordbiasError, match="must not be zero"):
        Subspace.from_direction([0.0, 0.0])


@pytest.mark.parametrize("make", [Subspace.from_groups, Subspace.from_pairs])
def test_fitting_never_changes_the_arrays_it_is_given(make: Any) -> None:
    f, m, _, _ = _two(1, 5, 5, 4)
    copies = f.copy(), m.copy()
    for array in (f, m):
        array.flags.writeable = False
    make(f, m, 2)
    np.testing.assert_array_equal([f, m], copies)


@pytest.mark.parametrize("hard", [False, True])
def test_removal_never_changes_what_it_is_given(hard: bool) -> None:
    f, m, x, _ = _two(1, 5, 5, 4)
    fitted = Subspace.from_groups(f, m, 2)
    copy, basis, weights = x.copy(), fitted.basis.copy(), fitted.weights.copy()
    for array in (x, fitted.basis, fitted.weights):
        array.flags.writeable = False
    assert not np.shares_memory(fitted.remove(x, hard), x)
    np.testing.assert_array_equal(x, copy)
    np.testing.assert_array_equal(fitted.basis, basis)
    np.testing.assert_array_equal(fitted.weights, weights)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("hard", [False, True])
def test_the_result_has_the_type_and_precision_of_the_vectors(dtype: Any, hard: bool) -> None:
    f, m, x, _ = _two(3, 9, 9, 30)
    projection = Projection(Subspace.from_groups(f, m, 4), hard)
    given_ = x.astype(dtype)
    got = projection(given_)
    assert got.dtype == dtype
    exact = projection.subspace.remove(given_.astype(float), hard)
    bound = (30 + 4 + 4) * np.finfo(dtype).eps * np.linalg.norm(x, axis=1).max() * 4
    np.testing.assert_allclose(got.astype(float), exact, rtol=0, atol=bound)


def test_single_vectors_and_stacks_are_rows_too() -> None:
    f, m, x, _ = _two(3, 5, 5, 4)
    fitted = Subspace.from_groups(f, m, 2)
    bound = 64 * EPS * np.abs(x).max()
    np.testing.assert_allclose(fitted.remove(x[0]), fitted.remove(x)[0], rtol=0, atol=bound)
    stack = fitted.remove(x.reshape(2, 3, 4))
    np.testing.assert_allclose(stack.reshape(6, 4), fitted.remove(x), rtol=0, atol=bound)


@pytest.mark.parametrize(
    ("basis", "weights", "message"),
    [
        ([[1.0, 0], [1, 0]], [0.5, 0.5], "2 rows of the basis are not orthonormal"),
        ([[2.0, 0]], [0.5], "not orthonormal"),
        ([[1.0, np.nan]], [0.5], "not orthonormal"),
        ([[1.0, 0]], [1.5], r"lie in \[0, 1\], got \[1.5\]"),
        ([[1.0, 0]], [-0.1], r"lie in \[0, 1\]"),
        ([[1.0, 0]], [np.nan], r"lie in \[0, 1\]"),
        ([[1.0, 0]], [0.5, 0.5], r"got \(1, 2\) and \(2,\)"),
        ([1.0, 0], [0.5], r"expected a basis of shape \(k, d\)"),
        (np.zeros((0, 2)), [], r"expected a basis of shape \(k, d\)"),
    ],
)
def test_what_is_no_subspace_is_refused(basis: Any, weights: Any, message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        Subspace(np.array(basis, float), np.array(weights, float))


@pytest.mark.parametrize("bad", [np.ones((1, 3)), np.ones(3), np.ones((0, 3))])
def test_a_group_of_one_word_is_refused(bad: Matrix) -> None:
    with pytest.raises(WordbiasError, match="at least two vectors"):
        Subspace.from_groups(bad, np.eye(3), 1)


@pytest.mark.parametrize("dims", [0, -1, 99])
def test_an_impossible_number_of_components_is_refused(dims: int) -> None:
    f, m, _, _ = _two(0, 5, 5, 4)
    with pytest.raises(WordbiasError, match=f"{dims} components cannot be fitted"):
        Subspace.from_groups(f, m, dims)


def test_a_list_is_checked_like_an_array() -> None:
    with pytest.raises(WordbiasError, match=r"lie in \[0, 1\]"):
        Subspace([[1.0, 0.0]], [1.5])


@pytest.mark.parametrize("second", [np.eye(2, 3), np.eye(1, 3), np.eye(3, 2)])
def test_pairs_that_do_not_match_are_refused(second: Matrix) -> None:
    with pytest.raises(WordbiasError, match="shape"):
        Subspace.from_pairs(np.eye(3) * 2, second)


def test_groups_of_different_dimensions_are_refused() -> None:
    with pytest.raises(WordbiasError, match=r"shape|dimensions"):
        Subspace.from_groups(np.eye(3), np.eye(4), 1)


def test_a_saved_subspace_comes_back_bit_for_bit(tmp_path: Path) -> None:
    f, m, _, _ = _two(0, 5, 6, 7)
    subspace = Subspace.from_groups(f, m, 3)
    subspace.save(tmp_path / "s.safetensors")
    loaded = read_subspace(tmp_path / "s.safetensors")
    assert (loaded.basis == subspace.basis).all()
    assert (loaded.weights == subspace.weights).all()


def test_what_is_no_subspace_is_not_loaded(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="cannot be read as a subspace"):
        read_subspace(tmp_path / "absent.safetensors")
    (tmp_path / "text").write_text("none of it")
    with pytest.raises(WordbiasError, match="cannot be read as a subspace"):
        read_subspace(tmp_path / "text")
    with pytest.raises(WordbiasError, match="holds an embedding, but no subspace"):
        read_subspace(sample_path())


@some
@given(seeds)
def test_sets_of_two_are_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 6, 5)) * np.array([3, 2, 1, 0.5, 0.1])
    pairs = Subspace.from_pairs(a, b, 2)
    sets = Subspace.from_sets(list(np.stack([a, b], axis=1)), 2)
    np.testing.assert_allclose(sets.weights, pairs.weights, atol=1e-10)
    np.testing.assert_allclose(sets.basis, pairs.basis, atol=1e-6)


def test_sets_span_what_their_members_differ_in() -> None:
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(3, 6)) for _ in range(4)]
    fitted = Subspace.from_sets(sets, 3)
    centred = np.concatenate([x - x.mean(0) for x in sets])
    peer = PCA(3, svd_solver="full").fit(centred)  # the rows' mean is zero
    np.testing.assert_allclose(np.abs((fitted.basis * peer.components_).sum(1)), 1, rtol=1e-10)
    np.testing.assert_allclose(fitted.weights, peer.explained_variance_ratio_, rtol=1e-10)


@pytest.mark.parametrize("sets", [[], [np.ones((1, 3))], [np.ones((2, 3)), np.ones((2, 4))]])
def test_sets_must_be_sets(sets: list[Matrix]) -> None:
    with pytest.raises(WordbiasError, match="expected sets of at least two vectors"):
        Subspace.from_sets(sets, 1)
