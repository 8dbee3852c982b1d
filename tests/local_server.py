"""A server of this machine in a thread, for as long as a block lasts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Quiet(ThreadingHTTPServer):
    """Thinks nothing of clients that leave early, which killed ones do."""

    daemon_threads = True

    def handle_error(self, *arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def running(handler: type[BaseHTTPRequestHandler], **told: Any) -> Iterator[str]:
    """Yield the address of a server, whose handler has attributes of its own."""
    httpd = _Quiet(("127.0.0.1", 0), type("Handler", (handler,), told))
    threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{httpd.server_port}"
    finally:
        httpd.shutdown()
        httpd.server_close()
