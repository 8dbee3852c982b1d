"""Download over HTTP that resumes after an interruption.

pooch asks a downloader to write a URL to a file and checks its hash, but does not resume. The
downloader here keeps a partial download in a file, beside a note of the version that it is a part
of, and requests the rest with ``Range`` and ``If-Range`` (RFC 9110, sections 13.1.5 and 14).
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from wordbias import __version__
from wordbias.errors import Interrupted, WordbiasError, need, without_secrets
from wordbias.formats.files import rename, sync_file
from wordbias.formats.source import is_web_page
from wordbias.progress import progress

_CHUNK = 1 << 16  # the most that a killed process loses
_ATTEMPTS = 3
_MARGIN = 1 << 20
_UNKNOWN = 1 << 30
"""Most bytes of a download of unknown size."""
_SLOWEST = 1 << 10
"""Bytes that must arrive within the time in which a connection counts as broken."""
_DIGITS = 15
"""Most digits of a size that a server states."""


class _Broken(Exception):
    """The connection ended early; the partial download is kept."""


class _Note(NamedTuple):
    """Version of a partial download: the size of the file and its ETag or date, where known."""

    size: int | None = None
    version: str = ""


@dataclass(frozen=True)
class ResumingDownloader:
    """A downloader for pooch that resumes."""

    part: Path  # file of the partial download
    what: str
    # True if the hash of the file is known. If it is not, and the server sends neither an ETag nor
    # a date, parts of two versions could be joined: then the download begins again.
    checked: bool = False
    # seconds in which less than 1 kB arrives after which the connection counts as broken
    timeout: float = 60
    # expected bytes, where known. A server that sends far more is stopped; a little more is
    # allowed, as files without a fixed version grow, and the hash decides.
    size: int | None = None

    def __call__(self, url: str, output_file: str, pooch: object, check_only: bool = False) -> None:
        """Download `url` to `output_file`; resume an interrupted download."""
        with _explained(self.what, url):
            for left in reversed(range(_ATTEMPTS)):
                try:
                    self._download(url)
                    break
                except _Broken as error:
                    if not left:
                        raise WordbiasError(
                            f"{self.what}: {_host_of(url)} broke off {_ATTEMPTS} times ({error}); "
                            f"{_size(self.part):,} bytes are kept, the same call resumes from there"
                        ) from None
                finally:
                    if self.part.is_file() and not _size(self.part):
                        self.part.unlink()
                        self._note_file.unlink(missing_ok=True)
        with self.part.open("r+b") as file:
            sync_file(file)
        rename(self.part, Path(output_file))
        self._note_file.unlink(missing_ok=True)

    def _download(self, url: str) -> None:
        """Download the missing rest, or all of it if the server has another version now."""
        note = self._read_note()
        offset = _size(self.part) if note.version or self.checked else 0
        if offset and offset == note.size:
            return
        with self._answer(url, offset, note) as answer:
            begins = _offset(answer, offset, note.size)
            if begins is None:
                self.part.unlink(missing_ok=True)
                raise _Broken("it had another version of the file")
            _check_answer(answer, self.what, url)
            total = _size_of(answer, begins)
            if not begins:
                self.part.unlink(missing_ok=True)  # before the note of its version changes
                note = _Note(total, _version(answer))
                self._note_file.write_text(json.dumps(note), encoding="utf-8")
            self._receive(answer, url, begins, total)

    @contextmanager
    def _answer(self, url: str, offset: int, note: _Note) -> Iterator[Any]:
        requests = need("requests", extra="data", purpose="Downloading")
        headers = {"Accept-Encoding": "identity", "User-Agent": f"wordbias/{__version__}"}
        if offset:
            headers["Range"] = f"bytes={offset}-"
            if note.version:
                headers["If-Range"] = note.version
        with requests.get(url, headers=headers, stream=True, timeout=self.timeout) as answer:
            yield answer

    def _receive(self, answer: Any, url: str, begins: int, total: int | None) -> None:
        """Append the body to the partial download."""
        done = begins
        chunks = _body(answer, self.timeout)
        with (
            self.part.open("ab") as file,
            progress(self.what, total) as bar,
        ):
            bar.update(begins)
            _check_room(self.part, self.what, (total or 0) - begins)
            try:
                for chunk in chunks:
                    if not done and is_web_page(chunk):  # whatever its content type
                        raise _page(self.what, url)
                    self._check_size(done + len(chunk), url)
                    file.write(chunk)
                    done += len(chunk)
                    bar.update(len(chunk))
            except KeyboardInterrupt:
                message = f"{self.what}: {done:,} bytes are kept; the same call resumes from there"
                raise Interrupted(message) from None
        if total is not None and done != total:
            raise _Broken(f"{done:,} of {total:,} bytes arrived")
        if not done:
            raise WordbiasError(
                f"{self.what}: {_host_of(url)} gives an empty answer to {url}; try again later, "
                "another --mirror, or --from a folder"
            )

    def _check_size(self, done: int, url: str) -> None:
        most = _UNKNOWN if self.size is None else 2 * self.size + _MARGIN
        if done > most:
            self.part.unlink(missing_ok=True)
            known = "no known size" if self.size is None else f"{self.size:,}"
            raise WordbiasError(
                f"{self.what}: {_host_of(url)} sends more than {most:,} bytes, but the file has "
                f"{known}; nothing was kept, try another --mirror"
            )

    @property
    def _note_file(self) -> Path:
        return self.part.with_name(f"{self.part.name}.json")

    def _read_note(self) -> _Note:
        try:
            size, version = json.loads(self._note_file.read_text(encoding="utf-8"))
            return _Note(size, version)
        except (OSError, ValueError, TypeError):
            self.part.unlink(missing_ok=True)  # its version is not known
            return _Note()


def _check_room(path: Path, what: str, needed: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise WordbiasError(
            f"{what}: {needed:,} more bytes are needed in {path.parent}, {free:,} are free; make "
            "room, or set WORDBIAS_DATA to a folder elsewhere"
        )


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


# Answers of a web server


def _offset(answer: Any, offset: int, size: int | None) -> int | None:
    """Return the offset of the body; None if the partial download cannot be continued with it."""
    if answer.status_code == 416 and offset:
        return None
    if answer.status_code != 206:
        return 0
    number = rf"(\d{{1,{_DIGITS}}})"
    match = re.fullmatch(rf"bytes {number}-\d+/{number}", answer.headers.get("Content-Range", ""))
    fits = match and int(match[1]) == offset and size in (None, int(match[2]))
    return offset if fits else None


def _size_of(answer: Any, begins: int) -> int | None:
    """Return the size of the whole file, if the answer has it."""
    length = answer.headers.get("Content-Length", "")
    return begins + int(length) if length.isdecimal() and len(length) <= _DIGITS else None


def _version(answer: Any) -> str:
    """Return the strong ETag, or else the date, that identifies this version of the file."""
    tag: str = answer.headers.get("ETag", "")
    date: str = answer.headers.get("Last-Modified", "")
    return tag if tag.startswith('"') else date


def _body(answer: Any, timeout: float) -> Iterator[bytes]:
    """Yield the body, not decompressed, as it arrives; break off where it arrives too slowly."""
    exceptions = need("urllib3.exceptions", extra="data", purpose="Downloading")
    read = getattr(answer.raw, "read1", answer.raw.read)  # urllib3 1 waits for a whole chunk
    begin, arrived = time.monotonic(), 0
    try:
        while chunk := read(_CHUNK, decode_content=False):
            yield chunk
            arrived += len(chunk)
            if time.monotonic() - begin > timeout:
                if arrived < _SLOWEST:
                    raise _Broken(f"{arrived:,} bytes arrived in {timeout:g} seconds")
                begin, arrived = time.monotonic(), 0
    except (exceptions.HTTPError, ConnectionError, TimeoutError) as error:
        raise _Broken(_reason(error)) from None


def _check_answer(answer: Any, what: str, url: str) -> None:
    """Refuse an error, a web page, and a body that is compressed although that was excluded."""
    if answer.status_code not in (200, 206):
        raise WordbiasError(
            f"{what}: {_host_of(url)} answers {answer.status_code} {answer.reason or ''} to {url}; "
            "try again later, or another --mirror"
        )
    if "text/html" in answer.headers.get("Content-Type", ""):
        raise _page(what, url)
    if answer.headers.get("Content-Encoding", "identity") != "identity" and ".gz" not in url:
        raise WordbiasError(
            f"{what}: {_host_of(url)} sends {url} compressed, though asked not to; try another "
            "--mirror"
        )


def _page(what: str, url: str) -> WordbiasError:
    return WordbiasError(
        f"{what}: {_host_of(url)} sends a web page instead of the data at {url}; open that address "
        "in a browser to see what it says, or try another --mirror"
    )


@contextmanager
def _explained(what: str, url: str) -> Iterator[None]:
    """Turn the errors of requests before a body arrives into a `WordbiasError`."""
    errors = need("requests", extra="data", purpose="Downloading").exceptions
    host = _host_of(url)
    try:
        yield
    except errors.TooManyRedirects:
        problem = f"{host} redirects in a circle from {url}"
    except errors.Timeout:
        problem = f"{host} does not answer in time"
    except errors.ConnectionError as error:
        problem = f"{host} cannot be reached ({_reason(error)}); check the network"
    except errors.RequestException as error:
        problem = f"{url} cannot be downloaded ({_reason(error)})"
    else:
        return
    raise WordbiasError(f"{what}: {problem}; try again later, another --mirror, or --from a folder")


def _reason(error: BaseException) -> str:
    """Return the innermost reason of a chain of wrapped exceptions."""
    inner = error.args[-1] if error.args and isinstance(error.args[-1], Exception) else None
    inner = getattr(inner or error, "reason", None) or inner
    if isinstance(inner, Exception) and inner is not error:
        return _reason(inner)
    text = " ".join(str(getattr(error, "strerror", None) or error).split())
    return re.sub(r"^\w+\(.*?\): ", "", text)[:120]  # without the connection's own name


def _host_of(url: str) -> str:
    """Return the host of a URL, for messages."""
    return urlsplit(without_secrets(url)).netloc or url
