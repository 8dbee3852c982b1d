"""Forms of a record: the pieces that a line of plain text, TSV or CSV consists of.

The pieces of a line, joined by the form's glue, are the line, character for character.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.formats.tables import PLAIN

Pieces = tuple[list[str], Mapping[str, int]]


class BadRowError(Exception):
    """A record that cannot be used."""


def is_missing(value: object) -> bool:
    """Say whether a value is none: None, an empty text, nan or pandas' NA."""
    if value is None or isinstance(value, str):
        return not value
    try:
        return bool(value != value)
    except TypeError:  # NA, which is neither equal nor unequal to anything
        return True


class Form:
    """Plain text: a text a line, and the form the others are told apart from.

    Attributes
    ----------
    glue
        What stands between two pieces.
    places
        Which piece a column is.
    has_header
        Whether the first record names the columns.
    """

    glue = ""
    has_header = False

    def __init__(self, file: Path) -> None:
        self.file = file
        self.places: Mapping[str, int] = {PLAIN: 0}

    def read_names(self, first: str) -> Sequence[str]:
        """Take the names of the columns from the first record, and return them."""
        return list(self.places)

    def blank(self, line: str) -> bool:
        """Return whether a line is no record."""
        return False

    def opened(self, line: str, opened: bool) -> bool:
        """Return whether a record goes on behind a line, before which it was `opened` or not."""
        return False

    def split(self, body: str) -> Pieces:
        """Return the pieces of a record, and which of them is which column.

        Raises
        ------
        BadRowError
            If it is none.
        """
        return [body], self.places

    def join(self, pieces: Sequence[str]) -> str:
        """Return the record that consists of these pieces."""
        return self.glue.join(pieces)

    def value(self, piece: str) -> str:
        """Return what a piece says."""
        return piece

    def piece(self, value: str, like: str) -> str:
        """Return the piece that says `value`, in the manner of another piece."""
        return value

    def check_text(self, piece: str, column: str) -> None:
        """Refuse a piece that is no text."""


class HeldForm(Form):
    """Cells in memory, which are a line only while they wait on disk."""

    places: dict[str, int]

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(Path())
        self.places = {name: i for i, name in enumerate(columns)}

    def join(self, pieces: Sequence[str]) -> str:
        """Write the pieces as JSON."""
        return json.dumps(list(pieces))

    def split(self, body: str) -> Pieces:
        """Read them again."""
        return list(json.loads(body)), self.places


class Tabbed(Form):
    """A header, then cells between tabs; a quotation mark is one."""

    places: dict[str, int]

    glue = "\t"
    has_header = True

    def read_names(self, first: str) -> Sequence[str]:
        """Take the names from the header."""
        try:
            pieces = self._cells(first.strip("\r\n"))
        except BadRowError as error:
            raise WordbiasError(f"{self.file}: line 1: the header {error}") from None
        names = [self.value(piece).strip() for piece in pieces]
        if "" in names or len(set(names)) < len(names):
            raise WordbiasError(
                f"{self.file}: line 1: expected a header, a name of its own for each column; "
                f"found {', '.join(map(repr, names))[:200]}"
            )
        self.places = {name: i for i, name in enumerate(names)}
        return names

    def blank(self, line: str) -> bool:
        """Return whether nothing is in a line."""
        return not line.strip("\r\n")

    def split(self, body: str) -> Pieces:
        """Split at the glue."""
        pieces = self._cells(body)
        if len(pieces) != len(self.places):
            raise BadRowError(f"expected {len(self.places)} columns, found {len(pieces)}")
        return pieces, self.places

    def _cells(self, body: str) -> list[str]:
        return body.split("\t")


_QUOTED = re.compile(r'"[^"]*+(?:""[^"]*+)*+"')
_CLOSING = re.compile(r'[^"]*+(?:""[^"]*+)*+"')
_NEEDS_QUOTES = re.compile(r'[",\r\n]')


class CommaSeparated(Tabbed):
    """A header, then cells between commas, in quotation marks where they need them."""

    glue = ","

    def opened(self, line: str, opened: bool) -> bool:
        """Return whether a quotation mark is still open behind a line."""
        if '"' not in line:
            return opened
        start = 0
        while True:
            if opened or line.startswith('"', start):
                end = _CLOSING.match(line, start if opened else start + 1)
                if end is None:
                    return True
                opened, start = False, end.end()
                if not line.startswith(",", start):
                    return False  # its end, or no CSV, which splitting will say
            comma = line.find(",", start)
            if comma < 0:
                return False
            start = comma + 1

    def _cells(self, body: str) -> list[str]:
        if '"' not in body:
            return body.split(",")
        pieces = _cut(body)
        if pieces is None:
            raise BadRowError("is no CSV: a quotation mark is never closed")
        return pieces

    def value(self, piece: str) -> str:
        """Take the quotation marks away."""
        return piece[1:-1].replace('""', '"') if piece.startswith('"') else piece

    def piece(self, value: str, like: str) -> str:
        """Set quotation marks where they are needed or were."""
        if like.startswith('"') or _NEEDS_QUOTES.search(value):
            return '"' + value.replace('"', '""') + '"'
        return value


def _cut(body: str) -> list[str] | None:
    """Cut a record at its commas; None if its last quotation mark is not closed."""
    pieces, start = [], 0
    while True:
        if body.startswith('"', start):
            quoted = _QUOTED.match(body, start)
            if quoted is None:
                return None
            end = quoted.end()
            if end < len(body) and body[end] not in ",\r\n":
                raise BadRowError("is no CSV: expected a comma behind a closing quotation mark")
        else:
            end = body.find(",", start)
            end = len(body) if end < 0 else end
        pieces.append(body[start:end])
        if end >= len(body) or body[end] != ",":
            return pieces
        start = end + 1
