"""Swapping: the same sentence about a person of the other gender, and back."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import wordbias as wb
from wordbias.outcomes.scrub import gendered_words
from wordbias.outcomes.swap import in_case_of, name_pairs
from wordbias.wordlists import Attribute, names
from wordbias.wordlists.rewriting import ambiguous_words, swaps

TWO_WAY = sorted(set(swaps().words) - swaps().one_way)
_BRACKETED = re.compile(r"\[([^\]]*)\]")


def swapped(text: str, **options: Any) -> str:
    (rewritten,) = wb.rewrite(wb.Swap(**options), [text]).texts
    return str(rewritten)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (
            "She sold her book; it was hers, she told me.",
            "He sold his book; it was his, he told me.",
        ),
        ("I saw him. HIS wife's here, he'll say.", "I saw her. HER husband's here, she'll say."),
        ("The mother-in-law of Mr. Lee", "The father-in-law of Ms. Lee"),
        ("Yes, Ma'am. Yes, ma’am.", "Yes, Sir. Yes, sir."),
        ("This book is his.", "This book is hers."),
        ("The then-wife of his father himself", "The then-husband of her mother herself"),
        (
            "Stephen King was a king at Duke University",
            "Stephen King was a queen at Duke University",
        ),
        ("She has an MS in maternal health", "He has an MS in maternal health"),
        ("S/he said (s)he saw women's/he-wolves", "S/he said (s)he saw men's/she-wolves"),
        ("the theme of others", "the theme of others"),
        ("", ""),
    ],
)
def test_a_text_and_its_counterpart(text: str, other: str) -> None:
    assert swapped(text) == other


def test_the_swapped_words_are_counted() -> None:
    (row,) = wb.rewrite("swap", ["She and HER dog"]).report["words-changed"]
    assert (row.value, row.details["words"]) == (2, {"she → he": 1, "her → his": 1})
    assert wb.rewrite("swap", ["nobody"]).report["rows-changed"][0].value == 0


def test_every_pair_of_the_attribute_is_swapped_but_what_reads_otherwise() -> None:
    attribute, words = Attribute.load(), swaps().words
    for a, b in (*attribute.pairs, *attribute.equalise):
        if a in ambiguous_words():
            assert swapped(f"a {a} b {b}") == f"a {a} b {b}"
        elif a != "her":
            assert (words[a], words[b]) == (b, a)


def test_pairs_are_one_to_one_and_other_words_map_into_them() -> None:
    words = swaps().words
    assert all(words[words[word]] == word for word in TWO_WAY)
    assert all(words[words[words[word]]] == words[word] for word in swaps().one_way)
    assert "mrs" in swaps().one_way


FILLERS = ["the", "saw", "Ann", ",", "don't", "in-depth", "HE", "Himself", "\n", "“", "ÉTÉ"]


@given(st.lists(st.sampled_from([*TWO_WAY, *FILLERS]), max_size=15), st.booleans())
def test_swapping_twice_gives_the_text_back(words: list[str], upper: bool) -> None:
    """Where every word has one counterpart; MS is a degree and stays, so that MR has none."""
    assume(not (upper and {"ms", "mr"}.intersection(words)))
    text = " ".join(word.upper() if upper else word for word in words)
    assert swapped(swapped(text)) == text


@given(st.text(alphabet="aAbB her's/()-“”.\n’", max_size=40))
def test_nothing_between_the_words_changes(text: str) -> None:
    letters = re.compile(r"[^\W\d_]+")
    assert letters.sub("", swapped(text)) == letters.sub("", text)


@pytest.mark.parametrize(
    ("word", "other", "expected"),
    [("she", "he", "he"), ("She", "he", "He"), ("SHE", "he", "HE"), ("sHe", "he", "he")],
)
def test_the_case_is_kept(word: str, other: str, expected: str) -> None:
    assert in_case_of(word, other) == expected


def test_names_are_paired_by_frequency() -> None:
    """Written from the definition, on the register that comes with the package."""
    pairs = name_pairs()
    ranked = list(names())
    female = [name for name in ranked if names()[name] >= 0.9 and name in pairs]
    male = [name for name in ranked if names()[name] <= 0.1 and name in pairs]
    assert len(female) == len(male) == len(pairs) // 2
    assert {**dict(zip(female, male, strict=True)), **dict(zip(male, female, strict=True))} == pairs
    assert all(pairs[pairs[name]] == name for name in pairs)


def test_names_are_swapped_on_request_as_they_are_written() -> None:
    other = name_pairs()["Emma"]
    assert swapped("Emma Stone") == "Emma Stone"
    assert swapped("Emma, emma and she", first_names=True) == f"{other}, emma and he"


def bracketed(folder: Path, kind: str, part: str) -> list[tuple[str, str]]:
    """Return the sentences of a WinoBias file, each with its pronoun."""
    sentences = []
    for line in (folder / f"{kind}_stereotyped_{part}").read_text("utf-8").splitlines():
        sentence = line.strip().split(" ", 1)[1]
        pronouns = [m for m in _BRACKETED.findall(sentence) if m.lower() in _PRONOUNS]
        if len(pronouns) == 1:
            sentences.append((_BRACKETED.sub(r"\1", sentence), pronouns[0].lower()))
    return sentences


_PRONOUNS = ("he", "she", "him", "his", "her")


@pytest.mark.slow
def test_winobias_sentences_become_those_of_the_other_set(shared_data: Path) -> None:
    """Pro and anti hold the same sentences with pronouns exchanged, so that one is the other's key.

    All that is decided by no rule must be right; of those with *her*, what the rule gets wrong
    must be less than half of what the better of always *him* and always *his* gets wrong.
    """
    wrong, him, his = 0, 0, 0
    for part in ("type1.txt.dev", "type1.txt.test", "type2.txt.dev", "type2.txt.test"):
        both = [bracketed(shared_data / "winobias", kind, part) for kind in ("pro", "anti")]
        known = {text.lower() for sentences in both for text, _ in sentences}
        for text, pronoun in (sentence for sentences in both for sentence in sentences):
            keys = [text_with(text, pronoun, other) for other in _OTHER[pronoun]]
            if sum(key.lower() in known for key in keys) != 1:
                continue  # no counterpart, or a pronoun that stands in the sentence twice
            is_known = swapped(text).lower() in known
            if pronoun == "her":
                wrong += not is_known
                him, his = him + (keys[0].lower() in known), his + (keys[1].lower() in known)
            elif len([w for w in re.findall(r"\w+", text.lower()) if w in gendered_words()]) == 1:
                assert is_known, text
    assert him + his > 500
    assert wrong < min(him, his) / 2


_OTHER = {"he": ["she"], "she": ["he"], "him": ["her"], "his": ["her"], "her": ["him", "his"]}


def text_with(text: str, pronoun: str, other: str) -> str:
    return re.sub(rf"\b{pronoun}\b", other, text, count=1, flags=re.IGNORECASE)


def test_winogender_sentences_become_each_other(shared_data: Path) -> None:
    """720 sentences by hand: male, female and neutral versions of each."""
    with (shared_data / "winogender" / "all_sentences.tsv").open(encoding="utf-8") as file:
        sentences = {row["sentid"]: row["sentence"] for row in csv.DictReader(file, delimiter="\t")}
    assert len(sentences) == 720
    for key, sentence in sentences.items():
        other = (
            key.replace(".male.", ".x.").replace(".female.", ".male.").replace(".x.", ".female.")
        )
        assert swapped(sentence) == sentences[other]
