"""A server in a thread with OpenAI's /v1/embeddings, which answers well or fails as told."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np
from local_server import running

KEY = "sk-the-secret-of-this-test"
Encode = Callable[[list[str]], Any]


def toy(texts: Sequence[str]) -> Any:
    """Return vectors of texts that depend on nothing but their characters, shape ``(n, 4)``."""
    rows = [
        [len(text), sum(map(ord, text)) / 7, text.count("e"), ord(text[:1] or "-")]
        for text in texts
    ]
    return np.array(rows, np.float32)


def drawn(texts: Sequence[str]) -> Any:
    """Return normal vectors of texts, each by its own seed, shape ``(n, 12)``."""
    seeds = (zlib.crc32(text.encode()) for text in texts)
    return np.stack([np.random.default_rng(seed).normal(size=12) for seed in seeds])


@dataclass(frozen=True)
class Fault:
    """How one request is answered instead.

    `change` changes the answer before it is sent, `cut` sends as many bytes of it although all were
    announced, `drop` closes the connection before anything, `wait` waits until the server ends.
    """

    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    change: Callable[[Any], Any] | None = None
    cut: int | None = None
    drop: bool = False
    wait: bool = False


class Server:
    """What is answered, and what was asked.

    `faults` are used up in turn; `always` is for all requests after them. Without `key` none is
    needed. `answered` are the texts of answers that were sent whole.
    """

    def __init__(self, encode: Encode) -> None:
        self.encode, self.url = encode, ""
        self.faults: list[Fault | None] = []
        self.always: Fault | None = None
        self.key = ""
        self.requests: list[list[str]] = []
        self.answered: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.arrived, self.free = threading.Event(), threading.Event()


@contextmanager
def serving(encode: Encode = toy) -> Iterator[Server]:
    """Run a server as long as the block lasts."""
    server = Server(encode)
    with running(_Handler, told=server) as address:
        server.url = f"{address}/v1"
        try:
            yield server
        finally:
            server.free.set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    told: Server

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.told.requests.append(given["input"])
        self.told.headers.append(dict(self.headers.items()))
        fault = self.told.faults.pop(0) if self.told.faults else self.told.always
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.path != "/v1/embeddings":
            fault = Fault(404, b"{}")
        elif self.told.key and key != self.told.key:
            message = (
                f"Incorrect API key provided: {key}" if key else "You didn't provide an API key"
            )
            fault = Fault(401, json.dumps({"error": {"message": message}}).encode())
        fault = fault or Fault()
        if fault.wait:
            self.told.arrived.set()
            self.told.free.wait(60)
        if fault.drop or fault.wait:
            self.close_connection = True
            return
        self._send(fault, given)

    def _send(self, fault: Fault, given: dict[str, Any]) -> None:
        body = fault.body
        if body is None:
            rows = np.asarray(self.told.encode(given["input"])).tolist()
            data = [{"index": i, "embedding": row} for i, row in enumerate(rows)]
            answer: Any = {"object": "list", "data": data[::-1], "model": given["model"]}
            body = json.dumps(fault.change(answer) if fault.change else answer).encode()
        self.send_response(fault.status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fault.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if fault.status == 200 and fault.cut is None and fault.body is None:
            self.told.answered += given["input"]
        self.wfile.write(body[: fault.cut])
        if fault.cut is not None:
            self.close_connection = True

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""
