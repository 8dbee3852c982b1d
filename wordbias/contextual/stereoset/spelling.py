"""Capitals, signs and hyphens that were lost where a sentence was written anew."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.contextual.stereoset.alignment import key, opcodes, parts


def spelled_as(original: Sequence[str], swapped: Sequence[str]) -> list[str]:
    """Take from the original the capitals and signs of words that are the same but for them."""
    out: list[str] = []
    for tag, i, j, k, m in opcodes(original, swapped):
        was, found = original[i:j], swapped[k:m]
        if tag == "equal":
            out += [_respelled(*words) for words in zip(was, found, strict=True)]
        elif len(was) == len(found):
            out += [_edged(*words) for words in zip(was, found, strict=True)]
        else:
            out += _rejoined(was, found)
    return out


def _rejoined(was: Sequence[str], found: Sequence[str]) -> list[str]:
    """Take back hyphens that became spaces, at the beginning or the end of a stretch."""
    for i in range(len(was), 0, -1):
        joined = "".join(map(key, was[:i]))
        for k in range(len(found) + 1):
            if joined == "".join(map(key, found[:k])):
                return [*was[:i], *_rejoined(was[i:], found[k:])]
    for i in range(len(was)):
        joined = "".join(map(key, was[i:]))
        for k in range(len(found)):
            if joined == "".join(map(key, found[k:])):
                return [*_rejoined(was[:i], found[:k]), *was[i:]]
    return list(found)


def _respelled(was: str, found: str) -> str:
    """Leave alone what only begins a sentence, or does no longer."""
    inner = any(letter.isupper() for letter in parts(was)[1][1:])
    return was if inner or was.casefold() != found.casefold() else found


def _edged(was: str, found: str) -> str:
    before, _, after = parts(was)
    return f"{before}{parts(found)[1]}{after}"
