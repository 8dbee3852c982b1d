import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.errors import WordbiasError
from wordbias.wordlists import candidates, resolve, resolve_pairs

WORDS = st.lists(st.text("abAB", min_size=1, max_size=3), max_size=8)
VOCABULARY = st.sets(st.text("abAB", min_size=1, max_size=3), max_size=30)


def forms(word: str) -> list[str]:
    return [word, word.lower(), word.capitalize()]


def test_forms_are_tried_in_order():
    vocabulary = {"Emma", "emma", "she", "Olivia"}
    resolved = resolve(["Emma", "SHE", "olivia", "zoe"], vocabulary)
    assert resolved.found == ("Emma", "she", "Olivia")
    assert resolved.how == {"Emma": "as written", "she": "lower-cased", "Olivia": "capitalised"}
    assert resolved.missing == ("zoe",)
    assert resolved.listed == ("Emma", "SHE", "olivia", "zoe")


def test_words_of_one_spelling_count_once():
    resolved = resolve(["Emma", "emma", "EMMA", "x", "x"], {"emma"})
    assert resolved.found == ("emma",)
    assert resolved.how == {"emma": "lower-cased"}
    assert resolved.missing == ("x",)


def test_anything_that_answers_in_is_a_vocabulary():
    assert resolve(["She"], {"she": 7}).found == resolve(iter(["She"]), ["she"]).found == ("she",)


@given(WORDS, VOCABULARY)
def test_found_words_are_in_the_vocabulary_and_missing_ones_in_no_form(words, vocabulary):
    resolved = resolve(words, vocabulary)
    assert set(resolved.found) <= vocabulary
    assert len(set(resolved.found)) == len(resolved.found)
    assert not any(form in vocabulary for word in resolved.missing for form in forms(word))
    reached = [word for word in words if any(form in vocabulary for form in forms(word))]
    assert set(words) == set(reached) | set(resolved.missing)
    assert set(resolved.how) == set(resolved.found)


@given(WORDS, VOCABULARY)
def test_the_order_asked_is_kept(words, vocabulary):
    expected = [
        next(form for form in forms(word) if form in vocabulary)
        for word in words
        if any(form in vocabulary for form in forms(word))
    ]
    assert resolve(words, vocabulary).found == tuple(dict.fromkeys(expected))


@given(WORDS, VOCABULARY)
def test_a_vocabulary_of_candidates_only_gives_the_same(words, vocabulary):
    assert resolve(words, vocabulary) == resolve(words, vocabulary & candidates(words))


@given(WORDS)
def test_candidates_are_the_forms(words):
    assert candidates(words) == {form for word in words for form in forms(word)}


@given(st.lists(st.tuples(st.sampled_from("abAB"), st.sampled_from("abAB"))), VOCABULARY)
def test_a_pair_is_found_when_both_its_words_are(pairs, vocabulary):
    resolved = resolve_pairs(pairs, vocabulary)
    words = resolve([word for pair in pairs for word in pair], vocabulary)
    assert {word for pair in resolved.found for word in pair} <= set(words.found)
    assert set(resolved.how) == {word for pair in resolved.found for word in pair}
    assert all(first != second for first, second in resolved.found)
    both = [
        tuple(spelling for word in pair for spelling in resolve([word], vocabulary).found)
        for pair in pairs
    ]
    whole = [pair for pair in both if len(pair) == 2 and pair[0] != pair[1]]
    assert resolved.found == tuple(dict.fromkeys(whole))


def test_a_pair_with_one_word_missing_is_missing():
    resolved = resolve_pairs([["She", "He"], ["woman", "man"]], {"she", "he", "woman"}, "pairs")
    assert resolved.found == (("she", "he"),)
    assert resolved.missing == (("woman", "man"),)
    assert resolved.how == {"she": "lower-cased", "he": "lower-cased"}


def test_a_pair_of_one_spelling_has_no_difference():
    assert resolve_pairs([("She", "she")], {"she"}).missing == (("She", "she"),)


def test_enough_words_pass_through():
    resolved = resolve(["she", "he"], {"she", "he"})
    assert resolved.at_least(2) is resolved


def test_too_few_words_say_which_and_what_to_do():
    names = ["Olivia", "Emma", "Ava", "Mia", "Zoe"]
    with pytest.raises(WordbiasError) as caught:
        resolve(names, {"zoe"}, "group female").at_least(2)
    assert str(caught.value) == (
        "group female: 1 of 5 words found (at least 2 needed): first missing: Olivia, Emma, Ava, "
        "…; give words this embedding has with --groups FILE"
    )


def test_too_few_pairs_are_called_pairs():
    with pytest.raises(WordbiasError) as caught:
        resolve_pairs([("she", "he")], set()).at_least(1, remedy="try --pairs FILE")
    assert str(caught.value) == (
        "0 of 1 pairs found (at least 1 needed): first missing: she/he; try --pairs FILE"
    )


def test_too_few_words_without_a_missing_one():
    with pytest.raises(WordbiasError, match=r"1 of 1 words found \(at least 2 needed\); give"):
        resolve(["she"], {"she"}).at_least(2)


def test_the_result_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        resolve([], []).found = ()  # type: ignore[misc]
