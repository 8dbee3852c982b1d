"""Reading of result rows: the output of commands, and tables of published values."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from wordbias.draws import with_draws
from wordbias.errors import WordbiasError
from wordbias.formats.source import is_web_page
from wordbias.formats.tables import comma_separated
from wordbias.results import Row
from wordbias.text_files import Source as TextSource
from wordbias.text_files import read_text

_UNDEFINED = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "–", "—"})
_DETAIL = ("word", "component", "layer")
_ROW = {"subject", "measure", "value"}
_TEXTS = ("subject", "measure", "stage", "reference", "set", "setting", "group", "word")
_TRUTH = {"True": True, "False": False}
IDENTITY = (
    *("subject", "measure", "stage", "reference", "set", "setting", "group", "words"),
    *("original", "view", "word", "component", "layer", "seed", "x", "y"),
)
"""Keys that tell the values of a report apart."""
_NO_VALUES = "no values; expected rows with subject, measure and value"
_REMEDY = "give what a command prints with --format json"
Found = Mapping[str, Any]
SCHEMA = 4
"""Version of the keys of a report.

Version 1 had no number and internal names of arguments; version 2 had the settings of
`wordbias.config` among the arguments; version 3 had other keys of rows, see `RENAMED`, and no
draws.
"""
RENAMED = {
    "spread": "sd",
    "alike": "chance",
    "resampled": "unit",
    "over": "unit",
    "lists_from": "change_from",
    "lists_change": "change",
    "lists_change_low": "change_lists_low",
    "lists_change_high": "change_lists_high",
    "left_out_before": "unseen_before",
    "left_out_change": "unseen_change",
    "left_out_change_low": "unseen_low",
    "left_out_change_high": "unseen_high",
    "left_out_low": "without_low",
    "left_out_high": "without_high",
    "difference_low": "change_low",
    "difference_high": "change_high",
    "null_difference": "null_change",
    "null_difference_low": "null_change_low",
    "null_difference_high": "null_change_high",
}
"""Keys of rows in JSON of version 3 and before, and those that took their places."""


class Source(NamedTuple):
    """Results of one file or report."""

    # the file, its kind (JSON, JSONL, CSV rows, CSV table or Report) and its hash; a report has a
    # name and no hash
    path: str
    kind: str
    sha256: str
    rows: Sequence[Found]  # rows with a subject, a measure, a value and other keys


def read_source(path: Path) -> Source:
    """Read a file of results; rows about a single word, component or layer are left out."""
    file, kind, rows, _ = _read(path)
    return Source(file.path, kind, file.sha256, _of_subjects(rows, file.path))


def read_rows(path: Path) -> list[Row]:
    """Return all rows of a file of results, with their draws if it has them."""
    file, kind, raw_rows, draws = _read(path)
    if not raw_rows:
        raise WordbiasError(f"{file.path}: {_NO_VALUES}")
    rows = [Row.from_dict(typed(row) if kind.startswith("CSV") else row) for row in raw_rows]
    return with_draws(rows, draws)


def _read(path: Path) -> tuple[TextSource, str, list[Found], Any]:
    """Return a file of results, its kind, its rows, and their draws as JSON holds them."""
    if path.is_dir():
        raise WordbiasError(f"{path}: is a folder; name the files of results in it")
    file = read_text(path)
    if path.suffix.lower() not in (".json", ".jsonl") and file.text.lstrip()[:1] not in ("{", "["):
        return file, *_csv_rows(file), None
    kind, parsed = _parsed(file.text, file.path)
    check_schema(parsed, file.path)
    draws = parsed.get("row_draws") if isinstance(parsed, dict) else None
    return file, *_rows_in(kind, parsed, file.path), draws


def check_schema(parsed: Any, path: str | Path) -> None:
    """Refuse a report of a later version, whose keys may mean something else."""
    schema = parsed.get("schema") if isinstance(parsed, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise WordbiasError(
            f"{path}: of a later wordbias: schema {schema}, this one reads up to {SCHEMA}; "
            "upgrade wordbias"
        )


def source_of(report: Mapping[str, Any], name: str) -> Source:
    """Return the results of a report, as `wordbias.results.Report.to_dict` returns it."""
    rows = [_checked(row, f"{name}: row {i}") for i, row in enumerate(report["rows"], 1)]
    return Source(name, "Report", "", _of_subjects(rows, name))


def typed(row: Found) -> Found:
    """Return a row of CSV with the types that its cells had; empty cells are left out."""
    filled = {key: value for key, value in row.items() if key == "value" or given(row, key)}
    return {
        key: _cell(value) if isinstance(value, str) and key not in _TEXTS else value
        for key, value in filled.items()
    }


def _cell(text: str) -> Any:
    if text in _TRUTH:
        return _TRUTH[text]
    if text[:1] in "-0123456789[{":
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return text


def renamed(row: Found) -> Found:
    """Return a row with the keys of today in place of those of older versions."""
    updated = {RENAMED.get(key, key): value for key, value in row.items()}
    if isinstance(updated.get("difference"), (int, float)):  # the text of fairness stays
        updated["change"] = updated.pop("difference")
    if isinstance(updated.get("lists"), int):
        updated["lists_draws"] = updated.pop("lists")
    return updated


def _of_subjects(rows: Sequence[Found], name: str) -> list[Found]:
    """Leave out the rows about a single word, component or layer."""
    subject_rows = [row for row in rows if not any(given(row, key) for key in _DETAIL)]
    if not subject_rows:
        raise WordbiasError(f"{name}: {_NO_VALUES}")
    return subject_rows


def _rows_in(kind: str, parsed: Any, path: str) -> tuple[str, list[Found]]:
    """Return the kind and the rows of parsed JSON."""
    rows = parsed.get("rows") if isinstance(parsed, dict) else parsed
    if rows is None and isinstance(parsed, dict) and parsed.keys() >= _ROW:
        kind, rows = "JSONL", [parsed]
    if not isinstance(rows, list):
        raise WordbiasError(f'{path}: JSON without "rows"; {_REMEDY}')
    return kind, [_checked(row, f"{path}: row {i}") for i, row in enumerate(rows, 1)]


def _parsed(text: str, path: str) -> tuple[str, Any]:
    if not text.strip():
        raise WordbiasError(f"{path}: empty; expected results as JSON or CSV")
    try:
        return "JSON", json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise _not_json(error, path) from None
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, 1,000 brackets
        raise WordbiasError(f"{path}: not usable JSON: {error}") from None
    lines = enumerate(text.split("\n"))
    return "JSONL", [_line(line, i, path) for i, line in lines if line.strip()]


def _line(text: str, before: int, path: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise _not_json(error, path, before) from None
    except (ValueError, RecursionError) as error:
        raise WordbiasError(f"{path}: line {before + 1}: not usable JSON: {error}") from None


def _not_json(error: json.JSONDecodeError, path: str, before: int = 0) -> WordbiasError:
    where = f"line {before + error.lineno}, column {error.colno}"
    return WordbiasError(f"{path}: not JSON: {where}: {error.msg}; {_REMEDY}")


def _checked(row: Any, where: str) -> Found:
    if not isinstance(row, dict) or not row.keys() >= _ROW:
        raise WordbiasError(f"{where}: expected an object with subject, measure and value")
    if not isinstance(row["subject"], str) or not isinstance(row["measure"], str):
        raise WordbiasError(f"{where}: subject and measure must be text")
    value = row["value"]
    for key in ("value", "low", "high"):
        number = row.get(key)
        if number is not None and (
            isinstance(number, bool) or not isinstance(number, (int, float))
        ):
            raise WordbiasError(f"{where}: {key}: expected a number or null, got {number!r:.60}")
    if None not in (row.get("low"), row.get("high")):
        check_interval(row, row["low"], row["high"], where)
    return renamed({**row, "value": _number("" if value is None else str(value), where)})


def check_interval(row: Found, low: float, high: float, where: str) -> None:
    """Refuse an interval whose ends are in the wrong order: no verdict on it has a meaning."""
    if low > high:
        raise WordbiasError(
            f"{where}, {row['measure']} of {row['subject']}: the interval begins at {low:g} and "
            f"ends at {high:g}; low must not be above high"
        )


def _csv_rows(file: TextSource) -> tuple[str, list[Found]]:
    path = file.path
    if is_web_page(file.text[:1024].encode("utf-8", "replace")):
        raise WordbiasError(f"{path}: is a web page; {_REMEDY}")
    every = comma_separated(file)
    lines = ((line, cells) for line, cells in every if any(map(str.strip, cells)))
    heads = [cell.strip() for cell in next(lines, (0, []))[1]]
    if not heads:
        raise WordbiasError(f"{path}: empty; expected results as JSON or CSV")
    _check_heads(heads, path)
    cells_of_rows = [*lines]
    for line, cells in cells_of_rows:
        if len(cells) != len(heads):
            raise WordbiasError(
                f"{path}: line {line}: {len(cells)} cells, but the header has {len(heads)}"
            )
    is_rows = set(heads) >= _ROW
    unfold = _listed_rows if is_rows else _table_rows
    rows = [
        row for line, cells in cells_of_rows for row in unfold(heads, cells, f"{path}: line {line}")
    ]
    return "CSV rows" if is_rows else "CSV table", rows


def _check_heads(heads: Sequence[str], path: str) -> None:
    if len(heads) < 2:
        raise WordbiasError(
            f"{path}: neither JSON nor CSV with a column of names and columns of measures: "
            f"line 1 has no comma: {heads[0][:60]!r}; {_REMEDY}"
        )
    for i, name in enumerate(heads[1:], 1):
        if not name:
            raise WordbiasError(f"{path}: line 1: column {i + 1} has no name")
        if name in heads[:i]:
            raise WordbiasError(f"{path}: line 1: two columns are named {name!r}; rename one")


def _listed_rows(heads: Sequence[str], cells: Sequence[str], where: str) -> Iterator[Found]:
    row = renamed(dict(zip(heads, cells, strict=True)))
    yield {**row, "value": _number(row["value"], f"{where}, column value")}


def _table_rows(heads: Sequence[str], cells: Sequence[str], where: str) -> Iterator[Found]:
    subject = cells[0].strip()
    if not subject:
        raise WordbiasError(f"{where}: the first column does not name the embedding")
    for name, cell in zip(heads[1:], cells[1:], strict=True):
        yield {
            "subject": subject,
            "measure": name,
            "value": _number(cell, f"{where}, column {name}"),
        }


def _number(text: str, where: str) -> float | None:
    text = text.strip()
    if text.lower() in _UNDEFINED:
        return None
    try:
        value = float(text.replace("−", "-").replace("_", "?"))
    except ValueError:
        raise WordbiasError(f"{where}: expected a number or NA, got {text[:60]!r}") from None
    if not math.isfinite(value):
        raise WordbiasError(f"{where}: {text[:60]} is not finite; write NA for what is undefined")
    return value


def given(row: Found, key: str) -> bool:
    """Return whether a row has a value for a key; in CSV a missing value is an empty cell."""
    return row.get(key) not in (None, "")


Place = tuple[Any, ...]


def spread(
    rows: Sequence[Found],
) -> tuple[dict[Place, dict[Place, Any]], list[str], list[Place], list[str]]:
    """Spread rows over a table: a line for each subject or word, a column for each measure."""
    # Values by line and column, the keys that name a line, the columns, the keys that name a
    # column. A value that only its order tells from another one is in a line of its own, whose last
    # name is its number.
    of_words = any(given(row, "word") for row in rows)
    rows = [row for row in rows if given(row, "word") or not of_words]
    varying = [key for key in IDENTITY if len({str(row.get(key, "")) for row in rows}) > 1]
    if of_words:
        both = [key for key in varying if key in ("measure", "subject")]
        heads = both[::-1] or ["measure"]
        names = ["word", *(key for key in varying if key not in (*heads, "word"))]
    else:
        heads = ["measure"]
        names = ["subject", *(key for key in varying if key not in ("subject", "measure"))]
    places = [tuple(tuple(row.get(key) for key in keys) for keys in (names, heads)) for row in rows]
    copies, seen = [], Counter[tuple[Place, ...]]()
    for place in places:
        seen[place] += 1
        copies.append(seen[place])
    lines: dict[Place, dict[Place, Any]] = {}
    for row, (line, head), copy in zip(rows, places, copies, strict=True):
        named = (*line, copy) if max(copies) > 1 else line
        lines.setdefault(named, {})[head] = row["value"]
    names += ["copy"] if max(copies, default=1) > 1 else []
    return lines, names, list(dict.fromkeys(head for _, head in places)), heads
