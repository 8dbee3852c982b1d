"""The text of a corpus: tokens, lines, case, and every file that is no text."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from quick_cases import examples

from wordbias.errors import WordbiasError
from wordbias.glove.corpus import END, Corpus, count_words

TEXT = st.text(st.sampled_from("aB é\t\u00a0\n\u2028ß\U0001f600\r"), max_size=60)


def lines_of(corpus: Corpus) -> list[list[str]]:
    """Return the tokens of each line that has some."""
    tokens = [token for part in corpus.tokens("reading") for token in part]
    lines: list[list[str]] = [[]]
    for token in tokens:
        if token == END:
            lines.append([])
        else:
            lines[-1].append(token)
    return [line for line in lines if line]


@settings(max_examples=examples(60), deadline=None)
@given(text=TEXT, size=st.integers(1, 9), cased=st.booleans())
@example(text="a\n\nb c", size=1, cased=True)
def test_tokens_are_those_of_each_line_whatever_the_chunks(
    tmp_path_factory: pytest.TempPathFactory, text: str, size: int, cased: bool
) -> None:
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    path.write_bytes(f"x\n{text}".encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordbias.formats.source.CHUNK", size)
        tokens = lines_of(Corpus.open([path], cased=cased))
    wanted = [line.split() for line in f"x\n{text}".split("\n")]
    expected = [[word if cased else word.lower() for word in line] for line in wanted if line]
    assert tokens == expected


def test_compressed_files_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt.gz"
    path.write_bytes(gzip.compress("\ufeffOne two".encode()))
    assert lines_of(Corpus.open([path])) == [["one", "two"]]


def test_words_in_order_of_frequency_then_of_characters(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("b a c c d d d\nb a")
    vocabulary = count_words(Corpus.open([path]), tmp_path, min_count=2, max_vocab=3)
    assert (vocabulary.words, vocabulary.counts) == (("d", "a", "b"), (3, 2, 2))
    assert (vocabulary.tokens, vocabulary.distinct) == (9, 4)
    assert vocabulary.index == {"d": 0, "a": 1, "b": 2}


@settings(max_examples=20, deadline=None)
@given(st.lists(st.text("abc", min_size=1, max_size=3), min_size=1), st.integers(1, 700))
def test_words_counted_on_disk_are_those_counted_in_memory(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], memory: int
) -> None:
    folder = tmp_path_factory.mktemp("words")
    path = folder / "corpus.txt"
    path.write_text("\n".join(words))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordbias.formats.source.CHUNK", 8)
        vocabulary = count_words(Corpus.open([path]), folder, memory=memory)
    assert dict(zip(vocabulary.words, vocabulary.counts, strict=True)) == Counter(words)
    assert [path.name for path in folder.iterdir()] == ["corpus.txt"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "corpus.txt: the file is empty"),
        (b" \n\n", "has no words; expected text"),
        (b"a b\nc \xff d", r"line 2: is not UTF-8 \(byte b'\\xff'\); convert it"),
        (b"a\nb\0c", "line 2: has a byte 0"),
        (b"\xff\xfea\0", "UTF-16"),
        (b"%PDF-1.4", "is a PDF"),
        (b"\x28\xb5\x2f\xfd__", "zstd; unpack it first"),
        (b'<mediawiki xmlns="x">', "dump in XML; give its text"),
        (b"x\n" + b"a" * (1 << 20) + b"bc", "line 2: has a word of over 1,048,576 bytes"),
        (b"\x1f\x8b\x08\0__", "damaged or cut off"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(content)
    with pytest.raises(WordbiasError, match=message) as caught:
        count_words(Corpus.open([path]), tmp_path, min_count=1)
    assert str(path) in str(caught.value)


def test_files_that_are_none_or_named_twice_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("a b")
    with pytest.raises(WordbiasError, match="named twice"):
        Corpus.open([path, tmp_path / "." / "corpus.txt"])
    with pytest.raises(WordbiasError, match="is a folder; name the text files in it"):
        Corpus.open([tmp_path])
    with pytest.raises(WordbiasError, match="there is no such file"):
        Corpus.open([tmp_path / "none.txt"])
    with pytest.raises(WordbiasError, match="expected one text file at least"):
        Corpus.open([])


def test_no_word_is_frequent_enough(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("a b a")
    with pytest.raises(WordbiasError, match=r"occurs 50 times or more, the most frequent one 2"):
        count_words(Corpus.open([path]), tmp_path, min_count=50)
