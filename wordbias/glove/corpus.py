"""The text that vectors are trained on: its tokens, and the words that are frequent enough."""

from __future__ import annotations

import heapq
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.formats.files import rename
from wordbias.formats.source import Source, refuse_foreign, sha256_of
from wordbias.rendering import how_many

END = "\0"
"""Token for the end of a line; a text with this character is refused."""
LONGEST_WORD = 1 << 20
"""Bytes without white space from which on a file is no text of words."""
_AT_ONCE = 64
"""Number of sorted parts that are merged into one: a system limits how many files are open."""
_WORD_BYTES = 200
"""Memory for a word and its count in a dictionary."""
_SPACES = b" \n\t\r\v\f"
_BOM = b"\xef\xbb\xbf"
_CONVERT = "convert it, such as with: iconv -c -t utf-8"


@dataclass(frozen=True)
class Corpus:
    """Text files, read in order, a sentence or a document on each line."""

    files: tuple[Source, ...]  # the files, which may be compressed
    cased: bool = False  # keep capital letters; otherwise the text is lower-cased

    @classmethod
    def open(cls, paths: Sequence[str | os.PathLike[str]], *, cased: bool = False) -> Corpus:
        """Find the files, and refuse what is no text."""
        if not paths:
            raise WordbiasError("corpus: expected one text file at least, found none")
        sources: dict[str, Source] = {}
        for path in paths:
            if os.path.isdir(path):
                raise WordbiasError(f"{path}: is a folder; name the text files in it")
            source = Source.find(path)
            known = os.path.realpath(source.path) + source.member
            if known in sources:
                raise WordbiasError(f"{source.name}: is named twice; name each file once")
            head = source.head(64).removeprefix(_BOM)
            refuse_foreign(Path(source.name), head, plain=True)
            if head.startswith(b"<mediawiki"):
                raise WordbiasError(
                    f"{source.name}: is a dump in XML; give its text, which a program such as "
                    "wikiextractor takes out of it"
                )
            sources[known] = source
        return cls(tuple(sources.values()), cased)

    @property
    def name(self) -> str:
        """The files in messages."""
        return ", ".join(source.name for source in self.files)

    def about(self) -> list[dict[str, Any]]:
        """Return size and hash of each file, and what is read of an archive; this reads them."""
        return [
            {
                "member": source.member,
                "bytes": source.path.stat().st_size,
                "sha256": sha256_of(source.path),
            }
            for source in self.files
        ]

    def tokens(self, what: str) -> Iterator[list[str]]:
        """Yield the tokens in lists, split at white space, with `END` after each line."""
        # Lines can be of any length: the memory does not grow with them.
        for source in self.files:
            held, line = b"", 1
            for i, chunk in enumerate(source.chunks(what)):
                data = held + (chunk.removeprefix(_BOM) if i == 0 else chunk)
                cut = 1 + max(data.rfind(space) for space in (b"%c" % byte for byte in _SPACES))
                if len(data) - cut > LONGEST_WORD:
                    at = line + data.count(b"\n")
                    raise WordbiasError(
                        f"{source.name}: line {at}: has a word of over "
                        f"{LONGEST_WORD:,} bytes; expected text, its words separated by spaces"
                    )
                held = data[cut:]
                yield self._split(source, data[:cut], line)
                line += data.count(b"\n", 0, cut)
            yield [*self._split(source, held, line), END]

    def _split(self, source: Source, data: bytes, line: int) -> list[str]:
        """Return the tokens of bytes that begin in a line; refuse what is no text."""
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            at = line + data.count(b"\n", 0, error.start)
            byte = data[error.start : error.start + 1]
            raise WordbiasError(
                f"{source.name}: line {at}: is not UTF-8 (byte {byte!r}); {_CONVERT}"
            ) from None
        if END in text:
            at = line + text.count("\n", 0, text.index(END))
            raise WordbiasError(
                f"{source.name}: line {at}: has a byte 0, as binary files do; expected text"
            )
        if not self.cased:
            text = text.lower()
        return text.replace("\n", f" {END} ").split()


@dataclass(frozen=True)
class Vocabulary:
    """The frequent words of a corpus."""

    # words and how often they occur, the most frequent first; equally frequent ones in the order of
    # their characters
    words: tuple[str, ...]
    counts: tuple[int, ...]
    tokens: int  # numbers of tokens and of distinct words of the corpus, the rare ones too
    distinct: int

    @property
    def index(self) -> dict[str, int]:
        """Row number of each word."""
        return {word: i for i, word in enumerate(self.words)}


def count_words(
    corpus: Corpus,
    folder: Path,
    *,
    min_count: int = 1,
    max_vocab: int | None = None,
    memory: int = 1 << 30,
) -> Vocabulary:
    """Count the words of a corpus; what does not fit into `memory` bytes is sorted in a folder."""
    counts: Counter[str] = Counter()
    parts: list[Path] = []
    for tokens in corpus.tokens("counting words"):
        counts.update(tokens)
        if len(counts) > max(memory // _WORD_BYTES, 1):
            parts.append(_write_part(folder / f"words-{len(parts)}", sorted(counts.items())))
            counts = Counter()
        if len(parts) == _AT_ONCE:
            parts = [_merged_parts(folder / "words", parts)]
    every = distinct = most = 0
    frequent: list[tuple[str, int]] = []
    with ExitStack() as stack:
        for word, n in _summed(counts, [_read_part(part, stack) for part in parts]):
            every, distinct, most = every + n, distinct + 1, max(most, n)
            if n >= min_count:
                frequent.append((word, n))
    _remove(parts)
    if not every:
        raise WordbiasError(f"{corpus.name}: has no words; expected text")
    if not frequent:
        raise WordbiasError(
            f"{corpus.name}: no word occurs {how_many(min_count, 'time')} or more, the most "
            f"frequent one {how_many(most, 'time')}; give more text, or a lower --min-count"
        )
    frequent.sort(key=lambda item: (-item[1], item[0]))
    words, numbers = zip(*frequent[:max_vocab], strict=True)
    return Vocabulary(words, numbers, every, distinct)


def _write_part(path: Path, counts: Iterable[tuple[str, int]]) -> Path:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{word}\t{n}\n" for word, n in counts)
    return path


def _merged_parts(path: Path, parts: Sequence[Path]) -> Path:
    """Merge sorted parts into one, which takes the place of the first."""
    with ExitStack() as stack:
        _write_part(path, _summed({}, [_read_part(part, stack) for part in parts]))
    _remove(parts)
    rename(path, parts[0])
    return parts[0]


def _remove(parts: Iterable[Path]) -> None:
    for part in parts:
        part.unlink()


def _read_part(path: Path, stack: ExitStack) -> Iterator[tuple[str, int]]:
    file = stack.enter_context(path.open(encoding="utf-8", newline="\n"))
    for line in file:
        word, _, n = line.rpartition("\t")
        yield word, int(n)


def _summed(
    counts: Mapping[str, int], parts: Sequence[Iterable[tuple[str, int]]]
) -> Iterator[tuple[str, int]]:
    """Yield the words of several sorted parts and of a dictionary, each once with its total."""
    merged = heapq.merge(sorted(counts.items()), *parts) if parts else counts.items()
    for word, same in groupby(merged, key=itemgetter(0)):
        if word != END:
            yield word, sum(n for _, n in same)
