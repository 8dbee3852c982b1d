"""Pairs of sentences that differ in a gender only: the built-in ones, or those of a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from wordbias.calls import note, path_of
from wordbias.columns import TableLike, is_table, read
from wordbias.errors import WordbiasError
from wordbias.formats.tables import SNIFF, is_parquet
from wordbias.text_files import Source, read_text
from wordbias.wordlists.toml import as_table, complain, packaged, read_toml

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


SentencePairsLike = TableLike | Sequence[tuple[str, str]]
"""Pairs of sentences, or a table of them."""


def sentence_pairs(path: SentencePairsLike | None = None) -> tuple[SentencePair, ...]:
    """Return the pairs of a file; without `path`, the built-in ones."""
    # A TOML file has lists of [first, second], a text file one pair a line with a tab between,
    # another table the columns first and second. Blank lines and lines that start with # are
    # ignored, and repeated pairs are dropped. A note says where the first line looks like a header
    # of other names.
    where = BUILT_IN if path is None else path_of(path) or "pairs"
    all_pairs: Iterable[SentencePair]
    if where.lower().endswith(".toml"):
        all_pairs = _from_toml(packaged(BUILT_IN) if path is None else Path(where))
    elif is_table(path):
        all_pairs = _from_table(path)
    elif not isinstance(path, Iterable):
        raise WordbiasError(
            f"{where}: expected a file, a table with the columns first and second, or pairs of "
            f"sentences, got {type(path).__name__}"
        )
    else:
        all_pairs = (
            _checked(list(pair) if isinstance(pair, Iterable) else [pair], f"{where}, pair {i}")
            for i, pair in enumerate(cast("Sequence[object]", path), 1)
        )
    pairs = tuple(dict.fromkeys(all_pairs))
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


def _from_table(table: TableLike) -> Iterable[SentencePair]:
    path, columns = path_of(table), ("first", "second")
    is_text = path is not None and not is_parquet(Path(path))
    source = _without_comments(read_text(path)) if path and is_text else table
    cells = read(
        source, columns, unnamed=columns, blank=columns, name="pairs", kind=SNIFF, strip=True
    )
    pairs = [_checked([*row.values()], where) for where, row in cells.rows()]
    of_words = [i for i, pair in enumerate(pairs) if _of_words(pair)]
    if len(pairs) > 1 and of_words == [0]:
        note(f"{cells.where(0)}: {pairs[0]} is a pair; put # before it if it is a header")
    return pairs


def _without_comments(source: Source) -> Source:
    lines = ("" if line.startswith("#") else line for line in source.text.split("\n"))
    return source._replace(text="\n".join(lines))


def _of_words(pair: SentencePair) -> bool:
    return all(len(text.split()) == 1 for text in pair)


def _checked(value: Any, where: str) -> SentencePair:
    texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
    if not texts or len(value) != 2:
        raise complain(where, "two texts", value, "separate them by a tab, or " + _WRITE)
    first, second = (text.strip() for text in value)
    if not first or not second or first == second:
        raise WordbiasError(
            f"{where}: expected two different texts, found {first!r} and {second!r}; "
            "correct or remove the pair"
        )
    return SentencePair(first, second)
