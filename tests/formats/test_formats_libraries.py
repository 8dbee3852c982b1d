"""Other libraries read what is written here, and the other way round, bit for bit."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gensim.models import KeyedVectors
from safetensors.numpy import load_file, save_file

from wordbias import Embedding
from wordbias.formats import Kind, load, save

Check = Callable[..., None]


@pytest.fixture
def real() -> tuple[list[str], Any]:
    """Return words and values as a trained embedding has them, without spaces in the words."""
    rng = np.random.default_rng(11)
    letters = list("abcdefghijklmnopqrstuvwxyzäöüé日.,-'")
    words = ["</s>", "the", ",", ".", '"', "nan", "null", "2020", "1.5", "\xad"]
    words += ["".join(rng.choice(letters, rng.integers(3, 12))) + str(i) for i in range(700)]
    scale = 10.0 ** rng.integers(-6, 2, (len(words), 25))
    return words, (rng.standard_normal((len(words), 25)) * scale).astype(np.float32)


@pytest.fixture
def keyed(real: Any) -> KeyedVectors:
    words, vectors = real
    keyed = KeyedVectors(vectors.shape[1])
    keyed.add_vectors(words, vectors)
    return keyed


@pytest.mark.parametrize("binary", [False, True])
def test_what_gensim_writes_is_read(
    keyed: KeyedVectors, tmp_path: Path, same_bits: Check, binary: bool
) -> None:
    path = tmp_path / "vectors"
    keyed.save_word2vec_format(str(path), binary=binary)
    loaded = load(path, cache=False)
    theirs = KeyedVectors.load_word2vec_format(str(path), binary=binary)
    assert loaded.info.format == ("word2vec-binary" if binary else "word2vec")
    assert loaded.words == theirs.index_to_key == keyed.index_to_key
    same_bits(loaded.vectors, theirs.vectors)


@pytest.mark.filterwarnings("ignore")  # gensim leaves the file open
def test_a_headerless_file_is_read_as_gensim_reads_it(
    keyed: KeyedVectors, tmp_path: Path, same_bits: Check
) -> None:
    path = tmp_path / "glove.txt"
    keyed.save_word2vec_format(str(path), binary=False, write_header=False)
    theirs = KeyedVectors.load_word2vec_format(str(path), no_header=True)
    loaded = load(path, cache=False)
    assert loaded.words == theirs.index_to_key
    same_bits(loaded.vectors, theirs.vectors)


@pytest.mark.parametrize("digits", ["%.5f", "%.6f", "%.8g", "%.17g"])
def test_published_precisions_read_as_gensim_reads_them(
    real: Any, tmp_path: Path, same_bits: Check, digits: str
) -> None:
    path = tmp_path / "vectors.vec"
    words, vectors = real
    lines = [
        f"{word} {' '.join(digits % x for x in row)}\n" for word, row in zip(*real, strict=True)
    ]
    path.write_text(f"{len(words)} {vectors.shape[1]}\n" + "".join(lines), "utf-8", newline="\n")
    theirs = KeyedVectors.load_word2vec_format(str(path))
    loaded = load(path, cache=False)
    assert loaded.words == theirs.index_to_key
    same_bits(loaded.vectors, theirs.vectors)


@pytest.mark.parametrize("kind", ["word2vec", "word2vec-binary"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_what_we_write_is_read_by_gensim(
    real: Any, tmp_path: Path, same_bits: Check, kind: Kind, suffix: str
) -> None:
    path = tmp_path / f"vectors{suffix}"
    save(path, *real, kind)
    theirs = KeyedVectors.load_word2vec_format(str(path), binary=kind == "word2vec-binary")
    assert theirs.index_to_key == real[0]
    same_bits(theirs.vectors, real[1])


def test_kv_files_go_both_ways(
    real: Any, keyed: KeyedVectors, tmp_path: Path, same_bits: Check
) -> None:
    ours, theirs = tmp_path / "ours.kv", tmp_path / "theirs.kv"
    save(ours, *real)
    keyed.save(str(theirs))
    read = KeyedVectors.load(str(ours))
    assert read.index_to_key == real[0]
    same_bits(read.vectors, real[1])
    loaded = load(theirs, allow_pickle=True)
    assert loaded.words == real[0]
    same_bits(loaded.vectors, real[1])


def test_keyed_vectors_objects_go_both_ways(keyed: KeyedVectors, same_bits: Check) -> None:
    emb = Embedding.from_gensim(keyed)
    same_bits(emb.vectors, keyed.vectors)
    back = emb.to_gensim()
    assert back.index_to_key == keyed.index_to_key
    same_bits(back.vectors, keyed.vectors)


def test_word2vec_c_ends_each_row_with_a_line_feed(tmp_path: Path, same_bits: Check) -> None:
    rows = [("a", (0.5, -1.25)), ("b", (3e38, 1e-45)), ("", (10.0, -0.0))]
    body = b"".join(w.encode() + b" " + struct.pack("<2f", *v) + b"\n" for w, v in rows)
    path = tmp_path / "vectors.bin"
    path.write_bytes(b"3 2\n" + body)
    loaded = load(path, cache=False)
    assert loaded.words == ["a", "b", ""]
    same_bits(loaded.vectors, np.array([v for _, v in rows], np.float32))


def test_word2vec_binary_is_written_as_the_format_says(tmp_path: Path) -> None:
    path = tmp_path / "vectors.bin"
    save(path, ["a", "né"], np.array([[0.5, -1.25], [-0.0, 1e-45]], np.float32))
    expected = b"2 2\na " + struct.pack("<2f", 0.5, -1.25)
    assert path.read_bytes() == expected + "né ".encode() + struct.pack("<2f", -0.0, 1e-45)


@pytest.mark.parametrize("size", [16, 17, 64, 101, 1000])
def test_where_chunks_of_binary_end_does_not_matter(
    real: Any, tmp_path: Path, same_bits: Check, chunk: Callable[[int], None], size: int
) -> None:
    path = tmp_path / "vectors.bin"
    save(path, *real)
    chunk(size)
    loaded = load(path, cache=False)
    assert loaded.words == real[0]
    same_bits(loaded.vectors, real[1])


def test_our_safetensors_is_read_by_the_library(odd: Any, tmp_path: Path, same_bits: Check) -> None:
    words, vectors = odd
    path = tmp_path / "vectors.safetensors"
    save(path, words, vectors)
    tensors = load_file(path)
    assert set(tensors) == {"vectors", "words"}
    same_bits(tensors["vectors"], vectors)
    blob = tensors["words"].tobytes()
    assert blob == "\n".join(words).encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_the_library_s_safetensors_is_read_here(
    odd: Any, tmp_path: Path, same_bits: Check, dtype: type
) -> None:
    words, vectors = odd
    path = tmp_path / "vectors.safetensors"
    blob = "\n".join(words).encode("utf-8", "surrogateescape")
    with np.errstate(over="ignore"):
        stored = np.clip(vectors, -60000, 60000).astype(dtype)
    save_file(
        {"words": np.frombuffer(blob, np.uint8), "vectors": stored}, path, {"made": "elsewhere"}
    )
    loaded = load(path)
    assert loaded.words == words
    same_bits(loaded.vectors, stored.astype(np.float32))


def test_a_fasttext_model_gives_its_vocabulary_s_vectors(tmp_path: Path, same_bits: Check) -> None:
    from gensim.models.fasttext import FastText, load_facebook_vectors, save_facebook_model

    sentences = [["she", "reads", "papers"], ["he", "reads", "books"]] * 10
    model = FastText(sentences, vector_size=6, min_count=1, epochs=1, bucket=100, workers=1)
    path = tmp_path / "model.bin"
    save_facebook_model(model, str(path))
    theirs = load_facebook_vectors(str(path))
    loaded = load(path)
    assert loaded.info.format == "fasttext"
    assert loaded.words == theirs.index_to_key
    same_bits(loaded.vectors, theirs.vectors)
