"""Documents as an encoder reads them: word pieces in segments, and the tokens that they are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.coreference.documents import Clusters, Document
from wordbias.errors import WordbiasError
from wordbias.models.encoder import Encoder
from wordbias.models.model_like import need_transformers, silent

Int = NDArray[np.int64]
UNKNOWN = -1
"""Number of a speaker who is not known."""
_ESCAPED = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
    "/.": ".", "/?": "?", "/-": "-",
}  # fmt: skip
"""Tokens as OntoNotes writes them, and what an encoder reads: what was written before."""


@dataclass(frozen=True, eq=False)
class Segmented:
    """A document cut into segments, each of which an encoder reads by itself.

    Shapes: P word pieces and T tokens of the document; special tokens are not counted.
    """

    segments: Sequence[Int]
    first: Int  # first and last piece of each token, shape `(T,)`
    last: Int
    segment: Int  # segment of each token, shape `(T,)`
    sentence_end: Int  # the token after the last of its sentence, for each token, shape `(T,)`
    speaker: Int  # number of the speaker of each token, or `UNKNOWN`, shape `(T,)`
    clusters: Clusters = ()

    @property
    def pieces(self) -> int:
        """Number of word pieces, P."""
        return sum(map(len, self.segments))

    def window(self, start: int, count: int) -> Segmented:
        """Return `count` segments from `start` on, with the mentions that lie in them."""
        among = (start <= self.segment) & (self.segment < start + count)  # (T,)
        (tokens,) = among.nonzero()
        low, high = int(tokens[0]), int(tokens[-1]) + 1
        before = sum(map(len, self.segments[:start]))
        inside = (
            tuple((a - low, b - low) for a, b in cluster if low <= a and b <= high)
            for cluster in self.clusters
        )
        return Segmented(
            self.segments[start : start + count],
            np.maximum(self.first[low:high] - before, 0),
            np.maximum(self.last[low:high] - before, 0),
            self.segment[low:high] - start,
            np.minimum(self.sentence_end[low:high], high) - low,
            self.speaker[low:high],
            tuple(cluster for cluster in inside if cluster),
        )

    def spans(self, width: int) -> tuple[Int, Int]:
        """Return first tokens and ends, (S,), of all spans in a sentence of at most a width."""
        start = np.arange(len(self.first))[:, None]  # (T, 1)
        end = start + np.arange(1, width + 1)  # (T, width)
        real = end <= self.sentence_end[:, None]  # (T, width)
        return np.broadcast_to(start, end.shape)[real], end[real]


class Segmenter:
    """Cuts documents into segments of at most `length` word pieces, special tokens included."""

    tokenizer: Any
    before: list[int]
    after: list[int]
    capacity: int

    def __init__(self, encoder: Encoder, length: int) -> None:
        self.tokenizer = encoder.tokenizer
        if not self.tokenizer.is_fast:
            raise WordbiasError(
                f"{encoder.name}: its tokenizer is a slow one, which does not say what characters "
                "a token is of; coreference needs a fast one (a tokenizer.json)"
            )
        if encoder.limit is not None and length > encoder.limit:
            raise WordbiasError(
                f"--segment-length: {encoder.name} reads at most {encoder.limit} word pieces, got "
                f"{length}"
            )
        plain = self.tokenizer("a", return_special_tokens_mask=True)
        ids, special = plain["input_ids"], plain["special_tokens_mask"]
        own = [i for i, is_special in enumerate(special) if not is_special] or [0]
        self.before, self.after = ids[: own[0]], ids[own[-1] + 1 :]
        self.capacity = length - len(self.before) - len(self.after)
        if self.capacity < 1:
            raise WordbiasError(
                f"--segment-length: {length} word pieces leave none beside special tokens; allow "
                "more"
            )

    def cut(self, document: Document) -> Segmented:
        """Tokenise a document and cut it between sentences, if these are not too long."""
        # A sentence that is longer than a segment is cut between tokens; of a token that is longer
        # only the first pieces are read. A token without pieces, such as a control character, has
        # those of the token before it.
        tokens = document.tokens
        pieces, counts = self._pieces(document.name, tokens)
        lengths = [stop - start for start, stop in document.sentence_spans()]
        sentence_end = np.repeat(np.cumsum(lengths, dtype=np.int64), lengths)
        segment, number, used = np.zeros(len(tokens), np.int64), 0, 0
        for start, stop in document.sentence_spans():
            whole = int(counts[start:stop].sum())
            if used and used + whole > self.capacity:
                number, used = number + 1, 0
            for token in range(start, stop):
                if used and used + counts[token] > self.capacity:
                    number, used = number + 1, 0
                segment[token], used = number, used + int(counts[token])
        ends = np.cumsum(counts)  # (T,)
        last = np.maximum(ends - 1, 0)
        first = np.where(counts > 0, ends - counts, last)
        bounds = np.searchsorted(segment, np.arange(1, number + 1))
        cuts = [0, *(ends[bounds - 1]), len(pieces)]
        speakers = self._speakers(document)
        return Segmented(
            [pieces[a:b] for a, b in pairwise(cuts)],
            first,
            last,
            segment,
            sentence_end,
            np.repeat(speakers, lengths),
            document.clusters,
        )

    def _pieces(self, name: str, tokens: Sequence[str]) -> tuple[Int, Int]:
        """Return the pieces of all tokens, shape ``(P,)``, and how many each has, ``(T,)``."""
        read = [_ESCAPED.get(token, token) for token in tokens]
        text = " ".join(read)
        starts = np.cumsum([0, *(len(token) + 1 for token in read)])  # (T + 1,)
        with silent(need_transformers()):
            encoding = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        ids = np.array(encoding["input_ids"], np.int64)
        ends = np.array([end for _, end in encoding["offset_mapping"]], np.int64)  # (P,)
        if not len(ids):
            raise WordbiasError(
                f"document {name!r:.60}: has no token that the model can read; leave it out"
            )
        token = np.searchsorted(starts, np.maximum(ends - 1, 0), side="right") - 1  # (P,)
        counts = np.bincount(token, minlength=len(tokens))
        within = np.arange(len(ids)) - np.repeat(np.cumsum(counts) - counts, counts)
        return ids[within < self.capacity], np.minimum(counts, self.capacity)

    @staticmethod
    def _speakers(document: Document) -> Int:
        """Return the number of each sentence's speaker, shape ``(sentences,)``."""
        names = document.speakers or ("",) * len(document.sentences)
        numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
        return np.array([numbers[name] if name else UNKNOWN for name in names], np.int64)
