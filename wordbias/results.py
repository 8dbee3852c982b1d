"""Results: rows for machines, tables for people, and where both came from."""

from __future__ import annotations

import csv
import io
import json
import platform
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from wordbias import __version__
from wordbias.errors import WordbiasError

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
class Table:
    """A table for people: cells are text; those of the column `cut` may be cut to fit."""

    title: str
    columns: Sequence[str]
    cells: Sequence[Sequence[str]]
    note: str = ""
    cut: str = ""


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
            return _json(self.to_dict(), indent=2) + "\n"
        if to == "jsonl":
            return "".join(_json(row.to_dict()) + "\n" for row in self.rows)
        if to == "csv":
            return _csv([row.to_dict() for row in self.rows])
        if to not in FORMATS:
            raise WordbiasError(f"format {to!r}: expected one of {', '.join(FORMATS)}")
        draw = {"table": _plain, "md": _markdown, "latex": _latex}[to]
        width = width or min(shutil.get_terminal_size((100, 24)).columns, 100)
        said = [*self.closing, *(f"Note: {line}" for line in self.notes)]
        parts = [draw(table, width) for table in self.tables]
        if to == "table":  # the notes go to stderr
            parts = [*_paragraph(self.heading, width), *parts, *_paragraph(self.closing, width)]
        else:
            start = "% " if to == "latex" else ""
            parts = [*(start + line for line in self.heading), *parts, *(start + x for x in said)]
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


def _json(value: Any, indent: int | None = None) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False, default=str)
    return text.encode("utf-8", "backslashreplace").decode()


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    return out.getvalue()


def _cell(value: Any) -> Any:
    """Write lists as JSON, which can be read back."""
    return _json(value) if isinstance(value, (list, tuple, dict)) else value


def _plain(table: Table, width: int) -> str:
    columns = [list(column) for column in zip(table.columns, *table.cells, strict=True)]
    numeric = [all(cell[:1] in "-–0123456789" for cell in column[1:]) for column in columns]
    _shorten(columns, table.cut, width)
    aligned = []
    for column, right in zip(columns, numeric, strict=True):
        w = max(map(len, column))
        aligned.append([cell.rjust(w) if right else cell.ljust(w) for cell in column])
    lines = [_wrap(table.title, width)]
    lines += ["  " + "  ".join(row).rstrip() for row in zip(*aligned, strict=True)]
    if table.note:
        lines.append(_wrap(table.note, width, "  "))
    return "\n".join(lines)


def _shorten(columns: list[list[str]], cut: str, width: int) -> None:
    """Cut the cells of the column headed `cut` so that the table fits."""
    widths = [max(map(len, column)) for column in columns]
    excess = 2 * len(columns) + sum(widths) - width
    for i, column in enumerate(columns):
        if cut and column[0] == cut and excess > 0:
            room = max(widths[i] - excess, len(cut))
            columns[i] = [cell if len(cell) <= room else cell[: room - 1] + "…" for cell in column]


def _paragraph(lines: Sequence[str], width: int) -> list[str]:
    return ["\n".join(_wrap(line, width) for line in lines)] if lines else []


def _wrap(text: str, width: int, indent: str = "") -> str:
    return textwrap.fill(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _markdown(table: Table, width: int) -> str:
    def line(cells: Sequence[str]) -> str:
        return (
            "| "
            + " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
            + " |"
        )

    rule = "|" + "|".join([" --- ", *[" ---: "] * (len(table.columns) - 1)]) + "|"
    lines = [f"**{table.title}**", "", line(table.columns), rule, *map(line, table.cells)]
    return "\n".join([*lines, *(["", table.note] if table.note else [])])


def _latex(table: Table, width: int) -> str:
    def line(cells: Sequence[str]) -> str:
        return " & ".join(map(_tex, cells)) + r" \\"

    columns = "l" + "r" * (len(table.columns) - 1)
    lines = [r"\begin{table}", rf"\caption{{{_tex(table.title)}}}"]
    lines += [rf"\begin{{tabular}}{{{columns}}}", r"\hline", line(table.columns), r"\hline"]
    lines += [*map(line, table.cells), r"\hline", r"\end{tabular}"]
    return "\n".join([*lines, *([f"% {table.note}"] if table.note else []), r"\end{table}"])


_TEX = {
    **{c: "\\" + c for c in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "′": "$'$",
    "θ": r"$\theta$",
    "Δ": r"$\Delta$",
    "−": r"$-$",
    "‖": r"$\Vert$",
    "²": r"$^2$",
    "–": "--",
}


def _tex(text: str) -> str:
    return "".join(_TEX.get(character, character) for character in text)
