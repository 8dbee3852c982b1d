"""`wordbias.load` returns what a file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins

import wordbias as wb
from wordbias import WordbiasError
from wordbias.data import nli_sample_path
from wordbias.formats.stored import CHECKPOINT, write
from wordbias.nli.files import Model


def test_vectors_and_objects_are_an_embedding(tmp_path: Path) -> None:
    small = stand_ins.small()
    small.save(tmp_path / "v.txt")
    small.save(tmp_path / "v.safetensors")
    for source in (
        tmp_path / "v.txt",
        tmp_path / "v.safetensors",
        small,
        (small.words, small.vectors),
    ):
        embedding = wb.load(source)
        assert isinstance(embedding, wb.Embedding)
        assert embedding.words == small.words


def test_a_method_and_several_are_estimators(tmp_path: Path) -> None:
    method = wb.MHD(dims=1).fit(stand_ins.small())
    method.save(tmp_path / "m.safetensors")
    loaded = wb.load(tmp_path / "m.safetensors")
    assert isinstance(loaded, wb.MHD)
    assert np.array_equal(loaded.transform(stand_ins.small()).vectors, method.transform(
        stand_ins.small()).vectors)  # fmt: skip
    wb.debias(stand_ins.small(), "misp,mhd", save_transform=tmp_path / "two.safetensors")
    assert [name for name, _ in wb.load(tmp_path / "two.safetensors").steps] == ["misp", "mhd"]


def test_representations_an_nli_model_and_a_subspace(tmp_path: Path) -> None:
    texts = wb.Representations(np.ones((1, 2, 3), np.float32), (0,), {}, {})
    texts.save(tmp_path / "r.safetensors")
    assert wb.load(tmp_path / "r.safetensors").layers == (0,)
    assert isinstance(wb.load(nli_sample_path()), Model)
    wb.Subspace.from_direction([3.0, 4.0]).save(tmp_path / "s.safetensors")
    assert np.allclose(wb.load(tmp_path / "s.safetensors").basis, [[0.6, 0.8]])


@pytest.mark.slow
def test_an_adapter(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = tmp_path / "minilm-nsp"
    stand_ins.STAND_INS[folder.name](folder)
    wb.project(folder, setting="L12-110", output=tmp_path / "a.safetensors")
    adapter = wb.load(tmp_path / "a.safetensors")
    assert isinstance(adapter, wb.Adapter)
    assert adapter.chosen == "L12-110"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda file: None, "there is no such file"),
        (lambda file: write(file, CHECKPOINT, {"x": np.ones(2)}, {}), "v.safetensors"),
        (lambda file: file.write_bytes(b'\x08\0\0\0\0\0\0\0{"a'), "v.safetensors"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path: Path, make: Any, message: str) -> None:
    make(tmp_path / "v.safetensors")
    with pytest.raises(WordbiasError, match=message):
        wb.load(tmp_path / "v.safetensors")
