"""Downloads that are interrupted go on; what is no data never counts as data."""

from __future__ import annotations

import errno
import hashlib
import shutil
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from resource_server import Answer, Server

from wordbias.errors import WordbiasError
from wordbias.resources import http
from wordbias.resources.http import ResumingDownloader

BODY = hashlib.shake_128(b"any bytes").digest(700_000)
PATH = "/set/data.bin"


def _get(server: Server, tmp_path: Path, timeout: float = 600, checked: bool = True) -> bytes:
    out = tmp_path / "out"
    get = ResumingDownloader(tmp_path / "data.part", "the set", checked, timeout)
    get(server.url + PATH, str(out), None)
    assert not (tmp_path / "data.part").exists()
    assert not (tmp_path / "data.part.json").exists()
    return out.read_bytes()


def _refused(server: Server, tmp_path: Path, timeout: float = 600) -> str:
    with pytest.raises(WordbiasError) as caught:
        _get(server, tmp_path, timeout)
    assert not (tmp_path / "out").exists()
    message = str(caught.value)
    assert message.startswith("the set: ")
    assert "\n" not in message
    return message


def test_a_download_is_what_was_sent(server: Server, tmp_path: Path) -> None:
    server.put(PATH, BODY)
    assert _get(server, tmp_path) == BODY
    assert server.ranges() == [None]


@pytest.mark.parametrize("etag", ['"v1"', ""])
@given(cuts=st.lists(st.integers(1, len(BODY) - 1), min_size=1, max_size=2))
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_wherever_it_breaks_off_the_rest_is_joined(
    server: Server, tmp_path: Path, etag: str, cuts: list[int]
) -> None:
    server.requests.clear()
    broken = [Answer(BODY, etag=etag, stop=cut) for cut in cuts]
    server.put(PATH, *broken, Answer(BODY, etag=etag))
    assert _get(server, tmp_path) == BODY
    begins = [0, *(max(cuts[: i + 1]) for i in range(len(cuts)))]
    assert server.ranges() == [f"bytes={begin}-" if begin else None for begin in begins]


def test_after_three_broken_connections_the_next_call_resumes(
    server: Server, tmp_path: Path
) -> None:
    cut = 300_000
    server.put(PATH, Answer(BODY, etag='"v1"', stop=cut))
    message = _refused(server, tmp_path)
    assert f"{cut:,} bytes are kept, the same call resumes from there" in message
    server.put(PATH, Answer(BODY, etag='"v1"'))
    server.requests.clear()
    assert _get(server, tmp_path) == BODY
    assert server.ranges() == [f"bytes={cut}-"]


def test_a_part_that_is_whole_needs_no_request(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data.part").write_bytes(BODY)
    (tmp_path / "data.part.json").write_text(f'[{len(BODY)}, ""]')
    assert _get(server, tmp_path) == BODY
    assert server.requests == []


def test_without_ranges_it_begins_again(server: Server, tmp_path: Path) -> None:
    server.put(PATH, Answer(BODY, ranges=False, stop=300_000), Answer(BODY, ranges=False))
    assert _get(server, tmp_path) == BODY
    assert server.ranges() == [None, "bytes=300000-"]


OTHER = BODY[::-1]
VERSIONS = [
    (Answer(BODY, etag='"v1"'), Answer(OTHER, etag='"v2"')),
    (Answer(BODY, etag='"v1"'), Answer(OTHER + b"more", etag='"v2"')),
    (Answer(BODY, etag='"v1"'), Answer(OTHER)),
    (Answer(BODY, etag='W/"weak"'), Answer(OTHER, etag='W/"weak"')),
    (Answer(BODY), Answer(OTHER)),
]


@pytest.mark.parametrize(("old", "new"), VERSIONS)
def test_two_versions_are_never_joined(
    server: Server, tmp_path: Path, old: Answer, new: Answer
) -> None:
    server.put(PATH, replace(old, stop=300_000), new)
    assert _get(server, tmp_path, checked=False) == new.body


def test_a_note_is_never_beside_the_part_of_another_version(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.put(PATH, Answer(BODY, etag='"v1"', stop=300_000))
    _refused(server, tmp_path)
    server.put(PATH, Answer(OTHER, etag='"v2"'))
    written = Path.write_text

    def killed(path: Path, text: str, **options: Any) -> int:
        written(path, text, **options)
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", killed)
        with pytest.raises(SystemExit):
            _get(server, tmp_path, checked=False)
    assert _get(server, tmp_path, checked=False) == OTHER


def test_two_sizes_are_not_joined_either(server: Server, tmp_path: Path) -> None:
    server.put(PATH, Answer(BODY, stop=300_000), Answer(OTHER + b"more"))
    assert _get(server, tmp_path) == OTHER + b"more"


def test_a_date_is_as_good_as_a_tag(server: Server, tmp_path: Path) -> None:
    dated = Answer(BODY, headers={"Last-Modified": "Thu, 01 Jan 2015 00:00:00 GMT"})
    server.put(PATH, replace(dated, stop=300_000), dated)
    assert _get(server, tmp_path, checked=False) == BODY
    assert server.conditions == [None, "Thu, 01 Jan 2015 00:00:00 GMT"]


def test_a_part_without_its_note_is_not_used(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data.part").write_bytes(b"of something else")
    server.put(PATH, BODY)
    assert _get(server, tmp_path) == BODY
    assert server.ranges() == [None]


@pytest.mark.parametrize(
    "wrong",
    [
        Answer(BODY, headers={"Content-Range": f"bytes 5-{len(BODY) - 1}/{len(BODY)}"}),
        Answer(BODY, headers={"Content-Range": "nonsense"}),
        Answer(b"", 416),
    ],
)
def test_a_response_that_does_not_fit_the_part_is_requested_again(
    server: Server, tmp_path: Path, wrong: Answer
) -> None:
    server.put(PATH, Answer(BODY, stop=300_000), wrong, Answer(BODY))
    assert _get(server, tmp_path) == BODY
    assert server.ranges() == [None, "bytes=300000-", None]


def test_a_body_without_a_length_is_taken_as_it_comes(server: Server, tmp_path: Path) -> None:
    server.put(PATH, Answer(BODY, length=False))
    assert _get(server, tmp_path) == BODY


@pytest.mark.parametrize("length", [True, False])
def test_a_body_without_end_does_not_fill_the_disk(
    server: Server, tmp_path: Path, length: bool
) -> None:
    server.put(PATH, Answer(BODY * 3, length=length))
    get = ResumingDownloader(tmp_path / "data.part", "the set", True, 5, size=1000)
    with pytest.raises(WordbiasError, match="but the file has 1,000; nothing was kept"):
        get(server.url + PATH, str(tmp_path / "out"), None)
    assert not (tmp_path / "data.part").exists()
    assert not (tmp_path / "out").exists()
    replace(get, size=2 * len(BODY))(server.url + PATH, str(tmp_path / "out"), None)
    assert (tmp_path / "out").read_bytes() == BODY * 3


@pytest.mark.parametrize("status", [403, 404, 416, 500, 503])
def test_an_error_of_the_server_is_named(server: Server, tmp_path: Path, status: int) -> None:
    server.put(PATH, Answer(b"<html>sorry</html>", status))
    message = _refused(server, tmp_path)
    assert f" answers {status} " in message
    assert PATH in message
    assert not (tmp_path / "data.part").exists()


PAGES = [
    Answer(b"a,b\n", headers={"Content-Type": "text/html; charset=utf-8"}),
    Answer(b"\xef\xbb\xbf\n <!DOCTYPE html><title>Sign in</title>"),
    Answer(b"<HTML><body>quota exceeded"),
    Answer(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
]


@pytest.mark.parametrize("page", PAGES)
def test_a_web_page_is_not_data(server: Server, tmp_path: Path, page: Answer) -> None:
    server.put(PATH, page)
    assert "sends a web page instead of the data" in _refused(server, tmp_path)
    server.put(PATH, BODY)
    assert _get(server, tmp_path) == BODY


def test_compression_that_was_not_requested_is_refused(server: Server, tmp_path: Path) -> None:
    server.put(PATH, Answer(b"\x1f\x8b", headers={"Content-Encoding": "gzip"}))
    assert "compressed, though asked not to" in _refused(server, tmp_path)


def test_a_circle_of_redirects_ends(server: Server, tmp_path: Path) -> None:
    server.put(PATH, Answer(b"", 302, {"Location": "/other"}))
    server.put("/other", Answer(b"", 302, {"Location": PATH}))
    assert "redirects in a circle" in _refused(server, tmp_path)


def test_a_redirect_is_followed(server: Server, tmp_path: Path) -> None:
    server.put(PATH, Answer(b"", 302, {"Location": "/other"}))
    server.put("/other", BODY)
    assert _get(server, tmp_path) == BODY


def test_silence_has_an_end(server: Server, tmp_path: Path) -> None:
    server.put(PATH, Answer(BODY, hang=0))
    assert "broke off 3 times" in _refused(server, tmp_path, timeout=0.2)


def test_a_trickle_of_bytes_has_an_end(server: Server, tmp_path: Path) -> None:
    """Each byte is an answer in time, but the whole file would take a day."""
    server.put(PATH, Answer(BODY, etag='"v1"', pause=0.02, chunk=1))
    message = _refused(server, tmp_path, timeout=0.2)
    assert "bytes arrived in 0.2 seconds" in message
    assert "are kept" in message


def test_without_a_known_size_a_download_has_an_end(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_UNKNOWN", 1000)
    server.put(PATH, Answer(BODY, length=False))
    assert "sends more than 1,000 bytes" in _refused(server, tmp_path)
    assert not (tmp_path / "data.part").exists()


def test_a_size_of_thousands_of_digits_is_none(server: Server, tmp_path: Path) -> None:
    server.put(PATH, Answer(BODY, length=False, headers={"Content-Length": "9" * 5000}))
    assert _get(server, tmp_path) == BODY


def test_a_hanging_server_leaves_what_it_sent(server: Server, tmp_path: Path) -> None:
    server.put(PATH, Answer(BODY, etag='"v1"', hang=600_000))
    assert "bytes are kept" in _refused(server, tmp_path, timeout=0.2)
    size = (tmp_path / "data.part").stat().st_size
    assert 0 < size <= 600_000
    assert (tmp_path / "data.part").read_bytes() == BODY[:size]


def test_no_server_at_all(tmp_path: Path) -> None:
    server = Server()
    with socket.socket() as held:  # a port that is taken, and where nobody listens
        held.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{held.getsockname()[1]}"
        server.url = f"http://{host}"
        message = _refused(server, tmp_path)
    assert f"{host} cannot be reached (" in message
    assert "check the network; try again later, another --mirror, or --from a folder" in message


def test_an_address_that_is_none(tmp_path: Path) -> None:
    server = Server()
    server.url = "nowhere://host"
    assert "nowhere://host" in _refused(server, tmp_path)


class _Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_a_disk_too_small_is_refused_before_it_is_full(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.put(PATH, BODY)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: _Usage(10, 9, 1))
    message = _refused(server, tmp_path)
    assert "700,000 more bytes are needed" in message
    assert "1 are free" in message


def test_after_an_error_of_the_disk_the_part_is_still_there(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.put(PATH, Answer(BODY, etag='"v1"'))
    opened = Path.open

    class Full:
        """A file on a disk that is full after the first chunk."""

        def __init__(self, file: Any) -> None:
            self.file, self.writes = file, 0

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *error: object) -> None:
            self.file.close()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def write(self, chunk: bytes) -> int:
            self.writes += 1
            if self.writes == 2:
                raise OSError(errno.ENOSPC, "No space left on device")
            return int(self.file.write(chunk))

    def full(path: Path, mode: str = "r", *more: Any, **options: Any) -> Any:
        file = opened(path, mode, *more, **options)
        return Full(file) if path.suffix == ".part" else file

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", full)
        with pytest.raises(OSError, match="No space left"):
            _get(server, tmp_path)
    received = (tmp_path / "data.part").read_bytes()
    assert received == BODY[: len(received)] != b""
    assert _get(server, tmp_path) == BODY
    assert server.ranges()[-1] == f"bytes={len(received)}-"
