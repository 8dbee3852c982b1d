"""To which group single words lean, and of which words that is claimed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wordbias import Attribute, Embedding, debias
from wordbias.errors import WordbiasError
from wordbias.measures.lean import Lean, leaning_words, word_rows
from wordbias.measures.panel import Panel, make_panels
from wordbias.wordlists import resolve_groups, resolve_pairs

Matrix = NDArray[np.float64]


@pytest.fixture(scope="module")
def whole() -> Panel:
    (sample_panel,) = make_panels([Embedding.sample()], None, Attribute.load())
    return sample_panel


@pytest.fixture(scope="module")
def panel(whole: Panel) -> Panel:
    """The same with fewer neutral words."""
    return replace(whole, vocabulary=whole.vocabulary[:1500])


def _unit(vectors: Any) -> Matrix:
    x = np.asarray(vectors, float)
    units: Matrix = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return units


def _axis(emb: Embedding, pairs: Any) -> Matrix:
    """Return the first component of pairs, by an eigenvector of their differences' products."""
    halves = np.array([(emb[a].astype(float) - emb[b]) / 2 for a, b in pairs])
    g = halves.T @ np.linalg.eigh(halves @ halves.T)[1][:, -1]
    return g / np.linalg.norm(g) * np.sign(g @ halves.mean(0))


def _lean(rows: Any) -> dict[str, Any]:
    return {row.details["word"]: row for row in rows if row.measure == "lean"}


def test_a_lean_is_the_coordinate_along_the_pairs_less_its_mean(panel: Panel) -> None:
    emb, words = panel.embedding, ["she", "he", "nurse", "doctor"]
    g = _axis(emb, panel.attribute.pairs)
    neutral = _unit(panel.vectors) @ g
    low, high = np.quantile(neutral - neutral.mean(), [0.025, 0.975])
    for word, row in _lean(word_rows(panel, words)).items():
        assert row.value == pytest.approx(_unit(emb[word]) @ g - neutral.mean(), abs=1e-6)
        assert row.details["middle"] == pytest.approx([low, high], abs=1e-6)
        assert row.details["lists_low"] < row.value < row.details["lists_high"]
        assert row.details["setting"] == "pca of definitional pairs"
        assert ("towards" in row.details) == (not low <= row.value <= high)


def test_the_interval_is_over_redrawn_pairs(panel: Panel) -> None:
    """Its width is that of as many redraws by other random numbers, within a fifth."""
    emb, pairs = panel.embedding, panel.attribute.pairs
    rng = np.random.default_rng(1)
    mean = _unit(panel.vectors).mean(0)
    drawn = [
        (_unit(emb["nurse"]) - mean) @ _axis(emb, [pairs[i] for i in rng.integers(10, size=10)])
        for _ in range(2000)
    ]
    low, high = np.quantile(drawn, [0.025, 0.975])
    (row,) = _lean(word_rows(panel, ["nurse"])).values()
    width = row.details["lists_high"] - row.details["lists_low"]
    assert width == pytest.approx(high - low, rel=0.2)


@pytest.mark.slow
def test_words_that_people_call_gendered_are_told_or_said_not_to_be(whole: Panel) -> None:
    """Of the words of 64 pairs none is told wrong; each definitional pair is off its own axis."""
    panel = whole
    attribute, emb = panel.attribute, panel.embedding
    lean_told = word_rows(panel, ["nurse"])[-1]
    assert lean_told.measure == "lean-told"
    assert (lean_told.details["n"], lean_told.details["wrong"]) == (128, [])
    assert lean_told.value == 1 - len(lean_told.details["missing"]) / 128
    others = [pair for pair in attribute.pairs if pair[0] != "she"]
    g = _axis(emb, others)
    neutral = _unit(panel.vectors) @ g
    low, high = np.quantile(neutral - neutral.mean(), [0.025, 0.975])
    for word in ("she", "he"):
        value = _unit(emb[word]) @ g - neutral.mean()
        assert (word in lean_told.details["missing"]) == (low <= value <= high)
    pairs = resolve_pairs(attribute.equalise, emb).found
    leans = {word: row.value for word, row in _lean(word_rows(panel, sum(pairs, ()))).items()}
    assert np.mean([leans[a] > leans[b] for a, b in pairs]) >= 0.95


def test_all_columns_have_the_axis_and_the_band_of_the_original(panel: Panel) -> None:
    """What is left after debiasing is not called a lean because little is left of all words."""
    emb = panel.embedding
    done = debias(emb, "hard")
    cleaned = replace(panel, embedding=done, original=emb)
    words = ["nurse", "lawyer", "woman"]
    before, after = (_lean(word_rows(version, words)) for version in (panel, cleaned))
    assert before["nurse"].details["towards"] == "female"
    assert "towards" not in after["nurse"].details
    assert "towards" not in after["lawyer"].details
    g = _axis(emb, panel.attribute.pairs)
    mean = (_unit(done.take(panel.vocabulary)) @ g).mean()
    for word in words:
        assert after[word].details["middle"] == before[word].details["middle"]
        assert after[word].value == pytest.approx(_unit(done[word]) @ g - mean, abs=1e-6)


def test_the_length_of_vectors_does_not_matter(panel: Panel) -> None:
    emb = panel.embedding
    longer = replace(panel, embedding=emb.with_vectors(emb.vectors * 4), original=emb)
    plain, other = (_lean(word_rows(each, ["nurse"]))["nurse"] for each in (panel, longer))
    assert other.value == pytest.approx(plain.value, rel=1e-6)


def test_of_the_neutral_words_one_in_twenty_is_claimed(panel: Panel) -> None:
    rows = _lean(word_rows(panel, panel.vocabulary)).values()
    outside = [
        not row.details["middle"][0] <= row.value <= row.details["middle"][1] for row in rows
    ]
    assert np.mean(outside) == pytest.approx(0.05, abs=1e-3)
    assert np.mean(["towards" in row.details for row in rows]) == pytest.approx(0.05, abs=1e-2)


@pytest.fixture(scope="module")
def projected(panel: Panel) -> Panel:
    """The same with all neutral words projected off the axis."""
    emb, g = panel.embedding, _axis(panel.embedding, panel.attribute.pairs)
    vectors, rows = emb.vectors.copy(), emb.rows(panel.vocabulary)[0]
    x = vectors[rows].astype(float)
    vectors[rows] = x - np.outer(x @ g, g)
    after = emb.with_vectors(vectors)
    return replace(panel, embedding=after, original=after)


def test_after_a_projection_of_the_neutral_words_their_lean_is_undefined(projected: Panel) -> None:
    """Its sign would change with every rotation of the embedding, and with it the claims."""
    rows = _lean(word_rows(projected, [*projected.vocabulary, "she", "he"]))
    of_pairs = [rows.pop(word) for word in ("she", "he")]
    reason = "undefined: neutral words do not lean by more than rounding"
    assert {(row.value, row.details["reason"]) for row in rows.values()} == {(None, reason)}
    assert not any({"towards", "lists_low"} & row.details.keys() for row in rows.values())
    assert [row.details["towards"] for row in of_pairs] == ["female", "male"]
    assert [row.value > 0.1 for row in of_pairs] == [True, False]


def test_no_side_is_claimed_of_rounding_next_to_a_range_without_it() -> None:
    lean = Lean(np.ones(1), "axis", np.ones((0, 1)), 1e-3, 2e-3)
    assert [lean.side(value, {}) for value in (1e-6, -1e-6, 1e-4)] == [None, None, 1]
    assert lean.reason(1e-8) is None


def test_after_a_projection_of_the_neutral_words_none_leans_most(projected: Panel) -> None:
    with pytest.raises(WordbiasError, match="only 0 and 0 words lean to the groups"):
        leaning_words(projected, 1)


def test_a_word_is_not_told_by_an_axis_that_hangs_on_the_pairs(panel: Panel) -> None:
    age = replace(panel, attribute=Attribute.load("age"))
    (row,) = _lean(word_rows(age, ["young"])).values()
    assert row.value > row.details["middle"][1]
    assert row.details["lists_low"] < 0
    assert "towards" not in row.details


def test_groups_without_pairs_have_the_difference_of_their_means(panel: Panel) -> None:
    bare = replace(panel.attribute, pairs=(), equalise=(), direction=None)
    first, second = (
        panel.embedding.take(resolved.found).astype(float).mean(0)
        for resolved in resolve_groups(bare, panel.embedding)
    )
    g = _unit(first - second)
    rows = word_rows(replace(panel, attribute=bare), ["nurse"])
    row = _lean(rows)["nurse"]
    expected = _unit(panel.embedding["nurse"]) @ g - (_unit(panel.vectors) @ g).mean()
    assert row.value == pytest.approx(expected, abs=1e-6)
    assert row.details["setting"] == "mean female−mean male"
    assert "lists_low" not in row.details
    assert {row.measure for row in rows} == {"lean", "midb", "direct-bias"}


def test_the_words_that_lean_most_are_those_of_the_largest_lean(panel: Panel) -> None:
    words = leaning_words(panel, 3)
    values = [row.value for row in _lean(word_rows(panel, panel.vocabulary)).values()]
    order = np.argsort(values)
    assert words[:3] == [panel.vocabulary[i] for i in order[::-1][:3]]
    assert words[3:] == [panel.vocabulary[i] for i in order[:3]]
