"""File to file: everything stays in its place, and memory does not grow with the file."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.embedding import read_embedding
from wordbias.formats import Kind, VectorFile, cache, load, save
from wordbias.formats.loading import Tally
from wordbias.formats.source import as_text
from wordbias.methods import misp as fit_module

DIMS = 4
Check = Callable[..., None]
Rows = tuple[list[str], Any]


def every_row(path: Path) -> Rows:
    """Read a file without dropping duplicates."""
    blocks = list(VectorFile.open(path).blocks(Tally()))
    words = [as_text(word) for block in blocks for word in block.words]
    return words, np.vstack([block.rows for block in blocks])


def bound(vectors: Any) -> float:
    """Bound what the order of float32 additions can change in a row of ``x - (x B') W B``.

    Each of the two products over `d` and `k` terms errs by at most so many times the unit
    roundoff ``2**-24`` of the row's norm, the subtraction once more, and two results are compared.
    """
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    return float(2 * (vectors.shape[1] + DIMS + 2) * 2.0**-24 * norms.max())


@pytest.fixture
def mixed(people: Any, odd: Any) -> Rows:
    """Return people, odd words in between, and duplicates of both."""
    words, vectors = people
    strange = [*(word for word in odd[0] if " " not in word), "she", "nan", "she"]
    values = np.random.default_rng(8).standard_normal((len(strange), vectors.shape[1]))
    order = np.random.default_rng(9).permutation(len(words) + len(strange))
    both = [*words, *strange]
    return [both[i] for i in order], np.vstack([vectors, values.astype(np.float32)])[order]


def debiased(path: Path, rows: Rows) -> Any:
    """Debias every row with what is fitted in memory."""
    return fit_module.fit(read_embedding(path, cache=False), dims=DIMS)(rows[1])


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("kind", ["glove", "word2vec", "word2vec-binary"])
def test_order_duplicates_and_odd_words_stay(
    tmp_path: Path, mixed: Rows, same_bits: Check, cli: Any, kind: Kind, suffix: str
) -> None:
    source, target = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    save(source, *mixed, kind)
    done = cli("misp", source, "-o", target)
    assert done.code == 0, done.err
    words, vectors = every_row(target)
    assert words == mixed[0]
    assert VectorFile.open(target).layout.kind == kind
    expected = debiased(source, mixed)
    assert not np.allclose(vectors, mixed[1], rtol=0, atol=1e-3)
    assert np.allclose(vectors, expected, rtol=0, atol=bound(mixed[1]))


def test_words_with_spaces_stay_in_text(tmp_path: Path, people: Any, odd: Any, cli: Any) -> None:
    words = [*people[0], *odd[0]]
    vectors = np.vstack([people[1], np.ones((len(odd[0]), 20), np.float32)])
    save(tmp_path / "in.txt", words, vectors)
    assert cli("misp", tmp_path / "in.txt", "-o", tmp_path / "out.txt").code == 0
    assert every_row(tmp_path / "out.txt")[0] == words


@pytest.mark.parametrize("target", ["out.txt", "out.vec", "out.bin", "out.vec.xz", "out.txt.zip"])
@pytest.mark.parametrize("kind", ["glove", "word2vec", "word2vec-binary"])
def test_every_row_format_streams_into_every_other(
    tmp_path: Path, people: Any, cli: Any, kind: Kind, target: str
) -> None:
    save(tmp_path / "in", *people, kind)
    assert cli("misp", tmp_path / "in", "-o", tmp_path / target).code == 0
    words, vectors = every_row(tmp_path / target)
    assert words == people[0]
    expected = debiased(tmp_path / "in", people)
    assert np.allclose(vectors, expected, rtol=0, atol=bound(people[1]))


def test_what_is_streamed_equals_what_memory_gives(tmp_path: Path, people: Any, cli: Any) -> None:
    save(tmp_path / "in.vec", *people)
    assert cli("misp", tmp_path / "in.vec", "-o", tmp_path / "streamed.vec").code == 0
    assert cli("misp", tmp_path / "in.vec", "-o", tmp_path / "whole.safetensors").code == 0
    streamed, whole = load(tmp_path / "streamed.vec"), load(tmp_path / "whole.safetensors")
    assert streamed.words == whole.words
    assert np.allclose(streamed.vectors, whole.vectors, rtol=0, atol=bound(people[1]))


@pytest.mark.slow
@pytest.mark.parametrize("size", [64, 1000])
@pytest.mark.parametrize("workers", [1, 2])
def test_chunks_and_threads_do_not_change_order(
    tmp_path: Path,
    people: Any,
    same_bits: Check,
    chunk: Callable[[int], None],
    cli: Any,
    size: int,
    workers: int,
) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.vec"
    save(source, *people)
    chunk(size)
    assert cli("convert", source, target, "--threads", workers).code == 0
    assert every_row(target)[0] == people[0]
    same_bits(every_row(target)[1], people[1])


def test_the_cache_is_neither_read_nor_filled(
    tmp_path: Path, people: Any, cli: Any, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touched(*arguments: object) -> None:
        raise AssertionError("a streamed run used the cache")

    monkeypatch.setattr(cache, "get", touched)
    monkeypatch.setattr(cache, "put", touched)
    save(tmp_path / "in.txt", *people)
    done = cli("misp", tmp_path / "in.txt", "-o", tmp_path / "out.txt")
    assert done.code == 0, done.err
    assert list(cache_folder.iterdir()) == []


@pytest.mark.parametrize("name", ["v.txt", "v.vec.gz", "v.bin"])
def test_a_file_may_be_replaced_by_its_own_result(
    tmp_path: Path, people: Any, cli: Any, name: str
) -> None:
    path = tmp_path / name
    save(path, *people)
    expected = debiased(path, people)
    assert cli("misp", path, "-o", path).code == 0
    words, vectors = every_row(path)
    assert words == people[0]
    assert np.allclose(vectors, expected, rtol=0, atol=bound(people[1]))
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_file_is_replaced_only_when_the_result_is_complete(
    tmp_path: Path, people: Any, cli: Any
) -> None:
    path = tmp_path / "v.txt"
    save(path, *people)
    with path.open("ab") as file:  # the first pass need not parse this row, the second one must
        file.write(b"zzz 1 2 3\n")
    before = path.read_bytes()
    done = cli("misp", path, "-o", path, "--vocab", vocabulary(tmp_path, people))
    assert done.code == 1
    assert f"line {len(people[0]) + 1}: expected 20 values, found 3" in done.err
    assert path.read_bytes() == before


def vocabulary(folder: Path, people: Any) -> Path:
    path = folder / "vocabulary.txt"
    path.write_text("\n".join(people[0][-50:]) + "\n", "utf-8")
    return path


PEAK = """
import sys
from wordbias.cli import run
code = run(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
sys.stdout.write("\\n" + peak.split()[1])
sys.exit(code)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux' /proc")
@pytest.mark.parametrize(("source", "target"), [("v.txt", "out.vec"), ("v.bin", "out.txt")])
def test_a_file_twice_as_long_needs_no_more_memory(
    tmp_path: Path, people: Any, source: str, target: str
) -> None:
    words, vectors = people
    row = vectors.nbytes // len(words)
    peaks = []
    for rows in (150_000, 300_000):
        more = np.tile(vectors, (rows // len(words) + 1, 1))[:rows]
        save(tmp_path / source, [*words, *(f"w{i}" for i in range(rows - len(words)))], more)
        command = ["misp", tmp_path / source, "-o", tmp_path / target, "--threads", "2", "-q"]
        command += ["--vocab", vocabulary(tmp_path, people)]
        done = subprocess.run(
            [sys.executable, "-c", PEAK, *map(str, command)],
            capture_output=True,
            check=True,
            encoding="utf-8",
        )
        peaks.append(int(done.stdout.split()[-1]) * 1024)
    # Half of what the values alone of the additional rows would need; the allocator's noise
    # between two equal runs is well below that.
    assert peaks[1] - peaks[0] < 150_000 * row / 2


def limits(command: list[object]) -> tuple[int, str]:
    """Run a command; return its largest memory that is no file's, in bytes, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", ANONYMOUS, *map(str, command)],
        capture_output=True,
        check=True,
        encoding="utf-8",
        # freed arrays go back to the system, and are not counted as held
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"},
    )
    *lines, peak = done.stdout.splitlines()
    return int(peak) * 1024, "\n".join(lines)


ANONYMOUS = """
import sys, threading
from wordbias.cli import run
over, peak = threading.Event(), 0
def watch():
    global peak
    while not over.wait(0.002):
        line = next(line for line in open("/proc/self/status") if line.startswith("RssAnon"))
        peak = max(peak, int(line.split()[1]))
watcher = threading.Thread(target=watch)
watcher.start()
code = run(sys.argv[1:])
over.set()
watcher.join()
print()
print(peak)
sys.exit(code)
"""


@pytest.fixture
def tall(tmp_path: Path, people: Any) -> Path:
    """Return word2vec binary of 100,000 rows of 300 values: 120 MB of them."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    fillers = ("".join(word) for word in itertools.product(letters, repeat=4))
    words = [*people[0], *itertools.islice(fillers, 100_000 - len(people[0]))]
    words = list(dict.fromkeys(words))
    vectors = np.random.default_rng(0).standard_normal((1000, 300)).astype(np.float32)
    vectors = np.tile(vectors, (100, 1))[: len(words)]
    vectors[:, 0] = np.arange(len(words)) % 971
    save(tmp_path / "tall.bin", words, vectors)
    return tmp_path / "tall.bin"


needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux' /proc")


@pytest.mark.slow
@needs_proc
def test_convert_holds_no_matrix(tmp_path: Path, tall: Path) -> None:
    """Half of what the values need is not there, whether they are read, cached or mapped."""
    first, mapped = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    for source, target in ((tall, first), (first, mapped)):
        peak, printed = limits(["convert", source, target, "-q", "--threads", "2"])
        assert "words × 300 (safetensors)" in printed
        assert peak < 120_000_000
    assert first.read_bytes() == mapped.read_bytes()
    whole = load(tall, cache=False)
    save(tmp_path / "c.safetensors", whole.words, whole.vectors)
    assert first.read_bytes() == (tmp_path / "c.safetensors").read_bytes()


@pytest.mark.slow
@needs_proc
@pytest.mark.skipif(sys.platform != "linux", reason="allocators differ")
def test_misp_holds_few_copies_of_the_words_it_measures(tmp_path: Path, tall: Path) -> None:
    """Of the 50,000 first words, 60 MB, five copies at most beside the 150 MB of the program."""
    target = tmp_path / "out.bin"
    peak, _ = limits(["misp", tall, "-o", target, "-q", "--threads", "2"])
    assert peak < 150_000_000 + 5 * 60_000_000


def test_convert_keeps_the_first_of_duplicates(tmp_path: Path, cli: Any) -> None:
    path = tmp_path / "v.vec"
    path.write_bytes(b"5 2\na 1 2\nb 3 4\na 5 6\nb 7 8\nc 9 1\n")
    for i, options in enumerate((["--no-cache"], [], ["-q"])):
        done = cli("convert", path, tmp_path / f"{i}.safetensors", *options)
        assert (done.code, "3 words × 2" in done.out) == (0, True)
        note = f"note: {path}: 2 duplicated words, the first of each kept\n"
        assert done.err == ("" if "-q" in options else note)
        loaded = load(tmp_path / f"{i}.safetensors")
        assert loaded.words == ["a", "b", "c"]
        assert loaded.vectors.tolist() == [[1, 2], [3, 4], [9, 1]]


def test_convert_copies_what_the_cache_has(
    tmp_path: Path, people: Any, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in.txt"
    save(source, *people)
    assert cli("convert", source, tmp_path / "a.safetensors").code == 0
    load(source)
    monkeypatch.setattr(VectorFile, "map", None)
    assert cli("convert", source, tmp_path / "b.safetensors").code == 0
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    assert cli("convert", source, tmp_path / "c.safetensors", "--no-cache").code == 1
