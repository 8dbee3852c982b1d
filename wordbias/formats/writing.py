"""Writing of embeddings: from memory, or from file to file in constant memory."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Literal, TypeGuard, get_args

import numpy as np
from numpy.typing import NDArray

from wordbias.arguments import named_file
from wordbias.devices import ordered_map
from wordbias.errors import WordbiasError, need
from wordbias.formats import binary, gensim, tensors, text
from wordbias.formats.decimal import is_decimal
from wordbias.formats.files import check_new, check_writable, compressing, replacing
from wordbias.formats.layout import BOM, Kind
from wordbias.formats.loading import Tally, VectorFile
from wordbias.formats.source import Source, as_bytes
from wordbias.formats.text import Block
from wordbias.progress import counted

RowFormat = Literal["glove", "word2vec", "word2vec-binary"]
ROW_FORMATS: tuple[RowFormat, ...] = ("glove", "word2vec", "word2vec-binary")
StreamFormat = RowFormat | Literal["safetensors"]
WRITABLE: tuple[Kind, ...] = tuple(
    kind for kind in get_args(Kind) if kind not in ("fasttext", "static-model")
)
"""Formats that any words and vectors can be written in; a static model has a tokenizer, too."""
BlockMap = Callable[[Block], NDArray[np.float32]]
_SUFFIX: dict[str, Kind] = {
    ".vec": "word2vec",
    ".bin": "word2vec-binary",
    ".safetensors": "safetensors",
    ".kv": "gensim",
}
_PACKED = (".gz", ".bz2", ".xz", ".zip")
_ROWS = 4096
NO_TOKENIZER = (
    "a static model needs a tokenizer, which splits texts as its words were counted; words and "
    "vectors alone have none. Write .txt, .vec, .bin, .kv or .safetensors"
)


def save(
    output: str | os.PathLike[str],
    words: Sequence[str],
    vectors: NDArray[np.float32],
    kind: Kind | None = None,
) -> None:
    """Write an embedding atomically."""
    kind = kind or output_format(named_file(output))
    if kind == "static-model":
        raise WordbiasError(f"{output}: {NO_TOKENIZER}")
    path = Path(output)
    check_output(path, kind)
    if is_row_format(kind):
        _save_rows(path, words, vectors, kind)
        return
    check_rows([as_bytes(word) for word in words], vectors, kind)
    with replacing(path) as file:
        if kind == "gensim":
            gensim.write_kv(file, words, vectors)
        else:
            tensors.write(file, words, vectors)


def _save_rows(
    path: Path, words: Sequence[str], vectors: NDArray[np.float32], kind: RowFormat
) -> None:
    step = max(1, (1 << 17) // vectors.shape[1])

    def work(start: int) -> bytes:
        part = slice(start, start + step)
        chosen = [as_bytes(word) for word in words[part]]
        return encode(chosen, np.ascontiguousarray(vectors[part]), kind)

    with replacing(path) as raw, compressing(raw, path.name) as out:
        encoded = ordered_map(work, range(0, len(words), step))
        parts = counted(encoded, f"writing {path.name}", -(-len(words) // step))
        write_rows(out, parts, kind, *vectors.shape)


def save_changed(
    output: str | os.PathLike[str],
    words: Sequence[str],
    vectors: NDArray[np.float32],
    change: Callable[[NDArray[np.float32]], NDArray[np.float32]],
    dim: int,
) -> None:
    """Transform vectors and write them as safetensors, with one block of results in memory."""
    check_output(output, "safetensors")

    def work(start: int) -> tuple[list[bytes], NDArray[np.float32]]:
        part = slice(start, start + _ROWS)
        with np.errstate(over="ignore", invalid="ignore"):  # refused with its word
            rows = change(vectors[part])
        chosen = [as_bytes(word) for word in words[part]]
        check_rows(chosen, rows, "safetensors")
        return chosen, rows

    with replacing(output) as file:
        blocks = ordered_map(work, range(0, len(words), _ROWS))
        what, count = f"writing {Path(output).name}", -(-len(words) // _ROWS)
        tensors.write_rows(file, counted(blocks, what, count), dim)


def stream(
    file: VectorFile,
    output: str | os.PathLike[str],
    transform: BlockMap,
    *,
    to: StreamFormat,
    rows: int,
    dim: int,
    skip_bad: bool = False,
    finish: Callable[[Tally], None] | None = None,
) -> Tally:
    """Transform every row of a file and write the result, in place of the file or elsewhere."""
    # Order, duplicates and odd tokens are kept; in safetensors only the first row of a word is.
    # Memory does not grow with the file, except for the words of safetensors. `finish` is called
    # when the output is complete but not yet named; if it fails, nothing is written.

    def changed(block: Block) -> NDArray[np.float32]:
        with np.errstate(over="ignore", invalid="ignore"):  # refused with its word
            rows = np.ascontiguousarray(transform(block))
        try:
            check_rows(block.words, rows, to)
        except WordbiasError as error:
            raise WordbiasError(f"{file.source.name}: {error}") from None
        return rows

    tally = Tally()
    what = f"writing {os.path.basename(output)}"
    with replacing(output) as raw:
        if to == "safetensors":
            pairs = file.map(lambda b: (b.words, changed(b)), tally, what=what, skip_bad=skip_bad)
            _, tally.duplicates = tensors.write_rows(raw, pairs, dim)
        else:
            with compressing(raw, os.fspath(output)) as out:
                parts = file.map(
                    lambda b: _encoder(to)(b.words, changed(b)),
                    tally,
                    what=what,
                    skip_bad=skip_bad,
                )
                write_rows(out, parts, to, rows, dim)
        if finish is not None:
            finish(tally)
    return tally


def encode(words: list[bytes], rows: NDArray[np.float32], to: RowFormat) -> bytes:
    """Encode rows; refuse what the format cannot store."""
    check_rows(words, rows, to)
    return _encoder(to)(words, rows)


def _encoder(to: RowFormat) -> Callable[[list[bytes], NDArray[np.float32]], bytes]:
    return binary.encode if to == "word2vec-binary" else text.encode


def write_rows(
    out: IO[bytes], encoded: Iterable[bytes], to: RowFormat, rows: int, dim: int
) -> None:
    """Write the header, if the format has one, and the encoded rows."""
    if to != "glove":
        out.write(b"%d %d\n" % (rows, dim))
    for i, part in enumerate(encoded):
        if i == 0 and to == "glove" and part.startswith(BOM):
            out.write(BOM)  # the reader removes one
        out.write(part)


def output_format(output: str | os.PathLike[str], read: Kind | None = None) -> Kind:
    """Return the format of an output file: by its suffix, or that of the input, `read`."""
    # .txt is text, with a header if the input has one; .vec is word2vec text. Without a suffix, or
    # with one that has digits (glove.300d), it is the format of the input, for a static model a
    # folder.
    path = Path(output)
    if path.suffix.lower() in _PACKED:
        path = path.with_suffix("")
    suffix = path.suffix.lower()
    if suffix in _SUFFIX:
        return _SUFFIX[suffix]
    if suffix == ".txt":
        return "word2vec" if read == "word2vec" else "glove"
    if suffix.removeprefix(".").isalpha():
        known = ", ".join([".txt", *_SUFFIX])
        raise WordbiasError(
            f"{output}: vectors are not written as {suffix}; expected one of {known}, text also "
            "packed (.gz, .bz2, .xz, .zip), or no suffix for the format of the input"
        )
    return "glove" if read is None or read == "fasttext" else read


def check_output(output: str | os.PathLike[str], kind: Kind) -> None:
    """Raise an error now, before hours of work, for an output that cannot be written."""
    path = Path(output)
    if kind == "static-model":
        if path.suffix.lower() in _PACKED:
            raise WordbiasError(f"{path}: a static model is a folder; drop {path.suffix}")
        check_new(path)
        return
    check_writable(path)
    if kind == "gensim" and find_spec("gensim") is None:
        need("gensim", extra="gensim", purpose="Writing a gensim .kv file")
    if path.suffix.lower() in _PACKED and not is_row_format(kind):
        raise WordbiasError(f"{path}: {kind} files are written uncompressed; drop {path.suffix}")


def is_streamed(kind: Kind) -> TypeGuard[StreamFormat]:
    """Return whether a format can be written while the input is read."""
    return kind == "safetensors" or is_row_format(kind)


def is_row_format(kind: Kind) -> TypeGuard[RowFormat]:
    """Return whether a format is written row by row, from its beginning to its end."""
    return kind in ROW_FORMATS


def refuse_archive(source: Source, output: str | os.PathLike[str]) -> None:
    """Refuse to replace an archive of several files by the output for one of them."""
    if source.member and os.path.realpath(source.path) == os.path.realpath(output):
        with zipfile.ZipFile(source.path) as archive:
            others = len(archive.namelist()) - 1
        if others:
            raise WordbiasError(
                f"{output}: is the archive that {source.member} is read from, and its other files "
                f"({others}) would be lost; name another output"
            )


def check_rows(words: Sequence[bytes], rows: NDArray[np.float32], kind: Kind) -> None:
    """Refuse rows that could not be read back as they are."""
    # In word2vec binary a space ends a word. In text a word may neither begin with a space nor end
    # in a number, which would be read as a value.
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        _refuse(words[int(finite.argmin())], "has a nan or an infinity in its vector", "drop it")
    if kind == "glove" and rows.shape[1] < 2:
        raise WordbiasError(
            "GloVe text has no header and cannot tell one dimension; write .vec or .safetensors"
        )
    for word in [word for word in words if b"\n" in word]:
        _refuse(word, "has a line feed in it", "rename it")
    spaced = [word for word in words if b" " in word]
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


def _refuse(word: bytes, why: str, remedy: str) -> None:
    excerpt = repr(word[:60].decode("utf-8", "backslashreplace"))
    raise WordbiasError(f"the word {excerpt} {why} and cannot be written; {remedy}")
