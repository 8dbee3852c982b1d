"""Words and their vectors."""

from __future__ import annotations

import importlib
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias import Attribute, Embedding, WordbiasError
from wordbias.methods.misp import fit
from wordbias.methods.transform import transformed

WORDS = ["she", "he", "table"]
VECTORS = [[1.0, 2], [3, 4], [5, 6]]


@pytest.fixture
def emb() -> Embedding:
    return Embedding(WORDS, np.array(VECTORS), "small")


def test_a_word_is_looked_up(emb: Embedding) -> None:
    assert emb["he"].tolist() == [3, 4]
    assert "he" in emb
    assert "He" not in emb
    assert list(emb) == list(emb.words) == WORDS
    assert len(emb) == 3
    assert emb.dim == 2
    assert emb.vectors.dtype == np.float32
    assert emb.vectors.flags.c_contiguous


def test_a_missing_word_is_named(emb: Embedding) -> None:
    with pytest.raises(KeyError, match="small has no word 'It'"):
        emb["It"]
    with pytest.raises(WordbiasError, match="small has no word 'It'"):
        emb.take(["he", "It"])


def test_rows_are_in_the_order_asked(emb: Embedding) -> None:
    rows, missing = emb.rows(["table", "it", "she", "table", "its"])
    assert rows.tolist() == [2, 0, 2]
    assert rows.dtype == np.intp
    assert missing == ["it", "its"]
    assert emb.rows(iter(["table"]))[0].tolist() == [2]
    assert emb.rows([])[0].shape == (0,)


def test_take_may_repeat(emb: Embedding) -> None:
    assert emb.take(["table", "she", "table"]).tolist() == [[5, 6], [1, 2], [5, 6]]
    assert emb.take([]).shape == (0, 2)


def test_a_subset_has_each_word_once_in_the_order_given(emb: Embedding) -> None:
    part = emb.subset(["table", "it", "she", "table"])
    assert (list(part.words), part.vectors.tolist()) == (["table", "she"], [[5, 6], [1, 2]])
    assert part.name == "small"
    assert len(emb.subset([])) == 0


def test_other_vectors_keep_the_words(emb: Embedding) -> None:
    other = emb.with_vectors([[1, 2, 3]] * 3, "other")
    assert (list(other.words), other.dim, other.name) == (WORDS, 3, "other")
    assert emb.with_vectors(emb.vectors).name == "small"
    with pytest.raises(WordbiasError, match=r"shape \(3, d\) for 3 words, got \(2, 2\)"):
        emb.with_vectors(np.eye(2))


@pytest.mark.parametrize("shape", [(2, 2), (6,), (3, 2, 1), ()])
def test_vectors_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(WordbiasError, match=r"expected vectors of shape \(3, d\) for 3 words"):
        Embedding(WORDS, np.zeros(shape))


def test_a_word_that_occurs_twice_is_named() -> None:
    with pytest.raises(WordbiasError, match="'b' occurs more than once"):
        Embedding(["a", "b", "c", "b"], np.zeros((4, 2)))


def test_float32_is_shared_and_left_writable_for_its_owner() -> None:
    vectors = np.array(VECTORS, np.float32)
    emb = Embedding(WORDS, vectors)
    assert np.shares_memory(emb.vectors, vectors)
    assert vectors.flags.writeable


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_other_types_are_converted(dtype: Any) -> None:
    vectors = np.asfortranarray(np.array(VECTORS, dtype))
    emb = Embedding(WORDS, vectors)
    assert emb.vectors.tolist() == VECTORS
    assert emb.vectors.flags.c_contiguous
    assert not np.shares_memory(emb.vectors, vectors)


def test_neither_field_nor_vector_can_be_set(emb: Embedding) -> None:
    with pytest.raises(FrozenInstanceError):
        emb.vectors = np.zeros((3, 2))
    with pytest.raises(ValueError, match="read-only"):
        emb.vectors[0, 0] = 9
    with pytest.raises(ValueError, match="read-only"):
        emb["she"][0] = 9


def test_the_callers_list_of_words_is_not_the_embeddings() -> None:
    words = list(WORDS)
    emb = Embedding(words, np.array(VECTORS))
    words[0] = "changed"
    assert list(emb) == WORDS


def test_the_words_cannot_be_changed(emb: Embedding) -> None:
    with pytest.raises((TypeError, AttributeError)):
        emb.words[0] = "changed"


def test_read_only_and_mapped_vectors_work(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array(VECTORS, np.float32))
    mapped = np.load(tmp_path / "v.npy", mmap_mode="r")
    emb = Embedding(WORDS, mapped)
    assert np.shares_memory(emb.vectors, mapped)
    assert emb.take(["he"]).tolist() == [[3, 4]]


@pytest.mark.parametrize("suffix", [".txt", ".vec", ".bin", ".safetensors", ".txt.gz"])
def test_what_is_saved_is_loaded(emb: Embedding, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"small{suffix}"
    emb.save(path)
    back = wb.load(path)
    assert list(back.words) == WORDS
    np.testing.assert_array_equal(back.vectors, emb.vectors)
    assert back.name == "small"
    assert back.info is not None
    assert (back.info.words, back.info.dim) == (3, 2)


def test_gensim_and_back(emb: Embedding) -> None:
    pytest.importorskip("gensim", reason="the extra `gensim` is not installed")
    keyed = emb.to_gensim()
    assert keyed.index_to_key == WORDS
    assert keyed["he"].tolist() == [3, 4]
    keyed.vectors[0] = 0  # a copy
    assert emb["she"].tolist() == [1, 2]
    back = Embedding.from_gensim(keyed, "back")
    assert (list(back.words), back.name) == (WORDS, "back")
    assert np.shares_memory(back.vectors, keyed.vectors)
    assert keyed.vectors.flags.writeable


def test_without_gensim_the_message_says_how_to_get_it(
    emb: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:

    def missing(name: str, *_: object, **__: object) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(WordbiasError, match=r"needs gensim.*pip install \"wordbias\[gensim\]\""):
        emb.to_gensim()


def test_a_repr_fits_a_line() -> None:
    emb = Embedding.sample()
    fitted = fit(emb)
    assert repr(emb) == "<Embedding 'sample': 21,791 words × 100>"
    for thing in (emb, fitted, fitted.subspace, Attribute.load()):
        assert len(repr(thing)) < 200


def test_a_fitted_transform_takes_an_embedding_or_lists() -> None:
    emb = Embedding.sample()
    fitted = fit(emb)
    assert (fitted(emb).vectors == transformed(emb, fitted).vectors).all()
    assert fitted(emb["she"].tolist()) == pytest.approx(fitted(emb["she"]), abs=1e-6)
    with pytest.raises(WordbiasError, match=r"expected rows of 100 values, got shape \(2, 3\)"):
        fitted(np.zeros((2, 3)))


def test_a_path_is_no_embedding_but_names_an_attribute(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=r"got str; wb.load\(path\) reads one"):
        fit("glove.txt")  # type: ignore[arg-type]
    path = tmp_path / "colour.toml"
    path.write_text('[groups]\na = ["red", "blue", "green"]\nb = ["one", "two", "six"]\n')
    emb = Embedding.sample()
    fitted = fit(emb, path, dims=2)
    assert fitted.subspace.dims == 2
