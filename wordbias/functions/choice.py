"""Choice of a method for `wordbias.debias`: what was tried, and the report on the other half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from wordbias.calls import note
from wordbias.functions.tables import length_notes
from wordbias.measures.registry import MEASURES, short_title
from wordbias.methods.choice import (
    CHOOSE,
    Task,
    Tried,
    choose,
    compare,
    percent,
    try_candidate,
)
from wordbias.methods.fitted import Chain
from wordbias.methods.trade_off import badness
from wordbias.progress import progress
from wordbias.rendering import Table, how_many
from wordbias.results import Row, number
from wordbias.word_tasks import AnalogySet, SimilaritySet
from wordbias.workers import Workers


def similarity_sets(sets: Sequence[SimilaritySet | AnalogySet]) -> list[SimilaritySet]:
    """Return the sets of similarity; note that others are left out."""
    if others := [one.name for one in sets if isinstance(one, AnalogySet)]:
        note(
            f"{', '.join(others)}: analogies are no cost here, as they take minutes for each "
            "method; wordbias quality answers them before and after"
        )
    return [one for one in sets if isinstance(one, SimilaritySet)]


@dataclass(frozen=True, eq=False)
class Choice:
    """What was tried, and the candidate that was chosen, which keeps a share `keep`."""

    task: Task
    tried: Sequence[Tried]
    best: Tried
    keep: float

    def report(self, chain: Chain) -> Chosen:
        """Measure the chosen methods, fitted, on the half to report on."""
        label = self.best.candidate
        after = chain(self.task.part).renamed(label)
        reported = compare(self.task, self.task.reported_on, after, label)
        return Chosen(
            [*_tried_rows(self), *reported],
            [_tried_table(self), _reported_table(self.task, reported)],
            _heading(self, reported),
        )


class Chosen(NamedTuple):
    """Rows, tables and sentences about a choice."""

    rows: list[Row]
    tables: list[Table]
    heading: list[str]


def make_choice(task: Task, candidates: Sequence[str], keep: float, workers: Workers) -> Choice:
    """Try candidates side by side and choose one.

    Raises
    ------
    WordbiasError
        If there is none to choose; see `wordbias.methods.choice.choose`.
    """
    found: dict[int, Tried] = {}
    with progress("choosing", len(candidates), "method") as bar:
        for place, one in workers.unordered(try_candidate, candidates, shared=(task,)):
            found[place] = one
            bar.set_postfix_str(one.candidate)
            bar.update(1)
    tried = [found[place] for place in range(len(candidates))]
    return Choice(task, tried, choose(task, tried, keep), keep)


def _tried_rows(choice: Choice) -> list[Row]:
    """Return the value before on the half to choose on, and that after each candidate."""
    task = choice.task
    before = task.before[CHOOSE].row
    first = {"stage": "before", "half": CHOOSE, **before.details}
    rows = [Row(task.embedding.name, task.metric, before.value, first)]
    for one in choice.tried:
        label = one.candidate
        more = {"stage": label, "column": "method", "chosen": one is choice.best}
        rows.append(replace(one.row, details={**one.row.details, **more}))
    return rows


def _heading(choice: Choice, reported: Sequence[Row]) -> list[str]:
    """Say which method was chosen among which, and what it does on the other half."""
    before, after = reported[:2]
    title, keep = short_title(choice.task.metric), percent(choice.keep)
    kept = after.details["kept"]
    no_proof = after.value is not None and not Tried(choice.best.candidate, after).improves
    verdict = "; this interval holds 0, which is no proof of an improvement" if no_proof else ""
    missed = f", less than the {keep} asked for" if kept is not None and kept < choice.keep else ""
    shares = ", ".join(f"{share:.1%} of {name}" for name, share in after.details["costs"].items())
    return [
        f"{choice.best.candidate}: of {how_many(len(choice.tried), 'method')} tried on one "
        f"half of the words it improves {title} most, of those that keep {keep}.",
        f"On the other half: {title} {number(before.value)} → {number(after.value)}, change "
        f"{_change(after)}{verdict}; it keeps {shares}{missed}.",
    ]


def _tried_table(choice: Choice) -> Table:
    """Make a line for each candidate, the best value first."""
    task, tried = choice.task, choice.tried
    ordered = sorted(tried, key=lambda one: _order(task, one))
    costs = list(dict.fromkeys(name for one in tried for name in one.row.details.get("costs", ())))
    cells = [
        [
            one.candidate,
            number(one.row.value),
            _change(one.row),
            *(_share(one.row.details.get("costs", {}).get(name)) for name in costs),
            "yes" if one is choice.best else "",
        ]
        for one in ordered
    ]
    before = number(task.before[CHOOSE].row.value)
    reasons = [
        f"{one.candidate}: {reason}" for one in ordered if (reason := one.row.details.get("reason"))
    ]
    reasons += length_notes([replace(one.row, subject=one.candidate) for one in ordered])
    columns = ["", short_title(task.metric), "change", *costs, "chosen"]
    shares = f"{' and '.join(costs)}: share kept" if costs else ""
    notes = [f"before: {before}", "change: with its 95 % interval", shares, *reasons]
    return Table("Tried on one half of the words", columns, cells, "; ".join(filter(None, notes)))


def _order(task: Task, one: Tried) -> float:
    value = one.row.value
    return float("inf") if value is None else badness(value, task.better, 0.0)


def _reported_table(task: Task, reported: Sequence[Row]) -> Table:
    """Make a line for the metric, and one for each cost."""
    before, after, *costs = reported
    by_stage = {(row.measure, row.details.get("set"), row.details["stage"]): row for row in costs}
    cells = [[short_title(task.metric), _value(before), _value(after), _change(after)]]
    for (measure, name, stage), row in by_stage.items():
        if stage == "after":
            old = by_stage.get((measure, name, "before"))
            title = short_title(measure) + (f" ({name})" if name else "")
            cells.append([title, _value(old), _value(row), ""])
    caution = MEASURES[task.metric].caution
    note = f"A value near neutral does not mean {caution}" if caution else ""
    return Table("On the other half of the words", ["", "before", "after", "change"], cells, note)


def _value(row: Row | None) -> str:
    return "" if row is None else f"{number(row.value)}{_ends(row, 'low', 'high')}"


def _change(row: Row) -> str:
    change = row.details.get("change")
    return "–" if change is None else f"{number(change)}{_ends(row, 'change_low', 'change_high')}"


def _ends(row: Row, *keys: str) -> str:
    low, high = (row.details.get(key) for key in keys)
    return "" if low is None or high is None else f" ({number(low)} to {number(high)})"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
