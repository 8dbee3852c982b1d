"""What a web server answers: which part of which version it sends, and whether it is data.

Downloading over HTTP so that an interrupted download goes on from where it was.

pooch asks a downloader to write a URL to a file, and checks the file's hash; it does not resume.
This one keeps what has arrived in a file of its own, beside a note of which version it is a part
of, and asks for the rest with ``Range`` and ``If-Range`` (RFC 9110, sections 13.1.5 and 14).
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from wordbias import __version__
from wordbias.errors import Interrupted, WordbiasError, need
from wordbias.formats.files import rename, sync_file
from wordbias.formats.source import is_web_page
from wordbias.progress import progress

_CHUNK = 1 << 16  # the most that a kill loses


class Broken(Exception):
    """The connection ended early; what has arrived is kept."""


def begin(answer: Any, offset: int, size: int | None) -> int | None:
    """Return where the body begins; None if it cannot be joined to what is there."""
    if answer.status_code == 416 and offset:
        return None
    if answer.status_code != 206:
        return 0
    match = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", answer.headers.get("Content-Range", ""))
    fits = match and int(match[1]) == offset and size in (None, int(match[2]))
    return offset if fits else None


def size_of(answer: Any, begins: int) -> int | None:
    """Return the bytes of the whole file, if the answer announces them."""
    length = answer.headers.get("Content-Length", "")
    return begins + int(length) if length.isdecimal() else None


def version(answer: Any) -> str:
    """Return the strong ETag, or the date, by which the server knows this version again."""
    tag: str = answer.headers.get("ETag", "")
    date: str = answer.headers.get("Last-Modified", "")
    return tag if tag.startswith('"') else date


def body(answer: Any) -> Iterator[bytes]:
    """Yield the body as it was sent."""
    exceptions = need("urllib3.exceptions", extra="data", purpose="Downloading")
    try:
        yield from answer.raw.stream(_CHUNK, decode_content=False)
    except (exceptions.HTTPError, ConnectionError, TimeoutError) as error:
        raise Broken(_reason(error)) from None


def check_answer(answer: Any, what: str, url: str) -> None:
    """Refuse an error, a web page, and a body that is compressed behind our back."""
    if answer.status_code not in (200, 206):
        raise WordbiasError(
            f"{what}: {host_of(url)} answers {answer.status_code} {answer.reason or ''} to {url}; "
            "try again later, or another --mirror"
        )
    if "text/html" in answer.headers.get("Content-Type", ""):
        raise _page(what, url)
    if answer.headers.get("Content-Encoding", "identity") != "identity" and ".gz" not in url:
        raise WordbiasError(
            f"{what}: {host_of(url)} sends {url} compressed, though asked not to; try another "
            "--mirror"
        )


def check_data(beginning: bytes, what: str, url: str) -> None:
    """Refuse a body that begins as a web page does, whatever its header says."""
    if is_web_page(beginning):
        raise _page(what, url)


def _page(what: str, url: str) -> WordbiasError:
    return WordbiasError(
        f"{what}: {host_of(url)} sends a web page instead of the data at {url}; open that address "
        "in a browser to see what it says, or try another --mirror"
    )


@contextmanager
def explained(what: str, url: str) -> Iterator[None]:
    """Turn what requests raises before a body arrives into one line."""
    errors = need("requests", extra="data", purpose="Downloading").exceptions
    host = host_of(url)
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
    """Return the innermost reason that a chain of wrapped exceptions gives."""
    inner = error.args[-1] if error.args and isinstance(error.args[-1], Exception) else None
    inner = getattr(inner or error, "reason", None) or inner
    if isinstance(inner, Exception) and inner is not error:
        return _reason(inner)
    text = " ".join(str(getattr(error, "strerror", None) or error).split())
    return re.sub(r"^\w+\(.*?\): ", "", text)[:120]  # without the connection's own name


def host_of(url: str) -> str:
    """Return the host of a URL, for messages."""
    return urlsplit(url).netloc or url


_ATTEMPTS = 3
_MARGIN = 1 << 20


class _Note(NamedTuple):
    """Which version of a file the part is of: its size and its ETag or date, where told."""

    size: int | None = None
    version: str = ""


@dataclass(frozen=True)
class Resuming:
    """A downloader for pooch.

    Attributes
    ----------
    part
        Where to keep what has arrived.
    what
        What the progress and the errors call it.
    checked
        Whether the hash of the whole is known. If it is not, and the server gives its versions
        neither a tag nor a date, two of them could be joined: it begins again instead.
    timeout
        Seconds without any answer after which the connection counts as broken.
    size
        Bytes that are expected, where known. What sends far more is stopped; a little more is for
        the hash to judge, as files of no fixed version grow.
    """

    part: Path
    what: str
    checked: bool = False
    timeout: float = 60
    size: int | None = None

    def __call__(self, url: str, output_file: str, pooch: object, check_only: bool = False) -> None:
        """Download `url` to `output_file`, from where the last call was interrupted.

        Raises
        ------
        WordbiasError
            If the server cannot be reached, has no such file, sends a web page, or breaks off for
            the third time; if the disk is too small.
        """
        with explained(self.what, url):
            for left in reversed(range(_ATTEMPTS)):
                try:
                    self._download(url)
                    break
                except Broken as error:
                    if not left:
                        raise WordbiasError(self._broken(url, error)) from None
                finally:
                    self._drop_empty()
        with self.part.open("r+b") as file:
            sync_file(file)
        rename(self.part, Path(output_file))
        self._note_file.unlink(missing_ok=True)

    def _drop_empty(self) -> None:
        """Remove a part that is empty, which nothing can go on from, and the note of what it is."""
        if self.part.is_file() and not _size(self.part):
            self.part.unlink()
            self._note_file.unlink(missing_ok=True)

    def _download(self, url: str) -> None:
        """Get what is missing, or all of it if the server has another version by now."""
        note = self._read_note()
        offset = _size(self.part) if note.version or self.checked else 0
        if offset and offset == note.size:
            return
        with self._answer(url, offset, note) as answer:
            begins = begin(answer, offset, note.size)
            if begins is None:
                self.part.unlink(missing_ok=True)
                raise Broken("it had another version of the file")
            check_answer(answer, self.what, url)
            total = size_of(answer, begins)
            if not begins:
                self.part.unlink(missing_ok=True)  # before the note says what it is a part of
                note = _Note(total, version(answer))
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
        """Append the body to the part."""
        done = begins
        chunks = body(answer)
        with (
            self.part.open("ab") as file,
            progress(self.what, total) as bar,
        ):
            bar.update(begins)
            _check_room(self.part, self.what, (total or 0) - begins)
            try:
                for chunk in chunks:
                    if not done:
                        check_data(chunk, self.what, url)
                    self._check_size(done + len(chunk), url)
                    file.write(chunk)
                    done += len(chunk)
                    bar.update(len(chunk))
            except KeyboardInterrupt:
                kept = f"{self.what}: {done:,} bytes are kept; the same call goes on from there"
                raise Interrupted(kept) from None
        if total is not None and done != total:
            raise Broken(f"{done:,} of {total:,} bytes arrived")
        if not done:
            raise WordbiasError(
                f"{self.what}: {host_of(url)} gives an empty answer to {url}; try again later, "
                "another --mirror, or --from a folder"
            )

    def _check_size(self, done: int, url: str) -> None:
        if self.size is not None and done > 2 * self.size + _MARGIN:
            self.part.unlink(missing_ok=True)
            raise WordbiasError(
                f"{self.what}: {host_of(url)} sends more than {done:,} bytes, but the file has "
                f"{self.size:,}; nothing was kept, try another --mirror"
            )

    def _broken(self, url: str, error: Broken) -> str:
        return (
            f"{self.what}: {host_of(url)} broke off {_ATTEMPTS} times ({error}); "
            f"{_size(self.part):,} bytes are kept, the same call goes on from there"
        )

    @property
    def _note_file(self) -> Path:
        return self.part.with_name(f"{self.part.name}.json")

    def _read_note(self) -> _Note:
        try:
            size, version = json.loads(self._note_file.read_text(encoding="utf-8"))
            return _Note(size, version)
        except (OSError, ValueError, TypeError):
            self.part.unlink(missing_ok=True)  # a part of what nobody knows
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
