"""Labels and vectors read from files, errors about them, and the controls."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias import Embedding
from wordbias.columns import Column, read_labels
from wordbias.errors import WordbiasError
from wordbias.labelled import Labelled
from wordbias.models.representations import Representations, save_representations
from wordbias.probes.inputs import (
    control_labels,
    is_arrays,
    labels_in,
    load_vectors,
    name_labels,
    random_vectors,
    read_word_labels,
)
from wordbias.probes.mdl import online_codes
from wordbias.probes.train import Recipe
from wordbias.wordlists.templates import names

X = np.arange(24, dtype=np.float32).reshape(6, 4)


def _write(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize(
    "data", ["f\nm\nf\n", "f\nm\nf", "f\r\nm\r\nf\r\n", "\ufefff\nm\nf\n", " f\nm \nf\n"]
)
def test_labels_one_a_line(tmp_path: Path, data: str) -> None:
    labels = read_labels(_write(tmp_path / "y.txt", data))
    assert labels.cells() == ["f", "m", "f"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"f\nm\n\xe9l\xe8ve\n", r"line 3: byte 1 is not UTF-8 .*; convert"),
        ("f\nm\n".encode("utf-16"), "line 1: byte 1 is not UTF-8 but UTF-16"),
    ],
)
def test_damaged_label_files_are_refused(tmp_path: Path, data: bytes | str, message: str) -> None:
    path = _write(tmp_path / "y.txt", data)
    with pytest.raises(WordbiasError, match=f"{path}: {message}"):
        read_labels(path)


def test_a_missing_label_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="cannot be read: No such file"):
        read_labels(tmp_path / "none.txt")
    with pytest.raises(WordbiasError, match="cannot be read: Is a directory"):
        read_word_labels(tmp_path)


def test_words_and_labels_are_read(tmp_path: Path) -> None:
    path = _write(tmp_path / "w.tsv", "new york\tcity\nZoe\tname\nZoe\tname\n")
    assert read_word_labels(path) == {"new york": "city", "Zoe": "name"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("a\tx\nb\n", "line 2: expected the columns word and label, separated by tabs, found 1"),
        ("a\tx\ty\n", "line 1: expected the columns word and label"),
        ("\tx\n", "line 1: expected a word"),
        ("a\t \n", "line 1: expected a word"),
        ("a\tx\na\ty\n", "line 2: 'a' is labelled 'y', but 'x' before"),
    ],
)
def test_damaged_lists_of_words_are_refused(tmp_path: Path, data: str, message: str) -> None:
    path = _write(tmp_path / "w.tsv", data)
    with pytest.raises(WordbiasError, match=f"{path}: {message}"):
        read_word_labels(path)


def test_names_are_labelled_by_the_share_of_their_bearers() -> None:
    labels = name_labels()
    assert labels["Olivia"] == "female"
    assert labels["Liam"] == "male"
    assert labels == {name: "female" if s >= 0.5 else "male" for name, s in names().items()}


def test_the_sample_has_at_least_a_thousand_names() -> None:
    sample = Embedding.sample()
    labels, missing = labels_in(name_labels(), sample)
    assert len(labels) >= 1000
    assert len(labels) + len(missing) == len(name_labels())
    assert (labels["mary"], labels["john"]) == ("female", "male")


def test_words_are_found_as_a_vocabulary_spells_them() -> None:
    labels = {"Emma": "f", "emma": "other", "Zoe": "f", "paul": "m", "Nobody": "m"}
    known, missing = labels_in(labels, {"emma", "Paul", "Zoe"})
    assert list(known.items()) == [("emma", "f"), ("Zoe", "f"), ("Paul", "m")]
    assert missing == ["Nobody"]


def test_arrays_of_numpy_are_read(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "b.npz", x=np.stack([X, -X]))
    np.savez_compressed(tmp_path / "c.npz", x=X, y=X.astype(np.float64))
    single, layers = load_vectors(tmp_path / "a.npy"), load_vectors(tmp_path / "b.npz")
    np.testing.assert_array_equal(single.vectors, X[None])
    assert isinstance(np.load(tmp_path / "a.npy", mmap_mode="r"), np.memmap)
    assert not single.vectors.flags.writeable, "mapped, not read"
    assert (layers.layers, layers.name) == ((0, 1), "b")
    np.testing.assert_array_equal(layers.vectors[1], -X)
    assert load_vectors(tmp_path / "c.npz", "y").vectors.dtype == np.float64
    with pytest.raises(
        WordbiasError, match="one array of vectors, found x, y; choose with --array"
    ):
        load_vectors(tmp_path / "c.npz")
    with pytest.raises(WordbiasError, match="no array 'z'; it holds x, y"):
        load_vectors(tmp_path / "c.npz", "z")


def test_arrays_of_safetensors_are_read(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    path = tmp_path / "a.safetensors"
    save_file({"states": np.stack([X, X]), "lengths": np.zeros(6, np.int32)}, path)
    assert is_arrays(path)
    stacked = load_vectors(path)
    np.testing.assert_array_equal(stacked.vectors, np.stack([X, X]))
    save_file({"a": X, "b": X}, path)
    with pytest.raises(WordbiasError, match="found a, b; choose with --array NAME"):
        load_vectors(path)
    assert load_vectors(path, "b").layers == (0,)
    save_file({"a": X[0]}, path)
    with pytest.raises(WordbiasError, match=r"found float32 of shape \(4,\)"):
        load_vectors(path)
    with pytest.raises(WordbiasError, match="expected numbers of shape"):
        load_vectors(path, "a")


def test_representations_are_read(tmp_path: Path) -> None:
    path = tmp_path / "r.safetensors"
    columns = {"gender": Column.of("fmfmfm")}
    save_representations(Representations(np.stack([X, 2 * X]), (0, 6), columns), path)
    assert is_arrays(path)
    loaded = load_vectors(path)
    assert (loaded.layers, loaded.column("gender").cells()) == ((0, 6), list("fmfmfm"))


def test_embeddings_are_no_arrays(tmp_path: Path) -> None:
    embedding = Embedding(["a", "b"], X[:2])
    for name in ("e.txt", "e.bin", "e.safetensors"):
        embedding.save(tmp_path / name)
        assert not is_arrays(tmp_path / name)
    assert not is_arrays(_write(tmp_path / "short.txt", "a"))


class _Dangerous:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("a pickle was executed",))


def test_no_pickle_is_ever_executed(tmp_path: Path) -> None:
    objects = np.array([_Dangerous()] * 3, object)
    np.save(tmp_path / "o.npy", objects)
    np.savez(tmp_path / "o.npz", x=objects)
    for name in ("o.npy", "o.npz"):
        with pytest.raises(WordbiasError, match="Python objects, which are never loaded"):
            load_vectors(tmp_path / name)
    pickled = _write(tmp_path / "p.npy", pickle.dumps(_Dangerous()))
    assert not is_arrays(pickled)
    with pytest.raises(WordbiasError, match="never loaded"):
        load_vectors(pickled)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "a.npz", x=X)
    for name in ("a.npy", "a.npz"):
        whole = (tmp_path / name).read_bytes()
        cut = _write(tmp_path / f"cut_{name}", whole[: len(whole) // 2])
        with pytest.raises(WordbiasError, match="cut_a"):
            is_arrays(cut) and load_vectors(cut)
    np.save(tmp_path / "t.npy", np.array(["a", "b"]))
    with pytest.raises(WordbiasError, match="expected numbers of shape"):
        load_vectors(tmp_path / "t.npy")
    with pytest.raises(WordbiasError, match=r"none\.npy: there is no such file; .* encode$"):
        is_arrays(tmp_path / "none.npy")


@given(st.integers(0, 50), st.integers(1, 20))
def test_a_type_has_one_label(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    labels, types = rng.integers(0, 3, 200), 5 * rng.integers(0, count, 200)
    controls = control_labels(labels, types, seed)
    assert all(len(set(controls[types == kind])) == 1 for kind in set(types.tolist()))
    assert set(controls) <= set(labels)
    np.testing.assert_array_equal(controls, control_labels(labels, types, seed))


def test_labels_are_drawn_as_often_as_they_occur() -> None:
    labels = np.repeat([0, 1, 2], [700, 200, 100])
    drawn = np.concatenate([control_labels(labels, None, seed) for seed in range(50)])
    shares = np.bincount(drawn) / len(drawn)
    # five standard deviations of a share of 50,000 draws
    tolerance = 5 * np.sqrt(0.25 / len(drawn))
    np.testing.assert_allclose(shares, [0.7, 0.2, 0.1], atol=tolerance)
    assert not np.array_equal(drawn[:1000], drawn[1000:2000])
    assert abs(np.corrcoef(labels, drawn[:1000])[0, 1]) < 5 / np.sqrt(1000)


@pytest.mark.slow
def test_a_type_that_occurs_again_can_be_memorised() -> None:
    """Twenty types, their one-hot vectors: the control task is easy, so selectivity is none."""
    rng = np.random.default_rng(0)
    types = rng.integers(0, 20, 1000)
    x = np.eye(20, dtype=np.float32)[types]
    labels = (types < 10).astype(int)
    recipe = Recipe(rate=0.05)
    (by_type,) = online_codes(Labelled.of(x, labels), types=types, recipe=recipe)
    (by_row,) = online_codes(Labelled.of(x, labels), recipe=recipe)
    assert by_type.selectivity == 0
    assert by_row.selectivity is not None
    assert by_row.selectivity > 0.3
    (without,) = online_codes(Labelled.of(x, labels), control=False, recipe=recipe)
    assert without.selectivity is None


def test_random_vectors_have_the_scale_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    like = rng.standard_normal((2, 900, 30)) * [[[0.1]], [[7.0]]]
    before = like.copy()
    drawn = random_vectors(like, 3)
    np.testing.assert_array_equal(like, before)
    assert drawn.shape == like.shape
    # a mean square of N normal numbers has a relative standard deviation of √(2/N)
    tolerance = 5 * np.sqrt(2 / like[0].size) * 2
    for layer, same in zip(drawn, like, strict=True):
        np.testing.assert_allclose(np.mean(layer**2), np.mean(same**2), rtol=tolerance)
    assert abs(np.corrcoef(drawn[0].ravel(), like[0].ravel())[0, 1]) < 5 / np.sqrt(like[0].size)
    np.testing.assert_array_equal(drawn, random_vectors(like, 3))
    assert not np.array_equal(drawn, random_vectors(like, 4))
