"""Hard debiasing against its definition, written out word by word, and against its theorems."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.decomposition import PCA

import wordbias as wb
from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods import hard, multi_hard
from wordbias.methods.hard import cased, equalise
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, WordSets

Matrix = NDArray[np.float64]
EPS32 = float(np.finfo(np.float32).eps)
FORMS = (str.lower, str.title, str.upper)


def _drop(u: Matrix, g: Matrix) -> Matrix:
    return u - (u @ g) * g / (g @ g)


def _as_defined(
    embedding: Embedding, attribute: Attribute, listed: set[str] | None = None
) -> tuple[dict[str, Matrix], Matrix]:
    """Bolukbasi et al. (2016), step by step, one word at a time, in float64."""
    w = {word: embedding[word].astype(float) for word in embedding.words}
    w = {word: x / np.linalg.norm(x) for word, x in w.items()}
    centred = []
    for a, b in attribute.pairs:
        if a in w and b in w:
            centre = (w[a] + w[b]) / 2
            centred += [w[a] - centre, w[b] - centre]
    g = PCA(1).fit(np.array(centred)).components_[0]
    if listed is None:
        forms = (*FORMS, str.capitalize, str)
        listed = {form(word) for word in attribute.specific for form in forms}
    for word in w:
        if word not in listed:
            x = _drop(w[word], g)
            w[word] = x / np.linalg.norm(x)
    done = set()
    for pair in attribute.equalise:
        for form in FORMS:
            a, b = map(form, pair)
            if a not in w or b not in w or (a, b) in done:
                continue
            done.add((a, b))
            y = _drop((w[a] + w[b]) / 2, g)
            z = np.sqrt(1 - y @ y)
            if (w[a] - w[b]) @ g < 0:
                z = -z
            w[a], w[b] = z * g + y, -z * g + y
    return {word: x / np.linalg.norm(x) for word, x in w.items()}, g


def _bolukbasi(shared_data: Path, embedding: Embedding) -> Attribute:
    """The published lists; of their pairs those that are spelled so (Mary and John are names)."""
    read = {
        path.stem: json.loads(path.read_text())
        for path in (shared_data / "bolukbasi").glob("*.json")
    }
    return replace(
        Attribute.load(),
        pairs=tuple(
            (a, b) for a, b in read["definitional_pairs"] if a in embedding and b in embedding
        ),
        equalise=tuple(map(tuple, read["equalize_pairs"])),
        specific=frozenset(read["gender_specific_full"]),
    )


def _agree(embedding: Embedding, attribute: Attribute, as_published: bool = False) -> None:
    listed = set(attribute.specific) if as_published else None
    expected, g = _as_defined(embedding, attribute, listed)
    fitted = hard.fit(embedding, attribute, as_published=as_published)
    got = fitted(embedding)
    own = fitted.steps[0].subspace.basis[0]
    assert abs(own @ g) > 1 - 1e-9
    apart = np.abs(got.vectors - np.array([expected[word] for word in got.words])).max()
    assert apart < 1e-5
    assert len(fitted.replaced) > 20
    assert fitted.reach(embedding.words).outside > 100


def test_it_is_its_definition_on_the_sample(sample: Embedding, gender: Attribute) -> None:
    _agree(sample, gender)


@pytest.mark.parametrize("as_published", [False, True])
def test_it_is_its_definition_with_the_published_lists(
    sample: Embedding, shared_data: Path, as_published: bool
) -> None:
    _agree(sample, _bolukbasi(shared_data, sample), as_published)


@pytest.mark.parametrize("as_published", [False, True])
def test_it_is_its_definition_on_google_news(shared_data: Path, as_published: bool) -> None:
    path = os.environ.get("WORDBIAS_GOOGLE_NEWS")
    if not path:
        pytest.skip("set WORDBIAS_GOOGLE_NEWS to GoogleNews-vectors-negative300-bolukbasi.bin")
    embedding = wb.load(path)
    _agree(embedding, _bolukbasi(shared_data, embedding), as_published)


def test_neutral_words_have_nothing_along_g_and_length_one(
    sample: Embedding, gender: Attribute
) -> None:
    fitted = hard.fit(sample, gender)
    after = fitted(sample)
    neutral = [w for w in sample.words if w not in fitted.exempt and w not in fitted.replaced.index]
    x = after.take(neutral).astype(float)
    bound = 4 * sample.dim * EPS32
    assert np.abs(x @ fitted.steps[0].subspace.basis[0]).max() < bound
    assert np.abs(np.linalg.norm(x, axis=1) - 1).max() < bound


def test_pairs_are_equally_far_from_every_neutral_word(
    sample: Embedding, gender: Attribute
) -> None:
    fitted = hard.fit(sample, gender)
    after = fitted(sample)
    neutral = [w for w in sample.words if w not in fitted.exempt and w not in fitted.replaced.index]
    n = after.take(neutral[:3000]).astype(float)
    for a, b in cased(gender.equalise, sample):
        gap = n @ (after[a].astype(float) - after[b].astype(float))
        assert np.abs(gap).max() < 8 * sample.dim * EPS32, (a, b)


def test_words_that_are_not_debiased_only_change_their_length(
    sample: Embedding, gender: Attribute
) -> None:
    fitted = hard.fit(sample, gender)
    after = fitted(sample)
    alone = [w for w in sample.words if w in fitted.exempt and w not in fitted.replaced.index]
    x, y = (e.take(alone).astype(float) for e in (sample, after))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    assert np.abs(x - y).max() < 4 * EPS32
    reach = fitted.reach(sample.words)
    assert reach.outside == len(alone)
    assert sum(reach) == len(sample)


def test_other_capitals_of_a_specific_word_are_exempt_too() -> None:
    rng = np.random.default_rng(0)
    words = ["she", "he", "Mother", "MOTHER", "mother", "table"]
    embedding = Embedding(words, rng.normal(size=(6, 5)))
    attribute = Attribute(
        "g", ("f", "m"), (("she",), ("he",)), (("she", "he"),), specific=frozenset({"mother"})
    )
    reach = hard.fit(embedding, attribute).reach(words)
    assert reach == (1, 2, 3)  # she and he, the only pair, stand in for a list to equalise


OWN = """
name = "gender"
specific = ["she", "he", "nun", "mother", "father"]
[groups]
female = ["mary", "susan"]
male = ["john", "peter"]
[pairs]
definitional = [["she", "he"], ["mary", "john"]]
equalise = [["nun", "priest"], ["mother", "father"]]
"""
"""Mary and John define the direction and priest is equalised, though neither is listed."""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "own.toml").write_text(OWN, encoding="utf-8")
    return tmp_path / "own.toml"


@pytest.fixture
def capitals(sample: Embedding) -> Embedding:
    """Words of the sample and, with vectors of other words, Mother and JOHN."""
    words = ["she", "he", "mary", "john", "susan", "nun", "priest", "mother", "father", "table"]
    return Embedding([*words, "Mother", "JOHN"], sample.take([*words, "chair", "door"]))


@pytest.mark.parametrize("as_published", [False, True])
def test_words_of_pairs_outside_the_list_keep_their_gender_but_not_as_published(
    capitals: Embedding, own: Path, as_published: bool
) -> None:
    attribute = Attribute.load(own)
    listed = {"she", "he", "nun", "mother", "father"}
    exempt = listed if as_published else None
    expected, g = _as_defined(capitals, attribute, exempt)
    fitted = hard.fit(capitals, attribute, as_published=as_published)
    after = fitted(capitals)
    apart = np.abs(after.vectors - np.array([expected[word] for word in after.words])).max()
    assert apart < 1e-5
    along = {word: abs(float(after[word] @ g)) for word in capitals.words}
    lost = {word for word in along if along[word] < 1e-5}
    pairs = {"mary", "john", "JOHN", "Mother"}
    assert lost == {"susan", "table", *(pairs if as_published else ())}
    assert along["priest"] > 0.05  # equalised after it was neutralised


def test_as_published_the_command_and_the_library_agree(
    cli: Callable[..., Any], capitals: Embedding, own: Path, tmp_path: Path
) -> None:
    capitals.save(tmp_path / "in.txt")
    given = ("--groups", own, "-o", tmp_path / "out.txt")
    assert cli("debias", "hard:as-published", tmp_path / "in.txt", *given).code == 0
    fitted = hard.fit(capitals, Attribute.load(own), as_published=True)
    got = wb.load(tmp_path / "out.txt")
    np.testing.assert_allclose(got.vectors, fitted(capitals).vectors, rtol=0, atol=1e-6)


def test_help_says_which_words_are_kept(cli: Callable[..., Any]) -> None:
    help_text = " ".join(cli("debias", "--help", "hard").out.split())
    assert "Words of the pairs are left out like specific words, even if they are not" in help_text
    assert "Every vector but those of specific words loses its component along" in help_text
    assert (
        "as-published (yes or no) [default: no] Exempt only listed words, as they are" in help_text
    )


def test_as_published_a_list_is_needed(sample: Embedding, own: Path) -> None:
    text = "\n".join(line for line in OWN.splitlines() if not line.startswith("specific"))
    own.write_text(text, encoding="utf-8")
    for attribute in (Attribute.load(own), Attribute.load("gender-de")):
        with pytest.raises(WordbiasError, match="lists no word of its definitional pairs as spec"):
            hard.fit(sample, attribute, as_published=True)
    hard.fit(sample, Attribute.load(own))


@pytest.mark.parametrize("name", ["gender", "gender-de", "age"])
def test_the_words_of_built_in_pairs_are_kept(name: str) -> None:
    attribute = Attribute.load(name)
    words = {word for pair in (*attribute.pairs, *attribute.equalise) for word in pair}
    assert words <= attribute.specific
    assert attribute.unlisted <= words


def test_the_order_of_the_list_decides(sample: Embedding, gender: Attribute) -> None:
    both = replace(gender, equalise=(("girl", "boy"), ("girl", "man")))
    other = replace(gender, equalise=(("girl", "man"), ("girl", "boy")))
    first, second = (hard.fit(sample, attribute) for attribute in (both, other))
    same = hard.fit(sample, both)
    assert "in several sets to be equalised: 1 word (" in first.warnings[0]
    np.testing.assert_array_equal(first.replaced.vectors, same.replaced.vectors)
    assert not np.allclose(
        first.replaced.vectors[first.replaced.index["girl"]],
        second.replaced.vectors[second.replaced.index["girl"]],
    )


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 5), k=st.integers(1, 3))
def test_an_equalised_set_differs_inside_the_subspace_only(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 8))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    g = Subspace(np.linalg.qr(rng.normal(size=(8, k)))[0].T, np.ones(k))
    out = equalise(x, g)
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1, atol=1e-12)
    outside = g.remove(out, hard=True)
    np.testing.assert_allclose(outside, np.broadcast_to(outside[0], outside.shape), atol=1e-12)
    neutral = g.remove(rng.normal(size=(20, 8)), hard=True)
    far = np.linalg.norm(neutral[:, None] - out, axis=2)
    np.testing.assert_allclose(far, np.broadcast_to(far[:, :1], far.shape), atol=1e-12)


def test_a_set_that_does_not_differ_is_not_changed_and_named() -> None:
    words = ["she", "he", "a", "b", "c"]
    x = np.array([[1, 1, 0], [-1, 1, 0], [0, 1, 1], [0, 1, 2], [1, 2, 3]], float)
    attribute = Attribute(
        "g", ("f", "m"), (("she",), ("he",)), (("she", "he"),), equalise=(("a", "b"),)
    )
    fitted = hard.fit(Embedding(words, x), attribute)
    assert "not equalised: 1 set whose" in fitted.warnings[0]
    assert "a/b" in fitted.warnings[0]


def test_without_equalising_nothing_is_replaced(sample: Embedding) -> None:
    assert len(hard.fit(sample, equalise=False).replaced) == 0


def test_hard_says_which_words_it_needs() -> None:
    embedding = Embedding(["x", "y"], [[1.0, 0], [0, 1]])
    with pytest.raises(WordbiasError, match="none of the words that define the direction"):
        hard.fit(embedding)
    with pytest.raises(WordbiasError, match="expected an Embedding, got ndarray"):
        hard.fit(np.eye(3))  # type: ignore[arg-type]


def test_equal_vectors_have_no_direction(gender: Attribute) -> None:
    words = ["she", "he", "woman", "man", "table"]
    with pytest.raises(WordbiasError, match="differ by 0"):
        hard.fit(Embedding(words, np.ones((5, 4))), gender)


def test_two_groups_are_several_groups(sample: Embedding, gender: Attribute) -> None:
    fitted = hard.fit(sample, gender)
    other = multi_hard.fit(sample, gender)
    cos = fitted.steps[0].subspace.basis[0] @ other.steps[0].subspace.basis[0]
    assert cos > 1 - 1e-9
    bound = 16 * sample.dim * EPS32
    np.testing.assert_allclose(fitted(sample).vectors, other(sample).vectors, atol=bound)


def test_three_religions_end_up_equally_far(sample: Embedding) -> None:
    sets = WordSets.load()
    fitted = multi_hard.fit(sample)
    after = fitted(sample)
    g = fitted.steps[0].subspace
    assert g.dims == 2
    neutral = [w for w in sample.words if w not in fitted.exempt and w not in fitted.replaced.index]
    x = after.take(neutral).astype(float)
    assert np.abs(g.coordinates(x)).max() < 4 * sample.dim * EPS32
    chosen = cased(sets.equalise, sample)
    assert len(chosen) == 8
    for words in chosen:
        inner = x[:2000] @ after.take(words).astype(float).T
        assert np.ptp(inner, axis=1).max() < 8 * sample.dim * EPS32, words


def test_several_groups_name_the_missing_words() -> None:
    embedding = Embedding(["church", "mosque"], [[1.0, 0], [0, 1]])
    with pytest.raises(WordbiasError, match="0 of 8 definitional sets of religion found whole"):
        multi_hard.fit(embedding)


def test_more_components_than_groups_can_differ_in(sample: Embedding) -> None:
    sets = WordSets("one", (("church", "mosque", "synagogue"),))
    with pytest.raises(
        WordbiasError, match="3 components cannot be fitted: 1 sets of words span 2"
    ):
        multi_hard.fit(sample, sets=sets, dims=3)
