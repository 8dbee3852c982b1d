"""Files that are no embedding, or only the beginning of one, are refused in one clear line."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.formats import save

Refused = Callable[..., str]
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x48\x00\x48\x00\x00"
NOISE = np.random.default_rng(0).integers(0, 256, 5000, np.uint8).tobytes()

COMMANDS = {
    "misp": ["misp", "IN"],
    "streamed": ["misp", "IN", "-o", "OUT.txt"],
    "convert": ["convert", "IN", "OUT.safetensors"],
    "convert-streamed": ["convert", "IN", "OUT.vec"],
    "skip-bad": ["convert", "--skip-bad", "IN", "OUT.vec"],
}


@pytest.fixture(params=COMMANDS)
def refusing(request: pytest.FixtureRequest, refused: Refused) -> Callable[..., str]:
    """Run one of the commands on an input, with the promises of `refused`."""

    def call(path: object, **options: Any) -> str:
        command = COMMANDS[request.param]
        message = refused(*(path if part == "IN" else part for part in command), **options)
        beginning = str(path).partition("::")[0][:100]  # a long name is cut
        assert beginning in message, "the file is not named"
        return message

    return call


def test_a_missing_file(refusing: Refused, inputs: Path) -> None:
    assert "there is no such file" in refusing(inputs / "missing.txt")


def test_a_file_in_a_missing_folder(refusing: Refused, inputs: Path) -> None:
    refusing(inputs / "missing" / "v.txt")


def test_a_file_inside_a_file(refusing: Refused, good: Path) -> None:
    refusing(good / "v.txt")


def test_a_name_that_is_too_long(refusing: Refused, inputs: Path) -> None:
    refusing(inputs / ("x" * 300))


def test_a_folder(refusing: Refused, inputs: Path) -> None:
    assert "is a folder" in refusing(inputs)


def test_an_empty_file(refusing: Refused, inputs: Path) -> None:
    (inputs / "v.txt").write_bytes(b"")
    assert "is empty" in refusing(inputs / "v.txt")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(refusing: Refused, good: Path) -> None:
    good.chmod(0)
    assert "permission denied" in refusing(good)


CONTENTS = {
    "jpeg": JPEG + NOISE,
    "noise": NOISE,
    "random text": b"It was the best of times, it was the worst of times,\nit was\n" * 50,
    "one word": b"hello",
    "white space": b" \n\n \t\n" * 10,
    "line feeds": b"\n" * 100,
    "a byte order mark": b"\xef\xbb\xbf",
    "nul bytes": bytes(1000),
    "utf-16": "she 0.1 0.2\nhe 0.3 0.4\n".encode("utf-16"),
    "csv": b"she,0.1,0.2\nhe,0.3,0.4\n",
    "decimal commas": b"she 0,1 0,2\nhe 0,3 0,4\n",
    "json": b'{"she": [0.1, 0.2]}',
    "html": b"<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n",
    "numpy": b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False}\n" + NOISE,
    "git lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    "header of 0 words": b"0 300\n",
    "header of 0 values": b"2 0\na\nb\n",
    "header alone": b"2 3\n",
    "huge header alone": b"99999999999999999999 300\n",
    "values without a word": b"0.5\n0.6\n",
    "empty gzip": gzip.compress(b""),
    "jpeg in gzip": gzip.compress(JPEG + NOISE),
    "empty bz2": bz2.compress(b""),
    "gzip magic": b"\x1f\x8b",
    "gzip noise": b"\x1f\x8b\x08" + NOISE,
    "bz2 noise": b"BZh9" + NOISE,
    "xz noise": b"\xfd7zXZ\x00" + NOISE,
    "zip noise": b"PK\x03\x04" + NOISE,
    "fasttext magic": b"\xba\x16\x4f\x2f\x0c\x00\x00\x00",
    "fasttext noise": b"\xba\x16\x4f\x2f\x0c\x00\x00\x00" + NOISE,
    "safetensors of nothing": struct.pack("<Q", 2) + b"{}",
    "safetensors header cut": struct.pack("<Q", 5000) + b'{"vectors":',
    "safetensors header damaged": struct.pack("<Q", 20) + b'{"vectors":' + NOISE,
}


@pytest.mark.each_once("refusing")
@pytest.mark.parametrize("content", CONTENTS)
def test_what_is_no_embedding(refusing: Refused, inputs: Path, content: str) -> None:
    (inputs / "v.txt").write_bytes(CONTENTS[content])
    refusing(inputs / "v.txt")


@pytest.mark.parametrize("content", ["jpeg", "random text", "html"])
def test_the_message_says_what_was_expected(refused: Refused, inputs: Path, content: str) -> None:
    (inputs / "v.txt").write_bytes(CONTENTS[content])
    message = refused("misp", inputs / "v.txt")
    assert "is not an embedding: expected GloVe or word2vec text" in message


@pytest.mark.parametrize("header", [b"99999999999 100", b"2 99999999999", b"9" * 30 + b" 100"])
def test_a_header_is_not_trusted_with_memory(
    refusing: Refused, inputs: Path, header: bytes
) -> None:
    (inputs / "v.vec").write_bytes(header + b"\n" + b"w" + b" 0.5" * 100 + b"\n")
    assert "memory" not in refusing(inputs / "v.vec")


@pytest.mark.parametrize("count", [b"99999999999", b"9" * 30])
def test_a_binary_header_is_not_trusted_with_memory(
    refusing: Refused, inputs: Path, count: bytes
) -> None:
    (inputs / "v.bin").write_bytes(count + b" 3\nw " + bytes(12))
    message = refusing(inputs / "v.bin")
    assert "memory" not in message
    assert "word 2 is not complete" in message


@pytest.mark.each_once("refusing")
@pytest.mark.parametrize("kept", [0.3, 0.9, 0.9999])
@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zip"])
def test_truncated_compressed_files(
    refusing: Refused, inputs: Path, people: Any, suffix: str, kept: float
) -> None:
    path = inputs / f"v.txt{suffix}"
    save(path, *people)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept)])
    assert "damaged or cut off" in refusing(path)


@pytest.mark.each_once("refusing")
@pytest.mark.parametrize("place", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zip"])
def test_damaged_compressed_files(
    refusing: Refused, inputs: Path, people: Any, suffix: str, place: float
) -> None:
    path = inputs / f"v.txt{suffix}"
    save(path, *people)
    data = bytearray(path.read_bytes())
    start = int(len(data) * place)
    data[start : start + 20] = bytes(255 - byte for byte in data[start : start + 20])
    path.write_bytes(data)
    assert "damaged" in refusing(path)


@pytest.fixture(scope="module")
def damaged() -> dict[str, bytes]:
    """Return long compressed files that are damaged near their ends."""
    numbers = np.random.default_rng(1).random(60_000).tolist()
    text = "".join(f"w{i} {x!r} 0.5\n" for i, x in enumerate(numbers)).encode()
    packed = {
        "gz": gzip.compress(text),
        "bz2": bz2.compress(text),
        "xz": lzma.compress(text, preset=0),
    }
    return {suffix: data[:-200] + bytes(100) + data[-100:] for suffix, data in packed.items()}


@pytest.mark.slow
def test_damage_far_behind_the_beginning(
    refusing: Refused, inputs: Path, damaged: dict[str, bytes]
) -> None:
    """Damage that recognising the format does not meet, only reading does."""
    for suffix, data in damaged.items():
        path = inputs / f"v.txt.{suffix}"
        path.write_bytes(data)
        assert "damaged" in refusing(path)


def test_a_zip_with_several_files(refusing: Refused, inputs: Path, good: Path) -> None:
    path = inputs / "v.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(good, "one.txt")
        archive.write(good, "two.txt")
    assert "v.zip::one.txt, v.zip::two.txt" in refusing(path)
    assert "has no member 'three.txt'" in refusing(f"{path}::three.txt")


def test_a_zip_that_needs_a_password(refusing: Refused, inputs: Path, good: Path) -> None:
    path = inputs / "v.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(good, "one.txt")
    data = bytearray(path.read_bytes())
    data[6] |= 1  # the flags of the local header and of the directory say: encrypted
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert "cannot be unpacked" in refusing(path)


@pytest.mark.parametrize("cut", [1, 30, 300])
def test_a_truncated_binary_file(refusing: Refused, inputs: Path, people: Any, cut: int) -> None:
    path = inputs / "v.bin"
    save(path, *people)
    path.write_bytes(path.read_bytes()[:-cut])
    message = refusing(path)
    assert "is cut off" in message
    assert f"promises {len(people[0])} words" in message


@pytest.mark.each_once("refusing")
@pytest.mark.parametrize("name", ["v.vec", "v.bin"])
@pytest.mark.parametrize("difference", [-1, 1, 1000])
def test_a_header_with_another_number_of_rows(
    refusing: Refused, inputs: Path, people: Any, name: str, difference: int
) -> None:
    path, rows = inputs / name, len(people[0])
    save(path, *people)
    changed = path.read_bytes().replace(b"%d 8\n" % rows, b"%d 8\n" % (rows + difference), 1)
    path.write_bytes(changed)
    message = refusing(path)
    assert f"{rows + difference} words" in message
    if name == "v.vec":
        assert f"{rows} follow" in message


@pytest.mark.parametrize("dim", [7, 9])
def test_a_binary_header_with_another_dimension(
    refusing: Refused, inputs: Path, people: Any, dim: int
) -> None:
    path = inputs / "v.bin"
    save(path, *people)
    path.write_bytes(path.read_bytes().replace(b" 8\n", b" %d\n" % dim, 1))
    refusing(path)


@pytest.mark.parametrize("cut", [1, 100, 5000])
def test_truncated_safetensors(refusing: Refused, inputs: Path, people: Any, cut: int) -> None:
    path = inputs / "v.safetensors"
    save(path, *people)
    path.write_bytes(path.read_bytes()[:-cut])
    assert "cut off or damaged" in refusing(path)


def test_safetensors_of_something_else(refusing: Refused, inputs: Path) -> None:
    from safetensors.numpy import save_file

    path = inputs / "v.safetensors"
    save_file({"weight": np.ones((2, 2), np.float32)}, path)
    assert "expected the tensors 'vectors' and 'words', found weight" in refusing(path)
    words = np.frombuffer(b"a\nb\nc", np.uint8)
    save_file({"vectors": np.ones((2, 2), np.float32), "words": words}, path)
    assert "3 words do not fit vectors of shape (2, 2)" in refusing(path)
    save_file({"vectors": np.ones((2, 2), np.int64), "words": words}, path)
    assert "expected the tensor 'vectors' as one of" in refusing(path)
    save_file({"vectors": np.ones(3, np.float32), "words": words}, path)
    refusing(path)
    nan = np.array([[1, 2], [np.nan, 1], [1, 2]], np.float32)
    save_file({"vectors": nan, "words": words}, path)
    assert "word 2, 'b'" in refusing(path)


def test_compressed_safetensors(refusing: Refused, inputs: Path, people: Any) -> None:
    save(inputs / "v.safetensors", *people)
    path = inputs / "v.safetensors.gz"
    path.write_bytes(gzip.compress((inputs / "v.safetensors").read_bytes()))
    assert "unpack it first" in refusing(path)


def test_a_truncated_pickle_that_may_be_opened(refused: Refused, inputs: Path, people: Any) -> None:
    path = inputs / "v.kv"
    save(path, *people)
    path.write_bytes(path.read_bytes()[:-100])
    message = refused("convert", "--allow-pickle", path, "OUT.txt")
    assert f"{path}: gensim cannot load it" in message


@pytest.mark.slow
@pytest.mark.parametrize("content", ["jpeg", "random text"])
def test_through_a_process(refused: Refused, inputs: Path, process: Any, content: str) -> None:
    (inputs / "v.txt").write_bytes(CONTENTS[content])
    message = refused("misp", inputs / "v.txt", "-o", "OUT.txt", run=process)
    assert "is not an embedding" in message


@pytest.mark.slow
def test_a_name_that_is_no_utf8_through_a_process(
    refused: Refused, inputs: Path, process: Any
) -> None:
    refused("misp", os.fsdecode(bytes(inputs) + b"/caf\xe9.txt"), "-o", "OUT.txt", run=process)


def test_a_pipe_is_refused_and_not_waited_for(refused: Refused, inputs: Path) -> None:
    os.mkfifo(inputs / "pipe")
    message = refused("misp", inputs / "pipe", "-o", "OUT.txt")
    assert f"{inputs / 'pipe'}: is not a regular file" in message
