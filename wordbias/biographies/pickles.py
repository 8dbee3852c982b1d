"""Safe reader for pickles of biographies: nothing in them is imported or called."""

from __future__ import annotations

import io
import pickle
import pickletools
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError

SUFFIXES = (".pkl", ".pickle")
_MAGIC = b"\x80"
_DATA = (
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("NONE", "NEWTRUE", "NEWFALSE", "STRING", "BINSTRING", "SHORT_BINSTRING"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
    *("EMPTY_LIST", "APPEND", "APPENDS", "LIST", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS"),
    *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    *("POP", "DUP", "MARK", "POP_MARK", "PROTO", "FRAME", "STOP"),
    *("GET", "BINGET", "LONG_BINGET", "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"),
)
_NAMES = ("GLOBAL", "STACK_GLOBAL", "INST")
"""Opcodes that look up a name; they are run as far as the name, so that the error can say it."""
_OPCODES = {ord(code.code): code.name for code in pickletools.opcodes}
_CODES = {name: code for code, name in _OPCODES.items()}
_Step = Callable[[pickle.Unpickler], None]
_KEYS = (str, int, float, bool, bytes, type(None))
_BROKEN = (
    pickle.UnpicklingError,
    EOFError,
    KeyError,
    IndexError,
    ValueError,
    TypeError,
    AttributeError,
    OverflowError,
    MemoryError,
    struct.error,
)


def is_pickle(file: Path) -> bool:
    """Return whether a file is a pickle, by its suffix or its first byte."""
    if file.suffix.lower() in SUFFIXES:
        return True
    try:
        with file.open("rb") as stream:
            return stream.read(1) == _MAGIC
    except OSError:
        return False


def read_pickle(file: Path) -> list[Any]:
    """Return the list in a pickle."""
    # Time and memory are at most a multiple of the size of the file. This is the Python unpickler
    # of the standard library, whose memo is a dict; the C one allocates entries up to the highest
    # number.
    try:
        stream = io.BytesIO(file.read_bytes())
    except OSError as error:
        raise WordbiasError(f"{file}: cannot be read: {error.strerror or error}") from None
    records = _loaded(file, stream)
    rest = len(stream.getbuffer()) - stream.tell()
    if rest:
        raise WordbiasError(
            f"{file}: {rest:,} bytes follow the end of the pickle; expected one list of biographies"
        )
    if not isinstance(records, list):
        raise WordbiasError(
            f"{file}: expected a pickled list of biographies, a dict each, found one "
            f"{type(records).__name__}"
        )
    return records


def _loaded(file: Path, stream: io.BytesIO) -> Any:
    try:
        return _DataUnpickler(stream, fix_imports=False, encoding="utf-8").load()
    except _RefusedError as error:
        raise WordbiasError(
            f"{file}: refused: {error}; a pickle of biographies holds lists, dicts, tuples, texts "
            "and numbers only, and nothing of this one was executed"
        ) from None
    except _BROKEN as error:
        reason = " ".join(str(error).split())[:80]
        raise WordbiasError(
            f"{file}: is no whole pickle: {type(error).__name__} before byte {stream.tell():,} of "
            f"{len(stream.getbuffer()):,}{': ' * bool(reason)}{reason}; fetch it again, or write "
            "it as .jsonl"
        ) from None


class _RefusedError(Exception):
    """Pickle with more than plain data."""


class _Dispatch(dict[int, _Step]):
    """Functions of the allowed opcodes; the others are refused by name."""

    def __missing__(self, code: int) -> _Step:
        if code in _OPCODES:
            raise _RefusedError(f"it has the opcode {_OPCODES[code]}, which is not for plain data")
        raise pickle.UnpicklingError(f"{code:#04x} is no opcode")


class _DataUnpickler(pickle._Unpickler):
    """Unpickler of plain data."""

    stack: list[Any]
    dispatch = _Dispatch(
        {_CODES[name]: pickle._Unpickler.dispatch[_CODES[name]] for name in (*_DATA, *_NAMES)}
    )

    def find_class(self, module: str, name: str) -> Any:
        raise _RefusedError(f"it wants to import {_printable(module)}.{_printable(name)}")


def _printable(name: Any) -> str:
    """Return a name as printable text, whatever a pickle gives as one."""
    return ascii(name)[1:-1][:60] if isinstance(name, str) else type(name).__name__


def _check_keys(keys: Iterable[Any]) -> None:
    """Refuse keys that are slow or impossible to hash, such as nested tuples."""
    for key in keys:
        if not isinstance(key, _KEYS):
            raise _RefusedError(f"a key of a dict is a {type(key).__name__}")


def _checking(plain: _Step, keys: Callable[[list[Any]], Iterable[Any]]) -> _Step:
    """Return the function of an opcode with a check of the keys on the stack before it."""

    def checked(unpickler: pickle.Unpickler) -> None:
        if isinstance(unpickler, _DataUnpickler):
            _check_keys(keys(unpickler.stack))
        plain(unpickler)

    return checked


for _name, _keys in {
    "SETITEM": lambda stack: stack[-2:-1],
    "SETITEMS": lambda stack: stack[::2],
    "DICT": lambda stack: stack[::2],
}.items():
    _DataUnpickler.dispatch[_CODES[_name]] = _checking(
        _DataUnpickler.dispatch[_CODES[_name]], _keys
    )
