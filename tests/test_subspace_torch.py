"""One implementation of the removal serves numpy and torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wordbias.methods.misp import Projection
from wordbias.subspace import Subspace

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")


@pytest.fixture
def fitted() -> Subspace:
    rng = np.random.default_rng(0)
    return Subspace.from_groups(rng.normal(size=(9, 12)) + 1, rng.normal(size=(8, 12)), 4)


@pytest.fixture
def x() -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).normal(size=(2, 5, 12))


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_torch_and_numpy_agree(fitted: Subspace, x: Any, dtype: str, hard: bool) -> None:
    projection = Projection(fitted, hard)
    numbers = x.astype(dtype)
    tensor = torch.from_numpy(numbers.copy())
    got = projection(tensor)
    assert got.dtype == tensor.dtype
    assert got.shape == tensor.shape
    # two sums of d + k terms each, on both sides, over vectors of this length
    bound = 4 * (12 + 4) * np.finfo(dtype).eps * np.linalg.norm(x, axis=-1).max()
    np.testing.assert_allclose(got.numpy(), projection(numbers), rtol=0, atol=bound)
    np.testing.assert_array_equal(tensor.numpy(), numbers)


def test_both_go_through_the_same_remove(
    fitted: Subspace, x: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[type] = []
    true = Subspace.remove

    def spy(self: Subspace, rows: Any, hard: bool = False) -> Any:
        seen.append(type(rows))
        return true(self, rows, hard)

    monkeypatch.setattr(Subspace, "remove", spy)
    Projection(fitted)(x)
    Projection(fitted)(torch.from_numpy(x))
    assert seen == [np.ndarray, torch.Tensor]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_kept(fitted: Subspace, x: Any, dtype: Any) -> None:
    tensor = torch.from_numpy(x).to(dtype)
    got = Projection(fitted)(tensor)
    assert got.dtype == dtype
    exact = fitted.remove(tensor.double().numpy())
    bound = 4 * (12 + 4) * torch.finfo(dtype).eps * np.linalg.norm(x, axis=-1).max()
    np.testing.assert_allclose(got.double().numpy(), exact, rtol=0, atol=bound)


def test_gradients_pass_through(fitted: Subspace, x: Any) -> None:
    tensor = torch.from_numpy(x[0]).requires_grad_()
    Projection(fitted)(tensor).sum().backward()
    expected = fitted.remove(np.ones(12))  # the map is symmetric
    np.testing.assert_allclose(tensor.grad.numpy(), np.tile(expected, (5, 1)), rtol=0, atol=1e-14)


def test_a_subspace_in_torch_moves_between_types(fitted: Subspace, x: Any) -> None:
    single = fitted.like(torch.zeros(1, dtype=torch.float32))
    assert single.basis.dtype == single.weights.dtype == torch.float32
    double = single.like(torch.zeros(1, dtype=torch.float64))
    assert double.basis.dtype == double.weights.dtype == torch.float64


def test_a_subspace_in_torch_comes_back_to_numpy(fitted: Subspace, x: Any) -> None:
    back = fitted.like(torch.zeros(1, dtype=torch.float64)).like(x)
    np.testing.assert_array_equal(back.basis, fitted.basis)
    np.testing.assert_array_equal(back.weights, fitted.weights)


def test_a_read_only_basis_serves_torch_without_a_warning(fitted: Subspace, x: Any) -> None:
    fitted.basis.flags.writeable = False
    fitted.weights.flags.writeable = False
    np.testing.assert_array_equal(Projection(fitted)(torch.from_numpy(x)).numpy().shape, x.shape)
