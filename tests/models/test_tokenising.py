"""Words in texts: where they stand, and which tokens they become."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from wordbias.models.tokenising import find_word, token_range

ALPHABET = "abAB -'_1é\n\u0301\ufe0f"


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("The woman and the man.", "man", "man"),
        ("A human, a manly man's man", "man", "man"),
        ("MAN!", "man", "MAN"),
        ("in New\n York", "new york", "New\n York"),
        ("c++ and C", "c++", "c++"),
        ("der Arzt", " Arzt ", "Arzt"),
        ("woman", "man", None),
        ("man_1 man2 éman", "man", None),
        ("cafe\u0301 cafe", "cafe", "cafe"),
        ("cafe\u0301", "cafe", None),
        ("cafe\u0301", "cafe\u0301", "cafe\u0301"),
        ("e\u0301tude", "tude", None),
        ("\u0915\u094d\u0937", "\u0915", None),  # a virama joins two letters of Devanagari
        ("\u2764\ufe0fman", "man", "man"),  # a selector that draws a heart in colour
        ("anything", "", None),
        ("anything", "  ", None),
        ("", "man", None),
    ],
)
def test_a_word_is_found_between_its_bounds(text: str, word: str, expected: str | None) -> None:
    span = find_word(text, word)
    assert (None if span is None else text[span[0] : span[1]]) == expected


def test_every_combining_mark_is_part_of_its_word() -> None:
    marks = [
        character
        for character in map(chr, range(0x110000))
        if unicodedata.category(character) in ("Mn", "Mc", "Me")
        and "VARIATION SELECTOR-" not in unicodedata.name(character, "")
    ]
    assert len(marks) > 2000
    assert not [mark for mark in marks if find_word(f"man{mark}", "man")]
    assert not [mark for mark in marks if find_word(f"e{mark}man", "man")]


def test_the_first_of_several_is_found() -> None:
    assert find_word("woman, man, man", "man") == (7, 10)


@given(st.text(ALPHABET, max_size=30), st.text("abAB1é", min_size=1, max_size=3))
def test_it_is_the_first_place_where_the_definition_holds(text: str, word: str) -> None:
    def bounded(i: int) -> bool:
        around = text[i - 1 : i] + text[i + len(word) : i + len(word) + 1]
        return not any(c.isalnum() or c in "_\u0301" for c in around)

    places = [
        i
        for i in range(len(text) - len(word) + 1)
        if text[i : i + len(word)].lower() == word.lower() and bounded(i)
    ]
    expected = (places[0], places[0] + len(word)) if places else None
    assert find_word(text, word) == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=8), st.data())
def test_tokens_of_a_span_are_from_the_first_to_the_last_that_share_a_character(
    gaps: list[tuple[int, int]], data: st.DataObject
) -> None:
    offsets, end = [], 0
    for gap, length in gaps:  # spaces, then a token, possibly of no character
        offsets.append((end + gap, end + gap + length))
        end += gap + length
    special = data.draw(st.lists(st.integers(0, 1), min_size=len(gaps), max_size=len(gaps)))
    span = data.draw(st.tuples(st.integers(0, end + 1), st.integers(0, end + 2)))
    assume(span[0] < span[1])
    characters = set(range(*span))
    sharing = [
        i for i, offset in enumerate(offsets) if characters & set(range(*offset)) and not special[i]
    ]
    expected = (sharing[0], sharing[-1] + 1) if sharing else None
    assert token_range(offsets, special, span) == expected


def test_words_are_no_patterns() -> None:
    assert re.search("a.c", "abc")
    assert find_word("abc", "a.c") is None
