"""Plain lists of words, one a line."""

import os
from collections.abc import Sequence
from importlib.resources.abc import Traversable
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.wordlists._toml import as_words, read_text, read_toml


def wordlist(path: str | os.PathLike[str] | Sequence[str]) -> tuple[str, ...]:
    """Return the words of a list.

    Parameters
    ----------
    path
        The words themselves, or a text file with one word a line (blank lines, lines that start
        with ``#`` and a comma at the end of a line are ignored), or a ``.toml`` file with
        ``words = [...]``.

    Returns
    -------
    tuple of str
        The words in the order of the file, repetitions dropped.

    Raises
    ------
    WordbiasError
        The file is missing, not UTF-8, not valid TOML, or has no words.
    """
    if not isinstance(path, (str, os.PathLike)):
        words = tuple(dict.fromkeys(path))
        if not words:
            raise WordbiasError("vocab: expected at least one word, found none")
        return words
    file = Path(path)
    if file.suffix.lower() != ".toml":
        return read_lines(file)
    words = as_words(read_toml(file).get("words"), f"{file}: words")
    return _not_empty(words, file)


def read_lines(file: Traversable) -> tuple[str, ...]:
    """Return the words of a one-word-a-line file."""
    # Not splitlines() and a bare strip(): U+0085 and U+00A0 are words in GloVe.
    lines = (line.strip(" \t\r") for line in read_text(file).split("\n"))
    words = (line.removesuffix(",").rstrip(" \t") for line in lines if not line.startswith("#"))
    return _not_empty(tuple(dict.fromkeys(word for word in words if word)), file)


def _not_empty(words: tuple[str, ...], file: Traversable) -> tuple[str, ...]:
    if not words:
        raise WordbiasError(f"{file}: expected at least one word, found none; add one word a line")
    return words
