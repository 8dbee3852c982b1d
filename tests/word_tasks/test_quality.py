"""Similarity and analogies: by hand, against gensim, and both ways with unknown words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.word_tasks import (
    AnalogySet,
    SimilaritySet,
    Space,
    analogies,
    answer,
    find_sets,
    quality,
    read_set,
    similarity,
)
from wordbias.word_tasks.quality import since_first
from wordbias.word_tasks.similarity import UNKNOWN

SMALL = Embedding(
    ["man", "woman", "king", "queen", "Rome"],
    [[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [0, 0, 5]],
)
PAIRS = SimilaritySet(
    "own", (("man", "king"), ("woman", "Queen"), ("man", "rome")), (9.0, 5.0, 1.0)
)
UNSEEN = SimilaritySet(
    "own", (*PAIRS.pairs, ("man", "zzx"), ("zzx", "zzy")), (*PAIRS.scores, 2.0, 3.0)
)
QUESTIONS = AnalogySet(
    "own",
    (
        ("man", "woman", "king", "queen"),
        ("Man", "Woman", "King", "Queen"),
        ("man", "woman", "king", "zzx"),
        ("zzx", "woman", "king", "queen"),
    ),
    ("", "", "", ""),
)


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _units() -> np.ndarray:
    vectors = SMALL.vectors.astype(float)
    units: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units


def test_words_are_found_as_written_lower_cased_or_capitalised() -> None:
    space = Space.of(Embedding(["us", "US", "rome", "Oslo"], np.eye(4)))
    indices = space.find(["us", "US", "Us", "Rome", "oslo", "city's", "us"])
    assert indices == {"us": 0, "US": 1, "Us": 0, "Rome": 2, "oslo": 3, "city's": UNKNOWN}


def test_similarity_by_hand() -> None:
    correlation = similarity(Space.of(SMALL), PAIRS, _rng())
    cosines = [1 / np.sqrt(2), 2 / np.sqrt(6), 0]
    assert correlation.value == pytest.approx(spearmanr(cosines, PAIRS.scores).statistic)
    assert (correlation.n, correlation.total, correlation.known, correlation.coverage) == (
        3,
        3,
        3,
        1,
    )
    assert correlation.missing == ()


def test_pairs_with_an_unknown_word_are_left_out_and_counted() -> None:
    space = Space.of(SMALL)
    unseen, plain = similarity(space, UNSEEN, _rng()), similarity(space, PAIRS, _rng())
    assert unseen.value == plain.value
    np.testing.assert_array_equal(unseen.samples, plain.samples)
    assert (unseen.n, unseen.total, unseen.known, unseen.coverage) == (3, 5, 3, 0.6)
    assert unseen.missing == ("zzx", "zzy")


def test_or_get_the_mean_vector_as_published() -> None:
    mean = _units().mean(axis=0)
    cosines = [1 / np.sqrt(2), 2 / np.sqrt(6), 0, mean[0], mean @ mean]
    correlation = similarity(Space.of(SMALL), UNSEEN, _rng(), "mean")
    assert correlation.value == pytest.approx(spearmanr(cosines, UNSEEN.scores).statistic)
    assert (correlation.n, correlation.total, correlation.known) == (5, 5, 3)


def test_analogies_with_an_unknown_word_are_left_out_and_counted() -> None:
    answers = analogies(Space.of(SMALL), QUESTIONS)
    assert answers.counted.tolist() == answers.right.tolist() == [True, True, False, False]
    assert answers.missing == ("zzx",)
    accuracy = answers.accuracy(range(4))
    assert (accuracy.value, accuracy.n, accuracy.total, accuracy.coverage) == (1.0, 2, 4, 0.5)
    assert answers.accuracy([2, 3]).value is None


def test_or_count_as_wrong_if_the_answer_is_unknown() -> None:
    answers = analogies(Space.of(SMALL), QUESTIONS, "mean")
    units = _units()
    scores = units @ (units[1] - units.mean(axis=0) + units[2])
    scores[[1, 2]] = -np.inf
    assert answers.right.tolist() == [True, True, False, scores.argmax() == 3]
    assert answers.accuracy(range(4)).value == answers.right.sum() / 4
    assert answers.accuracy(range(4)).coverage == 0.5


def test_a_question_asked_twice_counts_twice() -> None:
    twice = AnalogySet("own", QUESTIONS.questions * 2, QUESTIONS.sections * 2)
    assert analogies(Space.of(SMALL), twice).accuracy(range(8)).n == 4


@pytest.mark.parametrize("measure", [similarity, analogies])
def test_an_unknown_policy_is_refused(measure: Any) -> None:
    given: tuple[Any, ...] = (PAIRS, _rng()) if measure is similarity else (QUESTIONS,)
    with pytest.raises(WordbiasError, match="oov 'zero': expected one of skip, mean"):
        measure(Space.of(SMALL), *given, oov="zero")


def test_an_empty_embedding_is_refused() -> None:
    with pytest.raises(WordbiasError, match="no words"):
        Space.of(Embedding([], np.empty((0, 3))))


def test_rows_say_what_is_undefined_and_why() -> None:
    none = SimilaritySet("none", (("zzx", "zzy"),), (1.0,))
    flat = SimilaritySet("flat", PAIRS.pairs, (1.0, 1.0, 1.0))
    lost = AnalogySet("lost", QUESTIONS.questions[2:], ("", ""))
    rows = [measurement.row for measurement in quality(SMALL, [none, flat, lost])]
    assert [row.value for row in rows] == [None, None, None]
    assert [row.details["reason"] for row in rows] == [
        "undefined: 0 of 1 pairs have words of this embedding",
        "undefined: all values are equal",
        "undefined: 0 of 2 questions have words of this embedding",
    ]


def test_rows_hold_value_coverage_and_interval() -> None:
    sets = [UNSEEN, QUESTIONS]
    measurements = quality(SMALL, sets, oov="mean", method="mul", seed=3, name="me")
    first, second = (measurement.row for measurement in measurements)
    assert (first.subject, first.measure, first.details["set"]) == ("me", "similarity", "own")
    assert first.value is not None
    assert -1 <= first.details["low"] <= first.value <= first.details["high"] <= 1
    assert (first.details["n"], first.details["coverage"]) == (5, 0.6)
    assert (second.measure, second.details["setting"]) == ("analogy", "mul")
    assert {row.details["better"] for row in (first, second)} == {"higher"}
    assert {row.details["oov"] for row in (first, second)} == {"mean"}


@given(st.integers(0, 2**32))
def test_rotation_and_scale_change_no_similarity(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(20, 4))
    rotation = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    words = [f"w{i}" for i in range(20)]
    pairs = tuple((words[i], words[i + 1]) for i in range(19))
    ratings = SimilaritySet("own", pairs, tuple(rng.normal(size=19).tolist()))
    plain, other = (
        similarity(Space.of(Embedding(words, x)), ratings, _rng()).value
        for x in (vectors, vectors @ rotation * rng.uniform(0.1, 50, (20, 1)))
    )
    assert plain == pytest.approx(other, abs=0.01)  # two cosines equal in float32 may change places


@pytest.mark.parametrize("file", ["MEN-TR-3k", "MTurk-287", "RG-65", "SIMLEX-999"])
def test_similarity_is_gensims(shared_data: Path, file: str) -> None:
    pytest.importorskip("gensim")
    sample = Embedding.sample()
    path = shared_data / "wordsim" / f"EN-{file}.txt"
    _, expected, unknown = sample.to_gensim().evaluate_word_pairs(
        str(path), restrict_vocab=len(sample)
    )
    ratings = read_set(path)
    assert isinstance(ratings, SimilaritySet)
    correlation = similarity(Space.of(sample), ratings, _rng())
    assert correlation.value == pytest.approx(expected.statistic, abs=1e-6)
    assert correlation.coverage == pytest.approx(1 - unknown / 100)


@pytest.fixture
def some(shared_data: Path, tmp_path: Path) -> Path:
    """Return the first forty of Google's questions of each section."""
    lines, since = [], 0
    for line in (shared_data / "analogy" / "questions-words.txt").read_text().splitlines():
        since = 0 if line.startswith(":") else since + 1
        if since <= 40:
            lines.append(line)
    path = tmp_path / "some.txt"
    path.write_text("\n".join(lines))
    return path


def test_analogies_are_gensims(some: Path) -> None:
    pytest.importorskip("gensim")
    part = Embedding.sample().subset(Embedding.sample().words[:8000])
    _, sections = part.to_gensim().evaluate_word_analogies(str(some), restrict_vocab=len(part))
    analogy_set = read_set(some)
    assert isinstance(analogy_set, AnalogySet)
    answers = analogies(Space.of(part), analogy_set)
    names = np.array(analogy_set.sections)
    for section in sections[:-1]:
        accuracy = answers.accuracy(np.flatnonzero(names == section["section"]).tolist())
        right, wrong = len(section["correct"]), len(section["incorrect"])
        assert accuracy.n == right + wrong
        assert round((accuracy.value or 0) * accuracy.n) == right, section["section"]


@pytest.mark.filterwarnings("ignore:Call to deprecated `init_sims`:DeprecationWarning")
@pytest.mark.parametrize("method", ["add", "mul"])
def test_answers_are_gensims_word_by_word(some: Path, method: Any) -> None:
    pytest.importorskip("gensim")
    part = Embedding.sample()
    vectors = part.to_gensim()
    solve = vectors.most_similar if method == "add" else vectors.most_similar_cosmul
    analogy_set = read_set(some)
    assert isinstance(analogy_set, AnalogySet)
    questions = [[word.lower() for word in question[:3]] for question in analogy_set.questions[::2]]
    questions = [question for question in questions if all(word in part for word in question)]
    expected = [solve(positive=[b, c], negative=[a], topn=1)[0][0] for a, b, c in questions]
    rows = np.array([[part.index[word] for word in question] for question in questions])
    assert len(expected) > 150
    assert [part.words[i] for i in answer(Space.of(part), rows, method)] == expected


@pytest.mark.slow
def test_every_question_of_the_sample(shared_data: Path) -> None:
    """Golden: what this package gave when it agreed with gensim, 12 563 questions."""
    (google,) = find_sets(shared_data / "analogy" / "questions-words.txt")
    rows = [measurement.row for measurement in quality(Embedding.sample(), [google])]
    assert [(row.details["set"], row.details["n"]) for row in rows] == [
        ("google-semantic", 4828),
        ("google-syntactic", 7735),
        ("google-total", 12563),
    ]
    assert [row.value for row in rows] == pytest.approx([0.6558, 0.6888, 0.6761], abs=5e-5)


PEOPLE = ("man", "woman", "king", "queen", "boy", "girl", "rome", "oslo")
RATED = SimilaritySet(
    "rated",
    tuple((a, b) for i, a in enumerate(PEOPLE) for b in PEOPLE[:i]),
    tuple(float((i * 7) % 11) for i in range(28)),
)


def _embedding(seed: int, words: tuple[str, ...] = PEOPLE) -> Embedding:
    return Embedding(list(words), np.random.default_rng(seed).normal(size=(len(words), 4)))


def test_a_change_is_the_difference_with_its_own_interval() -> None:
    first, other = (quality(_embedding(seed), [RATED], seed=3)[0] for seed in (1, 2))
    row = since_first(first, other, 3)
    assert row.details["change"] == pytest.approx(other.row.value - first.row.value, abs=1e-12)
    pairs = np.subtract(*(measurement.row.draws["sample"].values for measurement in (other, first)))
    expected = np.percentile(pairs, [2.5, 97.5])
    assert [row.details["change_low"], row.details["change_high"]] == pytest.approx(expected)
    assert "change_n" not in row.details
    same = since_first(first, first, 3).details
    assert (same["change"], same["change_low"], same["change_high"]) == (0, 0, 0)


def test_a_change_is_over_the_pairs_that_both_know() -> None:
    first = quality(_embedding(1, PEOPLE[1:]), [RATED])[0]
    other = quality(_embedding(2, PEOPLE[:-1]), [RATED])[0]
    shared = [i for i, pair in enumerate(RATED.pairs) if not {"man", "oslo"} & {*pair}]
    common = SimilaritySet(
        "rated", tuple(RATED.pairs[i] for i in shared), tuple(RATED.scores[i] for i in shared)
    )
    expected = since_first(
        quality(_embedding(1, PEOPLE[1:]), [common])[0],
        quality(_embedding(2, PEOPLE[:-1]), [common])[0],
    )
    details = since_first(first, other).details
    assert details["change_n"] == len(shared) == expected.details["n"] < other.row.details["n"]
    assert [details[key] for key in ("change", "change_low", "change_high")] == [
        expected.details[key] for key in ("change", "change_low", "change_high")
    ]


def test_no_common_question_has_no_change() -> None:
    small = AnalogySet("own", (("man", "woman", "king", "queen"),), ("",))
    first = quality(_embedding(1), [small])[0]
    other = quality(_embedding(2, PEOPLE[4:]), [small])[0]
    assert since_first(first, other) == other.row
    assert "change" not in other.row.details
