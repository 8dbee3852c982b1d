"""Scrubbing: whole words only, in any case, and nothing else is touched."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.outcomes.scrubbing import PUBLISHED, Scrubber, gendered_words, register, scrub
from wordbias.wordlists import names

WORDS = frozenset(("he", "she", "her", "husband"))


@pytest.mark.parametrize(
    ("text", "scrubbed", "count"),
    [
        ("She said he's the HUSBAND.", "_ said _'s the _.", 3),
        ("the teacher, there", "the teacher, there", 0),
        ("her-self; (her)", "_-self; (_)", 2),
        ("husband\u2019s hérhe he\u0301", "_\u2019s hérhe _\u0301", 2),  # letters end at a mark
        ("", "", 0),
    ],
)
def test_whole_words_are_masked(text: str, scrubbed: str, count: int) -> None:
    assert scrub(text, WORDS) == (scrubbed, count)


@given(st.text(alphabet="heraus .'\n", max_size=60))
def test_what_is_no_listed_word_stays(text: str) -> None:
    """Against the same thing said by one regular expression."""
    pattern = re.compile(r"(?<![a-zA-Z])(?:he|she|her|husband)(?![a-zA-Z])", re.IGNORECASE)
    assert scrub(text, WORDS) == pattern.subn("_", text)


@given(st.text(alphabet="HheRrSsi_1Mm .’-\n", max_size=60))
def test_as_published_is_the_published_expression(text: str) -> None:
    """The eleven words in the published cases, between boundaries of words, names exactly."""
    pattern = re.compile(
        r"\b(?:[Hh]e|[Ss]he|[Hh]er|[Hh]is|[Hh]im|[Hh]ers|[Hh]imself|[Hh]erself"
        r"|[Mm][Rr]|[Mm][Rr][Ss]|[Mm][Ss]|Sim|R)\b"
    )
    scrubber = Scrubber(PUBLISHED, columns=("first", "middle"), as_published=True)
    scrubbed, found = scrubber(text, {"first": "Sim", "middle": "R"})
    assert (scrubbed, len(found)) == pattern.subn("_", text)


def test_names_of_the_person_go_as_they_are_written_or_in_capitals() -> None:
    scrubber = Scrubber(columns=("name",))
    cells = {"name": "Grace M. O'Hara"}
    text = "Dr. Grace M. O'Hara, GRACE, says grace with Gracey, an M and Hara."
    assert scrubber(text, cells)[0] == "Dr. _ M. O'_, _, says grace with Gracey, an M and _."
    assert scrubber("Ann", {"name": ""}) == ("Ann", [])


def test_first_names_of_anybody_on_request() -> None:
    assert register() == set(names())
    scrubber = Scrubber(first_names=register())
    assert scrubber("Emma met Olivia and will go.")[0] == "_ met _ and will go."
    assert Scrubber()("Emma met Olivia.")[0] == "Emma met Olivia."


def test_degrees_and_names_of_places_stay() -> None:
    text = "Ms. Lee has an MS of Duke University, Boston MA; the duke met a king."
    assert Scrubber()(text)[0] == "_. Lee has an MS of Duke University, Boston MA; the _ met a _."
    assert Scrubber(PUBLISHED, as_published=True)(text)[0].startswith("_. Lee has an _ of Duke")


def test_the_mask_is_the_given_one() -> None:
    assert Scrubber(mask="[X]")("She is a nurse.") == ("[X] is a nurse.", ["she"])
    assert Scrubber(mask="")("his book") == (" book", ["his"])


def test_the_published_list_leaves_what_the_papers_table_found() -> None:
    published, ours = gendered_words(as_published=True), gendered_words()
    assert published == PUBLISHED
    assert len(published) == 11
    assert published < ours
    assert {"husband", "wife", "women", "mother"} <= ours - published
    assert not ours & {name.lower() for name, share in list(names().items())[:50]}


def test_what_a_doctor_treats_is_not_taken_for_the_doctors_gender() -> None:
    assert not gendered_words() & {"breast", "prostate", "cervical", "pregnancy", "maternity"}


@given(st.lists(st.sampled_from(["She", "and", "HIS", "wife", "sat", "\n", "mother-in-law,"])))
def test_scrubbing_twice_changes_nothing_more(words: list[str]) -> None:
    once, _ = Scrubber()(" ".join(words))
    assert Scrubber()(once) == (once, [])
