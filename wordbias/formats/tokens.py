"""Tokens of a `tokenizer.json`: which of them are words, and which are parts of words.

The file of Hugging Face's library `tokenizers` is read as what it is, JSON, without the library;
the tests compare with it. A token is a word if the tokenizer encodes that word, between two
spaces, as this one token. How tokens show this depends on the tokenizer: WordPiece marks parts
(``##ing``), SentencePiece the beginnings of words (``▁nurse``), byte-level BPE too (``Ġnurse``),
and old BPE their ends (``nurse</w>``).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats.source import has_lone_surrogate

_UNUSED = re.compile(
    r"\[(unused\d+|PAD|UNK|CLS|SEP|MASK|BOS|EOS)\]|</?(s|pad|unk|mask|cls|sep|bos|eos)>"
    r"|<(unused_?\d+|extra_id_\d+|0x[0-9A-F]{2})>|<\|.*\|>|madeupword\d+"
)
"""Tokens that stand for nothing in a text, by the names that published tokenizers give them."""
_MODELS = ("WordPiece", "BPE", "Unigram", "WordLevel")
_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_IS_CHINESE = re.compile("[" + "".join(f"{chr(a)}-{chr(b)}" for a, b in _CHINESE) + "]")
"""A character that the normaliser of BERT sets apart, as a word."""
_ASCII_PUNCTUATION = re.compile("[!-/:-@\\[-`{-~]")
_PREFIX = "continuing_subword_prefix"
Spell = Callable[[str], str | None]


@dataclass(frozen=True, eq=False)
class Tokens:
    """Tokens of a tokenizer by what they stand for."""

    # the tokens as the file spells them, by their numbers
    names: Mapping[int, str] = field(repr=False)
    words: Sequence[str] = field(repr=False)
    ids: NDArray[np.intp] = field(repr=False)  # number of the token of each word
    parts: int  # number of tokens that are parts of words
    # number of tokens that stand for nothing in a text (`[PAD]`, `[unused0]`), or that the
    # tokenizer never makes of one: a word in capitals after lower-casing
    others: int

    @property
    def size(self) -> int:
        """Largest number of a token, and one."""
        return max(self.names, default=-1) + 1


def read_tokens(path: Path) -> Tokens:
    """Read the tokens of a `tokenizer.json`."""
    stored = read_json(path)
    model = stored.get("model")
    if not isinstance(model, dict):
        raise _damaged(path, "it has no model")
    names = _vocabulary(path, model)
    special = {_unknown(model, names)}
    added: dict[int, str] = {}
    for number, token, is_special in _added(path, stored):
        names[number] = token
        if is_special:
            special.add(number)
        else:
            added[number] = token
    spell, survives = _spelling(path, stored, model), _survives(stored)
    likeliest = _likeliest(path, model)
    numbers: dict[str, int] = {}
    others, parts = 0, 0
    for number in sorted(names):
        token = names[number]
        if number in special or _UNUSED.fullmatch(token):
            others += 1
        elif number in added:  # found in a text before all others
            numbers.pop(token, None)
            numbers[token] = number
        elif (word := spell(token)) is None or word in numbers:
            parts += 1
        elif not survives(word) or not likeliest(token):
            others += 1
        else:
            numbers[word] = number
    words = sorted(numbers, key=numbers.__getitem__)
    parts += len(names) - others - parts - len(words)  # taken by an added token
    ids = np.array([numbers[word] for word in words], np.intp)
    return Tokens(names, words, ids, parts, others)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds settings."""
    try:
        settings = json.loads(path.read_bytes())
    except OSError as error:
        raise WordbiasError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"it is no JSON: {str(error).partition(chr(10))[0]}") from None
    if not isinstance(settings, dict):
        raise _damaged(path, f"expected settings, found {type(settings).__name__}")
    return settings


def _damaged(path: Path, problem: str) -> WordbiasError:
    return WordbiasError(f"{path}: {problem}; fetch or write the folder again")


def _number(path: Path, given: object, token: str) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given < 1 << 31:
        raise _damaged(path, f"the token {token!r:.60} has the number {given!r:.40}")
    return given


def _vocabulary(path: Path, model: Mapping[str, Any]) -> dict[int, str]:
    """Return the tokens of the model by number: stored as a table, or by Unigram as a list."""
    vocab = model.get("vocab")
    if isinstance(vocab, list):
        pairs = [
            (piece[0], i) for i, piece in enumerate(vocab) if isinstance(piece, list) and piece
        ]
        whole = len(pairs) == len(vocab)
    else:
        pairs, whole = list((vocab or {}).items()) if isinstance(vocab, dict) else [], True
    if not pairs or not whole or not all(isinstance(token, str) for token, _ in pairs):
        raise _damaged(path, "expected a vocabulary of tokens")
    tokens = {_number(path, number, token): token for token, number in pairs}
    if len(tokens) != len(pairs):
        raise _damaged(path, "two tokens have one number")
    for token in tokens.values():
        _refuse_broken(path, token)
    return tokens


def _added(path: Path, stored: Mapping[str, Any]) -> Iterator[tuple[int, str, bool]]:
    """Yield number and text of each token beside the model's, and whether it is special."""
    tokens = stored.get("added_tokens") or []
    if not isinstance(tokens, list):
        raise _damaged(path, f"expected a list of added tokens, found {tokens!r:.80}")
    for added in tokens:
        if not isinstance(added, dict) or not isinstance(added.get("content"), str):
            raise _damaged(path, f"expected an added token, found {added!r:.80}")
        _refuse_broken(path, added["content"])
        yield (
            _number(path, added.get("id"), added["content"]),
            added["content"],
            bool(added.get("special")),
        )


def _refuse_broken(path: Path, token: str) -> None:
    if has_lone_surrogate(token):
        raise _damaged(path, f"the token {token!r:.60} is no text")


def _affix(path: Path, model: Mapping[str, Any], key: str) -> str:
    """Return what the model puts before or behind parts of words; empty if it names nothing."""
    affix = model.get(key) or ""
    if not isinstance(affix, str):
        raise _damaged(path, f"expected {key!r} as text, found {affix!r:.40}")
    return affix


def _unknown(model: Mapping[str, Any], names: Mapping[int, str]) -> int | None:
    """Return the number of the token for what is not known."""
    if isinstance(model.get("unk_id"), int):
        return int(model["unk_id"])
    token = model.get("unk_token")
    return next((number for number, name in names.items() if name == token), None)


def _stages(stored: Mapping[str, Any], *keys: str) -> Iterator[Mapping[str, Any]]:
    """Yield the steps of parts of a tokenizer, also those inside of sequences."""
    remaining = [stored.get(key) for key in keys]
    while remaining:
        stage = remaining.pop(0)
        if isinstance(stage, list):
            remaining = [*stage, *remaining]
        elif isinstance(stage, dict):
            inner = [stage.get(key) for key in ("normalizers", "pretokenizers", "decoders")]
            remaining = [*(part for part in inner if part), *remaining]
            yield stage


# How a token spells a word


def _spelling(path: Path, stored: Mapping[str, Any], model: Mapping[str, Any]) -> Spell:
    """Return the function from a token to its word, or to None for a part of a word."""
    kind = model.get("type") or _kind_of(model)
    if kind not in _MODELS:
        raise WordbiasError(
            f"{path}: has a tokenizer of the kind {kind!r:.40}, which is not known; expected one "
            f"of {', '.join(_MODELS)}"
        )
    if kind == "WordLevel":
        return _whole
    if kind == "WordPiece":
        return _without_prefix(_affix(path, model, _PREFIX) or "##")
    if kind == "BPE" and (end := _affix(path, model, "end_of_word_suffix")):
        return lambda token: token.removesuffix(end) or None if token.endswith(end) else None
    mark = _mark(stored)
    if mark == _BYTES:
        return _of_bytes
    if mark:
        return lambda token: _whole(token[len(mark) :]) if token.startswith(mark) else None
    prefix = _affix(path, model, _PREFIX)
    return _without_prefix(prefix) if prefix else _whole


def _kind_of(model: Mapping[str, Any]) -> str:
    """Return the kind of a model that does not name it, as files of old versions do."""
    if isinstance(model.get("vocab"), list):
        return "Unigram"
    if "merges" in model:
        return "BPE"
    return "WordPiece" if "max_input_chars_per_word" in model else "WordLevel"


_BYTES = "bytes"


def _mark(stored: Mapping[str, Any]) -> str:
    """Return the mark of a word's beginning; empty if there is none."""
    for stage in _stages(stored, "pre_tokenizer", "normalizer", "decoder"):
        kind = stage.get("type")
        if kind == "ByteLevel":
            return _BYTES
        if kind == "Metaspace":
            return str(stage.get("replacement") or "▁")
        if kind == "Replace" and stage.get("pattern") == {"String": " "}:
            return str(stage.get("content") or "")
    return ""


def _whole(token: str) -> str | None:
    return token if token and not token[0].isspace() and not token[-1].isspace() else None


def _without_prefix(prefix: str) -> Spell:
    return lambda token: None if token.startswith(prefix) else _whole(token)


def _of_bytes(token: str) -> str | None:
    """Return the word of a byte-level token, which begins with a space."""
    known = _byte_of()
    try:
        text = bytes(known[character] for character in token).decode("utf-8")
    except (KeyError, UnicodeDecodeError):  # a part of a character
        return None
    return _whole(text[1:]) if text.startswith(" ") else None


@cache
def _byte_of() -> dict[str, int]:
    """Return the byte that each character of byte-level tokens stands for."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    pairs = {chr(byte): byte for byte in printable}
    return pairs | {chr(256 + i): byte for i, byte in enumerate(hidden)}


def _likeliest(path: Path, model: Mapping[str, Any]) -> Callable[[str], bool]:
    """Return the function that tells whether Unigram takes a token whole."""
    # It takes the most likely pieces; a rare token may never be one, and others take it always.
    vocab = model.get("vocab")
    if not isinstance(vocab, list):
        return lambda token: True
    scores = {
        piece[0]: piece[1]
        for piece in vocab
        if len(piece) == 2 and isinstance(piece[1], (int, float))
    }
    if len(scores) != len(vocab):
        raise _damaged(path, "expected a number for each token of Unigram, and each token once")

    def likeliest(token: str) -> bool:
        best = [0.0] + [-np.inf] * len(token)
        for end in range(1, len(token) + 1):
            for start in range(end):
                score = scores.get(token[start:end])
                if score is not None and end - start < len(token):
                    best[end] = max(best[end], best[start] + score)
        return bool(scores[token] >= best[-1])

    return likeliest


# What becomes of a word before it is looked up


def _survives(stored: Mapping[str, Any]) -> Callable[[str], bool]:
    """Return the function that tells whether normalisation and splitting leave a word whole."""
    normalisers = [
        normaliser for stage in _stages(stored, "normalizer") for normaliser in _normalisers(stage)
    ]
    splits = {str(stage.get("type")) for stage in _stages(stored, "pre_tokenizer")}
    apart = any(
        stage.get("type") == "BertNormalizer" and stage.get("handle_chinese_chars", True)
        for stage in _stages(stored, "normalizer")
    )

    def survives(word: str) -> bool:
        text = word
        for normalise in normalisers:
            text = normalise(text)
        if text != word:
            return False
        if len(word) == 1:
            return True
        if splits & {"BertPreTokenizer", "Punctuation"} and _has_punctuation(word):
            return False
        if "Whitespace" in splits and re.fullmatch(r"\w+|[^\w\s]+", word) is None:
            return False
        return not (apart and _IS_CHINESE.search(word))

    return survives


def _normalisers(stage: Mapping[str, Any]) -> Iterator[Callable[[str], str]]:
    """Yield what a step of a normaliser does to letters."""
    kind = stage.get("type")
    if kind in ("NFC", "NFD", "NFKC", "NFKD"):
        yield lambda text: unicodedata.normalize(str(kind), text)  # type: ignore[arg-type]
    elif kind == "Lowercase":
        yield str.lower
    elif kind == "StripAccents":
        yield _without_accents
    elif kind == "BertNormalizer":
        lower, strip = stage.get("lowercase", True), stage.get("strip_accents")
        if strip or (strip is None and lower):
            yield lambda text: _without_accents(unicodedata.normalize("NFD", text))
        if lower:
            yield str.lower


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    return "".join(character for character in text if unicodedata.category(character) != "Mn")


def _has_punctuation(text: str) -> bool:
    if _ASCII_PUNCTUATION.search(text):
        return True
    return not text.isascii() and any(
        unicodedata.category(character)[0] == "P" for character in text
    )
