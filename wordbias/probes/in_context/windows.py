"""The published window: a sentence cut to the words around a target word."""

from __future__ import annotations

import re

from wordbias.probes.in_context.sentences import Context

_WORDS = re.compile(r"\w+")
SIDE = 4
WINDOW = 2 * SIDE + 1


def published_window(context: Context) -> Context:
    """Cut a sentence as the released code of CEAT does; punctuation becomes space there.

    Of a sentence of nine words or more the first nine are kept if fewer than four stand before the
    target, else the last nine if fewer than four stand behind it, else the four before it, the
    target, and three behind it: eight words, not nine, as the fourth behind is left out by mistake.
    """
    spans = [found.span() for found in _WORDS.finditer(context.text)]
    first = next(i for i, (_, end) in enumerate(spans) if end > context.start)
    count = sum(context.start < end and start < context.end for start, end in spans)
    kept = slice(0, len(spans))
    if len(spans) >= WINDOW:
        kept = _kept(first, count, len(spans))
    words = [context.text[start:end] for start, end in spans]
    before = " ".join(words[kept.start : first])
    target = " ".join(words[first : first + count])
    start = len(before) + bool(before)
    return Context(" ".join(words[kept]), start, start + len(target))


def _kept(first: int, count: int, total: int) -> slice:
    if first < SIDE:
        return slice(0, WINDOW)
    if total - first - count < SIDE:
        return slice(total - WINDOW, total)
    return slice(first - SIDE, first + SIDE)
