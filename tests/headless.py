"""A real headless browser, spoken to over a pipe: Chromium's own protocol, no package needed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_ON_PIPES = """
import os, sys
from fcntl import F_DUPFD, fcntl
ends = [fcntl(int(end), F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Chromium reads what it is asked from descriptor 3 and answers on 4."""
_SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)


class Browser:
    """One page of a headless Chromium; what goes wrong on it is collected in `errors`."""

    def __init__(self) -> None:
        program = next((path for name in NAMES if (path := shutil.which(name))), None)
        if program is None or os.name == "nt":
            pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._number, self._buffer, self._session = 0, b"", ""
        self._closing = ExitStack()
        try:
            self._start(program)
            self._attach()
        except BaseException:
            self._closing.close()
            raise

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.close()

    def _start(self, found: str) -> None:
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._closing.callback(folder.cleanup)
        self._read, theirs_out = os.pipe()
        theirs_in, self._write = os.pipe()
        self._closing.callback(os.close, self._read)
        self._closing.callback(os.close, self._write)
        starter = [sys.executable, "-c", _ON_PIPES, str(theirs_in), str(theirs_out)]
        process = subprocess.Popen(
            [*starter, found, *_SWITCHES, f"--user-data-dir={folder.name}", "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._closing.callback(process.wait)
        self._closing.callback(process.kill)
        os.close(theirs_in)
        os.close(theirs_out)

    def _attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """Call a method of the protocol and wait for its result."""
        self._number += 1
        request: dict[str, Any] = {"id": self._number, "method": method, "params": arguments}
        if self._session:
            request["sessionId"] = self._session
        os.write(self._write, json.dumps(request).encode() + b"\0")
        while True:
            answer = self._answer()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer)
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, path: Path) -> None:
        """Load a file and wait until it is there."""
        self.call("Page.navigate", url=path.resolve().as_uri())
        while self.evaluate("document.readyState") != "complete":
            time.sleep(0.01)

    def show(self, width: int, *, dark: bool = False, media: str = "screen") -> None:
        """Give the window a width, and the reader a taste."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=media, features=scheme)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """Write the whole page as a PNG."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def pdf(self) -> bytes:
        """Print the page."""
        return base64.b64decode(self.call("Page.printToPDF")["data"])

    def _answer(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 20)
            assert part, "the browser ended"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(line)
        self._collect(answer)
        return answer

    def _collect(self, answer: dict[str, Any]) -> None:
        method, params = answer.get("method"), answer.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.errors.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
