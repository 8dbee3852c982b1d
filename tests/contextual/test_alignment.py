"""Words that stand for each other: their parts, their order, and what a sentence gets back."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from wordbias.contextual.stereoset.repair import (
    aligned,
    core,
    key,
    parts,
    spelled_as,
    to_her,
    to_his,
)

words = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=6)
plain = st.sampled_from(["a", "her", "his", "dog", "TV", "$3", "well-known", "--"])
sentences = st.lists(plain, max_size=8)


@given(words)
def test_the_parts_of_a_word_are_the_word(word: str) -> None:
    before, inner, after = parts(word)
    assert before + inner + after == word
    assert core(word) == inner.lower()
    assert not any(letter.isalnum() for letter in before + after)


@given(words)
def test_signs_around_a_word_are_no_part_of_its_key(word: str) -> None:
    assert key(f'"{word}",') == key(word)


@given(sentences, sentences)
def test_pairs_run_forward_and_use_a_word_once(a: list[str], b: list[str]) -> None:
    pairs = aligned(a, b)
    for (i, k), (j, m) in pairwise(pairs):
        assert i < j
        assert k < m
    assert all(0 <= i < len(a) and 0 <= k < len(b) for i, k in pairs)


@given(sentences)
def test_a_sentence_is_aligned_with_itself_and_has_its_spelling(a: list[str]) -> None:
    assert aligned(a, a) == [(i, i) for i in range(len(a))]
    assert spelled_as(a, a) == a
    assert to_his(a, a) == to_her(a, a) == a


@given(st.lists(plain.filter(key), max_size=8))
def test_what_a_sentence_had_it_gets_back(a: list[str]) -> None:
    """Hyphens that became spaces, capitals within words and signs that were lost."""
    bare = " ".join(a).replace("-", " ").replace("$", "").replace("TV", "Tv").split()
    assert spelled_as(a, bare) == a
