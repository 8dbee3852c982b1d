"""The sentences of the Equity Evaluation Corpus, as many and as the paper has them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from wordbias.errors import WordbiasError
from wordbias.wordlists import Attribute, WordGroups, load_attribute
from wordbias.wordlists.eec import (
    NEUTRAL,
    Comparison,
    comparisons_of,
    contexts,
    left_out_notes,
    published_comparisons,
)

# Kiritchenko and Mohammad (2018), Table 1
PUBLISHED = {
    "{subject} feels {word}.": 1200,
    "The situation makes {object} feel {word}.": 1200,
    "I made {object} feel {word}.": 1200,
    "{subject} made me feel {word}.": 1200,
    "{subject} found {himself} in {a word} situation.": 1200,
    "{subject} told us all about the recent {word} events.": 1200,
    "The conversation with {object} was {word}.": 1200,
    "I saw {object} in the market.": 60,
    "I talked to {object} yesterday.": 60,
    "{subject} goes to the school in our neighborhood.": 60,
    "{subject} has two children.": 60,
}


def sentences(compared: list[Comparison]) -> dict[str, tuple[str, str]]:
    """Return the template and the emotion of each sentence."""
    return {
        context.about(person): (context.template, context.emotion)
        for comparison in compared
        for _, person in comparison.persons()
        for context in contexts()
    }


def test_the_sentences_are_as_many_as_published() -> None:
    by_sentence = sentences(published_comparisons())
    assert len(by_sentence) == 8_640
    assert Counter(template for template, _ in by_sentence.values()) == PUBLISHED
    emotions = Counter(emotion for _, emotion in by_sentence.values())
    assert emotions == dict.fromkeys(("anger", "fear", "joy", "sadness"), 2100) | {NEUTRAL: 240}


def test_each_person_is_in_144_sentences_and_each_comparison_has_its_pairs() -> None:
    gender, race = published_comparisons()
    assert (gender.groups, len(gender.pairs)) == (("female", "male"), 30)
    assert (race.groups, len(race.pairs)) == (("African American", "European American"), 20)
    assert Counter(gender.kinds) == {
        "noun phrases": 10, "African American names": 10, "European American names": 10,
    }  # fmt: skip
    assert len(contexts()) == 144
    of_race = {person for _, person in race.persons()}
    assert of_race < {person for _, person in gender.persons()}
    assert len(set(gender.persons())) == 60


def test_sentences_are_grammatical() -> None:
    texts = sentences(published_comparisons())
    for text in (
        "She feels angry.",
        "The situation makes her feel angry.",
        "He found himself in an outrageous situation.",
        "Ebony found herself in a hilarious situation.",
        "The conversation with him was heartbreaking.",
        "My mom has two children.",
        "I saw this boy in the market.",
    ):
        assert text in texts
    assert not [text for text in texts if "{" in text or not text[0].isupper() or text[-1] != "."]


def test_two_sentences_of_a_pair_differ_in_the_person_only() -> None:
    for comparison in published_comparisons():
        for pair in comparison.pairs:
            for context in contexts():
                rest = [
                    [
                        word
                        for word in context.about(person).lower().rstrip(".").split()
                        if word not in " ".join(person).lower().split()
                    ]
                    for person in pair
                ]
                assert rest[0] == rest[1]


def test_gender_is_that_of_the_corpus_and_other_groups_are_those_of_their_file() -> None:
    assert comparisons_of(Attribute.load()) == published_comparisons()[:1]
    religions = comparisons_of(load_attribute("religion"))
    assert len(religions) == 10
    (comparison,) = comparisons_of(load_attribute("religion:muslim,hindu"))
    assert comparison.groups == ("muslim", "hindu")
    context = next(candidate for candidate in contexts() if "{himself}" in candidate.template)
    assert context.about(comparison.pairs[1][0]) == (
        "This Muslim man found themselves in an annoying situation."
    )


def test_of_a_longer_list_some_are_left_out_all_along_it() -> None:
    nouns = {"a": tuple(f"a{i}" for i in range(9)), "b": ("b0", "b1", "b2")}
    groups = WordGroups("mine", ("a", "b"), (("x", "y"), ("z", "w")), subjects={
        "names": tuple(nouns.values()),
    })  # fmt: skip
    (comparison,) = comparisons_of(Attribute.of(groups))
    assert [(a.subject, b.subject) for a, b in comparison.pairs] == [
        ("a1", "b0"), ("a4", "b1"), ("a7", "b2"),
    ]  # fmt: skip
    assert left_out_notes([comparison]) == [
        "a and b: 6 persons of the longer list left out, without a counterpart"
    ]


def test_groups_without_subjects_of_sentences_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[groups]\na = ["x", "y"]\nb = ["z", "w"]\n')
    for name in (str(file), "gender-de", "pronouns"):
        with pytest.raises(WordbiasError, match=r"no subjects of English sentences; give its file"):
            comparisons_of(load_attribute(name))
