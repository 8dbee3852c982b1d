"""What methods look up by word: the attribute, and every spelling of the words it lists."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.wordlists import Attribute


def as_attribute(attribute: Attribute | str | Path | None) -> Attribute:
    """Return an attribute, read from a file if it is one's name; by default gender."""
    return attribute if isinstance(attribute, Attribute) else Attribute.load(attribute)


def as_embedding(embedding: object) -> Embedding:
    """Return the embedding, or say what was given instead."""
    if isinstance(embedding, Embedding):
        return embedding
    raise WordbiasError(
        f"expected an Embedding, got {type(embedding).__name__}; Embedding.load(path) reads one"
    )


def spellings(words: Iterable[str]) -> set[str]:
    """Return words as written, in lower case, Capitalised and in UPPER CASE."""
    return {
        form for word in words for form in (word, word.lower(), word.capitalize(), word.upper())
    }


def listed_words(attribute: Attribute) -> set[str]:
    """Return every spelling of every word of an attribute."""
    pairs = [*attribute.pairs, *attribute.equalise, attribute.direction or ()]
    groups = [*attribute.members, *pairs, attribute.specific]
    return spellings(word for group in groups for word in group)
