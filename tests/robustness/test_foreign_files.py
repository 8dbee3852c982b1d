"""What others can put in a cache, in a data folder or in the way of an output is not used."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import resource_server

from wordbias.errors import WordbiasError, without_secrets
from wordbias.formats import cache, files, load, save, tensors
from wordbias.formats.files import replacing
from wordbias.formats.rows import open_rows
from wordbias.resources import storage
from wordbias.resources.catalogue import Resource
from wordbias.rewriting import rewrite_rows

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")

Give = Callable[[Path], None]
OTHER = 65_534
"""Number of a user who is neither this one nor root."""


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> Give:
    """Return a function that gives a file to another user."""
    if os.geteuid() == 0:
        return lambda path: os.chown(path, OTHER, -1, follow_symlinks=False)
    monkeypatch.setattr(os, "geteuid", lambda: OTHER)  # then this user is another
    return lambda path: None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return text that is parsed and cached."""
    words = ["she", "he", "woman", "man"]
    save(tmp_path / "v.txt", words, np.eye(4, dtype=np.float32))
    return tmp_path / "v.txt"


def forged(path: Path, cache_folder: Path) -> Path:
    """Give the entry of a file other vectors, with the right key and checksums."""
    load(path)
    (entry,) = cache_folder.glob("*.safetensors")
    words, vectors, stored = tensors.read(entry)
    other = -np.array(vectors)
    stored["checksums"] = cache._checksums(words, other, stored)
    with replacing(entry) as file:
        tensors.write(file, words, other, stored)
    entry.chmod(0o644)
    entry.with_name(f"{entry.name}.verified").unlink()
    return entry


def test_an_entry_of_another_user_is_not_used(
    path: Path, cache_folder: Path, foreign: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = forged(path, cache_folder)
    assert load(path).vectors[0, 0] == -1, "it is what a reader of the entry gets"
    entry.with_name(f"{entry.name}.verified").unlink()
    foreign(entry)
    monkeypatch.setenv("WORDBIAS_TRUSTED_OWNERS", f"nobody-else, {entry.stat().st_uid}")
    assert load(path).vectors[0, 0] == -1, "its owner is named"
    monkeypatch.delenv("WORDBIAS_TRUSTED_OWNERS")
    assert load(path).vectors[0, 0] == 1


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_an_entry_that_others_may_write_is_not_used(
    path: Path, cache_folder: Path, mode: int
) -> None:
    forged(path, cache_folder).chmod(mode)
    assert load(path).vectors[0, 0] == 1


def test_links_in_a_cache_are_neither_read_nor_followed(
    path: Path, cache_folder: Path, tmp_path: Path
) -> None:
    entry = forged(path, cache_folder)
    note = entry.with_name(f"{entry.name}.verified")
    victim = tmp_path / "victim"
    victim.write_text("mine")
    note.symlink_to(victim)
    (cache_folder / "limit").symlink_to(victim)
    entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").read_bytes()
    assert load(path).vectors[0, 0] == 1, "a link is no entry"
    assert load(path).vectors[0, 0] == 1
    assert (victim.read_text(), (tmp_path / "elsewhere").read_bytes()) == ("mine", before)
    cache.set_limit(1 << 30)
    assert victim.read_text() == "mine"
    assert not (cache_folder / "limit").is_symlink()


def test_the_folder_of_the_cache_is_this_users_and_a_loose_one_is_named_once(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WORDBIAS_CACHE", str(tmp_path / "new"))
    load(path)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    loose = tmp_path / "loose"
    loose.mkdir()
    loose.chmod(0o777)
    monkeypatch.setenv("WORDBIAS_CACHE", str(loose))
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(path.read_bytes())
        load(tmp_path / name)
    assert loose.stat().st_mode & 0o777 == 0o777
    assert capsys.readouterr().err.count("others may write to this cache") == 1


def test_fetched_files_of_another_user_need_their_published_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, foreign: Give
) -> None:
    monkeypatch.setenv("WORDBIAS_DATA", str(tmp_path))
    good = f"sha256:{hashlib.sha256(b'she 1').hexdigest()}"
    accepted = {}
    for name, digest, member in (("a", good, ""), ("b", "sha256:0", ""), ("c", good, "x.txt")):
        resource = Resource(
            name=name, group=name, title="", urls=("http://x/x.txt",), files=("x.txt",),
            hash=digest, member=member, licence="", citation="",
        )  # fmt: skip
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_bytes(b"she 1")
        record = storage.Record("http://x/x.txt", "", ("0",), "2026-01-01", {"x.txt": 5})
        storage.write_record(record, tmp_path / name)
        assert storage.available(resource) is not None
        foreign(tmp_path / name / "x.txt")
        accepted[name] = storage.available(resource) is not None
    assert accepted == {"a": True, "b": False, "c": False}


def test_an_unfinished_output_follows_no_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also without files that have no name, as on NFS and macOS, if its name is known before."""
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    monkeypatch.setattr(files.secrets, "token_hex", lambda n: "0" * 2 * n)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    hidden = tmp_path / f".out.txt.{os.getpid()}.00000000.part"
    hidden.symlink_to(victim)
    with pytest.raises(WordbiasError, match="not be written"), replacing(tmp_path / "out.txt"):
        pass
    assert victim.read_text() == "mine"
    hidden.unlink(missing_ok=True)
    with replacing(tmp_path / "out.txt") as file:
        file.write(b"new")
    assert (tmp_path / "out.txt").read_bytes() == b"new"


def test_a_shard_of_equal_name_size_and_time_is_not_taken_for_another(tmp_path: Path) -> None:
    for name, value in (("a", 1.0), ("b", 2.0)):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "0.npy", np.full((4, 2), value))
        os.utime(tmp_path / name / "0.npy", ns=(0, 0))
    output = tmp_path / "out"
    rewrite_rows(open_rows(tmp_path / "a"), output, _doubled, fingerprint="m")
    rewritten = rewrite_rows(open_rows(tmp_path / "b"), output, _doubled, fingerprint="m")
    assert (rewritten.rows, rewritten.skipped) == (4, 0)
    assert (np.load(output / "0.npy") == 4).all()
    (tmp_path / "b").rename(tmp_path / "moved")
    rewritten = rewrite_rows(open_rows(tmp_path / "moved"), output, _doubled, fingerprint="m")
    assert (rewritten.rows, rewritten.skipped) == (0, 1), "its content is the same"


def _doubled(x: np.ndarray) -> np.ndarray:
    return 2 * x


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://user:pw@host/a: gone", "http://host/a: gone"),
        ("at 'https://pw@host:80/a/b?token=x#c' now", "at 'https://host:80/a/b' now"),
        ("hf://gpt2@main is fine, me@host too", "hf://gpt2@main is fine, me@host too"),
    ],
)
def test_no_password_is_in_an_address_that_is_shown(text: str, expected: str) -> None:
    assert without_secrets(text) == expected
    assert str(WordbiasError(text)) == expected


def test_no_password_of_a_mirror_is_printed_or_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., Any]
) -> None:
    pytest.importorskip("pooch", reason='fetching needs pooch: pip install "wordbias[data]"')
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("WORDBIAS_DATA", str(tmp_path / "data"))
    with resource_server.serving() as server:
        mirror = server.url.replace("http://", "http://user:secret@")
        monkeypatch.setenv("WORDBIAS_MIRROR", mirror)
        done = cli("fetch", "sembias")
        assert done.code == 1
        assert server.url.partition("//")[2].strip("/") in done.err
        assert "secret" not in done.err + done.out
    done = cli("fetch", "sembias", "--mirror", "ftp://user:secret@host", "--format", "json")
    assert "secret" not in done.err + done.out
    assert not any(b"secret" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
