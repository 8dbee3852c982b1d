"""Which of the words that a test set asks about an embedding has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.nli.lexicon import Lexicon
from wordbias.nli.test_sets import TestSet
from wordbias.nli.tokens import tokenise

_SHOWN = 5


def missing_fillers(
    embedding: Embedding, test: TestSet, *, lower: bool | None = None
) -> tuple[str, ...]:
    """Return the words that sentences are about, of which an embedding lacks some part.

    Parameters
    ----------
    lower
        Whether they are looked up in lower case; by default if the embedding's words are.
    """
    fillers = dict.fromkeys(filler.word for filler in (*test.premises, *test.hypotheses))
    parts = {word: tuple(tokenise(word)) for word in fillers}
    lexicon = Lexicon.of(list(parts.values()))
    found = lexicon.table(embedding, lower=lower).found
    known = {token for token, has in zip(lexicon.tokens, found, strict=True) if has}
    return tuple(word for word, tokens in parts.items() if not known.issuperset(tokens))


def check_fillers(embedding: Embedding, test: TestSet, *, lower: bool | None = None) -> None:
    """Refuse an embedding that lacks a word asked about: it would be asked of a random vector.

    Raises
    ------
    WordbiasError
        Naming the first ones.
    """
    if reason := why_not_whole(embedding, test, lower=lower):
        raise WordbiasError(f"{embedding.name} {reason}; {_remedy(test)}")


def why_not_whole(embedding: Embedding, test: TestSet, *, lower: bool | None = None) -> str:
    """Say which words asked about an embedding lacks, or nothing where it has them all."""
    missing = missing_fillers(embedding, test, lower=lower)
    total = len({filler.word for filler in (*test.premises, *test.hypotheses)})
    said = f"lacks {len(missing)} of {total} words that the set {test.name} asks about"
    return f"{said} ({listed(missing)})" if missing else ""


def known_part(embedding: Embedding, test: TestSet, *, lower: bool | None = None) -> TestSet:
    """Leave out the words asked about, of the hypotheses, that an embedding lacks.

    Not for the published sets, whose numbers compare only if all words are there.

    Raises
    ------
    WordbiasError
        If no word of a group, or none of a kind, is left.
    """
    if reason := why_no_part(embedding, test, lower=lower):
        raise WordbiasError(f"{embedding.name} {reason}; {_remedy(test)}")
    missing = missing_fillers(embedding, test, lower=lower)
    return replace(test, hypotheses=[one for one in test.hypotheses if one.word not in missing])


def why_no_part(embedding: Embedding, test: TestSet, *, lower: bool | None = None) -> str:
    """Say of which group an embedding lacks every word of a kind, or nothing if of none."""
    missing = missing_fillers(embedding, test, lower=lower)
    whole = {(one.kind, one.group) for one in test.hypotheses}
    kept = {(one.kind, one.group) for one in test.hypotheses if one.word not in missing}
    for kind, group in sorted(whole - kept):
        return f"lacks every {kind} of {group} that the set {test.name} asks about"
    return ""


def _remedy(test: TestSet) -> str:
    """Say what to do; of occupations' parity there is no other set."""
    if test.name == "parity":
        return "give vectors that have them, or lists without them (--lists)"
    return "give vectors that have them, or take another set (wordbias mab-eval --set)"


def listed(words: Sequence[str]) -> str:
    """Name the first few words."""
    return ", ".join(words[:_SHOWN]) + (", …" if len(words) > _SHOWN else "")
