"""Representations in memory and on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load_file, save_file

from wordbias import WordbiasError
from wordbias.columns import Column
from wordbias.formats.stored import REPRESENTATIONS
from wordbias.models.representations import (
    Representations,
    load_representations,
    save_representations,
)


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


def test_a_missing_layer_or_column_is_refused_with_those_there_are(found: Representations) -> None:
    with pytest.raises(WordbiasError, match="bios: no layer 1; it holds 0, 6"):
        found.layer(1)
    with pytest.raises(WordbiasError, match="bios: no column 'age'; it holds gender"):
        found.column("age")
    with pytest.raises(WordbiasError, match="no column 'age'; it holds none"):
        Representations(found.vectors, (0, 6)).column("age")


def test_shapes_that_do_not_fit_are_refused(found: Representations) -> None:
    with pytest.raises(WordbiasError, match=r"expected vectors of shape \(1, texts, dimensions\)"):
        Representations(found.vectors, (0,))
    with pytest.raises(WordbiasError, match=r"found \(3, 4\)"):
        Representations(found.vectors[0], (0, 6, 7))
    with pytest.raises(WordbiasError, match="column 'a' has 2 values for 3 texts"):
        Representations(found.vectors, (0, 6), {"a": Column.of("xy")})


VECTORS = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
COLUMNS = {"gender": Column.of("MFM"), "Größe": Column.of(["1", "", "\n"])}


@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 3), st.integers(0, 5), st.integers(0, 4)),
        elements=st.floats(width=32, allow_nan=False),
    ),
    st.data(),
)
def test_a_file_gives_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, vectors: Any, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("store") / "bios.st"
    cells = data.draw(st.lists(st.text(), min_size=vectors.shape[1], max_size=vectors.shape[1]))
    about = {"model": "m", "layers": [1, None, "ä"]}
    layers = tuple(range(5, 5 + len(vectors)))
    save_representations(Representations(vectors, layers, {"c": Column.of(cells)}, about), path)
    stored = load_representations(path)
    np.testing.assert_array_equal(stored.vectors, vectors)
    assert stored.column("c").cells() == cells
    assert (stored.layers, dict(stored.about), stored.name) == (layers, about, "bios")


def test_vectors_are_mapped_and_cannot_be_written(tmp_path: Path) -> None:
    save_representations(Representations(VECTORS, (0, 6), COLUMNS), tmp_path / "a")
    stored = load_representations(tmp_path / "a")
    assert isinstance(stored.vectors, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        stored.vectors[0, 0, 0] = 1


def test_the_library_reads_the_file(tmp_path: Path) -> None:
    save_representations(Representations(VECTORS, (0, 6), COLUMNS), tmp_path / "a")
    tensors = load_file(tmp_path / "a")
    np.testing.assert_array_equal(tensors["vectors"], VECTORS)
    np.testing.assert_array_equal(tensors["column.gender"], [1, 0, 1])
    assert set(tensors) == {"vectors", "column.gender", "column.Größe"}


def test_vectors_that_do_not_lie_in_order_are_written_in_order(tmp_path: Path) -> None:
    turned = np.asfortranarray(VECTORS)
    save_representations(Representations(turned, (0, 6), COLUMNS), tmp_path / "a")
    np.testing.assert_array_equal(load_representations(tmp_path / "a").vectors, VECTORS)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with pytest.raises(WordbiasError, match="cannot be read"):
        load_representations(path)
    path.write_bytes(b"")
    with pytest.raises(
        WordbiasError, match="cannot be read as representations: is no safetensors file"
    ):
        load_representations(path)
    save_file({"vectors": VECTORS}, path)
    with pytest.raises(WordbiasError, match=r"but no representations; .* wordbias encode"):
        load_representations(path)


@pytest.mark.parametrize(
    "known",
    [
        "{",
        "[]",
        "{}",
        json.dumps({"layers": ["x"], "columns": {}, "about": {}}),
        json.dumps({"layers": [0, 6], "columns": {"gone": ["a"]}, "about": {}}),
        json.dumps({"layers": [0, 6], "columns": {}, "about": 3}),
        '{"layers": [0, Infinity], "columns": {}, "about": {}}',
        json.dumps({"layers": [0, 6], "columns": 3, "about": {}}),
        json.dumps({"layers": [0, 6], "columns": ["a"], "about": {}}),
    ],
)
def test_damaged_metadata_is_one_line(tmp_path: Path, known: str) -> None:
    save_file({"vectors": VECTORS}, tmp_path / "a", {REPRESENTATIONS: known})
    with pytest.raises(
        WordbiasError, match=r"holds damaged representations: .*; write such a file with"
    ):
        load_representations(tmp_path / "a")


def test_a_file_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    save_representations(Representations(VECTORS, (0, 6), COLUMNS), path)
    whole = path.read_bytes()
    for size in (4, 40, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(WordbiasError, match=r"cut off|damaged|no safetensors file"):
            load_representations(path)


@pytest.mark.parametrize(
    ("codes", "values", "reason"),
    [
        (np.array([0, 2, 1], np.int32), ["a", "b"], "codes beyond its 2 values"),
        (np.array([0, -1, 1], np.int32), ["a", "b"], "codes beyond its 2 values"),
        (np.array([0, 0, 1], np.float32), ["a", "b"], "codes of float32"),
        (np.zeros((3, 1), np.int32), ["a", "b"], r"codes of int32 of shape \(3, 1\)"),
        (np.array([0, 0, 1], np.int32), ["a", None], "values that are no text"),
        (np.array([0, 0, 1], np.int32), ["a", ["b"]], "values that are no text"),
    ],
)
def test_damaged_columns_are_refused(tmp_path: Path, codes: Any, values: Any, reason: str) -> None:
    known = json.dumps({"layers": [0, 6], "columns": {"c": values}, "about": {}})
    save_file({"vectors": VECTORS, "column.c": codes}, tmp_path / "a", {REPRESENTATIONS: known})
    with pytest.raises(WordbiasError, match=f"holds damaged representations: .*'c' has {reason}"):
        load_representations(tmp_path / "a")
