"""Moments add up to those of all rows, whatever the shards, and give the fits of the rows."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import examples

import wordbias as wb
from wordbias import WordbiasError
from wordbias.calls import WordbiasWarning
from wordbias.methods.misp import fit_vectors
from wordbias.methods.rows import OF_MOMENTS, fit_moments, fit_rows
from wordbias.methods.transform import Projection
from wordbias.moments import Moments
from wordbias.subspace import Subspace

pytestmark = pytest.mark.usefixtures("one_thread")

Floats = NDArray[np.float64]


def labelled(
    n: int = 300, d: int = 8, k: int = 3, seed: int = 0, mean: float = 0.0
) -> tuple[Floats, NDArray[np.str_]]:
    """Return rows whose classes differ in their means, all about `mean`."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + mean
    x[:, : min(d, k)] += 2 * np.eye(k)[codes][:, : min(d, k)]
    return x, np.array(list("abcdefgh"))[codes]


def assert_same(one: Moments, other: Moments, rtol: float = 1e-10) -> None:
    """Compare up to `rtol`, and where it is not 0 up to rounding.

    A mean has the rounding error ε · size; the second moment has that times the deviations, whose
    sum over n rows is at most √(n · trace), for each block and for its merge.
    """
    assert (one.classes, one.unit) == (other.classes, other.unit)
    np.testing.assert_array_equal(one.counts, other.counts)
    size, trace = np.abs(other.means).max(), np.trace(_all(other))
    np.testing.assert_allclose(one.means, other.means, rtol=0, atol=rtol * size)
    rounding = 4 * np.finfo(float).eps * size * np.sqrt(other.n * trace) if rtol else 0
    atol = rtol * trace + rounding
    np.testing.assert_allclose(one.within, other.within, rtol=0, atol=atol)


def _all(moments: Moments) -> Floats:
    within: Floats = moments.within.sum(0) if moments.within.ndim == 3 else moments.within
    return within


def test_moments_are_what_numpy_computes() -> None:
    for k in (1, 2, 3, 5):
        x, y = labelled(k=k)
        moments = Moments.of(x, y)
        groups = [x[y == name] for name in moments.classes]
        assert moments.counts.tolist() == [len(group) for group in groups]
        np.testing.assert_allclose(moments.means, [group.mean(0) for group in groups], rtol=1e-12)
        covariances = np.array([len(group) * np.cov(group.T, bias=True) for group in groups])
        expected = covariances if k <= 2 else covariances.sum(0)
        np.testing.assert_allclose(moments.within, expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(moments.mean, x.mean(0), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(moments.covariance(), np.cov(x.T, bias=True), atol=1e-12)


@settings(deadline=None, max_examples=examples(60))
@given(st.data())
def test_any_division_into_shards_adds_up_to_the_whole(data: st.DataObject) -> None:
    k, d = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 6))
    n = data.draw(st.integers(k, 60))
    mean = data.draw(st.sampled_from([0.0, 1.0, 1e6]))
    x, y = labelled(n, d, k, seed=data.draw(st.integers(0, 5)), mean=mean)
    order = np.array(data.draw(st.permutations(range(n))))
    cuts = sorted(data.draw(st.lists(st.integers(1, max(1, n - 1)), max_size=6, unique=True)))
    parts = [part for part in np.split(order, cuts) if len(part)]
    merged = sum(Moments.of(x[part], y[part]) for part in parts)
    assert isinstance(merged, Moments)
    assert_same(merged, Moments.of(x, y), 1e-9)


def test_digits_are_kept_where_sums_of_squares_lose_them() -> None:
    x, y = labelled(k=2)
    far = x + 1e8
    moments = sum(Moments.of(far[i : i + 30], y[i : i + 30]) for i in range(0, 300, 30))
    assert isinstance(moments, Moments)
    expected = np.cov(far.T, bias=True)
    np.testing.assert_allclose(moments.covariance(), expected, rtol=0, atol=1e-6 * expected.max())
    squares = far.T @ far / len(far) - np.outer(far.mean(0), far.mean(0))
    assert np.abs(squares - expected).max() > 1e-2 * expected.max()


def test_blocks_within_one_call_are_added_too(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = labelled()
    whole = Moments.of(x, y)
    monkeypatch.setattr("wordbias.moments._NUMBERS", 8 * 7)
    assert_same(Moments.of(x, y), whole)


def test_they_are_pickled_and_the_rows_stay_as_they_are() -> None:
    x, y = labelled()
    before = x.copy()
    moments = Moments.of(x, y)
    np.testing.assert_array_equal(x, before)
    for copied in (pickle.loads(pickle.dumps(moments)), copy.deepcopy(moments)):
        assert_same(copied, moments, 0)
        assert copied.noise == moments.noise
    assert not moments.means.flags.writeable


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", OF_MOMENTS)
def test_a_fit_to_added_moments_is_the_fit_to_rows(name: str, k: int) -> None:
    x, y = labelled(k=k)
    unit = name == "hard"
    merged = sum(Moments.of(x[i::4], y[i::4], unit=unit) for i in range(4))
    assert isinstance(merged, Moments)
    from_moments = fit_moments(name, merged)
    from_rows = fit_rows(name, x, np.unique(y, return_inverse=True)[1])
    scale = np.abs(x).max()
    np.testing.assert_allclose(from_moments(x), from_rows(x), rtol=0, atol=1e-10 * scale)
    assert [step.kind for step in from_moments.steps] == [step.kind for step in from_rows.steps]


@pytest.mark.parametrize("centre", [False, True])
def test_misp_from_moments_is_that_of_all_pairwise_differences(centre: bool) -> None:
    """Against the definition: the principal components of every difference between two groups."""
    x, y = labelled(60, 6, 2)
    first, second = x[y == "a"], x[y == "b"]
    pairs = (first[:, None] - second[None]).reshape(-1, 6)
    pairs = pairs - pairs.mean(0) if centre else np.concatenate([pairs, -pairs])
    values, vectors = np.linalg.eigh(pairs.T @ pairs / len(pairs))
    (step,) = fit_moments("misp", Moments.of(x, y), {"dims": 3, "centre": centre}).steps
    subspace = step.subspace  # type: ignore[attr-defined]
    np.testing.assert_allclose(subspace.weights, values[::-1][:3] / values.sum(), rtol=1e-10)
    cosines = np.abs(np.einsum("kd,dk->k", subspace.basis, vectors[:, ::-1][:, :3]))
    np.testing.assert_allclose(cosines, 1, rtol=0, atol=1e-10)
    expected = fit_vectors([first, second], 3, centre=centre)
    np.testing.assert_allclose(subspace.basis, expected.basis, rtol=0, atol=1e-10)


def test_hard_is_fitted_to_rows_of_length_one() -> None:
    x, y = labelled(k=3)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    (projection, _) = fit_moments("hard", Moments.of(x, y, unit=True)).steps
    expected = Subspace.from_means([unit[y == name] for name in "abc"])
    np.testing.assert_allclose(projection(x), expected.remove(x, hard=True), atol=1e-12)


# several labels


def two_labels(n: int = 600, d: int = 10) -> tuple[Floats, NDArray[np.str_], NDArray[np.str_]]:
    """Return rows with two labels that are correlated, of two and of three classes."""
    rng = np.random.default_rng(3)
    first = rng.integers(2, size=n)
    second = np.where(rng.random(n) < 0.4, first, rng.integers(3, size=n))
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    x[:, :2] += 3 * np.eye(2)[first]
    x[:, 1:4] += 3 * np.eye(3)[second]
    return x, np.array(["f", "m"])[first], np.array(["p", "q", "r"])[second]


def gap(x: Floats, y: NDArray[Any]) -> float:
    means = np.stack([x[y == label].mean(0) for label in np.unique(y)])
    return float(np.ptp(means, axis=0).max())


def fit_both(name: str, **given: Any) -> Any:
    x, first, second = two_labels()
    if name == "inlp":
        codes = [np.unique(y, return_inverse=True)[1] for y in (first, second)]
        return fit_rows(name, x, codes, given)
    return fit_moments(
        name, [Moments.of(x, y, unit=name == "hard") for y in (first, second)], given
    )


@pytest.mark.skipif(
    importlib.util.find_spec("concept_erasure") is None, reason="concept-erasure not installed"
)
def test_leace_of_two_labels_is_that_of_their_one_hot_columns() -> None:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from concept_erasure import LeaceEraser
    x, first, second = two_labels()
    z = np.concatenate([(y[:, None] == np.unique(y)).astype(float) for y in (first, second)], 1)
    expected = LeaceEraser.fit(torch.tensor(x), torch.tensor(z), constrain_cov_trace=False)
    erased = fit_both("leace")(x)
    np.testing.assert_allclose(
        erased, expected(torch.tensor(x)).numpy(), rtol=0, atol=1e-7 * np.abs(x).max()
    )
    cross = (erased - erased.mean(0)).T @ (z - z.mean(0)) / len(x)
    assert np.abs(cross).max() < 1e-10 * np.abs(x).max()


@pytest.mark.parametrize("name", ["leace", "hard"])
def test_the_means_are_equal_by_both_labels_afterwards(name: str) -> None:
    x, first, second = two_labels()
    if name == "hard":
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    after = fit_both(name).steps[0](x)
    for y in (first, second):
        assert gap(after, y) < 1e-10 * np.abs(x).max()
        assert gap(x, y) > 0.01


def test_mhd_of_two_labels_is_one_after_the_other() -> None:
    x, first, second = two_labels()
    fitted = fit_both("mhd", dims=1)
    of_first = fit_moments("mhd", Moments.of(x, first), {"dims": 1})
    both = fit_moments("mhd", Moments.of(of_first(x), second), {"dims": 1})
    np.testing.assert_allclose(fitted(x), both(of_first(x)), rtol=0, atol=1e-9 * np.abs(x).max())
    bases = [step.subspace.basis[0] for step in fitted.steps]
    assert abs(bases[0] @ bases[1]) < 1e-10


def test_misp_of_two_labels_fits_the_second_to_what_the_first_left() -> None:
    x, first, second = two_labels()
    of_first = fit_moments("misp", Moments.of(x, first))
    both = fit_moments("misp", Moments.of(of_first(x), second))
    np.testing.assert_allclose(
        fit_both("misp")(x), both(of_first(x)), rtol=0, atol=1e-9 * np.abs(x).max()
    )


def test_inlp_of_two_labels_leaves_neither() -> None:
    from wordbias.methods.linear_classifiers import balanced_accuracy, predicted, scores

    x, first, second = two_labels()
    after = fit_both("inlp")(x)
    for y, most in ((first, 0.56), (second, 0.42)):
        codes = np.unique(y, return_inverse=True)[1]
        before = balanced_accuracy(codes, predicted(scores("svm", x, codes, x)))
        assert balanced_accuracy(codes, predicted(scores("svm", after, codes, after))) < most
        assert before > most + 0.1


def test_inlp_of_two_labels_leaves_a_dimension() -> None:
    x, first, second = two_labels(d=5)
    codes = [np.unique(y, return_inverse=True)[1] for y in (second, first)]
    fitted = fit_rows("inlp", x, codes)
    assert 1e-3 < np.abs(fitted(x)).max() / np.abs(x).max() < 1
    assert any("one is left" in line for line in fitted.warnings)


def test_mhd_of_labels_that_take_all_dimensions_is_refused() -> None:
    x, first, second = two_labels(d=5)
    moments = [Moments.of(x, y) for y in (first, second)]
    with pytest.raises(WordbiasError, match="mhd: the components of 2 labels are together all 5 "):
        fit_moments("mhd", moments)
    assert np.abs(fit_moments("mhd", moments, {"dims": 2})(x)).max() > 1e-3


# estimators


@pytest.mark.parametrize("cls", [wb.LEACE, wb.MISP, wb.MHD, wb.Hard], ids=lambda cls: cls.__name__)
def test_estimators_take_moments_in_place_of_rows(cls: Any) -> None:
    x, y = labelled(k=3)
    moments = Moments.of(x, y, unit=cls is wb.Hard)
    from_moments, expected = cls().fit(moments), cls().fit(x, y)
    np.testing.assert_allclose(
        from_moments.transform(x), expected.transform(x), rtol=0, atol=1e-10 * np.abs(x).max()
    )
    assert from_moments.classes_.tolist() == expected.classes_.tolist()
    assert (from_moments.n_features_in_, from_moments.origin_.size) == (8, 300)
    twice = cls().fit([moments, moments])
    assert not hasattr(twice, "classes_")
    if cls is not wb.MISP:  # the others leave nothing that the same label could remove
        scale = np.abs(x).max()
        np.testing.assert_allclose(
            twice.transform(x), from_moments.transform(x), atol=1e-10 * scale
        )
    with pytest.raises(WordbiasError, match="moments have their labels already"):
        cls().fit(moments, y)


@pytest.mark.parametrize(
    ("cls", "rank", "k"),
    [(wb.LEACE, 3, 4), (wb.LEACE, 2, 6), (wb.MISP, 1, 2), (wb.MHD, 1, 2)],
)
def test_moments_and_rows_warn_alike_where_nothing_is_left(cls: Any, rank: int, k: int) -> None:
    """The means of the classes span all that varies, in four dimensions."""
    x, y = labelled(d=rank, k=k, mean=5.0)
    x = x @ np.random.default_rng(1).normal(size=(rank, 4))
    for fitted_to in ((x, y), (Moments.of(x, y),)):
        with pytest.warns(WordbiasWarning, match=f"{cls.__name__}: every direction in which"):
            cls().fit(*fitted_to)
    more, y = labelled(d=8, k=k)
    cls().fit(Moments.of(more, y))  # without a warning


def test_settings_reach_a_fit_to_moments() -> None:
    x, y = labelled(k=2)
    moments = Moments.of(x, y)
    assert wb.MISP(dims=2).fit(moments).fitted_.steps[0].subspace.dims == 2
    assert wb.MISP(dims=1, weights="0.5").fit(moments).fitted_.steps[0].subspace.weights == [0.5]
    orth = wb.LEACE(method="orth").fit(moments).transform(x)
    np.testing.assert_allclose(orth, wb.LEACE(method="orth").fit_transform(x, y), atol=1e-9)
    with pytest.raises(WordbiasError, match="groups= is for words"):
        wb.LEACE(groups="age").fit(moments)
    with pytest.raises(WordbiasError, match="needs words, which the rows"):
        wb.BAM().fit(moments)


# what is refused


def test_inlp_ends_at_the_chance_of_the_classes_that_are_held_out() -> None:
    """A class of one row is not held out: chance is then one half, not one third."""
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=2000)
    x = rng.normal(size=(2000, 40))
    x[:, 0] += 3 * codes
    codes[0] = 2
    (step,) = fit_rows("inlp", x, codes).steps
    assert isinstance(step, Projection)
    assert step.subspace.dims <= 3 * 3  # three directions a round


def test_inlp_says_that_it_needs_rows() -> None:
    with pytest.raises(WordbiasError, match="is fitted to rows, for which moments are not"):
        wb.INLP().fit(Moments.of(*labelled()))


def test_moments_of_other_rows_do_not_add_up() -> None:
    x, y = labelled()
    whole = Moments.of(x, y)
    for other in (Moments.of(x[:, 1:], y), Moments.of(x, y, unit=True)):
        with pytest.raises(WordbiasError, match="do not add up"):
            whole + other
    for other in (1, "a"):
        with pytest.raises(TypeError):
            whole + other  # type: ignore[operator]
    with pytest.raises(WordbiasError, match="must be of the same rows"):
        fit_moments("leace", [whole, Moments.of(x[:99], y[:99])])


def test_moments_for_hard_are_not_those_of_the_others() -> None:
    x, y = labelled()
    with pytest.raises(WordbiasError, match="hard: needs moments that were made with unit=True"):
        wb.Hard().fit(Moments.of(x, y))
    with pytest.raises(WordbiasError, match="leace: needs moments that were made without unit="):
        wb.LEACE().fit(Moments.of(x, y, unit=True))


def test_one_class_and_too_few_rows_are_refused() -> None:
    x, y = labelled()
    for name in OF_MOMENTS:
        with pytest.raises(WordbiasError, match="are of one class, 'a': expected two"):
            fit_moments(name, Moments.of(x, np.full(300, "a"), unit=name == "hard"))
    with pytest.raises(WordbiasError, match="two groups of at least two vectors, got 1 and 2"):
        fit_moments("misp", Moments.of(x[:3], ["a", "b", "b"]))
    with pytest.raises(WordbiasError, match="method 'ran': expected one of leace, inlp"):
        fit_moments("ran", Moments.of(x, y))


@pytest.mark.parametrize(
    ("x", "labels", "message"),
    [
        (np.ones((3, 2)), ["a", "b"], r"3 rows, but labels of shape \(2,\)"),
        (np.ones(3), ["a", "b", "c"], r"shape \(n, d\), got float64 of shape \(3,\)"),
        (np.ones((0, 2)), [], r"got float64 of shape \(0, 2\)"),
        (np.ones((2, 2)), ["a", None], "labels: 1 of 2 are missing, the first that of row 2"),
        (np.ones((2, 2)), [np.nan, 1.0], "labels: 1 of 2 are missing, the first that of row 1"),
        (np.ones((2, 2)), ["", "b"], "labels: 1 of 2 are missing, the first that of row 1"),
        (np.array([[1.0], [np.inf]]), ["a", "b"], "row 2 holds a value that is not finite"),
        (np.array([["1"], ["2"]]), ["a", "b"], "expected rows of numbers"),
    ],
)
def test_bad_rows_and_labels_are_refused(x: Any, labels: Any, message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        Moments.of(x, labels)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(WordbiasError, match=r"moments of 3 classes: expected counts, means"):
        Moments(("a", "b", "c"), [1, 1, 1], np.zeros((3, 2)), np.zeros((3, 2, 2)))


def test_labels_may_be_numbers_and_booleans() -> None:
    x, _ = labelled()
    assert Moments.of(x, np.arange(300) % 12).classes[:3] == ("0", "1", "10")
    assert Moments.of(x, np.arange(300) % 2 == 0).classes == ("False", "True")


# limits of data


def test_constant_vectors_have_nothing_to_erase() -> None:
    x, y = np.ones((10, 3)), np.arange(10) % 2
    with pytest.raises(WordbiasError, match="do not differ in their means"):
        fit_rows("leace", x, y)
    for name in ("misp", "mhd", "hard"):
        with pytest.raises(WordbiasError, match=r"span 0 of 3 dimensions"):
            fit_rows(name, x, y)


@pytest.mark.parametrize("name", ["leace", "misp", "mhd", "hard"])
def test_fewer_rows_than_dimensions_and_classes_of_one_row(name: str) -> None:
    x, _ = labelled(8, 20, 2)
    pairs = np.arange(8) // 2
    after = fit_rows(name, x, pairs).steps[0](x)
    assert np.isfinite(after).all()
    if name == "leace":
        assert gap(after, pairs) < 1e-9 * np.abs(x).max()
        alone = fit_rows(name, x, np.arange(8))(x)  # as many classes as rows
        np.testing.assert_allclose(alone, np.tile(x.mean(0), (8, 1)), atol=1e-9)


@pytest.mark.parametrize("name", OF_MOMENTS)
def test_one_dimension(name: str) -> None:
    x = np.array([[-2.0], [-1.0], [5.0], [6.0]])
    after = fit_rows(name, x, np.array([0, 0, 1, 1])).steps[0](x)
    expected = x.mean() if name == "leace" else 0.0
    np.testing.assert_allclose(after, np.full((4, 1), expected), rtol=0, atol=1e-12)


def test_moments_of_a_batch_of_any_kind_are_those_of_its_rows() -> None:
    pa, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    x, y = labelled()
    expected = Moments.of(x, y)
    table = pa.table({"v": pa.array(x.tolist()), "label": y.tolist(), "id": range(len(x))})
    arrow = table.to_pandas(types_mapper=pandas.ArrowDtype)
    run = {f"e{i}": column for i, column in enumerate(x.T)}
    batches = [table, table.to_batches()[0], table.to_pandas(), arrow, table.to_pydict()]
    for batch in (*batches, {**run, "label": y}, pandas.DataFrame({**run, "label": y})):
        assert_same(Moments.of_batch(batch, "label"), expected, rtol=0)
    assert_same(Moments.of_batch(table, "label", "v", unit=True), Moments.of(x, y, unit=True), 0)
    parts = [Moments.of_batch(batch, "label") for batch in table.to_batches(max_chunksize=70)]
    assert_same(sum(parts), expected)  # type: ignore[arg-type]


def test_a_batch_without_the_label_or_with_a_missing_one_is_refused() -> None:
    x, y = labelled()
    batch = {"v": x, "label": [*y[:-1], None]}
    with pytest.raises(WordbiasError, match="the batch: has no column 'gender'; its columns: v, l"):
        Moments.of_batch(batch, "gender")
    with pytest.raises(WordbiasError, match="the batch: has no column 'gender'; its columns: none"):
        Moments.of_batch(x, "gender")
    with pytest.raises(WordbiasError, match="labels: 1 of 300 are missing"):
        Moments.of_batch(batch, "label")
    with pytest.raises(WordbiasError, match="choose with array=NAME"):
        Moments.of_batch({"v": x, "w": x, "label": y}, "label")


@pytest.mark.parametrize(
    ("method", "constant"),
    [*product([wb.LEACE, wb.MHD, wb.MISP, wb.INLP], [0.0, 0.037]), (wb.Hard, 0.0)],
)
def test_a_constant_coordinate_stays_constant(method: Any, constant: float) -> None:
    """Two of all-MiniLM-L6-v2 are: if 1e-19 of the label reached them, a scaled probe read it."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    x = (rng.normal(size=(600, 12)) + y[:, None] * rng.normal(size=12)).astype(np.float32)
    x[:, [2, 7]] = np.float32(constant)
    assert (method().fit(x, y).transform(x)[:, [2, 7]] == np.float32(constant)).all()


def test_coordinates_of_rounding_tell_nothing_after_leace() -> None:
    """As those of all-MiniLM-L6-v2 that are 1e-33 and vary with the label."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    x = rng.normal(size=(600, 12)) + y[:, None] * rng.normal(size=12)
    x[:, [2, 7]] *= 1e-33
    x = x.astype(np.float32)
    z = wb.LEACE().fit(x, y).transform(x)
    assert (z[:, [2, 7]] == 0).all()
    coordinates = np.delete(np.arange(12), [2, 7])
    without = wb.LEACE().fit(x[:, coordinates], y)
    np.testing.assert_allclose(z[:, coordinates], without.transform(x[:, coordinates]), atol=1e-2)
    for method in (wb.MHD, wb.MISP):
        assert (method().fit(x, y).transform(x)[:, [2, 7]] == x[:, [2, 7]]).all()
