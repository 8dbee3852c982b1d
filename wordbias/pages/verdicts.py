"""Verdicts on values by their intervals: away from neutral, better or worse after debiasing."""

from __future__ import annotations

from wordbias.measures.registry import MEASURES
from wordbias.pages.lines import Line, interval, is_number
from wordbias.rows import Found

IMPROVED = "improved"
WORSE = "worse"
UNCLEAR = "no clear change"
SAME = "unchanged"
UNJUDGED = "no interval to judge by"
UNKNOWN = "–"
_ROUNDING = 1e-6
"""Values that are closer are equal: float32 vectors are not more exact than that."""
_MEANING = {
    IMPROVED: "the value moved the better way and the intervals do not overlap",
    WORSE: "it moved the other way and the intervals do not overlap",
    UNCLEAR: "it moved, but the intervals overlap",
    SAME: "the value is the same",
}


def meaning() -> str:
    """Explain the verdicts."""
    meanings = "; ".join(f"“{name}”: {text}" for name, text in _MEANING.items())
    return (
        f"{meanings}. The intervals are at 95 % and each stands for itself; as both stages are "
        "measured on the same words, this is the cautious way to compare them."
    )


def change(line: Line) -> str:
    """Compare the last stage of a line with the first.

    Without intervals, or without knowing which way is better, a change is not judged.
    """
    first, last = line.first, line.last
    if first is None or last is None or first["value"] is None or last["value"] is None:
        return UNKNOWN
    if abs(float(first["value"]) - float(last["value"])) < _ROUNDING:
        return SAME
    if interval(first) is None or interval(last) is None:
        return UNJUDGED
    old, new = _badness(first), _badness(last)
    if old is None or new is None:
        return UNKNOWN
    if new[1] < old[0]:
        return IMPROVED
    return WORSE if new[0] > old[1] else UNCLEAR


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


def _badness(row: Found) -> tuple[float, float] | None:
    """Turn the interval of a row into one where less is better."""
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
