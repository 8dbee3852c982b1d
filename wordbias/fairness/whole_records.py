"""Records of a file with all that stands around them: line ends, empty lines, lines in quotes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.fairness.forms import Form
from wordbias.formats.foreign import refuse_foreign
from wordbias.formats.source import Source
from wordbias.formats.tables import kind_of

_MARK = "\ufeff".encode()


def whole_records(path: Path, form: Form) -> Iterator[tuple[int, str]]:
    """Yield each record with the line it begins at, its line end, and empty lines around it."""
    held, first, whole = "", 0, False
    for number, line in _decoded_lines(path):
        if form.blank(line) and (whole or not first):
            held += line
            continue
        if whole:
            yield first, held
            held, first = "", 0
        first = first or number
        held += line
        whole = form.complete(held, line)
    if first:
        yield first, held


def _decoded_lines(path: Path) -> Iterator[tuple[int, str]]:
    plain, blank = kind_of(path) == "plain", True
    for number, raw in enumerate(_raw_lines(path), 1):
        if blank:
            refuse_foreign(path, raw, plain=plain)
            blank = not raw.strip()
        try:
            yield number, (raw.removeprefix(_MARK) if number == 1 else raw).decode()
        except UnicodeDecodeError as error:
            found = raw[error.start : error.start + 1]
            raise WordbiasError(
                f"{path}: line {number}: byte {error.start + 1} is not UTF-8 ({found!r}); convert "
                "the file, such as with: iconv -f latin1 -t utf-8"
            ) from None


def _raw_lines(path: Path) -> Iterator[bytes]:
    """Yield lines with their ends; the last may have none."""
    rest = b""
    for chunk in _source(path).chunks(f"reading {path.name}"):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest


def byte_order_mark(path: Path) -> str:
    """Return the mark that a file begins with, or nothing."""
    return _MARK.decode() * next(_raw_lines(path)).startswith(_MARK)


def _source(path: Path) -> Source:
    if path.is_dir():
        raise WordbiasError(f"{path}: is a folder; name a file of texts")
    if path.is_file() and not path.stat().st_size:
        raise WordbiasError(f"{path}: the file is empty; expected texts")
    source = Source.find(path)
    if source.compression == "zip":
        raise WordbiasError(f"{path}: a zip archive is not rewritten; unpack it first")
    return source
