"""Sentences of WinoBias for probing: pronouns masked, the place of each profession beside."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from wordbias.outcomes.winobias.clusters import tokens
from wordbias.outcomes.winobias.sentences import PRO, PRONOUNS, Sentence

COLUMNS = ("text", "start", "end", "profession", "gender", "role", "type", "split")
_PRONOUN = re.compile(rf"\b(?:{'|'.join(PRONOUNS)})\b", re.IGNORECASE)


def masked_rows(sentences: Sequence[Sentence], mask: str) -> Iterator[tuple[str, ...]]:
    """Yield a row for every profession in every sentence, as `COLUMNS`.

    Parameters
    ----------
    mask
        What the encoder knows as its mask, put for every pronoun, such as ``[MASK]``.

    Yields
    ------
    tuple of str
        The sentence with its pronouns masked, the first character of a profession and the one
        behind, the profession, its stereotypical gender (that of the pronouns in pro-stereotyped
        sentences about it), and whether the pronoun means it (`gold`) or not (`other`). What a
        `pro` and an `anti` sentence have in common comes once.
    """
    genders = stereotypes(sentences)
    seen = set()
    for one in sentences:
        text = _PRONOUN.sub(lambda _: mask, one.text)
        for name, (start, end) in one.people:
            moved = tuple(_moved(one.text, mask, place) for place in (start, end))
            if (text, moved) in seen:
                continue
            seen.add((text, moved))
            role = "gold" if one.mention[0] <= start < one.mention[1] else "other"
            kind = f"type {one.kind}"
            yield (text, *map(str, moved), name, genders[name], role, kind, one.split)


def stereotypes(sentences: Iterable[Sentence]) -> dict[str, str]:
    """Return the usual gender of each profession: that of most of its `pro` sentences."""
    votes: dict[str, Counter[str]] = {}
    for one in sentences:
        if one.stereotype == PRO:
            votes.setdefault(one.profession, Counter())[one.gender] += 1
    return {name: found.most_common(1)[0][0] for name, found in votes.items()}


def _moved(text: str, mask: str, place: int) -> int:
    """Return where a character outside pronouns stands after masking."""
    before = (match for match in _PRONOUN.finditer(text) if match.end() <= place)
    return place + sum(len(mask) - len(match.group()) for match in before)


def sentence_lines(sentences: Iterable[Sentence]) -> Iterator[str]:
    """Yield each distinct sentence once as a line of jsonl, for a coreference system to read."""
    seen = set()
    for one in sentences:
        if one.text not in seen:
            seen.add(one.text)
            words = [word for word, _ in tokens(one.text)]
            yield json.dumps({"sentence": one.text, "tokens": words}, ensure_ascii=False) + "\n"
