"""The trainings of one call: what makes two of them the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wordbias import Embedding
from wordbias.nli.jobs import Data, plan_jobs
from wordbias.nli.pairs import Pairs
from wordbias.nli.recipes import FAST


def _pairs(*sentences: str) -> Pairs:
    tokens = [tuple(sentence.split()) for sentence in sentences]
    return Pairs(tokens[::2], tokens[1::2], np.arange(len(tokens) // 2))


def test_a_test_set_does_not_make_it_another_training(tmp_path: Path) -> None:
    train, dev = _pairs("a b", "b c", "c a", "b a"), _pairs("c d", "a a")
    test = _pairs("e f", "g a")
    embedding = Embedding(list("abcdefg"), np.random.default_rng(0).normal(size=(7, 3)), "e")
    without, beside = (
        plan_jobs([embedding], [0], Data.of(sets), FAST, tmp_path)[0].about
        for sets in ({"train": train, "dev": dev}, {"train": train, "dev": dev, "test": test})
    )
    assert without == beside
    other = plan_jobs([embedding], [0], Data.of({"train": train, "dev": test}), FAST, tmp_path)
    assert other[0].about != without


def test_the_model_is_a_public_name() -> None:
    import wordbias.nli
    from wordbias.nli.model import DecomposableAttention

    assert wordbias.nli.DecomposableAttention is DecomposableAttention
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = wordbias.nli.nothing
