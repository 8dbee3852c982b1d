"""Rendering of tables and rows: plain text, JSON, CSV, Markdown, HTML and LaTeX."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby, takewhile
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace
from typing import Any

from wordbias.errors import printable

FIGURES = (".png", ".pdf", ".svg")
"""Suffixes of figures."""


@dataclass(frozen=True)
class Table:
    """A table for people, with cells of text that a narrow terminal wraps."""

    title: str
    columns: Sequence[str]
    cells: Sequence[Sequence[str]]
    note: str = ""
    # part of each column: a terminal that is too narrow for all parts has several tables, with the
    # columns of no part, `""`, in each; empty for a table that is never split
    parts: Sequence[str] = ()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the table in IPython on a terminal."""
        printer.text(as_text(self, terminal_width()))

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return as_html(self)


def as_text(table: Table, width: int) -> str:
    """Return a table for a terminal of a width."""
    pieces = _pieces(table, width)
    if len(pieces) > 1:
        return "\n\n".join(as_text(piece, width) for piece in pieces)
    table = _drawable(table)
    columns = [list(column) for column in zip(table.columns, *table.cells, strict=True)]
    numeric = [all(cell[:1] in "-–.0123456789" for cell in column[1:]) for column in columns]
    widths = _fitted(columns, numeric, width)
    lines = [_wrap(table.title, width)]
    for row in zip(*columns, strict=True):
        cells = [_lines(cell, wide) for cell, wide in zip(row, widths, strict=True)]
        for i in range(max(map(len, cells))):
            parts = [cell[i].rstrip() if i < len(cell) else "" for cell in cells]
            aligned = [
                part.rjust(wide) if right else part.ljust(wide)
                for part, wide, right in zip(parts, widths, numeric, strict=True)
            ]
            lines.append(("  " + "  ".join(aligned)).rstrip())
    if table.note:
        lines.append(_wrap(table.note, width, "  "))
    return "\n".join(lines)


def as_markdown(table: Table) -> str:
    """Return a table in Markdown."""
    table = _drawable(table)

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(map(markdown_text, cells))} |"

    rule = "|" + "|".join([" --- ", *[" ---: "] * (len(table.columns) - 1)]) + "|"
    title = markdown_text(table.title)
    lines = [f"**{title}**", "", line(table.columns), rule, *map(line, table.cells)]
    return "\n".join([*lines, *(["", markdown_text(table.note)] if table.note else [])])


def markdown_text(text: str) -> str:
    """Return a text on one line of Markdown, without markup, HTML or a cell's end."""
    return _MARKUP.sub(r"\\\1", " ".join(printable(text).split()))


_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|])")


def as_html(table: Table) -> str:
    """Return a table in HTML, for a notebook."""
    table = _drawable(table)

    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    lines = [
        f"<table><caption>{escape(table.title)}</caption>",
        f"<thead>{line(table.columns, 'th')}</thead>",
        "<tbody>",
        *(line(cells, "td") for cells in table.cells),
        "</tbody></table>",
    ]
    return "\n".join([*lines, *([as_paragraph(table.note)] if table.note else [])])


def as_latex(table: Table, label: str) -> str:
    r"""Return a table in LaTeX with booktabs, its note below it; a label is of ``\ref``."""
    table = _drawable(table)

    def line(cells: Sequence[str]) -> str:
        text = " & ".join(map(_tex, cells)) + r" \\"
        return f"{{}}{text}" if text.startswith(("[", "*")) else text  # no option of the line above

    lines = [r"\begin{table}", r"\centering", rf"\caption{{{_tex(table.title)}}}"]
    lines += [rf"\label{{{label}}}", rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}"]
    lines += [r"\toprule", line(table.columns), r"\midrule", *map(line, table.cells)]
    lines += [r"\bottomrule", r"\end{tabular}"]
    note = [rf"\par\smallskip{{\footnotesize {_tex(table.note)}\par}}"] if table.note else []
    return "\n".join([*lines, *note, r"\end{table}"])


def stacked(tables: Sequence[Table]) -> list[Table]:
    """Join tables of the same columns whose titles begin alike, one for each embedding."""
    # A line before the cells of each has what its title alone says.
    joined: list[Table] = []
    for _, group in groupby(tables, lambda table: tuple(table.columns)):
        alike = list(group)
        words = zip(*(table.title.split() for table in alike), strict=False)
        start = [
            at_place[0] for at_place in takewhile(lambda at_place: len({*at_place}) == 1, words)
        ]
        if len(alike) < 2 or not start:
            joined += alike
            continue
        parts = [" ".join(table.title.split()[len(start) :]) for table in alike]
        empty = [""] * (len(alike[0].columns) - 1)
        cells = [
            line
            for part, table in zip(parts, alike, strict=True)
            for line in (*([[part, *empty]] if part else []), *table.cells)
        ]
        notes = dict.fromkeys(table.note for table in alike if table.note)
        title = " ".join([*start, ", ".join(filter(None, parts))]).rstrip()
        joined.append(Table(title, alike[0].columns, cells, " ".join(notes)))
    return joined


def latex_labels(titles: Sequence[str], command: str) -> list[str]:
    """Return a label for each table: the command and the first words of its title."""
    labels: list[str] = []
    for title in titles:
        words = re.findall("[a-z0-9]+", re.split("[,:(]", title.lower())[0])[:5]
        label = "-".join([f"tab:{command}" if command else "tab", *words])
        copies = sum(re.sub(r"--\d+$", "", earlier) == label for earlier in labels)
        labels.append(f"{label}--{copies + 1}" if copies else label)
    return labels


def as_json(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON; undefined values must be None, nan is refused."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False, default=str)
    return text.encode("utf-8", "backslashreplace").decode()


def as_csv(rows: Sequence[Mapping[str, Any]], *, formulas: bool = True) -> str:
    """Return rows as CSV, with a column for every key that occurs."""
    # Without `formulas`, ' is put before texts that a spreadsheet takes for formulas, such as =x
    # and @user.
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines: list[str] = []
    out: Any = SimpleNamespace(write=lines.append)
    writer = csv.DictWriter(out, columns)  # whose line ends have cells with either of them quoted
    writer.writeheader()
    cell = _cell if formulas else _no_formula
    writer.writerows({key: cell(value) for key, value in row.items()} for row in rows)
    return "".join(line.removesuffix("\r\n") + "\n" for line in lines)


def as_paragraph(text: str) -> str:
    """Return a text as a paragraph of HTML."""
    return f"<p>{escape(printable(text))}</p>"


def paragraph(lines: Sequence[str], width: int) -> list[str]:
    """Return lines wrapped as one paragraph, in a list that is empty without lines."""
    return ["\n".join(_wrap(line, width) for line in lines)] if lines else []


def without_folders(*contents: object) -> Callable[[str], str]:
    """Return a function that writes the absolute paths among some values as names of files."""
    # Two files of one name keep the folders that tell them apart; a file of this package begins
    # with wordbias/.
    paths = {
        part
        for text in _texts(contents)
        for part in (text, *re.split("[=,;@]", text))
        if os.path.isabs(part) or PureWindowsPath(part).is_absolute()
    }
    parts = {path: [part for part in re.split(r"[/\\]", path) if part] for path in paths}
    own = Path(__file__).parent
    names = {
        path: "/".join(of[-(len(Path(path).relative_to(own).parts) + 1) :])
        if Path(path).is_relative_to(own)
        else "/".join(of[-_depth(of, parts.values()) :])
        for path, of in parts.items()
        if of
    }
    if not names:
        return str
    longest = sorted(names, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest)))
    return lambda text: pattern.sub(lambda match: names[match[0]], text)


def _depth(parts: Sequence[str], others: Iterable[Sequence[str]]) -> int:
    """Return how many of the last parts of a path no other path ends in."""
    known = [other for other in others if other != parts]
    depths = range(1, len(parts))
    return next((n for n in depths if all(other[-n:] != parts[-n:] for other in known)), len(parts))


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in nested values; `words` are words, also where they begin as a path does."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from () if key == "words" else _texts(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _texts(part)


def how_many(count: int, singular: str, several: str = "") -> str:
    """Return ``1 row`` or ``2,000 rows``; other plurals than in -s are given as `several`."""
    return f"{count:,} {singular if count == 1 else several or singular + 's'}"


def terminal_width() -> int:
    """Return the width of the terminal in characters, at most 100; without one 80."""
    return min(shutil.get_terminal_size((80, 24)).columns, 100)


def _drawable(table: Table) -> Table:
    """Return a table with each cell on one line and without unprintable characters."""

    def on_one_line(text: str) -> str:
        return printable(text).replace("\n", " ").replace("\t", " ")

    return with_texts(replace(table, note=printable(table.note)), on_one_line)


def with_texts(table: Table, change: Callable[[str], str]) -> Table:
    """Return a table with all of its texts changed."""
    cells = [tuple(map(change, row)) for row in table.cells]
    return Table(change(table.title), tuple(map(change, table.columns)), cells, change(table.note))


_NAMES = 16
"""Characters that the names of lines have at least, before a table is split."""


def _pieces(table: Table, width: int) -> list[Table]:
    """Return tables with all parts of the columns that fit, the note below the last table."""
    columns = list(zip(table.columns, *table.cells, strict=True))
    least = [
        2 + max(*map(len, cells), *map(len, _parts(head)))
        for head, *cells in ([column[0], "", *column[1:]] for column in columns)
    ]
    whole = [i for i, part in enumerate(table.parts) if not part]
    left = width - sum(least[i] if i else min(least[i], 2 + _NAMES) for i in whole)
    pieces: list[set[int]] = []
    free = 0
    for part in dict.fromkeys(filter(None, table.parts)):
        own = [i for i, name in enumerate(table.parts) if name == part]
        wide = sum(least[i] for i in own)
        if wide > free or not pieces:
            pieces.append({*whole})
            free = left
        pieces[-1].update(own)
        free -= wide
    return [
        replace(
            table,
            columns=[table.columns[i] for i in sorted(piece)],
            cells=[
                [line[i] for i in sorted(piece)]
                for line in table.cells
                if any(line[i] for i in piece.difference(whole))
            ],
            note=table.note if piece is pieces[-1] else "",
            parts=(),
        )
        for piece in pieces
    ]


_JOINTS = (" ", "/", ",", ";", "_")
"""Characters after which a cell may be broken; a later one only if the earlier do not suffice."""


def _fitted(columns: Sequence[Sequence[str]], numeric: Sequence[bool], width: int) -> list[int]:
    """Return the width of each column, without breaking a word."""
    # If the columns are too wide together, the widest are narrowed, columns of numbers last.
    widths = [max(map(len, column)) for column in columns]
    least = [max(len(part) for cell in column for part in _parts(cell)) for column in columns]
    while sum(widths) + 2 * len(widths) > width:
        loose = [i for i, wide in enumerate(widths) if wide > least[i]]
        loose = [i for i in loose if not numeric[i]] or loose
        if not loose:
            break
        widths[max(loose, key=lambda i: widths[i])] -= 1
    return widths


def _parts(text: str, joints: Sequence[str] = _JOINTS) -> list[str]:
    """Return the parts of a text between which it may be broken."""
    if not joints:
        return [text.strip()]
    return [end for part in _split_after(text, joints[0]) for end in _parts(part, joints[1:])]


def _split_after(text: str, joint: str) -> list[str]:
    """Split a text after each joint."""
    return re.findall(f"[^{joint}]*{joint}+|[^{joint}]+", text) or [text]


def _lines(text: str, width: int, joints: Sequence[str] = _JOINTS) -> list[str]:
    """Break a cell into lines, at the first joints that make it fit."""
    if len(text.rstrip()) <= width or not joints:
        return [text]
    lines: list[str] = []
    for part in _split_after(text, joints[0]):
        if lines and len((lines[-1] + part).rstrip()) <= width:
            lines[-1] += part
        else:
            lines += _lines(part, width, joints[1:])
    return lines


def _wrap(text: str, width: int, indent: str = "") -> str:
    return textwrap.fill(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


_TEX = {
    **{c: "\\" + c for c in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "′": "$'$",
    "β": r"$\beta$",
    "η": r"$\eta$",
    "θ": r"$\theta$",
    "ρ": r"$\rho$",
    "φ": r"$\phi$",
    "Δ": r"$\Delta$",
    "Σ": r"$\Sigma$",
    "ᵢ": r"$_i$",
    "−": r"$-$",
    "±": r"$\pm$",
    "÷": r"$\div$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\to$",
    "√": r"$\surd$",
    "⟨": r"$\langle$",
    "⟩": r"$\rangle$",
    "‖": r"$\Vert$",
    "²": r"$^2$",
    "³": r"$^3$",
    "ⁿ": r"$^n$",
    "½": "$1/2$",
    "–": "--",
}


def _tex(text: str) -> str:
    return "".join(_TEX.get(character, character) for character in text)


def _cell(value: Any) -> Any:
    """Return lists as JSON, which can be read back."""
    return as_json(value) if isinstance(value, (list, tuple, dict)) else value


def _no_formula(value: Any) -> Any:
    cell = _cell(value)
    formula = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{cell}" if formula else cell
