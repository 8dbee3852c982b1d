"""Quadratic LEACE: its theorems, closed forms, concept-erasure, and what it cannot prevent."""

from __future__ import annotations

import importlib.util
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import examples
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import wordbias as wb
from wordbias import QLEACE, WordbiasError
from wordbias.errors import UsageError
from wordbias.estimators import Methods
from wordbias.labelled import Labelled
from wordbias.methods.qleace import Transport, barycentre, fit_rows, shrunk_in_units, transport

pytestmark = pytest.mark.usefixtures("one_thread")
Matrix = NDArray[np.float64]
Integers = NDArray[np.intp]
EPS = float(np.finfo(float).eps)


def rows(k: int = 2, d: int = 4, n: int = 600, seed: int = 0) -> tuple[Matrix, Integers]:
    """Rows of classes with other means and covariances, whose roots' condition is 10 at most."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(k, n, p=np.arange(1, k + 1) / (k * (k + 1) / 2))
    codes[: 20 * k] = np.arange(20 * k) % k
    turns = np.linalg.qr(rng.normal(size=(k, d, d)))[0] * rng.uniform(0.3, 3, (k, 1, d))
    x = np.einsum("nd,nde->ne", rng.normal(size=(n, d)), turns[codes])
    x += rng.normal(size=(k, d))[codes]
    return x, codes


def fitted(x: Matrix, codes: Integers, **settings: Any) -> Transport:
    return fit_rows(x, [codes], settings)[0][0]


def mapped(x: Matrix, codes: Integers, by: Transport | None = None) -> Matrix:
    out = np.empty_like(x)
    for k, of in enumerate((by or fitted(x, codes)).of_classes()):
        out[codes == k] = of(x[codes == k])
    return out


def covariance(x: Matrix) -> Matrix:
    return np.atleast_2d(np.cov(x.T, bias=True))


def rounding(x: Matrix) -> float:
    """Sums of d terms, times the square of the condition of the roots, whose inverses multiply."""
    return 1e4 * x.shape[1] * EPS * float((x**2).sum(1).max())


@given(k=st.integers(2, 4), d=st.integers(1, 6), seed=st.integers(0, 10**6))
@settings(max_examples=examples(40))
def test_the_classes_have_one_mean_and_one_covariance_afterwards(k: int, d: int, seed: int) -> None:
    """What makes it impossible for a quadratic classifier to tell them apart."""
    x, codes = rows(k, d, seed=seed)
    after = mapped(x, codes)
    own = [after[codes == code] for code in range(k)]
    for group in own[1:]:
        np.testing.assert_allclose(group.mean(0), own[0].mean(0), rtol=0, atol=rounding(x))
        np.testing.assert_allclose(covariance(group), covariance(own[0]), rtol=0, atol=rounding(x))
    np.testing.assert_allclose(after.mean(0), x.mean(0), rtol=0, atol=rounding(x))
    np.testing.assert_allclose(mapped(after, codes), after, rtol=0, atol=rounding(x))  # identity


@given(k=st.integers(2, 4), d=st.integers(1, 6), seed=st.integers(0, 10**6))
@settings(max_examples=examples(40))
def test_the_barycentre_solves_its_equation(k: int, d: int, seed: int) -> None:
    """Agueh and Carlier (2011): it is the only root of ``S = Σ w (S^½ Σ_k S^½)^½``."""
    from scipy.linalg import sqrtm

    x, codes = rows(k, d, seed=seed)
    weights = np.bincount(codes) / len(codes)
    known = np.stack([covariance(x[codes == code]) for code in range(k)])
    centre = barycentre(known, weights)
    root = sqrtm(centre).real
    average = sum(w * sqrtm(root @ s @ root).real for w, s in zip(weights, known, strict=True))
    np.testing.assert_allclose(average, centre, rtol=0, atol=1e-9 * np.linalg.norm(centre))
    for s in known:
        t = transport(s, centre)
        np.testing.assert_allclose(t @ s @ t, centre, rtol=0, atol=rounding(x))
        assert np.linalg.eigvalsh(t).min() > 0  # of the maps that do this, the gradient of a convex


def test_of_commuting_covariances_the_roots_are_averaged() -> None:
    """Closed form; of one dimension it is the mean of the standard deviations."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    spreads, weights = rng.uniform(0.5, 2, (3, 3)), np.array([0.5, 0.3, 0.2])
    known = np.stack([turn * scales**2 @ turn.T for scales in spreads])
    expected = turn * (weights @ spreads) ** 2 @ turn.T
    np.testing.assert_allclose(barycentre(known, weights), expected, rtol=0, atol=1e-13)
    x, codes = rows(d=1)
    a, b = (x[codes == code, 0] for code in (0, 1))
    share = len(a) / len(x)
    spread = share * a.std() + (1 - share) * b.std()
    expected_a = (a - a.mean()) * spread / a.std() + x.mean()
    np.testing.assert_allclose(mapped(x, codes)[codes == 0, 0], expected_a, rtol=0, atol=1e-12)


def test_a_quadratic_classifier_learns_nothing_of_the_fitted_rows() -> None:
    """Its weights vanish, and it answers with the largest class, whatever the row."""
    x, codes = rows(3)
    model = LogisticRegression(max_iter=10_000, tol=1e-10)

    def squares(x: Matrix) -> Matrix:
        features = PolynomialFeatures(2, include_bias=False).fit_transform(x - x.mean(0))
        centred: Matrix = features - features.mean(0)
        return centred

    before = model.fit(squares(x), codes)
    size, right = np.linalg.norm(before.coef_), before.score(squares(x), codes)
    after = squares(mapped(x, codes))
    nothing = model.fit(after, codes)
    assert np.linalg.norm(nothing.coef_) < 1e-6 * size
    assert nothing.score(after, codes) == np.bincount(codes).max() / len(codes) < right - 0.2


@pytest.mark.skipif(
    importlib.util.find_spec("concept_erasure") is None, reason="concept-erasure is not installed"
)
@pytest.mark.parametrize("shrinkage", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_it_is_the_eraser_of_concept_erasure(k: int, shrinkage: bool) -> None:
    """On classes of one size, since the library takes the mean of means that are not weighted.

    And on columns of one spread within the classes, the units in which we shrink. Of three classes
    its iteration ends where a step changes the loss by ε, the root of which the barycentre may
    still be away.
    """
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from concept_erasure import QuadraticFitter
    x, _ = rows(k)
    codes = np.arange(len(x)) % k
    x[codes == 1] *= 2
    x /= np.sqrt(np.mean([x[codes == code].var(0) for code in range(k)], axis=0))
    z = torch.tensor(codes)
    eraser = QuadraticFitter.fit(torch.tensor(x), z, shrinkage=shrinkage).eraser
    expected = eraser(torch.tensor(x), z).numpy()
    after = mapped(x, codes, fitted(x, codes, shrinkage=shrinkage))
    np.testing.assert_allclose(after, expected, rtol=0, atol=1e-8 if k == 2 else 1e-6)


def test_constant_coordinates_stay_constant() -> None:
    x, codes = rows()
    x = np.hstack([x, np.full((len(x), 1), 3.0), 1e-30 * codes[:, None]])
    after = mapped(x, codes)
    assert (after[:, 4] == 3).all()
    assert len(np.unique(after[:, 5])) == 1  # a coordinate of rounding would tell the label


def test_the_map_of_a_label_can_write_the_label_in() -> None:
    """Rows that are alike in both classes differ afterwards: the nearest neighbours tell them."""
    rng = np.random.default_rng(0)
    codes = np.arange(2000) % 2
    x = rng.normal(size=(2000, 2)) + 1 + 2 * codes[:, None]
    same = rng.random(2000) < 0.5
    x[same] = rng.integers(0, 3, (same.sum(), 2))  # of both classes alike
    known = np.arange(2000) < 1000

    def right(rows: Matrix) -> float:
        nearest = KNeighborsClassifier(1).fit(rows[known & same], codes[known & same])
        return float(nearest.score(rows[~known & same], codes[~known & same]))

    linear = wb.LEACE().fit(x, codes).transform(x)
    assert right(x) < 0.6
    assert right(linear) < 0.6
    assert right(mapped(x, codes)) == 1.0


# as an estimator and in `erase`


def test_an_estimator_maps_labelled_rows_and_refuses_others(tmp_path: Path) -> None:
    x, codes = rows(3)
    names = np.array(["f", "m", "x"])[codes]
    method = QLEACE().fit(x, names)
    expected = mapped(x, codes)
    for either in (method, pickle.loads(pickle.dumps(method))):
        np.testing.assert_array_equal(either.transform(x, concept=names), expected)
    np.testing.assert_array_equal(QLEACE().fit_transform(x, names), expected)
    np.testing.assert_array_equal(QLEACE().fit_transform(x, x[:, 0], concept=codes), expected)
    assert method.transform(x.astype(np.float32), concept=names).dtype == np.float32
    for refused in (
        lambda: method.transform(x),
        lambda: method(x),
        lambda: method.on(),
        lambda: QLEACE().on("vector"),
        lambda: Methods([("leace", wb.LEACE().fit(x, names)), ("qleace", method)]).on(),
        lambda: method.save(tmp_path / "m.st"),
        lambda: wb.apply(method, x),
        lambda: wb.push(method, "me/qleace"),
    ):
        with pytest.raises(WordbiasError, match="qleace maps each row by its label, and new rows"):
            refused()
    assert not list(tmp_path.iterdir())
    with pytest.raises(WordbiasError, match="'q' is none of the groups that it was fitted on: f,"):
        method.transform(x, concept=["q"] * len(x))
    with pytest.raises(WordbiasError, match="QLEACE: is for rows with labels, not for an embedd"):
        QLEACE().fit(wb.load())
    with pytest.raises(WordbiasError, match="qleace: is fitted to rows, for which moments are not"):
        QLEACE().fit(wb.Moments.of(x, names))
    with pytest.raises(WordbiasError, match="qleace: maps rows by one label, found 2"):
        QLEACE().fit(Labelled.of(x, {"a": names, "b": names[::-1]}))


@pytest.mark.parametrize("cross_fit", [None, 3])
def test_erase_maps_each_row_by_its_label(
    cross_fit: int | None, tmp_path: Path, short_probes: None
) -> None:
    """Held-out rows too, by what was fitted on training rows; with folds on the other folds."""
    x, codes = rows(3)
    np.save(tmp_path / "x.npy", x)
    split = np.where(np.arange(len(x)) % 4 == 0, "test", "train")
    eraser = wb.erase(
        tmp_path / "x.npy", codes, methods="qleace", split_column=split, cross_fit=cross_fit,
        output=tmp_path / "clean.npy",
    )  # fmt: skip
    clean, learned = np.load(tmp_path / "clean.npy"), split == "train"
    whole = mapped(x, codes, fitted(x[learned], codes[learned]))
    np.testing.assert_allclose(clean[~learned], whole[~learned], rtol=0, atol=rounding(x))
    np.testing.assert_allclose(eraser.transform(x, concept=codes), whole, rtol=0, atol=rounding(x))
    if cross_fit is None:
        np.testing.assert_allclose(clean, whole, rtol=0, atol=rounding(x))
    else:
        assert np.abs(clean - whole)[learned].min(1).max() > 1e3 * rounding(x)
    assert "QLEACE maps each row by its label" in " ".join(str(eraser.report).split())


def test_erase_refuses_what_has_no_label(tmp_path: Path) -> None:
    x, codes = rows()
    names = np.array(["f", "m"])[codes]
    for options, message in (
        ({"save_transform": tmp_path / "m.st"}, "save_transform=: qleace maps each row by its"),
        ({"model": "m", "texts": "t.tsv"}, "model=: qleace maps each row by its label"),
        ({"labels": {"a": names, "b": names[::-1]}}, "qleace maps rows by one label, found a, b"),
    ):
        call: dict[str, Any] = {"labels": names, **options}
        with pytest.raises(UsageError, match=message):
            wb.erase(None if "model" in options else x, methods="qleace", **call)
    gaps = [None, *names[1:]]
    with pytest.raises(WordbiasError, match="1 of 600 rows have no label, the first is row 1; qle"):
        wb.erase(x, gaps, methods="qleace", missing="drop")
    rare = np.where(np.arange(600) < 3, "rare", names)
    split = np.where(np.arange(600) < 100, "test", "train")
    with pytest.raises(WordbiasError, match="the training part has no row of 'rare', which qleace"):
        wb.erase(x, rare, methods="qleace", split_column=split)


def test_a_class_of_too_few_rows_is_refused_unless_shrunk() -> None:
    x, codes = rows()
    codes = np.where(np.arange(600) < 597, 0, 1)
    with pytest.raises(WordbiasError, match="a class of 3 rows × 4 does not vary in a direction"):
        QLEACE().fit(x, codes)
    after = QLEACE(shrinkage=True).fit_transform(x, codes)
    np.testing.assert_allclose(after[codes == 1].mean(0), after.mean(0), atol=rounding(x))


@given(powers=st.lists(st.integers(-20, 20), min_size=4, max_size=4))
@settings(max_examples=examples(20))
def test_a_covariance_is_shrunk_in_whatever_units_its_columns_are(powers: list[int]) -> None:
    units, (x, _) = np.exp2(powers), rows()
    shrunk = shrunk_in_units(covariance(x * units), 30, units)
    expected = shrunk_in_units(covariance(x), 30, np.ones(4)) * np.outer(units, units)
    np.testing.assert_array_equal(shrunk, expected)


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-6, 1e-9, 1e-12])
def test_a_column_of_tiny_spread_does_not_tell_the_class_after_shrinkage(spread: float) -> None:
    """Nor does one that shrinks to nothing, whose rounding would tell it when scaled."""
    x, codes = rows(n=3000)
    varied = (
        np.random.default_rng(1).normal(size=3000) * (1 + 2 * codes) + (1 - 2 * codes) * x[:, 0]
    )
    x = np.hstack([x, spread * varied[:, None]])

    def right(x: Matrix) -> float:
        squares = PolynomialFeatures(2).fit_transform(StandardScaler().fit_transform(x))
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=3000))
        return float(model.fit(squares, codes).score(squares, codes))

    after = mapped(x, codes, fitted(x, codes, shrinkage=True))
    assert right(after) == np.bincount(codes).max() / len(codes) < right(x) - 0.2


@pytest.mark.parametrize("shrinkage", [False, True])
@pytest.mark.parametrize("spread", [1, 1e-5])
@pytest.mark.parametrize("constant", [0, 1])
def test_a_column_that_is_constant_in_one_class_is_refused(
    constant: int, spread: float, shrinkage: bool
) -> None:
    """Whichever class it is, and however little the column varies: scaled up it tells the label."""
    x, codes = rows()
    x[:, 3] = np.where(codes == constant, 2, x[:, 3]) * spread
    few = (codes == constant).sum()
    message = f"column 4 is constant in a class of {few} rows and varies in others, .*; leave it"
    with pytest.raises(WordbiasError, match=message):
        QLEACE(shrinkage=shrinkage).fit(x, codes)
    with pytest.raises(WordbiasError, match="the variance within the classes is 0: expected"):
        QLEACE().fit(np.eye(2)[codes], codes)
