"""Tokenising: texts to tokens, with truncation and spans of words, and padded batches of them."""

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
from wordbias.models.encoder import Encoder
from wordbias.models.model_like import need_transformers, silent
from wordbias.models.template import Template
from wordbias.progress import progress

Span = tuple[int, int]
"""Characters of a text, from the first up to but without the second."""
Int = NDArray[np.int64]
Places = NDArray[np.intp]
TEXTS_TOGETHER = 512
"""Number of texts in one call of the tokenizer."""


class Lost(NamedTuple):
    """A span without tokens: the place of its text, and the reason."""

    place: int
    reason: str


@dataclass(frozen=True, eq=False)
class Tokens:
    """Tokenised texts, one after the other in a few arrays."""

    # all tokens, text after text, shape `(N,)`: number in the vocabulary, mask of special tokens
    # and those of a template, segment
    ids: NDArray[np.int32]
    special: NDArray[np.bool_]
    types: NDArray[np.int8]
    starts: Int  # place of each text's first token, and the end, shape `(n + 1,)`
    cut: NDArray[np.bool_]  # mask of the texts that were cut, shape `(n,)`
    # first token of each text's span and the one behind its last, shape `(n, 2)`; without spans of
    # the whole text
    ranges: Int
    lost: list[Lost] = field(default_factory=list)  # spans without tokens

    @property
    def lengths(self) -> Int:
        """Number of tokens of each text, shape ``(n,)``."""
        return np.diff(self.starts)

    @classmethod
    def joined(cls, parts: Sequence[Tokens]) -> Tokens:
        """Concatenate tokenised texts."""
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


def tokenise(
    encoder: Encoder,
    texts: Sequence[str],
    spans: Sequence[Span] | None = None,
    *,
    max_length: int | None = None,
    special_tokens: bool = True,
    prompt: str = "",
    template: Template | None = None,
) -> Tokens:
    """Tokenise texts, after a prompt and in a template if there is one."""
    # Of a text that is too long, the text is cut and the template is not. A slow tokenizer does not
    # say what characters a token is of: spans and a template are refused.
    if (spans is not None or template is not None) and not encoder.tokenizer.is_fast:
        raise WordbiasError(
            f"{encoder.name}: its tokenizer is a slow one, which does not say what characters a "
            "token is of; words and templates need a fast one (a tokenizer.json)"
        )
    longest = encoder.max_length if max_length is None else max_length
    if encoder.limit is not None and longest > encoder.limit:
        raise WordbiasError(
            f"{encoder.name}: reads at most {encoder.limit} tokens, got a length of {longest}"
        )
    if longest <= encoder.tokenizer.num_special_tokens_to_add():
        raise WordbiasError(f"texts cut to {longest} tokens have none of their own; allow more")
    tokeniser = _Tokeniser(encoder, longest, special_tokens, prompt, template)
    parts = []
    with progress("tokenising", len(texts), "text") as bar:
        for start in range(0, len(texts), TEXTS_TOGETHER):
            batch = texts[start : start + TEXTS_TOGETHER]
            given = None if spans is None else spans[start : start + TEXTS_TOGETHER]
            parts.append(tokeniser.tokens(batch, given))
            bar.update(len(batch))
    return Tokens.joined(parts)


def prompt_tokens(encoder: Encoder, prompt: str, max_length: int | None = None) -> int:
    """Return the number of tokens of a prompt at the beginning of a text."""
    # A special token behind it, such as [SEP], is not counted.
    ids = tokenise(encoder, [prompt], max_length=max_length).ids
    return len(ids) - (int(ids[-1]) in encoder.tokenizer.all_special_ids)


def token_range(offsets: Sequence[Span], special: Sequence[int], span: Span) -> Span | None:
    """Return the first token that shares a character with a span and the one behind the last."""
    # A token counts as a whole: in "doctors", tokenised as one token, the span of "doctor" has the
    # vector of the whole word.
    start, end = span
    tokens = [
        i
        for i, ((a, b), added) in enumerate(zip(offsets, special, strict=True))
        if max(a, start) < min(b, end) and not added
    ]
    return (tokens[0], tokens[-1] + 1) if tokens else None


@dataclass(frozen=True, eq=False)
class _Tokeniser:
    """The tokenizer of an encoder, with a prompt and a template around each text."""

    encoder: Encoder
    longest: int
    special_tokens: bool
    prompt: str
    template: Template | None

    @property
    def before(self) -> str:
        """Text before every text."""
        return self.prompt + ("" if self.template is None else self.template.before)

    @property
    def after(self) -> str:
        """Text after every text."""
        return "" if self.template is None else self.template.after

    def tokens(self, texts: Sequence[str], spans: Sequence[Span] | None) -> Tokens:
        """Tokenise a few texts; those that have one token too many are cut in a second call."""
        offsets = spans is not None or self.template is not None
        encoded = self._call(texts, self.longest + 1, offsets)
        cut = np.array([len(ids) > self.longest for ids in encoded["input_ids"]], bool)
        ends = [len(self.before) + len(text) for text in texts]
        if cut.any():
            places = np.flatnonzero(cut).tolist()
            long = [texts[i] for i in places]
            shortened = self._shortened(long) if self.template is not None else long
            recoded = self._call(shortened, self.longest, offsets)
            for k, i in enumerate(places):
                for key, values in encoded.items():
                    values[i] = recoded[key][k]
                ends[i] = len(self.before) + len(shortened[k])
                if offsets:
                    ends[i] = min(ends[i], max(end for _, end in recoded["offset_mapping"][k]))
        if self.template is not None:
            self._mark_template(encoded, ends)
        ranges, lost = _ranges(encoded, cut, ends, spans, len(self.before))
        return Tokens(
            _flat(encoded["input_ids"], np.int32),
            _flat(encoded["special_tokens_mask"], bool),
            _flat(encoded["token_type_ids"], np.int8),
            np.cumsum([0, *map(len, encoded["input_ids"])]),
            cut,
            ranges,
            lost,
        )

    def _call(self, texts: Sequence[str], length: int | None, offsets: bool) -> dict[str, Any]:
        """Call the tokenizer; texts are cut to at most `length` tokens."""
        with silent(need_transformers()):
            return dict(
                self.encoder.tokenizer(
                    [f"{self.before}{text}{self.after}" for text in texts],
                    truncation=length is not None,
                    max_length=length,
                    add_special_tokens=self.special_tokens,
                    return_offsets_mapping=offsets,
                    return_special_tokens_mask=True,
                    return_token_type_ids=True,
                    return_attention_mask=False,
                )
            )

    def _shortened(self, texts: Sequence[str]) -> list[str]:
        """Cut texts at their end until they fit into the template, by bisection."""

        def lengths(beginnings: Sequence[str]) -> list[int]:
            return [len(ids) for ids in self._call(beginnings, None, False)["input_ids"]]

        (alone,) = lengths([""])
        if alone >= self.longest:
            raise WordbiasError(
                f"{self.encoder.name}: the template alone has {alone} tokens, and texts are cut to "
                f"{self.longest}; shorten it, or allow more with --max-length"
            )
        fits, not_fits = [0] * len(texts), [len(text) for text in texts]
        while open_ := [i for i in range(len(texts)) if not_fits[i] - fits[i] > 1]:
            middles = [(fits[i] + not_fits[i]) // 2 for i in open_]
            counts = lengths([texts[i][:k] for i, k in zip(open_, middles, strict=True)])
            for i, k, count in zip(open_, middles, counts, strict=True):
                (fits if count <= self.longest else not_fits)[i] = k
        return [text[:k] for text, k in zip(texts, fits, strict=True)]

    def _mark_template(self, encoded: dict[str, Any], ends: Sequence[int]) -> None:
        """Mark the tokens of the template as special: all that share no character with the text."""
        for i, end in enumerate(ends):
            encoded["special_tokens_mask"][i] = [
                int(special or max(a, len(self.before)) >= min(b, end))
                for (a, b), special in zip(
                    encoded["offset_mapping"][i], encoded["special_tokens_mask"][i], strict=True
                )
            ]


def _ranges(
    encoded: dict[str, Any],
    cut: NDArray[np.bool_],
    ends: Sequence[int],
    spans: Sequence[Span] | None,
    before: int,
) -> tuple[Int, list[Lost]]:
    """Return the tokens of each span, shape ``(n, 2)``, and the spans without any."""
    # `ends` are the characters behind the last that is read, `before` the number before each text.
    if spans is None:
        return np.array([(0, len(ids)) for ids in encoded["input_ids"]], np.int64).reshape(
            -1, 2
        ), []
    ranges = np.zeros((len(ends), 2), np.int64)
    lost = []
    for i, (start, end) in enumerate(spans):
        offsets = encoded["offset_mapping"][i]
        span = start + before, end + before
        tokens = token_range(offsets, encoded["special_tokens_mask"][i], span)
        if cut[i] and span[1] > ends[i]:
            lost.append(Lost(i, "is cut off with the end of its text"))
        elif tokens is None:
            lost.append(Lost(i, "has no token"))
        else:
            ranges[i] = tokens
    return ranges, lost


def _flat(values: Sequence[Sequence[int]], dtype: Any) -> NDArray[Any]:
    return np.array([value for part in values for value in part], dtype)


# spans of words


def find_word(text: str, word: str) -> Span | None:
    """Return the span of the first occurrence of a word, whatever its case, or None."""
    # The characters before and behind it are no letter, digit, underscore or combining mark: "man"
    # is not found in "woman", but is in "man's".
    pattern = _pattern(" ".join(word.split()))
    return first_match(pattern, text) if pattern else None


@cache
def _pattern(word: str) -> re.Pattern[str] | None:
    return pattern_of(word, re.IGNORECASE) if word else None


def pattern_of(word: str, flags: re.RegexFlag) -> re.Pattern[str]:
    """Compile a word, with any white space between its parts and no letter or digit around it."""
    parts = r"\s+".join(map(re.escape, word.split()))
    return re.compile(rf"(?<!\w){parts}(?!\w)", flags)


def first_match(pattern: re.Pattern[str], text: str) -> Span | None:
    """Return the first match of a pattern without a combining mark before or behind it."""
    # Such a mark (a single accent, a vowel sign of Devanagari) belongs to the word: "cafe" is not
    # in "cafe" + U+0301.
    match = pattern.search(text)
    while match is not None:
        start, end = match.span()
        if not (_is_mark(text[start - 1 : start]) or _is_mark(text[end : end + 1])):
            return start, end
        match = pattern.search(text, start + 1)
    return None


def _is_mark(character: str) -> bool:
    """Return whether a character is a combining mark."""
    # A variation selector is none: it chooses how a symbol is drawn, and a word may follow the
    # symbol.
    if not character or character.isascii() or unicodedata.category(character)[0] != "M":
        return False
    return not unicodedata.name(character, "").startswith("VARIATION SELECTOR")


# batches


def batched(order: Places, lengths: NDArray[np.int64], budget: int) -> Iterator[Places]:
    """Cut an order of texts, longest first, into batches of at most `budget` tokens."""
    # Padding counts. A text that is longer than the budget is a batch of its own. The longest come
    # first: too little memory shows at once.
    start = 0
    while start < len(order):
        size = max(1, budget // int(lengths[order[start]]))
        yield order[start : start + size]
        start += size


def copies_of(texts: Places, count: int) -> list[Places]:
    """Return the places of the texts that are equal to each distinct one."""
    order = np.argsort(texts, kind="stable")
    return np.split(order, np.searchsorted(texts[order], np.arange(1, count)))


def padded(tokens: Tokens, rows: Places, encoder: Encoder) -> dict[str, NDArray[np.int64]]:
    """Return the model's arguments for some texts, padded on the right, (B, T) each."""
    # A causal model does not see that padding: any token will do, also for a tokenizer that has
    # none or one that the model does not know. It gets no segments: GPT-2 would add the embedding
    # of a word to every token.
    tokenizer = encoder.tokenizer
    lengths = tokens.lengths[rows]
    shape = len(rows), int(lengths.max())
    ids = np.full(shape, 0 if encoder.causal else tokenizer.pad_token_id or 0, np.int64)
    types = np.full(shape, tokenizer.pad_token_type_id, np.int64)
    mask = np.arange(shape[1]) < lengths[:, None]
    picked = np.concatenate([np.arange(tokens.starts[r], tokens.starts[r + 1]) for r in rows])
    ids[mask], types[mask] = tokens.ids[picked], tokens.types[picked]
    inputs = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
    if "token_type_ids" in tokenizer.model_input_names and not encoder.causal:
        inputs["token_type_ids"] = types
    return inputs
