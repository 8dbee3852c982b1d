"""Formats are told by content; a new file's format by its suffix, or as the input was."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.formats import WRITABLE, Kind, load, output_format, save

Check = Callable[..., None]
NAMES: dict[Kind, str] = {
    "glove": "v.txt",
    "word2vec": "v.vec",
    "word2vec-binary": "v.bin",
    "safetensors": "v.safetensors",
    "gensim": "v.kv",
}


@pytest.fixture
def small() -> tuple[list[str], Any]:
    words = ["the", "naïve", "nan", "2020", "\xa0", "\udcff", '"', "1.5"]
    return words, np.random.default_rng(4).standard_normal((8, 6)).astype(np.float32)


@pytest.mark.parametrize("kind", WRITABLE)
@pytest.mark.parametrize(
    "name", ["v.jpg", "v", "v.bin", "v.txt", "v.vec", "v.kv", "v.safetensors", "v.gz", "v.zip"]
)
def test_the_content_decides_where_the_suffix_is_wrong(
    tmp_path: Path, small: Any, same_bits: Check, kind: Kind, name: str
) -> None:
    if (kind, name) == ("gensim", "v.gz"):
        pytest.skip("gensim itself goes by this suffix")
    save(tmp_path / "plain", *small, kind)
    (tmp_path / "plain").rename(tmp_path / name)
    loaded = load(tmp_path / name, cache=False, allow_pickle=True)
    assert loaded.info.format == kind
    assert loaded.words == small[0]
    same_bits(np.array(loaded.vectors), small[1])


@pytest.mark.parametrize("packed", [".gz", ".bz2", ".xz", ".zip"])
def test_compression_is_recognised_without_its_suffix(
    tmp_path: Path, small: Any, packed: str
) -> None:
    save(tmp_path / f"v.vec{packed}", *small)
    (tmp_path / f"v.vec{packed}").rename(tmp_path / "v.txt")
    assert load(tmp_path / "v.txt", cache=False).words == small[0]


@pytest.mark.parametrize("ascii_bytes", [b" 5\n\0", b"a 5\n", b"\0 7\n", b" 12\n", b" 1\r\n"])
def test_binary_whose_values_look_like_the_end_of_a_line_of_text(
    tmp_path: Path, same_bits: Check, ascii_bytes: bytes
) -> None:
    value = struct.unpack("<f", (b"\0\x01" + ascii_bytes)[-4:])[0]
    vectors = np.array([[0.5, -1.5, value, 2.5], [1, 2, 3, 4]], np.float32)
    path = tmp_path / "v.bin"
    path.write_bytes(b"2 4\n" + b"a " + vectors[0].tobytes() + b"b " + vectors[1].tobytes())
    loaded = load(path, cache=False)
    assert loaded.info.format == "word2vec-binary"
    same_bits(loaded.vectors, vectors)


@pytest.mark.parametrize(
    ("output", "read", "expected"),
    [
        ("o.txt", None, "glove"),
        ("o.txt", "glove", "glove"),
        ("o.txt", "word2vec", "word2vec"),
        ("o.txt", "word2vec-binary", "glove"),
        ("o.txt", "safetensors", "glove"),
        ("o.TXT.GZ", "word2vec", "word2vec"),
        ("o.vec", "glove", "word2vec"),
        ("o.vec.bz2", None, "word2vec"),
        ("o.bin", "glove", "word2vec-binary"),
        ("o.bin.xz", "glove", "word2vec-binary"),
        ("o.safetensors", "glove", "safetensors"),
        ("o.kv", "glove", "gensim"),
        ("o", "word2vec-binary", "word2vec-binary"),
        ("o.gz", "word2vec", "word2vec"),
        ("o.300d", "safetensors", "safetensors"),
        ("o", "fasttext", "glove"),
        ("o", None, "glove"),
    ],
)
def test_the_output_s_format(output: str, read: Kind | None, expected: Kind) -> None:
    assert output_format(output, read) == expected
    assert output_format(Path("folder.bin") / output, read) == expected


@pytest.mark.parametrize("source", WRITABLE)
@pytest.mark.parametrize("target", WRITABLE)
def test_convert_goes_from_any_format_to_any(
    tmp_path: Path, small: Any, same_bits: Check, cli: Any, source: Kind, target: Kind
) -> None:
    given, written = tmp_path / NAMES[source], tmp_path / f"new-{NAMES[target]}"
    save(given, *small)
    done = cli("convert", "--allow-pickle", given, written, "--to", target)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{written}: 8 words × 6 ({target})\n"
    loaded = load(written, cache=False, allow_pickle=True)
    assert loaded.info.format == target
    assert loaded.words == small[0]
    same_bits(np.array(loaded.vectors), small[1])


@pytest.mark.parametrize("name", ["new.txt", "new.vec.gz", "new.bin.zip", "new", "new.safetensors"])
def test_convert_chooses_by_suffix(tmp_path: Path, small: Any, cli: Any, name: str) -> None:
    save(tmp_path / "v.vec", *small)
    assert cli("convert", tmp_path / "v.vec", tmp_path / name).code == 0
    loaded = load(tmp_path / name, cache=False)
    assert loaded.words == small[0]
    assert loaded.info.format == output_format(name, "word2vec")


def test_convert_changes_the_format_of_a_file_in_place(
    tmp_path: Path, small: Any, cli: Any
) -> None:
    path = tmp_path / "v"
    save(path, *small, "glove")
    assert cli("convert", path, path, "--to", "word2vec-binary").code == 0
    assert load(path, cache=False).info.format == "word2vec-binary"
    assert load(path, cache=False).words == small[0]


@pytest.mark.parametrize("kind", WRITABLE)
def test_a_replaced_file_keeps_its_permissions(tmp_path: Path, small: Any, kind: Kind) -> None:
    path = tmp_path / "v"
    path.write_bytes(b"old")
    path.chmod(0o640)
    save(path, *small, kind)
    assert path.stat().st_mode & 0o7777 == 0o640


@pytest.mark.parametrize("kind", WRITABLE)
def test_writing_through_a_link_keeps_the_link(tmp_path: Path, small: Any, kind: Kind) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    save(link, *small, kind)
    assert link.is_symlink()
    assert load(target, cache=False, allow_pickle=True).words == small[0]
