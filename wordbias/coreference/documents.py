"""Documents with clusters of mentions, whatever file they come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

Span = tuple[int, int]
"""First token, from 0, and the one after the last."""
Clusters = tuple[tuple[Span, ...], ...]


@dataclass(frozen=True)
class Document:
    """One document, or one part of it: the unit in which clusters are numbered.

    Attributes
    ----------
    name
        Name in its file, as `bc/cctv/00/cctv_0000`.
    sentences
        Tokens of each sentence.
    clusters
        Gold or predicted clusters, each of spans of tokens counted over the whole document.
    part
        Number of the part, as the file writes it.
    speakers
        Speaker of each sentence, empty where none is known; nothing if the file names none.
    """

    name: str
    sentences: tuple[tuple[str, ...], ...]
    clusters: Clusters = ()
    part: str = "0"
    speakers: tuple[str, ...] = ()

    @property
    def tokens(self) -> tuple[str, ...]:
        """All tokens, in order."""
        return tuple(token for sentence in self.sentences for token in sentence)

    @property
    def mentions(self) -> frozenset[Span]:
        """Spans of all clusters."""
        return frozenset(span for cluster in self.clusters for span in cluster)

    def sentence_spans(self) -> Iterator[Span]:
        """Yield where each sentence starts and stops."""
        start = 0
        for sentence in self.sentences:
            yield start, start + len(sentence)
            start += len(sentence)
