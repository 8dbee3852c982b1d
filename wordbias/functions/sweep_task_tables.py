"""Tables and sentences of a sweep on a task."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from wordbias import cells
from wordbias.functions.fairness import NO_INTERVAL
from wordbias.measures.registry import column_title
from wordbias.methods.choice import CHOOSE, REPORT
from wordbias.outcomes.choice import Limit
from wordbias.outcomes.fairness import ACCURACY
from wordbias.pivot import pivot, values
from wordbias.rendering import Table
from wordbias.results import Row, number
from wordbias.verdicts import (
    BETTER,
    CHOICE,
    RETURNS,
    SLIGHT,
    Back,
    ChosenOn,
    change,
    decide,
    interval,
)

BEST = 12
"""Number of settings that are shown; the rows have all of them."""


def allowed(limit: Limit) -> str:
    """Say how much accuracy may be lost."""
    return f"{limit.drop:.0%} of it" if limit.relative else f"{100 * limit.drop:g} points"


def _titled(row: Row) -> str:
    return column_title(row.measure)


def choice_table(rows: Sequence[Row], by: str, limit: Limit | None) -> Table:
    """Return the best settings on the texts that were chosen on, the model as it is first."""
    # `limit` is None if a user's rule chose.
    there = [row for row in rows if row.details["half"] == CHOOSE]
    accuracy = {
        row.details["setting"]: row.value or 0.0 for row in there if row.measure == ACCURACY
    }
    base, *others = gaps = [row for row in there if row.measure == by]
    least = -inf if limit is None else limit.least(accuracy[base.details["setting"]])

    def order(row: Row) -> tuple[bool, float]:
        return accuracy[row.details["setting"]] < least, inf if row.value is None else row.value

    best = sorted(others, key=order)[:BEST]
    top_rows = [base, *best, *(row for row in gaps if row.details["chosen"])]
    names = list(dict.fromkeys(row.details["setting"] for row in top_rows))
    listed = sorted(
        (row for row in there if row.details["setting"] in names),
        key=lambda row: names.index(row.details["setting"]),
    )
    columns = []
    for measure in dict.fromkeys(row.measure for row in there):
        columns += values(column_title(measure), part=measure, measure=measure)
        if measure == by:
            columns += values(("change", cells.change), part=by, measure=by)
            columns += values(("chosen", cells.detail("chosen")), part=by, measure=by)
    note = f"The {len(best)} best of {len(others)} settings; the others are in the rows."
    if limit is not None:
        note += f" Those that lose more than {allowed(limit)} of accuracy come last"
        note += ", and are not chosen."
    return pivot(
        "Settings on the texts that were chosen on", listed, {"setting": "setting"}, columns, note
    )


def reported_table(rows: Sequence[Row], null: int) -> Table:
    """Return the model as it is and the chosen setting on the other texts."""
    there = [row for row in rows if row.details["half"] == REPORT]
    columns = values(("before", cells.with_interval), stage="before")
    columns += values(
        ("after", cells.with_interval), ("change", cells.change),
        ("random", cells.mean_of("null")), ("95 % of these", cells.interval_of("null")),
        ("p", cells.p_of("null")), stage="after",
    )  # fmt: skip
    note = (
        f"random: mean change by {null} random removals that move the vectors as far. Each is "
        "chosen by the same rule, out of one removal for each setting. p: how often such a change "
        "is as large."
    )
    return pivot("On the other texts", there, _titled, columns, note if null else "")


def retrained_table(rows: Sequence[Row]) -> Table:
    """Return the last layer trained anew, without the removal and under it."""
    first = next(row.details["setting"] for row in rows)
    name = next(row.details["setting"] for row in rows if row.details["setting"] != first)
    measured = [row for row in rows if row.measure != "gap-returned"]
    columns = values(("without removal", cells.with_interval), setting=first)
    columns += values(
        (name, cells.with_interval), ("change", cells.change),
        ("random", cells.mean_of("null")), ("p", cells.p_of("null")), setting=name,
    )  # fmt: skip
    note = "The last layer is a logistic regression on the vectors that it reads, trained anew."
    return pivot(
        "The last layer trained anew, on the other texts", measured, _titled, columns, note
    )


def rank_table(rows: Sequence[Row]) -> Table:
    """Return rank correlations over the settings."""
    columns = values(("Spearman's ρ", cells.value), "95 %", "n")
    note = (
        "Over the settings, the gap on all texts of the task with a measure of the earlier sweep. "
        f"95 %: {rows[0].details['unit']} drawn again, as settings are not independent."
    )
    return pivot("Ranks of the settings", rows, "subject", columns, note)


def answer_lines(rows: Sequence[Row], by: str, limit: Limit | None, settings: int) -> list[str]:
    """Say what was chosen, what it does on other texts, and whether the gap comes back."""
    # `limit` is None if a user's rule chose.
    keyed = {
        (row.measure, row.details["half"], row.details["stage"], row.details["setting"]): row
        for row in rows
    }
    base = next(row.details["setting"] for row in rows if row.details["stage"] == "before")
    name = next(
        row.details["setting"] for row in rows if row.measure == by and row.details.get("chosen")
    )
    title = f"sum of the {column_title(by)}s" if by.endswith("-gap") else column_title(by)
    if name == base:
        verdict = decide(CHOICE, ChosenOn(False))
        reason = "the rule scores none higher" if limit is None else (
            f"none that loses at most {allowed(limit)} of accuracy has a lower {title}"
        )  # fmt: skip
        return [f"Does a setting help? {verdict.verdict}: of {settings} settings {reason}."]
    how = "by the rule given" if limit is None else (
        f"for the lowest {title} among those that lose at most {allowed(limit)} of accuracy"
    )  # fmt: skip
    gap, accuracy = (
        (keyed[m, REPORT, "before", base], keyed[m, REPORT, "after", name]) for m in (by, ACCURACY)
    )
    before, after = (row.value or 0.0 for row in accuracy)
    costly = limit is not None and after < limit.least(before)
    moved = change(gap[0].to_dict(), gap[1].to_dict())
    chosen = ChosenOn(True, moved, costly, gap[1].details.get("null_p"))
    verdict = decide(CHOICE, chosen)
    lines = [
        f"{name} is chosen of {settings} settings, {how}.",
        f"Does it help on other texts? {verdict.verdict}: {verdict.says}: {title} "
        f"{cells.value(gap[0])} → {cells.value(gap[1])}, change {cells.change(gap[1])}; accuracy "
        f"{cells.value(accuracy[0])} → {cells.value(accuracy[1])}, change "
        f"{cells.change(accuracy[1])}.",
    ]
    if "null" in gap[1].details:
        first = keyed[by, CHOOSE, name, name].details
        lines.append(
            "Change of the gap on the texts that were chosen on, and on the others: "
            f"{number(first['change'], 3)} and {number(gap[1].details['change'], 3)}; by the same "
            f"choice among random removals {number(first['null'], 3)} and "
            f"{number(gap[1].details['null'], 3)}."
        )
    for row in rows:
        if row.measure != "gap-returned":
            continue
        facts = Back(moved in (BETTER, SLIGHT), interval(row.to_dict()))
        answer = decide(RETURNS, facts)
        share = f"; share that is back: {cells.with_interval(row)}" if facts.is_removed else ""
        lines.append(
            f"Does the gap come back when the last layer is trained anew? {answer.verdict}: "
            f"{answer.says}{share}."
        )
    return lines


def closing_lines(tested: bool) -> list[str]:
    """Return the lines that explain the numbers."""
    where = "all texts of --task, reported on --test"
    if not tested:
        where = "one half of the texts at random, reported on the other"
    return [
        f"Chosen on {where}. Changes have paired 95 % intervals: the same texts are drawn for "
        "both. Noise raises a sum of absolute gaps, so that the interval of its change lies too "
        "near to 0, if anything.",
        NO_INTERVAL,
    ]
