"""Hostile files, folders, hubs and mirrors, each with what reading it must give.

A catalogue that grows: whoever finds a file that is read wrongly, or refused badly, adds a line to
one of its tables. A line has a name, what is made, and either a part of the refusal (a text), which
is one line that names the file, or what is read (a list of words, or an array). Random changes of
valid files are tried in `test_fuzz_readers.py`; claimed sizes, long lines and code have files of
their own here, and rows, files and outputs of common mistakes are in `tests/bad_input`.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
import struct
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fuzz_guard
import fuzz_readers as readers
import hub_server
import numpy as np
import pytest
import resource_server
import tiny_encoders
from hub_server import Hub
from resource_server import Answer

import wordbias as wb
from wordbias.errors import WordbiasError
from wordbias.resources import FetchOptions, fetch
from wordbias.resources.catalogue import read_group

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGALRM and rlimits")
Expected = str | list[str]
"""A part of the refusal, or the words that are read."""

# embeddings: a file's name, what it holds, what reading it gives

TAIL = b"he 1 2\nshe 3 4\n"
BINARY = b"2 2\nhe " + struct.pack("<2f", 1, 2) + b"\nshe " + struct.pack("<2f", 3, 4) + b"\n"


def row(text: str) -> bytes:
    return TAIL + text.encode("utf-8", "surrogatepass") + b"\n"


def tensors(
    header: dict[str, Any] | bytes, content: bytes = b"he\nshe" + bytes(2) + bytes(16)
) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content


def tensor(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


WORDS = tensor("U8", [8], 0, 8)
EMBEDDINGS: dict[str, tuple[str, bytes, Expected]] = {
    # numbers that Python reads and a format of vectors does not have
    "digits with an underscore": ("v.txt", row("it 1_0 2"), "v.txt"),
    "full-width digits": ("v.txt", row("it １ ２"), "v.txt"),
    "Arabic digits": ("v.txt", row("it ١ ٢"), "v.txt"),
    "hexadecimal": ("v.txt", row("it 0x1p3 2"), "v.txt"),
    "decimal comma": ("v.txt", row("it 1,5 2,5"), "v.txt"),
    "infinity": ("v.txt", row("it Infinity 2"), "v.txt"),
    "beyond float64": ("v.txt", row("it 1e400 2"), "v.txt"),
    "below float64": ("v.txt", row("it 1e-400 2"), ["he", "she", "it"]),
    "a million digits": ("v.txt", row("it 0." + "1" * 100_000 + " 2"), ["he", "she", "it"]),
    "NUL in a number": ("v.txt", row("it 1\0 2"), "v.txt"),
    # words
    "NUL in a word": ("v.txt", row("i\0t 1 2"), ["he", "she", "i\0t"]),
    "line separator in a word": ("v.txt", row("i\u2028t 1 2"), ["he", "she", "i\u2028t"]),
    "next line in a word": ("v.txt", row("i\x85t 1 2"), ["he", "she", "i\x85t"]),
    "form feed in a word": ("v.txt", row("i\x0ct 1 2"), ["he", "she", "i\x0ct"]),
    "file separator in a word": ("v.txt", row("i\x1ct 1 2"), ["he", "she", "i\x1ct"]),
    "composed and not": ("v.txt", row("\xe9 1 2\ne\u0301 1 2"), ["he", "she", "\xe9", "e\u0301"]),
    "byte order mark within": ("v.txt", row("\ufeffit 1 2"), ["he", "she", "\ufeffit"]),
    "a surrogate in UTF-8": ("v.txt", row("\ud800 1 2"), ["he", "she", "\udced\udca0\udc80"]),
    "overlong UTF-8": ("v.txt", TAIL + b"\xc0\xaf 1 2\n", ["he", "she", "\udcc0\udcaf"]),
    "right to left": ("v.txt", row("\u202eti 1 2"), ["he", "she", "\u202eti"]),
    # headers
    "a header below zero": ("v.vec", b"-1 2\n" + TAIL, "v.vec"),
    "a header of no rows": ("v.vec", b"0 2\n", "v.vec"),
    "a header of no numbers": ("v.vec", b"2 0\nhe\nshe\n", "v.vec"),
    "a header with a sign": ("v.vec", b"+2 2\n" + TAIL, "v.vec"),
    "a header twice": ("v.vec", b"2 2\n2 2\n" + TAIL, "v.vec"),
    # word2vec binary
    "a word without an end": ("v.bin", b"2 2\n" + b"h" * 5_000, "v.bin"),
    "nan in a binary row": (
        "v.bin",
        BINARY[:-9] + struct.pack("<2f", float("nan"), 4) + b"\n",
        "v.bin",
    ),
    "binary, cut in a number": ("v.bin", BINARY[:-4], "v.bin"),
    "binary, more behind the end": ("v.bin", BINARY + b"it" + bytes(9), "v.bin"),
    "binary of no columns": ("v.bin", b"2 0\nhe \nshe \n", "v.bin"),
    # safetensors
    "overlapping tensors": (
        "v.safetensors",
        tensors({"words": WORDS, "vectors": tensor("F32", [2, 2], 4, 20)}),
        "v.safetensors",
    ),
    "offsets from behind": (
        "v.safetensors",
        tensors({"words": WORDS, "vectors": tensor("F32", [2, 2], 24, 8)}),
        "v.safetensors",
    ),
    "a hole between tensors": (
        "v.safetensors",
        tensors({"words": WORDS, "vectors": tensor("F32", [2, 2], 12, 28)}, bytes(28)),
        "v.safetensors",
    ),
    "a name twice": (
        "v.safetensors",
        tensors(
            b'{"vectors":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},'
            b'"vectors":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}',
            bytes(16),
        ),
        "v.safetensors",
    ),
    "a shape below zero": (
        "v.safetensors",
        tensors({"vectors": tensor("F32", [-2, -2], 0, 16)}, bytes(16)),
        "v.safetensors",
    ),
    "a shape of fractions": (
        "v.safetensors",
        tensors({"vectors": {"dtype": "F32", "shape": [2.0, 2], "data_offsets": [0, 16]}}),
        "v.safetensors",
    ),
    "a header that is deep": ("v.safetensors", tensors(b"[" * 50_000), "v.safetensors"),
    "a header of nothing": ("v.safetensors", bytes(8), "v.safetensors"),
}


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_an_embedding(name: str, tmp_path: Path) -> None:
    file, content, expected = EMBEDDINGS[name]
    path = tmp_path / file
    path.write_bytes(content)
    message = fuzz_guard.refusal(readers.load, path)
    if isinstance(expected, str):
        assert message, "it was read"
        assert expected in message
    else:
        assert message == ""
        assert list(readers.load(path).words) == expected
        assert np.isfinite(readers.load(path).vectors).all()


# arrays: a file's name, what it holds, and a part of the refusal or the array that is read


def npy(array: Any, **how: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **how)
    return file.getvalue()


def npy_of(header: str, content: bytes = bytes(16)) -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def npz(*members: tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name twice
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


X = np.arange(6, dtype=np.float32).reshape(3, 2)
ARRAYS: dict[str, tuple[str, bytes, str | Any]] = {
    "big-endian": ("x.npy", npy(X.astype(">f4")), X),
    "columns first": ("x.npy", npy(np.asfortranarray(X)), X),
    "half precision": ("x.npy", npy(X.astype(np.float16)), X),
    "objects": ("x.npy", npy(X.astype(object), allow_pickle=True), "x.npy"),
    "complex": ("x.npy", npy(X * 1j), "x.npy"),
    "dates": ("x.npy", npy(X.astype("M8[s]")), "x.npy"),
    "texts": ("x.npy", npy(X.astype(str)), "x.npy"),
    "fields": ("x.npy", npy(np.zeros(3, [("a", "f4"), ("b", "f4")])), "x.npy"),
    "no rows": ("x.npy", npy(X[:0]), X[:0]),
    "no columns": ("x.npy", npy(X[:, :0]), X[:, :0]),
    "no dimension": ("x.npy", npy(np.float32(1)), "x.npy"),
    "nan, which those who use it refuse": ("x.npy", npy(X * np.nan), X * np.nan),
    "beyond float32": ("x.npy", npy(X.astype(float) * 1e300), X.astype(float) * 1e300),
    "code in the header": ("x.npy", npy_of("__import__('os').abort()"), "x.npy"),
    "a header that is deep": ("x.npy", npy_of("(" * 9_000), "x.npy"),
    "a header of another version": ("x.npy", b"\x93NUMPY\x09\x00" + npy(X)[8:], "x.npy"),
    "a shape of True": (
        "x.npy",
        npy_of("{'descr': '<f4', 'fortran_order': False, 'shape': (True, 4)}"),
        "x.npy",
    ),
    "a type that is code": (
        "x.npy",
        npy_of("{'descr': 'O', 'fortran_order': False, 'shape': (2, 2)}"),
        "x.npy",
    ),
    "a member above the archive": ("x.npz", npz(("../x.npy", npy(X))), X),
    "a member twice": ("x.npz", npz(("x.npy", npy(X)), ("x.npy", npy(-X))), -X),
    "an archive in an archive": ("x.npz", npz(("x.npz", npz(("x.npy", npy(X))))), "x.npz"),
    "a member of objects": ("x.npz", npz(("x.npy", npy(X.astype(object), allow_pickle=True))), "x"),
    "an archive of nothing": ("x.npz", npz(), "x.npz"),
    "an archive behind a page": ("x.npz", b"<html>" + npz(("x.npy", npy(X))), "x.npz"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array(name: str, tmp_path: Path) -> None:
    file, content, expected = ARRAYS[name]
    path = tmp_path / file
    path.write_bytes(content)
    message = fuzz_guard.refusal(readers.vectors, path)
    if isinstance(expected, str):
        assert message, "it was read"
        assert expected in message
    else:
        assert message == ""
        loaded = np.asarray(readers.vectors(path).vectors)
        np.testing.assert_array_equal(loaded.reshape(expected.shape), expected)
    assert not (tmp_path.parent / "x.npy").exists()


# folders of models: what is changed in a good one, and a part of the refusal


def changed(**settings: Any) -> Callable[[Path], None]:
    """Return what changes settings in config.json."""

    def change(folder: Path) -> None:
        file = folder / "config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **settings}))

    return change


def holds(file: str, content: bytes) -> Callable[[Path], None]:
    """Return what puts a file in place of another."""

    def change(folder: Path) -> None:
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).unlink(missing_ok=True)
        (folder / file).write_bytes(content)

    return change


def indexed(name: str) -> Callable[[Path], None]:
    """Return what names a file as the place of all weights."""

    def change(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder.with_name("outside.safetensors"))
        known, _ = readers.header(folder.with_name("outside.safetensors"))
        places = {key: name for key in known if key != "__metadata__"}
        text = json.dumps({"metadata": {"total_size": 1}, "weight_map": places})
        (folder / "model.safetensors.index.json").write_text(text)

    return change


def linked(file: str, to: str) -> Callable[[Path], None]:
    """Return what puts a link in place of a file."""

    def change(folder: Path) -> None:
        (folder / file).unlink()
        (folder / file).symlink_to(to)

    return change


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 90\n"
FOLDERS: dict[str, tuple[Callable[[Path], None], str]] = {
    "no config": (lambda folder: (folder / "config.json").unlink(), "bert"),
    "a config that is a list": (holds("config.json", b"[]"), "bert"),
    "a config that is deep": (holds("config.json", b'{"a":' * 9_000), "bert"),
    "a config of another coding": (holds("config.json", "{}".encode("utf-16")), "bert"),
    "an unknown family": (changed(model_type="zq1z"), "bert"),
    "a family that is a number": (changed(model_type=5), "bert"),
    "no layers": (changed(num_hidden_layers=0), "bert"),
    "layers below zero": (changed(num_hidden_layers=-1), "bert"),
    "more layers than weights": (changed(num_hidden_layers=5), "bert"),
    "layers in words": (changed(num_hidden_layers="three"), "bert"),
    "another width": (changed(hidden_size=32), "bert"),
    "no width": (changed(hidden_size=0), "bert"),
    "heads that do not divide": (changed(num_attention_heads=5), "bert"),
    "no heads": (changed(num_attention_heads=0), "bert"),
    "an unknown activation": (changed(hidden_act="__import__"), "bert"),
    "a larger vocabulary": (changed(vocab_size=10**6), "bert"),
    "weights that are a pointer": (holds("model.safetensors", POINTER), "bert"),
    "weights that are empty": (holds("model.safetensors", b""), "bert"),
    "weights of nothing": (holds("model.safetensors", tensors({}, b"")), "bert"),
    "weights elsewhere": (indexed("../outside.safetensors"), "bert"),
    "weights in a file that is not there": (indexed("none.safetensors"), "bert"),
    "a tokenizer that is a pointer": (holds("tokenizer.json", POINTER), "bert"),
    "a tokenizer of nothing": (holds("tokenizer.json", b"{}"), "bert"),
    "a link to itself": (linked("config.json", "config.json"), "bert"),
    "a link to nothing": (linked("model.safetensors", "none"), "bert"),
}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a good model."""
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("folders") / "bert"
    words = ["she", "he", "saw", "the", "nurse"]
    model = tiny_encoders.build("bert", "Model", vocabulary=len(words) + 5)
    tiny_encoders.save(model, tiny_encoders.make_tokenizer(words), folder)
    return folder


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_a_model(name: str, bert: Path, tmp_path: Path) -> None:
    change, expected = FOLDERS[name]
    folder = tmp_path / "bert"
    shutil.copytree(bert, folder)
    change(folder)
    message = fuzz_guard.refusal(lambda path: wb.encode(path, ["she saw"]), folder)
    assert message, "it was read"
    assert expected in message
    assert len(message.splitlines()) == 1
    assert len(message) < fuzz_guard.LONGEST


# a hub: what its repository holds, what it answers otherwise, and what is said

VECTORS = b"she 1 0 0\nhe 0 1 0\n"
Lie = Callable[[Hub], object]


def told(part: str, body: bytes, status: int = 200) -> Lie:
    return lambda hub: hub.told.update({part: (status, body)})


def stated(**headers: str) -> Lie:
    return lambda hub: hub.headers.update({k.replace("_", "-"): v for k, v in headers.items()})


def named(commit: str) -> Lie:
    """Return what gives the newest commit another name."""

    def lie(hub: Hub) -> None:
        repository = hub.repositories["model", "me/v"]
        repository.commits[commit], repository.refs["main"] = repository.files, commit

    return lie


INFO = {"id": "me/v", "sha": "a" * 40, "tags": [], "private": False}
ELSEWHERE = Path(tempfile.gettempdir(), "of-a-hub.txt")
HUBS: dict[str, tuple[dict[str, bytes], Lie | None, str]] = {
    "a file above the repository": ({"../v.txt": VECTORS}, None, "me/v"),
    "a file far above it": ({"../../../../../v.txt": VECTORS}, None, "me/v"),
    "an absolute file": ({str(ELSEWHERE): VECTORS}, None, "me/v"),
    "a file of no name": ({"": VECTORS}, None, "me/v"),
    "a file of dots": ({"..": VECTORS}, None, "me/v"),
    "a long name": ({"v" * 300 + ".txt": VECTORS}, None, "me/v"),
    "a commit above the cache": ({"v.txt": VECTORS}, named("../../../evil"), "me/v"),
    "a tag above its folder": (
        {"v.txt": VECTORS},
        stated(ETag='"../../evil"'),
        "outside the cache",
    ),
    "a tag of nothing": ({"v.txt": VECTORS}, stated(ETag=""), "models--me--v"),
    "a commit of nothing": ({"v.txt": VECTORS}, stated(X_Repo_Commit=""), "models--me--v"),
    "no JSON": ({"v.txt": VECTORS}, told("/api/", b"<html>"), "me/v"),
    "half of its JSON": ({"v.txt": VECTORS}, told("/api/", json.dumps(INFO)[:-9].encode()), "me/v"),
    "a list": ({"v.txt": VECTORS}, told("/api/", b"[]"), "me/v"),
    "deep JSON": ({"v.txt": VECTORS}, told("/api/", b"[" * 100_000), "me/v"),
    "files that are none": (
        {"v.txt": VECTORS},
        told("/api/", json.dumps({**INFO, "siblings": [5]}).encode()),
        "me/v",
    ),
    "names that are none": (
        {"v.txt": VECTORS},
        told("/api/", json.dumps({**INFO, "siblings": [{"rfilename": None}]}).encode()),
        "me/v",
    ),
    "no files": ({}, None, "me/v"),
    "a teapot": ({"v.txt": VECTORS}, told("/api/", b"{}", 418), "me/v"),
    "too many requests": ({"v.txt": VECTORS}, told("/resolve/", b"{}", 429), "me/v"),
    "modules above the model": (
        {"modules.json": b'[{"path": "../.."}]', "config.json": b"{}", "v.txt": VECTORS},
        None,
        "models--me--v",
    ),
}


@pytest.mark.parametrize("name", HUBS)
def test_a_hub(name: str, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between attempts of the library
    home = tmp_path / "a" / "b" / "home"
    hub_server.point(monkeypatch, hub.url, home)
    files, lie, expected = HUBS[name]
    hub.put("me/v", files)
    if lie is not None:
        lie(hub)
    with pytest.raises(WordbiasError) as caught:
        wb.load("hf://me/v")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < fuzz_guard.LONGEST
    outside = {path for path in tmp_path.rglob("*") if home not in (path, *path.parents)}
    assert outside <= {tmp_path / "a", tmp_path / "a" / "b"}
    assert not ELSEWHERE.exists()


# a mirror: what it answers, how the file is described, and what is said

TEXT = b"he:she\tdog:cat\n" * 40
BOMB = b"0" * 50_000_000


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def link(name: str) -> zipfile.ZipInfo:
    """Return the entry of a symbolic link."""
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o120777 << 16
    return info


def moved(to: str) -> Answer:
    return Answer(b"", 302, {"Location": to})


IN_ZIP: dict[str, Any] = {"members": {"set": "set.txt"}}
MIRRORS: dict[str, tuple[Answer, dict[str, Any], str | bytes]] = {
    "moved to a file here": (moved("file:///etc/hostname"), {}, "set: "),
    "moved to another protocol": (moved("ftp://127.0.0.1/set.txt"), {}, "set: "),
    "moved to nothing": (moved(""), {}, "set: "),
    "moved to what is no address": (moved("http://[::1"), {}, "set: "),
    "moved with a password": (moved("http://user:secret@127.0.0.1:9/x"), {}, "set: "),
    "a size below zero": (
        Answer(TEXT, length=False, headers={"Content-Length": "-5"}),
        {},
        TEXT,
    ),
    "a size in words": (Answer(TEXT, length=False, headers={"Content-Length": "x"}), {}, TEXT),
    "a part that nobody asked for": (
        Answer(TEXT, 206, {"Content-Range": "bytes 5-9/10"}),
        {},
        "set: ",
    ),
    "an unknown compression": (Answer(TEXT, headers={"Content-Encoding": "zq1z"}), {}, "set: "),
    "no content": (Answer(b"", 204), {}, "set: "),
    "an archive above its folder": (Answer(zipped(("../../set.txt", TEXT))), IN_ZIP, TEXT),
    "an archive with a link": (
        Answer(zipped((link("set.txt"), b"/etc/hostname"))),
        IN_ZIP,
        b"/etc/hostname",
    ),
    "an archive with a name twice": (Answer(zipped(*[("set.txt", TEXT)] * 2)), IN_ZIP, "found 2"),
    "an archive that is a bomb": (Answer(zipped(("set.txt", BOMB))), IN_ZIP, "set"),
    "a folder of that name": (Answer(zipped(("set.txt/", b""))), IN_ZIP, "set"),
    "a gzip that is a bomb": (Answer(gzip.compress(BOMB)), {"gunzip": True}, "set"),
    "a gzip with more behind it": (Answer(gzip.compress(TEXT) + b"more"), {"gunzip": True}, "set"),
    "a gzip of nothing": (Answer(b"\x1f\x8b"), {"gunzip": True}, "set"),
}


@pytest.mark.parametrize("name", MIRRORS)
def test_a_mirror(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pooch", reason="fetching needs pooch")
    monkeypatch.setenv("WORDBIAS_DATA", str(tmp_path / "a" / "data"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    answer, how, expected = MIRRORS[name]
    about = {"title": "", "licence": "MIT", "citation": "", "url": "https://of.invalid/set.txt"}
    (resource,) = read_group("set", {**about, **how})
    with resource_server.serving() as server, fuzz_guard.bounded(60):
        server.put("/set.txt", answer)
        try:
            (fetched,) = fetch([resource], FetchOptions(mirror=server.url))
        except WordbiasError as error:
            message = str(error)
            assert isinstance(expected, str), message
            assert expected in message
            assert "secret" not in message
            assert "\n" not in message
            assert len(message) < fuzz_guard.LONGEST
        else:
            assert fetched.path.read_bytes() == expected
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert all(path == "a" or path.startswith("a/data") for path in left)
    if isinstance(expected, str):
        assert not (tmp_path / "a" / "data" / "set").exists()
