"""The exceptions a user is meant to read."""


class WordbiasError(ValueError):
    """A failure the user can mend.

    The message is one line: which file, line, word or shape; what was expected and what was
    received; what to do about it. The command line prints it and exits with status 1.
    """


class Interrupted(KeyboardInterrupt):
    """An interruption after which the same call goes on; the message says from where."""
