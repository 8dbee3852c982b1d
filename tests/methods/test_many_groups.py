"""Debiasing along attributes other than gender, and over more than two groups."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods import classes, inlp, leace, misp, multi_hard
from wordbias.methods.classes import default_classes, labelled_words, leans, most_leaning
from wordbias.methods.fitted import Chain
from wordbias.methods.linear_classifiers import LinearSvm
from wordbias.methods.methods import fit_chain
from wordbias.methods.misp import group_vectors
from wordbias.methods.settings import METHODS
from wordbias.methods.storage import Origin, load_chain, save_chain
from wordbias.methods.words import as_attribute, listed_words
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, WordGroups, WordSets, load_attribute, resolve

TAKES_ALL = ("misp", "mhd", "multi-hard", "inlp", "leace", "conceptor")
EPS32 = float(np.finfo(np.float32).eps)


@cache
def sample() -> Embedding:
    return Embedding.sample()


@cache
def religion() -> WordGroups:
    return WordGroups.load("religion")


def _means(embedding: Embedding, groups: Any) -> np.ndarray:
    return np.stack([x.mean(0, np.float64) for x in group_vectors(embedding, groups)])


def _off(means: np.ndarray) -> float:
    return float(np.linalg.norm(means - means.mean(0), axis=1).max())


@pytest.mark.parametrize("name", ["religion", "ethnicity"])
def test_mhd_makes_the_means_of_all_groups_equal(name: str) -> None:
    groups = WordGroups.load(name)
    chain, done = fit_chain("mhd", sample(), groups)
    assert chain.parts[0].settings["dims"] == len(groups.groups) - 1
    assert _off(_means(done, groups)) < 100 * EPS32 * _off(_means(sample(), groups))


def test_misp_takes_from_each_direction_its_share() -> None:
    chain, done = fit_chain("misp", sample(), religion())
    g = Subspace.from_means(group_vectors(sample(), religion()))
    before, after = (g.coordinates(_means(e, religion())) for e in (sample(), done))
    np.testing.assert_allclose(after, before * (1 - g.weights), atol=1e-5)
    rows = chain.parts[0].found
    assert [row.measure for row in rows] == ["variance-between-means"] * 4
    np.testing.assert_allclose([row.value for row in rows], g.weights)
    assert {"jewish", "hindu"} <= rows[0].details.keys()
    assert "centre" not in chain.parts[0].settings


def test_there_may_be_fewer_components_but_not_more() -> None:
    fitted = misp.fit(sample(), religion(), dims=2)
    assert fitted.subspace.dims == 2
    with pytest.raises(WordbiasError, match=r"5 components cannot .* 5 groups span 4 of 100"):
        misp.fit(sample(), religion(), dims=5)


@pytest.mark.parametrize("key", ["centre", "as-published"])
def test_centring_has_no_meaning_for_means_and_is_refused(key: str) -> None:
    with pytest.raises(WordbiasError, match=f"misp: {key} is of two groups"):
        fit_chain(f"misp:{key}", sample(), religion())


@pytest.mark.slow
def test_two_groups_give_the_result_of_an_attribute() -> None:
    two = WordGroups.load("religion:christian,muslim")
    attribute = Attribute.load("religion:christian,muslim")
    for name in ("misp", "mhd", "inlp"):
        ours, theirs = (fit_chain(name, sample(), groups)[1] for groups in (two, attribute))
        np.testing.assert_array_equal(ours.vectors, theirs.vectors)


def test_few_words_of_a_group_are_a_warning() -> None:
    fitted = fit_chain("misp", sample(), religion())[0].parts[0]
    assert any("group hindu: only 6 of 17 words found" in warning for warning in fitted.warnings)


def test_leaning_is_the_cosine_with_the_difference_of_means() -> None:
    x = sample().take(["mosque", "church", "table"])
    cosines = leans(sample(), religion(), x)
    means = _means(sample(), religion())
    away = means - means.mean(0)
    for i, vector in enumerate(x.astype(float)):
        for j in range(5):
            cosine = vector @ away[j] / np.linalg.norm(vector) / np.linalg.norm(away[j])
            assert cosines[i, j] == pytest.approx(cosine, abs=1e-6)
    names = religion().groups
    assert names[cosines[0].argmax()] == "muslim"
    assert names[cosines[1].argmax()] == "christian"


def test_two_groups_without_an_axis_lean_along_the_difference_of_their_means() -> None:
    two = Attribute.load("ethnicity:white,black")
    words = labelled_words(sample(), two, classes=2)
    means = _means(sample(), two)
    axis = means[0] - means[1]
    candidates = [w for w in sample() if w.isalpha() and w.islower() and len(w) < 20]
    x = sample().take(candidates).astype(float)
    cosine = (x @ axis) / np.linalg.norm(x, axis=1)
    order = np.argsort(-cosine)
    n = words.per_class
    assert set(words.words[:n]) == {candidates[i] for i in order[:n]}
    assert set(words.words[n:]) == {candidates[i] for i in order[-n:]}


def test_a_class_has_the_words_that_lean_most_to_it_and_to_no_other_more() -> None:
    rng = np.random.default_rng(0)
    lean = rng.normal(size=(400, 4))
    chosen = most_leaning(lean, 12)
    assert chosen.shape == (4, 12)
    assert len(set(chosen.ravel().tolist())) == 48
    for j, places in enumerate(chosen):
        nearest = [i for i in range(400) if lean[i].argmax() == j]
        best = sorted(nearest, key=lambda i: -lean[i, j])[:12]
        assert places.tolist() == best


def test_too_few_words_that_lean_to_a_group_are_refused() -> None:
    lean = np.array([[1.0, -1, -1], [-1, 1, -1], [-1, -1, 1], [1, -1, -1]])
    assert most_leaning(lean, 1).ravel().tolist() == [0, 1, 2]
    with pytest.raises(WordbiasError, match="2 words a group needed, but only 2, 1, 1 words"):
        most_leaning(lean, 2)


def test_of_two_the_classes_are_those_of_most_biased() -> None:
    gender = Attribute.load()
    assert default_classes(gender) == 3
    assert default_classes(religion()) == 5
    by_default = labelled_words(sample(), gender)
    assert by_default.classes == ("female", "male", "neutral")


def test_five_classes_and_neutral_words_as_a_sixth() -> None:
    five = labelled_words(sample(), religion(), per_class=20)
    assert five.classes == religion().groups
    assert np.bincount(five.labels).tolist() == [20] * 5
    six = labelled_words(sample(), religion(), classes=6, per_class=20)
    assert six.classes == (*religion().groups, "neutral")
    assert six.words[:100] == five.words
    x = sample().take(six.words[100:])
    assert np.abs(leans(sample(), religion(), x)).max() < classes.NEUTRAL_BELOW


def test_inlp_over_five_classes_ends_at_chance() -> None:
    """No linear classifier of the last round knows more than chance and a point."""
    fitted = inlp.fit(sample(), religion(), per_class=150)
    assert fitted.settings["classes"] == 5
    rounds = [row for row in fitted.found if row.measure == "inlp-accuracy"]
    assert rounds[0].details["neutral"] == pytest.approx(1 / 5)
    assert rounds[0].value > 0.5
    assert rounds[-1].value <= 1 / 5 + inlp.TOLERANCE
    assert rounds[0].details["dimensions"] == 5  # one normal vector a class


def test_a_round_of_inlp_removes_the_normals_of_five_hyperplanes() -> None:
    fitted = inlp.fit(sample(), religion(), per_class=150, rounds=1, as_published=True)
    words = labelled_words(sample(), religion(), per_class=150)
    x = words.vectors(sample())
    normals = LinearSvm(x[words.train], words.labels[words.train]).solve()
    left = np.stack([fitted(v) for v in normals])
    assert np.abs(left).max() < 1e-6 * np.abs(normals).max()


def test_leace_makes_the_means_of_five_classes_equal() -> None:
    fitted = leace.fit(sample(), religion(), per_class=150)
    words = labelled_words(sample(), religion(), classes=5, per_class=150)
    assert fitted.settings["classes"] == 5
    x = words.vectors(sample())[words.learned]
    labels = words.labels[words.learned]
    before, after = (
        np.stack([y[labels == j].mean(0) for j in range(5)]) for y in (x, fitted.steps[0](x))
    )
    assert _off(after) < 1e-6 * _off(before)


def test_multi_hard_over_means_removes_the_differences_between_the_names() -> None:
    ethnicity = WordGroups.load("ethnicity")
    fitted = multi_hard.fit(sample(), ethnicity, means=True)
    assert fitted.settings["dims"] == 3
    assert fitted.settings["means"] is True
    unit = sample().take(["table", "mosque"]) / np.linalg.norm(
        sample().take(["table", "mosque"]), axis=1, keepdims=True
    )
    g = fitted.steps[0].subspace  # type: ignore[union-attr]
    assert np.abs(g.coordinates(fitted(unit))).max() < 1e-6
    words = [resolve(w, sample()).found for w in ethnicity.members]
    lengths = [sample().take(w).astype(float) for w in words]
    means = np.stack([(x / np.linalg.norm(x, axis=1, keepdims=True)).mean(0) for x in lengths])
    left = means - (means @ g.basis.T) @ g.basis
    assert _off(left) < 1e-6


def test_multi_hard_takes_the_sets_of_groups_as_its_own() -> None:
    ours = multi_hard.fit(sample(), religion())
    default = multi_hard.fit(sample())
    np.testing.assert_array_equal(ours.steps[0].subspace.basis, default.steps[0].subspace.basis)  # type: ignore[union-attr]
    assert ours.settings == default.settings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"means": True}, "the means are those of an attribute's groups: give --groups"),
        ({"means": True, "sets": WordSets.load(), "attribute": "religion"}, "no sets"),
        ({"attribute": "ethnicity"}, r"ethnicity has no definitional sets .*\(multi-hard:means\)"),
        ({"attribute": "ethnicity", "means": True, "dims": 4}, "4 groups span 3 of 100"),
    ],
)
def test_multi_hard_names_the_missing_sets(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        multi_hard.fit(sample(), **arguments)


@pytest.mark.parametrize("name", [name for name in METHODS if name not in TAKES_ALL])
def test_other_methods_take_two_groups_and_say_how_to_choose(name: str) -> None:
    with pytest.raises(WordbiasError, match=r"expected exactly two groups, found 5 .*:jewish,chr"):
        fit_chain(name, sample(), religion())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hard", "ethnicity white/black has no pairs; the direction means or subspace"),
        ("double-hard", "the attribute has none; give its file"),
        ("bam", "the attribute has none; give its file"),
        ("oscar", "has no pairs; the direction means or subspace"),
        ("ran", "has no pairs; give another direction"),
        ("gender-preserving", "has no pairs, which tell its groups apart"),
        ("multi-hard", "no definitional sets or pairs"),
    ],
)
def test_groups_without_pairs_are_refused_in_one_line(name: str, message: str) -> None:
    two = Attribute.load("ethnicity:white,black")
    with pytest.raises(WordbiasError, match=message) as caught:
        fit_chain(name, sample(), two)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "hard:direction=means",
        "oscar:direction=means",
        "half-sibling",
        "inlp:per-class=100:rounds=3",
        "misp",
    ],
)
def test_names_are_enough_with_the_direction_of_their_means(name: str) -> None:
    two = Attribute.load("ethnicity:white,black")
    _, done = fit_chain(name, sample(), two)
    assert not np.array_equal(done.vectors, sample().vectors)


@pytest.mark.parametrize("attribute", ["age", "religion:christian,muslim"])
@pytest.mark.parametrize("name", ["hard", "multi-hard", "double-hard", "bam", "oscar"])
def test_methods_that_need_pairs_accept_groups_with_pairs(name: str, attribute: str) -> None:
    chain, done = fit_chain(name, sample(), Attribute.load(attribute))
    assert not np.array_equal(done.vectors, sample().vectors)
    text = " ".join([*chain.parts[0].warnings, *(str(row) for row in chain.parts[0].found)])
    assert not {"female", "male", "she", "he", "gender"} & set(text.lower().split())


def test_after_hard_debiasing_neutral_words_lean_to_no_age() -> None:
    age = Attribute.load("age")
    done = fit_chain("hard:direction=axis", sample(), age)[1]
    axis = done["young"].astype(float) - done["old"]
    unit = sample()["young"].astype(float) / np.linalg.norm(sample()["young"])
    unit -= sample()["old"] / np.linalg.norm(sample()["old"])
    assert abs(done["table"] @ unit) < 1e-6
    assert np.linalg.norm(axis) > 0.1  # young and old keep their difference


def test_fits_over_groups_are_stored_and_read(tmp_path: Any) -> None:
    chain, done = fit_chain("mhd", sample(), WordGroups.load("ethnicity"))
    save_chain(tmp_path / "t.safetensors", chain, Origin.of(sample(), len(sample()), ""))
    loaded, _ = load_chain(tmp_path / "t.safetensors")
    assert isinstance(loaded, Chain)
    np.testing.assert_allclose(loaded(sample()).vectors, done.vectors, atol=1e-6)


def test_groups_that_do_not_differ_are_refused() -> None:
    emb = sample().subset([*sorted(listed_words(religion())), "table"])
    same = emb.with_vectors(np.ones_like(emb.vectors))
    with pytest.raises(WordbiasError, match="too near to tell words apart"):
        leans(same, religion(), same.vectors)
    with pytest.raises(WordbiasError, match="the means of 5 groups span 0 of 100"):
        misp.fit(same, religion())


def test_groups_of_which_words_are_missing_are_named() -> None:
    lost = replace(religion(), members=(*religion().members[:-1], ("zzqa", "zzqb")))
    for fit in (misp.fit, inlp.fit):
        with pytest.raises(WordbiasError, match="sample: group buddhist: 0 of 2 words found"):
            fit(sample(), lost)


def test_the_attribute_may_be_named() -> None:
    assert as_attribute("age") == Attribute.load("age")
    by_name, loaded = (
        misp.fit(sample(), attribute) for attribute in ("religion", load_attribute("religion"))
    )
    np.testing.assert_array_equal(by_name.subspace.basis, loaded.subspace.basis)
