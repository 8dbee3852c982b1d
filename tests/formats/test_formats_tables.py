"""Files that are something else than the table they are named as, and what is said of each."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.biographies.data import load_biographies
from wordbias.columns import read
from wordbias.errors import WordbiasError
from wordbias.formats.source import is_web_page, refuse_foreign
from wordbias.formats.tables import read_lines
from wordbias.outcomes.records import RecordFile

NAMES = ("text", "profession", "gender")
TABLE = "\t".join(NAMES) + "\nShe works.\tnurse\tF\nHe works.\tsurgeon\tM\n"
PAGE = "<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 9\n"


def zipped(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.tsv", data)
    return buffer.getvalue()


KINDS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "page": (lambda _: PAGE.encode(), "is a web page, not a table"),
    "page with a mark": (lambda _: b"\xef\xbb\xbf\r\n" + PAGE.encode(), "is a web page, not"),
    "pointer": (lambda _: POINTER.encode(), "is a pointer of Git LFS, not the file itself"),
    "gzip": (gzip.compress, r"is packed by gzip; unpack it, or name it as what it is \(.gz\)"),
    "bzip2": (bz2.compress, "is packed by bzip2"),
    "xz": (lzma.compress, "is packed by xz"),
    "zip": (zipped, "is a zip archive"),
    "zeros": (lambda data: bytes(len(data)), "begins with the byte 0"),
    **{
        name: (lambda data, name=name: data.decode().encode(name), "byte 1 is not UTF-8 but UTF-16")
        for name in ("utf-16", "utf-16-le")
    },
    "utf-32": (lambda data: data.decode().encode("utf-32"), "is not UTF-8 but UTF-32"),
    "utf-32-be": (lambda data: b"\0\0\xfe\xff" + data, "is not UTF-8 but UTF-32"),
    "page behind empty lines": (lambda _: b"\n\r\n" + PAGE.encode(), "is a web page, not"),
    "utf-16-be": (lambda data: b"\xfe\xff" + data.decode().encode("utf-16-be"), "but UTF-16"),
}
READERS: dict[str, Callable[[Path], Any]] = {
    "biographies": load_biographies,
    "predictions": lambda path: read(path, NAMES),
    "lines": lambda path: list(read_lines(path)),
}


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".jsonl"])
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", KINDS)
def test_it_says_what_it_is(tmp_path: Path, kind: str, reader: str, suffix: str) -> None:
    make, message = KINDS[kind]
    if kind.startswith("page with") and suffix != ".tsv":
        pytest.skip("one form is enough")
    path = tmp_path / f"a{suffix}"
    path.write_bytes(make(TABLE.encode()))
    if kind == "page with a mark":
        path.write_bytes(path.read_bytes().replace(b"\r\n", b" "))
    with pytest.raises(WordbiasError, match=message) as refused:
        READERS[reader](path)
    assert str(refused.value).startswith(f"{path}: ")


@pytest.mark.parametrize("kind", ["page", "page behind empty lines", "pointer", "zeros", "utf-16"])
def test_it_is_not_rewritten(tmp_path: Path, kind: str) -> None:
    make, message = KINDS[kind]
    path = tmp_path / "a.tsv"
    path.write_bytes(make(TABLE.encode()))
    with pytest.raises(WordbiasError, match=message):
        RecordFile.open(path)


def test_a_page_can_be_plain_text(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(PAGE)
    assert [line.cells["text"] for line in read_lines(path)] == PAGE.splitlines()
    assert [record.line() for record in RecordFile.open(path)] == PAGE.splitlines(keepends=True)


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".tsv.gz"])
def test_an_empty_table_has_no_header(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(gzip.compress(b"") if suffix.endswith("gz") else b"")
    for reader in READERS.values():
        with pytest.raises(WordbiasError, match="is empty; expected a header, a name for each"):
            reader(path)


def test_what_is_cut_off_is_to_be_fetched_again(tmp_path: Path) -> None:
    for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        path = tmp_path / f"a.tsv{suffix}"
        path.write_bytes(pack(TABLE.encode() * 100)[:-12])
        with pytest.raises(WordbiasError, match=r"cannot be read: .*; fetch it again"):
            list(read_lines(path))
    path = tmp_path / "a.tsv.gz"
    path.write_text(TABLE)
    with pytest.raises(WordbiasError, match="cannot be read: Not a gzipped file"):
        list(read_lines(path))
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,"2\n3,4\n')
    with pytest.raises(WordbiasError, match="line 3: is no CSV: the file ends within quotation"):
        list(read_lines(path))


@given(st.text(max_size=40))
def test_no_text_is_refused_but_what_begins_as_a_page_or_with_zeros(text: str) -> None:
    data = text.encode("utf-8", "replace")
    odd = is_web_page(data) or b"\0" in data[:2] or data[:4] in (b"BZh9", b"PK\3\4", b"%PDF")
    if not odd:
        refuse_foreign(Path("a.tsv"), data)
