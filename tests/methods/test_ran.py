"""RAN-Debias as a method: which words it changes, how, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias import Attribute, Embedding, WordbiasError
from wordbias.arrays import unit
from wordbias.devices import set_threads
from wordbias.measures.direction import find_direction
from wordbias.methods.fitted import Fitted
from wordbias.methods.ran import fit, outcome, repulsion_sets
from wordbias.methods.ran.optimise import Objective
from wordbias.methods.transform import Normalise
from wordbias.subspace import Subspace
from wordbias.vocabulary import choose_vocabulary

EPS = float(np.finfo(np.float32).eps)
GENDER = Attribute.load()


@pytest.fixture(scope="module")
def target(sample: Embedding) -> list[str]:
    return choose_vocabulary([sample], GENDER)[:2000:5]


@pytest.fixture(scope="module")
def fitted(sample: Embedding, target: list[str]) -> Fitted:
    return fit(sample, words=target)


@pytest.fixture(scope="module")
def published(sample: Embedding, target: list[str]) -> Fitted:
    return fit(sample, words=target, as_published=True)


@pytest.fixture
def small() -> Embedding:
    """Sixteen words about two colours; the first two are their axis."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(16, 5)) + 1
    vectors[0] += 3 * np.eye(5)[0]
    return Embedding([chr(97 + i) for i in range(16)], vectors.astype(np.float32), "letters")


@pytest.fixture
def colour() -> Attribute:
    groups, pair = ("red", "blue"), ("a", "b")
    return Attribute(
        "colour", groups, (("a", "c"), ("b", "d")), (pair,), (), pair, frozenset("abcd")
    )


def _values(fitted: Fitted, measure: str) -> list[Any]:
    return [row for row in fitted.found if row.measure == measure]


def _objective(embedding: Embedding, weights: Any, **options: Any) -> Objective:
    vectors = unit(embedding.vectors)
    units = embedding.with_vectors(vectors)
    g = find_direction(units, GENDER, "pca").defined().basis[0]
    return Objective(vectors, g, weights, **options)


def _lengths(x: Any) -> Any:
    return np.linalg.norm(x.astype(float), axis=1)


def test_words_outside_are_untouched_to_the_last_bit(
    sample: Embedding, target: list[str], fitted: Fitted
) -> None:
    after = fitted(sample)
    outside = sorted(set(sample.words) - set(fitted.replaced.words))
    assert after.take(outside).tobytes() == sample.take(outside).tobytes()
    assert set(fitted.replaced.words) <= set(target)
    assert fitted.steps == ()
    x = np.ones((2, sample.dim), np.float32)
    assert (fitted(x) == x).all()


def test_words_keep_their_own_lengths(sample: Embedding, fitted: Fitted) -> None:
    words = fitted.replaced.words
    before, after = (_lengths(embedding.take(words)) for embedding in (sample, fitted(sample)))
    assert np.abs(after / before - 1).max() < 2 * EPS
    assert before.std() > 0.1  # they are far from equal


def test_as_published_everything_has_length_one(
    sample: Embedding, target: list[str], published: Fitted
) -> None:
    after = published(sample)
    assert np.abs(_lengths(after.vectors) - 1).max() < 10 * EPS
    outside = sorted(set(sample.words) - set(target))
    alone = Normalise()(sample.take(outside))
    assert np.abs(after.take(outside) - alone).max() < 2 * EPS
    assert published.replaced.words == tuple(target)


def test_every_word_that_moved_has_a_lower_objective(sample: Embedding, fitted: Fitted) -> None:
    words = fitted.replaced.words
    objective = _objective(sample, (1 / 8, 6 / 8, 1 / 8))
    rows, _ = sample.rows(words)
    g = Subspace.from_direction(objective.g)
    sets = repulsion_sets(objective.vectors, rows, g).sets
    w = sample.take(words)
    before, after = (
        objective.total(objective.parts(x, w, sets)) for x in (w, fitted(sample).take(words))
    )
    assert (after < before + EPS).all()
    assert after.mean() < 0.8 * before.mean()


def test_words_that_would_lose_stay_and_are_counted(
    sample: Embedding, target: list[str], fitted: Fitted, published: Fitted
) -> None:
    """Words nearly orthogonal to the direction that nothing repels: the steps overshoot."""
    stayed = [word for word in target if word not in fitted.replaced.index]
    (row,) = _values(fitted, "ran-words")
    assert row.value == len(target)
    assert row.details["unmoved"] == len(stayed) > 0
    objective = _objective(sample, (1 / 8, 6 / 8, 1 / 8))
    along = np.abs(unit(sample.take(stayed)) @ objective.g)
    assert along.max() < 0.02
    assert _values(published, "ran-words")[0].details["unmoved"] == 0


def test_the_direction_leaves_the_words(
    sample: Embedding, target: list[str], fitted: Fitted
) -> None:
    objective = _objective(sample, (1 / 8, 6 / 8, 1 / 8))
    before, after = (
        np.abs(unit(embedding.take(target)) @ objective.g).mean()
        for embedding in (sample, fitted(sample))
    )
    assert after < before / 4


@pytest.mark.parametrize("as_published", [False, True])
def test_reported_objective_is_that_of_the_result(
    sample: Embedding, target: list[str], fitted: Fitted, published: Fitted, as_published: bool
) -> None:
    """Its three parts and total, by the definition, from the debiased embedding itself."""
    done = published if as_published else fitted
    objective = _objective(sample, (1 / 8, 6 / 8, 1 / 8))
    g = objective.g
    rows, _ = sample.rows(target)
    sets = repulsion_sets(objective.vectors, rows, Subspace.from_direction(g)).sets
    reported = {(r.details["stage"], r.details["set"]): r for r in _values(done, "ran-objective")}
    assert len(reported) == 8
    w = unit(sample.take(target)).astype(float)
    for stage, embedding in (("before", sample), ("after", done(sample))):
        x = unit(embedding.take(target)).astype(float)
        parts = {
            "repulsion": np.mean(
                [
                    np.abs(objective.vectors[s] @ vector).mean() if len(s) else 0
                    for s, vector in zip(sets, x, strict=True)
                ]
            ),
            "attraction": (1 - (x * w).sum(1)).mean() / 2,
            "neutralisation": np.abs(x @ g).mean(),
        }
        third = 6 / 8 if as_published else 1 / 8
        weights = {"repulsion": 1 / 8, "attraction": 6 / 8, "neutralisation": third}
        parts["total"] = sum(weights[name] * value for name, value in parts.items())
        for name, value in parts.items():
            row = reported[stage, name]
            assert row.value == pytest.approx(value, abs=100 * EPS)
            assert row.details["weight"] == weights.get(name, 1)
            assert row.details["n"] == len(target)


def test_sets_are_reported(sample: Embedding, target: list[str], fitted: Fitted) -> None:
    vectors = unit(sample.vectors)
    objective = _objective(sample, (1 / 8, 6 / 8, 1 / 8))
    g = Subspace.from_direction(objective.g)
    repelled = repulsion_sets(vectors, sample.rows(target)[0], g)
    sizes = [len(members) for members in repelled.sets]
    for measure, value in (
        ("ran-repulsion-set", np.mean(sizes)),
        ("ran-empty-sets", sizes.count(0)),
        ("ran-illicit-share", repelled.share.mean()),
    ):
        (row,) = _values(fitted, measure)
        assert row.value == pytest.approx(value, rel=1e-12)
        assert row.details["n"] == len(target)
    assert 0 < sizes.count(0) < len(target)


def test_as_published_weighs_neutralisation_with_the_second_weight(
    sample: Embedding, target: list[str]
) -> None:
    """B6: there the third weight changes nothing; here it does."""
    few = target[:40]

    def vectors(third: float, as_published: bool) -> bytes:
        weights = (1 / 8, 6 / 8, third)
        return fit(
            sample, words=few, lambdas=weights, as_published=as_published, iterations=30
        ).replaced.vectors.tobytes()

    assert vectors(1 / 8, True) == vectors(0.9, True)
    assert vectors(1 / 8, False) != vectors(0.9, False)
    assert vectors(1 / 8, False) != vectors(1 / 8, True)


def test_lengths_of_the_vectors_play_no_part(
    sample: Embedding, target: list[str], fitted: Fitted
) -> None:
    """Fitted on the same directions at other lengths, powers of two so that no bit is lost."""
    scale = 2.0 ** np.random.default_rng(0).integers(-3, 4, len(sample))
    scaled = sample.with_vectors(sample.vectors * scale[:, None])
    refitted = fit(scaled, words=target)
    factor = scale[sample.rows(refitted.replaced.words)[0]]
    assert refitted.replaced.words == fitted.replaced.words
    assert (refitted.replaced.vectors == fitted.replaced.vectors * factor[:, None]).all()


def test_by_default_the_neutral_words_are_debiased(sample: Embedding) -> None:
    part = sample.subset([*sample.words[:600], *(word for pair in GENDER.pairs for word in pair)])
    done = fit(part, iterations=60)
    neutral = choose_vocabulary([part], GENDER)
    (row,) = _values(done, "ran-words")
    assert row.value == len(neutral)
    assert set(done.replaced.words) <= set(neutral)
    assert not set(done.replaced.words) & {"she", "he", "mother"}


def test_words_may_come_from_a_file(sample: Embedding, target: list[str], tmp_path: Path) -> None:
    few = [*target[:30], "zzzunknown"]
    file = tmp_path / "words.txt"
    file.write_text("\n".join(few) + "\n", encoding="utf-8")
    listed = fit(sample, words=few, iterations=20)
    for given in (file, str(file)):
        read = fit(sample, words=given, iterations=20)
        assert read.replaced.words == listed.replaced.words
        assert (read.replaced.vectors == listed.replaced.vectors).all()
        assert read.settings["words"] == str(file)
    assert listed.settings["words"] == few


def test_unknown_words_are_named_and_double_ones_count_once(
    sample: Embedding, target: list[str]
) -> None:
    few = target[:12]
    plain = fit(sample, words=few, iterations=20)
    done = fit(sample, words=[few[0].upper(), *few, "zzzone", "zzztwo", *few], iterations=20)
    (row,) = _values(done, "ran-words")
    assert row.value == len(few)
    assert row.details["missing"] == ["zzzone", "zzztwo"]
    assert any("zzzone, zzztwo" in note and "lacks 2 of 27" in note for note in done.warnings)
    assert (done.replaced.vectors == plain.replaced.vectors).all()
    assert not any("lacks" in note for note in plain.warnings)


def test_many_unknown_words_are_cut_short(sample: Embedding, target: list[str]) -> None:
    done = fit(sample, words=[*target[:5], *(f"zzz{i}" for i in range(9))], iterations=20)
    assert any(note.endswith("zzz0, zzz1, zzz2, zzz3, zzz4, …") for note in done.warnings)


def test_a_single_word_will_do(sample: Embedding) -> None:
    done = fit(sample, words=["nurse"])
    assert done.replaced.words == ("nurse",)


def test_a_fit_without_repelling_sets_has_a_caution(sample: Embedding, target: list[str]) -> None:
    done = fit(sample, words=target[:30], theta=5.0, iterations=30)
    assert any("only neutralised" in note for note in done.warnings)
    assert _values(done, "ran-empty-sets")[0].value == 30


def test_settings_and_rows_are_json(fitted: Fitted, target: list[str]) -> None:
    settings = json.loads(json.dumps(fitted.settings))
    assert settings == {
        "words": target,
        "iterations": 300,
        "learning_rate": 0.01,
        "lambdas": [1 / 8, 6 / 8, 1 / 8],
        "neighbours": 100,
        "theta": 0.05,
        "direction": "pca",
        "as_published": False,
    }
    json.dumps([row.to_dict() for row in fitted.found])


def test_threads_change_no_bit(sample: Embedding, target: list[str], fitted: Fitted) -> None:
    for count in (1, 2):
        set_threads(count)
        refitted = fit(sample, words=target)
        assert refitted.replaced.vectors.tobytes() == fitted.replaced.vectors.tobytes()


def test_any_attribute_and_direction_will_do(
    small: Embedding, colour: Attribute, tmp_path: Path
) -> None:
    file = tmp_path / "axis.safetensors"
    a, b = unit(small.take(["a", "b"])).astype(float)
    Subspace.from_direction(a - b).save(file)
    done = {recipe: fit(small, colour, direction=recipe) for recipe in ("pca", "she-he", str(file))}
    for other in done.values():
        assert other.replaced.words == done["pca"].replaced.words
        assert np.abs(other.replaced.vectors - done["pca"].replaced.vectors).max() < 1e-4
        assert not set(other.replaced.words) & set("abcd")
    whole = fit(small, colour, direction="subspace")
    assert len(whole.replaced) > 0


def test_arguments_are_not_changed(small: Embedding, colour: Attribute) -> None:
    before = small.vectors.tobytes()
    weights, words = [1 / 8, 6 / 8, 1 / 8], ["e", "f", "g"]
    fit(small, colour, words=words, lambdas=weights)(small)
    assert small.vectors.tobytes() == before
    assert (weights, words) == ([1 / 8, 6 / 8, 1 / 8], ["e", "f", "g"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"iterations": 0}, "iterations: expected a whole number from 1 on, got 0"),
        ({"iterations": 2.5}, "iterations: expected a whole number"),
        ({"iterations": True}, "iterations: expected a whole number"),
        ({"neighbours": 0}, "neighbours: expected a whole number from 1 on, got 0"),
        ({"learning_rate": 0}, "learning_rate: expected a number above 0, got 0"),
        ({"learning_rate": -0.01}, "learning_rate: expected a number above 0"),
        ({"learning_rate": float("nan")}, "learning_rate: expected a number above 0, got nan"),
        ({"theta": 0.0}, "theta: expected a number above 0"),
        ({"theta": float("inf")}, "theta: expected a number above 0"),
        ({"lambdas": (0.1, -0.1, 0.1)}, "lambdas: expected three numbers from 0 on"),
        ({"lambdas": (0.5, 0.5)}, "lambdas: expected three numbers"),
        ({"lambdas": (0.5, float("nan"), 0.5)}, "lambdas: expected three numbers"),
        ({"lambdas": (0, 1, 0)}, "lambdas: [0, 1, 0] neither repel nor neutralise"),
        ({"lambdas": (0, 0, 1), "as_published": True}, "neither repel nor neutralise"),
        ({"words": []}, "letters: words to debias: 0 of 0 words found"),
        ({"words": ["zz", "yy"]}, "0 of 2 words found (at least 1 needed): first missing: zz, yy"),
        ({"words": "no-such-file.txt"}, "no-such-file.txt"),
        ({"direction": "no-such-file"}, "no-such-file"),
    ],
)
def test_bad_settings_are_refused(
    small: Embedding, colour: Attribute, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(WordbiasError, match=re.escape(said)):
        fit(small, colour, **settings)


def test_a_direction_that_is_undefined_is_refused_with_a_remedy(small: Embedding) -> None:
    bare = Attribute("colour", ("red", "blue"), (("a", "c"), ("b", "d")))
    with pytest.raises(WordbiasError, match=r"has no pairs; give another direction"):
        fit(small, bare)
    with pytest.raises(WordbiasError, match=r"has no pairs; give another direction"):
        fit(small, bare, direction="she-he")


def test_more_than_one_direction_is_refused(
    small: Embedding, colour: Attribute, tmp_path: Path
) -> None:
    file = tmp_path / "two.safetensors"
    Subspace(np.eye(2, 5), np.ones(2)).save(file)
    with pytest.raises(WordbiasError, match="RAN neutralises one direction, this has 2"):
        fit(small, colour, direction=str(file))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.nan, "the vector of 'h' is not finite"),
        (np.inf, "the vector of 'h' is not finite"),
        (0.0, "the vector of 'h' is zero and has no direction; leave it out of the words"),
    ],
)
def test_vectors_without_direction_are_named(
    small: Embedding, colour: Attribute, value: float, said: str
) -> None:
    vectors = small.vectors.copy()
    vectors[small.index["h"]] = value
    with pytest.raises(WordbiasError, match=re.escape(said)):
        fit(small.with_vectors(vectors), colour, words=["e", "f", "g", "h"])


def test_words_with_a_zero_vector_are_not_chosen(small: Embedding, colour: Attribute) -> None:
    vectors = small.vectors.copy()
    vectors[small.index["h"]] = 0
    fitted = fit(small.with_vectors(vectors), colour)
    assert fitted.replaced.words
    assert "h" not in fitted.replaced.words


def test_a_zero_vector_outside_is_no_trouble(small: Embedding, colour: Attribute) -> None:
    vectors = small.vectors.copy()
    vectors[small.index["h"]] = 0
    done = fit(small.with_vectors(vectors), colour, words=["e", "f", "g"])
    assert (done(small.with_vectors(vectors))["h"] == 0).all()


def test_too_few_words_are_refused(small: Embedding, colour: Attribute, tmp_path: Path) -> None:
    file = tmp_path / "axis.safetensors"
    Subspace.from_direction(np.ones(5)).save(file)
    with pytest.raises(WordbiasError, match="one word has no neighbours"):
        fit(small.subset("e"), colour, words=["e"], direction=str(file))
    with pytest.raises(WordbiasError, match="expected an Embedding, got ndarray"):
        fit(small.vectors, colour)  # type: ignore[arg-type]


def test_words_that_are_debiased_already_are_refused(small: Embedding, colour: Attribute) -> None:
    """Orthogonal to the direction, with no biased neighbour: J is 0 where they are."""
    vectors = small.vectors.astype(float)
    a, b = unit(small.take(["a", "b"])).astype(float)
    g = (a - b) / np.linalg.norm(a - b)
    rest = [i for i, word in enumerate(small.words) if word not in "ab"]
    vectors[rest] -= np.outer(vectors[rest] @ g, g)
    done = small.with_vectors(vectors)
    with pytest.raises(WordbiasError, match="RAN moved none of 12 words"):
        fit(done, colour)


def test_a_lost_word_is_named() -> None:
    w = np.eye(2, dtype=np.float32)
    objective = Objective(w, w[1])
    for value in (0, np.nan, np.inf):
        x = w.copy()
        x[1] = value
        with pytest.raises(WordbiasError, match="RAN lost the word 'v'; lower the learning rate"):
            outcome(objective, w, x, [np.arange(0)] * 2, ["u", "v"])
