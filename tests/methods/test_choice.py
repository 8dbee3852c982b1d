"""Choice of a method: halves, values on them, intervals of changes, and which one is chosen."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias import Attribute, Embedding
from wordbias.draws import change_keys
from wordbias.errors import WordbiasError
from wordbias.measures.evaluate import evaluate
from wordbias.measures.panel import Panel
from wordbias.measures.registry import MEASURES, ideal
from wordbias.measures.sembias import SemBias
from wordbias.methods.choice import (
    GRID,
    Task,
    Tried,
    choose,
    compare,
    cost_rows,
    main_query,
    make_halves,
    make_task,
    measure,
    metric_names,
    split,
    try_candidate,
)
from wordbias.methods.methods import fit_chain, parse_columns
from wordbias.methods.words import listed_words
from wordbias.results import Row
from wordbias.vocabulary import choose_vocabulary
from wordbias.word_tasks import SimilaritySet
from wordbias.wordlists import Templates, load_queries

PAIRS = [("man", "woman"), ("book", "paper"), ("city", "town")]
STEREOTYPES = [("doctor", "nurse"), ("boss", "secretary"), ("pilot", "maid"), ("chef", "baker")]
SEMBIAS = SemBias(
    tuple(
        (definition, ("dog", "cat"), ("cup", "lid"), stereotype)
        for definition in PAIRS
        for stereotype in STEREOTYPES
    )
)
SIMILAR = SimilaritySet(
    "few",
    tuple(
        tuple(pair.split())
        for pair in (
            *("king queen", "dog cat", "cup lid", "nurse doctor", "sea car"),
            *("war peace", "man boy", "city town", "book paper", "north king"),
        )
    ),
    (8.6, 7.3, 5.4, 7.0, 1.2, 6.0, 7.5, 9.0, 7.4, 0.5),
)


@pytest.fixture(scope="module")
def few() -> Embedding:
    sample = Embedding.sample()
    listed = sorted(listed_words(Attribute.load()))
    words = [*SEMBIAS.words, *(word for pair in SIMILAR.pairs for word in pair)]
    jobs = Templates.load().occupations
    wanted = [
        *sample.words[:6000],
        *listed,
        *words,
        *jobs,
        *main_query(Attribute.load()).candidates(),
    ]
    return sample.subset(wanted).renamed("few")


def task_of(embedding: Embedding, metric: str, **more: Any) -> Task:
    gender = Attribute.load()
    return make_task(embedding, metric, choose_vocabulary([embedding], gender), gender, **more)


# Halves

ITEMS = st.lists(st.integers(), unique=True, max_size=50)


@given(ITEMS, st.integers(0, 9))
def test_halves_are_disjoint_whole_in_order_and_the_same_for_the_same_seed(
    items: list[int], seed: int
) -> None:
    first, second = split(items, seed)
    assert sorted(first + second) == sorted(items)
    assert 0 <= len(first) - len(second) <= 1
    for half in (first, second):
        assert half == [item for item in items if item in half]
    assert split(items, seed) == (first, second)


def test_another_seed_divides_otherwise_and_each_word_is_as_often_in_either_half() -> None:
    halves = [set(split(range(40), seed)[0]) for seed in range(200)]
    assert len({frozenset(half) for half in halves}) == 200
    counts = [sum(word in half for half in halves) for word in range(40)]
    assert 70 < min(counts) <= max(counts) < 130  # 100 ± 4 standard deviations


def test_everything_that_is_measured_is_divided() -> None:
    query = main_query(Attribute.load())
    first, second = make_halves(
        ["a", "b", "c", "d", "e"],
        3,
        occupations=["nurse", "boss"],
        sembias=SEMBIAS,
        query=query,
        sets=[SIMILAR],
    )
    assert (first.name, second.name) == ("choose", "report")
    assert sorted([*first.vocabulary, *second.vocabulary]) == ["a", "b", "c", "d", "e"]
    assert len(first.occupations) == len(second.occupations) == 1
    assert first.sembias is not None
    assert second.sembias is not None
    pairs = [{question[3] for question in half.sembias.questions} for half in (first, second)]
    assert not pairs[0] & pairs[1]
    assert len(first.sembias.questions) + len(second.sembias.questions) == len(SEMBIAS.questions)
    assert first.query is not None
    assert second.query is not None
    for whole, chosen, other in zip(
        (*query.targets, *query.attributes),
        (*first.query.targets, *first.query.attributes),
        (*second.query.targets, *second.query.attributes),
        strict=True,
    ):
        assert whole[0] == chosen[0] == other[0]
        assert not set(chosen[1]) & set(other[1])
        assert {*chosen[1], *other[1]} == {*whole[1]}
    scores = dict(zip(SIMILAR.pairs, SIMILAR.scores, strict=True))
    (chosen,), (other,) = first.sets, second.sets
    assert not set(chosen.pairs) & set(other.pairs)
    assert (
        dict(zip(chosen.pairs + other.pairs, chosen.scores + other.scores, strict=True)) == scores
    )


def test_too_few_words_cannot_be_divided() -> None:
    with pytest.raises(WordbiasError, match=r"3 neutral words: .* at least 4 are needed"):
        make_halves(["a", "b", "c"], 0)


# Candidates and measures


def test_every_candidate_of_the_grid_is_a_call_of_its_methods() -> None:
    assert list(parse_columns(GRID)) == list(GRID)


def test_signed_means_are_nothing_to_choose_by_and_other_names_are_listed(few: Embedding) -> None:
    assert {"midb", "midb-unit"}.isdisjoint(metric_names())
    assert {"midb-abs", "direct-bias", "clustering-accuracy", "gipe", "weat"} <= {*metric_names()}
    with pytest.raises(WordbiasError, match=r"--by=midb: expected one of midb-abs, .*, lean$"):
        task_of(few, "midb")


def test_a_measure_without_a_value_before_says_why(few: Embedding) -> None:
    with pytest.raises(
        WordbiasError, match=r"no value before on one half .* wordbias fetch sembias"
    ):
        task_of(few, "sembias-none")
    with pytest.raises(WordbiasError, match=r"no value before .* 2500 words a side"):
        task_of(few, "recoverability-mlp")


# Values on a half


@pytest.mark.parametrize(
    "metric",
    ["midb-abs", "midb-unit-rms", "direct-bias", pytest.param("gipe", marks=pytest.mark.slow)],
)
def test_a_value_is_that_of_the_measure_on_the_words_of_the_half(
    few: Embedding, metric: str
) -> None:
    """Also its interval: the bootstrap values that changes are made of are those of the row."""
    task = task_of(few, metric)
    after = fit_chain("hard", task.part)[1]
    panel = Panel(after, task.part, task.chosen_on.vocabulary)
    measured = measure(task, task.chosen_on, after)
    family = "midb" if metric.startswith("midb") else metric
    row = next(row for row in evaluate(panel, [family]) if row.measure == metric)
    assert (measured.value, measured.details) == (row.value, row.details)
    ends = np.percentile(measured.draws["sample"].values, [2.5, 97.5])
    assert tuple(ends) == pytest.approx((row.details["low"], row.details["high"]))


def test_questions_are_drawn_by_the_pairs_that_they_cross(few: Embedding) -> None:
    task = task_of(few, "sembias-stereotype", sembias=SEMBIAS, seed=1)
    measured = measure(task, task.reported_on, task.part)
    n, value = measured.details["n"], measured.value
    assert n == 6
    assert measured.details["set"] == "all"
    assert value is not None
    assert 0 < value < 1
    samples = measured.draws["sample"].values
    error = math.sqrt(value * (1 - value) / n)  # of independent questions; crossed, up to √3 times
    assert samples.mean() == pytest.approx(value, abs=0.15 * error)
    assert error < samples.std() < 1.25 * math.sqrt(3) * error


def test_an_association_test_is_that_of_the_halved_sets(few: Embedding) -> None:
    from wordbias.measures.weat import weat

    task = task_of(few, "weat")
    half = task.reported_on
    assert half.query is not None
    (row,) = weat(few, half.query)
    measured = measure(task, half, task.part)
    assert measured.value == pytest.approx(abs(row.value or 0))
    assert measured.details["set"] == "weat6"
    assert measured.details["n"] == row.details["n"]
    named = {query.name for query in load_queries()}
    assert main_query(Attribute.load("religion:christian,muslim")).name not in named


def test_the_lean_of_occupations_is_along_the_axis_before(few: Embedding) -> None:
    task = task_of(few, "lean")
    half = task.chosen_on
    g = few["she"].astype(float) - few["he"]
    g /= np.linalg.norm(g)

    def lean(embedding: Embedding) -> float:
        def cosines(words: Any) -> Any:
            x = embedding[list(words)].astype(float)
            return x @ g / np.linalg.norm(x, axis=1)

        leans = cosines(half.occupations) - cosines(half.vocabulary).mean()
        return float(np.abs(leans).mean())

    assert measure(task, half, task.part).value == pytest.approx(lean(few), rel=1e-5)
    hard = fit_chain("hard:direction=she-he", task.part)[1]
    assert measure(task, half, hard).value == pytest.approx(lean(hard), rel=1e-5)
    assert lean(hard) < lean(few) / 2


# Changes


def test_a_paired_change_is_narrower_than_one_of_independent_values(few: Embedding) -> None:
    task = task_of(few, "direct-bias")
    half = task.chosen_on
    before = measure(task, half, task.part)
    after = measure(task, half, fit_chain("misp", task.part)[1])
    paired = change_keys(before, after, independent=True)
    apart = change_keys(replace(before, draws={}), replace(after, draws={}), independent=True)
    ends = [(about["change_low"], about["change_high"]) for about in (paired, apart)]
    assert ends[1][0] < ends[0][0] < (after.value or 0) - (before.value or 0) < ends[0][1]
    assert np.ptp(ends[0]) < np.ptp(ends[1]) / 2
    assert set(change_keys(before, before).values()) == {0}


WIDTHS = st.floats(0, 3)


@given(st.floats(-5, 5), st.floats(-5, 5), WIDTHS, WIDTHS)
def test_independent_intervals_that_are_symmetric_add_as_variances_do(
    a: float, b: float, wide: float, other: float
) -> None:
    def value(middle: float, half: float) -> Row:
        return Row("x", "m", middle, {"low": middle - half, "high": middle + half})

    change = change_keys(value(a, wide), value(b, other), independent=True)
    half = math.hypot(wide, other)
    ends = change["change_low"], change["change_high"]
    assert ends == pytest.approx((b - a - half, b - a + half), abs=1e-9)
    assert "change_low" not in change_keys(value(a, wide), value(b, other))


def test_without_an_interval_a_change_has_none() -> None:
    known = Row("x", "m", 1.0, {"low": 0.5, "high": 1.5})
    assert change_keys(known, Row("x", "m", 1.0), independent=True) == {"change": 0}
    assert change_keys(Row("x", "m", None), known, independent=True) == {}


# Costs


@pytest.mark.slow
def test_neighbours_kept_are_those_among_all_neutral_words(few: Embedding) -> None:
    task = task_of(few, "direct-bias", sets=[SIMILAR])
    half = task.reported_on
    same = cost_rows(task, half, task.part)
    assert [row.value for row in same if row.measure == "neighbours-preserved"] == [1.0]
    assert [row.details["stage"] for row in same] == ["after", "before", "after"]
    assert same[1].value == same[2].value

    after = fit_chain("inlp:rounds=4", few)[1].subset(task.part.words)
    preserved = cost_rows(task, half, after)[0]
    neutral = task.part.subset(task.vocabulary)
    changed = after.subset(task.vocabulary)
    shares = [
        len({w for w, _ in neutral.most_similar(word)} & {w for w, _ in changed.most_similar(word)})
        for word in half.vocabulary[:300]
    ]
    assert preserved.value == pytest.approx(np.mean(shares) / 10, abs=0.03)
    assert preserved.details["n"] == 1000
    assert preserved.details["low"] < preserved.value < preserved.details["high"]


def test_a_row_has_its_change_costs_and_half(few: Embedding) -> None:
    task = task_of(few, "midb-abs", sets=[SIMILAR])
    before, after, *costs = compare(task, task.reported_on, fit_chain("misp", few)[1], "misp")
    assert before.value == task.before["report"].value
    assert after.details["change"] == pytest.approx((after.value or 0) - (before.value or 0))
    assert after.details["change_low"] < after.details["change"] < after.details["change_high"] < 0
    old, new = (row.value or 0 for row in costs if row.measure == "similarity")
    assert after.details["costs"] == {
        "neighbours": costs[0].value,
        "similarity": pytest.approx(new / old),
    }
    assert after.details["kept"] == min(after.details["costs"].values())
    assert {row.details["half"] for row in (before, after, *costs)} == {"report"}


def test_a_method_that_fails_is_tried_with_a_reason(few: Embedding) -> None:
    task = task_of(few, "direct-bias")
    (gone,) = parse_columns("gn-glove").values()
    attempt = try_candidate(task, gone)
    assert (attempt.row.value, attempt.kept, attempt.improves) == (None, None, False)
    assert "GN-GloVe" in attempt.row.details["reason"]
    narrow = few.with_vectors(few.vectors[:, :99])
    with pytest.raises(WordbiasError, match="its vectors have 99 dimensions and those before 100"):
        compare(task, task.chosen_on, narrow, "narrow")
    huge = few.with_vectors(np.full_like(few.vectors, np.inf))
    with pytest.raises(WordbiasError, match="a value that is not finite"):
        compare(task, task.chosen_on, huge, "huge")


# Choosing


def tried(
    label: str, value: float | None, kept: float = 0.99, *, moved: float = 0.1, **more: Any
) -> Tried:
    """A candidate on a measure that was 0.5 before, with a change of ± 0.01."""
    details: dict[str, Any] = {**ideal("direct-bias"), "kept": kept, "costs": {"neighbours": kept}}
    if value is not None:
        change = value - 0.5
        details |= {"change": change, "change_low": change - 0.01, "change_high": change + 0.01}
    else:
        details = {"reason": "undefined: no axis"}
    row = Row("few", "direct-bias", value, {**details, "moved": moved, **more})
    return Tried(label, row)


@pytest.fixture(scope="module")
def task(few: Embedding) -> Task:
    return task_of(few, "direct-bias")


def test_the_best_of_those_that_keep_enough_is_chosen(task: Task) -> None:
    attempts = [tried("hard", 0.1, 0.9), tried("misp", 0.3, 0.95), tried("oscar", 0.4, 0.99)]
    assert choose(task, attempts, 0.9).candidate == "hard"
    assert choose(task, attempts, 0.95).candidate == "misp"
    assert choose(task, attempts, 0.951).candidate == "oscar"


def test_of_equal_ones_that_which_moves_words_least(task: Task) -> None:
    attempts = [tried("a", 0.1, moved=0.3), tried("b", 0.1 + 1e-9, moved=0.2), tried("c", None)]
    assert choose(task, attempts, 0.9).candidate == "b"


def test_a_change_whose_interval_holds_0_is_no_improvement(task: Task) -> None:
    assert not tried("a", 0.491).improves
    assert tried("a", 0.489).improves
    assert choose(task, [tried("a", 0.491), tried("b", 0.489)], 0.9).candidate == "b"
    with pytest.raises(WordbiasError) as refused:
        choose(task, [tried("a", 0.491), tried("b", 0.495), tried("c", 0.1, 0.5)], 0.9)
    assert str(refused.value) == (
        "few: 2 methods tried with 90% kept, and none improves direct bias by an interval that "
        "excludes 0; the nearest, a, keeps 99.0% and takes direct bias from 0.5000 to 0.4910 "
        "(change -0.0190 to 0.0010); give a lower --keep, or other methods"
    )


def test_where_none_keeps_enough_the_error_names_the_nearest(task: Task) -> None:
    attempts = [tried("hard", 0.1, 0.8), tried("misp", 0.3, 0.88), tried("oscar", 0.6, 0.89)]
    with pytest.raises(WordbiasError) as refused:
        choose(task, attempts, 0.9)
    assert str(refused.value) == (
        "few: no method keeps 90% of neighbours; the nearest, misp, keeps 88.0% and takes direct "
        "bias from 0.5000 to 0.3000 (change -0.2100 to -0.1900); give a lower --keep, or other "
        "methods"
    )


def test_where_none_has_a_value_the_error_says_why(task: Task) -> None:
    with pytest.raises(WordbiasError, match="no method gives a value of direct bias; a: undefined"):
        choose(task, [tried("a", None), tried("b", None)], 0.9)


def test_where_higher_is_better_the_highest_is_chosen(few: Embedding) -> None:
    assert MEASURES["sembias-definition"].better == "higher"
    task = task_of(few, "sembias-definition", sembias=SEMBIAS)
    attempts = [tried("a", 0.6, better="higher"), tried("b", 0.7, better="higher"), tried("c", 0.2)]
    assert choose(task, attempts[:2], 0.9).candidate == "b"
    assert not tried("d", 0.3, better="higher").improves
