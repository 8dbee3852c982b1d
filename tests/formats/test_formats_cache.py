"""The cache of parsed text: fast, never wrong, never in the way; and pickles stay closed."""

from __future__ import annotations

import errno
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.errors import WordbiasError
from wordbias.formats import cache, load, save, tensors

Check = Callable[..., None]


@pytest.fixture
def path(tmp_path: Path, odd: Any) -> Path:
    """Return a text file with odd words."""
    save(tmp_path / "v.txt", *odd)
    return tmp_path / "v.txt"


@pytest.fixture
def usable(tmp_path: Path, people: Any) -> Path:
    """Return a text that misp can work on."""
    save(tmp_path / "people.txt", *people)
    return tmp_path / "people.txt"


@pytest.fixture
def entry(path: Path, cache_folder: Path) -> Path:
    """Return the one entry of the cache after the file was loaded."""
    load(path)
    (file,) = cache_folder.glob("*.safetensors")
    return file


def is_mapped(vectors: Any) -> bool:
    while vectors is not None:
        if isinstance(vectors, np.memmap):
            return True
        vectors = getattr(vectors, "base", None)
    return False


def test_the_second_load_is_mapped_and_equal(path: Path, odd: Any, same_bits: Check) -> None:
    first, second = load(path), load(path)
    assert not is_mapped(first.vectors)
    assert is_mapped(second.vectors)
    assert second.words == first.words == odd[0]
    same_bits(np.array(second.vectors), odd[1])
    assert second.info == first.info
    assert second.name == first.name


def test_what_was_found_is_remembered(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(b"a 1 2\nb nan 3\na 4 5\n")
    infos = [load(path, skip_bad=True).info for _ in range(2)]
    assert infos[0] == infos[1]
    assert (infos[1].words, infos[1].duplicates, infos[1].skipped) == (1, 1, 1)
    assert "line 2" in infos[1].first_problem


def test_a_lenient_run_does_not_serve_a_strict_one(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(b"a 1 2\nb nan 3\nc 4 5\n")
    load(path, skip_bad=True)
    with pytest.raises(WordbiasError, match="line 2"):
        load(path)


@pytest.mark.parametrize("rows", [3, 40_000])
def test_a_changed_file_of_the_same_size_and_time_is_read_anew(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "v.txt"
    lines = [b"w%06d 0.5 0.25\n" % i for i in range(rows)]
    path.write_bytes(b"".join(lines))
    before = path.stat()
    load(path)
    middle = rows // 2
    lines[middle] = lines[middle].replace(b"0.5", b"0.7")
    path.write_bytes(b"".join(lines))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert load(path).vectors[middle, 0] == np.float32(0.7)


@pytest.mark.parametrize("place", [0, 1, -1])
def test_a_change_is_found_where_the_system_has_no_change_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    path = tmp_path / "v.txt"
    lines = [b"w%06d 0.5 0.25\n" % i for i in range(20_000)]
    path.write_bytes(b"".join(lines))
    before = path.stat()
    load(path)
    lines[place] = lines[place].replace(b"0.5", b"0.7")
    path.write_bytes(b"".join(lines))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load(path).vectors[place, 0] == np.float32(0.7)


def test_a_file_that_changes_while_it_is_read_is_not_cached(
    path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wordbias.formats import loading

    collect = loading.collect

    def slow(*arguments: Any) -> Any:
        loaded = collect(*arguments)
        with path.open("ab") as file:
            file.write(b"late 1 2 3 4 5\n")
        return loaded

    monkeypatch.setattr(loading, "collect", slow)
    assert "late" not in load(path).words
    assert list(cache_folder.glob("*.safetensors")) == []
    monkeypatch.undo()
    assert "late" in load(path, cache=False).words


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def last_byte_gone(data: bytes) -> bytes:
    return data[:-1]


def nothing(data: bytes) -> bytes:
    return b""


def few_bytes(data: bytes) -> bytes:
    return data[:5]


def header_overwritten(data: bytes) -> bytes:
    return data[:8] + b"x" * 200 + data[208:]


def header_length_overwritten(data: bytes) -> bytes:
    return b"\xff" * 8 + data[8:]


def words_overwritten(data: bytes) -> bytes:
    return data[:-3] + b"zzz"


def values_overwritten(data: bytes) -> bytes:
    start = 8 + int.from_bytes(data[:8], "little")
    return data[:start] + b"\x01" * 40 + data[start + 40 :]


def with_header(text: bytes) -> Callable[[bytes], bytes]:
    def damage(data: bytes) -> bytes:
        return len(text).to_bytes(8, "little") + text + data

    return damage


HEADERS = [b"[]", b"{}", b"null", b'{"__metadata__":5}', b'{"__metadata__":null}', b"\xff\xfe"]


@pytest.mark.parametrize(
    "damage",
    [
        half,
        last_byte_gone,
        nothing,
        few_bytes,
        header_overwritten,
        header_length_overwritten,
        words_overwritten,
        values_overwritten,
        *[pytest.param(with_header(text), id=repr(text)) for text in HEADERS],
    ],
)
def test_a_damaged_entry_is_rebuilt(
    path: Path,
    entry: Path,
    odd: Any,
    same_bits: Check,
    cli: Any,
    damage: Callable[[bytes], bytes],
) -> None:
    entry.write_bytes(damage(entry.read_bytes()))
    assert cli("cache").code == 0, "the list must survive a damaged entry"
    for _ in range(2):
        loaded = load(path)
        assert loaded.words == odd[0]
        same_bits(np.array(loaded.vectors), odd[1])
    assert is_mapped(loaded.vectors)


def at(start: int, data: bytes) -> Callable[[bytes], bytes]:
    def damage(whole: bytes) -> bytes:
        return whole[:start] + data + whole[start + len(data) :]

    return damage


@pytest.fixture
def tall(tmp_path: Path) -> tuple[Path, list[str], Any]:
    """Return a text of 3,000 rows of 20 values, its words and its vectors."""
    words = [f"w{i}" for i in range(3_000)]
    vectors = np.random.default_rng(0).standard_normal((3_000, 20)).astype(np.float32)
    save(tmp_path / "tall.txt", words, vectors)
    return tmp_path / "tall.txt", words, vectors


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.125, np.nan, np.inf])
@pytest.mark.parametrize("place", [0, 1, 777, 31_337, 59_999])
def test_one_damaged_value_is_found_wherever_it_is(
    tall: Any, cache_folder: Path, same_bits: Check, value: float, place: int
) -> None:
    path, words, vectors = tall
    load(path)
    (entry,) = cache_folder.glob("*.safetensors")
    data = entry.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little") + 4 * place
    entry.write_bytes(at(start, np.float32(value).tobytes())(data))
    for _ in range(2):
        loaded = load(path)
        assert loaded.words == words
        same_bits(np.array(loaded.vectors), vectors)
    assert is_mapped(loaded.vectors), "it was rebuilt"
    assert entry.read_bytes() == data


def test_a_damaged_description_is_found(tall: Any, cache_folder: Path) -> None:
    path, _, _ = tall
    first = load(path)
    (entry,) = cache_folder.glob("*.safetensors")
    data = entry.read_bytes()
    digest = first.info.sha256.encode()
    assert data.count(digest) == 1
    entry.write_bytes(data.replace(digest, b"0" * 64))
    assert load(path).info == first.info


def test_an_entry_is_verified_once_for_each_state(
    tall: Any, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _, _ = tall
    load(path)
    (entry,) = cache_folder.glob("*.safetensors")
    counted: list[int] = []
    checked = cache.ordered_map

    def counting(*arguments: Any) -> Any:
        counted.append(1)
        return checked(*arguments)

    monkeypatch.setattr(cache, "ordered_map", counting)  # by which blocks get their checksums
    state = entry.stat()
    for _ in range(3):
        load(path)
    assert counted == [], "what was just written is known to be whole"
    assert (entry.stat().st_mtime_ns, entry.stat().st_ctime_ns) == (
        state.st_mtime_ns,
        state.st_ctime_ns,
    ), "to be used is no change"
    os.utime(entry)  # a copy, a backup brought back, an edit: another state
    for _ in range(3):
        load(path)
    assert counted == [1]
    entry.with_name(f"{entry.name}.verified").unlink()
    for _ in range(3):
        load(path)
    assert counted == [1, 1]


@pytest.mark.parametrize("text", [b"", b"whole", b"\xff\xfe", b"1 2 3 4"])
def test_with_a_damaged_note_the_entry_is_verified_again(
    tall: Any, cache_folder: Path, same_bits: Check, text: bytes
) -> None:
    path, words, vectors = tall
    load(path)
    (note,) = cache_folder.glob("*.verified")
    good = note.read_bytes()
    note.write_bytes(text)
    loaded = load(path)
    assert loaded.words == words
    same_bits(np.array(loaded.vectors), vectors)
    assert is_mapped(loaded.vectors)
    assert note.read_bytes() == good


def test_a_note_without_its_entry_is_removed(tall: Any, cache_folder: Path) -> None:
    load(tall[0])
    (entry,) = cache_folder.glob("*.safetensors")
    entry.unlink()
    cache.shrink(1 << 40)
    assert list(cache_folder.iterdir()) == []


@pytest.fixture
def untouchable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def touched(*arguments: object) -> None:
        raise AssertionError("the cache was used")

    with monkeypatch.context() as patch:
        patch.setattr(cache, "get", touched)
        patch.setattr(cache, "put", touched)
        yield


@pytest.mark.usefixtures("untouchable")
@pytest.mark.parametrize("command", ["convert", "misp"])
def test_no_cache_neither_reads_nor_writes(
    tmp_path: Path, people: Any, cli: Any, cache_folder: Path, command: str
) -> None:
    save(tmp_path / "v.txt", *people)
    target = [tmp_path / "out.safetensors"] if command == "convert" else []
    done = cli(command, tmp_path / "v.txt", *target, "--no-cache")
    assert done.code == 0, done.err
    assert list(cache_folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_does_not_fail_the_run(
    tmp_path: Path, usable: Path, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORDBIAS_CACHE", str(usable / "inside a file"))
    done = cli("misp", usable, "-q", "-o", tmp_path / "out.safetensors")
    assert done.code == 0
    assert done.err.startswith("not cached, going on without: ")
    assert done.err.count("\n") == 1
    assert (tmp_path / "out.safetensors").exists()


def test_a_read_only_folder_does_not_fail_the_run(
    tmp_path: Path, usable: Path, cli: Any, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda place, mode: Path(place) != cache_folder and allowed(place, mode)
    )
    done = cli("misp", usable, "-q", "-o", tmp_path / "out.safetensors")
    assert done.code == 0
    assert done.err.startswith("not cached, going on without: ")
    assert "read-only" in done.err
    assert done.err.count("\n") == 1
    assert list(cache_folder.iterdir()) == []


def test_a_full_disk_while_caching_does_not_fail_the_run(
    tmp_path: Path, usable: Path, cli: Any, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = tensors.write

    def full(file: Any, words: Any, vectors: Any, metadata: Any = None) -> None:
        write(file, words, vectors, metadata)
        if metadata:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tensors, "write", full)
    done = cli("misp", usable, "-q", "-o", tmp_path / "out.safetensors")
    assert done.code == 0
    assert done.err.startswith("not cached, going on without: ")
    assert "No space left on device" in done.err
    assert done.err.count("\n") == 1
    assert list(cache_folder.iterdir()) == []


@pytest.fixture
def three(tmp_path: Path, cache_folder: Path) -> list[Path]:
    """Return three cached files, the first used last and the second longest ago."""
    paths = []
    for i, days in enumerate([1, 3, 2]):
        path = tmp_path / f"file{i}.txt"
        save(path, ["a", "b"], np.full((2, 500), i + 0.5, np.float32))
        load(path)
        for file in cache_folder.glob(f"file{i}*"):  # the entry, and the note that it is whole
            used = file.stat().st_mtime - 86400 * days
            os.utime(file, (used, used))
        paths.append(path)
    return paths


def cached(folder: Path) -> list[str]:
    return sorted(file.name[:5] for file in folder.glob("*.safetensors"))


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.safetensors"))


def test_cache_lists_what_it_holds(cli: Any, three: list[Path], cache_folder: Path) -> None:
    done = cli("cache")
    assert (done.code, done.err) == (0, "")
    assert "3 entries" in done.out
    assert str(cache_folder) in done.out
    places = [done.out.index(path.name) for path in three]  # a long path is wrapped
    assert places[0] < places[2] < places[1], "the most recently used comes first"


@pytest.mark.usefixtures("three")
def test_clear_removes_everything(cli: Any, cache_folder: Path) -> None:
    done = cli("cache", "--clear")
    assert (done.code, done.err) == (0, "")
    assert "removed 3 entries" in done.out
    assert list(cache_folder.iterdir()) == []
    assert "0 entries" in cli("cache").out


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(("entries", "left"), [(0, []), (1, ["file0"]), (2, ["file0", "file2"])])
def test_the_least_recently_used_goes_first(
    cli: Any, cache_folder: Path, entries: int, left: list[str]
) -> None:
    done = cli("cache", "--max-size", f"{entries * size_of(cache_folder) // 3 + 10}B")
    assert done.code == 0
    assert cached(cache_folder) == left


@pytest.mark.usefixtures("three")
def test_loading_counts_as_use(cli: Any, three: list[Path], cache_folder: Path) -> None:
    load(three[1])
    cli("cache", "--max-size", f"{size_of(cache_folder) // 3 + 10}B")
    assert cached(cache_folder) == ["file1"]


@pytest.mark.parametrize("entries", [0, 0.5, 1, 1.9, 2])
def test_the_limit_holds_from_now_on(
    cli: Any, three: list[Path], tmp_path: Path, cache_folder: Path, entries: float
) -> None:
    limit = int(entries * size_of(cache_folder) / 3) + 10
    cli("cache", "--max-size", f"{limit}B")
    save(tmp_path / "file9.txt", ["a", "b"], np.full((2, 500), 9.5, np.float32))
    for path in (tmp_path / "file9.txt", *three):
        load(path)
        assert size_of(cache_folder) <= limit


@pytest.mark.parametrize("size", ["much", "-5", "5X", "", "1e9"])
def test_a_limit_that_is_no_size_is_wrong_usage(cli: Any, size: str) -> None:
    done = cli("cache", f"--max-size={size}")
    assert (done.code, done.out) == (2, "")
    assert "500MB or 20G" in done.err


@pytest.mark.parametrize(
    ("text", "size"), [("1.5K", 1500), ("20G", 20 * 10**9), ("3 mb", 3_000_000), ("7B", 7)]
)
def test_sizes_have_units(cli: Any, text: str, size: int) -> None:
    assert cli("cache", "--max-size", text).code == 0
    assert cache.limit() == size


class Evil:
    """What would create a file if its pickle were opened."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return open, (str(self.place), "w")


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("name", ["v.kv", "v.txt", "v"])
@pytest.mark.parametrize("command", ["misp", "convert", "streamed"])
def test_a_pickle_is_refused_and_not_opened(
    tmp_path: Path, cli: Any, command: str, name: str, protocol: int
) -> None:
    path, victim = tmp_path / name, tmp_path / "victim"
    path.write_bytes(pickle.dumps(Evil(victim), protocol))
    arguments = {
        "misp": ["misp", path],
        "convert": ["convert", path, tmp_path / "out.safetensors"],
        "streamed": ["misp", path, "-o", tmp_path / "out.txt"],
    }
    done = cli(*arguments[command])
    assert not victim.exists()
    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 1
    if protocol >= 2:
        assert "--allow-pickle" in done.err
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_the_evil_pickle_would_do_its_work(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Evil(tmp_path / "victim"))).close()
    assert (tmp_path / "victim").exists()


def test_allow_pickle_opens_gensim_s_files(tmp_path: Path, odd: Any, same_bits: Check) -> None:
    path = tmp_path / "v.kv"
    save(path, *odd)
    with pytest.raises(WordbiasError, match="--allow-pickle"):
        load(path)
    loaded = load(path, allow_pickle=True)
    assert loaded.words == odd[0]
    same_bits(loaded.vectors, odd[1])


def test_allow_pickle_says_what_else_it_found(tmp_path: Path) -> None:
    path = tmp_path / "v.kv"
    path.write_bytes(pickle.dumps({"she": [1.0, 2.0]}))
    with pytest.raises(WordbiasError, match=r"v\.kv: "):
        load(path, allow_pickle=True)
