"""The neutral vocabulary V_t over which bias is averaged."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import cache

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.wordlists import Attribute, resolve

SIZE = 50_000
"""Words, from the most frequent on, that are considered (Dawkins 2021, appendix B)."""


def neutral_vocabulary(
    words: Sequence[str],
    specific: Collection[str],
    *,
    size: int = SIZE,
    strict: bool = False,
) -> list[str]:
    """Choose V_t: frequent words without punctuation and digits, minus the specific ones.

    Parameters
    ----------
    words
        The vocabulary, the most frequent first, as published embeddings have it.
    specific
        Words that carry the attribute by definition, lower-case; compared in lower case.
    size
        Only the first so many words are considered.
    strict
        Use the stricter filter of Gonen and Goldberg (2019): lower-case words of fewer than 20
        characters without digits and punctuation, where the parts of a ``word_with_underscores``
        are looked at one by one.
    """
    keep = _is_strict if strict else _is_plain
    return [word for word in words[:size] if keep(word) and word.lower() not in specific]


def choose_vocabulary(
    embeddings: Sequence[Embedding],
    attribute: Attribute,
    given: Sequence[str] | None = None,
    *,
    strict: bool = False,
) -> list[str]:
    """Choose V_t: the `given` words, or the frequent neutral ones, that all embeddings have.

    Parameters
    ----------
    embeddings
        At least one; the order of the first is that of frequency.
    attribute
        Its specific words are not neutral.
    given
        Words to average over; by default the neutral ones of the common vocabulary.
    strict
        See `neutral_vocabulary`.

    Raises
    ------
    WordbiasError
        If fewer than two words are left.
    """
    names = ", ".join(embedding.name for embedding in embeddings)
    common = embeddings[0].words if len(embeddings) == 1 else common_words(embeddings)
    if given is not None:
        found = resolve(given, frozenset(common), f"{names}: vocabulary")
        return list(found.at_least(2, "give words it has with --vocab FILE").found)
    specific = {word.lower() for word in attribute.specific}
    words = neutral_vocabulary(common, specific, strict=strict)
    if len(words) < 2:
        raise WordbiasError(
            f"{names}: {len(words)} neutral words among the first {SIZE} of {len(common)} common "
            "words; give words with --vocab FILE"
        )
    return words


def common_words(vocabularies: Iterable[Collection[str]]) -> list[str]:
    """Words of the first vocabulary, in its order, that are in all the others as well."""
    first, *others = vocabularies
    return [word for word in first if all(word in other for other in others)]


def _is_plain(word: str) -> bool:
    return word.isalpha() or (bool(word) and all(map(_is_letter, word)))


def _is_strict(word: str) -> bool:
    parts = word.split("_") if "_" in word else [word]
    return len(word) < 20 and word == word.lower() and all(map(_is_plain, parts))


@cache
def _is_letter(character: str) -> bool:
    """Letters and the marks that belong to them; lone surrogates are bytes that were no UTF-8."""
    return unicodedata.category(character)[0] in "LM"
