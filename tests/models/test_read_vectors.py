"""Vectors that were made elsewhere are found by their text, or by their order, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from embedding_server import toy

import wordbias as wb
from wordbias.errors import WordbiasError
from wordbias.models.read_vectors import ReadVectors, write_texts

TEXTS = [f"text {i}, “quoted” \t and é" for i in range(6)]
MIXED = [TEXTS[i] for i in (3, 0, 5, 1, 4, 2)]


def jsonl(path: Path, texts: list[str], named: bool = True) -> Path:
    lines = [
        {**({"text": text} if named else {"id": i}), "embedding": row}
        for i, (text, row) in enumerate(zip(texts, toy(texts).tolist(), strict=True))
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def written(path: Path, texts: list[str]) -> Path:
    """Write vectors in the format of a suffix; those with columns in another order of texts."""
    vectors = toy(texts)
    if path.suffix == ".npy":
        np.save(path, vectors)
    elif path.suffix == ".npz":
        np.savez(path, vectors=vectors, text=np.array(texts))
    elif path.suffix == ".safetensors":
        from safetensors.numpy import save_file

        save_file({"embeddings": vectors}, path)
    elif path.suffix == ".jsonl":
        jsonl(path, texts)
    else:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import feather, parquet

        table = pyarrow.table({"text": texts, "vector": list(vectors)})
        write = parquet.write_table if path.suffix == ".parquet" else feather.write_feather
        write(table, path)
    return path


@pytest.mark.parametrize("suffix", ["npz", "parquet", "arrow", "jsonl"])
def test_vectors_are_found_by_their_text(tmp_path: Path, suffix: str) -> None:
    reader = ReadVectors.open(written(tmp_path / f"mine.{suffix}", MIXED))
    assert reader.name == "mine"
    assert np.array_equal(reader.encode([*TEXTS, TEXTS[0]]), toy([*TEXTS, TEXTS[0]]))


@pytest.mark.parametrize("suffix", ["npy", "safetensors"])
def test_vectors_without_texts_are_in_their_order(tmp_path: Path, suffix: str) -> None:
    reader = ReadVectors.open(written(tmp_path / f"mine.{suffix}", TEXTS))
    texts = [*TEXTS, TEXTS[0]]
    assert np.array_equal(reader.encode(texts), toy(texts))
    with pytest.raises(WordbiasError, match=r"6 vectors and no column 'text'; expected .* 5 texts"):
        reader.encode(TEXTS[:5])


def test_arrays_and_tables_in_memory() -> None:
    assert np.array_equal(ReadVectors.open(toy(TEXTS)).encode(TEXTS), toy(TEXTS))
    table = {"text": MIXED, "vector": toy(MIXED)}
    assert np.array_equal(ReadVectors.open(table).encode(TEXTS), toy(TEXTS))


class Library:
    """An object of this machine, whose texts are not counted first."""

    def encode(self, texts: list[str]) -> object:
        return toy(texts)


def test_the_way_there_and_back(tmp_path: Path) -> None:
    """What is written is read by `wordbias encode`, whose file is read again."""
    write_texts(tmp_path / "t.jsonl", TEXTS)
    wb.encode(Library(), tmp_path / "t.jsonl", output=tmp_path / "v.safetensors")
    reader = ReadVectors.open(tmp_path / "v.safetensors")
    assert np.array_equal(reader.encode(TEXTS), toy(TEXTS))


def test_a_text_with_two_vectors_is_refused_if_they_differ(tmp_path: Path) -> None:
    twice = [*TEXTS, TEXTS[2]]
    vectors = ReadVectors.open({"text": twice, "vector": toy(twice).tolist()})
    assert np.array_equal(vectors.encode(TEXTS), toy(TEXTS))
    other = toy(twice)
    other[2] += 1
    vectors = ReadVectors.open({"text": twice, "vector": other.tolist()})
    with pytest.raises(WordbiasError, match=r"has two vectors of 'text 2, .* which differ"):
        vectors.encode(TEXTS)


def test_texts_without_vectors(tmp_path: Path) -> None:
    reader = ReadVectors.open(jsonl(tmp_path / "v.jsonl", MIXED[1:]))
    with pytest.raises(WordbiasError, match=r"no vector of 1 of 6 texts, such as 'text 3"):
        reader.encode(TEXTS)


def test_a_file_of_two_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", a=np.eye(4), b=np.eye(4))
    with pytest.raises(WordbiasError, match=r"v\.npz: holds 2 arrays of .*, a, b; leave one$"):
        ReadVectors.open(tmp_path / "v.npz")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "holds no vectors"),
        ("[1, 2]\n", "line 1: is no object of JSON"),
        ('{"text": "a"}\n', "expected one list of numbers, the vector, found none"),
        ('{"a": [1], "b": [2]}\n', "the vector, found a, b; leave one"),
        ('{"v": [1]}\n{"w": [1]}\n', "line 2: has no 'v'"),
        ('{"v": [1]}\n{"v": [1, 2]}\n', "row 2 is"),
        ('{"v": ["a"]}\n{"v": ["b"]}\n', "'v' holds no vectors"),
        ('{"v": [[1]]}\n', "'v' holds no vectors"),
        ('{"v": [1], "text": "a"}\n{"v": [2]}\n', "1 line without 'text'"),
        ('{"v": [1e300]}\n', "vector 1 has a value that is not finite"),
        ('{"v": [NaN]}\n', "vector 1 has a value that is not finite"),
    ],
)
def test_lines_that_cannot_be_used(tmp_path: Path, lines: str, said: str) -> None:
    (tmp_path / "v.jsonl").write_text(lines)
    with pytest.raises(WordbiasError, match=said) as caught:
        ReadVectors.open(tmp_path / "v.jsonl")
    assert str(tmp_path / "v.jsonl") in str(caught.value)


@pytest.mark.parametrize("name", ["t.csv", "t", "t.txt"])
def test_texts_are_written_as_json_lines(tmp_path: Path, name: str) -> None:
    with pytest.raises(WordbiasError, match=r"name a file \.jsonl"):
        write_texts(tmp_path / name, TEXTS)
    assert not any(tmp_path.iterdir())


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for name in ("v.npy", "v.jsonl", "v.parquet"):
        with pytest.raises((WordbiasError, OSError)):
            wb.audit(read_vectors=tmp_path / name)
