"""Debiasing of documents: what is replaced, and that every span stays where it is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.coreference.documents import Document
from wordbias.coreference.strategies import (
    PUBLISHED,
    anonymise,
    check_strategy,
    debias,
    name_words,
    swap,
)
from wordbias.errors import WordbiasError
from wordbias.outcomes.anonymise import Entity

NEWS = Document(
    "news",
    (
        ("Claire", "Ross", "met", "her", "brother", "."),
        ("Mark", "said", "Ross", "knew", "him", "from", "Leeds", "."),
    ),
    (((0, 2), (3, 4), (8, 9)), ((3, 5), (10, 11))),
    speakers=("", "Mark"),
)
WORDS = st.sampled_from(
    [*"ab", "he", "Her", "his", "waitress", "Mary", "Jones", "ma'am", ".", "x y"]
)
DOCUMENTS = st.lists(st.lists(WORDS, min_size=1, max_size=8), min_size=1, max_size=5).map(
    lambda sentences: Document(
        "made up", tuple(map(tuple, sentences)), (((0, 1), (0, len(sentences[0]))),)
    )
)


@given(DOCUMENTS, st.sampled_from([*PUBLISHED, "random-anonymise", "random-swap"]))
def test_sentences_keep_their_lengths_and_clusters(document: Document, strategy: str) -> None:
    first, *copies = debias([document], strategy, seed=3)
    assert len(copies) == ("swap" in strategy)
    for changed in (first, *copies):
        assert list(map(len, changed.sentences)) == list(map(len, document.sentences))
        assert changed.clusters == document.clusters


def test_words_are_swapped_and_names_are_not() -> None:
    swapped = swap(NEWS)
    assert swapped.sentences[0] == ("Claire", "Ross", "met", "his", "sister", ".")
    assert swapped.sentences[1][4] == "her"
    assert swap(swapped) == NEWS


def test_names_become_numbers_by_first_occurrence() -> None:
    assert name_words(NEWS) == {"Claire", "Ross"}
    hidden = anonymise(NEWS)
    assert hidden.sentences[0][:3] == ("ANON_0", "ANON_1", "met")
    assert hidden.sentences[1][:3] == ("Mark", "said", "ANON_1")


def test_i_ends_a_name() -> None:
    document = Document("said", (("With", "Jenna", "I", "saw", "Anna", "Jones", "."),), ())
    assert name_words(document) == {"Jenna", "Anna", "Jones"}


def test_entities_of_a_finder_replace_the_lists() -> None:
    def find(text: str, _: object) -> list[Entity]:
        labels = {"Leeds": "GPE", "Mark": "PERSON"}
        return [Entity(*m.span(), labels[m.group()]) for m in re.finditer("Leeds|Mark", text)]

    hidden = anonymise(NEWS, find=find)
    assert [token for token in hidden.tokens if token not in NEWS.tokens] == ["ANON_0"]
    assert hidden.sentences[1][0] == "ANON_0"


def test_a_random_change_hides_as_many_tokens_and_no_name() -> None:
    text = [
        "Claire",
        "Ross",
        "saw",
        "the",
        "cat",
        "and",
        "the",
        "dog",
        "and",
        "Ross",
        "ran",
        "to",
        "a",
        "tree",
    ]
    document = Document("a", (text,))
    hidden = [
        old for old, new in zip(text, anonymise(document, seed=1).tokens, strict=True) if old != new
    ]
    assert len(hidden) == 3
    assert not {"Claire", "Ross"} & {*hidden}
    assert anonymise(document, seed=1) == anonymise(document, seed=1)
    assert len({anonymise(document, seed=seed).tokens for seed in range(20)}) > 5


def test_a_random_swap_repeats_the_documents() -> None:
    assert debias([NEWS], "random-swap") == [NEWS, NEWS]
    both = debias([NEWS], "anonymise+swap")
    assert both == [anonymise(NEWS), swap(anonymise(NEWS))]


@pytest.mark.parametrize("strategy", ["scrub", "none+swap", "swap+swap", "random-none", ""])
def test_unknown_strategies_are_refused(strategy: str) -> None:
    with pytest.raises(WordbiasError, match=re.escape(f"strategy {strategy!r}: ")):
        check_strategy(strategy)


def test_known_strategies_are_taken() -> None:
    for strategy in (*PUBLISHED, "swap+anonymise", "random-anonymise+swap"):
        check_strategy(strategy)
