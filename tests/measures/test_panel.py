"""What several embeddings have in common, and what a row says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wordbias import Attribute, Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.lean import leaning_words
from wordbias.measures.panel import Panel, make_panels

PAIR = ("she", "he")
GENDER = Attribute(
    "gender", ("f", "m"), ((), ()), (PAIR,), direction=PAIR, specific=frozenset({"she", "he"})
)


def _embedding(words: str, name: str = "one", seed: int = 0) -> Embedding:
    listed = words.split()
    return Embedding(listed, np.random.default_rng(seed).normal(size=(len(listed), 4)), name)


@pytest.fixture
def three() -> list[Embedding]:
    return [
        _embedding("he a b c she d e f", "one"),
        _embedding("f e d c b a she he", "two", 1),
        _embedding("she x d b a c he", "three", 2),
    ]


def test_the_vocabulary_is_what_all_have_in_the_order_of_the_first(three: Any) -> None:
    for panel in make_panels(three, None, GENDER):
        assert list(panel.vocabulary) == ["a", "b", "c", "d"]
    reordered = make_panels(three[1:], None, GENDER)
    assert list(reordered[0].vocabulary) == ["d", "c", "b", "a"]


def test_the_original_must_have_the_words_as_well(three: Any) -> None:
    panels = make_panels(three[:2], _embedding("b she e he a", "before"), GENDER)
    assert [list(panel.vocabulary) for panel in panels] == [["a", "b", "e"]] * 2
    assert {panel.original.name for panel in panels} == {"before"}


def test_vectors_are_of_the_vocabulary_row_by_row(three: Any) -> None:
    original = _embedding("b she e he a", "before", 9)
    for panel in make_panels(three[:2], original, GENDER):
        for i, word in enumerate(panel.vocabulary):
            np.testing.assert_array_equal(panel.vectors[i], panel.embedding[word])
            np.testing.assert_array_equal(panel.original_vectors[i], original[word])


def test_only_frequent_words_of_the_common_vocabulary_count(
    three: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first 50,000 are counted after the intersection, as the paper has it."""
    from wordbias import vocabulary

    monkeypatch.setattr(
        vocabulary.neutral_vocabulary, "__kwdefaults__", {"size": 5, "strict": False}
    )
    panels = make_panels(three, None, GENDER)
    assert list(panels[0].vocabulary) == ["a", "b", "c"]  # of he a b c she | d


def test_given_words_are_those_that_all_have(three: Any) -> None:
    panels = make_panels(three, None, GENDER, ["D", "nowhere", "f", "she", "a"])
    assert [list(panel.vocabulary) for panel in panels] == [["d", "she", "a"]] * 3


def test_too_few_common_words_are_refused(three: Any) -> None:
    other = _embedding("she he a z", "other")
    with pytest.raises(WordbiasError, match=r"one, other: 1 neutral words .* of 3 common words"):
        make_panels([three[0], other], None, GENDER)
    with pytest.raises(WordbiasError, match="one, other: vocabulary: 1 of 2 words found"):
        make_panels([three[0], other], None, GENDER, ["a", "b"])


def test_two_embeddings_of_one_name_are_refused(three: Any) -> None:
    with pytest.raises(WordbiasError, match="two embeddings are called 'one'; rename"):
        make_panels([three[0], three[1], three[0]], None, GENDER)


def test_an_embedding_without_an_original_is_its_own(three: Any) -> None:
    for panel in make_panels(three, None, GENDER):
        assert panel.is_own
        assert panel.against() == {"original": "self", "direction": "she−he"}
        assert panel.original_vectors is panel.vectors
    (panel,) = make_panels(three[:1], three[1], GENDER)
    assert not panel.is_own
    assert panel.against()["original"] == "two"


def test_the_settings_reach_every_panel(three: Any) -> None:
    panels = make_panels(three, None, GENDER, recipe="pca", dims=2, centre=False, seed=3)
    assert {(p.recipe, p.dims, p.centre, p.seed) for p in panels} == {("pca", 2, False, 3)}
    assert {panel.against()["direction"] for panel in panels} == {"pca of definitional pairs"}


def test_each_direction_is_of_its_own_embedding(three: Any) -> None:
    (panel,) = make_panels(three[:1], three[1], GENDER)
    for direction, emb in (
        (panel.own_direction, three[0]),
        (panel.original_direction, three[1]),
    ):
        delta = emb["she"].astype(float) - emb["he"]
        np.testing.assert_array_equal(direction.defined().basis[0], delta / np.linalg.norm(delta))


def test_extremes_lean_most_the_first_group_first() -> None:
    words = ["she", "he", "a", "b", "c", "d", "e"]
    x = [[1, 0], [-1, 0], [1, 1], [-1, 3], [3, 1], [-1, 1], [0, 1]]
    emb = Embedding(words, x)
    panel = Panel(emb, emb, words[2:], GENDER)
    assert leaning_words(panel, 1) == ["c", "d"]
    assert leaning_words(panel, 2) == ["c", "a", "d", "b"]
    with pytest.raises(WordbiasError, match="3 words a side needed, but only 2 and 3"):
        leaning_words(panel, 3)


def test_extremes_without_a_direction_are_refused() -> None:
    emb = Embedding(["she", "he", "a"], [[1, 0], [1, 0.01], [1, 1]])
    with pytest.raises(WordbiasError, match="definitional pairs differ by"):
        leaning_words(Panel(emb, emb, ["a"], GENDER), 1)


def test_a_generator_starts_anew_each_time(three: Any) -> None:
    panel = Panel(three[0], three[0], ["a"], GENDER, seed=4)
    assert panel.rng().integers(2**62) == panel.rng().integers(2**62)
    other = Panel(three[0], three[0], ["a"], GENDER, seed=5)
    assert panel.rng().integers(2**62) != other.rng().integers(2**62)


def test_a_row_leaves_out_what_it_does_not_know(three: Any) -> None:
    panel = Panel(three[0], three[0], ["a"], GENDER)
    row = panel.row("midb", 0.5, low=None, n=0)
    assert row.to_dict() == {"subject": "one", "measure": "midb", "value": 0.5, "n": 0}
    (undefined,) = panel.undefined(["gipe"], "undefined: no", k=3)
    assert undefined.to_dict() == {
        "subject": "one",
        "measure": "gipe",
        "value": None,
        "reason": "undefined: no",
        "k": 3,
    }
