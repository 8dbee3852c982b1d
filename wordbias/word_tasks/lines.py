"""Reading test sets line by line; every complaint names the file and the line."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.lines import read_bounded

SCORED = r"(^|[\t ,])[-+]?\d*\.?\d+([eE][-+]?\d+)?([\t ,\r]|$)"
CATEGORY = r"[A-Z]+_[A-Z]+"
_HEADER = r"word|score|sim|relat|rating|human|mean"
_SIMLEX = ("word1", "word2", "SimLex999")
_TAGGED = r".-[a-z]$"

Line = tuple[int, str]
Split = Callable[[str], list[str]]


def read_lines(file: Path) -> list[Line]:
    """Return the lines that say something, with their numbers; at least one.

    Blank lines and those that start with ``#`` say nothing.
    """
    try:
        text = read_bounded(file).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise WordbiasError(f"{file}: cannot be read as a test set: {reason}") from None
    # Not splitlines(), which also splits at characters that are words in GloVe.
    lines = [(i, line.strip(" \t\r")) for i, line in enumerate(text.split("\n"), 1)]
    found = [(i, line) for i, line in lines if line and not line.startswith("#")]
    if not found:
        raise WordbiasError(f"{file}: expected a test set, found no lines")
    return found


def pairs_and_scores(
    file: Path, lines: Sequence[Line]
) -> tuple[tuple[tuple[str, str], ...], tuple[float, ...]]:
    """Read two words and a score a line, separated by tabs, else commas, else spaces.

    A first line of headings is left out; that of SimLex-999 says which columns count. Where every
    word ends in a part of speech (``sun-n``, MEN's lemma form), the ending is cut.
    """
    split = _splitter(lines[0][1])
    columns, rest = _columns(lines, split)
    rows = [_scored(file, line, split, columns) for line in rest]
    if not rows:
        raise WordbiasError(f"{file}: expected two words and a score a line, found only headings")
    pairs = tuple((a, b) for a, b, _ in rows)
    if all(re.search(_TAGGED, word) for pair in pairs for word in pair):
        pairs = tuple((a[:-2], b[:-2]) for a, b in pairs)
    return pairs, tuple(score for _, _, score in rows)


def questions_and_sections(
    file: Path, lines: Sequence[Line]
) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Read four words a line, and the names of sections in lines that start with a colon.

    A line of five, the fourth in the form of MSR's categories (``JJ_JJR``), is four words.
    """
    section, questions, sections = "", [], []
    for number, line in lines:
        if line.startswith(":"):
            section = line[1:].strip()
            continue
        words = tuple(re.split(r"[ \t]+", line))
        if len(words) == 5 and re.fullmatch(CATEGORY, words[3]):
            words = (*words[:3], words[4])
        if len(words) != 4:
            raise _unlike(file, number, "four words, or a colon and the name of a section", line)
        questions.append(words)
        sections.append(section)
    if not questions:
        raise WordbiasError(f"{file}: expected four words a line, found only names of sections")
    return tuple(questions), tuple(sections)


def _splitter(first: str) -> Split:
    if "\t" in first:
        return lambda line: line.split("\t")
    if "," in first:
        return _by_commas
    return lambda line: re.split(r" +", line)


def _by_commas(line: str) -> list[str]:
    try:
        return next(csv.reader([line]))
    except csv.Error:  # a field of more than 131,072 characters is no word
        return [line]


def _columns(lines: Sequence[Line], split: Split) -> tuple[tuple[int, ...] | None, Sequence[Line]]:
    """Return the numbers of the three columns that count, None for all, and the lines below."""
    heading = split(lines[0][1])
    if set(_SIMLEX) <= set(heading):
        return tuple(map(heading.index, _SIMLEX)), lines[1:]
    numeric = any(_number(field) is not None for field in heading)
    is_heading = not numeric and re.search(_HEADER, " ".join(heading[2:]).lower())
    return None, lines[1:] if is_heading else lines


def _scored(
    file: Path, line: Line, split: Split, columns: tuple[int, ...] | None
) -> tuple[str, str, float]:
    number, text = line
    fields = [field.strip(" ") for field in split(text)]
    if columns is not None and len(fields) > max(columns):
        fields = [fields[column] for column in columns]
    score = _number(fields[2]) if len(fields) == 3 else None
    if score is None or not fields[0] or not fields[1]:
        raise _unlike(file, number, "two words and a score", text)
    return fields[0], fields[1], score


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _unlike(file: Path, number: int, expected: str, line: str) -> WordbiasError:
    return WordbiasError(f"{file}: line {number}: expected {expected}, found {line[:60]!r}")
