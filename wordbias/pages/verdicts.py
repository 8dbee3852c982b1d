"""Verdicts on values by their intervals: away from neutral, better or worse after debiasing."""

from __future__ import annotations

from typing import Literal

from wordbias.measures.registry import MEASURES
from wordbias.pages.lines import Line, interval, is_number
from wordbias.rows import Found, given

IMPROVED = "improved"
WORSE = "worse"
UNCLEAR = "no clear change"
SAME = "unchanged"
RESCALED = "lengths changed"
UNJUDGED = "no interval to judge by"
UNKNOWN = "–"
SMALLEST_CHANGE = 0.05
"""Smallest change that counts, as a share of the value's distance from chance, else from neutral.

With many words the interval of a change is so narrow that it excludes 0 where nobody would notice.
"""
MUCH_LEFT, ALMOST_ALL_LEFT = 0.5, 0.9
"""Shares of the bias above which what leaves them helps a little, and hardly.

The tenth that is removed at most is less than the value before is uncertain by: WEAT of the sample
is 1.72, with an interval from 1.51 to 1.85 over its words.
"""
Degree = Literal["yes", "a little", "hardly"]
_ROUNDING = 1e-6
"""Values that are closer are equal: float32 vectors are not more exact than that."""
_MEANING = {
    IMPROVED: "the value moved the better way, and the interval of the change does not contain 0",
    WORSE: "it moved the other way, and the interval of the change does not contain 0",
    UNCLEAR: "the interval of the change contains 0, or the change is less than "
    f"{SMALLEST_CHANGE:.0%} of the distance from chance, else from neutral",
    SAME: "the value is the same",
    RESCALED: "the value grows with the length of the vectors, and this was changed by more than "
    "what was projected out",
}


def meaning() -> str:
    """Explain the verdicts."""
    meanings = "; ".join(f"“{name}”: {text}" for name, text in _MEANING.items())
    return (
        f"{meanings}. The intervals are at 95 %; that of a change is paired: both stages are "
        "measured on the same words and bootstrap draws. Where a row has no interval of the "
        "change, two intervals that do not overlap show one."
    )


def change(line: Line, stage: str | None = None) -> str:
    """Compare a stage of a line, by default the first after debiasing, with the one before."""
    return change_between(line.first, line.last if stage is None else line.stages.get(stage))


def change_between(first: Found | None, last: Found | None) -> str:
    """Compare a row with the one before.

    By the interval of the paired change, where the row has one, else by both intervals; a change
    below `SMALLEST_CHANGE` is none. Without intervals, or without knowing which way is better, a
    change is not judged.
    """
    if first is None or last is None or first["value"] is None or last["value"] is None:
        return UNKNOWN
    if given(last, "length_ratio"):
        return RESCALED
    if abs(float(first["value"]) - float(last["value"])) < _ROUNDING:
        return SAME
    start = first.get("chance", first.get("neutral"))
    if is_number(start):
        moved = abs(float(last["value"]) - float(first["value"]))
        if moved < SMALLEST_CHANGE * abs(float(first["value"]) - float(start)):
            return UNCLEAR
    if is_number(last.get("change_low")) and is_number(last.get("change_high")):
        return _paired(first, float(last["change_low"]), float(last["change_high"]))
    old, new = badness(first), badness(last)
    if interval(first) is None or interval(last) is None:
        return UNJUDGED
    if old is None or new is None:
        return UNKNOWN
    if new[1] < old[0]:
        return IMPROVED
    return WORSE if new[0] > old[1] else UNCLEAR


def _paired(first: Found, low: float, high: float) -> str:
    """Judge a change by its own interval, given the value before."""
    better, neutral = first.get("better"), first.get("neutral")
    if better == "neutral" and is_number(neutral):
        gap = float(first["value"]) - float(neutral)
        low, high = (low, high) if gap > 0 else (-high, -low)
        nearer = low > -2 * abs(gap) and high < 0  # nowhere as far out on the other side
        further = low > 0 or high < -2 * abs(gap)
    elif better in ("lower", "higher"):
        falls = better == "lower"
        nearer, further = (high < 0, low > 0) if falls else (low > 0, high < 0)
    else:
        return UNKNOWN
    return IMPROVED if nearer else WORSE if further else UNCLEAR


def degree(left: float | None) -> Degree:
    """Return how much helps what leaves a share of the bias."""
    if left is None or left <= MUCH_LEFT:
        return "yes"
    return "a little" if left <= ALMOST_ALL_LEFT else "hardly"


def change_text(line: Line) -> str:
    """Name the stages by their change; of a single one, only the change."""
    found: dict[str, list[str]] = {}
    for stage, row in line.later.items():
        found.setdefault(change_between(line.first, row), []).append(stage)
    if len(line.later) < 2:
        return next(iter(found), UNKNOWN)
    order = (IMPROVED, WORSE, UNCLEAR, SAME, RESCALED, UNJUDGED)
    told = [f"{name}: {', '.join(found[name])}" for name in order if name in found]
    return "; ".join(told) or UNKNOWN


def differs(row: Found) -> bool | None:
    """Return whether the interval of a row leaves its neutral value out.

    None if that says nothing: without an interval or a neutral value, and if values cannot lie on
    both sides of it. A mean of absolute values, a distance or an accuracy that is turned
    to the better side is away from neutral even where all is noise.
    """
    ends, neutral = interval(row), row.get("neutral")
    if ends is None or not is_number(neutral) or row["value"] is None:
        return None
    known = MEASURES.get(row["measure"])
    if row.get("better") != "neutral" and not (known and known.two_sided):
        return None
    return not ends[0] <= neutral <= ends[1]


def badness(row: Found) -> tuple[float, float] | None:
    """Return the interval of a row, turned so that less is better; None if no way is better."""
    low, high = interval(row) or (float(row["value"]),) * 2
    better, neutral = row.get("better"), row.get("neutral")
    if better == "lower":
        return low, high
    if better == "higher":
        return -high, -low
    if better != "neutral" or not is_number(neutral):
        return None
    near, far = sorted((abs(low - neutral), abs(high - neutral)))
    return (0.0 if low <= neutral <= high else near), far
