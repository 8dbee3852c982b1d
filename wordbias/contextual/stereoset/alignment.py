"""Which words of two sentences stand for each other, whatever their capitals and signs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

_EDGES = re.compile(r"^(\W*)(.*?)([\W_]*)$", re.DOTALL)


def opcodes(a: Sequence[str], b: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """Return which stretch ``b[k:m]`` stands for ``a[i:j]``: (tag, i, j, k, m), as difflib does."""
    first, second = ([key(word) for word in words] for words in (a, b))
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    return [(tag, i, j, k, m) for tag, i, j, k, m in matcher.get_opcodes()]


def aligned(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Return which words stand for which: in stretches of as many words on both sides."""
    return [
        pair
        for _, i, j, k, m in opcodes(a, b)
        if j - i == m - k
        for pair in zip(range(i, j), range(k, m), strict=True)
    ]


def parts(word: str) -> tuple[str, str, str]:
    """Split a word into signs before, itself, signs after."""
    found = _EDGES.match(word)
    before, inner, after = found.groups() if found else ("", word, "")
    return before, inner, after


def core(word: str) -> str:
    """Return a word without the signs around it, in small letters."""
    return parts(word)[1].lower()


def key(word: str) -> str:
    """Return what two spellings of a word have in common: its letters and digits."""
    return re.sub(r"[\W_]", "", word).casefold()
