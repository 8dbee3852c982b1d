"""OSCaR: the directions it chooses, the words it rotates, the inputs it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import examples

from wordbias import Attribute, Embedding, WordbiasError
from wordbias.methods.fitted import Fitted
from wordbias.methods.oscar import concept_directions, concept_words, fit, nearest_directions
from wordbias.methods.words import listed_words, spellings
from wordbias.wordlists import Templates

Matrix = NDArray[np.float64]
EPS, EPS32 = (float(np.finfo(kind).eps) for kind in (float, np.float32))
SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def fitted(sample: Embedding) -> Fitted:
    return fit(sample)


def test_it_makes_occupations_orthogonal_to_she_he(sample: Embedding, fitted: Fitted) -> None:
    """Written out: centred principal components of occupations, the nearer of two, 90°."""
    before, after = fitted.found
    words = [word for word in Templates.load().occupations if word in sample]
    x = np.array([sample[word].astype(float) for word in words])
    values, vectors = np.linalg.eigh(np.cov(x.T))
    axis = sample["she"].astype(float) - sample["he"]
    cosines = np.abs(vectors[:, ::-1].T[:2] @ axis) / np.linalg.norm(axis)
    assert values[-1] > values[-2]
    assert np.cos(np.radians(before.value)) == pytest.approx(cosines.max(), rel=1e-9)
    assert before.details["component"] == int(cosines.argmax()) + 1
    assert after.value == pytest.approx(90, abs=1e-10)
    assert [row.measure for row in fitted.found] == ["angle", "angle"]
    assert [row.details["stage"] for row in fitted.found] == ["before", "after"]
    for row in fitted.found:
        assert (row.details["n"], row.details["missing"]) == (len(words), 0)
        assert (row.details["neutral"], row.details["better"]) == (90, "neutral")
    json.dumps([row.to_dict() for row in fitted.found])
    assert (fitted.name, fitted.settings) == ("oscar", {"concept": None, "direction": "she-he"})


def test_every_word_is_rotated_and_none_stretched(sample: Embedding, fitted: Fitted) -> None:
    after = fitted(sample)
    x, y = (emb.vectors.astype(float) for emb in (sample, after))
    length = np.linalg.norm(x, axis=1)
    np.testing.assert_allclose(np.linalg.norm(y, axis=1), length, rtol=2 * sample.dim * EPS32)
    assert fitted.reach(sample.words) == (len(sample), 0, 0)
    assert (x != y).any(axis=1).mean() > 0.99
    axis = sample["she"].astype(float) - sample["he"]
    step = fitted.steps[0]
    np.testing.assert_allclose(step(axis), axis, rtol=0, atol=1e-12)


def test_only_the_listed_words_matter_for_the_fit(sample: Embedding, fitted: Fitted) -> None:
    """A file that is streamed is fitted on those words and the concept's only."""
    listed = listed_words(Attribute.load()) | spellings(concept_words())
    part = sample.subset(word for word in sample.words if word in listed)
    refitted, straight = fit(part).steps[0], fitted.steps[0]
    np.testing.assert_array_equal(refitted.v2, straight.v2)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(refitted.v1, straight.v1)  # type: ignore[attr-defined]


@pytest.mark.parametrize("recipe", ["pca", "subspace"])
def test_the_first_direction_is_that_of_the_recipe(sample: Embedding, recipe: str) -> None:
    from wordbias.measures.direction import find_direction

    basis = find_direction(sample, Attribute.load(), recipe).defined().basis
    step = fit(sample, direction=recipe).steps[0]
    cosines = np.abs(basis @ step.v2)  # type: ignore[attr-defined]
    assert (basis[cosines.argmax()] == step.v1).all()  # type: ignore[attr-defined]
    assert np.cos(step.angle) == pytest.approx(cosines.max(), rel=1e-9)  # type: ignore[attr-defined]


@pytest.mark.parametrize("form", ["list", "tuple", "text", "path", "toml"])
def test_a_concept_is_words_or_a_file(sample: Embedding, tmp_path: Path, form: str) -> None:
    words = ["happy", "sad", "Angry", "calm", "unheardofx"]
    lines, toml = tmp_path / "words.txt", tmp_path / "words.toml"
    lines.write_text("\n".join(words))
    toml.write_text(f"words = {json.dumps(words)}")
    given: Any = {
        "list": words,
        "tuple": tuple(words),
        "text": str(lines),
        "path": lines,
        "toml": toml,
    }[form]
    got = fit(sample, concept=given)
    assert concept_words(given) == tuple(words)
    assert (got.found[0].details["n"], got.found[0].details["missing"]) == (4, 1)
    setting = words if form in ("list", "tuple") else str(given)
    assert json.loads(json.dumps(dict(got.settings)))["concept"] == setting
    np.testing.assert_array_equal(got.steps[0].v2, fit(sample, concept=words).steps[0].v2)  # type: ignore[attr-defined]


def test_of_two_directions_the_nearer_is_taken_and_turned_to_the_same_side() -> None:
    first = np.array([[1.0, 0, 0]])
    second = np.array([[0.1, 0.9, 0], [-0.6, 0, 0.8]])
    chosen = nearest_directions(first, second)
    assert chosen.component == 2
    np.testing.assert_array_equal(chosen.v1, first[0])
    np.testing.assert_array_equal(chosen.v2, -second[1])
    chosen = nearest_directions(np.array([[0, 1.0, 0], [1.0, 0, 0]]), second)
    assert (chosen.component, chosen.v1.tolist()) == (1, [0, 1, 0])


@settings(max_examples=examples(40), deadline=None)
@given(SEEDS, st.integers(3, 12), st.integers(2, 6))
def test_directions_of_a_concept_are_the_axes_of_its_variance(seed: int, n: int, d: int) -> None:
    x = np.random.default_rng(seed).normal(size=(n, d)) + 5
    got = concept_directions(x)
    values = np.linalg.eigvalsh(np.cov(x.T, bias=True))[::-1][:2]
    assume(values[-1] > 1e-6 * values[0])
    assert len(got) == 2
    np.testing.assert_allclose(np.var(x @ got.T, axis=0), values, rtol=1e-9)


def test_a_concept_along_a_line_has_one_direction() -> None:
    line = np.outer(np.arange(5.0), [3, 4]) + 7
    np.testing.assert_allclose(np.abs(concept_directions(line)), [[0.6, 0.8]], atol=1e-12)


def test_a_concept_whose_words_are_alike_is_refused(sample: Embedding) -> None:
    vectors = sample.vectors.copy()
    rows = [sample.index[word] for word in ("nurse", "doctor", "lawyer")]
    vectors[rows] = vectors[rows[0]]
    with pytest.raises(WordbiasError, match="all 3 words of the concept are equal; give other"):
        fit(sample.with_vectors(vectors), concept=["nurse", "doctor", "lawyer"])


@pytest.mark.parametrize("concept", [[], ["nurse"], ["nurse", "doctor", "qqqx"]])
def test_too_few_words_of_a_concept_are_refused(sample: Embedding, concept: list[str]) -> None:
    message = r"concept: \d of \d words found \(at least 3 needed\).*oscar:concept=FILE"
    with pytest.raises(WordbiasError, match=message):
        fit(sample, concept=concept)


def test_a_concept_that_is_no_file_is_refused(sample: Embedding) -> None:
    with pytest.raises(WordbiasError, match=r"nowhere\.txt: no such file"):
        fit(sample, concept="nowhere.txt")


def test_a_concept_that_is_orthogonal_already_is_refused() -> None:
    words = ["she", "he", "a", "b", "c", "d"]
    vectors = [[1, 0, 0], [-1, 0, 0], [2, 1, 0], [2, -1, 0], [2, 0, 3], [2, 0, -3]]
    about = Attribute("gender", ("f", "m"), (("she",), ("he",)), direction=("she", "he"))
    message = "tiny: gender and the concept: the directions are orthogonal already"
    with pytest.raises(WordbiasError, match=message):
        fit(Embedding(words, vectors, "tiny"), about, concept=["a", "b", "c", "d"])


@pytest.mark.parametrize(
    ("direction", "message"), [(None, "has no pairs"), (("qqqx", "he"), "lacks one of qqqx, he")]
)
def test_an_attribute_without_an_axis_is_refused(
    sample: Embedding, gender: Attribute, direction: Any, message: str
) -> None:
    with pytest.raises(WordbiasError, match=message):
        fit(sample, replace(gender, direction=direction))


@pytest.mark.parametrize("word", ["she", "nurse"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_word_that_is_not_finite_is_named(sample: Embedding, word: str, value: float) -> None:
    vectors = sample.vectors.copy()
    vectors[sample.index[word], 7] = value
    with pytest.raises(WordbiasError, match=f"the vector of '{word}' is not finite"):
        fit(sample.with_vectors(vectors))


def test_anything_but_an_embedding_is_refused() -> None:
    with pytest.raises(WordbiasError, match="expected an Embedding, got list"):
        fit([])  # type: ignore[arg-type]
