"""Recipes: the published settings, and those that are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from wordbias.errors import WordbiasError
from wordbias.nli.recipes import FAST, PUBLISHED


def test_the_published_recipe_is_the_published_one() -> None:
    """Dawkins (2021), footnote 1, and the code of libowen2121."""
    published = {
        "rate": 0.025, "weight_decay": 1e-5, "dropout": 0.2, "epochs": 100, "hidden": 200,
        "intra": True, "optimizer": "adagrad", "initial": "normal", "batch": 32, "patience": None,
    }  # fmt: skip
    assert PUBLISHED.to_dict() == published
    torch = pytest.importorskip("torch")
    from wordbias.nli.train import make_optimizer

    optimizer = make_optimizer(torch.nn.Linear(2, 2), PUBLISHED)
    assert isinstance(optimizer, torch.optim.Adagrad)
    assert (optimizer.defaults["lr"], optimizer.defaults["weight_decay"]) == (0.025, 1e-5)
    assert optimizer.defaults["initial_accumulator_value"] == 0
    assert isinstance(make_optimizer(torch.nn.Linear(2, 2), FAST), torch.optim.Adam)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"batch": 0}, "batch_size is 0, expected 1 or more"),
        ({"epochs": -1}, "epochs is -1"),
        ({"patience": 0}, "patience is 0"),
        ({"hidden": 0}, "hidden is 0"),
        ({"rate": 0.0}, "lr is 0.0"),
        ({"rate": float("nan")}, "lr is nan"),
        ({"dropout": 1.0}, "dropout is 1.0, expected 0 or more, below 1"),
        ({"dropout": -0.1}, "dropout is -0.1"),
        ({"weight_decay": -1.0}, "weight_decay -1.0"),
        ({"optimizer": "sgd"}, "optimizer is 'sgd', expected adagrad or adam"),
        ({"initial": "zeros"}, "initial is 'zeros', expected normal or glorot"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(WordbiasError, match=said):
        FAST.with_changes(**changes)


def test_changes_of_none_change_nothing() -> None:
    assert FAST.with_changes(epochs=None, rate=None) == FAST
    assert FAST.with_changes(intra=False, epochs=2) == replace(FAST, intra=False, epochs=2)
