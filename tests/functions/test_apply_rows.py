"""`apply` on rows of vectors: arrays, tables, files and folders, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias.calls import WordbiasWarning
from wordbias.columns import Column
from wordbias.errors import WordbiasError
from wordbias.models.representations import Representations, load_representations

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RNG = np.random.default_rng(0)
N, DIM = 600, 12
Y = np.array(["f", "m", "n"])[RNG.integers(0, 3, N)]
X = (RNG.normal(size=(N, DIM)) + (Y == "f")[:, None] * RNG.normal(size=DIM)).astype(np.float32)


@pytest.fixture(scope="module")
def eraser() -> Any:
    """Return LEACE, fitted on rows."""
    return wb.LEACE().fit(X, Y)


@pytest.fixture
def method(eraser: Any, tmp_path: Path) -> Path:
    """Return the file of a fitted method."""
    eraser.save(tmp_path / "eraser.safetensors")
    return tmp_path / "eraser.safetensors"


def means(x: Any) -> Any:
    """Return the means of the classes."""
    return np.stack([np.asarray(x, float)[name == Y].mean(axis=0) for name in ("f", "m", "n")])


def test_what_is_in_memory_comes_back_as_what_it_was(eraser: Any, method: Path) -> None:
    """The means of the classes become equal, which is the theorem of LEACE."""
    assert np.ptp(means(X), axis=0).max() > 0.5
    original = X.copy()
    for given in (eraser, str(method), eraser.fitted_):
        mapped = wb.apply(given, X)
        assert isinstance(mapped, np.ndarray)
        assert (mapped.dtype, mapped.shape) == (X.dtype, X.shape)
        assert np.ptp(means(mapped), axis=0).max() < 1e-5
    np.testing.assert_array_equal(X, original)
    reps = Representations(X[None], (6,), {"g": Column.of(Y.tolist())}, {"model": "q"}, "reps")
    mapped_reps = wb.apply(eraser, reps)
    assert isinstance(mapped_reps, Representations)
    np.testing.assert_array_equal(mapped_reps[6], mapped)
    assert (mapped_reps.name, mapped_reps.about, mapped_reps.column("g").cells()) == (
        "reps.leace", {"model": "q"}, Y.tolist()
    )  # fmt: skip
    table = pa.table({"g": Y, "v": list(X)})
    mapped_table = wb.apply(eraser, table)
    assert mapped_table.schema.equals(table.schema)
    np.testing.assert_array_equal(np.stack(mapped_table.column("v").to_numpy()), mapped)
    assert mapped_table.column("g").equals(table.column("g"))


def test_a_row_is_mapped_the_same_in_any_file(eraser: Any, method: Path, tmp_path: Path) -> None:
    """To the byte: in an array, a table of small row groups, representations, and shards."""
    expected = wb.apply(eraser, X)
    np.save(tmp_path / "a.npy", X)
    pq.write_table(pa.table({"v": list(X), "g": Y}), tmp_path / "a.parquet", row_group_size=77)
    Representations(X[None], (6,), {"g": Column.of(Y.tolist())}).save(tmp_path / "a.st")
    for name in ("a.npy", "a.parquet", "a.st"):
        output = tmp_path / f"clean-{name}"
        written = wb.apply(method, tmp_path / name, output=output)
        assert str(written) == str(output)
        (row,) = written.report["rows-changed"]
        assert (row.value, row.subject, row.details["skipped"]) == (N, "a", 0)
    np.testing.assert_array_equal(np.load(tmp_path / "clean-a.npy"), expected)
    table = pq.read_table(tmp_path / "clean-a.parquet")
    np.testing.assert_array_equal(np.stack(table.column("v").to_numpy()), expected)
    assert table.column("g").to_pylist() == Y.tolist()
    reps = load_representations(tmp_path / "clean-a.st")
    np.testing.assert_array_equal(reps[6], expected)
    (tmp_path / "shards").mkdir()
    for i, start in enumerate((0, 101, 350)):
        np.save(tmp_path / "shards" / f"{i}.npy", X[start : (101, 350, N)[i]])
    outcome = wb.apply(eraser, tmp_path / "shards", output=tmp_path / "out")
    assert [Path(file).name for file in outcome.files] == ["0.npy", "1.npy", "2.npy"]
    np.testing.assert_array_equal(np.concatenate([np.load(f) for f in outcome.files]), expected)


def test_a_folder_goes_on_with_the_same_method_only(
    eraser: Any, method: Path, tmp_path: Path
) -> None:
    (tmp_path / "shards").mkdir()
    for i in range(3):
        np.savez(tmp_path / "shards" / f"{i}.npz", a=X[i * 200 :][:200], b=X[:200])
    output = tmp_path / "out"
    first = wb.apply(method, tmp_path / "shards", output=output, array="a")
    assert first.report["rows-changed"][0].details["shards"] == 3
    # an object has the hash of the file that it would be saved as
    second = wb.apply(eraser, tmp_path / "shards", output=output, array="a")
    (row,) = second.report["rows-changed"]
    assert (row.value, row.details["skipped"]) == (0, 3)
    assert "3 shards that an earlier call wrote" in str(second.report)
    with pytest.raises(WordbiasError, match="is of another method or array: its method"):
        wb.apply(method, tmp_path / "shards", output=output, array="b")
    other = wb.MHD().fit(X, Y)
    with pytest.raises(WordbiasError, match="is of another method or array: its method"):
        wb.apply(other, tmp_path / "shards", output=output, array="a")


def test_other_dimensions_and_methods_of_words_are_refused(
    eraser: Any, method: Path, tmp_path: Path, sample: wb.Embedding
) -> None:
    with pytest.raises(WordbiasError, match=r"fitted on 600 rows, .* 12 dimensions; .* have 5"):
        wb.apply(method, X[:, :5])
    with pytest.raises(WordbiasError, match=r"leace: does not fit .* 5 dimensions"):
        wb.apply(eraser.fitted_, X[:, :5])
    words = tmp_path / "hard.safetensors"
    wb.debias(sample, "hard", save_transform=words)
    rows = sample.vectors[:300].copy()
    with pytest.raises(WordbiasError, match=r"fitted on the words of .* force=True"):
        wb.apply(words, rows)
    with pytest.warns(WordbiasWarning, match="rows do not name words, and all of them are mapped"):
        mapped = wb.apply(words, rows, force=True)
    expected = wb.Hard().fit(sample).fitted_(rows)
    np.testing.assert_allclose(mapped, expected, atol=1e-6)


def test_rows_that_are_clean_already_are_refused(eraser: Any, tmp_path: Path) -> None:
    clean = wb.apply(eraser, X.astype(float))
    with pytest.raises(WordbiasError, match="changed none of the first 600 vectors"):
        wb.apply(eraser, clean)
    np.save(tmp_path / "a.npy", clean)
    with pytest.raises(WordbiasError, match=r"of .*a\.npy: what it removes is not there"):
        wb.apply(eraser, tmp_path / "a.npy", output=tmp_path / "b.npy")
    assert not (tmp_path / "b.npy").exists()


def test_arguments_that_would_do_nothing_are_refused(
    eraser: Any, tmp_path: Path, sample: wb.Embedding
) -> None:
    np.save(tmp_path / "a.npy", X)
    for given, options, message in (
        (X, {"output": tmp_path / "b.npy"}, "what is in memory is returned"),
        (X, {"array": "x"}, "array= is for files"),
        (tmp_path / "a.npy", {}, "output= names the file or folder"),
        (sample, {"array": "x"}, "array= is for rows"),
    ):
        with pytest.raises(WordbiasError, match=message):
            wb.apply(eraser, given, **options)
    with wb.config(jobs=2, skip_bad=True):  # of all calls: no function refuses them
        wb.apply(eraser, X)
    assert not (tmp_path / "b.npy").exists()


def test_probe_reads_vectors_and_labels_of_one_file(tmp_path: Path) -> None:
    """`probe` reads vectors, labels and splits of one file, in every format alike."""
    split = np.array(["train", "dev", "test"])[np.arange(N) % 3]
    g = np.where(X[:, 0] > 0, "f", "m")
    pq.write_table(pa.table({"g": g, "s": split, "v": list(X)}), tmp_path / "a.parquet")
    np.savez(tmp_path / "b.npz", g=g, s=split, v=X)
    reports = []
    for name in ("a.parquet", "b.npz"):
        reports.append(
            wb.probe(tmp_path / name, "g", mdl=False, split="s", seed=0, epochs=3, control=False)
        )
    first, other = ([row.value for row in report] for report in reports)
    assert first == other
    alone = wb.probe(
        X, g.tolist(), mdl=False, split=split.tolist(), seed=0, epochs=3, control=False
    )
    assert first == [row.value for row in alone]
