"""One tokeniser for all texts: raw sentences and tokenised ones come out alike."""

from __future__ import annotations

import re

_QUOTES = str.maketrans({"’": "'", "‘": "'", "´": "'", "“": '"', "”": '"', "`": "'"})
_TOKEN = re.compile(
    r"""
    \.\.\.                                  # an ellipsis
    | n't\b | '(?:s|re|ve|ll|d|m)\b         # what a contraction leaves: is n't, she 's
    | can(?=not(?:n't)?\b)                  # cannot is can not
    | \w+?(?=n't\b)                         # what stands before n't
    | \d+(?:[.,:]\d+)+                      # 3.5, 10,000, 7:30
    | (?:[^\W\d_]\.){2,}(?!\w)              # U.S., p.m.
    | \w+(?:[-.&]\w+)*                      # well-known, R&B
    | [^\w\s]                               # any other mark by itself
    """,
    re.VERBOSE | re.IGNORECASE,
)


def tokenise(text: str) -> list[str]:
    """Split a sentence into words, contractions and marks, as the Penn Treebank does.

    The case is kept. Tokens joined with spaces come out as they went in, so that a corpus in which
    one part is tokenised and another is not, as copies of SNLI are, is read alike. Quotes of every
    kind are straight ones; a pair of single quotes is a double one.

    Examples
    --------
    >>> tokenise("She isn't at Tom's house.")
    ['She', 'is', "n't", 'at', 'Tom', "'s", 'house', '.']
    >>> tokenise("She is n't at Tom 's house .")
    ['She', 'is', "n't", 'at', 'Tom', "'s", 'house', '.']
    """
    return _TOKEN.findall(text.translate(_QUOTES).replace("''", '"'))
