"""Exceptions with messages for users, printable text, and imports of optional packages."""

import importlib
import re
from collections.abc import Iterable
from difflib import get_close_matches
from types import ModuleType


class WordbiasError(ValueError):
    """An error that the user can fix.

    The message is one line: which file, line, word or shape; what was expected and what was
    received; what to do about it. The command line prints it and exits with status 1. A damaged
    file can bring line breaks and very long texts into a message. Line breaks are removed. Names of
    more than 200 characters and very long messages lose their middle. Addresses are without user
    names, passwords and queries.

    Parameters
    ----------
    message : str
        The fault and its remedy.

    Examples
    --------
    >>> import wordbias as wb
    >>> try:
    ...     wb.load("no_such_file.txt")
    ... except wb.WordbiasError as error:
    ...     print(error)
    no_such_file.txt: there is no such file
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(_one_line(without_secrets(str(message))))


class UsageError(WordbiasError):
    """Arguments that contradict each other, or that have no effect together."""

    # Also a name of a method, an attribute or a measure that is not known. The exit status is 2.


def unknown_name(what: str, name: object, known: Iterable[str], remedy: str = "") -> UsageError:
    """Return the error for a name that is none of those known, with the nearest one."""
    names = list(known)
    near = get_close_matches(str(name).lower(), names, 1)
    guess = f"; did you mean {near[0]}?" if near else ""
    return UsageError(f"{what} {name!r}: expected one of {', '.join(names)}{remedy}{guess}")


class Interrupted(KeyboardInterrupt):
    """An interruption whose message says what is complete, or where the same call resumes."""


def need(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional module; without it, refuse with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise WordbiasError(
            f"{purpose} needs {error.name}; install it with: {install_line(extra)}"
        ) from None


def install_line(*extras: str) -> str:
    """Return the line that installs extras; every shell reads its double quotes, cmd too."""
    named = ",".join(extras)
    return f'pip install "wordbias[{named}]" (in a checkout: pip install ".[{named}]")'


_LONGEST, _END = 2_000, 400
_NAME = 200
_LISTED = 12
"""Number of names that a message lists."""
_LONG_NAME = re.compile(
    "|".join(
        part.replace("N", f"{{{_NAME + 1},}}")
        for part in (r"(?<!\w)'[^'\n]N'(?!\w)", r'(?<!\w)"[^"\n]N"(?!\w)', r"[^\s'\"]N")
    )
)
"""A long text between quotation marks, or without a space."""
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"  # not allowed in HTML
    "\u202a-\u202e\u2066-\u2069]"  # change the direction of the text around them
)
_LINE = 100


def printable(text: str) -> str:
    """Replace invisible characters and those that change what a browser or a terminal shows."""
    return _UNPRINTABLE.sub("\ufffd", text)


def listed(names: Iterable[str], width: int = 60) -> str:
    """Join names for a message: the first of many, each cut to a width."""
    known = list(names)
    joined = ", ".join(f"{name:.{width}}" for name in known[:_LISTED])
    more = f", … and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return joined + more or "none"


def shortened(text: str) -> str:
    """Cut the middle out of names and words of more than 200 characters."""
    return _LONG_NAME.sub(lambda match: _cut(match[0]), text)


def _cut(name: str) -> str:
    quote = name[0] if name[0] in "'\"" else ""
    bare = name[1:-1] if quote else name
    return f"{quote}{bare[: _NAME // 2]}…{bare[-(_NAME // 2 - 1) :]}{quote}"


def _one_line(message: str) -> str:
    """Join lines, and cut the middle out of a very long message."""
    line = shortened(" ".join(message.splitlines()))
    line = line.encode("utf-8", "backslashreplace").decode()  # it can be printed
    if len(line) <= _LONGEST:
        return line
    return f"{line[: _LONGEST - _END - 3]} … {line[-_END:]}"


_ADDRESS = re.compile(
    r"\b(https?://|ftp://)(?:[^\s/?#'\"]*@)?([^\s?'\"]*)(?:\?[^\s'\"]*)?", re.IGNORECASE
)


def without_secrets(text: str) -> str:
    """Remove user names, passwords and queries from the addresses in a text."""
    # Every address that is shown or recorded goes through here.
    return _ADDRESS.sub(r"\1\2", text)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its class if it has none."""
    return (str(error).strip() or type(error).__name__).split("\n")[0]


def on_a_line(text: str) -> str:
    """Join the lines of an object's repr into one of at most 100 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[: _LINE - 4]} … {line[-1]}"
