"""Steps of the training of a classifier: batches, rounds, learning rate, clipping."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.errors import WordbiasError

torch = pytest.importorskip("torch")

from wordbias.classifier_training import (  # noqa: E402
    Recipe,
    Rounds,
    adamw,
    bucketed,
    schedule,
)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=300), st.integers(1, 20))
def test_every_text_is_in_one_batch(lengths: list[int], size: int) -> None:
    batches = bucketed(np.array(lengths), size, np.random.default_rng(0))
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert len(batches) == -(-len(lengths) // size)
    assert all(len(batch) <= size for batch in batches)


def test_batches_hold_texts_of_like_length() -> None:
    lengths = np.random.default_rng(1).integers(1, 100, 1000)
    batches = bucketed(lengths, 10, np.random.default_rng(0))
    padded = sum(len(batch) * lengths[batch].max() for batch in batches)
    assert padded < 1.1 * lengths.sum()


@given(st.integers(1, 500), st.integers(1, 5), st.integers(1, 64), st.integers(1, 200))
def test_rounds_cover_all_epochs(pairs: int, epochs: int, batch: int, every: int) -> None:
    rounds = Rounds.of(pairs, Recipe(epochs=epochs, batch=batch, every=every))
    assert rounds.rounds >= epochs
    assert 0 <= rounds.total - rounds.batches * epochs < rounds.rounds


@given(st.integers(1, 1000), st.floats(0, 1))
def test_the_learning_rate_rises_and_falls(total: int, warmup: float) -> None:
    rates = np.array([schedule(step, total, warmup) for step in range(total)])
    assert rates.min() > 0
    assert rates.max() == 1
    top = int(rates.argmax())
    assert (np.diff(rates[: top + 1]) > 0).all()
    assert (np.diff(rates[top:]) <= 0).all()


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(WordbiasError, match="no setting 'speed'"):
        Recipe().with_changes(speed=3)
    assert Recipe().with_changes(rate=None, batch=4) == Recipe(batch=4)


def test_gradients_are_cut() -> None:
    """One step of plain size: AdamW's first step does not depend on the gradient's size."""
    parameters = list(torch.nn.Linear(5, 3).parameters())
    optimizer = adamw(parameters, Recipe(clip=1.5))
    for parameter in parameters:
        parameter.grad = torch.full_like(parameter, 10.0)
    optimizer.step()
    norm = torch.stack([tensor.grad.norm() for tensor in parameters]).norm()
    assert float(norm) == pytest.approx(1.5, rel=1e-4)
