"""Synthetic biographies: reproducible, labelled, and with the bias that they are made to have."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias import WordbiasError
from wordbias.biographies.data import split
from wordbias.biographies.strategies import STRATEGIES, prepare
from wordbias.biographies.synthetic import LEAN, PEOPLE, load_words, synthetic
from wordbias.outcomes.scrub import gendered_words
from wordbias.wordlists.queries import load_queries

WORDS = load_words()
OTHERS = {"F": {"he", "him", "his", "wife", "son"}, "M": {"she", "her", "hers", "husband"}}


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def test_they_say_what_they_are() -> None:
    assert synthetic().path == "synthetic biographies (seed 0, n=2,400)"
    assert synthetic(500, seed=9).path == "synthetic biographies (seed 9, n=500)"
    assert len(synthetic()) == PEOPLE


def test_the_seed_decides() -> None:
    assert synthetic(600, 4).sha256 == synthetic(600, 4).sha256 != synthetic(600, 5).sha256


@settings(max_examples=10, deadline=None)
@given(st.integers(400, 3000), st.integers(0, 1000))
def test_numbers_of_women_and_men_are_fixed(people: int, seed: int) -> None:
    bios = synthetic(people, seed)
    counts = bios.counts()
    sizes = counts.sum(axis=1)
    assert len(bios) == people
    assert np.ptp(sizes) <= 1
    wanted = {kind.name: kind.women for kind in WORDS.occupations}
    assert set(bios.classes) == set(wanted)
    for name, (women, _), size in zip(bios.classes, counts, sizes, strict=True):
        assert abs(women - wanted[name] * size) <= 0.5
    assert (counts >= 1).all()


def test_the_fewest_are_enough_for_every_strategy() -> None:
    smallest = synthetic(40 * len(WORDS.occupations))
    for name in STRATEGIES:
        prepared = prepare(split(smallest, 0), name, 0)
        assert (prepared.views["own"].test.counts().sum(axis=1) > 0).sum() >= 3
        assert (prepared.train.counts() > 0).any(axis=1).sum() >= 3


def test_pronouns_agree_with_genders_and_no_text_says_the_occupation() -> None:
    bios = synthetic(1000)
    assert bios.names is not None
    named = 0
    for text, gender, name, label in zip(
        bios.texts, bios.gender_names(), bios.names, bios.label_names(), strict=True
    ):
        assert not words(text) & OTHERS[gender]
        named += any(part in text for part in name.split())
        assert words(text) & gendered_words()
        assert label not in words(text)
        assert "{" not in text
    assert named


@pytest.mark.parametrize(("sentence", "leaning"), [(-2, WORDS.leaning), (-1, WORDS.topics)])
def test_likings_and_topics_lean_but_do_not_tell(
    sentence: int, leaning: tuple[tuple[str, ...], ...]
) -> None:
    bios = synthetic()
    texts = [text.split(". ")[sentence] for text in bios.texts]
    female, male = leaning
    women = np.array([gender == "F" for gender in bios.gender_names()])
    hers, his = (
        np.array([any(re.search(rf"\b{like}\b", text) for like in likes) for text in texts])
        for likes in (female, male)
    )
    assert (hers ^ his).all()
    share = np.array([hers[women].mean(), his[~women].mean()])
    sizes = np.array([women.sum(), (~women).sum()])
    assert (np.abs(share - LEAN) < 5 * np.sqrt(LEAN * (1 - LEAN) / sizes)).all()


def test_neighbours_share_words_and_others_do_not() -> None:
    kinds = WORDS.occupations
    shared = {
        (a.name, b.name)
        for i, a in enumerate(kinds)
        for b in kinds[:i]
        if set(a.work) & set(b.work)
    }
    assert ("surgeon", "nurse") in shared
    assert ("engineer", "nurse") not in shared
    assert all(len(set(kind.work)) == len(kind.work) for kind in kinds)


def test_too_few_to_be_split() -> None:
    with pytest.raises(WordbiasError, match=r"100 synthetic biographies .* ask for 400 or more"):
        synthetic(100)


def test_the_words_that_ceat_looks_for_are_in_the_test_part() -> None:
    query = next(query for query in load_queries() if query.name == "weat6")
    texts = " ".join(split(synthetic(), 0).test.texts).lower()
    tokens = set(re.findall(r"[a-z]+", texts))
    for _, stimuli in (*query.targets, *query.attributes):
        assert {word.lower() for word in stimuli} <= tokens
