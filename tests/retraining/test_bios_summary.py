"""The summary of runs: against numpy, tables worked out by hand, and the published figures."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_runs import (
    PUBLISHED,
    PUBLISHED_COMPRESSION,
    compression_rows,
    gap_rows,
    published_rows,
    row,
)
from scipy import stats

from wordbias.rendering import as_json
from wordbias.results import Row
from wordbias.retraining.conclusions import conclusions
from wordbias.retraining.results import (
    ACCURATE,
    AFTER,
    BEFORE,
    CEAT,
    COMPRESSED,
    COMPRESSED_WITHIN,
    GAPS,
    KNOWING_CLASS,
    OCCUPATION,
    REPRESENTATION,
    RESTORED,
    Runs,
)
from wordbias.retraining.summary import (
    ALL_RUNS,
    FEWEST,
    R_SQUARED,
    PairedTest,
    Summary,
    associate,
    paired_test,
    restored_share,
    too_few,
    with_holm,
)

TPR_S, FPR_S = GAPS[1], GAPS[3]
NUMBERS = st.floats(-100, 100).map(lambda x: round(x, 3))
SEEDS = 6


def two_strategies(x: list[float], y: list[float], z: list[float]) -> list[Row]:
    half = len(x) // 2
    halves = {"none": slice(0, half), "scrub": slice(half, None)}
    rows = list(compression_rows({name: x[part] for name, part in halves.items()}))
    for stage, values in ((BEFORE, y), (AFTER, z)):
        rows += gap_rows(TPR_S, stage, {name: values[part] for name, part in halves.items()})
    return rows


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=8, max_size=8))
def test_r_squared_is_that_of_numpy(triples: list[tuple[float, float, float]]) -> None:
    x, y, z = (list(values) for values in zip(*triples, strict=True))
    summary = Summary.of(two_strategies(x, y, z))
    differences = (np.array(z) - np.array(y)).tolist()
    for stage, values in ((BEFORE, y), (AFTER, z), (RESTORED, differences)):
        debiased = slice(4, None)
        every = debiased if stage == RESTORED else slice(None)
        for name, part in (("", every), ("none", slice(4)), ("scrub", debiased)):
            association = summary.association(COMPRESSED, TPR_S, stage, name)
            a, b = x[part], values[part]
            if min(np.ptp(a) / max(1e-9, max(map(abs, a))), np.ptp(b)) < 1e-3:
                continue  # constant, or nearly
            assert association.n == len(a)
            assert association.r2 == pytest.approx(np.corrcoef(a, b)[0, 1] ** 2, abs=1e-9)
            assert association.p == pytest.approx(stats.pearsonr(a, b).pvalue, abs=1e-9)


def test_r_squared_of_a_table_worked_out_by_hand() -> None:
    # x − 2.5 = −1.5, −.5, .5, 1.5; y − 2 = −1, −1, 1, 1: Sxy = 4, Sxx = 5, Syy = 4; R² = 16/20
    summary = Summary.of(two_strategies([1, 2, 3, 4], [1, 1, 3, 3], [4, 3, 2, 1]))
    assert summary.association(COMPRESSED, TPR_S, BEFORE).r2 == pytest.approx(0.8, abs=1e-12)
    after = summary.association(COMPRESSED, TPR_S, AFTER)
    assert (after.r, after.r2) == (pytest.approx(-1), pytest.approx(1))
    within = summary.association(COMPRESSED, TPR_S, AFTER, "none")
    assert (within.r2, within.n) == (None, 2)
    assert within.reason == "2 runs have both, needed are 3"


def test_a_constant_has_no_r_squared() -> None:
    summary = Summary.of(two_strategies([1, 2, 3, 4], [5, 5, 5, 5], [1, 2, 4, 3]))
    association = summary.association(COMPRESSED, TPR_S, BEFORE)
    assert (association.r2, association.p) == (None, None)
    assert association.reason == "TPR gap (S) is the same in all 4 runs"
    assert summary.association(COMPRESSED, FPR_S, BEFORE).reason == "0 runs have both, needed are 3"


def test_runs_without_a_value_are_left_out_of_both() -> None:
    rows = two_strategies([1, 2, 3, 9, 4, 5], [1, 1, 3, 9, 3, 2], [0] * 6)
    undefined = [
        Row(run_row.subject, run_row.measure, None, {**run_row.details, "reason": "because"})
        if run_row.value == 9 and run_row.measure == "compression"
        else run_row
        for run_row in rows
    ]
    association = Summary.of(undefined).association(COMPRESSED, TPR_S, BEFORE)
    assert association.n == 5
    assert association.r == pytest.approx(np.corrcoef([1, 2, 3, 4, 5], [1, 1, 3, 3, 2])[0, 1])


@given(st.lists(NUMBERS, min_size=2, max_size=10))
def test_mean_and_deviation_are_those_of_numpy(values: list[float]) -> None:
    cell = Summary.of(list(compression_rows({"none": values}))).cell(
        COMPRESSED, "none", REPRESENTATION
    )
    assert cell.spread.n == len(values)
    assert cell.spread.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert cell.spread.sd == pytest.approx(np.std(values, ddof=1), abs=1e-9)


def test_one_seed_has_no_deviation_and_none_no_mean() -> None:
    rows = [*compression_rows({"none": [2.0], "scrub": [None]}, reason="too few")]
    summary = Summary.of(rows)
    assert summary.cell(COMPRESSED, "none", REPRESENTATION).spread == (2.0, None, 1)
    scrub = summary.cell(COMPRESSED, "scrub", REPRESENTATION)
    assert (scrub.spread, scrub.reason) == ((None, None, 0), "too few")
    assert summary.cell(TPR_S, "none", BEFORE).spread.n == 0


def test_compression_within_classes_is_that_of_all_their_bits() -> None:
    # 100 genders in 50 bits and 300 in 300: 400 in 350
    rows = [
        row("none", "compression", 7.0, 0),
        row("none", "compression", 2.0, 0, part="nurse", n=100),
        row("none", "compression", 1.0, 0, part="surgeon", n=300),
        row("none", "compression", None, 0, part="poet", n=3, reason="too few"),
        row("none", "codelength", 50.0, 0, part="nurse", n=100),
    ]
    runs = Runs.of(rows)
    assert runs.column(COMPRESSED_WITHIN, "none", REPRESENTATION) == pytest.approx([400 / 350])
    about = runs.details(COMPRESSED_WITHIN, "none", REPRESENTATION)
    assert (about["classes_measured"], about["n"]) == (2, 400)
    assert runs.column(COMPRESSED, "none", REPRESENTATION).tolist() == [7.0]


def test_baselines_are_no_strategies_and_no_points() -> None:
    values = {"pretrained": [9.0] * 3, "untrained": [8.0] * 3, "none": [1.0, 2.0, 4.0]}
    rows = [*compression_rows(values), *gap_rows(TPR_S, BEFORE, {"none": [1.0, 2.0, 4.0]})]
    summary = Summary.of(rows)
    assert summary.runs.strategies == ("none",)
    assert summary.runs.baselines == ("pretrained", "untrained")
    assert summary.association(COMPRESSED, TPR_S, BEFORE).n == 3
    assert summary.cell(COMPRESSED, "untrained", REPRESENTATION).spread.mean == 8
    assert summary.cell(COMPRESSED, "untrained", REPRESENTATION).test is None


def test_ceat_is_found_whatever_its_stimuli_are_called() -> None:
    rows = [row("none", "ceat", 0.5, 0, part="weat6"), row("none", "compression", 2.0, 0)]
    assert Summary.of(rows).cell(CEAT, "none", REPRESENTATION).spread.mean == 0.5


def test_rows_of_something_else_are_left_out() -> None:
    rows = [Row("a", "weat", 1.0), *compression_rows({"none": [2.0]})]
    assert Summary.of(rows).runs.strategies == ("none",)


def made(seeds: int, shift: float = 0.0) -> list[Row]:
    rng = np.random.default_rng(8)
    base = rng.normal(2, 0.1, seeds)
    values = {"none": base.tolist(), "scrub": (base - 0.5).tolist(), "swap": base.tolist()}
    rows = [*compression_rows(values), *gap_rows(TPR_S, BEFORE, values)]
    other = {"scrub": (base - 0.4).tolist()}
    return [*rows, *gap_rows(TPR_S, BEFORE, other, view="original"), *made_within(seeds)]


def made_within(seeds: int) -> list[Row]:
    return [row("none", "compression", 1.5, seed, part="nurse", n=50) for seed in range(seeds)]


def test_stars_are_of_pairs_of_seeds_and_against_none() -> None:
    summary = Summary.of(made(SEEDS))
    scrub, swap = (summary.cell(TPR_S, name, BEFORE) for name in ("scrub", "swap"))
    assert scrub.test is not None
    assert swap.test is not None
    assert scrub.test.p == 2 / 2**SEEDS
    assert scrub.test.is_significant
    assert swap.test.p == 1
    assert summary.cell(TPR_S, "none", BEFORE).test is None
    original = summary.cell(TPR_S, "scrub", BEFORE, "original").test
    assert original is not None  # against none on the texts as they were, which are its own
    assert original.p == 2 / 2**SEEDS


def with_null(seeds: int) -> list[Row]:
    """Add the random change of scrubbing, .1 below none, and compressions of both."""
    rng = np.random.default_rng(8)
    base = rng.normal(2, 0.1, seeds)
    null = {"random-scrub": (base - 0.1 + rng.normal(0, 0.001, seeds)).tolist()}
    return [*made(seeds), *gap_rows(TPR_S, BEFORE, null), *compression_rows(null)]


def test_a_strategy_is_tested_against_its_random_change() -> None:
    rows = with_null(SEEDS)
    summary = Summary.of(rows)
    scrub, swap, null = (
        summary.cell(TPR_S, name, BEFORE) for name in ("scrub", "swap", "random-scrub")
    )
    assert scrub.null_test is not None
    values = {
        name: [r.value for r in rows if r.subject == name and r.measure == "tpr-gap"
               and r.details["view"] == "own"]
        for name in ("scrub", "random-scrub")
    }  # fmt: skip
    expected = stats.ttest_rel(values["scrub"], values["random-scrub"]).confidence_interval()
    assert scrub.null_test.interval is not None
    assert scrub.null_test.interval == pytest.approx([expected.low, expected.high])
    assert scrub.null_test.difference == pytest.approx(-0.4, abs=0.01)
    assert scrub.null_test.p == 2 / 2**SEEDS
    assert swap.null_test is None  # it was run without one
    assert null.null_test is None
    assert null.test is not None
    assert null.test.difference == pytest.approx(-0.1, abs=0.01)
    scrub_row = next(r for r in summary.rows() if (r.subject, r.measure) == ("scrub", "tpr-gap"))
    assert scrub_row.details["null"] == "random-scrub"
    assert scrub_row.details["null_change"] == scrub.null_test.difference
    assert scrub_row.details["null_p"] == 2 / 2**SEEDS
    corrected = Summary.of(rows, correct=True)
    of_none = corrected.cell(TPR_S, "scrub", BEFORE)
    assert of_none.test is not None
    assert of_none.null_test is not None
    assert of_none.test.p == 3 * 2 / 2**SEEDS  # of two strategies and the random change
    assert of_none.null_test.p == 2 / 2**SEEDS  # of one


def test_random_changes_are_no_points_of_associations() -> None:
    without, beside = Summary.of(made(SEEDS)), Summary.of(with_null(SEEDS))
    for association, other in zip(without.associations, beside.associations, strict=True):
        assert association == other
    assert beside.runs.debiased() == ("scrub", "swap")
    text = " ".join(conclusions(beside))
    assert "TPR gap (S) compared with random changes of the same size (none: " in text
    assert f"p = {2 / 2**SEEDS:.3f}" in text
    assert "random changes" not in " ".join(conclusions(without))


def test_below_six_seeds_nothing_is_tested() -> None:
    test = Summary.of(made(SEEDS - 1)).cell(TPR_S, "scrub", BEFORE).test
    assert test is not None
    assert test.p is None
    assert "can have is 0.0625" in test.reason


def test_the_correction_counts_the_tests_of_a_stage() -> None:
    summary = Summary.of(made(SEEDS), correct=True)
    test = summary.cell(TPR_S, "scrub", BEFORE).test
    assert test is not None
    assert test.p == 2 * 2 / 2**SEEDS  # of two strategies
    assert not test.is_significant


def test_rows_are_for_machines() -> None:
    rows = Summary.of(made(SEEDS)).rows()
    for summary_row in rows:
        record = json.loads(as_json(summary_row.to_dict()))
        assert record["better"] in ("lower", "neutral")
        assert record["neutral"] == (1 if record.get("classes_measured") else 0)
        assert record["seeds"] == list(range(SEEDS))
        assert record["value"] is not None or record["reason"]
        assert "seed" not in record  # which is what rows of jobs have
    squares = {
        (square.subject, *(square.details[key] for key in ("x", "x_set", "y", "set", "stage")))
        for square in rows
        if square.measure == R_SQUARED
    }
    assert {name for name, *_ in squares} == {ALL_RUNS, "none", "scrub", "swap"}
    assert len(squares) == 4 * 3 * len(GAPS) * 3
    mean = next(
        gap_row for gap_row in rows if gap_row.measure == "tpr-gap" and gap_row.subject == "scrub"
    )
    assert mean.details["p"] == 2 / 2**SEEDS
    assert "sign-flip" in mean.details["test"]
    assert Summary.of(rows).runs.strategies == ()  # they are not taken for runs


def test_the_published_means_have_the_published_order() -> None:
    """Tables 3 and 4: more R² after retraining for all metrics but the sum of FPR gaps (§4.3)."""
    runs = Runs.of(published_rows())
    for metric in GAPS:
        before, after = (associate(runs, COMPRESSED, metric, s).r2 for s in (BEFORE, AFTER))
        assert before is not None
        assert after is not None
        assert (after > before) == (metric != FPR_S)
    summary = Summary.of(published_rows())
    order = sorted(PUBLISHED_COMPRESSION, key=lambda name: PUBLISHED_COMPRESSION[name])
    ordered = ", ".join(f"{name} {PUBLISHED_COMPRESSION[name]:.3f}" for name in order)
    assert f"from least to most: {ordered}." in conclusions(summary)[0]
    assert "larger after retraining than before for 8 of 9 metrics" in conclusions(summary)[2]


def test_what_the_published_retraining_brings_back() -> None:
    summary = Summary.of(published_rows())
    before, after = ({k: v[2] for k, v in PUBLISHED[stage].items()} for stage in (BEFORE, AFTER))
    for name in ("subsample", "oversample", "scrub"):
        share = (after[name] - before[name]) / (before["none"] - before[name])
        assert restored_share(summary, OCCUPATION.main, name) == pytest.approx(share)
    assert restored_share(summary, OCCUPATION.main, "none") is None
    conclusion = conclusions(summary)[1]
    assert "subsample 71 % (1.598 → 2.164)" in conclusion  # superficial
    assert "oversample 182 % (2.145 → 2.593)" in conclusion
    assert "scrub −8 % (2.019 → 1.989)" in conclusion  # absorbed
    assert "of none (2.391)" in conclusion


GAP = [1.0, 1.1, 1.2, 1.3, 1.2, 1.1]


@pytest.mark.parametrize(
    ("before", "after", "random", "verdict"),
    [
        (0.1, 1.0, None, "comes back"),
        (0.1, 0.6, None, "comes back in part"),
        (0.1, 0.1, None, "stays away"),
        (0.1, 0.1, 1.0, "stays away"),
        (0.1, 0.1, 0.1, "cannot tell"),
        (1.0, 1.0, None, "not shown to be lower"),
    ],
)
def test_whether_the_gap_comes_back(
    before: float, after: float, random: float | None, verdict: str
) -> None:
    """Gaps of an arm and of its random change as shares of those of none, over six seeds."""
    shares = {BEFORE: {"none": 1.0, "leace": before}, AFTER: {"none": 1.0, "leace": after}}
    if random is not None:
        shares[BEFORE]["random-leace"] = shares[AFTER]["random-leace"] = random
    rows = [
        row
        for stage, of in shares.items()
        for row in gap_rows(TPR_S, stage, {name: [x * y for y in GAP] for name, x in of.items()})
    ]
    summary = Summary.of(rows)
    (returned,) = summary.returns
    assert (returned.strategy, returned.verdict) == ("leace", verdict)
    changes = [(after - before) * y for y in GAP]
    assert returned.test.difference == pytest.approx(np.mean(changes), abs=1e-12)
    (line,) = [row for row in summary.rows() if row.details.get("stage") == RESTORED
               and row.measure == OCCUPATION.main.measure]  # fmt: skip
    assert (line.details["verdict"], line.details["n"]) == (verdict, SEEDS)
    assert line.details["change_low"] <= line.value <= line.details["change_high"]
    (conclusion,) = [sentence for sentence in conclusions(summary) if "come back when" in sentence]
    assert f"leace: {verdict}" in conclusion
    assert f" ({np.mean(changes):+.3f}, 95 %" in conclusion
    off = (1 - before) * np.mean(GAP)
    assert (f", of {off:.3f} taken off)" in conclusion) == (off > 0)
    few = Summary.of([run_row for run_row in rows if run_row.details["seed"] < 5])
    assert [outcome.verdict for outcome in few.returns] == ["cannot tell"]


def test_rewritten_texts_are_not_what_the_model_will_meet() -> None:
    values = {"scrub": [1.0, 1.2]}
    rows = [*gap_rows(TPR_S, BEFORE, values, view="original")]
    rows += gap_rows(TPR_S, AFTER, {"scrub": [1.5, 1.9]}, view="original")
    rows += [*gap_rows(TPR_S, BEFORE, values), *gap_rows(TPR_S, AFTER, values)]
    (conclusion,) = [line for line in conclusions(Summary.of(rows)) if "rewritten too" in line]
    assert conclusion.startswith("scrub: ")
    assert "its TPR gap (S) is 1.100, and 1.700 after retraining on them" in conclusion


def test_a_strategy_that_took_nothing_off_has_nothing_to_bring_back() -> None:
    values = {"none": [1.0], "scrub": [1.0], "swap": [1.5]}
    rows = [row for stage in (BEFORE, AFTER) for row in gap_rows(TPR_S, stage, values)]
    summary = Summary.of(rows)
    assert restored_share(summary, TPR_S, "scrub") is None
    assert restored_share(summary, TPR_S, "swap") is None
    assert not any("brings back" in line for line in conclusions(summary))


@pytest.mark.parametrize(
    ("trained", "is_said"),
    [
        ([0.5, 0.4, 0.6], True),
        ([0.5], True),  # one seed has no interval
        ([0.1, 1.4, 1.3], False),  # lower on average, with an interval that contains 0
        ([0.98], False),  # a fiftieth: a share of it could be of any size
    ],
)
def test_a_share_is_of_what_is_shown_to_be_taken_off(trained: list[float], is_said: bool) -> None:
    before = {"none": [1.0, 1.1, 0.9][: len(trained)], "swap": trained}
    after = {**before, "swap": [0.8] * len(trained)}
    rows = [*gap_rows(TPR_S, BEFORE, before), *gap_rows(TPR_S, AFTER, after)]
    assert any("brings back" in line for line in conclusions(Summary.of(rows))) == is_said


def restored_rows(slope: float) -> list[Row]:
    """Return runs in which retraining adds to each sum of gaps in proportion to compression."""
    rng = np.random.default_rng(1)
    x = {name: (1 + i + rng.random(3)).tolist() for i, name in enumerate(("none", "a", "b", "c"))}
    rows = list(compression_rows(x))
    for metric in GAPS:
        before = {name: rng.random(3).tolist() for name in x}
        after = {
            name: [b + slope * c for b, c in zip(before[name], x[name], strict=True)] for name in x
        }
        rows += [*gap_rows(metric, BEFORE, before), *gap_rows(metric, AFTER, after)]
    return rows


@pytest.mark.parametrize(
    ("slope", "answer", "r", "pairs"),
    [
        (0.5, "Yes, for all 6 sums (r > 0, p < .05)", "1.00, p", 3),
        (-0.5, "No, the other way round for 6 (r < 0, p < .05)", "-", 0),
    ],
)
def test_the_answer_follows_the_figures(slope: float, answer: str, r: str, pairs: int) -> None:
    conclusion = conclusions(Summary.of(restored_rows(slope)))[-1]
    over = f"Over 9 runs on debiased data: TPR gap (S) r = {r}"
    assert f"(after − before)? {answer}. {over}" in conclusion
    assert "Of 3 pairs of strategies that differ in both, the one" in conclusion
    assert f"by retraining in {pairs} (means over seeds)" in conclusion


def test_few_runs_that_do_not_agree_show_nothing() -> None:
    """No claim that compression does not predict: three runs could not tell."""
    rows = list(compression_rows({"none": [1.0], "a": [1.0], "b": [2.0], "c": [3.0]}))
    after = {"none": [0.5], "a": [0.2], "b": [0.1], "c": [0.2]}
    for metric in GAPS:
        rows += [*gap_rows(metric, BEFORE, {name: [0.0] for name in after})]
        rows += [*gap_rows(metric, AFTER, after)]
    conclusion = conclusions(Summary.of(rows))[-1]
    assert "(after − before)? Not shown (p < .05 for none of 6 sums). Over 3 runs" in conclusion


def test_strategies_with_one_compression_are_in_no_order() -> None:
    """As those of a frozen encoder, of which only scrubbing changes the vectors."""
    x = {"none": [2.0, 3.0], "subsample": [2.0, 3.0], "oversample": [2.0, 3.0], "scrub": [1.0, 1.5]}
    before = {name: [0.1, 0.2] for name in x} | {"none": [1.0, 1.5], "scrub": [0.5, 0.5]}
    after = {name: [1.0, 1.5] for name in x} | {"scrub": [0.5, 0.6]}
    rows = list(compression_rows(x))
    for metric in GAPS:
        rows += [*gap_rows(metric, BEFORE, before), *gap_rows(metric, AFTER, after)]
    conclusion = conclusions(Summary.of(rows))[-1]
    assert (
        "Of 2 pairs of strategies that differ in both" in conclusion
    )  # scrub with each of the others
    assert "by retraining in 2 (means over seeds)" in conclusion
    alike = [run_row for run_row in rows if run_row.subject != "scrub"]
    alike += [Row("swap", r.measure, r.value, r.details) for r in alike if r.subject == "subsample"]
    assert "the same compression or gain alike" in conclusions(Summary.of(alike))[-1]


def test_a_model_of_the_data_as_they_are_has_nothing_to_restore() -> None:
    """Its runs would hide how the others go together: here they go together exactly."""
    x = {"none": [9.0, 4.0], "a": [1.0, 2.0], "b": [3.0, 5.0]}
    rows = list(compression_rows(x))
    for metric in GAPS:
        rows += [*gap_rows(metric, BEFORE, {name: [0.0, 0.0] for name in x})]
        rows += [*gap_rows(metric, AFTER, {**x, "none": [0.0, 0.0]})]
    association = Summary.of(rows).association(COMPRESSED, TPR_S, RESTORED)
    assert (association.n, association.r) == (4, pytest.approx(1))
    assert Summary.of(rows).association(COMPRESSED, TPR_S, AFTER).n == 6
    alone = Summary.of([run_row for run_row in rows if run_row.subject == "none"] * 2)
    assert alone.association(COMPRESSED, TPR_S, RESTORED).n == 0
    assert conclusions(alone)[-1].endswith("The runs do not tell: 0 runs have both, needed are 3.")


def test_where_retraining_changes_nothing_nothing_is_predicted() -> None:
    conclusion = conclusions(Summary.of(restored_rows(0.0)))[-1]
    assert conclusion.endswith("The runs do not tell: TPR gap (S) is the same in all 9 runs.")


def test_too_few_runs_do_not_tell() -> None:
    rows = two_strategies([1, 2], [1, 2], [2, 1])
    sentences = conclusions(Summary.of(rows))
    assert sentences[-1].endswith("The runs do not tell: 1 run has both, needed are 3.")


def test_accuracy_is_a_metric_like_the_others() -> None:
    rows = [row("none", "accuracy", 0.8, seed, stage=BEFORE) for seed in range(3)]
    assert Summary.of(rows).cell(ACCURATE, "none", BEFORE).spread == (
        pytest.approx(0.8),
        pytest.approx(0, abs=1e-12),
        3,
    )


def test_details_of_rows_are_kept() -> None:
    about: dict[str, Any] = {"neutral": None, "better": "higher", "classes_measured": 3}
    rows = list(gap_rows(TPR_S, BEFORE, {"none": [1.0, 2.0]}, **about))
    mean = next(
        summary_row for summary_row in Summary.of(rows).rows() if summary_row.measure == "tpr-gap"
    )
    assert mean.value == 1.5
    assert mean.details["sd"] == pytest.approx(math.sqrt(0.5))
    assert {key: mean.details[key] for key in about} == about


def test_the_control_is_a_mean_over_runs() -> None:
    rows = [row("none", "compression", 2.0, seed, control=1 + seed) for seed in range(3)]
    rows += [row("none", "compression", 2.0, 0, part="nurse", control=None)]
    runs = Runs.of(rows)
    assert runs.every(KNOWING_CLASS, REPRESENTATION).tolist() == [1, 2, 3]
    assert runs.column(COMPRESSED_WITHIN, "none", REPRESENTATION)[0] == 2


# paired tests over seeds


def test_six_pairs_are_the_fewest_that_can_have_a_star() -> None:
    assert 2 / 2**FEWEST < 0.05 <= 2 / 2 ** (FEWEST - 1)


@given(st.integers(2, 9), st.integers(0, 1000))
def test_a_difference_has_the_interval_of_scipys_paired_t_test(n: int, seed: int) -> None:
    base, values = np.random.default_rng(seed).normal(size=(2, n))
    paired, expected = paired_test(values, base), stats.ttest_rel(values, base)
    interval = expected.confidence_interval(0.95)
    assert paired.difference == pytest.approx((values - base).mean())
    assert paired.interval == pytest.approx((interval.low, interval.high))
    wide = expected.confidence_interval(0.90)
    assert paired.excluded == pytest.approx(max(abs(wide.low), abs(wide.high)))


def test_pairs_are_seeds_that_have_both() -> None:
    base = np.array([1.0, 2, 3, 4, 5, 6, np.nan, 8])
    values = base + np.array([1, 2, 3, 1, 2, 3, 9, np.nan])
    assert paired_test(values, base)[:3] == (2 / 64, 6, "")
    fewer = paired_test(values[1:], base[1:])
    assert fewer[:3] == (None, 5, "the smallest p that 5 pairs of seeds can have is 0.0625")
    assert not fewer.is_significant
    assert paired_test(values[:6], base[:6]).is_significant
    assert paired_test([np.nan], [1.0]).reason == "no seed has both"
    alone = paired_test([1.5], [1.0])
    assert (alone.difference, alone.interval, alone.excluded) == (0.5, None, None)
    assert paired_test([np.nan], [1.0]).difference is None
    assert too_few(1) == "the smallest p that 1 pair of seeds can have is 1"


def rejected(ps: list[int], level: int) -> set[int]:
    """Return which hypotheses Holm's steps reject; p and level in 64ths."""
    hypotheses: set[int] = set()
    for i in sorted(range(len(ps)), key=ps.__getitem__):
        if ps[i] * (len(ps) - len(hypotheses)) > level:
            break
        hypotheses.add(i)
    return hypotheses


@given(st.lists(st.integers(0, 64), min_size=1, max_size=12), st.integers(0, 63))
def test_holm_rejects_what_its_steps_do(ps: list[int], level: int) -> None:
    corrected = with_holm([PairedTest(p / 64, 9) for p in ps])  # whole 64ths are exact
    assert {i for i, test in enumerate(corrected) if test.p * 64 <= level} == rejected(ps, level)


def test_holm_does_not_count_what_was_not_tested() -> None:
    none = PairedTest(None, 3, "too few")
    corrected = with_holm([none, PairedTest(0.02, 9), none, PairedTest(0.03, 9)])
    assert corrected == [none, PairedTest(0.04, 9), none, PairedTest(0.04, 9)]


def _of_shares(before: float, after: float, gap: list[float], **options: Any) -> Summary:
    """Summarise gaps of leace as shares of those of none, and one more metric that goes with it."""
    shares = {BEFORE: {"none": 1.0, "leace": before}, AFTER: {"none": 1.0, "leace": after}}
    rows = [
        row
        for metric in (TPR_S, FPR_S)
        for stage, of in shares.items()
        for row in gap_rows(metric, stage, {name: [x * y for y in gap] for name, x in of.items()})
    ]
    return Summary.of(rows, **options)


def test_so_few_seeds_cannot_tell_after_a_correction() -> None:
    """Eight seeds have p = 2/2⁸ at least; times the number of tests it can be above .05."""
    gap = [1 + i / 10 for i in range(6)]
    assert _of_shares(0.1, 0.8, gap).returns[0].verdict == "comes back in part"
    (returned,) = _of_shares(0.1, 0.8, gap, correct=True).returns
    assert (returned.verdict, returned.says) == (
        "cannot tell", "cannot tell, as the seeds are too few",
    )  # fmt: skip
    longer = [1 + i / 10 for i in range(8)]
    assert _of_shares(0.1, 0.8, longer, correct=True).returns[0].verdict == "comes back in part"


def test_a_gap_that_was_turned_round_is_not_lower() -> None:
    summary = _of_shares(-4.0, -4.0, GAP)
    assert summary.returns[0].verdict == "not shown to be lower"
    assert restored_share(summary, OCCUPATION.main, "leace") is None
    assert not any("taken off" in sentence or "took off" in sentence
                   for sentence in conclusions(summary))  # fmt: skip


def test_little_that_is_back_is_a_part() -> None:
    """After retraining one seed of none is low: whether leace is lower is not shown."""
    none = [10.0 + i / 10 for i in range(6)]
    retrained = [0.1, *none[1:]]
    rows = [
        *gap_rows(TPR_S, BEFORE, {"none": none, "leace": [1 + i / 100 for i in range(6)]}),
        *gap_rows(TPR_S, AFTER, {"none": retrained, "leace": [2.05 + i / 100 for i in range(6)]}),
    ]
    summary = Summary.of(rows)
    assert not summary.cell(TPR_S, "leace", AFTER).test.is_significant  # type: ignore[union-attr]
    assert summary.returns[0].verdict == "comes back in part"


def test_differences_of_sums_are_over_the_classes_of_both() -> None:
    precision = GAPS[5]
    classes = {"none": {"a": 0.5, "b": -0.25, "c": 1.0}, "scrub": {"a": 0.25, "b": -0.5}}
    rows = []
    for name, gaps in classes.items():
        for seed in range(3):
            of_seed = {at: gap * (1 + seed / 10) for at, gap in gaps.items()}
            missing = {"left_out": ["c"]} if len(gaps) < 3 else {}
            total = sum(map(abs, of_seed.values()))
            rows += gap_rows(precision, BEFORE, {name: [total]}, **missing)
            rows[-1].details["seed"] = seed
            rows += [
                row(name, precision.measure, gap, seed, stage=BEFORE, part=at)
                for at, gap in of_seed.items()
            ]
    cell = Summary.of(rows).cell(precision, "scrub", BEFORE)
    assert cell.spread.mean == pytest.approx(0.75 * 1.1)
    assert cell.test is not None
    assert cell.test.difference == pytest.approx(0, abs=1e-12)  # .75 less .75, not less 1.75


def test_a_run_without_any_class_of_a_sum_is_no_pair() -> None:
    precision = GAPS[5]
    rows = [
        *gap_rows(precision, BEFORE, {"none": [1.0, 2.0, 3.0], "scrub": [None, 1.0, 1.0]},
                  left_out=["b"]),
        *(row("none", precision.measure, seed + 1.0, seed, stage=BEFORE, part="a")
          for seed in range(3)),
        *(row("scrub", precision.measure, 1.0, seed, stage=BEFORE, part="a") for seed in (1, 2)),
    ]  # fmt: skip
    test = Summary.of(rows).cell(precision, "scrub", BEFORE).test
    assert test is not None
    assert (test.n, test.difference) == (2, -1.5)
