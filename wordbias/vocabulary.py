"""The neutral vocabulary V_t over which bias is averaged."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import cache

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
