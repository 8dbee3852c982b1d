"""A header that claims 10¹² rows costs nothing: memory follows what is there, not what is said."""

from __future__ import annotations

import io
import json
import struct
import sys
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import fuzz_readers as readers
import fuzz_seeds as seeds
import numpy as np
import pytest
from fuzz_guard import check

from wordbias.errors import WordbiasError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGALRM and rlimits")
MANY = 10**12
ALLOWED = 64 << 20
"""Bytes that Python and numpy may have at once; 10¹² rows of one float16 are 30,000 times that."""


def npy_header(shape: tuple[int, ...]) -> bytes:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def npz(method: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("x.npy", npy_header((MANY, 4)) + bytes(64))
    return file.getvalue()


def tensors(**more: Any) -> bytes:
    """Return a safetensors file whose tensors are said to have many rows."""
    size = 4 * MANY * 4
    header = {
        "__metadata__": dict.fromkeys(("nli", "transform", "training", "representations"), "{}"),
        "vectors": {"dtype": "F32", "shape": [MANY, 4], "data_offsets": [0, size]},
        "words": {"dtype": "U8", "shape": [MANY], "data_offsets": [size, size + MANY]},
        **more,
    }
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(64)


def empty(shape: list[int]) -> bytes:
    """Return a safetensors file with a tensor of many rows of nothing."""
    header = {
        "vectors": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]},
        "words": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]},
    }
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(8)


ARRAYS = {
    "npy": ("x.npy", npy_header((MANY, 4)) + bytes(64)),
    "npy of 10²⁴ values": ("x.npy", npy_header((MANY, MANY)) + bytes(64)),
    "npy of many dimensions": ("x.npy", npy_header((1,) * 2000) + bytes(64)),
    "npy of negative rows": ("x.npy", npy_header((-1, 4)) + bytes(64)),
    "npz": ("x.npz", npz(zipfile.ZIP_STORED)),
    "npz, compressed": ("x.npz", npz(zipfile.ZIP_DEFLATED)),
    "safetensors": ("x.safetensors", tensors()),
    "a header of 2⁶² bytes": ("x.safetensors", struct.pack("<Q", 1 << 62) + b"{}" + bytes(64)),
    "many empty rows": ("x.safetensors", empty([MANY, 0])),
}
CLAIMS: dict[str, tuple[str, bytes, readers.Read]] = {
    "word2vec text": ("v.vec", b"%d 4\nshe 1 2 3 4\nhe 1 2 3 4\n" % MANY, readers.load),
    "word2vec binary": (
        "v.bin",
        b"%d 4\nshe " % MANY + bytes(16) + b"he " + bytes(16),
        readers.load,
    ),
    "word2vec text of wide rows": ("v.vec", b"2 %d\nshe 1 2\nhe 1 2\n" % MANY, readers.load),
    "word2vec binary of wide rows": ("v.bin", b"2 1048576\nshe " + bytes(16), readers.load),
    "word2vec text, streamed": (
        "v.vec",
        b"%d 4\nshe 1 2 3 4\nhe 1 2 3 4\n" % MANY,
        readers.scanned,
    ),
    "embedding in safetensors": ("v.safetensors", tensors(), readers.load),
    "embedding of empty rows": ("v.safetensors", empty([MANY, 0]), readers.load),
    "adapter": ("a.adapter", tensors(), readers.adapter),
    "transform": ("t.safetensors", tensors(), readers.transform),
    "NLI model": ("m.safetensors", tensors(), readers.nli_model),
    "checkpoint": ("m.checkpoint", tensors(), readers.resumed),
    "subspace": ("s.safetensors", tensors(), readers.call("subspace:read_subspace")),
    "span of a text": ("t.tsv", b"text\tstart\tend\nA nurse.\t0\t%d\n" % MANY, readers.texts),
    **{name: (*case, readers.vectors) for name, case in ARRAYS.items()},
    **{
        f"kind of {name}": (*case, readers.call("probes.inputs:is_arrays"))
        for name, case in ARRAYS.items()
    },
}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claimed_size_takes_no_memory(name: str, tmp_path: Path) -> None:
    file, content, read = CLAIMS[name]
    if read is readers.resumed:
        pytest.importorskip("torch")
    path = tmp_path / file
    path.write_bytes(content)
    check(read, path)  # which also imports what is needed
    tracemalloc.start()
    try:
        check(read, path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < ALLOWED


SAME_SIZE = {
    "F32": ("I32", "U32"),
    "F64": ("I64", "U64", "C64"),
    "I32": ("F32", "U32"),
    "U8": ("I8", "BOOL", "F8_E5M2"),
}
TENSORS = [
    reader
    for reader in readers.READERS
    if reader.seed
    in (
        seeds.adapter,
        seeds.subspace,
        seeds.transform,
        seeds.nli_model,
        seeds.checkpoint,
        seeds.representations,
        seeds.tensors,
    )
    or reader.name == "vectors in safetensors"
]


@pytest.mark.parametrize("reader", TENSORS, ids=lambda reader: reader.name)
def test_tensors_of_other_types(reader: readers.Reader, tmp_path: Path) -> None:
    """Of the same size, or of half of it in twice as many columns, as no numpy has them."""
    path = tmp_path / reader.file
    reader.make(path)
    known, content = readers.header(path)
    for name in known.keys() - {"__metadata__"}:
        before = known[name]
        for other in (*SAME_SIZE[before["dtype"]], "BF16", "F4", "X9"):
            shape = list(before["shape"])
            if other == "BF16":
                shape[-1] *= 2 if before["dtype"] in ("F32", "I32") else 4
            known[name] = {**before, "dtype": other, "shape": shape}
            text = json.dumps(known).encode()
            path.unlink()
            path.write_bytes(struct.pack("<Q", len(text)) + text + content)
            check(reader.read, path)
        known[name] = before


def test_what_is_there_is_counted(tmp_path: Path) -> None:
    """Else the test above would say nothing."""
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((ALLOWED // 8, 2), np.float32))
    tracemalloc.start()
    try:
        assert np.load(path).nbytes == ALLOWED
        assert tracemalloc.get_traced_memory()[1] >= ALLOWED
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("said", [MANY, 1 << 31])
def test_an_archive_that_lies_about_a_member(said: int, tmp_path: Path) -> None:
    """The directory of a zip can name any size for what it holds."""
    path = tmp_path / "x.npz"
    content = npz(zipfile.ZIP_DEFLATED)
    size = struct.pack("<I", len(npy_header((MANY, 4))) + 64)
    path.write_bytes(content.replace(size, struct.pack("<I", said & 0xFFFFFFFF)))
    with pytest.raises(WordbiasError, match=r"x\.npz"):
        readers.vectors(path)


def test_the_seeds_are_small() -> None:
    """The fuzz tests are quick because files are."""
    contents = [value for value in vars(seeds).values() if isinstance(value, bytes)]
    assert contents
    assert max(map(len, contents)) < 5_000
