"""The exceptions a user is meant to read."""

_LONGEST, _END = 2_000, 400


class WordbiasError(ValueError):
    """A failure the user can mend.

    The message is one line: which file, line, word or shape; what was expected and what was
    received; what to do about it. The command line prints it and exits with status 1. Line breaks
    and what is too long to be read, both of which a damaged file can bring in, are taken out.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(_one_line(str(message)))


class Interrupted(KeyboardInterrupt):
    """An interruption after which the same call goes on; the message says from where."""


def _one_line(message: str) -> str:
    """Join lines, and leave out the middle of what nobody would read to its end."""
    line = " ".join(message.splitlines())
    if len(line) <= _LONGEST:
        return line
    return f"{line[: _LONGEST - _END - 3]} … {line[-_END:]}"
