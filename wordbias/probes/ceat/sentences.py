"""Sentences of CEAT's words, in a file of any size in one pass, and the words' vectors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import heappush, heappushpop
from pathlib import Path
from typing import NamedTuple

from wordbias.columns import Column, choose_column, open_table
from wordbias.errors import WordbiasError
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import EncodingJob, Settings
from wordbias.models.representations import Representations, removals_in
from wordbias.models.texts import TextsLike
from wordbias.models.tokenising import first_match, pattern_of
from wordbias.progress import progress

PER_WORD = 1_000
_OFTEN = 1 << 14
"""Lines between two updates of the progress bar."""
_WORD = re.compile(r"\w+")
_SIDE = 4
_WINDOW = 2 * _SIDE + 1


class Occurrence(NamedTuple):
    """The first occurrence of `word` in a text: characters from `start` up to but without `end`."""

    word: str
    start: int
    end: int


def can_be_found(word: str) -> bool:
    """Return whether a word has a letter or a digit."""
    return bool(_WORD.search(word.lower()))


class Scanner:
    """Scanner that finds many words in a text, each of one word or several (`New York`)."""

    # A word is found where no letter, digit or underscore is before or behind it, nor an accent
    # that is a character of its own: "he" is not in "teacher", but is in "he's". A word written
    # with a capital (Bill, NASA) is found only so; one without (bill) in any case. A text's words
    # are looked up in a table of all words, which costs the same for three words as for three
    # hundred.

    def __init__(self, words: Iterable[str]) -> None:
        self._patterns: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
        for word in dict.fromkeys(words):
            if not can_be_found(word):
                raise WordbiasError(f"the word {word!r} has neither a letter nor a digit")
            pattern = pattern_of(word, re.IGNORECASE if word == word.lower() else re.NOFLAG)
            self._patterns.setdefault(_WORD.findall(word.lower())[0], []).append((word, pattern))
        self._first = frozenset(self._patterns)

    def __call__(self, text: str) -> Iterator[Occurrence]:
        """Yield the first occurrence of every word that is in the text."""
        for first in self._first.intersection(_WORD.findall(text.lower())):
            for word, pattern in self._patterns[first]:
                if span := first_match(pattern, text):
                    yield Occurrence(word, *span)


class Context(NamedTuple):
    """A sentence and the characters of a word in it, from `start` up to but without `end`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences found of each word."""

    # distinct sentences of every word, in the order of their hashes
    contexts: Mapping[str, tuple[Context, ...]] = field(repr=False)
    # number of sentences with each word, repeated ones too
    seen: Mapping[str, int] = field(repr=False)
    lines: int  # number of sentences that were scanned


def find_sentences(
    texts: Iterable[str],
    words: Iterable[str],
    *,
    per_word: int = PER_WORD,
    seed: int = 0,
    what: str = "the sentences",
) -> Sentences:
    """Find the sentences of words, of each a uniform sample of distinct ones."""
    # Those whose keyed hash is smallest are kept (a bottom-k sample; Broder 1997). Equal sentences
    # have equal hashes: a sentence that occurs a thousand times counts once; and neither the order
    # of the file nor its length changes the sample or the memory.
    if per_word < 1:
        raise WordbiasError(f"{per_word} sentences of a word: expected at least 1")
    wanted = list(dict.fromkeys(words))
    scan, samples = Scanner(wanted), {word: _Smallest(per_word, seed, word) for word in wanted}
    lines = 0
    for text in texts:
        lines += 1
        if not isinstance(text, str):
            raise WordbiasError(f"{what}: {lines:,}: expected a text, got {type(text).__name__}")
        for occurrence in scan(text):
            samples[occurrence.word].offer(text, occurrence)
    if not any(sample.seen for sample in samples.values()):
        raise WordbiasError(f"{what}: none of {lines:,} has any of the {len(wanted)} words")
    return Sentences(
        {word: sample.contexts() for word, sample in samples.items()},
        {word: sample.seen for word, sample in samples.items()},
        lines,
    )


def read_sentences(source: TextsLike, column: str | None = None) -> Iterator[str]:
    """Yield the sentences of a file, .gz, .bz2 and .xz too, or of a list or columns in memory."""
    opened, name = open_table(source, "sentences"), ""
    if opened.plain and column is not None:
        raise WordbiasError(f"{opened.name}: {opened.plain}")
    with progress(f"reading {Path(opened.name).name}", unit="line") as bar:
        for i, line in enumerate(opened.lines):
            if not (name or line.problem):
                name = choose_column(opened.name, list(line.cells), column, what="the sentences")
            if problem := line.problem or line.lacks(name):
                raise WordbiasError(
                    f"{opened.name}: {opened.unit} {line.number}: {problem}; mend or remove it"
                )
            yield line.cells[name].strip()
            if i % _OFTEN == _OFTEN - 1:
                bar.update(_OFTEN)
    if not name:
        raise WordbiasError(f"{opened.name}: holds no sentence")


class _Smallest:
    """Sentences with the smallest hashes."""

    def __init__(self, count: int, seed: int, word: str) -> None:
        self.seen = 0
        self._count = count
        self._key = blake2b(f"{seed} {word}".encode(), digest_size=32).digest()
        self._heap: list[tuple[int, Context]] = []  # negative hashes, the largest hash first
        self._hashes: set[int] = set()

    def offer(self, text: str, occurrence: Occurrence) -> None:
        """Keep a sentence if its hash is among the smallest."""
        self.seen += 1
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=self._key)
        value = -int.from_bytes(digest.digest(), "big")
        is_full = len(self._heap) == self._count
        if value in self._hashes or (is_full and value < self._heap[0][0]):
            return
        item = value, Context(text, occurrence.start, occurrence.end)
        self._hashes.add(value)
        if is_full:
            self._hashes.discard(heappushpop(self._heap, item)[0])
        else:
            heappush(self._heap, item)

    def contexts(self) -> tuple[Context, ...]:
        """Return the sentences that were kept, the smallest hash first."""
        return tuple(context for _, context in sorted(self._heap, reverse=True))


def published_window(context: Context) -> Context:
    """Cut a sentence as the released code of CEAT does; punctuation becomes space there."""
    # A sentence of nine words or more is cut to its first nine if fewer than four are before the
    # target, else to its last nine if fewer than four are behind it. Else it is cut to the four
    # before it, the target, and three behind it. These are eight words, not nine, as the fourth
    # behind is left out by mistake.
    spans = [match.span() for match in _WORD.finditer(context.text)]
    first = next(i for i, (_, end) in enumerate(spans) if end > context.start)
    count = sum(context.start < end and start < context.end for start, end in spans)
    window = slice(0, len(spans))
    if len(spans) >= _WINDOW:
        if first < _SIDE:
            window = slice(0, _WINDOW)
        elif len(spans) - first - count < _SIDE:
            window = slice(len(spans) - _WINDOW, len(spans))
        else:
            window = slice(first - _SIDE, first + _SIDE)
    words = [context.text[start:end] for start, end in spans]
    before = " ".join(words[window.start : first])
    target = " ".join(words[first : first + count])
    start = len(before) + bool(before)
    return Context(" ".join(words[window]), start, start + len(target))


# vectors of words in their sentences

COLUMN = "word"
"""Column of representations that says whose context a vector is."""


@dataclass(frozen=True)
class ContextSettings:
    """Settings of the vector of a word in its sentence."""

    layers: tuple[int, ...] | None = None  # layers, by default the last; 0 is the input embeddings
    # vector of a word of several tokens: their `mean`, the `first` or the `last`. By default the
    # last of a causal model, the mean of another.
    subword: str | None = None
    # let the model see [CLS], [SEP] and the like, as it did in training
    special_tokens: bool = True
    window: bool = False  # cut the sentence as the released code does, see `published_window`
    # tokens that a sentence is cut to; by default what the model allows, at most 512
    max_length: int | None = None
    # text with one `{}` that each sentence is put into, or `chat`; empty without one
    template: str = ""


AS_PUBLISHED = ContextSettings(subword="last", special_tokens=False, window=True)
"""Settings of the released code of CEAT for BERT."""


class Encoded(NamedTuple):
    """Vectors of words in context."""

    representations: Representations  # the vectors, with a column `word`
    # number of contexts left out because the word was cut off with the end of a sentence too long
    # for the model
    lost: int
    truncated: int  # number of sentences that were cut behind the word
    first: int  # number of contexts with nothing but the template before the word


def encode_contexts(
    encoder: Encoder, sentences: Sentences, settings: ContextSettings | None = None
) -> Encoded:
    """Encode every word in each of its sentences, once for all queries."""
    chosen = settings or ContextSettings()
    how = Settings(
        (encoder.layers,) if chosen.layers is None else chosen.layers,
        "word",
        chosen.subword,
        "seen" if chosen.special_tokens else "none",
        chosen.max_length,
        template=chosen.template,
    )
    pairs = [
        (word, published_window(context) if chosen.window else context)
        for word, contexts in sentences.contexts.items()
        for context in contexts
    ]
    job = _job(encoder, pairs, how)
    lost = job.lost()
    if lost:
        pairs = [pair for i, pair in enumerate(pairs) if i not in lost]
        if not pairs:
            raise WordbiasError(f"{encoder.name}: no word is within the tokens that are read")
        job = _job(encoder, pairs, how)
    vectors = job.vectors()
    about = {
        "model": encoder.name,
        "weights_sha256": encoder.sha256(),
        "precision": encoder.precision,
        **job.settings.to_dict(),
        "window": "published" if chosen.window else "whole sentence",
        "truncated": job.truncated,
        **removals_in(encoder.model),
    }
    columns = {COLUMN: Column.of(word for word, _ in pairs)}
    representations = Representations(
        vectors, job.settings.layers or (), columns, about, Path(encoder.name).name
    )
    first = sum(not context.text[: context.start].strip() for _, context in pairs)
    return Encoded(representations, len(lost), job.truncated, first)


def _job(encoder: Encoder, pairs: Sequence[tuple[str, Context]], how: Settings) -> EncodingJob:
    texts = [context.text for _, context in pairs]
    spans = [(context.start, context.end) for _, context in pairs]
    return EncodingJob.of(encoder, texts, spans, how)
