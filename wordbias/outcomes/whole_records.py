"""Records of a file with all that stands around them: line ends, empty lines, lines in quotes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.formats.foreign import refuse_foreign
from wordbias.formats.source import Source
from wordbias.formats.tables import kind_of
from wordbias.lines import check_length
from wordbias.outcomes.forms import Form

_MARK = "\ufeff".encode()


def whole_records(path: Path, form: Form) -> Iterator[tuple[int, str]]:
    """Yield each record with the line it begins at, its line end, and empty lines around it."""
    held: list[str] = []
    first = size = 0
    opened = whole = False
    for number, line in _decoded_lines(path):
        if form.blank(line) and (whole or not first):
            held.append(line)
            continue
        if whole:
            yield first, "".join(held)
            held, first, size = [], 0, 0
        first = first or number
        held.append(line)
        size += len(line)
        check_length(size, first, path)
        opened = form.opened(line, opened)
        whole = not opened
    if first:
        yield first, "".join(held)


def _decoded_lines(path: Path) -> Iterator[tuple[int, str]]:
    plain, blank = kind_of(path) == "plain", True
    for number, raw in enumerate(_source(path).text_lines(f"reading {path.name}"), 1):
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


def byte_order_mark(path: Path) -> str:
    """Return the mark that a file begins with, or nothing."""
    return _MARK.decode() * _source(path).head(len(_MARK)).startswith(_MARK)


def _source(path: Path) -> Source:
    if path.is_dir():
        raise WordbiasError(f"{path}: is a folder; name a file of texts")
    if path.is_file() and not path.stat().st_size:
        raise WordbiasError(f"{path}: the file is empty; expected texts")
    source = Source.find(path)
    if source.compression == "zip":
        raise WordbiasError(f"{path}: a zip archive is not rewritten; unpack it first")
    return source
