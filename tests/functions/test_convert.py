"""`wordbias.convert` as Python calls it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias import Embedding, WordbiasError
from wordbias.functions.convert import convert

Run = Callable[..., Any]

SMALL = Embedding(["she", "he", "it"], np.arange(12).reshape(3, 4) + 0.5, "small")


@pytest.mark.parametrize("name", ["out.txt", "out.vec.gz", "out.bin", "out.safetensors"])
def test_objects_are_written(name: str, tmp_path: Path) -> None:
    for source in (
        SMALL,
        (list(SMALL.words), SMALL.vectors),
        {word: SMALL[word] for word in SMALL},
    ):
        converted = convert(source, tmp_path / name)
        assert repr(converted) == f"<Embedding '{converted.name}': 3 words × 4>"
        np.testing.assert_array_equal(converted.vectors, SMALL.vectors)
        read = wb.load(tmp_path / name)
        assert read.words == SMALL.words
        np.testing.assert_array_equal(read.vectors, SMALL.vectors)


def test_errors_name_arguments_of_python(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=r"^to=: expected one of glove, word2vec"):
        convert(SMALL, tmp_path / "out.txt", to="text")  # type: ignore[arg-type]
    with pytest.raises(WordbiasError, match="expected an embedding"):
        convert(5, tmp_path / "out.txt")  # type: ignore[arg-type]
