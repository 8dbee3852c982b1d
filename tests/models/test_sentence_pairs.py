"""The built-in pairs of sentences, and files of one's own."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from wordbias.errors import WordbiasError
from wordbias.models.sentence_pairs import BUILT_IN, SentencePair, sentence_pairs
from wordbias.wordlists import Attribute, common_names, test_names


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def changed(pair: SentencePair) -> list[tuple[str, str]]:
    return [(a, b) for a, b in zip(words(pair.first), words(pair.second), strict=True) if a != b]


def test_there_are_enough_and_none_twice() -> None:
    pairs = sentence_pairs()
    assert len(pairs) >= 60
    assert len({text for pair in pairs for text in pair}) == 2 * len(pairs)


def test_versions_have_equally_many_words_and_the_same_ones_but_for_gender() -> None:
    for pair in sentence_pairs():
        assert 1 <= len(changed(pair)) <= 3, pair
        marks = [re.sub(r"\w+", "w", text) for text in pair]
        assert marks[0] == marks[1], pair


def test_the_words_that_change_are_pairs_of_the_other_lists() -> None:
    """The female version comes first: its words are never a male word of a definitional pair."""
    pairs = Attribute.load().pairs
    female, male = ({pair[i] for pair in pairs} for i in (0, 1))
    word_pairs = [pair for sentence in sentence_pairs() for pair in changed(sentence)]
    assert {a for a, _ in word_pairs} & (male - female) == set()
    assert {b for _, b in word_pairs} & (female - male) == set()
    known = [pair for pair in word_pairs if pair in pairs]
    assert len(known) > len(word_pairs) / 2


def test_no_first_name_is_used() -> None:
    known = {name.lower() for group in (*common_names(), *test_names()) for name in group}
    for pair in sentence_pairs():
        for text in pair:
            first, *others = re.findall(r"\w+", text)
            assert first.lower() not in known, pair
            assert [word for word in others if word != word.lower()] in ([], ["I"]), pair


def test_kinds_are_varied() -> None:
    kinds = tomllib.loads((files("wordbias.wordlists") / BUILT_IN).read_text("utf-8"))
    assert len(kinds) >= 6
    assert min(map(len, kinds.values())) >= 4
    first = " ".join(" ".join(words(pair.first)) for pair in sentence_pairs())
    assert {"she", "her", "herself", "hers", "woman", "mother", "is", "was"} <= set(first.split())


def test_files_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text("# mine\nshe left\the left\r\n\n she ran \t he ran\nshe left\the left\n")
    expected = (SentencePair("she left", "he left"), SentencePair("she ran", "he ran"))
    assert sentence_pairs(path) == expected
    toml = tmp_path / "mine.toml"
    toml.write_text('a = [["she left", "he left"]]\nb = [["she ran", "he ran"]]\n')
    assert sentence_pairs(str(toml)) == expected


def test_a_first_line_like_a_header_is_pointed_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    monkeypatch.setattr("wordbias.models.sentence_pairs.note", notes.append)
    path = tmp_path / "mine.tsv"
    path.write_text("\n# mine\nfemale\tmale\nshe left\the left\n")
    assert len(sentence_pairs(path)) == 2
    expected = f"{path}: line 3: 'female' / 'male' is a pair; put # before it if it is a header"
    assert notes == [expected]
    for text in ("she\the\n", "she\the\nher\this\n", "she left\the left\nshe\the\n"):
        path.write_text(text)
        sentence_pairs(path)
    assert notes == [expected]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.tsv", "", "holds no rows"),
        ("a.toml", "", "expected pairs of sentences, found none"),
        (
            "a.tsv",
            "she left\the left\nshe ran",
            "line 2: expected the columns first and second",
        ),
        ("a.tsv", "a\tb\tc", "line 1: expected the columns first and second"),
        ("a.tsv", "a\ta", "line 1: expected two different texts, found 'a' and 'a'"),
        ("a.tsv", "a\t ", "line 1: expected two different texts, found 'a' and ''"),
        ("a.toml", 'x = "y"', "x: expected a list of pairs of sentences, found the text"),
        ("a.toml", "x = [[1, 2]]", "x, pair 1: expected two texts, found the list"),
        ("a.toml", 'x = [["a", "b"], ["c"]]', "x, pair 2: expected two texts"),
        ("a.toml", "x = [", "not valid TOML"),
    ],
)
def test_files_with_mistakes(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(WordbiasError) as error:
        sentence_pairs(path)
    assert str(error.value).startswith(str(path))
    assert said.replace("found a list", "found the list") in str(error.value)
    assert "\n" not in str(error.value)


def test_no_such_file_and_no_utf8(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="cannot be read: No such file"):
        sentence_pairs(tmp_path / "none.tsv")
    (tmp_path / "latin.tsv").write_bytes(b"s\xe9\tx")
    with pytest.raises(WordbiasError, match="not UTF-8"):
        sentence_pairs(tmp_path / "latin.tsv")
