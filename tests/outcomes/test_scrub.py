"""Scrubbing: whole words only, in any case, and nothing else is touched."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordbias as wb
from wordbias.outcomes.scrub import PUBLISHED, Scrubber, gendered_words, register
from wordbias.wordlists import names

WORDS = frozenset(("he", "she", "her", "husband"))


def scrubbed(text: str, **options: Any) -> str:
    (rewritten,) = wb.rewrite(wb.Scrub(**options), [text]).texts
    return str(rewritten)


def rows_of(text: str, **names: str) -> Any:
    """Return a frame of one text, with columns of the person's names."""
    return pytest.importorskip("pandas").DataFrame({"text": [text], **names})


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
    masked, words = Scrubber(frozenset(WORDS))(text)
    assert (masked, len(words)) == (scrubbed, count)


@given(st.text(alphabet="heraus .'\n", max_size=60))
def test_what_is_no_listed_word_stays(text: str) -> None:
    """Against the same thing said by one regular expression."""
    pattern = re.compile(r"(?<![a-zA-Z])(?:he|she|her|husband)(?![a-zA-Z])", re.IGNORECASE)
    masked, words = Scrubber(frozenset(WORDS))(text)
    assert (masked, len(words)) == pattern.subn("_", text)


@given(st.text(alphabet="HheRrSsi_1Mm .’-\n", max_size=60))
def test_as_published_is_the_published_expression(text: str) -> None:
    """The eleven words in the published cases, between boundaries of words, names exactly."""
    pattern = re.compile(
        r"\b(?:[Hh]e|[Ss]he|[Hh]er|[Hh]is|[Hh]im|[Hh]ers|[Hh]imself|[Hh]erself"
        r"|[Mm][Rr]|[Mm][Rr][Ss]|[Mm][Ss]|Sim|R)\b"
    )
    names = ["first", "middle"]
    rewritten = wb.rewrite(
        wb.Scrub(names_column=names, as_published=True), rows_of(text, first="Sim", middle="R")
    )
    expected, count = pattern.subn("_", text)
    values = {row.measure: row.value for row in rewritten.report}
    assert (rewritten.texts.tolist(), values["words-changed"]) == ([expected], count)


def test_names_of_the_person_go_as_they_are_written_or_in_capitals() -> None:
    data = rows_of(
        "Dr. Grace M. O'Hara, GRACE, says grace with Gracey, an M and Hara.",
        name="Grace M. O'Hara",
    )
    (rewritten,) = wb.rewrite("scrub:names-column=name", data).texts
    assert rewritten == "Dr. _ M. O'_, _, says grace with Gracey, an M and _."
    unnamed = wb.rewrite("scrub:names-column=name", rows_of("Ann", name=""))
    assert unnamed.texts.tolist() == ["Ann"]


def test_first_names_of_anybody_on_request() -> None:
    assert register() == set(names())
    assert scrubbed("Emma met Olivia and will go.", first_names=True) == "_ met _ and will go."
    assert scrubbed("Emma met Olivia.") == "Emma met Olivia."


def test_degrees_and_names_of_places_stay() -> None:
    text = "Ms. Lee has an MS of Duke University, Boston MA; the duke met a king."
    assert scrubbed(text) == "_. Lee has an MS of Duke University, Boston MA; the _ met a _."
    assert scrubbed(text, as_published=True).startswith("_. Lee has an _ of Duke")


def test_the_mask_is_the_given_one() -> None:
    assert scrubbed("She is a nurse.", mask="[X]") == "[X] is a nurse."
    assert scrubbed("his book", mask="") == " book"


def test_the_report_counts_the_masked_words() -> None:
    (row,) = wb.rewrite("scrub", ["She is a nurse.", "She sold HIS book."]).report["words-changed"]
    assert (row.value, row.details["words"]) == (3, {"she": 2, "his": 1})


@pytest.mark.parametrize("method", ["scrub", "swap"])
def test_where_nothing_is_found_no_word_is_changed(method: str) -> None:
    report = wb.rewrite(method, ["Ann"]).report
    assert report["rows-changed"][0].value == 0
    (row,) = report["words-changed"]
    assert (row.value, row.details["distinct"], row.details["words"]) == (0, 0, {})
    assert report.tables[0].cells == [[method, "1", "0", "0"]]


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
    once = scrubbed(" ".join(words))
    assert scrubbed(once) == once
