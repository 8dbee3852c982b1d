"""Each rule of a verdict with facts on both sides of its limits."""

from __future__ import annotations

from typing import Any

import pytest

from wordbias.verdicts import (
    ALMOST_ALL_LEFT,
    BIASED,
    CHANGES,
    CHOICE,
    CROSSED,
    FINDS,
    HELPS,
    MOVES,
    MUCH_LEFT,
    NO_INTERVAL,
    READS,
    RETURNS,
    RETURNS_OVER_SEEDS,
    RULES,
    SAME,
    SEEDS,
    SLIGHT,
    UNCLEAR,
    Back,
    Change,
    ChosenOn,
    Counted,
    Effect,
    Reading,
    Return,
    Seeds,
    decide,
    smallest_p,
)

Row = dict[str, Any]


def row(value: float | None, measure: str = "gipe", **about: Any) -> Row:
    return {"measure": measure, "value": value, "neutral": 0.0, "better": "lower", **about}


def signed(value: float, low: float, high: float, **about: Any) -> Row:
    return row(value, **{"measure": "weat", "low": low, "high": high, "better": "neutral", **about})


def read(value: float, measure: str = "best-probe", **about: Any) -> Row:
    """Balanced accuracy of two classes, of which permuted labels give .4 to .6."""
    chance = {"chance": 0.5, "chance_low": 0.4, "chance_high": 0.6, "beyond_chance": value > 0.6}
    return row(value, measure, **{"neutral": 0.5, **chance, **about})


def accuracy(low: float, high: float, classes: int = 2, **about: Any) -> Row:
    about |= {"low": low, "high": high, "classes": classes, "neutral": 0.6}
    return row((low + high) / 2, "probe-accuracy", **about)


def back(
    lowered: Seeds | None = None,
    rises: Seeds | None = None,
    stays: Seeds | None = None,
    share: float | None = 0.5,
) -> Return:
    """What retraining makes of a gap that was lowered, by default nothing that shows."""
    nothing = Seeds(0.0, 1.0)
    return Return(lowered or Seeds(-0.2, 0.04), rises or nothing, stays or nothing, share)


def moved(before: Row, after: float, *ends: float, **about: Any) -> Change:
    names = ("change_low", "change_high") if len(ends) == 2 else ()
    paired = dict(zip(names, ends, strict=True))
    return Change(before, {**before, "value": after, **paired, **about})


def around(value: float, half: float, **about: Any) -> Row:
    return row(value, low=value - half, high=value + half, **about)


TWO_SIDED = signed(1.0, 0.5, 1.5)


def named(p: float | None, **more: Any) -> dict[str, Any]:
    """Return a row of lists that a changed name moves more than another name of the group."""
    ends = {"excess": -0.1, "excess_low": -0.2, "excess_high": -0.01, "units": 100, "tests": 1}
    about = {"measure": "list-overlap", "value": 0.7, "better": "higher", "p_holm": p}
    return {**about, **ends, **more}


CASES: list[tuple[str, Any, str]] = [
    # a value: its chance level, and the interval of one with a sign
    (FINDS, row(0.2, beyond_chance=True), "yes"),
    (FINDS, row(0.2, beyond_chance=False), "no"),
    (FINDS, signed(0.5, 0.001, 0.9, beyond_chance=True), "yes"),
    (FINDS, signed(0.5, -0.001, 0.9, beyond_chance=True), "no"),
    # below chance: the opposite answers, of two classes
    (FINDS, read(0.39), "yes"),
    (FINDS, read(0.41), "no"),
    (FINDS, read(0.1, neutral=1 / 3, chance_low=0.2), "no"),
    # the interval, and its p if it has one
    (FINDS, signed(1.0, 0.001, 1.5), "yes"),
    (FINDS, signed(1.0, 0.0, 1.5), "no"),
    (FINDS, signed(2e-7, 1e-7, 3e-7), "no"),  # rounding
    (FINDS, signed(2e-4, 1e-4, 3e-4), "yes"),
    (FINDS, signed(1.0, 1.0, 1.0), "not judged"),  # draws of one unit
    (FINDS, signed(1.0, 1.0, 1.0, p=0.01), "yes"),
    (FINDS, signed(0.0, 0.0, 0.0), "no"),
    (FINDS, signed(1.0, 0.1, 1.5, p=0.049), "yes"),
    (FINDS, signed(1.0, 0.1, 1.5, p=0.05), "no"),
    (FINDS, signed(1.0, -0.1, 1.5, p=0.049), "no"),
    (FINDS, signed(1.0, 0.1, 1.5, p=0.02, p_holm=0.06), "no"),
    (FINDS, signed(-1.0, -1.5, -0.1, p=0.96, alternative="greater"), "yes"),
    (FINDS, signed(-1.0, -1.5, -0.1, p=0.94, alternative="greater"), "no"),
    (FINDS, signed(0.3, 0.1, 0.5, measure="ceat", p=0.2), "yes"),  # its p tests nothing
    (FINDS, row(1.0, "weat", better="neutral", p=0.01), "yes"),
    (FINDS, row(0.7, "recoverability-logistic", neutral=0.5, low=0.51, high=0.9), "yes"),
    (FINDS, row(0.7, "recoverability-logistic", neutral=0.5, low=0.49, high=0.9), "no"),
    (FINDS, row(0.2, low=0.1, high=0.3), "not judged"),
    # an embedding
    (BIASED, Counted(0, 0), "cannot tell"),
    (BIASED, Counted(0, 1), "not shown"),
    (BIASED, Counted(1, 0), "yes"),
    (BIASED, Counted(1, 1), "perhaps"),
    (BIASED, Counted(1, 1, is_certain=True), "yes"),
    (BIASED, Counted(2, 5), "yes"),
    # a change
    (CHANGES, Change(row(1.0), None), "–"),
    (CHANGES, Change(row(1.0), row(None)), "–"),
    (CHANGES, moved(row(1.0), 0.1, -1.0, -0.8, length_ratio=0.2), "lengths changed"),
    (CHANGES, moved(row(1.0), 1.0 + 9e-7), SAME),
    (CHANGES, moved(row(1.0), 1.0 + 2e-6), NO_INTERVAL),
    (CHANGES, moved(row(1.0, better=""), 0.5, -0.6, -0.4), "–"),
    (CHANGES, moved(row(1.0), 0.5, -0.9, 0.0), UNCLEAR),
    (CHANGES, moved(row(1.0), 0.5, -0.9, -0.001), "better"),
    (CHANGES, moved(row(1.0), 1.5, 0.001, 0.9), "worse"),
    (CHANGES, moved(row(1.0, better="higher"), 1.5, 0.001, 0.9), "better"),
    (CHANGES, moved(row(1.0), 0.951, -0.1, -0.01), SLIGHT),
    (CHANGES, moved(row(1.0), 0.949, -0.1, -0.01), "better"),
    (CHANGES, moved(row(1.0, chance=0.8), 0.991, -0.1, -0.001), SLIGHT),
    (CHANGES, moved(row(1.0, chance=0.8), 0.989, -0.1, -0.001), "better"),
    (CHANGES, moved(row(1.0), 0.5), NO_INTERVAL),
    (CHANGES, Change(around(1.0, 0.2), around(0.5, 0.29)), "better"),
    (CHANGES, Change(around(1.0, 0.2), around(0.5, 0.31)), UNCLEAR),
    (CHANGES, Change(around(1.0, 0.2), around(1.5, 0.29)), "worse"),
    (CHANGES, moved(TWO_SIDED, -0.5, -1.99, -1.0), "better"),
    (CHANGES, moved(TWO_SIDED, -0.5, -2.01, -1.0), CROSSED),
    (CHANGES, moved(TWO_SIDED, -1.5, -3.0, -2.01), "worse"),
    (CHANGES, moved(read(0.9), 0.3, -0.79, -0.5), "better"),
    (CHANGES, moved(read(0.9), 0.05, -0.9, -0.81), "worse"),  # its opposite is right for .95
    # a method
    (HELPS, Effect(), "no bias to remove"),
    (HELPS, Effect(better="a"), "yes"),
    (HELPS, Effect(better="a", costly=["much"]), "no"),
    (HELPS, Effect(costly=["much"], built_in="a"), "no"),
    (HELPS, Effect(better="a", worse="b"), "cannot tell"),
    (HELPS, Effect(better="a", raised="b"), "yes"),
    (HELPS, Effect(better="a", left=MUCH_LEFT), "yes"),
    (HELPS, Effect(better="a", left=MUCH_LEFT + 0.001), "a little"),
    (HELPS, Effect(better="a", left=ALMOST_ALL_LEFT), "a little"),
    (HELPS, Effect(better="a", left=ALMOST_ALL_LEFT + 0.001), "hardly"),
    (HELPS, Effect(worse="a"), "no"),
    (HELPS, Effect(raised="a"), "no"),
    (HELPS, Effect(built_in="a"), "cannot tell"),
    (HELPS, Effect(built_in="a", worse="b"), "no"),
    (HELPS, Effect(others=[UNCLEAR, SAME]), "not shown"),
    (HELPS, Effect(others=[CROSSED]), "not shown"),
    (HELPS, Effect(others=[SLIGHT]), "no"),
    (HELPS, Effect(others=[SAME, NO_INTERVAL]), "no"),
    (HELPS, Effect(others=[NO_INTERVAL]), "cannot tell"),
    # a probe
    (READS, Reading(read(0.7)), "read"),
    (READS, Reading(read(0.39)), "read backwards"),
    (READS, Reading(read(0.41)), "not read"),
    (READS, Reading(read(0.59, low=0.51)), "not read"),
    (READS, Reading(accuracy(0.601, 0.7)), "read"),
    (READS, Reading(accuracy(0.6, 0.7)), "not read"),
    (READS, Reading(accuracy(0.7, 0.8), {"max": 0.69}), "read"),
    (READS, Reading(accuracy(0.7, 0.8), {"max": 0.7}), "not read"),
    (READS, Reading(accuracy(0.3, 0.399)), "read backwards"),
    (READS, Reading(accuracy(0.3, 0.4)), "not read"),
    (READS, Reading(accuracy(0.1, 0.2, classes=3)), "not read"),
    (READS, Reading(accuracy(0.5, 0.7, balanced_low=0.51, balanced_neutral=0.5)),
     "read, classes alike"),
    (READS, Reading(accuracy(0.5, 0.7, balanced_low=0.5, balanced_neutral=0.5)), "not read"),
    (READS, Reading(row(1.3, "compression", neutral=1.1, min=1.11, classes=2)), "read"),
    (READS, Reading(row(1.3, "compression", neutral=1.1, min=1.1, classes=2)), "not read"),
    # an arm of a study
    (SEEDS, Seeds(-0.1, 0.049), "lower"),
    (SEEDS, Seeds(-0.1, 0.05), "not shown"),
    (SEEDS, Seeds(-0.1, 0.049, is_beyond=False), "lower, not below random"),
    (SEEDS, Seeds(0.1, 0.049), "higher"),
    (SEEDS, Seeds(-0.1, 0.1, smallest_p(5)), "cannot tell"),
    (SEEDS, Seeds(-0.1, 0.1, smallest_p(6)), "not shown"),
    (SEEDS, Seeds(-0.1, None), "cannot tell"),
    # a choice
    (CHOICE, ChosenOn(False), "no"),
    (CHOICE, ChosenOn(True, "better", is_costly=True), "no"),
    (CHOICE, ChosenOn(True, "worse"), "no"),
    (CHOICE, ChosenOn(True, UNCLEAR, null_p=0.01), "not shown"),
    (CHOICE, ChosenOn(True, "better", null_p=0.06), "lower, not below random"),
    (CHOICE, ChosenOn(True, "better", null_p=0.05), "yes"),
    (CHOICE, ChosenOn(True, "better"), "yes"),
    (CHOICE, ChosenOn(True, SLIGHT), "hardly"),
    # a last layer trained anew
    (RETURNS, Back(False, (0.9, 1.1)), "not shown to be lower"),
    (RETURNS, Back(True), "cannot tell"),
    (RETURNS, Back(True, (0.501, 1.1)), "comes back"),
    (RETURNS, Back(True, (0.5, 1.1)), "comes back in part"),
    (RETURNS, Back(True, (0.01, 0.49)), "comes back in part"),
    (RETURNS, Back(True, (0.0, 0.49)), "stays away"),
    (RETURNS, Back(True, (0.0, 0.51)), "cannot tell"),
    # a gap after retraining
    (RETURNS_OVER_SEEDS, back(Seeds(-0.1, 0.0625, smallest_p(5))), "cannot tell"),
    (RETURNS_OVER_SEEDS, back(Seeds(-0.1, None)), "cannot tell"),
    (RETURNS_OVER_SEEDS, back(Seeds(-0.1, 0.05)), "not shown to be lower"),
    (RETURNS_OVER_SEEDS, back(Seeds(0.1, 0.04)), "not shown to be lower"),
    (RETURNS_OVER_SEEDS, back(rises=Seeds(0.1, 0.049)), "comes back"),
    (RETURNS_OVER_SEEDS, back(rises=Seeds(0.1, 0.049), stays=Seeds(-0.1, 0.049)),
     "comes back in part"),
    (RETURNS_OVER_SEEDS, back(rises=Seeds(0.1, 0.05), stays=Seeds(-0.1, 0.049)), "stays away"),
    (RETURNS_OVER_SEEDS, back(rises=Seeds(-0.1, 0.049), stays=Seeds(-0.1, 0.049)), "stays away"),
    (RETURNS_OVER_SEEDS, back(rises=Seeds(0.1, 0.049), stays=Seeds(-0.1, 0.049), share=0.05),
     "comes back in part"),
    (RETURNS_OVER_SEEDS, back(rises=Seeds(0.1, 0.049), stays=Seeds(-0.1, 0.049), share=0.049),
     "stays away"),
    (RETURNS_OVER_SEEDS, back(stays=Seeds(-0.1, 0.049, is_beyond=False)), "cannot tell"),
    (RETURNS_OVER_SEEDS, back(stays=Seeds(-0.1, 0.05)), "cannot tell"),
    # a changed name
    (MOVES, named(0.01, excess_low=None), "cannot tell"),
    (MOVES, named(None), "cannot tell"),
    (MOVES, named(0.0625, units=5), "cannot tell"),
    (MOVES, named(0.03, units=6, tests=2), "cannot tell"),
    (MOVES, named(0.049), "beyond"),
    (MOVES, named(0.05), "not beyond"),
    (MOVES, named(0.049, excess_high=0.0), "not beyond"),
    (MOVES, named(0.049, better="lower"), "not beyond"),
    (MOVES, named(0.049, better="lower", excess_low=0.01, excess_high=0.2), "beyond"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "facts", "verdict"), CASES)
def test_the_first_rule_that_holds_decides(question: str, facts: Any, verdict: str) -> None:
    assert decide(question, facts).verdict == verdict


def test_every_rule_decides_a_case() -> None:
    used = {id(decide(question, facts)) for question, facts, _ in CASES}
    unused = [rule.when for rules in RULES.values() for rule in rules if id(rule) not in used]
    assert unused == []


def test_with_so_many_pairs_no_p_is_smaller() -> None:
    assert [smallest_p(n) for n in (0, 1, 5, 6)] == [1.0, 1.0, 0.0625, 0.03125]
    assert smallest_p(6, tests=5) == 5 / 32
