"""A web server in a thread that behaves as told: well, or in the ways that servers fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from local_server import running


@dataclass(frozen=True)
class Answer:
    """How one request is answered.

    `stop` cuts the body there although all of it was announced, `hang` stops sending there but
    holds the connection; `ranges` is whether Range is understood; `headers` come on top; `length`
    is whether the size is announced; `pause` is a rest in seconds before every `chunk` of bytes.
    """

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    ranges: bool = True
    etag: str = ""
    stop: int | None = None
    hang: int | None = None
    length: bool = True
    pause: float = 0
    chunk: int = 1 << 16


class Server:
    """Answers for paths: the answers of a list in turn, the last of them from then on."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.conditions: list[str | None] = []
        self.free = threading.Event()
        self.url = ""

    def put(self, path: str, *answers: Answer | bytes) -> str:
        """Serve something under a path; return its URL."""
        self.answers[path] = [Answer(a) if isinstance(a, bytes) else a for a in answers]
        return f"{self.url}{path}"

    def ranges(self) -> list[str | None]:
        """Return the Range header of every request so far."""
        return [range_header for _, range_header in self.requests]


@contextmanager
def serving() -> Iterator[Server]:
    """Run a server as long as the block lasts."""
    server = Server()
    with running(_Handler, told=server) as server.url:
        try:
            yield server
        finally:
            server.free.set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    told: Server

    def do_GET(self) -> None:
        self.told.requests.append((self.path, self.headers.get("Range")))
        self.told.conditions.append(self.headers.get("If-Range"))
        answers = self.told.answers.get(self.path) or [Answer(b"gone", 404)]
        self._send(answers.pop(0) if len(answers) > 1 else answers[0])

    def _send(self, answer: Answer) -> None:
        begin = self._begin(answer)
        status = 206 if begin and answer.status == 200 else answer.status
        body = answer.body[begin:]
        self.send_response(status)
        if answer.etag:
            self.send_header("ETag", answer.etag)
        if status == 206 and "Content-Range" not in answer.headers:
            size = len(answer.body)
            self.send_header("Content-Range", f"bytes {begin}-{size - 1}/{size}")
        if answer.length:
            self.send_header("Content-Length", str(len(body)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self._write(answer, body, begin)

    def _begin(self, answer: Answer) -> int:
        """Return where to begin: not at 0 only if asked for this very version."""
        range_header = self.headers.get("Range")
        ours = answer.etag or answer.headers.get("Last-Modified")
        version = self.headers.get("If-Range", ours)
        if range_header is None or not answer.ranges or version != ours:
            return 0
        return int(range_header.removeprefix("bytes=").removesuffix("-"))

    def _write(self, answer: Answer, body: bytes, begin: int) -> None:
        cut = answer.stop if answer.hang is None else answer.hang
        body = body if cut is None else body[: max(0, cut - begin)]
        for i in range(0, len(body), answer.chunk):
            time.sleep(answer.pause)
            self.wfile.write(body[i : i + answer.chunk])
            self.wfile.flush()
        if answer.hang is not None:
            self.told.free.wait(30)
        if cut is not None or not answer.length:
            self.close_connection = True

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""
