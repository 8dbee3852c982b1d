"""Conditions on the rows of a result, such as ``tpr-gap[set=sum] low > .1``, and their judgement.

A condition is a measure, perhaps narrowed by keys of its rows, an operator and a number::

    [change] MEASURE [ "[" KEY=VALUE, … "]" ] [low|high] OPERATOR NUMBER

- The operator is ``>``, ``>=``, ``<`` or ``<=``.
- ``low`` and ``high`` are the ends of the 95 % interval, else the value is compared.
- With ``change`` it is the change from a baseline, or without one that of the row itself.
- Between quotation marks, single or double, a measure or a value may have any characters. One
  inside is written twice.
- The correlation of gaps with the shares of groups has their name. It is asked for by its key:
  ``tpr-gap[set=pearson] > .5``.

`--fail-if` names what fails, so one row that meets the condition is enough. `Report.check` states
what must hold, so one row that does not meet it is enough. What cannot be judged fails in both.
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from wordbias.arguments import path_named
from wordbias.errors import UsageError, WordbiasError, listed, unknown_name
from wordbias.measures.registry import ROW_KEYS
from wordbias.outcomes.fairness import CORRELATION
from wordbias.results import Row, flat, number
from wordbias.row_changes import (
    INDEPENDENT,
    as_measured,
    keyed,
    one_subject_each,
    text_of,
    unseeded,
    with_changes,
)
from wordbias.rows import read_rows

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
CHANGE, ENDS = "change", ("low", "high")
FORM = 'write it as "tpr-gap > .1", "tpr-gap[set=sum] low > .1" or "change tpr-gap > .02"'
Status = Literal["passed", "failed", "error"]

_SPACE = re.compile(r"\s*")
_QUOTED = re.compile(r""" "(?:[^"]|"")*" | '(?:[^']|'')*' """, re.VERBOSE)
_NAME = re.compile(r"""[^\s\[\]<>=,"']+""")
_VALUE = re.compile(r"""[^\s,\]"'](?:[^,\]]*[^\s,\]])?""")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_OPERATOR = re.compile(r"[<>=!]+")


class Condition(NamedTuple):
    """A condition; see the grammar above."""

    measure: str
    where: Mapping[str, str]
    part: str  # the value, or the end of its interval, that is compared: `""`, `low` or `high`
    operator: str
    limit: float
    change: bool  # the change is compared, or the end of its interval

    def __str__(self) -> str:
        """Return the condition as `parse` reads it."""
        where = ", ".join(f"{key}={_quoted(v, _VALUE)}" for key, v in self.where.items())
        plain = self.measure in (CHANGE, *ENDS)
        named = _marked(self.measure) if plain else _quoted(self.measure, _NAME)
        measure = f"{named}[{where}]" if where else named
        parts = [CHANGE * self.change, measure, self.part, self.operator, repr(self.limit)]
        return " ".join(filter(None, parts))


def _quoted(text: str, bare: re.Pattern[str]) -> str:
    return text if bare.fullmatch(text) else _marked(text)


def _marked(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


# Reading


def parse(text: str) -> Condition:
    """Read a condition."""
    return _Reader(text).condition()


class _Reader:
    """A text that is read from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def condition(self) -> Condition:
        if not self.text.strip():
            raise UsageError(f"a condition is empty; {FORM}")
        change = False
        measure = self.name("a measure")
        if measure == CHANGE and self.text[: self.at].rstrip().endswith(CHANGE) and self.has_name():
            change, measure = True, self.name("a measure")
        where = self.where() if self.takes("[") else {}
        part = self.name("low or high") if self.has_name() else ""
        if part not in ("", *ENDS):
            raise self.error(f"expected low, high or an operator before {part!r:.40}", len(part))
        sign = self.match(_OPERATOR) or ""
        if sign not in OPERATORS:
            end = " (a shell takes > for a file, unless it is in double quotes)" * (
                self.at == len(self.text)
            )
            got = f", got {sign}" if sign else end
            raise self.error(f"expected one of {', '.join(OPERATORS)}{got}", len(sign))
        limit = self.match(_NUMBER)
        if limit is None or not math.isfinite(float(limit)):
            raise self.error("expected a finite number")
        self.match(_SPACE)
        if self.at < len(self.text):
            raise self.error(f"expected nothing after the number, got {self.text[self.at :]!r:.40}")
        return Condition(measure, where, part, sign, float(limit), change)

    def where(self) -> dict[str, str]:
        where: dict[str, str] = {}
        while True:
            key = self.name("a key")
            if not self.takes("="):
                raise self.error(f"expected = and a value after {key}")
            if key in where:
                raise self.error(f"{key} is given twice")
            value = self.quoted() or self.match(_VALUE)
            if not value:
                raise self.error(f"expected a value of {key}")
            where[key] = value
            if self.takes("]"):
                return where
            if not self.takes(","):
                raise self.error("expected a comma or ]")

    def name(self, of: str) -> str:
        name = self.quoted() or self.match(_NAME)
        if not name:
            raise self.error(f"expected {of}")
        return name

    def has_name(self) -> bool:
        self.match(_SPACE)
        return bool(_QUOTED.match(self.text, self.at) or _NAME.match(self.text, self.at))

    def quoted(self) -> str | None:
        token = self.match(_QUOTED)
        return None if token is None else token[1:-1].replace(2 * token[0], token[0])

    def takes(self, mark: str) -> bool:
        return self.match(re.compile(re.escape(mark))) is not None

    def match(self, pattern: re.Pattern[str]) -> str | None:
        """Read what a pattern matches behind spaces, if it does."""
        start = 0 if (space := _SPACE.match(self.text, self.at)) is None else space.end()
        match = pattern.match(self.text, start)
        if match is None:
            return None
        self.at = match.end()
        return match[0]

    def error(self, what: str, back: int = 0) -> UsageError:
        return UsageError(
            f"condition {self.text!r}: {what}, at character {self.at - back + 1}; {FORM}"
        )


def baseline_rows(baseline: object, conditions: Iterable[str]) -> Sequence[Row] | None:
    """Return the rows of a baseline: of a report, or of a file of results."""
    if baseline is None:
        return None
    if not any(parse(text).change for text in conditions):
        raise UsageError('--baseline: no condition is about a change; write "change tpr-gap > .02"')
    rows = getattr(getattr(baseline, "report", None) or baseline, "rows", None)
    if isinstance(rows, Sequence):
        return rows
    return read_rows(Path(path_named("--baseline", baseline)))


# Judging


@dataclass(frozen=True)
class Outcome:
    """What became of a condition."""

    condition: str
    status: Status  # passed, failed, or error: it could not be asked
    said: str  # the value with its interval and what it is of, or the error; one line
    row: Row | None = None  # the row that decided; None after an error
    value: float | None = None  # the value, or the change, and its interval
    low: float | None = None
    high: float | None = None


def judge(
    text: str, rows: Sequence[Row], baseline: Sequence[Row] | None = None, *, holds: bool = False
) -> Outcome:
    """Judge a condition on rows: each must meet it if it `holds`, else it fails if one does."""
    condition = parse(text)
    chosen = _chosen(condition, rows)
    if condition.change:
        chosen = _changed(condition, chosen, rows, baseline)
    met = OPERATORS[condition.operator]
    key = condition.part or "value"
    if condition.change:
        key = f"{CHANGE}_{condition.part}" if condition.part else CHANGE
    compared = [(row, _number(row, key)) for row in chosen]
    failing = [
        (row, figure)
        for row, figure in compared
        if figure is None or met(figure, condition.limit) != holds
    ]
    upward = (condition.operator in (">", ">=")) != holds
    row, worst = max(failing or compared, key=lambda pair: _severity(pair[1], upward))
    value, low, high = _with_ends(condition, row)
    phrases = [_figure_text(condition, row, worst), *_names(row, chosen)]
    if len(failing) > 1:
        phrases.append(f"and {len(failing) - 1:,} more of {len(chosen):,} rows")
    status: Status = "failed" if failing else "passed"
    return Outcome(text.strip(), status, ", ".join(phrases), row, value, low, high)


def outcome_of(
    text: str, rows: Sequence[Row], baseline: Sequence[Row] | None = None, *, holds: bool = False
) -> Outcome:
    """Judge a condition; one that cannot be asked is an error."""
    try:
        return judge(text, rows, baseline, holds=holds)
    except WordbiasError as error:
        return Outcome(text.strip(), "error", str(error))


def _chosen(condition: Condition, rows: Sequence[Row]) -> list[Row]:
    """Return the rows that a condition is about; say what they lack if there are none."""
    if not rows:
        raise UsageError(
            f"measure {condition.measure!r}: the result has no values; name a call that has some"
        )
    if chosen := [row for row in rows if _is_asked(condition, row)]:
        return chosen
    name = condition.measure
    left = [row for row in rows if row.measure == name]
    if not left:
        raise unknown_name("measure", name, dict.fromkeys(row.measure for row in rows))
    for key, wanted in condition.where.items():
        row_values = [flat(row.to_dict()).get(key) for row in left]
        there = dict.fromkeys(map(text_of, filter(lambda value: value is not None, row_values)))
        if not there:
            raise unknown_name(f"{name}: key", key, _keys(left))
        left = [row for row, value in zip(left, row_values, strict=True) if _is(value, wanted)]
        if not left:
            raise UsageError(
                f"{name}: no row has {key} {wanted!r}; expected one of {listed(there)}"
            )
    raise UsageError(f"{name}: only its correlation is there; write {name}[set={CORRELATION}]")


def _is_asked(condition: Condition, row: Row) -> bool:
    """Return whether a row has a condition's measure and keys; a correlation needs its key."""
    if row.measure != condition.measure:
        return False
    flat_row, where = flat(row.to_dict()), condition.where
    if flat_row.get("set") == CORRELATION and "set" not in where:
        return False
    return all(_is(flat_row.get(key), wanted) for key, wanted in where.items())


def _keys(rows: Iterable[Row]) -> list[str]:
    """Return the keys that name what was measured."""
    return [key for key in ROW_KEYS["names"] if any(key in row.to_dict() for row in rows)]


def _is(actual: Any, wanted: str) -> bool:
    """Return whether a key has a value, as text or as a number."""
    if (
        isinstance(actual, (int, float))
        and not isinstance(actual, bool)
        and _NUMBER.fullmatch(wanted)
    ):
        return float(actual) == float(wanted)
    return text_of(actual) in (wanted, wanted.capitalize() if isinstance(actual, bool) else wanted)


def _changed(
    condition: Condition,
    chosen: Sequence[Row],
    rows: Sequence[Row],
    baseline: Sequence[Row] | None,
) -> list[Row]:
    """Return rows with their changes from a baseline, over seeds as their mean."""
    # A row that only one of the two has is refused, and an undefined one is not left out of a mean.
    name = condition.measure
    if baseline is None:
        if not any(CHANGE in row.details for row in chosen):
            raise UsageError(
                f"change {name}: the rows have no change of their own; give --baseline with a "
                "result of the same call, saved as JSON"
            )
        return [row for row in chosen if CHANGE in row.details or _number(row, "value") is None]
    before, after = keyed(baseline, rows, across=one_subject_each(baseline, rows))
    wanted = {id(row) for row in chosen}
    chosen_by_key = {key: row for key, row in after.items() if id(row) in wanted}
    subjects, there = {key[0] for key in chosen_by_key}, {unseeded(key) for key in after}
    gone = [
        row
        for key, row in before.items()
        if key[0] in subjects and unseeded(key) not in there and _is_asked(condition, row)
    ]
    new = [row for key, row in chosen_by_key.items() if key not in before]
    for which, lacking in (("baseline", new), ("result", gone)):
        if lacking:
            names = ", ".join([name, *_names(lacking[0], [*chosen, lacking[0]])])
            more = f" and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
            raise UsageError(
                f"change {name}: the {which} has no {names}{more}; make the baseline by the same "
                "call, saved as JSON"
            )
    matched = {key: (before[key], as_measured(row)) for key, row in chosen_by_key.items()}
    pairs = [row for _, row in with_changes(matched)]
    means, single = pairs[: -len(matched)], dict(zip(matched, pairs[-len(matched) :], strict=True))
    if "seed" in condition.where:
        return [*single.values()]
    seeds = Counter(unseeded(key) for key, row in single.items() if CHANGE in row.details)
    alone = [
        row for key, row in single.items() if CHANGE not in row.details or seeds[unseeded(key)] == 1
    ]
    return means + alone


def _number(row: Row, key: str) -> float | None:
    """Return a number of a row; one that is undefined is None."""
    figure = row.value if key == "value" else row.details.get(key)
    return None if figure is None or math.isnan(figure) else float(figure)


def _with_ends(condition: Condition, row: Row) -> tuple[float | None, float | None, float | None]:
    """Return the value, or the change, and its interval."""
    if condition.change:
        return _number(row, CHANGE), _number(row, "change_low"), _number(row, "change_high")
    return _number(row, "value"), _number(row, "low"), _number(row, "high")


def _severity(figure: float | None, upward: bool) -> tuple[bool, float]:
    """Return the order of rows: the farthest beyond the limit last; what has no value first."""
    return (False, 0.0) if figure is None else (True, figure if upward else -figure)


def _figure_text(condition: Condition, row: Row, figure: float | None) -> str:
    """Return the value or the change with its interval, or why there is none."""
    value, low, high = _with_ends(condition, row)
    if value is None:
        reason = row.details.get("reason")
        return f"undefined{f' ({reason})' if reason else ''}, which counts as failed"
    text = number(value) if not condition.change else f"{value:+z.4f}"
    if low is not None and high is not None:
        text += f" [{number(low)}, {number(high)}]"
    if condition.change and "before" in row.details:
        text += f" from {number(row.details['before'])} to {number(row.value)}"
    if condition.change and row.details.get("paired") == INDEPENDENT:
        text += ", not paired"
    if figure is None:
        text += f" has no interval, so that {condition.part} counts as failed"
    return text


def _names(row: Row, rows: Sequence[Row]) -> list[str]:
    """Return the subject of a row, and what else tells it from the other rows."""
    every = [flat(other.to_dict()) for other in rows]
    own = flat(row.to_dict())
    differ = [
        key
        for key in ROW_KEYS["names"]
        if key not in ("subject", "measure")
        and own.get(key) not in (None, "")
        and len({text_of(flat_row.get(key)) for flat_row in every}) > 1
    ]
    return [row.subject, *(f"{key} {own[key]}" for key in differ)]
