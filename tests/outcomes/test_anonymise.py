"""Anonymisation: one number for one name, in the order of the text."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordbias as wb
from wordbias.errors import WordbiasError
from wordbias.outcomes.anonymise import PREFIX, Entity, anonymise

TEXT = "Ann Hayes met Bob. Ann  Hayes left, and Hayes slept."
SPANS = [Entity(14, 17), Entity(0, 9), Entity(19, 29), Entity(40, 45)]


def anonymised(entities: Any = ("PERSON", "PER"), **columns: str) -> tuple[str, dict[str, int]]:
    """Anonymise the text by spans in columns; return it and the counted kinds of spans."""
    frame = pytest.importorskip("pandas").DataFrame({"text": [TEXT], **columns})
    rewritten = wb.rewrite(wb.Anonymise(spans=list(columns), entities=entities), frame)
    counted = [row.details["words"] for row in rewritten.report if row.measure == "words-changed"]
    return rewritten.texts[0], counted[0] if counted else {}


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
        ([[0, 3], [2, 5]], "the span 2 to 5 overlaps the one before, which ends at 3"),
        ([[50, 53]], "the span 50 to 53 is not in its text of 52 characters"),
        ([[3, 3]], "the span 3 to 3 is not in its text"),
        ([[-1, 3]], "the span -1 to 3 is not in its text"),
    ],
)
def test_spans_outside_the_text_or_over_each_other(spans: list[list[int]], message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        anonymised(spans=json.dumps(spans))


@pytest.mark.parametrize(
    "cell",
    [
        '[[0, 9], [14, 17, "ORG"]]',
        '[{"start": 0, "end": 9}, {"end": 17, "start": 14, "label": "ORG"}]',
    ],
)
def test_spans_of_a_column(cell: str) -> None:
    """By default only persons, and spans without a kind."""
    rest = TEXT[17:]
    assert anonymised(spans=cell) == ("ANON_0 met Bob" + rest, {"entity": 1})
    every = anonymised("ORG", spans=cell)
    assert every == ("ANON_0 met ANON_1" + rest, {"entity": 1, "ORG": 1})


def test_one_span_in_two_columns() -> None:
    assert anonymised(start="0", end=" 9") == ("ANON_0" + TEXT[9:], {"entity": 1})
    assert anonymised(start="", end="") == (TEXT, {})
    with pytest.raises(WordbiasError, match=r"expected a span \[start, end\].*found \['a', 9\]"):
        anonymised(start="a", end="9")


@pytest.mark.parametrize(
    "cell", ["[", "{}", "3", "null", "[[1]]", '[["a", 2]]', "[[true, 2]]", "[7]"]
)
def test_columns_that_hold_no_spans(cell: str) -> None:
    with pytest.raises(WordbiasError, match="expected a"):
        anonymised(spans=cell)


def test_an_empty_cell_is_no_span() -> None:
    assert anonymised(spans=" ") == anonymised(spans="[]") == (TEXT, {})


def test_spacy_is_asked_if_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> object:
        if name != "known":
            raise OSError(name)
        person = SimpleNamespace(start_char=0, end_char=9, label_="PERSON")
        place = SimpleNamespace(start_char=14, end_char=17, label_="GPE")
        return lambda text: SimpleNamespace(ents=[person, place])

    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=load))
    rewritten = wb.rewrite("anonymise:spacy=known", [TEXT])
    assert rewritten.texts == ["ANON_0" + TEXT[9:]]
    assert rewritten.report["words-changed"][0].details["words"] == {"PERSON": 1}
    with pytest.raises(
        WordbiasError, match="has no model 'x'; get it with: python -m spacy download x"
    ):
        wb.rewrite("anonymise:spacy=x", [TEXT])


def test_without_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(WordbiasError, match=r"needs spacy; install it with: pip"):
        wb.rewrite("anonymise:spacy=en_core_web_sm", [TEXT])
