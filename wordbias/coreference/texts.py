"""Texts as documents for a coreference system, and the clusters that it found as places in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wordbias.coreference.documents import Clusters, Document, Span
from wordbias.errors import WordbiasError
from wordbias.stereotypes.winobias import tokens

_ENDS = frozenset(".!?")


def text_document(name: str, text: str) -> Document:
    """Split a text into words and sentences; a sentence ends at a mark before a capital letter."""
    sentences: list[tuple[str, ...]] = []
    words: list[str] = []
    for word, (start, _) in tokens(text):
        if words and words[-1] in _ENDS and text[start - 1].isspace() and word[0].isupper():
            sentences.append(tuple(words))
            words = []
        words.append(word)
    return Document(name, (*sentences, tuple(words)) if words else tuple(sentences))


def found_clusters(
    documents: Iterable[Document], texts: Sequence[tuple[str, str]], path: str
) -> list[Clusters]:
    """Return a system's clusters in texts, as characters of each; documents are found by name."""
    by_name: dict[str, Document] = {}
    for document in documents:
        if document.name in by_name:
            raise WordbiasError(f"{path}: has two documents {document.name!r:.60}")
        by_name[document.name] = document
    if missing := [name for name, _ in texts if name not in by_name]:
        others = f", nor {len(missing) - 1:,} others" if len(missing) > 1 else ""
        raise WordbiasError(
            f"{path}: has no document {missing[0]!r:.60}{others}; one in which nothing was found "
            "has no clusters"
        )
    return [_character_clusters(by_name[name], text, path) for name, text in texts]


def _character_clusters(document: Document, text: str, path: str) -> Clusters:
    """Return the clusters of a document as characters, however it is split into tokens."""
    spans: list[Span] = []
    place = 0
    for number, token in enumerate(document.tokens):
        start = place + len(text[place:]) - len(text[place:].lstrip())
        if not text.startswith(token, start):
            raise WordbiasError(
                f"{path}: document {document.name}: token {number}, {token!r:.40}: expected the "
                f"text, which goes on with {text[start : start + 20]!r}; let the system read what "
                "--sentences writes"
            )
        place = start + len(token)
        spans.append((start, place))
    return tuple(
        tuple((spans[start][0], spans[end - 1][1]) for start, end in cluster)
        for cluster in document.clusters
    )
