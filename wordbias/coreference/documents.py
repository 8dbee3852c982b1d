"""Documents with clusters of mentions, whatever file they come from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.rendering import how_many

Span = tuple[int, int]
"""First token, from 0, and the one after the last."""
Clusters = tuple[tuple[Span, ...], ...]


@dataclass(frozen=True)
class Document:
    """One document, or one part of it: the unit in which clusters are numbered."""

    name: str
    sentences: tuple[tuple[str, ...], ...]
    # gold or predicted clusters, each of spans of tokens counted over the whole document
    clusters: Clusters = ()
    part: str = "0"  # number of the part, as the file writes it
    # speaker of each sentence, empty where none is known; nothing if the file names none
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


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents, the names of their files, and notes on mentions that were left out."""

    path: str
    documents: Sequence[Document]
    notes: Sequence[str] = ()

    def facts(self) -> dict[str, Any]:
        """Return what `facts` says of the documents, with the names of their files."""
        return {"path": self.path, **facts(self.documents)}

    def matched(self, system: Corpus) -> list[Document]:
        """Return the documents of a system in the order of these."""
        by_name = {_key(document): document for document in system.documents}
        if len(by_name) < len(system.documents):
            keys = [_key(document) for document in system.documents]
            twice = next(key for i, key in enumerate(keys) if key in keys[:i])
            raise WordbiasError(f"{system.path}: has document {_spelled(twice)} twice")
        matched = []
        for gold in self.documents:
            other = by_name.get(_key(gold))
            if other is None:
                raise WordbiasError(
                    f"{system.path}: has no document {_spelled(_key(gold))} of {self.path}; one in "
                    "which nothing was found has no clusters"
                )
            if len(other.tokens) != len(gold.tokens):
                raise WordbiasError(
                    f"{system.path}: document {_spelled(_key(gold))} has {len(other.tokens):,} "
                    f"tokens, and {len(gold.tokens):,} in {self.path}; spans count tokens"
                )
            matched.append(other)
        return matched


def _key(document: Document) -> tuple[str, str]:
    return document.name, document.part.lstrip("0") or "0"


def _spelled(key: tuple[str, str]) -> str:
    return f"{key[0]!r:.60}, part {key[1]}"


def without_singletons(clusters: Clusters) -> Clusters:
    """Leave out clusters of one mention, which the model does not predict."""
    return tuple(cluster for cluster in clusters if len(cluster) > 1)


def check_clusters(documents: Sequence[Document], name: str) -> None:
    """Refuse documents without any cluster of two mentions."""
    if not any(without_singletons(document.clusters) for document in documents):
        raise WordbiasError(
            f"{name}: no cluster of two mentions or more in "
            f"{how_many(len(documents), 'document')}; give documents with gold clusters"
        )


def facts(documents: Sequence[Document]) -> dict[str, Any]:
    """Return the numbers of documents, tokens, mentions and singletons, and a hash of all."""
    digest = hashlib.sha256()
    for hashed in documents:
        clusters = sorted(sorted(cluster) for cluster in hashed.clusters)
        speakers = hashed.speakers if any(hashed.speakers) else ()
        digest.update(json.dumps([hashed.sentences, clusters, speakers]).encode())
    sizes = [len(cluster) for document in documents for cluster in document.clusters]
    return {
        "sha256": digest.hexdigest(),
        "documents": len(documents),
        "tokens": sum(len(document.tokens) for document in documents),
        "mentions": sum(sizes),
        "singletons": sizes.count(1),
    }
