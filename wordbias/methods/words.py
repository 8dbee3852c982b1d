"""What methods look up by word: the attribute, and every spelling of the words it lists."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.wordlists import Attribute, WordGroups, load_attribute
from wordbias.wordlists.attribute import more_than_two


def as_attribute(attribute: Attribute | WordGroups | str | Path | None) -> Attribute:
    """Return an attribute of two groups, by name or from a file; by default gender.

    Raises
    ------
    WordbiasError
        If it is none, or has more than two groups.
    """
    found = as_groups(attribute)
    if isinstance(found, WordGroups):
        raise more_than_two(found)
    return found


def as_groups(attribute: Attribute | WordGroups | str | Path | None) -> Attribute | WordGroups:
    """Return an attribute of however many groups, by name or from a file; by default gender."""
    if isinstance(attribute, WordGroups):
        return Attribute.of(attribute) if len(attribute.groups) == 2 else attribute
    if not isinstance(attribute, (Attribute, str, Path, type(None))):
        raise WordbiasError(
            f"expected an Attribute or a TOML file with one, got {type(attribute).__name__}"
        )
    return attribute if isinstance(attribute, Attribute) else load_attribute(attribute)


def as_embedding(embedding: object) -> Embedding:
    """Return the embedding, or say what was given instead."""
    if isinstance(embedding, Embedding):
        return embedding
    raise WordbiasError(
        f"expected an Embedding, got {type(embedding).__name__}; Embedding.load(path) reads one"
    )


def spellings(words: Iterable[str]) -> set[str]:
    """Return words as written and in lower case, Capitalised, Title-Case and UPPER CASE."""
    forms = (str, str.lower, str.capitalize, str.title, str.upper)
    return {form(word) for word in words for form in forms}


def listed_words(attribute: Attribute | WordGroups) -> set[str]:
    """Return every spelling of every word of an attribute."""
    pairs: list[tuple[str, ...]]
    if isinstance(attribute, Attribute):
        pairs = [*attribute.pairs, *attribute.equalise, attribute.direction or ()]
    else:
        pairs = [*attribute.definitional, *attribute.equalise, *attribute.wider]
    groups = [*attribute.members, *pairs, attribute.specific]
    return spellings(word for group in groups for word in group)
