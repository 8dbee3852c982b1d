"""What a format can hold: refused when writing, rather than found out when reading."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats.decimal import is_decimal
from wordbias.formats.layout import Kind


def check_rows(words: Sequence[bytes], rows: NDArray[np.float32], kind: Kind) -> None:
    """Refuse rows that could not be read back as they are.

    Raises
    ------
    WordbiasError
        At a nan or an infinity; at a word with a line feed; in word2vec binary, which ends a word
        at its first space, at a word with a space; in text, at a word that begins with a space or,
        since the numbers end a line, whose last part is a number.
    """
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        _refuse(words[int(finite.argmin())], "has a nan or an infinity in its vector", "drop it")
    if kind == "glove" and rows.shape[1] < 2:
        raise WordbiasError(
            "GloVe text has no header and cannot tell one dimension; write .vec or .safetensors"
        )
    for word in _holding(b"\n", words):
        _refuse(word, "has a line feed in it", "rename it")
    spaced = _holding(b" ", words)
    if kind == "word2vec-binary":
        for word in spaced:
            _refuse(word, "has a space in it, which ends a word in word2vec binary", _TEXT)
    if kind in ("glove", "word2vec"):
        for word in spaced:
            if word.startswith(b" "):
                _refuse(word, "begins with a space, which no line of text does", _OTHER_FORMAT)
            if is_decimal(word.rpartition(b" ")[2]):
                _refuse(word, "ends in a number, which text would take for a value", _OTHER_FORMAT)


_TEXT = "write text (.txt, .vec) or .safetensors instead"
_OTHER_FORMAT = "rename it or write .safetensors"


def _holding(byte: bytes, words: Iterable[bytes]) -> list[bytes]:
    return [word for word in words if byte in word]


def _refuse(word: bytes, why: str, remedy: str) -> None:
    shown = repr(word[:60].decode("utf-8", "backslashreplace"))
    raise WordbiasError(f"the word {shown} {why} and cannot be written; {remedy}")
