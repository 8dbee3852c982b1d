"""What a web server answers: which part of which version it sends, and whether it is data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from wordbias.errors import WordbiasError
from wordbias.formats.foreign import is_web_page
from wordbias.optional import need

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
