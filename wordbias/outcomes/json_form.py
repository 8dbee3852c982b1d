"""jsonl as a form of records: the pieces of an object, of which one can be replaced."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from wordbias.outcomes.forms import BadRowError, CommaSeparated, Form, Pieces, Tabbed

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class JsonLines(Form):
    """An object a line."""

    def read_names(self, first: str) -> Sequence[str]:
        """Return the keys of the first object."""
        try:
            return list(self.split(first)[1])
        except BadRowError:
            return []

    def blank(self, line: str) -> bool:
        """Return whether nothing but space is in a line."""
        return not line.strip()

    def split(self, body: str) -> Pieces:
        """Return values by turns with what stands between them."""
        try:
            return _values(body)
        except (ValueError, IndexError, RecursionError):
            raise BadRowError(
                f"expected a JSON object, whole on its line, found {body.strip()[:40]!r}"
            ) from None

    def value(self, piece: str) -> str:
        """Return a string; anything else as it is written."""
        return str(_DECODER.decode(piece)) if piece.startswith('"') else piece

    def piece(self, value: str, like: str) -> str:
        """Write a string, with letters beyond ASCII as they were: escaped or not."""
        return json.dumps(value, ensure_ascii=like.isascii() or "\\u" in like)

    def check_text(self, piece: str, column: str) -> None:
        """Refuse numbers, null, lists and objects."""
        if not piece.startswith('"'):
            raise BadRowError(f"expected a text as {column!r}, found {piece[:40]}")


def _values(body: str) -> Pieces:
    """Walk through an object."""
    pieces: list[str] = []
    places: dict[str, int] = {}
    begin, i = 0, _expect(body, 0, "{")
    closed = body[i] == "}"
    while not closed:
        name, i = _DECODER.raw_decode(body, i)
        if not isinstance(name, str):
            raise ValueError
        i = _expect(body, i, ":")
        pieces.append(body[begin:i])
        _, begin = _DECODER.raw_decode(body, i)
        places[name] = len(pieces)
        pieces.append(body[i:begin])
        i = _SPACE.match(body, begin).end()  # type: ignore[union-attr]
        closed = body[i] == "}"
        if not closed:
            i = _expect(body, i, ",")
    if body[i + 1 :].strip():
        raise ValueError
    return [*pieces, body[begin:]], places


def _expect(body: str, start: int, mark: str) -> int:
    """Pass over space, a mark, and space again."""
    i = _SPACE.match(body, start).end()  # type: ignore[union-attr]
    if body[i] != mark:
        raise ValueError
    return _SPACE.match(body, i + 1).end()  # type: ignore[union-attr]


FORMS: Mapping[str, type[Form]] = {
    "plain": Form,
    "tsv": Tabbed,
    "csv": CommaSeparated,
    "jsonl": JsonLines,
}
"""The form of each kind of file."""
