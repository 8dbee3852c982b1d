"""Verdicts on values, changes and methods: the first rule of a question that holds decides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from wordbias.measures.held_out_probes import ATTACKS, BEST, PROBES
from wordbias.measures.registry import MEASURES

Found = Mapping[str, Any]
LEVEL = 0.05
"""Smallest p that shows nothing."""
SMALLEST_CHANGE = 0.05
"""Smallest change that counts, as a share of the value's distance from chance, else from neutral:
with many words the interval of a change is so narrow that it excludes 0 where nobody would notice.
"""
MUCH_LEFT, ALMOST_ALL_LEFT = 0.5, 0.9
"""Shares of the bias above which what leaves them helps a little, and hardly: the tenth that is
gone at most is less than WEAT of the sample, 1.72, is uncertain by, from 1.51 to 1.85.
"""
LIMITS = {
    "neighbours": 0.9, "similarity": 0.98, "analogies": 0.98, "sentence-order-kept": 0.95,
    "sentence-neighbours-kept": 0.9, "perplexity-kept": 0.95,
}  # fmt: skip
"""Smallest share of each that a method keeps which does not cost too much."""
_ROUNDING = 1e-6  # values that are closer are equal: float32 vectors are not more exact
_LARGEST = 1e100
_PROBES = (BEST, *PROBES, *ATTACKS)
_UNTESTED = ("ceat",)  # its p falls with the number of draws, and tests nothing


# What a row holds


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a number that can be drawn, and not a truth value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) < _LARGEST


def _ends(row: Found | None, low: str, high: str) -> tuple[float, float] | None:
    first, last = (None, None) if row is None else (row.get(low), row.get(high))
    return (float(first), float(last)) if is_number(first) and is_number(last) else None


def interval(row: Found | None) -> tuple[float, float] | None:
    """Return the interval of a row, if it has one."""
    return _ends(row, "low", "high")


def change_ends(row: Found | None) -> tuple[float, float] | None:
    """Return the interval of the paired change of a row, if it has one."""
    return _ends(row, "change_low", "change_high")


def chance_ends(row: Found | None) -> tuple[float, float] | None:
    """Return the range of the chance level of a row, if it has one."""
    return _ends(row, "chance_low", "chance_high")


def excess_ends(row: Found | None) -> tuple[float, float] | None:
    """Return the interval of what a changed name does more than one that means nothing."""
    return _ends(row, "excess_low", "excess_high")


def moves_more(row: Found) -> bool:
    """Return whether a changed name certainly moves lists more than one that means nothing."""
    ends, p = excess_ends(row), p_of(row)
    if ends is None or p is None or p >= LEVEL:
        return False
    return ends[1] < 0 if row.get("better") == "higher" else ends[0] > 0


def beyond_chance(row: Found) -> bool | None:
    """Return whether a value is beyond its chance level; None if it has none."""
    beyond = row.get("beyond_chance")
    return bool(beyond) if beyond in (True, False) else None


def p_of(row: Found) -> float | None:
    """Return a row's p, corrected if it is; of a test of positive values that of its own side."""
    if is_number(p := row.get("p_holm")):
        return p
    p = row.get("p")
    if not is_number(p) or row["measure"] in _UNTESTED:
        return None
    return 1 - p if row.get("alternative") == "greater" and row["value"] < 0 else p


def better_way(row: Found) -> str:
    """Return which values are better; nearer to neutral only where there is such a value."""
    better, neutral = str(row.get("better") or ""), row.get("neutral")
    if better == "lower" and neutral == 0.5 and (row["measure"] in _PROBES or _is_two_sided(row)):
        return "neutral"  # an accuracy of two classes: what is wrong for most tells them, too
    return "" if better == "neutral" and not is_number(neutral) else better


def _is_two_sided(row: Found) -> bool:
    known = MEASURES.get(row["measure"])
    return known is not None and known.two_sided


def differs(row: Found) -> bool | None:
    """Return whether the interval of a row leaves its neutral value out; None if it cannot say."""
    # It says nothing if values cannot lie on both sides of neutral. A mean of absolute values, or a
    # distance, is away from neutral even where all is noise.
    ends, neutral = interval(row), row.get("neutral")
    if ends is None or not is_number(neutral) or row["value"] is None:
        return None
    if row.get("better") != "neutral" and not _is_two_sided(row):
        return None
    if ends[0] - _ROUNDING <= neutral <= ends[1] + _ROUNDING:
        return False
    # draws of one unit, or of units that are alike, have no width: that is no certainty
    return True if ends[1] - ends[0] > _ROUNDING else None


def shows(row: Found) -> bool | None:
    """Return whether the interval and the p of a row without a chance level show bias."""
    # The interval of few words leaves neutral out too easily: a p, if there is one, must be below
    # `LEVEL` as well. None if neither says anything.
    apart, p = differs(row), p_of(row)
    if p is None or (apart is None and row.get("better") != "neutral"):
        return apart
    return apart is not False and p < LEVEL


def _badness(row: Found) -> tuple[float, float] | None:
    """Return the interval of a row, turned so that less is better; None if no way is better."""
    ends, better = interval(row), better_way(row)
    if ends is None or not better:
        return None
    if better != "neutral":
        return ends if better == "lower" else (-ends[1], -ends[0])
    near, far = sorted(abs(end - row["neutral"]) for end in ends)
    return (0.0 if ends[0] <= row["neutral"] <= ends[1] else near), far


def smallest_p(n: int, tests: int = 1) -> float:
    """Return the smallest p that the exact sign-flip test of `n` seeds has, after Holm."""
    return min(1.0, tests * 2.0 ** (1 - n))


class Change(NamedTuple):
    """A value before and after; either is None where it was not measured."""

    before: Found | None
    after: Found | None

    @property
    def moved(self) -> float | None:
        """Size of the change, if there are both values."""
        old, new = (None if row is None else row["value"] for row in self)
        return None if old is None or new is None else abs(float(new) - float(old))

    @property
    def is_small(self) -> bool:
        """Whether it is less than `SMALLEST_CHANGE` of the distance from chance, else neutral."""
        before = self.before or {}
        start = before.get("chance", before.get("neutral"))
        gap = abs(before["value"] - start) if is_number(start) else 0.0
        return (self.moved or 0.0) < SMALLEST_CHANGE * gap

    @property
    def paired(self) -> tuple[float, float] | None:
        """Interval of the paired change."""
        return change_ends(self.after)

    @property
    def ways(self) -> tuple[bool, bool] | None:
        """Whether the value is certainly better, and certainly worse; None without intervals."""
        if self.before is not None and self.paired is not None:
            return _ways(self.before, *self.paired)
        old, new = (None if row is None else _badness(row) for row in self)
        return None if old is None or new is None else (new[1] < old[0], new[0] > old[1])


def _ways(before: Found, low: float, high: float) -> tuple[bool, bool]:
    """Return whether a paired change is certainly for the better, and certainly for the worse."""
    better = better_way(before)
    if better == "neutral":
        gap = float(before["value"]) - float(before["neutral"])
        low, high = (low, high) if gap > 0 else (-high, -low)
        out = -2 * abs(gap)  # as far out on the other side
        return low > out and high < 0, low > 0 or high < out
    falls, rises = high < 0, low > 0
    return {"lower": (falls, rises), "higher": (rises, falls)}.get(better, (False, False))


class Counted(NamedTuple):
    """Number of main measures that find bias and that do not; whether a single finding holds."""

    yes: int
    no: int
    is_certain: bool = False


class Effect(NamedTuple):
    """What a method did to main measures that found bias, or have no chance level."""

    # `better`, `worse` and `built_in` (better by construction) are measures. `raised` are measures
    # that found no bias before, got worse, and find bias now. `others` are verdicts on the changes
    # of the others. `costly` are the costs beyond their `LIMITS`, and `left` is the share of the
    # bias that is left.

    better: Sequence[Any] = ()
    worse: Sequence[Any] = ()
    built_in: Sequence[Any] = ()
    raised: Sequence[Any] = ()
    others: Collection[str] = ()
    costly: Sequence[Any] = ()
    left: float | None = None


class Reading(NamedTuple):
    """What a probe reads of a label, beside the same probe on random labels if there is one."""

    row: Found
    control: Found | None = None

    @property
    def is_backwards(self) -> bool:
        """Whether the opposite answers are right: of two classes, and below chance."""
        row, high = self.row, self.row.get("high")
        if better_way(row) == "neutral" != row.get("better"):
            return (chance := chance_ends(row)) is not None and row["value"] < chance[0]
        return row.get("classes") == 2 and is_number(high) and 1 - high > row["neutral"]

    @property
    def is_beyond(self) -> bool:
        """Whether the least value is beyond neutral and beyond all of random labels."""
        row, most = self.row, 0.0 if self.control is None else float(self.control["max"])
        low = row.get("low", row.get("min")) if beyond_chance(row) is None else None
        return is_number(low) and low > max(float(row["neutral"]), most)


class Seeds(NamedTuple):
    """Mean difference of an arm over paired seeds: its p and the least that so many can have."""

    # `is_beyond` says that it is also lower than random removals, or that there are none.

    difference: float
    p: float | None
    least: float = 0.0
    is_beyond: bool = True

    @property
    def is_clear(self) -> bool:
        """Whether p is below .05."""
        return self.p is not None and self.p < LEVEL


class ChosenOn(NamedTuple):
    """What a removal that was chosen on some texts does on others."""

    # `change` is the verdict on the gap; `is_costly` says that accuracy falls by more than allowed,
    # and `null_p` how often the same choice among random removals changes the gap by this much.

    is_chosen: bool
    change: str = ""
    is_costly: bool = False
    null_p: float | None = None


class Back(NamedTuple):
    """A gap after the last layer was trained anew: whether it had been removed, and its return."""

    # `ends` is the interval of the share of what was removed that is back.

    is_removed: bool
    ends: tuple[float, float] | None = None


class Return(NamedTuple):
    """A gap that debiasing lowered, and what retraining the last layer made of it, over seeds."""

    # `lowered` is the gap before retraining less that without debiasing; `rises` the gap after less
    # before; `stays` the gap after less that without debiasing after, and that of random changes if
    # there are any. `share` of what was taken off is back; None if nothing was.

    lowered: Seeds
    rises: Seeds
    stays: Seeds
    share: float | None = None

    @property
    def is_back(self) -> bool:
        """Whether the gap clearly rises, by more than hardly any of what was taken off."""
        back = self.share is None or self.share >= SMALLEST_CHANGE
        return self.rises.is_clear and self.rises.difference > 0 and back

    @property
    def is_mostly_back(self) -> bool:
        """Whether at least half of what was taken off is back."""
        return self.share is None or self.share >= MUCH_LEFT

    @property
    def is_lower(self) -> bool:
        """Whether it is clearly below that without debiasing after retraining."""
        return self.stays.is_clear and self.stays.difference < 0


# The rules


class Rule(NamedTuple):
    """A rule: the verdict, when it holds as a test of facts and in words, and what is said."""

    # What is said is a form: names in braces stand for measures and values of the reader.

    verdict: str
    holds: Callable[[Any], object]
    when: str
    says: str = ""


YES, LITTLE, HARDLY, NO, CANNOT = "yes", "a little", "hardly", "no", "cannot tell"
HELPFUL = (YES, LITTLE, HARDLY)
PERHAPS, NOT_SHOWN, NOTHING, UNJUDGED = "perhaps", "not shown", "no bias to remove", "not judged"
BETTER, WORSE, UNCLEAR, SLIGHT = "better", "worse", "no clear change", "hardly changed"
SAME, CROSSED, RESCALED = "unchanged", "on the other side", "lengths changed"
NO_INTERVAL, UNKNOWN = "no interval to judge by", "–"
READ, BACKWARDS, BALANCED, UNREAD = "read", "read backwards", "read, classes alike", "not read"
LOWER, NOT_BEYOND, HIGHER = "lower", "lower, not below random", "higher"
RETURNED, IN_PART, GONE = "comes back", "comes back in part", "stays away"
NOT_LOWERED = "not shown to be lower"
BEYOND, NOT_MORE = "beyond", "not beyond"
FINDS, BIASED, CHANGES, HELPS, READS, SEEDS, CHOICE, RETURNS, RETURNS_OVER_SEEDS, MOVES = (
    "Does a value find bias?",
    "Is an embedding biased?",
    "Did a value change?",
    "Does a method, a cleaned file or a projection help?",
    "Does a probe read a label?",
    "Does an arm of a study differ, over paired seeds?",
    "Does a removal that was chosen on some texts help on others?",
    "Does a gap that was removed come back when the last layer is trained anew?",
    "Does a gap come back when the last layer is trained anew, over paired seeds?",
    "Does a changed name or pronoun move what is retrieved, beyond meaningless changes?",
)
_CLEARLY = "the interval of the paired change, or without one two intervals that do not overlap,"

RULES: Mapping[str, Sequence[Rule]] = {
    FINDS: [
        Rule(YES, lambda row: beyond_chance(row) and differs(row) is not False,
             "it is beyond the range of its chance level (for probes: p of permuted labels ≤ .05) "
             "and, if values lie on both sides of neutral, its interval leaves neutral out",
             "beyond chance"),
        Rule(YES, lambda row: Reading(row).is_backwards,
             "an accuracy of two classes is below its chance level: its opposite answers are right",
             "below chance: its opposite answers are right"),
        Rule(NO, lambda row: beyond_chance(row) is not None,
             "it has a chance level otherwise", "at chance"),
        Rule(YES, shows,
             "values lie on both sides of neutral, its interval leaves neutral out, and its p, if "
             "it has one, is below .05: the interval of few words leaves neutral out too easily"),
        Rule(NO, lambda row: shows(row) is not None,
             "values lie on both sides of neutral, and it has an interval or a p otherwise"),
        Rule(UNJUDGED, lambda _: True, "otherwise"),
    ],
    BIASED: [
        Rule(CANNOT, lambda of: not of.yes + of.no,
             "no main measure has a chance level, or an interval that could tell",
             "no measure here has a chance level, or an interval that could tell"),
        Rule(NOT_SHOWN, lambda of: not of.yes, "none of those that can tell finds bias",
             "{none} more than chance gives"),
        Rule(PERHAPS, lambda of: of.yes == 1 < of.yes + of.no and not of.is_certain,
             "one of several finds bias, and has no p, or its p times their number is above .05",
             "one of {n} measures finds more than chance gives; where there is no bias, about one "
             "measure in twenty does so by luck"),
        Rule(YES, lambda _: True, "otherwise", "by {some} that can tell"),
    ],
    CHANGES: [
        Rule(UNKNOWN, lambda of: of.moved is None, "a value is missing"),
        Rule(RESCALED, lambda of: of.after.get("length_ratio") not in (None, ""),
             "it grows with the length of the vectors, and the lengths changed by more than the "
             "projection explains"),
        Rule(SAME, lambda of: of.moved < _ROUNDING, "both values are equal"),
        Rule(UNKNOWN, lambda of: not better_way(of.before), "neither way is better"),
        Rule(UNCLEAR, lambda of: of.paired and of.paired[0] <= 0 <= of.paired[1],
             "the interval of the paired change contains 0"),
        Rule(NO_INTERVAL, lambda of: of.ways is None,
             "neither the change nor both values have an interval"),
        Rule(SLIGHT, lambda of: of.is_small and any(of.ways),
             f"it changed clearly, by less than {SMALLEST_CHANGE:.0%} of its distance from chance, "
             "else from neutral"),
        Rule(BETTER, lambda of: of.ways[0],
             f"{_CLEARLY} lies wholly on the better side; for an accuracy of two classes: nearer "
             "to .5"),
        Rule(WORSE, lambda of: of.ways[1], f"{_CLEARLY} lies wholly on the worse side"),
        Rule(CROSSED, lambda of: of.paired,
             "it moved to the other side of neutral, where it may be nearer or further"),
        Rule(UNCLEAR, lambda _: True, "the intervals of both values overlap"),
    ],
    HELPS: [
        Rule(NO, lambda of: of.costly,
             "a cost is beyond its limit", "its cost is too high: {costly}"),
        Rule(CANNOT, lambda of: of.better and of.worse,
             "a measure that counts got better, and another got worse",
             "measures contradict each other: {better} got better, {worse} got worse"),
        Rule(HARDLY, lambda of: of.better and (of.left or 0) > ALMOST_ALL_LEFT,
             f"one got better, and more than {ALMOST_ALL_LEFT:.0%} of the bias is left: what is "
             "gone, a tenth at most, is less than the uncertainty of the value before",
             "{left}{but}{raised}"),
        Rule(LITTLE, lambda of: of.better and (of.left or 0) > MUCH_LEFT,
             f"one got better, and more than {MUCH_LEFT:.0%} is left", "{left}{but}{raised}"),
        Rule(YES, lambda of: of.better, "one got better", "{raised}"),
        Rule(NO, lambda of: of.worse or of.raised,
             "none got better, and one got worse, or found no bias before and finds bias now",
             "{got_worse}{raised}"),
        Rule(CANNOT, lambda of: of.built_in,
             "only what it removes by construction got better",
             "only what it removes by construction got better"),
        Rule(NOT_SHOWN, lambda of: UNCLEAR in of.others or CROSSED in of.others,
             "the interval of a change contains 0, or a value is on the other side of neutral",
             "no measure changed clearly for the better"),
        Rule(NO, lambda of: SAME in of.others or SLIGHT in of.others,
             "those that count are unchanged, or hardly changed",
             "no measure changed enough to notice"),
        Rule(NOTHING, lambda of: not of.others, "no main measure found bias before",
             "no measure finds bias that it could remove"),
        Rule(CANNOT, lambda _: True, "otherwise", "no change has an interval to judge by"),
    ],
    READS: [
        Rule(READ, lambda of: beyond_chance(of.row),
             "the p of permuted labels is at most .05"),
        Rule(BACKWARDS, lambda of: of.is_backwards,
             "of two classes it is wrong so often that its opposite answers are beyond chance",
             " Read backwards it is right for {opposite}."),
        Rule(READ, lambda of: of.is_beyond,
             "the end of its interval, or a code under its worst seed, is above what the shares of "
             "the classes give, and above all of random labels"),
        Rule(BALANCED, lambda of: of.row.get("balanced_low", 0) > of.row.get("balanced_neutral", 1),
             "its accuracy is beyond chance where every class counts alike",
             " With every class counted alike, the {probe} probe is right for {balanced}, where "
             "chance is {chance}."),
        Rule(UNREAD, lambda _: True, "otherwise"),
    ],
    SEEDS: [
        Rule(LOWER, lambda of: of.is_clear and of.difference < 0 and of.is_beyond,
             "it is lower with p below .05 after Holm, also compared with the random removals",
             "lower"),
        Rule(NOT_BEYOND, lambda of: of.is_clear and of.difference < 0,
             "it is lower with p below .05 after Holm, but not compared with the random removals",
             "lower than {first}, not shown to be below {null}"),
        Rule(HIGHER, lambda of: of.is_clear,
             "it is higher, and p is below .05 after Holm", "higher"),
        Rule(CANNOT, lambda of: of.p is None or of.least > LEVEL,
             "so few seeds cannot have such a p", "too few seeds to tell"),
        Rule(NOT_SHOWN, lambda _: True, "otherwise", "not shown{excluded}"),
    ],
    CHOICE: [
        Rule(NO, lambda of: not of.is_chosen,
             "none that keeps enough accuracy has a lower gap where it is chosen",
             "nothing was chosen"),
        Rule(NO, lambda of: of.is_costly,
             "on the other texts accuracy falls by more than is allowed",
             "its cost is too high"),
        Rule(NO, lambda of: of.change == WORSE, "there the gap got worse", "the gap got worse"),
        Rule(NOT_SHOWN, lambda of: of.change not in (BETTER, SLIGHT),
             "there the gap did not change clearly",
             "the gap did not change clearly"),
        Rule(NOT_BEYOND, lambda of: of.null_p is not None and of.null_p > LEVEL,
             "it is lower, but the same choice among random removals changes it as much with p "
             "above .05, as always with fewer than 19 of these",
             "the gap is lower, but not shown to fall more than by the same choice among random "
             "removals"),
        Rule(HARDLY, lambda of: of.change == SLIGHT,
             f"it is clearly lower, by less than {SMALLEST_CHANGE:.0%}", "the gap is hardly lower"),
        Rule(YES, lambda _: True, "otherwise", "the gap is lower"),
    ],
    RETURNS: [
        Rule(NOT_LOWERED, lambda of: not of.is_removed,
             "the gap was not clearly lower under the removal", "no gap was clearly removed"),
        Rule(CANNOT, lambda of: of.ends is None, "the share that is back has no interval",
             "the share has no interval"),
        Rule(RETURNED, lambda of: of.ends[0] > MUCH_LEFT,
             f"the interval of the share that is back lies above {MUCH_LEFT:.0%}", "most is back"),
        Rule(GONE, lambda of: of.ends[1] < MUCH_LEFT and of.ends[0] <= 0,
             f"its upper end is below {MUCH_LEFT:.0%}, and its lower end 0 or less",
             "most stays away"),
        Rule(IN_PART, lambda of: of.ends[0] > 0, "its lower end is above 0", "a part is back"),
        Rule(CANNOT, lambda _: True, "otherwise", "the interval is too wide"),
    ],
    RETURNS_OVER_SEEDS: [
        Rule(CANNOT, lambda of: of.lowered.p is None or of.lowered.least > LEVEL,
             "so few seeds cannot have a p below .05", "cannot tell, as the seeds are too few"),
        Rule(NOT_LOWERED, lambda of: not of.lowered.is_clear or of.lowered.difference >= 0,
             "before retraining it is not shown (p below .05) to be lower than without debiasing",
             "not shown to be lower before"),
        Rule(RETURNED, lambda of: of.is_back and not of.is_lower and of.is_mostly_back,
             f"retraining raises it (p below .05), by {MUCH_LEFT:.0%} or more of what was taken "
             "off, and then it is not shown to be lower than without debiasing",
             "comes back"),
        Rule(IN_PART, lambda of: of.is_back,
             f"retraining raises it (p below .05), by {SMALLEST_CHANGE:.0%} or more of what was "
             "taken off, and then it is lower than without debiasing, or less is back",
             "comes back in part"),
        Rule(GONE, lambda of: of.is_lower and of.stays.is_beyond,
             "after retraining it is lower (p below .05) than without debiasing, and than under a "
             "random change of the same size if there is one", "stays away"),
        Rule(CANNOT, lambda _: True, "otherwise", "cannot tell"),
    ],
    MOVES: [
        Rule(CANNOT, lambda row: excess_ends(row) is None or p_of(row) is None,
             "there is no change that means nothing, or no interval or p of the difference",
             "cannot tell"),
        Rule(CANNOT, lambda row: smallest_p(row.get("units", 0), row.get("tests", 1)) > LEVEL,
             "so few queries, or sets of names, cannot have a p below .05",
             "cannot tell, as there are too few queries or names"),
        Rule(BEYOND, moves_more,
             "it moves the lists more than a change that means nothing: p is below .05 after Holm, "
             "and the interval of the difference lies wholly on the worse side",
             "beyond meaningless changes"),
        Rule(NOT_MORE, lambda _: True, "otherwise", "not beyond meaningless changes"),
    ],
}  # fmt: skip


def decide(question: str, facts: Any) -> Rule:
    """Return the first rule of a question that holds."""
    return next(rule for rule in RULES[question] if rule.holds(facts))


def explained(question: str) -> str:
    """Return the rules of a question as sentences."""
    rules = "; ".join(f"“{rule.verdict}”: {rule.when}" for rule in RULES[question])
    return f"{question} {rules}. The first rule that holds decides."


def finds(row: Found) -> str:
    """Return whether a value finds bias: ``yes``, ``no``, or ``not judged``."""
    return decide(FINDS, row).verdict


def change(before: Found | None, after: Found | None) -> str:
    """Return how a value changed."""
    return decide(CHANGES, Change(before, after)).verdict
