"""Representations in memory: layers, columns, and what does not fit together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias import WordbiasError
from wordbias.probes.representations import Column, Representations


@pytest.fixture
def found() -> Representations:
    vectors = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    return Representations(vectors, (0, 6), {"gender": Column.of("MFM")}, {}, "bios")


@given(st.lists(st.text(max_size=3), max_size=30))
def test_a_column_gives_back_its_cells(cells: list[str]) -> None:
    column = Column.of(iter(cells))
    assert column.cells() == cells
    assert list(column.values) == sorted(set(cells))
    assert column.codes.dtype == np.int32


def test_layers_and_columns_are_found_by_name(found: Representations) -> None:
    assert (len(found), found.dim) == (3, 4)
    np.testing.assert_array_equal(found.layer(6), found.vectors[1])
    assert found.place(6) == 1
    assert found.column("gender").values == ("F", "M")
    assert found.column("gender").codes.tolist() == [1, 0, 1]


def test_what_is_not_there_is_refused_with_what_is(found: Representations) -> None:
    with pytest.raises(WordbiasError, match="bios: no layer 1; it holds 0, 6"):
        found.layer(1)
    with pytest.raises(WordbiasError, match="bios: no column 'age'; it holds gender"):
        found.column("age")
    with pytest.raises(WordbiasError, match="no column 'age'; it holds none"):
        Representations(found.vectors, (0, 6)).column("age")


def test_what_does_not_fit_together_is_refused(found: Representations) -> None:
    with pytest.raises(WordbiasError, match=r"expected vectors of shape \(1, texts, dimensions\)"):
        Representations(found.vectors, (0,))
    with pytest.raises(WordbiasError, match=r"found \(3, 4\)"):
        Representations(found.vectors[0], (0, 6, 7))
    with pytest.raises(WordbiasError, match="column 'a' has 2 values for 3 texts"):
        Representations(found.vectors, (0, 6), {"a": Column.of("xy")})
