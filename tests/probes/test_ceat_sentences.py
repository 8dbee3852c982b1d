"""The sentences of words: what counts as a word, which sentences are kept, from which files."""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples

from wordbias.errors import WordbiasError
from wordbias.probes.ceat.sentences import (
    Context,
    Occurrence,
    Scanner,
    find_sentences,
    published_window,
    read_sentences,
)
from wordbias.wordlists.queries import as_queries

SMALL = settings(deadline=None, max_examples=examples(60))


def _scan(text: str, *words: str) -> dict[str, str]:
    return {place.word: text[place.start : place.end] for place in Scanner(words)(text)}


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ("The teacher taught there.", ["he", "her"], {}),
        ("He's a teacher", ["he"], {"he": "He"}),
        ("(she) said", ["she"], {"she": "she"}),
        ("Bill pays a bill", ["Bill", "bill"], {"Bill": "Bill", "bill": "Bill"}),
        ("the bill", ["Bill", "bill"], {"bill": "bill"}),
        ("BILL", ["Bill", "bill"], {"bill": "BILL"}),
        ("At nasa and NASA", ["NASA"], {"NASA": "NASA"}),
        ("a short-term plan", ["short-term", "short", "term", "plan"], "same"),
        ("a short term plan", ["short-term"], {}),
        ("in New  York now", ["New York"], {"New York": "New  York"}),
        ("he_x x_he 1he he2", ["he"], {}),
        ("José and Jose", ["José"], {"José": "José"}),
        ("naïve", ["na"], {}),
        ("İstanbul he", ["he"], {"he": "he"}),
        ("", ["he"], {}),
    ],
)
def test_words_are_found_between_their_bounds(
    text: str, words: list[str], found: dict[str, str] | str
) -> None:
    assert _scan(text, *words) == ({w: w for w in words} if found == "same" else found)


def test_the_first_occurrence_is_taken() -> None:
    assert list(Scanner(["he"])("there he and he")) == [Occurrence("he", 6, 8)]


LETTERS = st.text("abAB _-'.é", max_size=25)
WORDS = st.lists(st.text("abAB", min_size=1, max_size=3), min_size=1, max_size=6, unique=True)


@SMALL
@given(LETTERS, WORDS)
def test_the_table_finds_what_one_pattern_a_word_finds(text: str, words: list[str]) -> None:
    expected = {}
    for word in words:
        flags = re.IGNORECASE if word.islower() else 0
        if match := re.search(rf"(?<!\w){word}(?!\w)", text, flags):
            expected[word] = match.span()
    assert {place.word: (place.start, place.end) for place in Scanner(words)(text)} == expected


def test_a_word_of_punctuation_alone_is_refused() -> None:
    with pytest.raises(WordbiasError, match=r"'\?!' has neither a letter nor a digit"):
        Scanner(["he", "?!"])


def test_a_word_ends_behind_its_accent() -> None:
    """An accent may be a character by itself: `cafe` + U+0301 is another word than `cafe`."""
    texts = ["a cafe\u0301 and a cafe", "cafe\u0301"]
    places_by_text = [list(Scanner(["cafe", "cafe\u0301"])(text)) for text in texts]
    places = [{place.word: place.start for place in ones} for ones in places_by_text]
    assert places == [{"cafe": 14, "cafe\u0301": 2}, {"cafe\u0301": 0}]


@pytest.mark.parametrize("first", ['{"text": "a man", "n": 1}\n', ""])
def test_a_null_value_is_refused_as_a_sentence(tmp_path: Path, first: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(first + '{"text": null, "n": null}\n')
    wanted = f"s.jsonl: line {1 + bool(first)}: has null as 'text', which is no text; mend or"
    with pytest.raises(WordbiasError, match=wanted):
        list(read_sentences(path))


def test_contexts_counts_and_duplicates() -> None:
    texts = ["he ran", "she ran", "he ran", "we ran", "He and she"]
    sentences = find_sentences(texts, ["he", "she", "nobody"])
    assert sorted(sentences.contexts["he"]) == [
        Context("He and she", 0, 2),
        Context("he ran", 0, 2),
    ]
    assert len(sentences.contexts["she"]) == 2
    assert sentences.contexts["nobody"] == ()
    assert dict(sentences.seen) == {"he": 3, "she": 2, "nobody": 0}
    assert sentences.lines == 5


@SMALL
@given(st.lists(st.integers(0, 40), min_size=1, max_size=80), st.integers(1, 12), st.randoms())
def test_what_is_kept_depends_on_neither_order_nor_repetition(
    numbers: list[int], per_word: int, order: random.Random
) -> None:
    texts = [f"he has {i}" for i in numbers]
    contexts = find_sentences(texts, ["he"], per_word=per_word).contexts["he"]
    assert len(set(contexts)) == len(contexts) == min(per_word, len(set(numbers)))
    repeated = texts + texts[::2]
    order.shuffle(repeated)
    assert find_sentences(repeated, ["he"], per_word=per_word).contexts["he"] == contexts


def test_every_sentence_is_as_likely_to_be_kept_and_the_seed_chooses() -> None:
    from scipy.stats import chi2

    texts = [f"he has {i}" for i in range(20)] + ["he has 3"] * 30
    times, keep = 600, 5
    seen = np.zeros(20)
    for seed in range(times):
        for context in find_sentences(texts, ["he"], per_word=keep, seed=seed).contexts["he"]:
            seen[int(context.text.split()[-1])] += 1
    share = keep / 20
    # counts of a draw without replacement; their covariance has rank 19
    statistic = ((seen - times * share) ** 2).sum() / (times * share * (1 - share)) * 19 / 20
    assert chi2.sf(statistic, 19) > 1e-6


def test_words_choose_among_their_sentences_independently() -> None:
    texts = [f"he and she {i}" for i in range(200)]
    sentences = find_sentences(texts, ["he", "she"], per_word=100)
    both = {c.text for c in sentences.contexts["he"]} & {c.text for c in sentences.contexts["she"]}
    # hypergeometric: mean 50, standard deviation 3.5
    assert abs(len(both) - 50) < 5 * 3.54


def test_no_sentence_at_all_is_an_error() -> None:
    with pytest.raises(WordbiasError, match="the sentences: none of 2 has any of the 1 words"):
        find_sentences(["there", "teacher"], ["he"])


def test_sentences_are_read_from_every_format(tmp_path: Path) -> None:
    texts = ["He ran.", "She said: no"]
    plain = "\n".join([texts[0], f"  {texts[1]} "]) + "\n"
    tabbed = "id\tsentence\n" + "".join(f"{i}\t{text}\n" for i, text in enumerate(texts))
    lines = "".join(json.dumps({"text": text, "n": 1}) + "\n" for text in texts)
    (tmp_path / "a.txt").write_text(plain, encoding="utf-8")
    (tmp_path / "a.tsv").write_text(tabbed, encoding="utf-8")
    (tmp_path / "a.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(plain.encode()))
    for name in ("a.txt", "a.tsv", "a.jsonl", "a.txt.gz"):
        assert list(read_sentences(tmp_path / name)) == texts
    assert list(read_sentences(tmp_path / "a.tsv", "id")) == ["0", "1"]


@pytest.mark.parametrize(
    ("name", "content", "column", "message"),
    [
        ("a.txt", b"he ran\nh\xe9 ran\n", None, "a.txt: line 2: byte 2 is not UTF-8"),
        ("a.txt", b"", None, "a.txt: holds no sentence"),
        ("a.tsv", b"a\tb\n1\t2\n", None, "which column holds the sentences? Name one of a, b"),
        ("a.tsv", b"a\tb\n1\t2\n", "c", "has no column 'c'; it has a, b"),
        ("a.tsv", b"text\tb\n1\n", None, "line 2: expected 2 columns, found 1"),
        ("a.jsonl", b'{"text": "x"}\n[1]\n', None, "line 2: expected a JSON object"),
        ("a.jsonl", b'{"text": "x"}\n{"y": "x"}\n', None, "line 2: has no 'text'"),
        ("a.txt", b"he\n", "text", "is plain text, which has no columns"),
        ("a.txt.gz", b"he\n", None, "cannot be read"),
        ("none.txt", None, None, "none.txt: cannot be read: No such file"),
    ],
)
def test_files_without_sentences_are_refused(
    tmp_path: Path, name: str, content: bytes | None, column: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(WordbiasError) as raised:
        list(read_sentences(tmp_path / name, column))
    assert message in str(raised.value)
    assert str(raised.value).startswith(str(tmp_path / name))
    assert "\n" not in str(raised.value)


def test_real_sentences_are_found_as_patterns_find_them(shared_data: Path) -> None:
    path = shared_data / "nli" / "snli_dev.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        head, *rows = [line.rstrip("\n").split("\t") for line in file]
    texts = [row[head.index("premise")].strip() for row in rows]
    words = ("he", "her", "man", "office", "Mike", "art", "gun")
    sentences = find_sentences(read_sentences(path, "premise"), words, per_word=10**6)
    assert sentences.lines == len(texts) > 1_000
    for word in words:
        flags = re.IGNORECASE if word.islower() else 0
        pattern = re.compile(rf"(?<!\w){word}(?!\w)", flags)
        having = [text for text in texts if pattern.search(text)]
        assert sentences.seen[word] == len(having)
        assert {context.text for context in sentences.contexts[word]} == set(having)
        for context in sentences.contexts[word]:
            assert pattern.fullmatch(context.text[context.start : context.end])
    assert len(sentences.contexts["man"]) > 100 > len(sentences.contexts["art"])


def test_many_words_take_no_more_calls_than_few() -> None:
    words = sorted(set().union(*(query.candidates() for query in as_queries("all"))))
    texts = ["Nothing is here but words , words and more words of no use at all ."] * 20

    def calls(scan: Scanner) -> int:
        counted = 0

        def count(*_: object) -> None:
            nonlocal counted
            counted += 1

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            for text in texts:
                for _ in scan(text):
                    pass
        finally:
            sys.setprofile(before)
        return counted

    # a regular expression for each of 300 words would take a hundred times as many
    assert calls(Scanner(words)) <= 2 * calls(Scanner(words[:3]))


def _window(text: str, word: str) -> tuple[str, str]:
    (place,) = Scanner([word])(text)
    cut = published_window(Context(text, place.start, place.end))
    return cut.text, cut.text[cut.start : cut.end]


NINE = "a b c d e f g h i"
LONG = "a b c d e f g h i j k l"


@pytest.mark.parametrize(
    ("text", "word", "cut"),
    [
        ("a b c", "b", "a b c"),
        ("a, b: c!", "b", "a b c"),
        (NINE, "a", NINE),
        (NINE, "i", NINE),
        (NINE, "e", "a b c d e f g h"),
        (LONG, "d", "a b c d e f g h i"),
        (LONG, "e", "a b c d e f g h"),
        (LONG, "h", "d e f g h i j k"),
        (LONG, "i", "d e f g h i j k l"),
        (LONG, "l", "d e f g h i j k l"),
        ("a b c d e, short-term g h i j k l", "short-term", "b c d e short term g h"),
    ],
)
def test_the_published_window(text: str, word: str, cut: str) -> None:
    assert _window(text, word) == (cut, word.replace("-", " "))


@SMALL
@given(st.integers(1, 30), st.data())
def test_the_published_window_by_its_rules(count: int, data: st.DataObject) -> None:
    """As the released code counts: nine words, but for eight in the middle."""
    place = data.draw(st.integers(0, count - 1))
    words = [f"w{i}" for i in range(count)]
    window, word = _window("  ".join(words), f"w{place}")
    assert word == f"w{place}"
    is_middle = count >= 9 and place >= 4 and count - place - 1 >= 4
    assert len(window.split()) == (8 if is_middle else min(count, 9))
    first = int(window.split()[0][1:])
    assert window.split() == words[first : first + len(window.split())]
    assert first == (place - 4 if is_middle else 0 if place < 4 or count < 9 else count - 9)


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("6", ["weat6"]),
        ("weat6", ["weat6"]),
        ("1-3, 2,weat9", ["weat1", "weat2", "weat3", "weat9"]),
        ("1-10", [f"weat{i}" for i in range(1, 11)]),
        ("all", [f"weat{i}" for i in range(1, 11)]),
    ],
)
def test_stimuli_by_number_and_name(asked: str, names: list[str]) -> None:
    assert [query.name for query in as_queries(asked)] == names


@pytest.mark.parametrize("asked", ["11", "0", "weat11", "3-1", "5-12", "six", ""])
def test_there_are_ten_stimuli(asked: str) -> None:
    with pytest.raises(WordbiasError, match=r"query .*: expected one of weat1, weat2,"):
        as_queries(asked)
    with pytest.raises(WordbiasError, match=r"none\.toml: no such file"):
        as_queries("none.toml")
