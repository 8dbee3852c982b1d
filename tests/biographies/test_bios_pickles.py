"""Pickles of biographies: plain data of any protocol are read; nothing else is, nothing runs."""

from __future__ import annotations

import copyreg
import os
import pickle
import pickletools
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias import WordbiasError
from wordbias.biographies.pickles import is_pickle, read_pickle

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=20)
)
PLAIN = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=20,
)


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.target),)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "bios.pkl"


def refusal(file: Path, data: bytes) -> str:
    file.write_bytes(data)
    with pytest.raises(WordbiasError) as caught:
        read_pickle(file)
    message = str(caught.value)
    assert message.startswith(f"{file}: ")
    assert "\n" not in message
    assert len(message) < len(str(file)) + 300
    return message


def holds_bytes(data: Any) -> bool:
    if isinstance(data, dict):
        return any(map(holds_bytes, data.values()))
    return isinstance(data, bytes) or (
        isinstance(data, (list, tuple)) and any(map(holds_bytes, data))
    )


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(PLAIN, max_size=5), st.sampled_from(PROTOCOLS))
def test_plain_data_come_back_whatever_the_protocol(
    tmp_path_factory: pytest.TempPathFactory, data: list[Any], protocol: int
) -> None:
    file = tmp_path_factory.mktemp("pickles") / "bios.pkl"
    file.write_bytes(pickle.dumps(data, protocol))
    if protocol < 3 and holds_bytes(data):  # which are written as a call before protocol 3
        with pytest.raises(WordbiasError, match=r"import (_codecs\.encode|__builtin__\.bytes);"):
            read_pickle(file)
        return
    loaded = read_pickle(file)
    assert loaded == data
    assert repr(loaded) == repr(data)  # True is not 1, and a tuple no list


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_code_is_refused_by_name_and_not_run(file: Path, tmp_path: Path, protocol: int) -> None:
    target = tmp_path / "made"
    data = pickle.dumps([{"title": "nurse"}, {"title": Trap(target)}], protocol)
    message = refusal(file, data)
    assert not target.exists()
    assert f"it wants to import {os.mkdir.__module__}.mkdir" in message
    pickle.loads(data)  # the trap is one
    assert target.is_dir()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"cos\nsystem\n(S'true'\ntR.", "os.system"),
        (b"(S'true'\nios\nsystem\n.", "os.system"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "os.system"),
        (b"\x80\x02cbuiltins\neval\n.", "builtins.eval"),
        (b"\x80\x04\x8c\x05a\nb\x1bc\x8c\x06system\x93.", r"a\nb\x1bc.system"),
        (b"\x80\x04\x8c\x02os" + b"\x8c\xff" + b"x" * 255 + b"\x93.", "os." + "x" * 60 + ";"),
    ],
)
def test_the_ways_to_name_a_function_are_refused(file: Path, data: bytes, said: str) -> None:
    assert said in refusal(file, data)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"Pname\n.", "PERSID"),
        (b"K\x01Q.", "BINPERSID"),
        (b"\x82\x01.", "EXT1"),
        (b"](K\x01bR.", "BUILD"),
        (b"K\x01)R.", "REDUCE"),
        (b"K\x01)\x81.", "NEWOBJ"),
        (b"\x8f.", "EMPTY_SET"),
        (b"\x96" + struct.pack("<Q", 1) + b"x.", "BYTEARRAY8"),
        (b"\x97.", "NEXT_BUFFER"),
    ],
)
def test_what_is_for_objects_is_refused(file: Path, data: bytes, name: str) -> None:
    message = refusal(file, data)
    assert f"opcode {name}," in message or (name == "BUILD" and "no whole pickle" in message)
    assert name == "BUILD" or "refused" in message


def test_every_opcode_of_objects_is_refused(file: Path) -> None:
    refused = {
        code.name
        for code in pickletools.opcodes
        if f"opcode {code.name}," in refusal(file, code.code.encode("latin-1") + bytes(16))
    }
    assert refused == {
        *("REDUCE", "BUILD", "OBJ", "NEWOBJ", "NEWOBJ_EX", "EXT1", "EXT2", "EXT4"),
        *("PERSID", "BINPERSID", "BYTEARRAY8", "NEXT_BUFFER", "READONLY_BUFFER"),
        *("EMPTY_SET", "ADDITEMS", "FROZENSET"),
    }


def test_a_registered_extension_is_not_looked_up(file: Path) -> None:
    copyreg.add_extension(os.getcwd.__module__, "getcwd", 200)
    try:
        data = pickle.dumps([os.getcwd], 2)
        assert b"\x82\xc8" in data
        assert pickle.loads(data) == [os.getcwd]
        assert "EXT1" in refusal(file, data)
    finally:
        copyreg.remove_extension(os.getcwd.__module__, "getcwd", 200)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_beginning_of_a_pickle_is_taken_for_one(file: Path, protocol: int) -> None:
    data = pickle.dumps([{"title": "nurse", "start_pos": 300, "name": ("A", "", "B")}], protocol)
    for end in range(len(data)):
        assert "is no whole pickle" in refusal(file, data[:end])


@settings(deadline=None)
@given(st.binary(max_size=60), st.binary(max_size=3), st.integers(0, 200))
def test_damage_of_any_kind_is_told_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, other: bytes, at: int
) -> None:
    file = tmp_path_factory.mktemp("pickles") / "bios.pkl"
    data = pickle.dumps([{"title": "nurse", "g": 1.5, "name": ("A", None)}], 4)
    for damaged in (noise, data[:at] + other + data[at + len(other) :]):
        file.write_bytes(damaged)
        message = ""
        try:
            loaded = read_pickle(file)
        except WordbiasError as error:
            message = str(error)
        assert message.startswith(f"{file}: ") or isinstance(loaded, list)
        assert "\n" not in message


@pytest.mark.parametrize(
    "claim",
    [
        b"]r\xff\xff\xff\xff.",  # a memo of four billion places
        b"]p99999999999999999999\n.",
        b"\x80\x04\x95" + struct.pack("<Q", 1 << 40) + b"].",  # a frame of a terabyte
    ],
)
def test_high_numbers_take_no_memory(file: Path, claim: bytes) -> None:
    file.write_bytes(claim)
    tracemalloc.start()
    try:
        assert read_pickle(file) == []
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "claim",
    [
        b"\x80\x04\x8d" + struct.pack("<Q", 1 << 40) + b"x.",
        b"\x80\x04\x8e" + struct.pack("<Q", (1 << 63) - 1) + b"x.",
        b"\x80\x02\x8b" + struct.pack("<i", (1 << 31) - 1) + b"x.",
        b"\x80\x02T" + struct.pack("<i", -5) + b"x.",
    ],
)
def test_lengths_beyond_the_file_take_no_memory(file: Path, claim: bytes) -> None:
    tracemalloc.start()
    try:
        assert "is no whole pickle" in refusal(file, claim)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_key_that_takes_for_ever_to_hash_is_refused(file: Path) -> None:
    doubling = b"2\x86" * 200  # a pair of the same pair of the same pair …
    for ending in (b"K\x01s", b""):
        start = b"]}" if ending else b"]("
        close = b"sa." if ending else b"K\x01da."
        data = start + b")" + doubling + b"K\x01" * bool(ending) + close
        assert "a key of a dict is a tuple" in refusal(file, data)
    assert "a key of a dict is a tuple" in refusal(file, b"]}()" + doubling + b"K\x01ua.")


@pytest.mark.slow
def test_a_deep_nest_is_read_without_recursion(file: Path) -> None:
    file.write_bytes(b"]" * 100_000 + b"a" * 99_999 + b".")
    nest = read_pickle(file)
    for _ in range(99_999):
        (nest,) = nest
    assert nest == []


@pytest.mark.parametrize(
    ("found", "kind"), [({"title": "nurse"}, "dict"), ("nurse", "str"), (None, "NoneType")]
)
def test_one_thing_that_is_no_list_is_named(file: Path, found: Any, kind: str) -> None:
    assert f"a dict each, found one {kind}" in refusal(file, pickle.dumps(found))


def test_several_pickles_in_a_file_are_no_list(file: Path) -> None:
    both = pickle.dumps([]) + pickle.dumps([1])
    assert f"{len(pickle.dumps([1]))} bytes follow the end" in refusal(file, both)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.pkl", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(WordbiasError, match=f"cannot be read: {reason}"):
            read_pickle(path)


def test_a_pickle_is_known_by_suffix_or_first_byte(tmp_path: Path) -> None:
    (tmp_path / "BIOS").write_bytes(pickle.dumps([]))
    (tmp_path / "bios.tsv").write_text("text\n")
    assert is_pickle(tmp_path / "BIOS")
    assert is_pickle(tmp_path / "none.PKL")
    assert not is_pickle(tmp_path / "bios.tsv")
    assert not is_pickle(tmp_path / "none")
