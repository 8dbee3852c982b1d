"""Labelled words: who is chosen, how they are split, and what is refused."""

from __future__ import annotations

import itertools
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from wordbias import Attribute, Embedding, WordbiasError
from wordbias.methods import classes as module
from wordbias.methods.classes import LabelledWords, labelled_words, split

COLOUR = Attribute("colour", ("red", "blue"), ((), ()), (), (), ("crimson", "navy"))
WORDS = [
    "crimson",
    "navy",
    *("".join(pair) for pair in itertools.product("abcdefghijklmnopqrst", repeat=2)),
]


@pytest.fixture
def emb() -> Embedding:
    """402 words; a third of the space's spread lies along the axis."""
    rng = np.random.default_rng(3)
    return Embedding(WORDS, rng.normal(size=(len(WORDS), 6)), "toy")


def _cosines(emb: Embedding) -> dict[str, float]:
    axis = emb["crimson"].astype(float) - emb["navy"]

    def cosine(x: np.ndarray) -> float:
        return float(x @ axis / np.linalg.norm(x) / np.linalg.norm(axis))

    return {word: cosine(emb[word].astype(float)) for word in emb}


def _members(found: LabelledWords) -> list[list[str]]:
    return [
        [word for word, label in zip(found.words, found.labels, strict=True) if label == i]
        for i in range(len(found.classes))
    ]


@pytest.mark.parametrize("count", [10, 11])
def test_the_groups_are_the_words_that_lean_most(emb: Embedding, count: int) -> None:
    cosine = _cosines(emb)
    ranked = sorted(emb, key=cosine.__getitem__)
    labelled = labelled_words(emb, COLOUR, classes=2, per_class=count)
    assert labelled.classes == ("red", "blue")
    assert _members(labelled) == [ranked[::-1][:count], ranked[:count]]


def test_neutral_words_are_near_the_axis_normal_and_in_no_other_class(emb: Embedding) -> None:
    cosine = _cosines(emb)
    near = {word for word in emb if abs(cosine[word]) < 0.03}
    assert len(near) > 10
    first, second, neutral = _members(labelled_words(emb, COLOUR, per_class=10))
    assert len(set(neutral)) == 10
    assert set(neutral) < near
    assert not set(neutral) & {*first, *second}
    two = labelled_words(emb, COLOUR, classes=2, per_class=10)
    assert _members(two) == [first, second]


def test_a_word_of_a_group_is_not_neutral_even_where_the_group_reaches_so_far() -> None:
    """All words are near the normal: ten lean a little to a side, and what is left is neutral."""
    words = WORDS[:42]
    along = np.concatenate([[10.0, -10.0], np.tile([0.01, -0.01], 20)])
    emb = Embedding(words, np.stack([along, np.ones(42)], axis=1))
    labelled = labelled_words(emb, COLOUR, per_class=14)
    assert len(set(labelled.words)) == 3 * 14 == len(words)
    with pytest.raises(WordbiasError, match="15 neutral words needed, but only 12 of the others"):
        labelled_words(emb, COLOUR, per_class=15)


def test_each_word_has_its_row(emb: Embedding) -> None:
    labelled = labelled_words(emb, COLOUR, per_class=10)
    assert [emb.words[row] for row in labelled.rows] == list(labelled.words)
    x = labelled.vectors(emb)
    assert x.dtype == np.float64
    np.testing.assert_array_equal(x, emb.take(labelled.words))
    assert labelled.per_class == 10


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("count", [10, 11, 13])
def test_the_split_covers_every_class_alike(emb: Embedding, classes: int, count: int) -> None:
    labelled = labelled_words(emb, COLOUR, classes=classes, per_class=count)
    parts = (labelled.train, labelled.dev, labelled.test)
    assert sorted(np.concatenate(parts)) == list(range(classes * count))
    np.testing.assert_array_equal(labelled.learned, sorted([*labelled.train, *labelled.dev]))
    for part in parts:
        assert len(set(np.bincount(labelled.labels[part], minlength=classes))) == 1
        assert part.tolist() == sorted(part)


def test_the_papers_numbers() -> None:
    """Three classes of 7,500: 70 % of 70 % to train on are 11,025 words."""
    parts = split(np.repeat(np.arange(3), 7500), np.random.default_rng(0))
    assert [len(part) for part in parts] == [11_025, 4725, 6750]


def test_the_split_is_random_and_so_are_the_neutral_words(emb: Embedding) -> None:
    labelled, repeat, other = (labelled_words(emb, COLOUR, per_class=10, seed=s) for s in (1, 1, 2))
    for name in ("rows", "labels", "train", "dev", "test"):
        np.testing.assert_array_equal(getattr(labelled, name), getattr(repeat, name))
    assert labelled.train.tolist() != other.train.tolist()
    assert set(_members(labelled)[2]) != set(_members(other)[2])
    assert _members(labelled)[:2] == _members(other)[:2]


def test_every_word_of_a_class_can_be_a_test_word() -> None:
    labels = np.repeat([0, 1], 10)
    tested = {int(i) for s in range(50) for i in split(labels, np.random.default_rng(s))[2]}
    assert tested == set(range(20))  # missed by one place with a probability of 20 · 0.7⁵⁰ < 1e-6


def test_by_default_a_twentieth_of_the_candidates() -> None:
    sample = Embedding.sample()
    labelled = labelled_words(sample, Attribute.load())
    plain = [w for w in sample if w.isalpha() and w == w.lower() and len(w) < 20]
    assert labelled.per_class == pytest.approx(len(plain) / 20, rel=0.01)
    assert labelled.classes == ("female", "male", "neutral")
    assert {"she", "woman"} <= set(_members(labelled)[0])  # gendered words stay in
    assert "he" in _members(labelled)[1]


def test_never_more_than_the_papers_number(emb: Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.PER_CLASS == 7500 == module.SHARE * module.CANDIDATES
    assert labelled_words(emb, COLOUR, classes=2).per_class == len(emb) // 20
    monkeypatch.setattr(module, "PER_CLASS", 12)
    assert labelled_words(emb, COLOUR, classes=2).per_class == 12


def test_only_frequent_lower_case_words(emb: Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    """What leans most of all is left out for its spelling or its rank."""
    axis = emb["crimson"] - emb["navy"]
    bad = ["Aa", "a1", "a.b", "a" * 20]
    rows = np.concatenate([[axis] * len(bad), emb.vectors, [axis]])
    more = Embedding([*bad, *WORDS, "zz"], rows)
    monkeypatch.setattr(module, "CANDIDATES", len(bad) + len(WORDS))
    labelled, expected = (labelled_words(e, COLOUR, per_class=10) for e in (more, emb))
    assert labelled.words == expected.words
    monkeypatch.setattr(module, "CANDIDATES", len(more))
    assert labelled_words(more, COLOUR, per_class=10).words[0] == "zz"


def test_words_without_a_vector_are_not_neutral() -> None:
    """A zero vector has no cosine, and is no word of any class."""
    vectors = np.outer(np.tile([1.0, -1.0], 21), [1, 0.1])
    emb = Embedding(WORDS[:42], vectors)
    nobody = "10 neutral words needed, but only 0 of the others"
    with pytest.raises(WordbiasError, match=f"42 candidates: {nobody}"):
        labelled_words(emb, COLOUR, per_class=10)
    vectors[22:] = 0
    with pytest.raises(WordbiasError, match=f"22 candidates: {nobody}"):
        labelled_words(emb.with_vectors(vectors), COLOUR, per_class=10)


def test_chosen_words_are_read_only(emb: Embedding) -> None:
    before = emb.vectors.copy()
    labelled = labelled_words(emb, COLOUR, per_class=10)
    np.testing.assert_array_equal(emb.vectors, before)
    with pytest.raises(ValueError, match="read-only"):
        labelled.labels[0] = 1
    with pytest.raises(FrozenInstanceError):
        labelled.words = ()  # type: ignore[misc]
    mine = np.array(labelled.rows)
    copied = replace(labelled, rows=mine)
    mine[0] = -1
    assert copied.rows[0] >= 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_vector_that_is_not_finite_is_named(emb: Embedding, bad: float) -> None:
    vectors = emb.vectors.copy()
    vectors[7, 2] = bad
    with pytest.raises(WordbiasError, match=f"toy: the vector of '{WORDS[7]}' is not finite"):
        labelled_words(emb.with_vectors(vectors), COLOUR, per_class=10)


def test_an_axis_that_is_not_finite_is_refused(emb: Embedding) -> None:
    vectors = np.concatenate([emb.vectors, [[np.nan] * 6, [1.0] * 6]])
    capital = Embedding([*WORDS, "Red", "Blue"], np.ones(vectors.shape)).with_vectors(vectors)
    other = replace(COLOUR, direction=("Red", "Blue"))
    with pytest.raises(WordbiasError, match=r"the axis of colour, which is .*; give direction"):
        labelled_words(capital, other, per_class=10)


@pytest.mark.parametrize(
    ("attribute", "reason"),
    [
        (replace(COLOUR, direction=None), "the attribute colour has no pairs"),
        (replace(COLOUR, direction=("crimson", "teal")), "toy lacks one of crimson, teal"),
    ],
)
def test_without_an_axis_nothing_can_be_labelled(
    emb: Embedding, attribute: Attribute, reason: str
) -> None:
    with pytest.raises(WordbiasError, match=f"{reason}; give direction = "):
        labelled_words(emb, attribute, per_class=10)


def test_constant_vectors_have_no_axis(emb: Embedding) -> None:
    with pytest.raises(WordbiasError, match="the axis of colour, which is undefined: ‖crimson"):
        labelled_words(emb.with_vectors(np.ones((len(emb), 6))), COLOUR, per_class=10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": 1}, "expected 2 classes, the groups, or 3, .*got 1"),
        ({"classes": 4}, "expected 2 classes, .*; got 4"),
        ({"per_class": 9}, "402 candidates: 9 words a class are too few .* at least 10"),
        ({"per_class": 0}, "0 words a class are too few"),
        ({"per_class": 300}, "300 words a side needed, but only .* take fewer"),
        ({"per_class": 100}, "100 neutral words needed, but only .* take fewer"),
    ],
)
def test_wrong_settings_are_refused(emb: Embedding, options: dict[str, int], message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        labelled_words(emb, COLOUR, **options)


def test_a_small_vocabulary_is_refused_with_a_remedy(emb: Embedding) -> None:
    with pytest.raises(WordbiasError, match=r"100 candidates: 5 words a class .* take fewer"):
        labelled_words(emb.subset(WORDS[:100]), COLOUR)
