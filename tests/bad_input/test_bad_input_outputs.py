"""Outputs that cannot be written, and runs that are stopped: what was there stays as it was."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

from wordbias.formats import save
from wordbias.formats.source import Source

Refused = Callable[..., str]
OLD = b"what was here before"
FORMATS = [
    "o.txt",
    "o.vec",
    "o.bin",
    "o.txt.gz",
    "o.vec.bz2",
    "o.txt.xz",
    "o.txt.zip",
    "o.safetensors",
]
ALL_FORMATS = [*FORMATS, "o.kv"]


@pytest.mark.parametrize("name", ALL_FORMATS)
@pytest.mark.parametrize("command", ["misp", "convert"])
def test_the_output_s_folder_is_missing(
    refused: Refused, good: Path, outputs: Path, command: str, name: str
) -> None:
    target = outputs / "missing" / name
    option = ["-o"] if command == "misp" else []
    message = refused(command, good, *option, target)
    assert f"{target}: cannot be written, the folder {target.parent} does not exist" in message


@pytest.mark.parametrize("name", ALL_FORMATS)
def test_the_output_is_a_folder(refused: Refused, good: Path, outputs: Path, name: str) -> None:
    target = outputs / name
    target.mkdir()
    assert f"{target}: is a folder" in refused("misp", good, "-o", target)
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("name", ALL_FORMATS)
def test_the_output_s_folder_is_read_only(
    refused: Refused, good: Path, outputs: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda place, mode: Path(place) != outputs and access(place, mode)
    )
    message = refused("misp", good, "-o", f"OUT{name}")
    assert "is read-only to you" in message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_the_output_s_folder_really_is_read_only(
    refused: Refused, good: Path, outputs: Path
) -> None:
    outputs.chmod(0o500)
    assert "is read-only to you" in refused("misp", good, "-o", outputs / "o.txt")


@pytest.mark.parametrize(
    ("name", "said"), [("", "--output: is empty"), (".", "is a folder"), ("/", "is a folder")]
)
def test_an_output_without_a_name(refused: Refused, good: Path, name: str, said: str) -> None:
    assert said in refused("misp", good, "-o", name)


@pytest.fixture
def unread(good: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file of which no more than the beginning can be read."""

    def read(*arguments: object) -> None:
        raise AssertionError("the input was read first")

    monkeypatch.setattr(Source, "chunks", read)
    return good


def test_a_bad_output_is_refused_before_hours_of_reading(
    refused: Refused, unread: Path, outputs: Path
) -> None:
    assert "does not exist" in refused("misp", unread, "-o", outputs / "missing" / "o.txt")


@pytest.mark.parametrize("name", ["o.safetensors.gz", "o.kv.zip"])
@pytest.mark.parametrize("command", ["misp", "convert"])
def test_a_format_that_is_not_compressed(
    refused: Refused, good: Path, command: str, name: str
) -> None:
    option = ["-o"] if command == "misp" else []
    message = refused(command, "-q", good, *option, f"OUT{name}")
    assert f"drop .{name.rpartition('.')[2]}" in message


def test_a_format_that_is_not_compressed_is_refused_before_hours_of_reading(
    refused: Refused, unread: Path
) -> None:
    assert "drop .gz" in refused("misp", unread, "-o", "OUT.safetensors.gz")


@pytest.fixture
def full_disk(good: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every file that is written after the input fail after some bytes."""

    class Full:
        def __init__(self, file: Any) -> None:
            self.file, self.left = file, 1000

        def write(self, data: Any) -> int:
            self.left -= len(memoryview(data).cast("B"))
            if self.left < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written: int = self.file.write(data)
            return written

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *error: Any) -> None:
            self.file.close()

    def filling(opening: Callable[..., Any]) -> Callable[..., Any]:
        def opened(*arguments: Any, **options: Any) -> Any:
            file = opening(*arguments, **options)
            return Full(file) if "w+b" in arguments else file  # the mode of new files

        return opened

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdopen", filling(os.fdopen))
        patch.setattr(Path, "open", filling(Path.open))  # where files cannot be nameless
        yield


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("command", ["misp", "convert"])
def test_the_disk_is_full(refused: Refused, good: Path, command: str, name: str) -> None:
    option = ["-o"] if command == "misp" else []
    message = refused(command, "-q", "--no-cache", good, *option, f"OUT.{name}")
    assert "could not be written: No space left on device; nothing was changed" in message


def test_the_disk_is_full_for_gensim(
    refused: Refused, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wordbias.formats import gensim

    def full(file: IO[bytes], *arguments: object) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(gensim, "write_kv", full)
    message = refused("misp", "-q", good, "-o", "OUT.kv")
    assert "could not be written: No space left on device" in message


@pytest.mark.parametrize("fallback", [False, True])
def test_a_system_without_nameless_files_leaves_nothing_either(
    refused: Refused, cli: Any, good: Path, outputs: Path, monkeypatch: Any, fallback: bool
) -> None:
    if fallback:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    with good.open("ab") as file:
        file.write(b"zzz 1\n")
    # only writing parses this row: looking for no word at all, the first pass does not
    assert "expected 8 values, found 1" in refused("convert", good, "OUT.txt")
    assert cli("convert", good, outputs / "OUT.txt", "--skip-bad").code == 0
    assert [path.name for path in outputs.iterdir()] == ["OUT.txt"]
    assert (outputs / "OUT.txt").read_bytes() != OLD


def limit_files(size: int) -> Callable[[], None]:
    """Let a process write files of at most `size` bytes, as if the disk were full then."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.slow
@pytest.mark.parametrize("name", ["OUT.txt", "OUT.vec.gz", "OUT.safetensors"])
def test_a_real_limit_while_writing(refused: Refused, good: Path, process: Any, name: str) -> None:
    def limited(*arguments: object) -> Any:
        return process(*arguments, preexec_fn=limit_files(5000))

    message = refused("misp", "-q", "--no-cache", good, "-o", name, run=limited)
    assert "could not be written: File too large; nothing was changed" in message


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return about 30 MB of text."""
    vectors = np.random.default_rng(0).standard_normal((30_000, 100)).astype(np.float32)
    path = tmp_path_factory.mktemp("big") / "big.txt"
    save(path, [f"w{i}" for i in range(len(vectors))], vectors)
    return path


def unfinished(pid: int, folder: Path) -> int:
    """Return how much a process has written to a file in `folder`."""
    handles = Path(f"/proc/{pid}/fd")
    for handle in handles.iterdir():
        try:
            if handle.readlink().parent == folder:
                return handle.stat().st_size
        except OSError:
            continue
    return 0


@pytest.fixture
def stopped(outputs: Path, big: Path) -> Callable[..., tuple[int, str, str]]:
    """Start a conversion, stop it by a signal while it writes; return its code, out and err."""

    def call(number: int, name: str) -> tuple[int, str, str]:
        (outputs / name).write_bytes(OLD)
        command = [sys.executable, "-m", "wordbias", "convert", str(big), str(outputs / name)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
        ) as running:
            while unfinished(running.pid, outputs) < 1_000_000:
                assert running.poll() is None, "it ended before it could be stopped"
                time.sleep(0.005)
            running.send_signal(number)
            out, err = running.communicate()
        return running.returncode, out, err

    return call


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs nameless files")
@pytest.mark.parametrize("name", ["o.vec", "o.bin"])
def test_a_killed_process_leaves_the_old_file_and_nothing_else(
    stopped: Any, outputs: Path, name: str
) -> None:
    assert stopped(signal.SIGKILL, name)[0] == -signal.SIGKILL
    assert [path.name for path in outputs.iterdir()] == [name]
    assert (outputs / name).read_bytes() == OLD


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="needs Linux' /proc")
@pytest.mark.parametrize("name", ["o.vec", "o.bin", "o.txt.gz"])
def test_an_interrupted_process_prints_one_line(stopped: Any, outputs: Path, name: str) -> None:
    code, out, err = stopped(signal.SIGINT, name)
    assert (code, out) == (130, "")
    assert err.strip() == "wordbias: interrupted; no output was changed"
    assert [path.name for path in outputs.iterdir()] == [name]
    assert (outputs / name).read_bytes() == OLD


USAGE: list[list[str]] = [
    ["mips"],
    ["misp", "--nothing"],
    ["misp", "--dims", "0", "GOOD"],
    ["misp", "--dims", "four", "GOOD"],
    ["misp", "--threads", "0", "GOOD"],
    ["misp", "--format", "xml", "GOOD"],
    ["misp", "GOOD", "one too many"],
    ["convert", "GOOD"],
    ["convert"],
    ["convert", "GOOD", "OUT", "--to", "fasttext"],
    ["convert", "GOOD", "OUT", "--to", "glove.6B"],
    ["cache", "--max-size", "much"],
]


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_wrong_usage_exits_with_2(
    cli: Any, good: Path, outputs: Path, arguments: list[str]
) -> None:
    given = {"GOOD": str(good), "OUT": str(outputs / "o.txt")}
    done = cli(*(given.get(argument, argument) for argument in arguments))
    assert (done.code, done.out) == (2, "")
    assert "; see wordbias" in done.err
    assert "Traceback" not in done.err
    assert list(outputs.iterdir()) == []


def test_wrong_usage_through_a_process(process: Any) -> None:
    done = process("misp", "--nothing")
    assert (done.code, done.out) == (2, "")
    assert "--nothing" in done.err


@pytest.mark.parametrize("command", [["misp", "-q", "-o"], ["convert", "IN"]])
def test_a_pipe_is_not_replaced_by_a_file(
    cli: Any, good: Path, outputs: Path, command: list[str]
) -> None:
    pipe = outputs / "pipe"
    os.mkfifo(pipe)
    done = cli(*(good if part == "IN" else part for part in command), pipe)
    assert (done.code, done.out) == (1, "")
    assert f"{pipe}: is not a regular file" in done.err
    assert pipe.is_fifo()


def test_a_dash_is_no_file(cli: Any, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(good.parent)
    done = cli("convert", good, "-")
    assert (done.code, done.out) == (1, "")
    assert "not written to standard output" in done.err
    assert not (good.parent / "-").exists()
