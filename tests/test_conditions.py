"""Conditions: what is read is what was written, and a gate fails exactly when a row meets it."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordbias as wb
from wordbias.conditions import OPERATORS, Condition, judge, outcome_of, parse
from wordbias.draws import by_bootstrap, drawn, items_of
from wordbias.errors import UsageError

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=12)
NAMES = TEXTS | st.sampled_from(["change", "low", "high", "tpr-gap", "MIDB (unit)", 'a"b', "'"])
LIMITS = st.floats(allow_nan=False, allow_infinity=False)
CONDITIONS = st.builds(
    Condition,
    NAMES,
    st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), NAMES, max_size=3),
    st.sampled_from(["", "low", "high"]),
    st.sampled_from([*OPERATORS]),
    LIMITS,
    st.booleans(),
)


@given(CONDITIONS)
def test_what_is_written_is_read(condition: Condition) -> None:
    assert parse(str(condition)) == condition


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("tpr-gap > .1", Condition("tpr-gap", {}, "", ">", 0.1, False)),
        ("tpr-gap>=1e-3", Condition("tpr-gap", {}, "", ">=", 0.001, False)),
        ("tpr-gap[group=F] > .1", Condition("tpr-gap", {"group": "F"}, "", ">", 0.1, False)),
        ("same[subject=clean] low > 1",
         Condition("same", {"subject": "clean"}, "low", ">", 1, False)),
        (" same [ set = θ=0.03 , layer=3 ] high < -2. ",
         Condition("same", {"set": "θ=0.03", "layer": "3"}, "high", "<", -2, False)),
        ("change tpr-gap > .02", Condition("tpr-gap", {}, "", ">", 0.02, True)),
        ("change tpr-gap[set='a, \"b\"'] low>0",
         Condition("tpr-gap", {"set": 'a, "b"'}, "low", ">", 0, True)),
        ("change > 3", Condition("change", {}, "", ">", 3, False)),
        ('"change" low > 3', Condition("change", {}, "low", ">", 3, False)),
        ("change 'x''y' <= +3", Condition("x'y", {}, "", "<=", 3, True)),
    ],
)  # fmt: skip
def test_how_conditions_are_written(text: str, wanted: Condition) -> None:
    assert parse(text) == wanted


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a condition is empty"),
        ("  ", "a condition is empty"),
        ("> .1", "expected a measure, at character 1"),
        (
            "tpr-gap",
            "one of >=, <=, >, < (a shell takes > for a file, unless it is in double quotes), at "
            "character 8",
        ),
        ("tpr-gap = .1", "got =, at character 9"),
        ("tpr-gap == .1", "got ==, at character 9"),
        ("tpr-gap >> .1", "got >>, at character 9"),
        ("tpr-gap ≥ .1", "expected low, high or an operator before '≥', at character 9"),
        ("tpr-gap > ", "expected a finite number"),
        ("tpr-gap > x", "expected a finite number"),
        ("tpr-gap > nan", "expected a finite number"),
        ("tpr-gap > 1e999", "expected a finite number"),
        ("tpr-gap > 10%", "expected nothing after the number, got '%', at character 13"),
        ("tpr-gap > .1 and x > 1", "expected nothing after the number"),
        ("tpr gap > .1", "expected low, high or an operator before 'gap', at character 5"),
        ("tpr-gap mean > .1", "expected low, high or an operator before 'mean'"),
        ("tpr-gap[group] > .1", "expected = and a value after group"),
        ("tpr-gap[group=] > .1", "expected a value of group"),
        ("tpr-gap[] > .1", "expected a key"),
        ("tpr-gap[group=F > .1", "expected a comma or ]"),
        ("tpr-gap[group=F, group=M] > .1", "group is given twice"),
        ("tpr-gap[group='F] > .1", "expected a value of group"),
        ("change > change", "expected a finite number"),
    ],
)
def test_what_is_no_condition_is_refused_with_its_place(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert says in str(caught.value)
    assert "write it as" in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=30) | st.text("tpr-gap[]=,><.1 '\"lowchange", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        condition = parse(text)
    except UsageError:
        return
    assert parse(str(condition)) == condition


# judging

COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
OPPOSITE = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}
VALUES = st.integers(-3, 3).map(float)


def _rows(values: Sequence[float | None]) -> list[wb.Row]:
    return [wb.Row("a", "x", value, {"word": f"w{i}"}) for i, value in enumerate(values)]


@given(st.lists(VALUES, min_size=1), st.sampled_from([*COMPARE]), VALUES)
def test_one_row_is_enough_to_fail(values: list[float], sign: str, limit: float) -> None:
    rows = _rows(values)
    met = [COMPARE[sign](value, limit) for value in values]
    outcome = judge(f"x {sign} {limit}", rows)
    assert outcome.status == ("failed" if any(met) else "passed")
    furthest = max if sign in (">", ">=") else min
    assert outcome.value == furthest(values)
    opposite = judge(f"x {OPPOSITE[sign]} {limit}", rows, holds=True)
    assert (opposite.status, opposite.value) == (outcome.status, outcome.value)
    if sum(met) > 1:
        assert outcome.said.endswith(f"and {sum(met) - 1} more of {len(values)} rows")


@given(
    st.lists(VALUES | st.none() | st.just(float("nan")), min_size=1),
    st.sampled_from([*COMPARE]),
    st.booleans(),
)
def test_what_is_undefined_fails(values: list[float | None], sign: str, holds: bool) -> None:
    undefined = any(value is None or np.isnan(value) for value in values)
    limit = 9 if (sign in (">", ">=")) != holds else -9  # no defined value fails
    outcome = judge(f"x {sign} {limit}", _rows(values), holds=holds)
    assert outcome.status == ("failed" if undefined else "passed")
    assert ("undefined, which counts as failed" in outcome.said) == undefined


def test_a_reason_is_said_and_a_missing_interval_fails() -> None:
    rows = [wb.Row("a", "x", None, {"reason": "no pairs"}), wb.Row("a", "y", 1.0)]
    assert "undefined (no pairs), which counts as failed" in judge("x > 1", rows).said
    outcome = judge("y low > 5", rows)
    assert outcome.status == "failed"
    assert "1.0000 has no interval, so that low counts as failed" in outcome.said


ROWS = [
    wb.Row("p", "tpr-gap", 0.2, {"group": "F", "layer": 3, "low": 0.1, "high": 0.3}),
    wb.Row("p", "tpr-gap", 0.05, {"group": "M", "layer": 4, "low": 0.0, "high": 0.1}),
    wb.Row("p", "fpr-gap", 0.5, {"outcome": True, "weights": {"he": 1}}),
]


@pytest.mark.parametrize(
    ("text", "status", "value"),
    [
        ("tpr-gap[group=F] > .1", "failed", 0.2),
        ("tpr-gap[group=M] > .1", "passed", 0.05),
        ("tpr-gap[layer=3.0, group=F] low > .05", "failed", 0.2),
        ("tpr-gap[layer=4] high >= .1", "failed", 0.05),
        ("tpr-gap high < .05", "passed", 0.05),
        ("fpr-gap[outcome=true] < 1", "failed", 0.5),
        ("fpr-gap[weights_he=1] > 1", "passed", 0.5),
    ],
)
def test_keys_narrow_the_rows(text: str, status: str, value: float) -> None:
    outcome = judge(text, ROWS)
    assert (outcome.status, outcome.value) == (status, value)


def test_the_line_has_the_value_the_interval_and_what_tells_the_row_apart() -> None:
    assert judge("tpr-gap > .1", ROWS).said == "0.2000 [0.1000, 0.3000], p, group F, layer 3"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tpr-gpa > .1", "measure 'tpr-gpa': expected one of tpr-gap, fpr-gap; did you mean "
         "tpr-gap?"),
        ("tpr-gap[grup=F] > .1", "key 'grup': expected one of subject, measure, group, layer; "
         "did you mean group?"),
        ("tpr-gap[group=X] > .1", "no row has group 'X'; expected one of F, M"),
        ("tpr-gap[group=F, layer=4] > .1", "no row has layer '4'; expected one of 3"),
        ("change tpr-gap > .1", "no change of their own; give --baseline"),
    ],
)  # fmt: skip
def test_what_is_in_no_row_is_never_passed(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        judge(text, ROWS)
    assert says in str(caught.value)
    outcome = outcome_of(text, ROWS)
    assert (outcome.status, outcome.row) == ("error", None)
    assert says in outcome.said


def test_a_correlation_that_has_the_name_of_the_gaps_is_asked_for_by_its_key() -> None:
    rows = [wb.Row("p", "tpr-gap", value, {"set": set_}) for set_, value in
            (("sum", 0.3), ("pearson", None), ("nurse", -0.3))]  # fmt: skip
    assert judge("tpr-gap > .4", rows).status == "passed"
    assert judge("tpr-gap[set=pearson] > .4", rows).status == "failed"
    with pytest.raises(UsageError, match=r"only its correlation .* write tpr-gap\[set=pearson\]"):
        judge("tpr-gap > .4", rows[1:2])


def test_without_rows_nothing_passes() -> None:
    assert outcome_of("x > 1", []).status == "error"


# changes


def _measured(seed: int, shift: float, items: str = "words") -> wb.Report:
    values = np.random.default_rng(seed).normal(size=200) + shift
    unit = {**by_bootstrap(values, "words")}
    draws = drawn(values, "words", items_of(items))
    row = wb.Row(f"v{shift}", "x", float(values.mean()), unit, draws)
    return wb.Report("measure", rows=[row])


@pytest.mark.parametrize("items", ["words", "others"])
def test_a_change_is_that_of_changes(items: str) -> None:
    old, new = _measured(0, 0.0), _measured(0, 0.5, items)
    wanted = wb.changes(old, new)["x"][0].details
    outcome = judge("change x > .4", new.rows, old.rows)
    assert (outcome.value, outcome.low, outcome.high) == tuple(
        wanted[key] for key in ("change", "change_low", "change_high")
    )
    assert outcome.status == "failed"
    assert (", not paired" in outcome.said) == (items == "others")
    # the paired interval is narrow, that of two independent values is not
    paired = items == "words"
    assert judge("change x low > .4", new.rows, old.rows).status == (
        "failed" if paired else "passed"
    )


def test_an_equal_result_has_not_changed_even_by_rounding() -> None:
    """A baseline has single precision in JSON; constant draws would differ by it, all alike."""
    values = np.full(50, 0.1)
    row = wb.Row("a", "x", 0.1, {}, drawn(values, "words", "same"))
    stored = wb.Row("a", "x", 0.1, {}, drawn(values.astype("<f4").astype(float), "words", "same"))
    for before, after in ((row, stored), (stored, row)):
        assert judge("change x high > 0", [after], [before]).status == "passed"
        assert judge("change x low < 0", [after], [before]).status == "passed"


def test_a_baseline_without_the_row_is_an_error() -> None:
    old = [wb.Row("a", "x", 1.0, {"group": "F"})]
    new = [*old, wb.Row("a", "x", 2.0, {"group": "M"})]
    assert judge("change x[group=F] > 0", new, old).status == "passed"
    with pytest.raises(
        UsageError, match="the baseline has no x, a, group M; make the baseline by the"
    ):
        judge("change x > 0", new, old)
    undefined = [wb.Row("a", "x", None, {"group": "F"})]
    assert judge("change x[group=F] > 9", new, undefined).status == "failed"


def test_a_result_without_a_row_of_the_baseline_is_an_error() -> None:
    old = [wb.Row("a", "x", 1.0, {"group": group}) for group in "FM"]
    new = [wb.Row("b", "x", 1.0, {"group": "F"})]
    with pytest.raises(UsageError, match="the result has no x, a, group M; make the baseline by"):
        judge("change x > 0", new, old)
    assert judge("change x[group=F] > 0", new, old).status == "passed"
    both = [*new, wb.Row("a", "x", 2.0, {"group": "F"})]
    other = [*both, wb.Row("c", "x", 1.0, {"group": "F"})]
    assert judge("change x > 0", both, other).status == "passed"  # of a further embedding


def test_seeds_are_compared_by_their_mean_unless_one_is_named() -> None:
    old = [wb.Row("a", "x", 1.0 + 0.1 * seed, {"seed": seed}) for seed in range(3)]
    new = [wb.Row("a", "x", base + 0.1 * i, {"seed": i}) for i, base in enumerate((1.5, 1.0, 1.1))]
    outcome = judge("change x > .4", new, old)  # changes of .5, 0 and .1
    assert outcome.status == "passed"
    assert outcome.value == pytest.approx(0.2)
    assert outcome.low is not None
    assert judge("change x[seed=0] > .4", new, old).status == "failed"
    assert judge("change x > .4", new[1:], old).value == pytest.approx(0.05)  # of two seeds


@pytest.mark.parametrize("side", [0, 1])
def test_no_seed_and_no_stage_that_is_undefined_is_left_out(side: int) -> None:
    rows = [[wb.Row("a", "x", 1.0, {"seed": seed}) for seed in range(3)] for _ in range(2)]
    rows[side][2] = wb.Row("a", "x", None, {"seed": 2})
    outcome = judge("change x > .4", rows[1], rows[0])
    assert (outcome.status, outcome.value) == ("failed", None)
    inside = [wb.Row("a", "x", 1.0, {"change": 0.1}), wb.Row("a", "x", None, {"stage": "misp"})]
    assert judge("change x > .4", inside[:1]).status == "passed"
    assert judge("change x > .4", inside).status == "failed"


def test_a_group_with_one_seed_is_judged_beside_means() -> None:
    old = [wb.Row("a", "x", 1.0, {"group": "F", "seed": seed}) for seed in range(3)]
    old += [wb.Row("a", "x", 1.0, {"group": "M", "seed": 0})]
    new = [*old[:3], wb.Row("a", "x", 9.0, {"group": "M", "seed": 0})]
    assert judge("change x > .4", new, old).value == 8
    assert judge("change x > 8.5", new, old).status == "passed"


def test_without_a_baseline_the_change_inside_a_result_counts() -> None:
    report = wb.changes(_measured(0, 0.0), _measured(0, 0.5))
    assert judge("change x low > .4", report.rows).status == "failed"


# in Python


def test_check_states_what_must_hold() -> None:
    report = wb.Report("fairness", rows=ROWS)
    report.check("tpr-gap < .3", "tpr-gap[group=M] <= .05", "tpr-gap high <= .3")
    with pytest.raises(AssertionError) as caught:
        report.check("tpr-gap < .1", "fpr-gap < .4", "fpr-gap < .6")
    assert str(caught.value).split("\n") == [
        "tpr-gap < .1 does not hold: 0.2000 [0.1000, 0.3000], p, group F, layer 3",
        "fpr-gap < .4 does not hold: 0.5000, p",
    ]


@pytest.mark.parametrize(
    ("conditions", "baseline", "says"),
    [
        ([], None, "name a condition"),
        (["tpr-gap < x"], None, "expected a finite number"),
        (["tpr < 1"], None, "did you mean tpr-gap?"),
        (["tpr-gap < 1"], wb.Report("fairness", rows=ROWS), "baseline=: no condition is about"),
        (["change tpr-gap < 1"], None, "give baseline= with"),
        (["change tpr-gap < 1"], 3, "baseline=: expected a path or a name, got int"),
        (["change tpr-gap < 1"], "nowhere.json", "nowhere.json"),
    ],
)
def test_check_refuses_what_it_cannot_judge(
    conditions: list[str], baseline: object, says: str
) -> None:
    with pytest.raises(wb.WordbiasError) as caught:
        wb.Report("fairness", rows=ROWS).check(*conditions, baseline=baseline)  # type: ignore[arg-type]
    assert says in str(caught.value)


@given(st.lists(VALUES, min_size=1), VALUES)
def test_check_and_fail_if_are_opposites(values: list[float], limit: float) -> None:
    rows = _rows(values)
    report = wb.Report("x", rows=rows)
    failed = judge(f"x > {limit}", rows).status == "failed"
    try:
        report.check(f"x <= {limit}")
    except AssertionError:
        assert failed
    else:
        assert not failed
