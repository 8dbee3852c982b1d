"""Codes are the same, whatever machine computes them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from wordbias.probes.inputs import Examples
from wordbias.probes.online import codes_apart, online_codes
from wordbias.probes.schedule import Recipe
from wordbias.workers import BACKENDS, Workers

pytestmark = [pytest.mark.filterwarnings("default")]  # of clusters that start and stop


def _examples() -> Examples:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    vectors = rng.normal(size=(2, 300, 8)).astype(np.float32)
    vectors[1, :, 0] += labels
    return Examples.of(vectors, labels, layers=[5, 6])


@pytest.mark.parametrize("backend", BACKENDS)
def test_codes_are_those_of_one_process(backend: str, join: Callable[[str], None]) -> None:
    join(backend)
    examples, recipe = _examples(), Recipe(epochs=5)
    found = codes_apart(examples, Workers(2, backend), seeds=[0, 1], recipe=recipe)
    assert [(one.code.layer, one.code.seed) for one in found] == [(5, 0), (5, 1), (6, 0), (6, 1)]
    assert found == codes_apart(examples, Workers(2), seeds=[0, 1], recipe=recipe)
    here = online_codes(examples, seeds=[0, 1], recipe=recipe)
    lengths = [[one.code.codelength for one in codes] for codes in (found, here)]
    np.testing.assert_allclose(*lengths, rtol=1e-6)  # of products in float32


def test_settings_reach_the_probes() -> None:
    examples = _examples()
    settings = {"dev": np.arange(30), "control": False, "fractions": [0.1, 0.4, 1.0]}
    settings["recipe"] = Recipe(epochs=2)
    expected = online_codes(examples, seeds=[3], **settings)
    assert codes_apart(examples, Workers(2), seeds=[3], **settings) == expected
    assert all(one.control is None for one in expected)
