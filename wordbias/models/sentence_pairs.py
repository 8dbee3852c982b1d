"""Pairs of sentences that differ in a gender only: the built-in ones, or those of a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordbias.calls import note
from wordbias.errors import WordbiasError
from wordbias.wordlists.toml import as_table, complain, packaged, read_text, read_toml

BUILT_IN = "sentence_pairs.toml"
_REDRAWS = 3
"""Key of the random numbers of redraws."""
_WRITE = 'write it as [["She left.", "He left."], ...]'


class SentencePair(NamedTuple):
    """A sentence and its counterpart; in the built-in list the female version comes first."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.first!r} / {self.second!r}"


SentencePairsLike = str | os.PathLike[str] | Sequence[tuple[str, str]]
"""Pairs of sentences, or a file of them."""


def sentence_pairs(path: SentencePairsLike | None = None) -> tuple[SentencePair, ...]:
    """Return the pairs of a file; without `path`, the built-in ones.

    Parameters
    ----------
    path
        The pairs themselves; or a TOML file whose keys are lists of ``[first, second]``, or a text
        file with one pair a line and a tab between the sentences. Blank lines and lines that start
        with ``#`` are ignored, and repeated pairs are dropped. A file has no header; a note says so
        where the first line alone has single words.

    Raises
    ------
    WordbiasError
        If the file cannot be read or something in it is no pair; the message names the place.
    """
    if path is None or isinstance(path, (str, os.PathLike)):
        file = packaged(BUILT_IN) if path is None else Path(path)
        is_toml = Path(str(file)).suffix.lower() == ".toml"
        where, found = str(file), _from_toml(file) if is_toml else _from_lines(file)
    else:
        where = "pairs"
        found = (
            _checked(list(pair) if isinstance(pair, Iterable) else [pair], f"{where}, pair {i}")
            for i, pair in enumerate(path, 1)
        )
    pairs = tuple(dict.fromkeys(found))
    if not pairs:
        raise WordbiasError(f"{where}: expected pairs of sentences, found none; {_WRITE}")
    return pairs


def redrawn_pairs(
    pairs: Sequence[SentencePair], draws: int, seed: int = 0
) -> list[tuple[SentencePair, ...]]:
    """Draw pairs again, as many, with replacement; the first of many draws are those of few."""
    rng, n = np.random.default_rng([seed, _REDRAWS]), len(pairs)
    return [tuple(pairs[i] for i in rng.integers(n, size=n)) for _ in range(draws)]


def _from_toml(file: Traversable) -> Iterable[SentencePair]:
    for key, value in as_table(read_toml(file), str(file)).items():
        where = f"{file}: {key}"
        if not isinstance(value, list):
            raise complain(where, "a list of pairs of sentences", value, _WRITE)
        for i, pair in enumerate(value, 1):
            yield _checked(pair, f"{where}, pair {i}")


def _from_lines(file: Traversable) -> Iterable[SentencePair]:
    found = {
        number: _checked(line.rstrip("\r").split("\t"), f"{file}, line {number}")
        for number, line in enumerate(read_text(file).split("\n"), 1)
        if line.strip() and not line.startswith("#")
    }
    of_words = [number for number, pair in found.items() if _of_words(pair)]
    if len(found) > 1 and of_words == list(found)[:1]:
        (number,) = of_words
        note(f"{file}, line {number}: {found[number]} is a pair; put # before it if it is a header")
    return found.values()


def _of_words(pair: SentencePair) -> bool:
    return all(len(text.split()) == 1 for text in pair)


def _checked(value: Any, where: str) -> SentencePair:
    texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
    if not texts or len(value) != 2:
        raise complain(where, "two sentences", value, "separate them by a tab, or " + _WRITE)
    first, second = (text.strip() for text in value)
    if not first or not second or first == second:
        raise WordbiasError(
            f"{where}: expected two different sentences, found {first!r} and {second!r}; "
            "correct or remove the pair"
        )
    return SentencePair(first, second)
