"""`encode` into the formats of rows, which `probe`, `erase` and other programs read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins

import wordbias as wb
from wordbias import WordbiasError
from wordbias.formats.rows.opening import open_rows
from wordbias.formats.rows.writing import FORMATS

pytest.importorskip("torch")
pytest.importorskip("transformers")

ROWS = [(f"{who} sat by {i} trees.", label) for i in range(30) for who, label in
        (("She", "f"), ("He", "m"))]  # fmt: skip
TEXTS = {"text": [text for text, _ in ROWS], "label": [label for _, label in ROWS]}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "bert-base-cased"
    stand_ins.STAND_INS["bert-base-cased"](path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_layer_is_read_again_with_its_columns(model: Path, tmp_path: Path, suffix: str) -> None:
    if suffix in (".parquet", ".arrow", ".feather"):
        pytest.importorskip("pyarrow")
    expected = wb.encode(model, TEXTS, layers="last")
    path = tmp_path / f"x{suffix}"
    reps = wb.encode(model, TEXTS, layers="last", output=path)
    assert np.array_equal(reps.vectors, expected.vectors)
    rows = open_rows(path)
    read = rows.vectors()
    assert np.array_equal(read.astype(np.float32), expected.vectors[0])
    if suffix != ".npy":
        assert rows.cells("label") == TEXTS["label"]
        report = wb.erase(path, "label", output=tmp_path / f"clean{suffix}").report
        assert report is not None
        assert report["linear-probe"]
    rewritten = wb.encode(model, TEXTS, layers="last", output=path)  # rows are written again
    assert np.array_equal(rewritten.vectors, expected.vectors)


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".csv"])
def test_several_layers_have_names(model: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    expected = wb.encode(model, TEXTS, layers=[0, 1], output=path)
    for layer in (0, 1):
        name = f"layer_{layer}" if suffix != ".csv" else f"layer_{layer}_0"
        rows = open_rows(path, array=name)
        read = rows.vectors()
        assert np.array_equal(read.astype(np.float32), expected[layer])


def test_representations_are_saved_so_too(model: Path, tmp_path: Path) -> None:
    wb.encode(model, TEXTS, layers="last").save(tmp_path / "x.npy")
    assert np.load(tmp_path / "x.npy").shape == (60, wb.encode(model, TEXTS).dim)


def test_what_a_format_cannot_hold_is_refused_first(
    model: Path, tmp_path: Path, cli: Callable[..., Any]
) -> None:
    with pytest.raises(WordbiasError, match="holds one array, and there are"):
        wb.encode(model, TEXTS, output=tmp_path / "x.npy")
    with pytest.raises(WordbiasError, match="have a column 'embedding' already"):
        wb.encode(model, {**TEXTS, "embedding": TEXTS["label"]}, layers="last",
                  output=tmp_path / "x.csv")  # fmt: skip
    assert not list(tmp_path.iterdir())
    (tmp_path / "t.tsv").write_text("text\tlabel\n" + "".join(f"{a}\t{b}\n" for a, b in ROWS))
    done = cli("encode", model, tmp_path / "t.tsv", "--layers", "last", "-o", tmp_path / "x.csv")
    assert done.code == 0, done.err
    assert f"Written: {tmp_path / 'x.csv'}" in " ".join(done.out.split())
