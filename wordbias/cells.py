"""Cells of tables of values: how a value, an interval, a change, p and chance are written.

Only this module knows under which keys a row has them. A kind is what an interval is made of:
``""`` for the words or items of the value itself, ``change``, ``chance``, ``lists``, ….
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wordbias.results import Row, number

Cell = Callable[[Row], str]
"""Function that writes one thing about a row."""
_DIGITS = 3


def entry(row: Row, key: str) -> Any:
    """Return what a row has under a key; None if it has none."""
    return getattr(row, key) if key in ("subject", "measure") else row.details.get(key)


def has(row: Row, kind: str) -> bool:
    """Return whether a row has a chance level, redraws of lists, or another kind of draws."""
    return kind in row.details or f"{kind}_draws" in row.details


def ends_of(row: Row, kind: str = "") -> tuple[float, float] | None:
    """Return the ends of an interval of a kind, if the row has one."""
    low, high = (row.details.get(f"{kind}_{end}" if kind else end) for end in ("low", "high"))
    return None if low is None or high is None else (low, high)


def ends(row: Row, kind: str = "", digits: int = _DIGITS) -> str:
    """Write the ends of an interval; nothing where there is none."""
    bounds = ends_of(row, kind)
    return "" if bounds is None else " to ".join(_end(end, digits) for end in bounds)


def _end(end: float, digits: int = _DIGITS) -> str:
    return f"{end:z.{digits}f}"


def _joined(estimate: float | None, interval: str) -> str:
    return f"{_beside(estimate, interval)} ({interval})" if interval else number(estimate, _DIGITS)


def _beside(estimate: float | None, uncertainty: str) -> str:
    """Write a value; one that rounds to 0 is 0 if its uncertainty does not round to 0."""
    if estimate is None or not any(figure in uncertainty for figure in "123456789"):
        return number(estimate, _DIGITS)
    return _end(estimate)


def _plus_minus(estimate: float | None, spread: float) -> str:
    return f"{_beside(estimate, _end(spread))} ±{_end(spread)}"


def value(row: Row) -> str:
    """Write a value; a dash for an undefined one."""
    return number(row.value, _DIGITS)


def share(row: Row) -> str:
    """Write a share or probability in five characters."""
    return "–" if row.value is None else _end(row.value)


def count(row: Row) -> str:
    """Write a value that is a number of things."""
    return f"{row.value:,.0f}"


def rounded(digits: int) -> Cell:
    """Return a cell of values with other digits, as a paper's own tables have."""
    return lambda row: number(row.value, digits)


def with_interval(row: Row) -> str:
    """Write a value and its interval."""
    return _joined(row.value, ends(row))


def with_half_width(row: Row) -> str:
    """Write a value and half the width of its interval."""
    bounds = ends_of(row)
    return value(row) if bounds is None else _plus_minus(row.value, (bounds[1] - bounds[0]) / 2)


def with_spread(row: Row) -> str:
    """Write a mean and the standard deviation over seeds."""
    spread = row.details.get("sd")
    return value(row) if spread is None else _plus_minus(row.value, spread)


def interval_of(kind: str = "", digits: int = _DIGITS) -> Cell:
    """Return a cell of intervals of a kind; a dash for a row that has none."""
    return lambda row: ends(row, kind, digits) or "–"


def mean_of(kind: str) -> Cell:
    """Return a cell of means of a kind, such as of random removals; nothing where there is none."""
    return lambda row: "" if _lacks(row, kind) else number(row.details.get(kind), _DIGITS)


def _lacks(row: Row, kind: str) -> bool:
    return row.value is not None and kind not in row.details


def change(row: Row) -> str:
    """Write a change and its interval; nothing where none was taken."""
    return "" if _lacks(row, "change") else _joined(row.details.get("change"), ends(row, "change"))


def p_of(kind: str = "") -> Cell:
    """Return a cell of p of a kind."""
    return lambda row: p_value(row.details.get(f"{kind}_p" if kind else "p"))


def p_holm(row: Row) -> str:
    """Write p, corrected by Holm's method."""
    return p_value(row.details.get("p_holm"))


def p_value(probability: float | None) -> str:
    """Write a p-value, a small one by its order of magnitude; an undefined one as a dash."""
    return (
        "–"
        if probability is None
        else f"{probability:.1e}"
        if 0 < probability < 0.001
        else f"{probability:.4f}"
    )


def chance(row: Row) -> str:
    """Write the chance level: mean and range; nothing where there is none."""
    mean = row.details.get("chance")
    return "" if mean is None else _joined(mean, ends(row, "chance"))


def ideal(row: Row) -> str:
    """Write the neutral value, to which nearer is better, or the better direction."""
    neutral_value = row.details.get("neutral")
    return str(row.details.get("better") or "") if neutral_value is None else f"{neutral_value:g}"


def detail(key: str, digits: int = _DIGITS) -> Cell:
    """Return a cell of what a row has under a key; nothing where it has none."""
    return lambda row: written(entry(row, key), digits)


def percent(key: str) -> Cell:
    """Return a cell of a share under a key, in per cent; nothing where there is none."""
    return lambda row: "" if entry(row, key) is None else f"{entry(row, key):.0%}"


def written(content: Any, digits: int = _DIGITS) -> str:
    """Write a detail: a number, yes, or a text."""
    if content is None or isinstance(content, bool):
        return "yes" if content else ""
    if isinstance(content, float):
        return number(content, digits)
    return f"{content:,}" if isinstance(content, int) else str(content)


interval: Cell = interval_of()
p: Cell = p_of()
n: Cell = detail("n")
neutral: Cell = detail("neutral")
OF_HEAD: dict[str, Cell] = {"95 %": interval, "p": p, "Holm": p_holm, "n": n, "ideal": ideal}
"""Heads of columns that say by themselves what stands below."""
