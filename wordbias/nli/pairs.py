"""Labelled sentence pairs, from SNLI's own jsonl or tabbed text, and their tokens."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats.source import Digest
from wordbias.text_files import OPENERS, bounded_lines, opened

LABELS = ("neutral", "entailment", "contradiction")
"""Labels in the order of every probability vector: (N, E, C), as in the papers."""
UNDECIDED = "-"
Tokens = tuple[str, ...]

_STEMS = ("neutral", "entail", "contradict")
_NUMBER = {label: i for i, label in enumerate(LABELS)}
_HEADERS = (("label", "premise", "hypothesis"), ("gold_label", "sentence1", "sentence2"))


class PairsFrame(Protocol):
    """Pandas frame with the columns of a file of pairs."""

    columns: Any
    itertuples: Any

    def __getitem__(self, names: list[str], /) -> Any: ...


PairsLike = str | os.PathLike[str] | Iterable[Sequence[str]] | PairsFrame
"""Labelled pairs: a file, triples of (label, premise, hypothesis), or a frame."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Sentence pairs.

    Attributes
    ----------
    premises, hypotheses
        Tokens of each sentence; equal sentences are one object.
    labels
        Places in `LABELS`, shape ``(n,)``.
    dropped
        Number of pairs without a label (``-``), which are left out.
    sha256
        Hash of the file's content, uncompressed; for pairs in memory, of their tabbed text.
    """

    premises: Sequence[Tokens]
    hypotheses: Sequence[Tokens]
    labels: NDArray[np.int64]
    dropped: int = 0
    sha256: str = ""

    def __len__(self) -> int:
        return len(self.labels)

    def head(self, count: int) -> Pairs:
        """Return the first `count` pairs."""
        part = slice(count)
        return Pairs(self.premises[part], self.hypotheses[part], self.labels[part], 0, self.sha256)


def load_pairs(path: PairsLike) -> Pairs:
    """Read pairs from jsonl (``gold_label``, ``sentence1``, ``sentence2``) or tabbed text.

    Text has the columns label, premise and hypothesis, in this order or named by the first line.
    Labels are words. Files may be compressed (.gz, .bz2, .xz). In memory, pairs are triples of
    label, premise and hypothesis, or a frame with columns of either names.

    Raises
    ------
    WordbiasError
        At the first line that cannot be used, with its number; or if there is no pair at all.
    """
    premises: list[Tokens] = []
    hypotheses: list[Tokens] = []
    labels, dropped = [], 0
    known: dict[str, Tokens] = {}
    digest = hashlib.sha256()
    for label, premise, hypothesis in labelled_rows(path, digest):
        if label == UNDECIDED:
            dropped += 1
            continue
        labels.append(_NUMBER[label])
        for text, sentences in ((premise, premises), (hypothesis, hypotheses)):
            if text not in known:
                known[text] = tuple(map(intern, tokenise(text)))  # one object for each word
            sentences.append(known[text])
    if not labels:
        among = f" among {dropped} without a label" if dropped else ""
        raise WordbiasError(f"{pairs_name(path)}: holds no labelled pair{among}")
    return Pairs(premises, hypotheses, np.array(labels), dropped, digest.hexdigest())


def pairs_name(pairs: PairsLike) -> str:
    """Return the file of pairs, or "pairs in memory"."""
    return os.fspath(pairs) if isinstance(pairs, (str, os.PathLike)) else "pairs in memory"


def labelled_rows(pairs: PairsLike, digest: Digest) -> Iterator[tuple[str, str, str]]:
    """Yield label, premise and hypothesis of every line or row that is not empty."""
    if isinstance(pairs, (str, os.PathLike)):
        return _from_file(Path(pairs), digest)
    return _from_memory(pairs, digest)


def _from_memory(
    pairs: Iterable[Sequence[str]] | PairsFrame, digest: Digest
) -> Iterator[tuple[str, str, str]]:
    rows = cast("Iterable[Sequence[str]]", pairs)
    if hasattr(pairs, "itertuples"):
        frame = cast("PairsFrame", pairs)
        named = [wanted for wanted in _HEADERS if set(wanted) <= set(frame.columns)]
        if not named:
            raise WordbiasError(
                "pairs in memory: expected the columns label, premise and hypothesis, found "
                f"{', '.join(map(str, frame.columns))}"
            )
        rows = frame[list(named[0])].itertuples(index=False, name=None)
    if not isinstance(rows, Iterable):
        raise WordbiasError(
            "expected pairs: a file, a list of (label, premise, hypothesis) or a frame; got "
            f"{type(rows).__name__}"
        )
    for number, row in enumerate(rows, 1):
        cells = [] if isinstance(row, str) or not isinstance(row, Sequence) else row
        if len(cells) != 3 or not all(isinstance(cell, str) for cell in cells):
            raise WordbiasError(
                f"pairs in memory: row {number}: expected the texts label, premise and hypothesis, "
                f"got {row!r}"
            )
        label, premise, hypothesis = cells[0].strip().lower(), cells[1].strip(), cells[2].strip()
        try:
            _check_label(label)
        except WordbiasError as error:
            raise WordbiasError(f"pairs in memory: row {number}: {error}") from None
        digest.update(f"{label}\t{premise}\t{hypothesis}\n".encode("utf-8", "surrogatepass"))
        yield label, premise, hypothesis


def _from_file(file: Path, digest: Digest) -> Iterator[tuple[str, str, str]]:
    read: Callable[[str], tuple[str, str, str]] | None = None
    for number, raw in _lines(file):
        digest.update(raw)
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            if not line.strip():
                continue
            if read is None:
                read = _json_row if line.lstrip().startswith("{") else _Tabbed(line)
                if isinstance(read, _Tabbed) and read.is_header:
                    continue
            row = read(line)
            _check_label(row[0])
        except UnicodeDecodeError as error:
            found = error.object[error.start : error.start + 1]
            raise WordbiasError(
                f"{file}: line {number}: is not UTF-8 (byte {found!r}); convert the file"
            ) from None
        except WordbiasError as error:
            raise WordbiasError(f"{file}: line {number}: {error}") from None
        yield row


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with opened(file, OPENERS.get(file.suffix.lower(), open)) as stream:
            yield from enumerate(bounded_lines(stream, file), 1)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise WordbiasError(f"{file}: cannot be read: {reason}") from None


def _check_label(label: str) -> None:
    if label != UNDECIDED and label not in _NUMBER:
        raise WordbiasError(
            f"unknown label {label!r}; expected one of {', '.join(LABELS)}, or {UNDECIDED} for none"
        )


def _json_row(line: str) -> tuple[str, str, str]:
    try:
        found = json.loads(line)
        label, premise, hypothesis = (found[name] for name in _HEADERS[1])
    except (ValueError, KeyError, TypeError, RecursionError):
        label = premise = hypothesis = None
    if not (isinstance(label, str) and isinstance(premise, str) and isinstance(hypothesis, str)):
        raise WordbiasError(
            "expected a JSON object with the texts gold_label, sentence1 and sentence2"
        )
    return label.strip().lower(), premise, hypothesis


class _Tabbed:
    """Reader of tabbed lines; the first may name the columns."""

    def __init__(self, first: str) -> None:
        names = [name.strip().lower() for name in first.split("\t")]
        named = [wanted for wanted in _HEADERS if set(wanted) <= set(names)]
        self.is_header = bool(named)
        self.columns = [names.index(name) for name in named[0]] if named else [0, 1, 2]

    def __call__(self, line: str) -> tuple[str, str, str]:
        cells = line.split("\t")
        if len(cells) <= max(self.columns):
            raise WordbiasError(
                f"expected the columns label, premise and hypothesis, separated by tabs, found "
                f"{len(cells)}"
            )
        label, premise, hypothesis = (cells[i].strip() for i in self.columns)
        return label.lower(), premise, hypothesis


# Tokens

_QUOTES = str.maketrans({"’": "'", "‘": "'", "´": "'", "“": '"', "”": '"', "`": "'"})
_TOKEN = re.compile(
    r"""
    \.\.\.                                  # an ellipsis
    | n't\b | '(?:s|re|ve|ll|d|m)\b         # the rest of a contraction: is n't, she 's
    | can(?=not(?:n't)?\b)                  # cannot is can not
    | \w+?(?=n't\b)                         # the word before n't
    | \d+(?:[.,:]\d+)+                      # 3.5, 10,000, 7:30
    | (?:[^\W\d_]\.){2,}(?!\w)              # U.S., p.m.
    | \w+(?:[-.&]\w+)*                      # well-known, R&B
    | [^\w\s]                               # any other mark by itself
    """,
    re.VERBOSE | re.IGNORECASE,
)


def tokenise(text: str) -> list[str]:
    """Split a sentence into words, contractions and marks, as the Penn Treebank does.

    The case is kept. Tokenising tokens joined with spaces gives the same tokens, so that raw and
    tokenised texts, which copies of SNLI mix, have the same ones. Quotes of every kind become
    straight ones; a pair of single quotes becomes a double one.

    Examples
    --------
    >>> tokenise("She isn't at Tom's house.")
    ['She', 'is', "n't", 'at', 'Tom', "'s", 'house', '.']
    >>> tokenise("She is n't at Tom 's house .")
    ['She', 'is', "n't", 'at', 'Tom', "'s", 'house', '.']
    """
    return _TOKEN.findall(text.translate(_QUOTES).replace("''", '"'))


def label_indices(names: Sequence[str]) -> tuple[int, int, int] | None:
    """Return the indices of neutral, entailment and contradiction in names that have each once.

    Examples
    --------
    >>> label_indices(["CONTRADICTION", "entail", "neutral"])
    (2, 1, 0)
    """
    lower = [name.strip().lower() for name in names]
    found = [[i for i, name in enumerate(lower) if name.startswith(stem)] for stem in _STEMS]
    n, e, c = found
    return (n[0], e[0], c[0]) if len(n) == len(e) == len(c) == 1 else None
