"""Text of a user as a reader is to see it, on a terminal or a page."""

import re

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"  # what no page may hold
    "\u202a-\u202e\u2066-\u2069]"  # what lets the text around it run backwards
)

_LINE = 100


def seen(text: str) -> str:
    """Replace characters that cannot be seen, and change what a reader or a terminal shows."""
    return _UNSEEN.sub("\ufffd", text)


def on_a_line(text: str) -> str:
    """Return the repr of an object as one line of at most 100 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[: _LINE - 4]} … {line[-1]}"
