"""Results: rows for machines, tables for people, and where both came from."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from wordbias import __version__
from wordbias.errors import WordbiasError
from wordbias.rendering import (
    Table,
    as_csv,
    as_json,
    as_latex,
    as_markdown,
    as_text,
    paragraph,
    terminal_width,
)
from wordbias.visible import seen

Format = Literal["table", "json", "jsonl", "csv", "md", "latex"]
FORMATS: tuple[str, ...] = get_args(Format)

LIMITS = (
    "These measures compare two groups only, as their word lists do; whoever is in neither is "
    "not measured. A value near neutral is no proof of fairness: a measure sees the bias it was "
    "made to see, in the words it was given, and what a system built on the vectors does must be "
    "measured there."
)


@dataclass(frozen=True)
class Row:
    """One measured value.

    Attributes
    ----------
    subject
        What was measured.
    measure
        The measure's name.
    value
        None where it is undefined; then the details have a `reason`.
    details
        The other keys: `stage`, `reference`, `n`, `missing`, `neutral`, `better`, …
    """

    subject: str
    measure: str
    value: float | None
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the row as one flat dictionary."""
        row = {"subject": self.subject, "measure": self.measure, "value": self.value}
        return {**row, **self.details}


@dataclass(frozen=True)
class Report:
    """What a command has to say.

    Attributes
    ----------
    command, arguments, seed
        How it was called.
    inputs
        For each input its path, format, sha256, words and dimension.
    rows
        The values, for machines.
    tables
        The same values, arranged for people.
    heading, closing
        Lines above and below the tables.
    notes
        What a reader of the values must know.
    """

    command: str
    arguments: Mapping[str, Any]
    inputs: Mapping[str, Mapping[str, Any]]
    rows: Sequence[Row]
    tables: Sequence[Table] = ()
    heading: Sequence[str] = ()
    closing: Sequence[str] = ()
    seed: int | None = None
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the tables."""
        return {
            "wordbias": __version__,
            "command": self.command,
            "arguments": dict(self.arguments),
            "seed": self.seed,
            "inputs": {name: dict(facts) for name, facts in self.inputs.items()},
            "versions": versions(),
            "limits": LIMITS,
            "notes": list(self.notes),
            "rows": [row.to_dict() for row in self.rows],
        }

    def render(self, to: str, width: int | None = None) -> str:
        """Return the report in one of `FORMATS`, ending in a line feed."""
        if to == "json":
            return as_json(self.to_dict(), indent=2) + "\n"
        if to == "jsonl":
            return "".join(as_json(row.to_dict()) + "\n" for row in self.rows)
        if to == "csv":
            return as_csv([row.to_dict() for row in self.rows])
        if to not in FORMATS:
            raise WordbiasError(f"format {to!r}: expected one of {', '.join(FORMATS)}")
        draw = {"table": as_text, "md": as_markdown, "latex": as_latex}[to]
        width = width or terminal_width()
        heading, closing = list(map(seen, self.heading)), list(map(seen, self.closing))
        parts = [draw(table, width) for table in self.tables]
        if to == "table":  # the notes go to stderr
            parts = [*paragraph(heading, width), *parts, *paragraph(closing, width)]
        else:
            start = "% " if to == "latex" else ""
            closing += [f"Note: {seen(line)}" for line in self.notes]
            parts = [*(start + line for line in heading), *parts, *(start + x for x in closing)]
        return "\n\n".join(parts) + "\n"


def versions() -> dict[str, str]:
    """Return the versions of what computes the numbers."""
    import numpy

    return {"python": platform.python_version(), "numpy": numpy.__version__}


def number(value: float | None, digits: int = 4) -> str:
    """Format a value for people; an undefined one as a dash."""
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    if value and float(text) == 0:
        return f"{value:.1e}"
    return text
