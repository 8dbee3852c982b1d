"""What is fetched is whole, verified and in its place, or nothing has changed."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import sys
import zipfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from resource_server import Answer, Server

from wordbias.errors import WordbiasError
from wordbias.formats.files import locked
from wordbias.resources import Fetched, FetchOptions, Resource, available, fetch
from wordbias.resources.catalogue import catalogue, read_group

TEXT = b"he:she\tdog:cat\n" * 40
ABOUT = {"title": "a set", "licence": "MIT", "citation": "Someone (2020)"}


def _sha(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def _resource(server: Server, **about: Any) -> Resource:
    (resource,) = read_group("set", {**ABOUT, "url": f"{server.url}/d/set.txt", **about})
    return resource


def _fetch(*resources: Resource, **options: Any) -> list[Fetched]:
    return list(fetch(resources, FetchOptions(**options)))


def _refused(*resources: Resource, **options: Any) -> str:
    with pytest.raises(WordbiasError) as caught:
        _fetch(*resources, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def _tree(folder: Path) -> set[str]:
    """Return the files that are there, without the locks and folders."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_file_is_put_in_its_place_and_recorded(server: Server, data: Path) -> None:
    server.put("/d/set.txt", TEXT)
    resource = _resource(server, hash=_sha(TEXT))
    (fetched,) = _fetch(resource)
    assert fetched.path == data / "set" / "set.txt"
    assert fetched.path.read_bytes() == TEXT
    assert fetched.new
    record = json.loads((data / "set" / ".fetched.json").read_text())
    assert record["sha256"] == [hashlib.sha256(TEXT).hexdigest()]
    assert record["files"] == {"set.txt": len(TEXT)}
    assert _tree(data) == {"set/set.txt", "set/.fetched.json"}


def test_what_is_there_is_not_downloaded_again(server: Server) -> None:
    server.put("/d/set.txt", TEXT)
    resource = _resource(server)
    _fetch(resource)
    (fetched,) = _fetch(resource)
    assert not fetched.new
    assert len(server.requests) == 1
    assert [download.new for download in _fetch(resource, again=True)] == [True]


@pytest.mark.parametrize("damage", ["", TEXT.decode() + "x"])
def test_what_lost_its_size_counts_as_not_there(server: Server, damage: str) -> None:
    server.put("/d/set.txt", TEXT)
    resource = _resource(server)
    (fetched,) = _fetch(resource)
    fetched.path.write_text(damage)
    assert available(resource) is None
    _fetch(resource)
    assert fetched.path.read_bytes() == TEXT


def test_data_of_another_address_is_fetched_anew(server: Server) -> None:
    server.put("/d/set.txt", TEXT)
    server.put("/e/set.txt", b"of a later release")
    _fetch(_resource(server))
    later = _resource(server, url=f"{server.url}/e/set.txt")
    assert available(later) is None
    assert _fetch(later)[0].path.read_bytes() == b"of a later release"


def test_what_another_process_fetched_meanwhile_is_used(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.put("/d/set.txt", TEXT)
    resource = _resource(server)

    def after_it(path: Path) -> AbstractContextManager[None]:
        monkeypatch.undo()
        monkeypatch.setenv("WORDBIAS_DATA", str(path.parent.parent))
        _fetch(resource)
        return nullcontext()

    monkeypatch.setattr("wordbias.resources.fetching.locked", after_it)
    assert not _fetch(resource)[0].new
    assert len(server.requests) == 1


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
def test_a_wrong_checksum_leaves_nothing(server: Server, data: Path, algorithm: str) -> None:
    server.put("/d/set.txt", TEXT + b"!")
    right, wrong = (hashlib.new(algorithm, x).hexdigest() for x in (TEXT, TEXT + b"!"))
    message = _refused(_resource(server, hash=f"{algorithm}:{right}"))
    assert message.startswith(f"set: {server.url}/d/set.txt is not the file that was published: ")
    assert f"expected {algorithm} {right[:16]}…, found {wrong[:16]}…" in message
    assert _tree(data) == set()
    server.put("/d/set.txt", TEXT)
    assert _fetch(_resource(server, hash=f"{algorithm}:{right}"))[0].new


def test_without_a_known_hash_the_first_download_decides(server: Server) -> None:
    server.put("/d/set.txt", TEXT)
    resource = _resource(server)
    (fetched,) = _fetch(resource)
    server.put("/d/set.txt", b"other")
    message = _refused(resource, again=True)
    assert "is not the file that was recorded on " in message
    assert fetched.path.read_bytes() == TEXT
    assert available(resource) == fetched.record


def test_members_of_one_archive_are_downloaded_once(server: Server, data: Path) -> None:
    ours = {"in/a_v1.txt": b"aa", "in/b.txt": TEXT, "in/c.txt": b"cc"}
    packed = _zipped({**ours, "old/b.txt": b"older", "__MACOSX/in/c.txt": b"junk"})
    server.put("/d/set.zip", packed)
    table = {**ABOUT, "url": f"{server.url}/d/set.zip", "hash": _sha(packed)}
    members = {"a": "a_*.txt", "b": "in/b.txt", "c": "c.txt"}
    downloads = _fetch(*read_group("set", {**table, "members": members}))
    assert [download.path.read_bytes() for download in downloads] == [b"aa", TEXT, b"cc"]
    assert _tree(data) == {
        f"{name}/{file}" for name in "abc" for file in (f"{name}.txt", ".fetched.json")
    }
    assert len(server.requests) == 1


def test_a_kept_archive_serves_the_next_member(server: Server, data: Path) -> None:
    server.put("/d/set.zip", _zipped({"a.txt": b"aa", "b.txt": b"bb"}))
    table = {**ABOUT, "url": f"{server.url}/d/set.zip", "members": {"a": "a.txt", "b": "b.txt"}}
    a, b = read_group("set", table)
    _fetch(a, keep=True)
    server.answers.clear()
    assert _fetch(b)[0].path.read_bytes() == b"bb"
    assert len(server.requests) == 1
    assert not any(path.startswith(".downloads") for path in _tree(data))


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"x.txt": b""}, "found 0; it holds x.txt"),
        ({"p/a.txt": b"", "q/a.txt": b""}, "found 2; it holds p/a.txt, q/a.txt"),
        ({f"{i}.txt": b"" for i in range(12)}, "7.txt, …"),
        ({}, "it holds nothing"),
    ],
)
def test_an_archive_without_the_member(
    server: Server, data: Path, members: dict[str, bytes], said: str
) -> None:
    server.put("/d/set.zip", _zipped(members))
    (a,) = read_group("set", {**ABOUT, "url": f"{server.url}/d/set.zip", "members": {"a": "a.txt"}})
    message = _refused(a)
    assert message.startswith("a: expected one a.txt in the archive, found ")
    assert said in message
    assert not (data / "a").exists()


def test_a_damaged_archive(server: Server, data: Path) -> None:
    packed = bytearray(_zipped({"a.txt": TEXT}))
    packed[45] ^= 0xFF
    for bad in (bytes(packed), b"no archive at all"):
        server.put("/d/set.zip", bad)
        table = {**ABOUT, "url": f"{server.url}/d/set.zip", "members": {"a": "a.txt"}}
        assert "set.zip is damaged or is no archive" in _refused(*read_group("set", table))
        assert _tree(data) == set()


def test_gzip_is_unpacked_where_that_is_wanted(server: Server, data: Path) -> None:
    packed = gzip.compress(TEXT)
    server.put("/d/set.txt", packed)
    (fetched,) = _fetch(_resource(server, keep="set.bin", gunzip=True))
    assert fetched.path == data / "set" / "set.bin"
    assert fetched.path.read_bytes() == TEXT
    server.put("/d/set.txt", packed[:-9])
    damaged = _resource(server, keep="set.bin", gunzip=True, hash=_sha(packed[:-9]))
    assert "is damaged" in _refused(damaged, again=True)
    assert fetched.path.read_bytes() == TEXT


def test_files_of_one_set_are_kept_in_one_folder(server: Server, data: Path) -> None:
    server.put("/d/x/dev.csv", b"x")
    server.put("/d/y/dev.csv", b"yy")
    server.put("/z/z.json", b"zzz")
    files = ["x/dev.csv", "y/dev.csv", f"{server.url}/z/z.json"]
    resource = _resource(server, url=f"{server.url}/d/", files=files)
    (fetched,) = _fetch(resource)
    assert fetched.path == data / "set"
    assert (fetched.path / "x" / "dev.csv").read_bytes() == b"x"
    assert (fetched.path / "y" / "dev.csv").read_bytes() == b"yy"
    assert (fetched.path / "z.json").read_bytes() == b"zzz"
    assert _fetch(resource, again=True)[0].new
    server.put("/d/y/dev.csv", b"changed")
    assert "is not the file that was recorded on" in _refused(resource, again=True)
    assert (fetched.path / "y" / "dev.csv").read_bytes() == b"yy"


def test_a_set_that_lacks_one_file_is_not_there(server: Server, data: Path) -> None:
    server.put("/d/x.csv", b"x")
    resource = _resource(server, url=f"{server.url}/d/", files=["x.csv", "y.csv"])
    assert " answers 404 " in _refused(resource)
    assert available(resource) is None
    assert not (data / "set").exists()
    server.put("/d/y.csv", b"y")
    server.requests.clear()
    _fetch(resource)
    assert server.requests == [("/d/y.csv", None)]


def test_a_mirror_replaces_the_host(server: Server) -> None:
    server.put("/copy/d/set.txt", TEXT)
    (resource,) = read_group("set", {**ABOUT, "url": "https://gone.invalid/d/set.txt"})
    (fetched,) = _fetch(resource, mirror=f"{server.url}/copy/")
    assert fetched.record.origin == f"{server.url}/copy/d/set.txt"
    assert fetched.record.url == "https://gone.invalid/d/set.txt"
    assert available(resource) is not None


def test_a_mirror_is_a_web_address(server: Server) -> None:
    message = _refused(_resource(server), mirror="/srv/mirror")
    assert (
        message == "/srv/mirror: is no mirror; expected a URL that begins with https:// or http://"
    )


def test_a_folder_serves_without_a_network(server: Server, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "set.txt").write_bytes(TEXT)
    (fetched,) = _fetch(_resource(server, hash=_sha(TEXT)), source=str(tmp_path / "d"))
    assert fetched.path.read_bytes() == TEXT
    assert (tmp_path / "d" / "set.txt").read_bytes() == TEXT
    fetched.path.write_bytes(b"")
    assert (tmp_path / "d" / "set.txt").read_bytes() == TEXT  # a copy, not a second name
    assert server.requests == []


def test_an_archive_in_a_folder_is_unpacked_from_there(server: Server, tmp_path: Path) -> None:
    (tmp_path / "set.zip").write_bytes(_zipped({"a.txt": TEXT}))
    table = {**ABOUT, "url": f"{server.url}/d/set.zip", "members": {"a": "a.txt"}}
    (fetched,) = _fetch(*read_group("set", table), source=str(tmp_path))
    assert fetched.path.read_bytes() == TEXT
    assert (tmp_path / "set.zip").exists()


def test_of_a_folder_the_packed_file_is_taken_not_the_unpacked(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "set.txt").write_bytes(gzip.compress(TEXT))
    (tmp_path / "set.bin").write_bytes(TEXT)
    (fetched,) = _fetch(_resource(server, keep="set.bin", gunzip=True), source=str(tmp_path))
    assert fetched.path.read_bytes() == TEXT


def test_another_machine_s_data_folder_will_do(
    server: Server, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.put("/d/a/x.csv", b"x")
    server.put("/d/b/x.csv", b"y")
    resource = _resource(server, url=f"{server.url}/d/", files=["a/x.csv", "b/x.csv"])
    _fetch(resource)
    monkeypatch.setenv("WORDBIAS_DATA", str(data.with_name("elsewhere")))
    server.answers.clear()
    (fetched,) = _fetch(resource, source=str(data))
    assert (fetched.path / "b" / "x.csv").read_bytes() == b"y"


def test_without_pooch_the_line_that_installs_it(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert _refused(_resource(server)).startswith(
        'Fetching data needs pooch; install it with: pip install "wordbias[data]"'
    )


def test_a_folder_without_the_file_or_with_another(server: Server, tmp_path: Path) -> None:
    resource = _resource(server, hash=_sha(TEXT))
    message = _refused(resource, source=str(tmp_path))
    assert message.endswith(f"has no set.txt; download {server.url}/d/set.txt and put it there")
    (tmp_path / "set.txt").write_bytes(b"something else")
    assert "set.txt is not the file that was published" in _refused(resource, source=str(tmp_path))
    assert available(resource) is None


def test_what_only_a_person_can_get(server: Server) -> None:
    (resource,) = read_group("set", {**ABOUT, "how": "ask its authors"})
    assert _refused(resource) == "set: cannot be fetched: ask its authors"
    assert available(resource) is None


def test_two_processes_do_not_fetch_one_thing(server: Server, data: Path) -> None:
    server.put("/d/set.txt", TEXT)
    resource = _resource(server)
    downloads = data / ".downloads"
    downloads.mkdir(parents=True)
    with locked(downloads / "set"):
        assert _refused(resource) == "set: another process is fetching it; wait for that one"
    assert server.requests == []
    assert _fetch(resource)[0].new


def test_leftovers_of_a_killed_process_are_removed(server: Server, data: Path) -> None:
    server.put("/d/set.txt", TEXT)
    for leftover in (".set.new", ".set.old"):
        (data / leftover).mkdir(parents=True)
        (data / leftover / "half").write_bytes(b"half")
    _fetch(_resource(server))
    assert _tree(data) == {"set/set.txt", "set/.fetched.json"}


def test_a_folder_that_cannot_be_written(
    server: Server, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.put("/d/set.txt", TEXT)
    data.write_text("a file where the folder should be")
    message = _refused(_resource(server))
    assert message.startswith(f"set: cannot be written to {data}")
    assert "set WORDBIAS_DATA to a folder elsewhere" in message
    monkeypatch.setenv("WORDBIAS_DATA", "/proc/nobody/writes/here")
    assert "cannot be written to /proc/nobody" in _refused(_resource(server))


class _Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_free_space_is_checked_before_unpacking(
    server: Server, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = _zipped({"a.txt": bytes(1_000_000)})
    server.put("/d/set.zip", packed)
    room = len(packed) + 10
    monkeypatch.setattr(shutil, "disk_usage", lambda path: _Usage(room, 0, room))
    table = {**ABOUT, "url": f"{server.url}/d/set.zip", "members": {"a": "a.txt"}}
    message = _refused(*read_group("set", table))
    assert message.startswith("a: needs 1,000,000 bytes unpacked")
    assert not (data / "a").exists()
    monkeypatch.undo()
    monkeypatch.setenv("WORDBIAS_DATA", str(data))
    server.requests.clear()
    _fetch(*read_group("set", table))
    assert server.requests == []  # the archive was kept


def test_a_full_disk_while_unpacking(
    server: Server, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.put("/d/set.txt", gzip.compress(TEXT))
    resource = _resource(server, gunzip=True)

    opened = Path.open

    def full(path: Path, mode: str = "r", *more: Any, **options: Any) -> Any:
        if mode == "xb":  # what is unpacked is a new file
            raise OSError(28, "No space left on device")
        return opened(path, mode, *more, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", full)
        message = _refused(resource)
    assert message.startswith(f"set: cannot be written to {data} (")
    assert "bytes free): No space left on device; mend that" in message
    assert not (data / "set").exists()
    server.requests.clear()
    assert _fetch(resource)[0].path.read_bytes() == TEXT
    assert server.requests == []


def test_an_interrupted_download_is_no_resource(server: Server, data: Path) -> None:
    server.put("/d/set.txt", Answer(TEXT, etag='"1"', stop=100))
    resource = _resource(server)
    assert "100 bytes are kept" in _refused(resource)
    assert available(resource) is None
    assert not (data / "set").exists()
    server.put("/d/set.txt", Answer(TEXT, etag='"1"'))
    assert _fetch(resource)[0].path.read_bytes() == TEXT
    assert server.ranges()[-1] == "bytes=100-"


def test_every_resource_that_is_downloaded_has_a_size() -> None:
    assert [
        resource.name for resource in catalogue().values() if resource.urls and not resource.size
    ] == []


@pytest.mark.parametrize("kind", ["zip", "gz"])
def test_an_archive_that_unpacks_to_far_too_much_is_refused(
    server: Server, data: Path, kind: str
) -> None:
    bomb = b"0" * (1 << 24)
    if kind == "zip":
        server.put("/d/set.zip", _zipped({"a.txt": bomb}))
        table = {**ABOUT, "url": f"{server.url}/d/set.zip", "members": {"set": "a.txt"}}
        message = _refused(*read_group("set", table))
    else:
        server.put("/d/set.gz", gzip.compress(bomb))
        message = _refused(_resource(server, url=f"{server.url}/d/set.gz", gunzip=True, keep="a"))
    assert "100 times its size" in message
    assert _tree(data) == set()


def test_without_a_hash_the_first_bytes_tell(server: Server, data: Path) -> None:
    server.put("/d/set.txt", b"\x7fELF\0\0")
    assert "is no .txt file, as its first bytes show" in _refused(_resource(server))
    assert _tree(data) == set()
    server.put("/d/set.parquet", b"she 1")
    assert "no .parquet file" in _refused(_resource(server, url=f"{server.url}/d/set.parquet"))
