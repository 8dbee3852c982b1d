"""Texts to tokens: truncated knowingly, with the tokens that a span of characters falls on.

Tokenised texts, side by side in a few arrays.

Where a word stands in a text: characters from the first up to but without the second.

Batches of tokenised texts: of like length, padded, the longest first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.pretrained import need_transformers, silent
from wordbias.probes.encoder import Encoder
from wordbias.progress import progress

Span = tuple[int, int]
"""Characters of a text, from the first up to but without the second."""
Int = NDArray[np.int64]


class Lost(NamedTuple):
    """A span without tokens: its place among the texts, and why."""

    place: int
    reason: str


@dataclass(frozen=True, eq=False)
class Tokens:
    """Tokenised texts.

    Attributes
    ----------
    ids, special, types
        Of all tokens, text after text, shape ``(N,)``: numbers in the vocabulary, whether it was
        added by the tokenizer, segment.
    starts
        Where each text begins among them, and the end, shape ``(n + 1,)``.
    cut
        Which texts were cut, shape ``(n,)``.
    ranges
        First and behind the last token of each text's span, shape ``(n, 2)``; without spans the
        whole text.
    lost
        Spans that no token is left of.
    """

    ids: NDArray[np.int32]
    special: NDArray[np.bool_]
    types: NDArray[np.int8]
    starts: Int
    cut: NDArray[np.bool_]
    ranges: Int
    lost: list[Lost] = field(default_factory=list)

    @property
    def lengths(self) -> Int:
        """Tokens of each text, shape ``(n,)``."""
        return np.diff(self.starts)

    @classmethod
    def joined(cls, parts: Sequence[Tokens]) -> Tokens:
        """Put tokenised texts one after the other."""
        lengths = np.concatenate([part.lengths for part in parts])
        places = np.cumsum([0, *(len(part.cut) for part in parts)])
        return cls(
            np.concatenate([part.ids for part in parts]),
            np.concatenate([part.special for part in parts]),
            np.concatenate([part.types for part in parts]),
            np.cumsum([0, *lengths]),
            np.concatenate([part.cut for part in parts]),
            np.concatenate([part.ranges for part in parts]),
            [
                Lost(int(start) + lost.place, lost.reason)
                for start, part in zip(places, parts, strict=False)
                for lost in part.lost
            ],
        )


TEXTS_TOGETHER = 512
"""Texts that the tokenizer is given at a time."""


def tokenise(
    encoder: Encoder,
    texts: Sequence[str],
    spans: Sequence[Span] | None = None,
    *,
    max_length: int | None = None,
    special_tokens: bool = True,
) -> Tokens:
    """Tokenise texts.

    Parameters
    ----------
    spans
        One for each text, if words in the texts are meant.
    max_length
        Tokens that a text is cut to, special ones included; by default the encoder's.
    special_tokens
        Let the tokenizer add its special tokens, such as [CLS] and [SEP].

    Raises
    ------
    WordbiasError
        If the model cannot read texts of that length, or spans are given and the tokenizer is a
        slow one, which does not say what characters a token is of.
    """
    longest = _checked(encoder, max_length, spans is not None)
    parts = []
    with progress("tokenising", len(texts), "text") as bar:
        for chunk in _chunks(len(texts)):
            given = None if spans is None else spans[chunk]
            parts.append(_part(encoder, texts[chunk], given, longest, special_tokens))
            bar.update(len(texts[chunk]))
    return Tokens.joined(parts)


def prompt_tokens(encoder: Encoder, prompt: str, max_length: int | None = None) -> int:
    """Return how many tokens a prompt makes at the beginning of a text.

    A special token behind it, such as [SEP], is none of them.
    """
    ids = tokenise(encoder, [prompt], max_length=max_length).ids
    return len(ids) - (int(ids[-1]) in encoder.tokenizer.all_special_ids)


def token_range(offsets: Sequence[Span], special: Sequence[int], span: Span) -> Span | None:
    """Return the first token that shares a character with a span and the one behind the last.

    None if there is none. A token is more than its share: of `doctors`, tokenised whole, the span
    of `doctor` has the vector of the whole.
    """
    start, end = span
    found = [
        i
        for i, ((a, b), added) in enumerate(zip(offsets, special, strict=True))
        if max(a, start) < min(b, end) and not added
    ]
    return (found[0], found[-1] + 1) if found else None


def _checked(encoder: Encoder, max_length: int | None, with_spans: bool) -> int:
    if with_spans and not encoder.tokenizer.is_fast:
        raise WordbiasError(
            f"{encoder.name}: its tokenizer is a slow one, which does not say what characters a "
            "token is of; words need a fast one (a tokenizer.json)"
        )
    longest = encoder.max_length if max_length is None else max_length
    if encoder.limit is not None and longest > encoder.limit:
        raise WordbiasError(
            f"{encoder.name}: reads at most {encoder.limit} tokens, {longest} were asked for"
        )
    if longest <= encoder.tokenizer.num_special_tokens_to_add():
        raise WordbiasError(f"texts cut to {longest} tokens have none of their own; allow more")
    return longest


def _chunks(count: int) -> Iterator[slice]:
    yield from (slice(i, min(i + TEXTS_TOGETHER, count)) for i in range(0, count, TEXTS_TOGETHER))


def _part(
    encoder: Encoder,
    texts: Sequence[str],
    spans: Sequence[Span] | None,
    longest: int,
    special_tokens: bool,
) -> Tokens:
    """Tokenise a few texts; those that have one token too many are cut in a second call."""
    how = {"add_special_tokens": special_tokens, "return_offsets_mapping": spans is not None}
    found = _called(encoder, texts, longest + 1, how)
    cut = np.array([len(ids) > longest for ids in found["input_ids"]], bool)
    if cut.any():
        long = [text for text, too_long in zip(texts, cut, strict=True) if too_long]
        again = _called(encoder, long, longest, how)
        for k, place in enumerate(np.flatnonzero(cut)):
            for key, values in found.items():
                values[place] = again[key][k]
    ranges, lost = _ranges(found, cut, spans)
    return Tokens(
        _flat(found["input_ids"], np.int32),
        _flat(found["special_tokens_mask"], bool),
        _flat(found["token_type_ids"], np.int8),
        np.cumsum([0, *map(len, found["input_ids"])]),
        cut,
        ranges,
        lost,
    )


def _called(
    encoder: Encoder, texts: Sequence[str], length: int, how: dict[str, bool]
) -> dict[str, list[Any]]:
    """Call the tokenizer; texts have at most `length` tokens."""
    with silent(need_transformers()):
        return dict(
            encoder.tokenizer(
                list(texts),
                truncation=True,
                max_length=length,
                return_special_tokens_mask=True,
                return_token_type_ids=True,
                return_attention_mask=False,
                **how,
            )
        )


def _ranges(
    found: dict[str, list[Any]], cut: NDArray[np.bool_], spans: Sequence[Span] | None
) -> tuple[Int, list[Lost]]:
    if spans is None:
        return np.array([(0, len(ids)) for ids in found["input_ids"]], np.int64).reshape(-1, 2), []
    ranges = np.zeros((len(cut), 2), np.int64)
    lost = []
    for i, span in enumerate(spans):
        offsets = found["offset_mapping"][i]
        tokens = token_range(offsets, found["special_tokens_mask"][i], span)
        if cut[i] and span[1] > max(end for _, end in offsets):
            lost.append(Lost(i, "is cut off with the end of its text"))
        elif tokens is None:
            lost.append(Lost(i, "has no token"))
        else:
            ranges[i] = tokens
    return ranges, lost


def _flat(values: Sequence[Sequence[int]], dtype: Any) -> NDArray[Any]:
    return np.array([value for part in values for value in part], dtype)


def find_word(text: str, word: str) -> Span | None:
    """Return the span of the first occurrence of a word, whatever its case; None if there is none.

    What stands before and behind it is no letter, digit, underscore or combining mark, so that
    `man` is not found in `woman`, but is in `man's`. A word may consist of several, as `New York`.
    """
    pattern = _pattern(" ".join(word.split()))
    return first_match(pattern, text) if pattern else None


@cache
def _pattern(word: str) -> re.Pattern[str] | None:
    return pattern_of(word, re.IGNORECASE) if word else None


def pattern_of(word: str, flags: re.RegexFlag) -> re.Pattern[str]:
    """Compile a word, its parts apart by any white space, with no letter or digit around it."""
    parts = r"\s+".join(map(re.escape, word.split()))
    return re.compile(rf"(?<!\w){parts}(?!\w)", flags)


def first_match(pattern: re.Pattern[str], text: str) -> Span | None:
    """Return where a pattern first matches without a combining mark before or behind it.

    Such a mark (an accent by itself, a vowel sign of Devanagari) belongs to the word it stands in:
    `cafe` is not in `cafe` + U+0301.
    """
    found = pattern.search(text)
    while found is not None:
        start, end = found.span()
        if not (_is_mark(text[start - 1 : start]) or _is_mark(text[end : end + 1])):
            return start, end
        found = pattern.search(text, start + 1)
    return None


def _is_mark(character: str) -> bool:
    """Say whether a character is a combining mark.

    A variation selector is none: it chooses how a symbol is drawn, behind which a word may stand.
    """
    if not character or character.isascii() or unicodedata.category(character)[0] != "M":
        return False
    return not unicodedata.name(character, "").startswith("VARIATION SELECTOR")


Places = NDArray[np.intp]


def batched(order: Places, lengths: NDArray[np.int64], budget: int) -> Iterator[Places]:
    """Cut an order of texts, longest first, into batches of at most `budget` tokens.

    Padding counts. A text that alone is longer than the budget is a batch of its own. The longest
    come first, so that memory that does not suffice is known at once.
    """
    start = 0
    while start < len(order):
        size = max(1, budget // int(lengths[order[start]]))
        yield order[start : start + size]
        start += size


def copies_of(texts: Places, count: int) -> list[Places]:
    """Return the places of the texts that are equal to each distinct one."""
    order = np.argsort(texts, kind="stable")
    return np.split(order, np.searchsorted(texts[order], np.arange(1, count)))


def padded(tokens: Tokens, rows: Places, tokenizer: Any) -> dict[str, NDArray[np.int64]]:
    """Return the model's arguments for some texts, padded on the right, shape ``(B, T)`` each."""
    lengths = tokens.lengths[rows]
    shape = len(rows), int(lengths.max())
    ids = np.full(shape, tokenizer.pad_token_id or 0, np.int64)
    types = np.full(shape, tokenizer.pad_token_type_id, np.int64)
    mask = np.arange(shape[1]) < lengths[:, None]
    picked = np.concatenate([np.arange(tokens.starts[r], tokens.starts[r + 1]) for r in rows])
    ids[mask], types[mask] = tokens.ids[picked], tokens.types[picked]
    inputs = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
    if "token_type_ids" in tokenizer.model_input_names:
        inputs["token_type_ids"] = types
    return inputs
