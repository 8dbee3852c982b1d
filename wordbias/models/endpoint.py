"""Embeddings of texts from a server: OpenAI's endpoint ``/embeddings``, as others have it.

The key is read from the environment for each request, and is in no message, file or object. It is
sent over an encrypted connection or within this machine alone, and never to where an answer
redirects.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from wordbias import __version__
from wordbias.errors import WordbiasError, first_line, without_secrets

TIMEOUT = 60.0
"""Seconds to wait for more of an answer."""
_PATH = "/embeddings"
_HERE = ("localhost", "127.0.0.1", "::1")
_BUSY = (408, 409, 425, 429)
_MOST = 1 << 22
"""Most bytes of the answer to one text."""
_SHOWN = 200
_EXCERPT = 60
"""Most characters of a server's message, and of an answer that is none."""
_LARGEST = float(np.finfo(np.float32).max)
Float32 = NDArray[np.float32]


class AgainError(Exception):
    """A failure that may pass: the request can be repeated."""

    wait: float | None  # seconds that the server asks to wait; None if it does not say

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


@dataclass(frozen=True)
class Endpoint:
    """A model behind an address."""

    url: str  # address, with or without `/embeddings` at its end
    model: str  # name of the model there
    key_variable: str  # environment variable of the key

    def __post_init__(self) -> None:
        """Refuse an address that cannot be one, or to which no key may be sent."""
        try:
            parts = urlsplit(self.url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            parts, host = None, None
        plain = self.url.isascii() and self.url.isprintable() and " " not in self.url
        if parts is None or parts.scheme not in ("http", "https") or not host or not plain:
            raise WordbiasError(
                f"--endpoint: expected an address such as https://api.openai.com/v1, got "
                f"{without_secrets(self.url)!r}"
            )
        if parts.username is not None or parts.password is not None:
            raise WordbiasError(
                f"--endpoint: {self.safe_url}: has a user name or a password in it; leave it out, "
                f"and put the key into ${self.key_variable}"
            )
        if parts.scheme == "http" and host not in _HERE and self._key():
            raise WordbiasError(
                f"--endpoint: {self.safe_url}: is not encrypted, and the key in "
                f"${self.key_variable} would be sent; use https://, or name an empty "
                "variable with --key-variable"
            )

    @property
    def safe_url(self) -> str:
        """Address in messages and reports."""
        return without_secrets(self.url)

    @property
    def cache_name(self) -> str:
        """Name of its answers in the cache; a hash is in place of a query, which may hold a key."""
        at, query = without_secrets(self._address()), urlsplit(self.url).query
        digest = f" {hashlib.sha256(query.encode()).hexdigest()[:8]}" if query else ""
        return f"{at}{digest} {self.model}"

    @property
    def host(self) -> str:
        """Host and port in messages."""
        return urlsplit(self.safe_url).netloc

    def ask(self, texts: Sequence[str]) -> Float32:
        """Return the vectors of texts, shape ``(n, d)``; raise `AgainError` at what may pass."""
        body = self._post({"model": self.model, "input": list(texts)}, len(texts))
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            if body.lstrip()[:1] in (b"{", b""):
                raise AgainError(f"half an answer, of {len(body):,} bytes") from None
            raise self._odd(f"{self._excerpt(body)}, which is no JSON") from None
        return self._vectors(answer, len(texts))

    def _post(self, sent: dict[str, Any], n: int) -> bytes:
        """Send a request; return the body of the answer."""
        headers = {"Content-Type": "application/json", "User-Agent": f"wordbias/{__version__}"}
        if key := self._key():
            headers["Authorization"] = f"Bearer {key}"
        data = json.dumps(sent).encode()
        request = urllib.request.Request(self._address(), data, headers, method="POST")
        handlers: list[urllib.request.BaseHandler] = [_StayHere()]
        if urlsplit(self.url).hostname in _HERE:
            handlers.append(urllib.request.ProxyHandler({}))
        most = _MOST * (n + 1)
        try:
            with urllib.request.build_opener(*handlers).open(request, timeout=TIMEOUT) as answer:
                body: bytes = answer.read(most)
        except urllib.error.HTTPError as error:
            with error:
                self._refused(error)
        except (OSError, http.client.HTTPException) as error:
            self._failed(error)
        if len(body) == most:
            raise self._odd(f"more than {most:,} bytes")
        return body

    def _address(self) -> str:
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/")
        path = path if path.endswith(_PATH) else path + _PATH
        return parts._replace(path=path, fragment="").geturl()

    def _key(self) -> str:
        """Return the key; empty if there is none."""
        key = os.environ.get(self.key_variable, "").strip()
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise WordbiasError(
                f"${self.key_variable}: holds a character that no key has, such as a space; set it "
                "again"
            )
        return key

    def _refused(self, error: urllib.error.HTTPError) -> NoReturn:
        """Raise the error of a status that is not 200."""
        status, message = error.code, self._server_message(error)
        about = f"{self.host} answers {status}{message}"
        if status in _BUSY or status >= 500:
            raise AgainError(f"answers {status}{message}", _seconds(error.headers)) from None
        remedy = f"expected vectors of {self.model!r}; see what the server takes"
        if status in (401, 403):
            state = "is not set" if not self._key() else "is set, and may be of another account"
            remedy = f"${self.key_variable} {state}; put the key of {self.host} there"
            remedy += ", or name its variable with --key-variable"
        elif 300 <= status < 400:
            where = self._clean(str(error.headers.get("Location", "another address")))
            remedy = f"it redirects to {where}; give that address if you trust it"
        elif status in (404, 405):
            remedy = (
                f"expected {without_secrets(self._address())} to have a model {self.model!r}; "
                "--endpoint is the address before /embeddings, such as https://api.openai.com/v1"
            )
        raise WordbiasError(f"{about}; {remedy}") from None

    def _server_message(self, error: urllib.error.HTTPError) -> str:
        """Return the server's own words, without the key."""
        try:
            body = error.read(_MOST)
        except (OSError, http.client.HTTPException):
            return ""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            return ""
        for name in ("error", "message", "detail"):
            if isinstance(message, dict) and name in message:
                message = message[name]
        if not isinstance(message, str) or not message.strip():
            return ""
        return f": {self._clean(message)[:_SHOWN]}"

    def _failed(self, error: OSError | http.client.HTTPException) -> NoReturn:
        """Raise the error of a connection that failed."""
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, (ConnectionRefusedError, socket.gaierror, ssl.SSLError)):
            what = getattr(reason, "strerror", None) or first_line(reason)
            raise WordbiasError(
                f"{self.host}: cannot be reached ({what}); start the server, or give another "
                "--endpoint"
            ) from None
        if isinstance(reason, TimeoutError):
            raise AgainError(f"no answer in {TIMEOUT:g} seconds") from None
        if isinstance(reason, http.client.IncompleteRead):
            raise AgainError(f"half an answer, of {len(reason.partial):,} bytes") from None
        cause = reason if isinstance(reason, BaseException) else error
        raise AgainError(f"the connection broke ({type(cause).__name__})") from None

    def _vectors(self, answer: Any, n: int) -> Float32:
        """Check an answer; return its vectors in the order of the texts."""
        listed = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(listed, list):
            raise self._odd(f"{self._excerpt(json.dumps(answer).encode())}, which has no list data")
        if len(listed) != n:
            raise self._odd(f"{len(listed):,} vectors for {n:,} texts")
        rows: dict[int, Float32] = {}
        for record in listed:
            index = record.get("index") if isinstance(record, dict) else None
            if not isinstance(index, int) or index not in range(n):
                raise self._odd(f"a vector whose index is none of 0 to {n - 1}")
            if index in rows:
                raise self._odd(f"the index {index} twice")
            row = record.get("embedding")
            if not isinstance(row, list) or not row or not all(map(_is_number, row)):
                raise self._odd(f"no list of numbers for the text of index {index}")
            rows[index] = np.array(list(map(_float, row))).astype(np.float32)
            if not np.isfinite(rows[index]).all():
                raise self._odd(f"a value that is not finite for the text of index {index}")
        if len(lengths := {len(row) for row in rows.values()}) > 1:
            raise self._odd(f"vectors of {' and '.join(map(str, sorted(lengths)))} values")
        return np.stack([rows[i] for i in range(n)])

    def _odd(self, what: str) -> WordbiasError:
        return WordbiasError(
            f"{self.host} answers {what}; expected one vector a text, as OpenAI's /v1/embeddings "
            "gives, so see what the server is"
        )

    def _excerpt(self, body: bytes) -> str:
        return repr(self._clean(body[:_MOST].decode("utf-8", "replace"))[:_EXCERPT])

    def _clean(self, text: str) -> str:
        """Return a text of the server on one line, without the key and what an address hides."""
        key = self._key()
        text = " ".join((text.replace(key, "***") if key else text).split())
        return without_secrets(text)


class _StayHere(urllib.request.HTTPRedirectHandler):
    """Follows no redirection, along which urllib would send the key."""

    def redirect_request(self, *_: Any) -> None:
        """Make the redirection an error."""


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _float(value: float) -> float:
    """Return a number, infinite where it is too large."""
    return value if abs(value) <= _LARGEST else float("inf")


def _seconds(headers: Any) -> float | None:
    """Return the seconds of Retry-After, which may be a date; None if there is none."""
    from email.utils import parsedate_to_datetime
    from time import time

    given = str(headers.get("Retry-After", "")).strip()
    if given.replace(".", "", 1).isdecimal():
        return float(given)
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - time())
    except (ValueError, TypeError, IndexError):
        return None
