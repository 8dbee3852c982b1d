"""What fitting found and whom it reached, arranged for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wordbias.debias.fitted import Chain, Fitted, Reach
from wordbias.embedding import Embedding
from wordbias.rendering import Table
from wordbias.results import Row, number

_CONVENTIONS = ("neutral", "better", "missing", "reason")


def found_tables(chain: Chain) -> list[Table]:
    """One table a method that found something out, one line a value."""
    return [_found_table(part) for part in chain.parts if part.found]


def reach_rows(chain: Chain, reached: Sequence[Reach], done: Embedding) -> list[Row]:
    """How many words each method of a chain changed, and how many it left alone."""
    return [
        Row(
            done.name,
            "words-changed",
            reach.mapped + reach.replaced,
            {"method": part.name, "replaced": reach.replaced, "outside": reach.outside},
        )
        for part, reach in zip(chain.parts, reached, strict=True)
    ]


def reach_table(chain: Chain, reached: Sequence[Reach]) -> Table:
    """One line a method."""
    cells = [
        [part.name, f"{reach.mapped:,}", f"{reach.replaced:,}", f"{reach.outside:,}"]
        for part, reach in zip(chain.parts, reached, strict=True)
    ]
    columns = ["", "mapped", "own vectors", "left alone"]
    return Table("Words", columns, cells, _lengths(chain))


def _lengths(chain: Chain) -> str:
    """Say where words that are left alone are brought to length one all the same."""
    if any(part.exempt_steps for part in chain.parts):
        return "Every vector is brought to length one, those of words left alone too."
    return ""


def _found_table(fitted: Fitted) -> Table:
    keys = [
        key
        for key in dict.fromkeys(key for row in fitted.found for key in row.details)
        if key not in _CONVENTIONS and not _says_title(fitted, key)
    ]
    cells = [
        [row.measure, number(row.value), *(_cell(row.details.get(key)) for key in keys)]
        for row in fitted.found
    ]
    settings = ", ".join(
        f"{key} {_cell(value)}"
        for key, value in fitted.settings.items()
        if value is not None and value is not False
    )
    title = f"{fitted.name}: {settings}" if settings else fitted.name
    return Table(title, ["", "value", *keys], cells)


def _says_title(fitted: Fitted, key: str) -> bool:
    """Whether all rows only repeat a setting, which the title has."""
    values = (row.details[key] for row in fitted.found if key in row.details)
    return key in fitted.settings and all(value == fitted.settings[key] for value in values)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    return number(value) if isinstance(value, float) else str(value)
