"""The grammar of methods with their settings, as users type them: ``misp:dims=2,inlp:rounds=10``.

Commas join the methods of a chain, and spaces separate chains where several are tried. ``:`` begins
a setting and ``=`` its value; a flag stands without a value. A value with ``,`` ``:`` ``@`` or a
space stands between quotation marks, single or double; one inside is written twice. Without them

- ``:`` begins a setting only before ``name=``, or before a name at the end of a value, so that
  ``weights=perm:2134``, ``words=C:\\data\\words.txt`` and ``words=all.zip::some`` are whole;
- a comma before a digit belongs to the value, as in ``weights=0.5,0.3``;
- ``@`` is refused, since it is reserved.

This file knows no method: which there are, and what their settings take, is `wordbias.settings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from wordbias.errors import UsageError

QUOTES = "'\""
_END_OF_NAME = re.compile(r"[\s,:=]|$")
_SETTING = re.compile(r"(?<!:):[A-Za-z][\w-]*(?:=|[\s:,]|$)")
"""A colon that begins a setting; of two colons neither does."""
_NUMBER_FOLLOWS = re.compile(r",\.?\d")


class Item(NamedTuple):
    """A method, and its settings as they were typed; None is the value of a flag."""

    name: str
    settings: Mapping[str, str | None]


def parse_chains(text: str) -> list[list[Item]]:
    """Read chains with spaces between."""
    return [[Item(*parts) for parts in chain] for chain in _Reader(text).chains()]


def written(chain: Sequence[Item]) -> str:
    """Write a chain as a text that `parse_chains` reads as the same."""
    return ",".join(
        ":".join(
            [
                item.name,
                *(key if v is None else f"{key}={quoted(v)}" for key, v in item.settings.items()),
            ]
        )
        for item in chain
    )


def quoted(value: str) -> str:
    """Write a value, between quotation marks if it cannot stand without."""
    if value and not value.endswith(":") and value[0] not in QUOTES and "@" not in value:
        reader = _Reader(value)
        if reader.bare() == value:
            return value
    mark = '"' if "'" in value and '"' not in value else "'"
    return f"{mark}{value.replace(mark, 2 * mark)}{mark}"


class _Reader:
    """A text that is read from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def chains(self) -> Iterator[list[tuple[str, dict[str, str | None]]]]:
        self.spaces()
        while self.at < len(self.text):
            yield list(self.chain())
            self.spaces()

    def chain(self) -> Iterator[tuple[str, dict[str, str | None]]]:
        while True:
            name = self.name("method")
            settings: dict[str, str | None] = {}
            while self.takes(":"):
                start, key = self.at, self.name("setting")
                if key in settings:
                    raise self.error(f"{key} is given twice", start)
                settings[key] = self.value() if self.takes("=") else None
            yield name, settings
            if not self.takes(","):
                break
            self.spaces()
        if self.at < len(self.text) and not self.text[self.at].isspace():
            raise self.error(f"expected a comma or a space before {self.text[self.at :]!r:.40}")

    def name(self, of: str) -> str:
        """Read a name, which begins with a letter: a digit behind a comma is part of a value."""
        start, end = self.at, _END_OF_NAME.search(self.text, self.at)
        if not self.text[start : start + 1].isalpha():
            raise self.error(f"expected the name of a {of}")
        self.at = len(self.text) if end is None else end.start()
        return self.text[start : self.at].lower().replace("_", "-")

    def value(self) -> str:
        mark = self.text[self.at : self.at + 1]
        return self.between(mark) if mark and mark in QUOTES else self.bare()

    def between(self, mark: str) -> str:
        start, parts = self.at, []
        while True:
            end = self.text.find(mark, self.at + 1)
            if end < 0:
                raise self.error(f"the quotation mark {mark} is not closed", start)
            parts.append(self.text[self.at + 1 : end])
            self.at = end + 1
            if self.text[self.at : self.at + 1] != mark:
                return mark.join(parts)

    def bare(self) -> str:
        """Read a value without quotation marks, up to what cannot be part of it."""
        start = self.at
        while self.at < len(self.text):
            char = self.text[self.at]
            if char.isspace() or (char == ":" and _SETTING.match(self.text, self.at)):
                break
            if char == "," and not _NUMBER_FOLLOWS.match(self.text, self.at):
                break
            if char == "@":
                raise self.error("@ is reserved; put the value between quotation marks")
            self.at += 1
        return self.text[start : self.at]

    def takes(self, char: str) -> bool:
        is_next = self.text.startswith(char, self.at)
        self.at += is_next
        return is_next

    def spaces(self) -> None:
        self.at += len(self.text[self.at :]) - len(self.text[self.at :].lstrip())

    def error(self, what: str, at: int | None = None) -> UsageError:
        place = (self.at if at is None else at) + 1
        return UsageError(f"methods {self.text!r}: {what}, at character {place}")
