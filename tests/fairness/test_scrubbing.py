"""Scrubbing: whole words only, in any case, and nothing else is touched."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.fairness.scrubbing import PUBLISHED, gendered_words, scrub
from wordbias.wordlists import names

WORDS = frozenset(("he", "she", "her", "husband"))


@pytest.mark.parametrize(
    ("text", "scrubbed", "count"),
    [
        ("She said he's the HUSBAND.", "_ said _'s the _.", 3),
        ("the teacher, there", "the teacher, there", 0),
        ("her-self; (her)", "_-self; (_)", 2),
        ("husband\u2019s hérhe he\u0301", "_\u2019s hérhe he\u0301", 1),
        ("", "", 0),
    ],
)
def test_whole_words_are_masked(text: str, scrubbed: str, count: int) -> None:
    if "\u0301" in text:
        scrubbed, count = scrubbed.replace("he\u0301", "_\u0301"), 2  # letters end at a mark
    assert scrub(text, WORDS) == (scrubbed, count)


def test_names_of_the_person_go_too() -> None:
    text = "Dr. Ann Hayes knows Annabel and ann."
    assert scrub(text, WORDS, names=("Ann", "Hayes")) == ("Dr. _ _ knows Annabel and _.", 3)
    assert scrub(text, WORDS, mask="X")[1] == 0


@given(st.text(alphabet="heraus .'\n", max_size=60))
def test_what_is_no_listed_word_stays(text: str) -> None:
    """Against the same thing said by one regular expression."""
    pattern = re.compile(r"(?<![a-zA-Z])(?:he|she|her|husband)(?![a-zA-Z])", re.IGNORECASE)
    assert scrub(text, WORDS) == pattern.subn("_", text)


def test_the_published_list_leaves_what_the_papers_table_found() -> None:
    published, ours = gendered_words(as_published=True), gendered_words()
    assert published == PUBLISHED
    assert len(published) == 11
    assert published < ours
    assert {"husband", "wife", "women", "mother"} <= ours - published
    assert not ours & {name.lower() for name, share in list(names().items())[:50]}
