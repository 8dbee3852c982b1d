from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.stereotypes.gsss import (
    RULES,
    Gsss,
    Item,
    Triple,
    aligned,
    core,
    key,
    load_gsss,
    parts,
    repair,
    repair_sentence,
    spelled_as,
    to_her,
    to_his,
)
from wordbias.stereotypes.next_sentence import Sentences

HIS, HER, SIGNS = RULES


def repaired(original: str, swapped: str) -> str:
    return list({"": swapped, **repair_sentence(original, swapped)}.values())[-1]


@pytest.mark.parametrize(
    ("original", "swapped", "right"),
    [
        ("She fed her dog.", "He fed him dog.", "He fed his dog."),
        ("She runs her own firm.", "He runs him own firm.", "He runs his own firm."),
        ("She loves her family.", "He loves him family.", "He loves his family."),
        ("She helped her mother.", "He helped him father.", "He helped his father."),
        ("Her cat fled.", "Him cat fled.", "His cat fled."),
        ('A letter from "her" boss', 'A letter from "him" boss', 'A letter from "him" boss'),
        ("all of her kids, and her", "all of him kids, and him", "all of his kids, and him"),
        ("He took his hat.", "She took hers hat.", "She took her hat."),
        ("He did his best, his way.", "She did hers best, hers way.", "She did her best, her way."),
        ("His car is his own car.", "Hers car is hers own car.", "Her car is her own car."),
    ],
)  # fmt: skip
def test_a_pronoun_before_a_noun_is_repaired(original: str, swapped: str, right: str) -> None:
    assert repaired(original, swapped) == right


@pytest.mark.parametrize(
    ("original", "swapped"),
    [
        ("They gave her the prize.", "They gave him the prize."),
        ("They saw her.", "They saw him."),
        ("They followed her to town.", "They followed him to town."),
        ("It helps her relax.", "It helps him relax."),
        ("We watched her cook a meal.", "We watched him cook a meal."),
        ("They treated her badly.", "They treated him badly."),
        ("They picked her up, hugged her, and left.", "They picked him up, hugged him, and left."),
        ("That one is his.", "That one is hers."),
        ("His is red and theirs, not his, is blue.", "Hers is red and theirs, not hers, is blue."),
        ("I called him a fool.", "I called her a fool."),
        ("Ask him why.", "Ask her why."),
        ("She likes him because of it.", "He likes her because of it."),
    ],
)
def test_a_pronoun_that_is_right_does_not_change(original: str, swapped: str) -> None:
    assert repair_sentence(original, swapped) == {}


@pytest.mark.parametrize(
    ("original", "swapped", "right"),
    [
        ("He has a TV in the SUV.", "She has a Tv in the Suv.", "She has a TV in the SUV."),
        ("He paid $3 & 5% tax", "She paid 3 5 tax", "She paid $3 & 5% tax"),
        ("A well-known man", "A well known woman", "A well-known woman"),
        ("His rum-and-coke is in", "Her rum and coke is in", "Her rum-and-coke is in"),
        ('He wrote "no" twice.', "She wrote no twice.", 'She wrote "no" twice.'),
        ('The word "he" is short.', "The word she is short.", 'The word "she" is short.'),
        ("An iPhone is his", "An Iphone is hers", "An iPhone is hers"),
    ],
)  # fmt: skip
def test_signs_and_capitals_come_from_the_original(original: str, swapped: str, right: str) -> None:
    assert repair_sentence(original, swapped) == {SIGNS: right}


def test_a_capital_that_began_a_sentence_is_not_carried_into_another_place() -> None:
    assert repair_sentence("Why not? He asked me", "Why not? he asked me") == {}


def test_each_rule_does_its_own_part_only() -> None:
    original, swapped = "She fed her TV; his cat saw.", "He fed him Tv; hers cat saw."
    assert repair_sentence(original, swapped, [HIS]) == {HIS: "He fed his Tv; hers cat saw."}
    assert repair_sentence(original, swapped, [HER]) == {HER: "He fed him Tv; her cat saw."}
    assert repair_sentence(original, swapped, [SIGNS]) == {SIGNS: "He fed him TV; hers cat saw."}
    assert repair_sentence(original, swapped, []) == {}


words = st.lists(
    st.from_regex(r"[$#]?[a-z]{2,7}([A-Z]{1,2})?[%!]?|[A-Z]{2,4}|&", fullmatch=True),
    min_size=1,
    unique_by=lambda word: word.strip("$#%!").lower(),  # else which one stands for which?
)


@given(words)
def test_all_damage_to_signs_and_inner_capitals_is_undone(sentence: list[str]) -> None:
    stripped = [re.sub(r"[^A-Za-z]", "", word) for word in sentence]
    damaged = [word.capitalize() if re.search("[A-Z]", word[1:]) else word for word in stripped]
    original = " ".join(sentence)
    assert repaired(original, " ".join(filter(None, damaged))) == original


@given(words, st.sampled_from(["him", "hers", "her", "his"]))
def test_a_sentence_equal_to_its_swap_is_never_changed(sentence: list[str], pronoun: str) -> None:
    text = " ".join([*sentence, pronoun, *sentence])
    assert repair_sentence(text, text) == {}


def test_a_context_of_three_rows_counts_once() -> None:
    context = (
        Sentences("She fed her dog.", "Tea is hot."),
        Sentences("He fed him dog.", "Tea is hot."),
    )
    item = Item(*context)
    gsss = Gsss("x.csv", "", [Triple("4", "F", (item, item, item))])
    done = repair(gsss)
    assert done.counts() == {HIS: 1, HER: 0, SIGNS: 0}
    assert len(done.changes) == 3
    assert done.ids() == ["4"]
    assert gsss.triples[0].items[0].swapped.context == "He fed him dog."  # the input is as it was
    assert done.gsss.triples[0].items[2].swapped == ("He fed his dog.", "Tea is hot.")


def test_what_is_repaired_in_the_published_file(shared_data: Path) -> None:
    gsss = load_gsss(shared_data / "gsss" / "dev.csv")
    done = repair(gsss)
    ids = defaultdict(set)
    for change in done.changes:
        ids[change.rule].add(change.id)
    assert ids[HIS] == {"1", "12", "26", "64", "169"}
    assert ids[HER] == {"122", "131", "166", "182", "217"}
    assert ids[SIGNS] == {"42", "64", "193", "234", "238"}


def test_nothing_else_changes_in_the_published_file(shared_data: Path) -> None:
    gsss = load_gsss(shared_data / "gsss" / "dev.csv")
    done = repair(gsss)
    touched = {(change.id, change.label, change.part) for change in done.changes}
    labels = ("stereotype", "anti-stereotype", "unrelated")
    for before, after in zip(gsss.triples, done.gsss.triples, strict=True):
        assert (before.id, before.gender) == (after.id, after.gender)
        for label, was, is_now in zip(labels, before.items, after.items, strict=True):
            assert was.original == is_now.original
            for part in Sentences._fields:
                same = getattr(was.swapped, part) == getattr(is_now.swapped, part)
                assert same != ((before.id, label, part) in touched)
    assert done.gsss.path == gsss.path


def test_repairing_again_changes_nothing(shared_data: Path) -> None:
    done = repair(load_gsss(shared_data / "gsss" / "dev.csv"))
    repeated = repair(done.gsss)
    assert repeated.changes == []
    assert repeated.gsss.triples == done.gsss.triples


def test_no_misplaced_pronoun_is_left_in_the_published_file(shared_data: Path) -> None:
    """Of all pronouns whose places a swap kept, none is left before a noun in object form."""
    done = repair(load_gsss(shared_data / "gsss" / "dev.csv"))
    pairs = {
        (a, b)
        for triple in done.gsss.triples
        for item in triple.items
        for a, b in zip(item.original, item.swapped, strict=True)
    }
    left = set()
    for original, swapped in pairs:
        was, now = original.split(), swapped.split()
        for i in range(min(len(was), len(now)) - 1):
            if (was[i], now[i]) in {("her", "him"), ("his", "hers")}:
                left.add(now[i + 1].strip(".,"))
    # what follows is no noun, by reading
    assert left <= {
        "the",
        "or",
        "a",
        "up",
        "if",
        "cook",
        "relax",
        "to",
        "in",
        "and",
        "into",
        "when",
    }


# Alignment

any_word = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=6)
word_like = st.sampled_from(["a", "her", "his", "dog", "TV", "$3", "well-known", "--"])
word_lists = st.lists(word_like, max_size=8)


@given(any_word)
def test_the_parts_of_a_word_are_the_word(word: str) -> None:
    before, inner, after = parts(word)
    assert before + inner + after == word
    assert core(word) == inner.lower()
    assert not any(letter.isalnum() for letter in before + after)


@given(any_word)
def test_signs_around_a_word_are_no_part_of_its_key(word: str) -> None:
    assert key(f'"{word}",') == key(word)


@given(word_lists, word_lists)
def test_pairs_run_forward_and_use_a_word_once(a: list[str], b: list[str]) -> None:
    pairs = aligned(a, b)
    for (i, k), (j, m) in pairwise(pairs):
        assert i < j
        assert k < m
    assert all(0 <= i < len(a) and 0 <= k < len(b) for i, k in pairs)


@given(word_lists)
def test_a_sentence_is_aligned_with_itself_and_has_its_spelling(a: list[str]) -> None:
    assert aligned(a, a) == [(i, i) for i in range(len(a))]
    assert spelled_as(a, a) == a
    assert to_his(a, a) == to_her(a, a) == a


@given(st.lists(word_like.filter(key), max_size=8))
def test_what_a_sentence_had_it_gets_back(a: list[str]) -> None:
    """Hyphens that became spaces, capitals within words and signs that were lost."""
    bare = " ".join(a).replace("-", " ").replace("$", "").replace("TV", "Tv").split()
    assert spelled_as(a, bare) == a
