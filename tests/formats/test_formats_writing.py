"""What is written in any format is read back, word for word and bit for bit."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats import ROW_FORMATS, WRITABLE, Kind, load, save

PACKED = ["", ".gz", ".bz2", ".xz", ".zip"]
Check = Callable[..., None]


def ambiguous(word: str) -> bool:
    """Say whether a word with spaces begins with one, or ends in a number as its values do."""
    try:
        float(word.rpartition(" ")[2])
    except ValueError:
        return word.startswith(" ")
    return " " in word


characters = st.characters(exclude_characters="\n", exclude_categories=["Cs"])
no_utf8 = st.binary(max_size=6).map(lambda b: b.decode("utf-8", "surrogateescape"))
tokens = (
    st.text(characters, max_size=8) | no_utf8 | st.sampled_from([". . .", "", "a ", "nan", "1"])
)
words_strategy = (
    st.lists(tokens, unique=True, max_size=8)
    .map(lambda words: ["the", *words])
    .filter(lambda words: len(set(words)) == len(words) and "\n" not in "".join(words))
    .filter(lambda words: not any(map(ambiguous, words)))
)
values = st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=True)


@st.composite
def embeddings(draw: st.DrawFn) -> tuple[list[str], NDArray[np.float32]]:
    words = draw(words_strategy)
    shape = (len(words), draw(st.integers(2, 5)))
    return words, draw(arrays.arrays(np.float32, shape, elements=values))


@settings(
    deadline=None,
    max_examples=25,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
@pytest.mark.parametrize(
    ("kind", "packed"),
    [(kind, p) for kind in WRITABLE for p in (PACKED if kind in ROW_FORMATS else [""])],
)
@given(made=embeddings())
def test_every_format_keeps_every_word_and_every_bit(
    same_bits: Check, kind: Kind, packed: str, made: tuple[list[str], NDArray[np.float32]]
) -> None:
    words, vectors = made
    if kind == "word2vec-binary":
        keep = [i for i, word in enumerate(words) if " " not in word]
        words, vectors = [words[i] for i in keep], vectors[keep]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"vectors{packed}"
        save(path, words, vectors, kind)
        loaded = load(path, cache=False, allow_pickle=True)
        assert loaded.words == words
        same_bits(np.array(loaded.vectors), vectors)
        assert loaded.info.format == kind


def test_shortest_digits_read_back_as_the_same_float32(tmp_path: Path, same_bits: Check) -> None:
    every = np.random.default_rng(5).integers(0, 1 << 32, 200_000, np.uint32).view(np.float32)
    vectors = every[np.isfinite(every)][:190_000].reshape(-1, 10)
    save(tmp_path / "v.txt", [f"w{i}" for i in range(len(vectors))], vectors)
    same_bits(load(tmp_path / "v.txt", cache=False).vectors, vectors)


@pytest.mark.parametrize("kind", WRITABLE)
@pytest.mark.parametrize(
    "first", ["\ufeff", "a\tb", "\ufeffthe", ". . .", "\x85", "\r", "\x80\x04"]
)
def test_an_odd_first_word_comes_back(tmp_path: Path, kind: Kind, first: str) -> None:
    if kind == "word2vec-binary":
        first = first.replace(" ", "_")
    path = tmp_path / "vectors"
    save(path, [first, "b"], np.eye(2, 3, dtype=np.float32), kind)
    assert load(path, cache=False, allow_pickle=True).words == [first, "b"]


@pytest.mark.parametrize("kind", WRITABLE)
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("word", ["fig 2", "to infinity", "x -1e5"])
def test_a_word_that_ends_in_a_number_comes_back_or_is_refused(
    tmp_path: Path, kind: Kind, place: int, word: str
) -> None:
    words = ["b"]
    words.insert(place, word)
    path = tmp_path / "vectors"
    try:
        save(path, words, np.eye(2, 3, dtype=np.float32), kind)
    except WordbiasError:
        assert not path.exists()
        return
    assert load(path, cache=False, allow_pickle=True).words == words


@pytest.mark.parametrize("kind", WRITABLE)
def test_one_word_and_one_dimension_come_back_or_are_refused(tmp_path: Path, kind: Kind) -> None:
    path = tmp_path / "vectors"
    for shape in [(1, 2), (1, 1), (3, 1)]:
        vectors = np.full(shape, 0.5, np.float32)
        words = ["a", "b", "c"][: shape[0]]
        try:
            save(path, words, vectors, kind)
        except WordbiasError:
            continue
        loaded = load(path, cache=False, allow_pickle=True)
        assert (loaded.words, loaded.vectors.tolist()) == (words, vectors.tolist())


@pytest.mark.parametrize("word", ["a b", " ", " a", "a "])
def test_word2vec_binary_refuses_what_it_cannot_hold(tmp_path: Path, word: str) -> None:
    with pytest.raises(WordbiasError) as caught:
        save(tmp_path / "v.bin", ["the", word], np.eye(2, dtype=np.float32))
    assert repr(word) in str(caught.value)
    assert ".safetensors" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", WRITABLE)
def test_a_word_with_a_line_feed_is_refused_with_a_remedy(tmp_path: Path, kind: Kind) -> None:
    path = tmp_path / "vectors"
    with pytest.raises(WordbiasError) as caught:
        save(path, ["the", "a\nb"], np.eye(2, dtype=np.float32), kind)
    assert repr("a\nb") in str(caught.value)
    assert "\n" not in str(caught.value)
    assert ";" in str(caught.value), "what to do about it is missing"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["glove", "word2vec"])
def test_a_line_feed_inside_a_binary_word_does_not_break_the_text(
    tmp_path: Path, cli: Any, kind: Kind
) -> None:
    import struct

    path = tmp_path / "v.bin"
    path.write_bytes(b"2 2\nthe " + struct.pack("<2f", 1, 2) + b"a\nb " + struct.pack("<2f", 3, 4))
    done = cli("convert", path, tmp_path / "out.txt", "--to", kind)
    assert done.code == 1
    assert repr("a\nb") in done.err
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize("kind", WRITABLE)
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_what_could_not_be_read_back_is_not_written(
    tmp_path: Path, kind: Kind, value: float
) -> None:
    vectors = np.ones((3, 2), np.float32)
    vectors[1, 1] = value
    path = tmp_path / "vectors"
    with pytest.raises(WordbiasError, match="'b'"):
        save(path, ["a", "b", "c"], vectors, kind)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("packed", PACKED[1:])
@pytest.mark.parametrize("name", ["v.safetensors", "v.kv"])
def test_formats_that_are_no_rows_are_not_compressed(
    tmp_path: Path, packed: str, name: str
) -> None:
    with pytest.raises(WordbiasError, match=f"drop \\{packed}"):
        save(tmp_path / f"{name}{packed}", ["a", "b"], np.eye(2, dtype=np.float32))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("packed", PACKED)
def test_equal_content_gives_equal_files(odd: Any, tmp_path: Path, packed: str) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        save(tmp_path / name / f"v.txt{packed}", *odd)
    first, two = ((tmp_path / name / f"v.txt{packed}").read_bytes() for name in ("one", "two"))
    assert first == two


@pytest.fixture
def archive(tmp_path: Path, odd: Any) -> Path:
    """Return a zip with two embeddings and a folder."""
    words, vectors = odd
    save(tmp_path / "a.txt", words, vectors)
    save(tmp_path / "b.bin", ["x", "y"], np.eye(2, dtype=np.float32))
    path = tmp_path / "both.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.mkdir("deep")
        packed.write(tmp_path / "a.txt", "deep/a.txt")
        packed.write(tmp_path / "b.bin", "b.bin")
    return path


def test_a_zip_with_one_file_needs_no_member(tmp_path: Path) -> None:
    path = tmp_path / "v.vec.zip"
    save(path, ["x", "y"], np.eye(2, dtype=np.float32))
    assert zipfile.ZipFile(path).namelist() == ["v.vec"]
    assert load(path, cache=False).words == ["x", "y"]
    assert load(f"{path}::v.vec", cache=False).words == ["x", "y"]


def test_a_member_chooses_in_a_zip(archive: Path, odd: Any) -> None:
    assert load(f"{archive}::deep/a.txt").words == odd[0]
    assert load(f"{archive}::b.bin").words == ["x", "y"]
    assert load(f"{archive}::deep/a.txt").words == odd[0], "the cache took one for the other"


@pytest.mark.parametrize("member", ["", "::", "::a.txt", "::deep", "::deep/"])
def test_a_zip_with_several_files_lists_them(archive: Path, member: str) -> None:
    with pytest.raises(WordbiasError) as caught:
        load(f"{archive}{member}")
    assert "name one of: both.zip::deep/a.txt, both.zip::b.bin" in str(caught.value)
    assert str(archive) in str(caught.value)


def test_an_empty_zip_is_refused_as_empty(tmp_path: Path) -> None:
    path = tmp_path / "v.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.mkdir("deep")
    with pytest.raises(WordbiasError, match="it is empty"):
        load(path)


def test_a_member_of_what_is_no_zip(tmp_path: Path) -> None:
    save(tmp_path / "v.txt", ["x", "y"], np.eye(2, dtype=np.float32))
    with pytest.raises(WordbiasError, match="is not a zip archive"):
        load(f"{tmp_path / 'v.txt'}::v.txt")
