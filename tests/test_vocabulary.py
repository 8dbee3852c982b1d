"""The neutral vocabulary."""

from __future__ import annotations

import pytest

from wordbias.vocabulary import SIZE, common_words, neutral_vocabulary

NONE: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    "word", ["a", "word", "Word", "WORD", "naïve", "mañana", "слово", "語", "ß"]
)
def test_words_of_letters_are_neutral(word: str) -> None:
    assert neutral_vocabulary([word], NONE) == [word]


@pytest.mark.parametrize(
    "word",
    ["", ",", "'s", "don't", "co-op", "a.", "u.s.", "x_y", "3d", "1990", "²", "٣", "½", " ", "a b",
     "€", "\N{EN DASH}", "\udce9"],
)  # fmt: skip
def test_punctuation_and_digits_are_dropped(word: str) -> None:
    assert neutral_vocabulary([word], NONE) == []


@pytest.mark.parametrize(
    "word", ["हिन्दी", "ภาษาไทย", "தமிழ்", "עִבְרִית", "cafe\N{COMBINING ACUTE ACCENT}", "বাংলা"]
)
@pytest.mark.parametrize("strict", [False, True])
def test_combining_marks_belong_to_letters(word: str, strict: bool) -> None:
    assert neutral_vocabulary([word], NONE, strict=strict) == [word]


@pytest.mark.parametrize("word", ["she", "She", "SHE", "sHe"])
@pytest.mark.parametrize("strict", [False, True])
def test_specific_words_are_dropped_in_any_case(word: str, strict: bool) -> None:
    assert neutral_vocabulary([word, "table"], {"she"}, strict=strict) == ["table"]


def test_the_order_is_kept() -> None:
    words = ["the", "of", "she", ",", "and", "table", "chair"]
    assert neutral_vocabulary(words, {"she"}) == ["the", "of", "and", "table", "chair"]


def test_size_counts_words_before_they_are_dropped() -> None:
    assert neutral_vocabulary([",", "she", "a", "b", "c"], {"she"}, size=4) == ["a", "b"]
    assert neutral_vocabulary(["a"], NONE, size=0) == []


def test_by_default_the_first_fifty_thousand_words_are_looked_at() -> None:
    words = [f"{'b' * (i % 7 + 1)}{chr(0x4E00 + i % 20000)}{chr(0xAC00 + i // 20000)}"
             for i in range(50_010)]  # fmt: skip
    assert SIZE == 50_000
    assert len(neutral_vocabulary(words, NONE)) == 50_000


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("word", True),
        ("Word", False),
        ("iPod", False),
        ("a" * 19, True),
        ("a" * 20, False),
        ("new_york", True),
        ("new_York", False),
        ("new_york2", False),
        ("new_yo'rk", False),
        ("_", False),
        ("a_", False),
        ("don't", False),
        ("b2b", False),
        ("", False),
    ],
)
def test_the_strict_filter_is_gonen_and_goldbergs(word: str, kept: bool) -> None:
    assert neutral_vocabulary([word], NONE, strict=True) == [word] * kept


def test_common_words_keep_the_first_order() -> None:
    assert common_words([["c", "a", "b"], {"a", "c"}, ["c", "x", "a"]]) == ["c", "a"]
    assert common_words([["c", "a"]]) == ["c", "a"]
    assert common_words([["a"], []]) == []


def test_the_papers_specific_words_are_1622(shared_data: object) -> None:
    """Dawkins (2021), appendix B: V_s is Bolukbasi's list and GN-GloVe's two lists together."""
    import json
    from pathlib import Path

    folder = Path(str(shared_data))
    bolukbasi = json.loads((folder / "bolukbasi" / "gender_specific_full.json").read_text("utf-8"))
    gn_glove = [
        word
        for name in ("male_word_file.txt", "female_word_file.txt")
        for word in (folder / "gn_glove" / name).read_text("utf-8").split()
    ]
    specific = {*bolukbasi, *gn_glove}
    assert len(specific) == 1622
    lower = {word.lower() for word in specific}
    assert neutral_vocabulary([*specific, "table"], lower) == ["table"]
