"""What a file is that is not the text it should be: a web page, an archive, UTF-16."""

from __future__ import annotations

from pathlib import Path

from wordbias.errors import WordbiasError

_UTF = (
    "line 1: byte 1 is not UTF-8 but UTF-{0}; convert it, such as with: iconv -f utf-{0} -t utf-8"
)
_UTF16, _UTF32 = _UTF.format(16), _UTF.format(32)
_GONE = "begins with the byte 0, as binary files do and what a full disk left; fetch it again"
_BEGINNINGS = {
    b"\xff\xfe\x00\x00": _UTF32,
    b"\x00\x00\xfe\xff": _UTF32,
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"\x1f\x8b": "is packed by gzip; unpack it, or name it as what it is (.gz)",
    b"BZh9": "is packed by bzip2; unpack it, or name it as what it is (.bz2)",
    b"\xfd7zXZ\x00": "is packed by xz; unpack it, or name it as what it is (.xz)",
    b"PK\x03\x04": "is a zip archive; unpack it first",
    b"\x28\xb5\x2f\xfd": "is packed by zstd; unpack it first",
    b"%PDF-": "is a PDF; give its text",
    b"\x00": _GONE,
}
_PAGES = (b"<!doctype html", b"<html")
_POINTER = b"version https://git-lfs"
_SPACE = b"\xef\xbb\xbf \t\r\n"


def is_web_page(beginning: bytes) -> bool:
    """Say whether bytes begin as a web page does, or as what stands for a file in Git LFS."""
    return beginning[:1024].lstrip(_SPACE).lower().startswith((*_PAGES, _POINTER))


def refuse_foreign(file: Path, line: bytes, *, plain: bool = False) -> None:
    """Refuse a file that its first line shows to be something else; plain text may be HTML.

    Raises
    ------
    WordbiasError
        Saying what it is, and how to make it a text.
    """
    said = _foreign(line)
    if said and not (plain and is_web_page(line)):
        raise WordbiasError(f"{file}: {said}")


def _foreign(beginning: bytes) -> str:
    for magic, said in _BEGINNINGS.items():
        if beginning.startswith(magic):
            return said
    if beginning[1:2] == b"\x00":  # UTF-16 without its mark
        return _UTF16
    if not is_web_page(beginning):
        return ""
    if _POINTER in beginning:
        return "is a pointer of Git LFS, not the file itself; fetch that with: git lfs pull"
    return "is a web page, not a table; whoever sent it did not send the file: fetch it again"
