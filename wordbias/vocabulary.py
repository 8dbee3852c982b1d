"""Neutral vocabulary V_t, over which bias is averaged."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.resources import located
from wordbias.wordlists import Attribute, resolve, wordlist
from wordbias.wordlists.toml import read_text

PUBLISHED = "published"
"""Name of the vocabulary of Dawkins (2021), which leaves out `published_specific`."""
BOLUKBASI = "bolukbasi-lists"
GN_GLOVE = "gn-glove-lists"
SIZE = 50_000
"""Number of the most frequent words that are considered (Dawkins 2021, appendix B)."""


def neutral_vocabulary(
    words: Sequence[str],
    specific: Collection[str],
    *,
    size: int = SIZE,
    strict: bool = False,
) -> list[str]:
    """Choose V_t: frequent words without punctuation and digits, minus the specific ones."""
    # As in published embeddings, the most frequent word is first. `strict` is the filter of Gonen
    # and Goldberg (2019): lower-case words of fewer than 20 characters without digits and
    # punctuation, checked for each part of a word_with_underscores.
    keep = _is_strict if strict else _is_plain
    return [word for word in words[:size] if keep(word) and word.lower() not in specific]


def choose_vocabulary(
    embeddings: Sequence[Embedding],
    attribute: Attribute,
    given: Sequence[str] | None = None,
    *,
    strict: bool = False,
    specific: Collection[str] | None = None,
) -> list[str]:
    """Choose V_t: the `given` words, or the frequent neutral ones, that all embeddings have."""
    # The words of the first embedding are in order of frequency. `specific` takes the place of the
    # attribute's specific words.
    names = ", ".join(embedding.name for embedding in embeddings)
    common = embeddings[0].words if len(embeddings) == 1 else common_words(embeddings)
    if given is not None:
        resolved = resolve(given, frozenset(common), f"{names}: vocabulary")
        return list(resolved.at_least(2, "give words it has with --vocab FILE").found)
    not_neutral = {word.lower() for word in (attribute.specific if specific is None else specific)}
    words = neutral_vocabulary(common, not_neutral, strict=strict)
    if len(words) < 2:
        raise WordbiasError(
            f"{names}: {len(words)} neutral words among the first {SIZE} of {len(common)} common "
            "words; give words with --vocab FILE"
        )
    return words


def published_specific() -> frozenset[str]:
    """Return V_s of Dawkins (2021, appendix B), 1,622 words, from the fetched lists."""
    # They are the gender-specific words of Bolukbasi et al. (2016) and both lists of GN-GloVe (Zhao
    # et al. 2018).
    bolukbasi = Path(located(BOLUKBASI)) / "gender_specific_full.json"
    anew = f"fetch it anew: wordbias fetch {BOLUKBASI} --again"
    try:
        words = json.loads(read_text(bolukbasi))
    except ValueError as error:
        raise WordbiasError(f"{bolukbasi}: not valid JSON ({error}); {anew}") from None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise WordbiasError(f"{bolukbasi}: expected a list of words in JSON; {anew}")
    gn_glove = Path(located(GN_GLOVE))
    files = [gn_glove / f"{group}_word_file.txt" for group in ("female", "male")]
    return frozenset(words).union(*map(wordlist, files))


def common_words(vocabularies: Iterable[Collection[str]]) -> list[str]:
    """Return the words of the first vocabulary, in its order, that are in all the others."""
    first, *others = vocabularies
    return [word for word in first if all(word in other for other in others)]


def _is_plain(word: str) -> bool:
    return word.isalpha() or (bool(word) and all(map(_is_letter, word)))


def _is_strict(word: str) -> bool:
    parts = word.split("_") if "_" in word else [word]
    return len(word) < 20 and word == word.lower() and all(map(_is_plain, parts))


@cache
def _is_letter(character: str) -> bool:
    """Return whether a character is a letter or a mark on one; not a lone surrogate."""
    return unicodedata.category(character)[0] in "LM"
