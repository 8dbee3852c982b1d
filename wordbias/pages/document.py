"""Documents: the rows that commands saved, with their provenance."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError, printable
from wordbias.formats.source import is_web_page
from wordbias.rendering import without_folders
from wordbias.rows import IDENTITY, Found, check_interval, check_schema, read_source, renamed, typed
from wordbias.text_files import opened
from wordbias.verdicts import interval, is_number

DATA = "wordbias-data"
"""``id`` of the element of a page that holds its documents."""
_OPENING = f'<script type="application/json" id="{DATA}">'
_LARGEST = 1 << 28
_OF_ROWS = ("rows", "row_draws")


@dataclass(frozen=True)
class Document:
    """Rows that a command saved, and their provenance."""

    rows: Sequence[Found]  # rows, each with a subject, a measure and a value
    # everything else in the report: command, arguments, inputs, versions, notes
    about: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> Document:
        """Make a document of the result of `wordbias.results.Report.to_dict`."""
        about = {key: _finite(value) for key, value in report.items() if key not in _OF_ROWS}
        return cls([_finite(renamed(row)) for row in report["rows"]], about)

    def to_dict(self) -> dict[str, Any]:
        """Return the data of a page, from which `of` makes the document again."""
        return {**self.about, "rows": list(self.rows)}


def read_documents(path: str | Path) -> list[Document]:
    """Read results saved as JSON, JSONL or CSV, or a page, which holds its own data."""
    # CSV has no rows about single words, components and layers; JSON has.
    text = _text(Path(path))
    is_page = _OPENING in text
    if is_page:
        parsed = _parsed(text.partition(_OPENING)[2].partition("</script>")[0])
        documents = parsed if isinstance(parsed, list) else []
    elif is_web_page(text[:1024].encode("utf-8", "replace")):
        raise WordbiasError(f"{path}: is a web page, but none that audit or report made")
    else:
        documents = [_as_document(_parsed(text), text)]
    for parsed in documents:
        check_schema(parsed, path)
    if not documents or not all(map(_has_rows, documents)):
        if is_page:
            raise WordbiasError(f"{path}: the data in this page is damaged; make the page again")
        source = read_source(Path(path))  # says what is wrong, or reads CSV
        about = {"inputs": {Path(path).name: {"path": str(path), "sha256": source.sha256}}}
        return [
            _check_intervals(Document([_finite(typed(row)) for row in source.rows], about), path)
        ]
    if not any(document["rows"] for document in documents):
        raise WordbiasError(f"{path}: no values; expected rows with subject, measure and value")
    return [_check_intervals(Document.of(document), path) for document in documents]


def _check_intervals(document: Document, path: str | Path) -> Document:
    """Refuse intervals whose ends are in the wrong order: no verdict on them has a meaning."""
    for i, row in enumerate(document.rows, 1):
        if (ends := interval(row)) is not None:
            check_interval(row, *ends, f"{path}: row {i}")
    return document


def _text(path: Path) -> str:
    try:
        with opened(path) as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise WordbiasError(f"{path}: larger than {_LARGEST >> 20} MB; give fewer rows")
        return data.decode("utf-8-sig")
    except IsADirectoryError:
        raise WordbiasError(f"{path}: is a folder; name the files of results in it") from None
    except OSError as error:
        raise WordbiasError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise WordbiasError(f"{path}: not UTF-8 text at byte {error.start}") from None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_CONSTANTS.get)
    except (ValueError, RecursionError):
        return None


_CONSTANTS = {"NaN": None, "Infinity": math.inf, "-Infinity": -math.inf}
"""JSON constants; NaN is undefined, as in `wordbias.rows`."""


def _finite(value: Any) -> Any:
    """Return a value without infinities and very large integers, which JSON cannot hold."""
    if isinstance(value, dict):
        return {str(key): _finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, (int, float)) and not _is_finite(value) else value


def _is_finite(value: float) -> bool:
    """Return whether a number is a finite float: no infinity, no integer of 400 digits."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _as_document(parsed: Any, text: str) -> Any:
    """Return a document for an object with rows, a list of rows, one row, or lines of them."""
    if isinstance(parsed, dict) and "rows" not in parsed:
        return {"rows": [parsed]}
    if parsed is None:
        parsed = [_parsed(line) for line in text.split("\n") if line.strip()]
    return {"rows": parsed} if isinstance(parsed, list) else parsed


def _has_rows(document: Any) -> bool:
    rows = document.get("rows") if isinstance(document, dict) else None
    return isinstance(rows, list) and all(map(_is_row, rows))


def _is_row(row: Any) -> bool:
    if not isinstance(row, dict) or not row.keys() >= {"subject", "measure", "value"}:
        return False
    value = row["value"]
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    named = isinstance(row["subject"], str) and isinstance(row["measure"], str)
    return named and (value is None or (number and _is_finite(value)))


_NUMBERS = frozenset(
    {"low", "high", "neutral", "p", "y", "coverage", "component", "cos_difference"}
    | {"sign_stability", "chance", "chance_low", "chance_high"}
)
_TEXTS = frozenset(
    {"stage", "better", "towards", "reference", "set", "setting", "group", "words", "word"}
    | {"reason", "debiased", "about", "reading"}
)
_LISTS = frozenset({"before", "after"})


def rows_of(documents: Iterable[Document]) -> list[Found]:
    """Return the rows of all documents, with the types that views expect."""
    # A detail of another type, such as an interval that is no number, is left out; characters that
    # cannot be seen are replaced, because the rows are also summarised on a terminal.
    return [_clean(row) for document in documents for row in document.rows]


def paths_of(documents: Iterable[Document]) -> dict[str, str]:
    """Return the file of each input that has one, by its name."""
    return {
        str(name): printable(str(facts["path"]))
        for document in documents
        if isinstance(inputs := document.about.get("inputs"), dict)
        for name, facts in inputs.items()
        if isinstance(facts, dict) and facts.get("path")
    }


def for_others(documents: Sequence[Document]) -> list[Document]:
    """Return documents with names of files in place of absolute paths, for a page that is sent."""
    about = [document.about for document in documents]
    named = without_folders([[a.get(key) for key in _WITH_PATHS] for a in about])
    if named is str:
        return list(documents)
    return [
        Document(_with_texts(document.rows, named), _with_texts(document.about, named))
        for document in documents
    ]


_WITH_PATHS = ("inputs", "arguments", "config")


def _with_texts(value: Any, named: Callable[[str], str]) -> Any:
    """Return nested values with their texts changed, but for words."""
    if isinstance(value, str):
        return named(value)
    if isinstance(value, (list, tuple)):
        return [_with_texts(part, named) for part in value]
    if not isinstance(value, Mapping):
        return value
    return {
        named(key): part if key == "word" else _with_texts(part, named)
        for key, part in value.items()
    }


def settings_of(documents: Iterable[Document]) -> dict[str, dict[str, Any]]:
    """Return the arguments of the call that measured each input, by the name of the input."""
    return {
        str(name): arguments
        for document in documents
        if isinstance(inputs := document.about.get("inputs"), dict)
        and isinstance(arguments := document.about.get("arguments"), dict)
        for name in inputs
    }


def _clean(row: Found) -> Found:
    details = {_printable(key): _typed_detail(key, _printable(value)) for key, value in row.items()}
    return {key: value for key, value in details.items() if value is not None or key == "value"}


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {_printable(key): _printable(part) for key, part in value.items()}
    return [_printable(part) for part in value] if isinstance(value, list) else value


def _typed_detail(key: str, value: Any) -> Any:
    if key in _NUMBERS:
        return value if is_number(value) else None
    if key in _TEXTS and value is not None:
        return value if isinstance(value, str) else json.dumps(value, default=str)
    if key == "beyond_chance":
        return value if isinstance(value, bool) else None
    if key in _LISTS:
        return list(map(str, value)) if isinstance(value, list) and value else None
    if key == "n":
        sizes = list(value.values()) if isinstance(value, dict) else [value]
        return value if all(map(is_number, sizes)) else None
    return value


def with_distinct_subjects(documents: Sequence[tuple[str, Document]]) -> list[Document]:
    """Return documents; a subject whose values differ between files gets the file's name."""
    values: dict[tuple[str, ...], dict[Any, set[str]]] = {}  # files by row and value
    for path, document in documents:
        for row in document.rows:
            values.setdefault(tuple(str(row.get(name)) for name in IDENTITY), {}).setdefault(
                row["value"], set()
            ).add(path)
    several = {key[0] for key, files in values.items() if _differ(files)}
    names = _short(list(dict.fromkeys(path for path, _ in documents)))
    return [
        replace(document, rows=[_named(row, several, names[path]) for row in document.rows])
        for path, document in documents
    ]


def _differ(files_of: dict[Any, set[str]]) -> bool:
    """Return whether one file has a value that another does not."""
    files: set[str] = set().union(*files_of.values())
    return len(files) > 1 and any(subset != files for subset in files_of.values())


def _short(paths: Sequence[str]) -> dict[str, str]:
    names = [os.path.basename(path) for path in paths]
    return {
        path: name if names.count(name) == 1 else path
        for path, name in zip(paths, names, strict=True)
    }


def _named(row: Found, several: set[str], name: str) -> Found:
    subject = str(row["subject"])
    return {**row, "subject": f"{subject} ({name})"} if subject in several else row


def notes_of(document: Document) -> list[str]:
    """Return the notes of one document."""
    notes = document.about.get("notes")
    return [str(note) for note in notes] if isinstance(notes, list) else []
