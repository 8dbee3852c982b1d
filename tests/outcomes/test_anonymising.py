"""Anonymisation: one number for one name, in the order of the text."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.errors import WordbiasError
from wordbias.outcomes.anonymising import (
    PREFIX,
    Anonymiser,
    Entity,
    GivenSpans,
    SpacyFinder,
    anonymise,
)
from wordbias.outcomes.forms import BadRowError

TEXT = "Ann Hayes met Bob. Ann  Hayes left, and Hayes slept."
SPANS = [Entity(14, 17), Entity(0, 9), Entity(19, 29), Entity(40, 45)]


def test_numbers_by_first_occurrence() -> None:
    """Space within a name does not matter; a part of a name is another."""
    assert anonymise(TEXT, SPANS) == "ANON_0 met ANON_1. ANON_0 left, and ANON_2 slept."
    assert anonymise(TEXT, []) == TEXT


PARTS = st.lists(st.tuples(st.text("xy .", max_size=4), st.sampled_from(["Ann", "Bob", "Eve Li"])))


@given(PARTS, st.randoms())
def test_each_name_has_a_number_and_the_rest_stays(
    parts: list[tuple[str, str]], random: object
) -> None:
    """Written from the definition, the spans in any order."""
    text, expected, spans, order = "", "", [], list(dict.fromkeys(name for _, name in parts))
    for between, name in parts:
        spans.append(Entity(len(text + between), len(text + between + name)))
        text += between + name
        expected += between + PREFIX + str(order.index(name))
    random.shuffle(spans)  # type: ignore[attr-defined]
    assert anonymise(text, spans) == expected


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([Entity(0, 3), Entity(2, 5)], "the span 2 to 5 overlaps the one before, which ends at 3"),
        ([Entity(50, 53)], "the span 50 to 53 is not in its text of 52 characters"),
        ([Entity(3, 3)], "the span 3 to 3 is not in its text"),
        ([Entity(-1, 3)], "the span -1 to 3 is not in its text"),
    ],
)
def test_spans_that_cannot_be(spans: list[Entity], message: str) -> None:
    with pytest.raises(BadRowError, match=message):
        anonymise(TEXT, spans)


@pytest.mark.parametrize(
    "cell",
    [
        '[[0, 9], [14, 17, "ORG"]]',
        '[{"start": 0, "end": 9}, {"end": 17, "start": 14, "label": "ORG"}]',
    ],
)
def test_spans_of_a_column(cell: str) -> None:
    found = GivenSpans(("spans",))(TEXT, {"spans": cell})
    assert found == [Entity(0, 9), Entity(14, 17, "ORG")]
    text, said = Anonymiser(GivenSpans(("spans",)))(TEXT, {"spans": cell})
    assert (text[:14], said) == ("ANON_0 met Bob", ["entity"])
    every = Anonymiser(GivenSpans(("spans",)), frozenset(("ORG",)))
    assert every(TEXT, {"spans": cell})[1] == ["entity", "ORG"]


def test_one_span_in_two_columns() -> None:
    find = GivenSpans(("from", "to"))
    assert find(TEXT, {"from": "0", "to": " 9"}) == [Entity(0, 9)]
    assert find(TEXT, {"from": "", "to": ""}) == []
    with pytest.raises(BadRowError, match=r"expected a span \[start, end\].*found \['a', 9\]"):
        find(TEXT, {"from": "a", "to": "9"})


@pytest.mark.parametrize(
    "cell", ["[", "{}", "3", "null", "[[1]]", '[["a", 2]]', "[[true, 2]]", "[7]"]
)
def test_columns_that_hold_no_spans(cell: str) -> None:
    with pytest.raises(BadRowError, match="expected a"):
        GivenSpans(("spans",))(TEXT, {"spans": cell})


def test_an_empty_cell_is_no_span() -> None:
    assert GivenSpans(("spans",))(TEXT, {"spans": " "}) == []
    assert GivenSpans(("spans",))(TEXT, {"spans": "[]"}) == []


def test_spacy_is_asked_if_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> object:
        if name != "known":
            raise OSError(name)
        person = SimpleNamespace(start_char=0, end_char=9, label_="PERSON")
        place = SimpleNamespace(start_char=14, end_char=17, label_="GPE")
        return lambda text: SimpleNamespace(ents=[person, place])

    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=load))
    text, said = Anonymiser(SpacyFinder.of("known"))(TEXT)
    assert (text[:14], said) == ("ANON_0 met Bob", ["PERSON"])
    with pytest.raises(
        WordbiasError, match="has no model 'x'; get it with: python -m spacy download x"
    ):
        SpacyFinder.of("x")


def test_without_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(WordbiasError, match=r"needs spacy; install it with: pip install 'wordbias"):
        SpacyFinder.of("en_core_web_sm")
