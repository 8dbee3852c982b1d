"""The exceptions for users, with readable messages.

Text of a user as a reader is to see it, on a terminal or a page.

Optional packages: found, or named together with the line that installs them.
"""

import importlib
import re
from types import ModuleType

_LONGEST, _END = 2_000, 400
_NAME = 200
_LONG_NAME = re.compile(
    "|".join(
        part.replace("N", f"{{{_NAME + 1},}}")
        for part in (r"(?<!\w)'[^'\n]N'(?!\w)", r'(?<!\w)"[^"\n]N"(?!\w)', r"[^\s'\"]N")
    )
)
"""Texts in quotation marks, except apostrophes within words, or without a space."""


class WordbiasError(ValueError):
    """An error that the user can fix.

    The message is one line: which file, line, word or shape; what was expected and what was
    received; how to fix it. The command line prints it and exits with status 1. Line breaks and the
    middle of very long messages, both of which a damaged file can cause, are removed; of names with
    more than 200 characters, their middle.

    Parameters
    ----------
    message : str
        Problem, and how to fix it.

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
        super().__init__(_one_line(str(message)))


class UsageError(WordbiasError):
    """Arguments that contradict each other, or that do nothing together.

    The command line shows how the command is used and exits with status 2.
    """


class Interrupted(KeyboardInterrupt):
    """An interruption after which the same call resumes; the message says from what."""


def shortened(text: str) -> str:
    """Cut the middle of names and words of more than 200 characters."""
    return _LONG_NAME.sub(lambda found: _cut(found[0]), text)


def _cut(name: str) -> str:
    quote = name[0] if name[0] in "'\"" else ""
    bare = name[1:-1] if quote else name
    return f"{quote}{bare[: _NAME // 2]}…{bare[-(_NAME // 2 - 1) :]}{quote}"


def _one_line(message: str) -> str:
    """Join lines, and leave out the middle of a very long message."""
    line = shortened(" ".join(message.splitlines()))
    line = line.encode("utf-8", "backslashreplace").decode()  # it can be printed
    if len(line) <= _LONGEST:
        return line
    return f"{line[: _LONGEST - _END - 3]} … {line[-_END:]}"


_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"  # what no page may hold
    "\u202a-\u202e\u2066-\u2069]"  # what lets the text around it run backwards
)

_LINE = 100


def printable(text: str) -> str:
    """Replace characters that cannot be seen, and change what a reader or a terminal shows."""
    return _UNSEEN.sub("\ufffd", text)


def on_a_line(text: str) -> str:
    """Return the repr of an object as one line of at most 100 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[: _LINE - 4]} … {line[-1]}"


def need(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or say what needs it and how to install it.

    Parameters
    ----------
    module
        Dotted name of the module to import.
    extra
        The extra of this package that installs it.
    purpose
        What cannot be done without it, as the beginning of a sentence.

    Raises
    ------
    WordbiasError
        If the module is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise WordbiasError(
            f"{purpose} needs {error.name}; install it with: pip install 'wordbias[{extra}]' "
            f"(in a checkout: pip install '.[{extra}]')"
        ) from None
