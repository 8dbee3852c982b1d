"""The word lists of gender-preserving debiasing, on real vectors and by their definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from wordbias import Attribute, Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.gender_preserving.words import Lists, find_lists, find_pairs, hold_out
from wordbias.vocabulary import choose_vocabulary
from wordbias.wordlists import Templates

AGE = Attribute(
    "age",
    ("young", "old"),
    (("young", "youth"), ("old", "elderly")),
    (("young", "old"), ("younger", "older"), ("youngest", "oldest"), ("youth", "age")),
    direction=("young", "old"),
    specific=frozenset({"young", "old", "younger", "older", "youngest", "oldest", "youth", "age"}),
)


@pytest.fixture(scope="module")
def lists(sample: Embedding, gender: Attribute) -> Lists:
    return find_lists(sample, gender)


def _cosines(embedding: Embedding, words: list[str], axis: tuple[str, str]) -> NDArray[np.float64]:
    g = embedding[axis[0]].astype(float) - embedding[axis[1]]
    x = embedding.take(words).astype(float)
    return (x @ g) / (np.linalg.norm(x, axis=1) * np.linalg.norm(g))


def test_pairs_are_the_definitional_and_the_equalising_ones(
    sample: Embedding, gender: Attribute, lists: Lists
) -> None:
    assert lists.pairs.found == (*gender.pairs, *gender.equalise)
    assert find_pairs(sample, gender).found == lists.pairs.found


def test_stereotypes_of_gender_are_the_occupations(lists: Lists) -> None:
    male, female = Templates.load().stereotypes
    assert set(lists.stereotypes.listed) == {*male, *female}
    assert len(lists.stereotypes.found) >= 4


def test_neutral_words_are_nearly_orthogonal_to_the_axis(
    sample: Embedding, gender: Attribute, lists: Lists
) -> None:
    words = list(lists.neutral.found)
    vocabulary = choose_vocabulary([sample], gender)
    cosines = _cosines(sample, vocabulary, ("she", "he"))
    near = {word for word, cosine in zip(vocabulary, cosines, strict=True) if abs(cosine) < 0.03}
    others = {word for pair in lists.pairs.found for word in pair}.union(lists.stereotypes.found)
    assert set(words) <= near - others
    assert len(words) == len(set(words)) == min(1031, len(near - others))


def test_neutral_words_are_drawn_by_the_seed(
    sample: Embedding, gender: Attribute, lists: Lists
) -> None:
    assert find_lists(sample, gender).neutral.found == lists.neutral.found
    assert find_lists(sample, gender, seed=1).neutral.found != lists.neutral.found


def test_stereotypes_of_another_attribute_lean_most(sample: Embedding) -> None:
    stereotypes = find_lists(sample, AGE).stereotypes.found
    paired = {word for pair in AGE.pairs for word in pair}
    words = [word for word in choose_vocabulary([sample], AGE) if word not in paired]
    order = np.argsort(_cosines(sample, words, ("young", "old")))
    assert set(stereotypes) == {words[i] for i in [*order[:42], *order[-42:]]}


def test_fewer_stereotypes_where_fewer_words_lean() -> None:
    lean = {"a": -3, "b": -1, "c": -2, "d": 1, "e": 5, "f": 4, "g": 3, "h": 2}
    neutral = {"w": 0, "x": 0, "y": 0, "z": 0}
    paired = dict.fromkeys([word for pair in AGE.pairs for word in pair], 0)
    places = {**paired, "young": 9, "old": -9, **lean, **neutral}
    vectors = np.random.default_rng(0).normal(size=(len(places), 5))
    vectors[:, 0] = list(places.values())
    for word in ("young", "old"):
        vectors[list(places).index(word), 1:] = 0
    vectors[:, 1:] /= np.maximum(np.linalg.norm(vectors[:, 1:], axis=1, keepdims=True), 1)
    word_lists = find_lists(Embedding(list(places), vectors), AGE)
    assert len(word_lists.stereotypes.found) == 2 * 3
    assert {"a", "b", "c"} <= set(word_lists.stereotypes.found)
    assert set(word_lists.neutral.found) == set(neutral)


def test_given_words_need_no_axis(sample: Embedding) -> None:
    unaligned = Attribute("age", AGE.groups, AGE.members, AGE.pairs)
    with pytest.raises(
        WordbiasError, match=r"age has no pairs; .*gender-preserving:stereotypes=FILE"
    ):
        find_lists(sample, unaligned)
    chosen = ["nurse", "pilot", "teacher", "doctor"]
    word_lists = find_lists(sample, unaligned, chosen, ["table", "river", "stone", "cloud"])
    assert word_lists.stereotypes.found == tuple(chosen)


def test_words_from_a_file(sample: Embedding, gender: Attribute, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("nurse\npilot\nno-such-word\nTeacher\ndoctor\n", encoding="utf-8")
    for given in (file, str(file)):
        stereotypes = find_lists(sample, gender, stereotypes=given).stereotypes
        assert stereotypes.found == ("nurse", "pilot", "teacher", "doctor")
        assert stereotypes.missing == ("no-such-word",)


def test_a_file_that_is_not_there(sample: Embedding, gender: Attribute, tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="no such file"):
        find_lists(sample, gender, neutral=tmp_path / "none.txt")


@pytest.mark.parametrize("kind", ["stereotypes", "neutral"])
def test_too_few_words(sample: Embedding, gender: Attribute, kind: str) -> None:
    few = {kind: ["river", "stone", "cloud", "qqqq"]}
    expected = rf"sample: {kind}: 3 of 4 words found \(at least 4 needed\).*qqqq; .*:{kind}=FILE"
    with pytest.raises(WordbiasError, match=expected):
        find_lists(sample, gender, **few)


def test_too_few_pairs(gender: Attribute) -> None:
    words = ["she", "he", "woman", "man", "her", "his", "nurse"]
    small = Embedding(words, np.random.default_rng(0).normal(size=(7, 3)), "small")
    with pytest.raises(WordbiasError, match=r"small: pairs of gender: 3 of \d+ pairs found"):
        find_lists(small, gender)


def test_an_attribute_without_pairs(sample: Embedding) -> None:
    bare = Attribute("age", AGE.groups, AGE.members)
    with pytest.raises(WordbiasError, match=r"age has no pairs.*\[pairs\] definitional"):
        find_lists(sample, bare)


@pytest.mark.parametrize(
    ("stereotypes", "neutral", "word"),
    [
        (["she", "nurse", "pilot", "doctor"], None, "she"),
        (["nurse", "pilot", "doctor", "king"], None, "king"),
        (["nurse", "pilot", "doctor", "maid"], ["table", "maid", "stone", "cloud"], "maid"),
        (None, ["table", "woman", "stone", "cloud"], "woman"),
    ],
)
def test_a_word_of_two_kinds(
    sample: Embedding,
    gender: Attribute,
    stereotypes: list[str] | None,
    neutral: list[str] | None,
    word: str,
) -> None:
    with pytest.raises(WordbiasError, match=f"'{word}' is among .* and among .*remove it"):
        find_lists(sample, gender, stereotypes, neutral)


def test_a_word_in_both_groups(sample: Embedding) -> None:
    mixed = Attribute("age", AGE.groups, AGE.members, (*AGE.pairs, ("old", "new")), direction=None)
    four = ["nurse", "pilot", "doctor", "maid"], ["table", "river", "stone", "cloud"]
    with pytest.raises(WordbiasError, match="'old' is among"):
        find_lists(sample, mixed, *four)


def test_held_out_words_are_a_quarter_twenty_at_most(sample: Embedding, lists: Lists) -> None:
    train, dev = hold_out(sample, lists, 0)
    for name in ("pairs", "stereotypes", "neutral"):
        whole = getattr(lists, name).found
        parts = [
            getattr(part, name).reshape(-1, 2 if name == "pairs" else 1) for part in (train, dev)
        ]
        rows = [tuple(row) for part in parts for row in part.tolist()]
        words = [tuple(sample.words[i] for i in row) for row in rows]
        listed = [word if isinstance(word, tuple) else (word,) for word in whole]
        assert sorted(words) == sorted(listed)
        assert len(parts[1]) == min(20, len(whole) // 4)


def test_held_out_words_depend_on_the_seed(sample: Embedding, lists: Lists) -> None:
    first, same, other = (hold_out(sample, lists, seed)[1].neutral for seed in (0, 0, 1))
    assert first.tolist() == same.tolist()
    assert first.tolist() != other.tolist()
