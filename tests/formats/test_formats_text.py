"""GloVe and word2vec text as it is found in the wild."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias import devices
from wordbias.errors import WordbiasError
from wordbias.formats import VectorFile, load, save, scan

Check = Callable[..., None]
Write = Callable[..., Path]


@pytest.mark.parametrize("header", [False, True])
def test_odd_words_and_values_are_read(
    odd: Any, write_text: Write, same_bits: Check, header: bool
) -> None:
    words, vectors = odd
    loaded = load(write_text(words, vectors, header=header), cache=False)
    assert loaded.words == words
    same_bits(loaded.vectors, vectors)
    assert loaded.info.format == ("word2vec" if header else "glove")
    assert (loaded.info.words, loaded.info.dim) == vectors.shape


@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize(
    "first", ["nan", "1.5", "2020", "", ". . .", '"', "#", "\x85", "\xa0", "\udcff", "-", "e"]
)
def test_any_word_may_be_in_the_first_line(
    write_text: Write, same_bits: Check, first: str, header: bool
) -> None:
    vectors = np.array([[0.5, -1.25], [2.5, 4.0]], np.float32)
    loaded = load(write_text([first, "b"], vectors, header=header), cache=False)
    assert loaded.words == [first, "b"]
    same_bits(loaded.vectors, vectors)


@pytest.mark.parametrize(
    "words", [["b", "my nan"], ["b", "to infinity"], ["to infinity", "b"], ["b", "no 1_0"]]
)
def test_a_word_that_ends_in_what_is_no_decimal_is_a_word(
    write_text: Write, words: list[str]
) -> None:
    path = write_text(words, np.eye(2, 4, dtype=np.float32))
    assert load(path, cache=False).words == words


@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize(
    "form",
    [
        {"end": b"\r\n"},
        {"end": b" \n"},
        {"end": b" \r\n"},
        {"between": b"\t"},
        {"between": b"\t", "end": b"\t\r\n"},
        {"start": b"\xef\xbb\xbf"},
        {"start": b"\xef\xbb\xbf", "end": b"\r\n"},
    ],
    ids=str,
)
@pytest.mark.parametrize("size", [1 << 19, 3])
def test_other_line_ends_separators_and_byte_order_marks(
    write_text: Write,
    same_bits: Check,
    chunk: Callable[[int], None],
    header: bool,
    form: dict[str, bytes],
    size: int,
) -> None:
    chunk(size)
    words = ["the", "caf\xe9", "\xa0", "nan", "2020"]
    vectors = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
    loaded = load(write_text(words, vectors, header=header, **form), cache=False)
    assert loaded.words == words
    same_bits(loaded.vectors, vectors)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b" \n"])
def test_the_last_line_feed_may_be_missing(write_text: Write, same_bits: Check, end: bytes) -> None:
    vectors = np.array([[0.5, -1.25], [2.5, 4.75]], np.float32)
    path = write_text(["a", "b"], vectors, end=end)
    path.write_bytes(path.read_bytes().rstrip(b"\r\n"))
    loaded = load(path, cache=False)
    assert loaded.words == ["a", "b"]
    same_bits(loaded.vectors, vectors)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("header", [False, True])
def test_where_chunks_end_does_not_matter(
    odd: Any,
    write_text: Write,
    same_bits: Check,
    chunk: Callable[[int], None],
    size: int,
    header: bool,
) -> None:
    path = write_text(*odd, header=header)
    whole = load(path, cache=False)
    chunk(size)
    pieces = load(path, cache=False)
    assert pieces.words == whole.words == odd[0]
    same_bits(pieces.vectors, whole.vectors)
    assert pieces.info == whole.info


def test_two_threads_read_what_one_reads(
    write_text: Write,
    same_bits: Check,
    chunk: Callable[[int], None],
) -> None:
    vectors = np.random.default_rng(2).standard_normal((2000, 7)).astype(np.float32)
    path = write_text([f"w{i}" for i in range(2000)], vectors)
    chunk(500)
    single = load(path, cache=False)
    devices.set_threads(2)
    two = load(path, cache=False)
    assert single.words == two.words == [f"w{i}" for i in range(2000)]
    same_bits(single.vectors, two.vectors)
    same_bits(two.vectors, vectors)


def test_the_first_of_duplicated_words_is_kept_and_the_rest_counted(
    write_text: Write, same_bits: Check
) -> None:
    vectors = np.arange(8, dtype=np.float32).reshape(4, 2) + 0.5
    loaded = load(write_text(["a", "b", "a", "a"], vectors), cache=False)
    assert loaded.words == ["a", "b"]
    same_bits(loaded.vectors, vectors[:2])
    assert (loaded.info.words, loaded.info.duplicates) == (2, 2)


def test_duplicates_are_reported(write_text: Write, tmp_path: Path, cli: Any) -> None:
    path = write_text(["a", "b", "a"], np.ones((3, 2), np.float32))
    done = cli("convert", path, tmp_path / "out.safetensors")
    assert done.code == 0
    assert done.err == f"note: {path}: 1 duplicated word, the first of each kept\n"
    assert "2 words" in done.out


@pytest.mark.parametrize("name", ["v.txt", "v.bin", "v.txt.gz", "v.txt.zip", "v.safetensors"])
def test_the_hash_is_that_of_the_file(tmp_path: Path, odd: Any, name: str) -> None:
    path = tmp_path / name
    save(path, [f"w{i}" for i in range(len(odd[0]))], odd[1])
    expected = hashlib.sha256(path.read_bytes()).hexdigest()
    assert [load(path).info.sha256 for _ in range(2)] == [expected, expected]


def test_many_bad_rows_cost_no_more_than_good_ones(
    write_text: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wordbias.formats import text

    rows = 400
    path = write_text([f"w{i}" for i in range(rows)], np.ones((rows, 4), np.float32))
    bad = path.read_bytes().replace(b" 1.0\n", b" nan\n").replace(b" nan\n", b" 1.0\n", 1)
    path.write_bytes(bad)
    calls, parse = [], text.parse_decimals
    monkeypatch.setattr(
        text, "parse_decimals", lambda *a, **k: calls.append(len(a[1])) or parse(*a, **k)
    )
    loaded = load(path, cache=False, skip_bad=True)
    assert (loaded.info.words, loaded.info.skipped) == (1, rows - 1)
    assert sum(calls) <= 20 * rows * 4


def test_a_file_named_with_two_colons_can_be_read(write_text: Write, tmp_path: Path) -> None:
    path = write_text(["a", "b"], np.ones((2, 2), np.float32))
    odd_name = tmp_path / "std::vector.txt"
    os.replace(path, odd_name)
    assert load(odd_name, cache=False).words == ["a", "b"]


@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("end", [b"\n", b"\n\n\n", b"\r\n\r\n", b" \n\t\n", b"\n" * 5_000, b"   "])
@pytest.mark.parametrize("size", [1 << 19, 3])
def test_empty_lines_at_the_end_are_no_rows(
    write_text: Write, chunk: Callable[[int], None], end: bytes, size: int, header: bool
) -> None:
    chunk(size)
    path = write_text(["a", "b"], np.eye(2, dtype=np.float32), header=header)
    path.write_bytes(path.read_bytes() + end)
    loaded = load(path, cache=False)
    assert (loaded.words, loaded.info.skipped) == (["a", "b"], 0)
    scanned = scan(VectorFile.open(path), head=1, wanted=["b"])
    assert (scanned.words, scanned.info.words) == (["a", "b"], 2)


@pytest.mark.parametrize("size", [1 << 19, 3])
@pytest.mark.parametrize("empty", [1, 2, 700])
def test_empty_lines_between_rows_are_rows_that_cannot_be_used(
    tmp_path: Path, chunk: Callable[[int], None], size: int, empty: int
) -> None:
    chunk(size)
    path = tmp_path / "v.txt"
    path.write_bytes(b"a 1 2\n" + b"\n" * empty + b"b 3 4\nc 5\n\n")
    with pytest.raises(WordbiasError, match="line 2: expected 2 values, found 0"):
        load(path, cache=False)
    loaded = load(path, cache=False, skip_bad=True)
    assert (loaded.words, loaded.info.skipped) == (["a", "b"], empty + 1)


@pytest.mark.parametrize("first", [b" b", b"  b", b" b c", b"  "])
def test_a_line_that_begins_with_a_space_is_no_word_with_a_space_in_front(
    tmp_path: Path, first: bytes
) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(b"a 1 2\n" + first + b" 3 4\nc 5 6\n")
    with pytest.raises(WordbiasError, match="line 2: begins with a space, expected a word there"):
        load(path, cache=False)
    assert load(path, cache=False, skip_bad=True).words == ["a", "c"]


@pytest.mark.parametrize("name", ["v.txt", "v.vec"])
def test_a_word_that_begins_with_a_space_is_not_written_as_text(tmp_path: Path, name: str) -> None:
    words, vectors = ["a", " b"], np.eye(2, dtype=np.float32)
    with pytest.raises(WordbiasError, match="the word ' b' begins with a space"):
        save(tmp_path / name, words, vectors)
    save(tmp_path / "v.safetensors", words, vectors)
    assert load(tmp_path / "v.safetensors").words == words
