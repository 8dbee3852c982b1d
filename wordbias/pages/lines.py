"""Rows of one measure side by side: before, and at each column, each with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wordbias.results import number
from wordbias.rows import Found, given
from wordbias.verdicts import chance_ends, change_ends, interval, is_number
from wordbias.wordlists.queries import CONTROL

BEFORE, AFTER = "before", "after"
FIRST = ("", BEFORE)
"""Stages before anything was done."""
_REFITTED = ", refitted"
VARIANT = ("setting", "set", "words", "group")
_IDENTITY = ("subject", "measure", *VARIANT, "component", "layer", "word")
_ROUNDING = 1e-9
_QUERY = 4
"""Sets of words of an association test."""
_BETTER = {
    "lower": "lower is better",
    "higher": "higher is better",
    "neutral": "closer is better",
}


@dataclass(frozen=True)
class Line:
    """One measure of one subject, at every stage that was measured."""

    subject: str
    measure: str
    variant: str
    # rows by stage: `""` for rows without one, `before`, and what they are compared with: `after`,
    # the columns of an audit, or either of them refitted
    stages: Mapping[str, Found] = field(repr=False)

    @property
    def any(self) -> Found:
        """One of the rows, for properties that they share; one with a value if there is one."""
        rows = list(self.stages.values())
        return next((row for row in rows if row["value"] is not None), rows[0])

    @property
    def first(self) -> Found | None:
        """The row before anything was done, or the only one."""
        return self.stages.get(BEFORE) or self.stages.get("")

    @property
    def later(self) -> Mapping[str, Found]:
        """The rows that are compared with the first, by stage; not what is refitted, beside it."""
        return {
            stage: row
            for stage, row in self.stages.items()
            if stage not in ("", BEFORE)
            and (not stage.endswith(_REFITTED) or stage.removesuffix(_REFITTED) not in self.stages)
        }

    @property
    def last(self) -> Found | None:
        """The first of the rows that are compared with the one before."""
        return next(iter(self.later.values()), None)

    def at(self, stage: str) -> Line:
        """Return the line with one of its later stages only."""
        stages = {name: row for name, row in self.stages.items() if name in ("", BEFORE, stage)}
        return replace(self, stages=stages)

    def values(self) -> list[float]:
        """Return all values and the ends of their intervals."""
        numbers = [row.get(key) for row in self.stages.values() for key in ("value", "low", "high")]
        return [float(value) for value in numbers if is_number(value)]


def make_lines(rows: Iterable[Found]) -> list[Line]:
    """Put the stages of each measure together, in the order of the rows."""
    # A second row with the same subject, measure, variant and stage begins a line of its own.
    rows = list(rows)
    frozen = {identity(row) for row in rows if row.get("reference") == "before"}
    by_place: dict[tuple[Any, ...], dict[str, Found]] = {}
    before: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        key, stage = identity(row), _stage(row, frozen)
        by_place.setdefault((key, before[*key, stage]), {})[stage] = row
        before[*key, stage] += 1
    return [_line(stages) for stages in by_place.values()]


def identity(row: Found) -> tuple[str, ...]:
    """Return the values that the stages of one measure share, and no other row has."""
    return tuple(str(row.get(key, "")) for key in _IDENTITY)


def variant(row: Found) -> str:
    """Name the setting, set or group of a row."""
    parts = dict.fromkeys(str(row[key]) for key in VARIANT if given(row, key))
    sizes = row.get("n")
    if isinstance(sizes, dict) and len(sizes) == _QUERY:
        x, y, a, b = (str(name).replace("_", " ") for name in sizes)
        parts = {**parts, f"{x}/{y} × {a}/{b}": None}
    return ", ".join(parts)


def _line(stages: Mapping[str, Found]) -> Line:
    row = next(iter(stages.values()))
    ordered = {stage: stages[stage] for stage in _in_order(stages)}
    return Line(str(row["subject"]), str(row["measure"]), variant(row), ordered)


def _stage(row: Found, frozen: set[tuple[str, ...]]) -> str:
    """Return the stage of a row that is compared with another; of other commands' rows none."""
    stage = str(row.get("stage") or "")
    if stage not in ("", BEFORE, AFTER) and not is_column(row):
        return ""
    if stage == AFTER and row.get("reference") == "self" and identity(row) in frozen:
        return stage + _REFITTED
    return stage


def is_column(row: Found) -> bool:
    """Return whether a row is of a column of an audit: after methods, or of a cleaned file."""
    return given(row, "column") and given(row, "stage") and row["stage"] != BEFORE


def is_refitted(row: Found | None) -> bool:
    """Return whether a value of a column is along axes that were fitted anew to its vectors."""
    return row is not None and is_column(row) and row.get("reference") == "self"


def stages_of(lines: Sequence[Line]) -> list[str]:
    """Return the stages that occur, in the order of the columns."""
    return _in_order(dict.fromkeys(stage for line in lines for stage in line.stages))


def _in_order(stages: Iterable[str]) -> list[str]:
    """Return stages with those before first, and what is refitted last."""
    return sorted(
        stages,
        key=lambda stage: (
            FIRST.index(stage) if stage in FIRST else len(FIRST),
            stage.endswith(_REFITTED),
        ),
    )


def about(line: Line) -> str:
    """Return the attribute of people that an association test is about, as far as it is known."""
    return str(line.any.get("about") or "")


def main_attribute(lines: Sequence[Line]) -> str:
    """Return the attribute that a report's association tests are about."""
    # Gender if some tests are about it, as in the ten of WEAT; else the attribute of the first test
    # that is no control; `control` if all are controls.
    attributes = list(dict.fromkeys(map(about, lines)))
    people = [attribute for attribute in attributes if attribute != CONTROL]
    return "gender" if "gender" in attributes else next(iter(people), CONTROL)


def value_text(row: Found | None, digits: int = 3) -> str:
    """Write a value with its interval; nothing for a missing one, a dash for an undefined one."""
    if row is None:
        return ""
    ends = interval(row)
    text = minus(number(row["value"], digits))
    if ends is None or row["value"] is None:
        return text
    low, high = (minus(number(end, digits)) for end in ends)
    return f"{text} ({low} to {high})"


def with_change(text: str, row: Found, digits: int = 3) -> str:
    """Write after a text how a row changed, with the interval; nothing where it has none."""
    value, ends = row.get("change"), change_ends(row)
    if not is_number(value) or ends is None:
        return text
    changed = {"value": value, "low": ends[0], "high": ends[1]}
    return f"{text}, change {value_text(changed, digits)}"


REFITTED = "refitted: along the axis or subspace that was fitted anew to the vectors of the column"
CHANCE = (
    "chance: the mean and range of the same measure on the vectors before, along axes that do not "
    "mean the attribute"
)


def chance_text(line: Line) -> str:
    """Write the chance level of a line, and whether its first value is beyond it."""
    row = line.any
    mean, ends = row.get("chance"), chance_ends(row)
    if not is_number(mean) or ends is None:
        return ""
    mean = mean if abs(mean) > _ROUNDING * (ends[1] - ends[0]) else 0.0
    mean_, low_, high_ = (minus(number(value, 3)) for value in (mean, *ends))
    beyond = (line.first or row).get("beyond_chance")
    verdict = "" if beyond is None else "; beyond" if beyond else "; not beyond"
    return f"{mean_} ({low_} to {high_}){verdict}"


def known_values(row: Found | None) -> dict[str, float]:
    """Return the values of embeddings that people know, by their names."""
    known = (row or {}).get("known_values")
    if not isinstance(known, dict):
        return {}
    return {str(name): float(value) for name, value in known.items() if is_number(value)}


def known_text(line: Line) -> str:
    """Write the range of the values of embeddings that people know."""
    known = known_values(line.first)
    if not known:
        return ""
    low, high = (minus(number(value, 3)) for value in (min(known.values()), max(known.values())))
    return f"{low} to {high} ({len(known)})"


def chance_range(row: Found) -> str:
    """Write the range of a row's chance level; nothing if it has none."""
    return " to ".join(minus(f"{end:.2f}") for end in chance_ends(row) or ())


def ideal(row: Found) -> str:
    """Write which value is neutral and which direction is better."""
    better = _BETTER.get(str(row.get("better", "")), "")
    if not is_number(row.get("neutral")):
        return better or "–"
    return ", ".join(filter(None, [f"{minus(format(row['neutral'], '.4g'))} is neutral", better]))


def minus(text: str) -> str:
    """Write a true minus before a number."""
    return "−" + text[1:] if text.startswith("-") else text
