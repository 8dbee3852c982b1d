"""The fits as functions on arrays: what the subspace is made of, and their invariances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias import subspace as components
from wordbias.errors import WordbiasError
from wordbias.subspace import Subspace

some = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def _vectors(seed: int = 0, shape: tuple[int, ...] = (3, 5, 4)) -> Any:
    return np.random.default_rng(seed).normal(size=shape) * np.array([4, 2, 1, 0.5])


FITS = {
    "groups": (
        lambda x: components.of_groups(x[0], x[1], 3, centre=False),
        lambda x: Subspace.from_groups(x[0], x[1], 3, centre=False),
    ),
    "pairs": (
        lambda x: components.of_pairs(x[0], x[1], 2),
        lambda x: Subspace.from_pairs(x[0], x[1], 2),
    ),
    "sets": (lambda x: components.of_sets(x, 2), lambda x: Subspace.from_sets(x, 2)),
    "means": (lambda x: components.of_means(x, None), lambda x: Subspace.from_means(x)),
}


@pytest.mark.parametrize("fit", FITS)
def test_the_subspace_is_made_of_them(fit: str) -> None:
    of, made_from = FITS[fit]
    x = _vectors()
    basis, shares = of(x)
    subspace = made_from(x)
    assert (subspace.basis == basis).all()
    assert (subspace.weights == shares).all()


@some
@given(seeds, st.sampled_from(sorted(FITS)), st.integers(-20, 20))
def test_only_differences_count_and_no_scale(seed: int, fit: str, power: int) -> None:
    """Powers of two and of whole numbers, which no rounding touches, change no bit."""
    of, _ = FITS[fit]
    x = np.round(_vectors(seed, (4, 4, 4)) * 64)
    basis, shares = of(x)
    scaled, same = of(x * 2.0**power)
    assert (scaled == basis).all()
    assert (same == shares).all()
    shifted, _ = of(x + 2.0**20)
    assert (shifted == basis).all()


def test_sets_of_different_sizes_count_by_their_words() -> None:
    x = _vectors(shape=(7, 4))
    basis, shares = components.of_sets([x[:2], x[2:]], 4)
    rows = np.concatenate([part - part.mean(0) for part in (x[:2], x[2:])])
    bound = 1e3 * np.finfo(float).eps * (rows**2).sum()
    total = (rows**2).sum()
    np.testing.assert_allclose((basis.T * shares) @ basis * total, rows.T @ rows, atol=bound)


@pytest.mark.parametrize(
    ("fit", "shapes", "message"),
    [
        (components.of_groups, ((1, 3), (2, 3)), r"two groups .* \(1, 3\) and \(2, 3\)"),
        (components.of_pairs, ((2, 3), (3, 3)), r"expected pairs .* \(2, 3\) and \(3, 3\)"),
    ],
)
def test_shapes_that_do_not_fit_are_named(fit: Any, shapes: Any, message: str) -> None:
    options = {"centre": True} if fit is components.of_groups else {}
    with pytest.raises(WordbiasError, match=message):
        fit(np.ones(shapes[0]), np.ones(shapes[1]), 1, **options)


def test_sets_and_means_name_all_shapes() -> None:
    with pytest.raises(WordbiasError, match=r"sets .* the shapes \(2, 3\), \(1, 3\)"):
        components.of_sets([np.ones((2, 3)), np.ones((1, 3))], 1)
    with pytest.raises(WordbiasError, match=r"two groups of vectors .* the shapes none"):
        components.of_means([], None)


def test_a_subspace_in_its_own_type_is_itself() -> None:
    fitted = Subspace.from_pairs(*_vectors()[:2], 2)
    assert fitted.like(np.zeros(1)) is fitted
    assert fitted.like(np.zeros(1, int)) is fitted
    single = fitted.like(np.zeros(1, np.float32))
    assert single.basis.dtype == single.weights.dtype == np.float32
    assert single.like(np.zeros(1, np.float32)) is single
