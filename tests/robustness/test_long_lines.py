"""A line that does not end is refused while it is read, in little memory and in linear time."""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from wordbias.errors import WordbiasError
from wordbias.formats import load, save
from wordbias.wordlists import common_names

pytestmark = pytest.mark.slow

LENGTH = 600_000_000
ALLOWED = 40_000_000
"""Bytes of memory beyond what the same command takes for a small file."""
PEAK = """
import sys
from wordbias.cli import run
code = run(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
sys.stdout.write("\\n" + peak.split()[1])
sys.exit(code)
"""
needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")


def measured(*arguments: object) -> tuple[int, str, int]:
    """Run a command; return its exit code, what it said, and its largest memory in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *map(str, arguments)],
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    return done.returncode, done.stderr, int(done.stdout.split()[-1]) * 1024


def write_small(path: Path) -> Path:
    """Write a small file of vectors that misp can work on."""
    words = [name.lower() for group in common_names() for name in group] + ["she", "he"]
    vectors = np.random.default_rng(0).standard_normal((len(words), 50)).astype(np.float32)
    save(path, words, vectors)
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_small(tmp_path / "small.txt")


@cache
def usual_peak(output: str | None) -> int:
    """Return the largest memory of the same command on a small file."""
    with tempfile.TemporaryDirectory() as folder:
        write_small(Path(folder, "small.txt"))
        end = [] if output is None else ["-o", Path(folder, output)]
        code, message, peak = measured("misp", Path(folder, "small.txt"), "-q", "--no-cache", *end)
    assert code == 0, message
    return peak


def prolonged(path: Path, start: bytes) -> Path:
    """Write a file of `start` and one line without end; it takes no room on the disk."""
    with path.open("wb") as file:
        file.write(start)
        file.truncate(len(start) + LENGTH)
    return path


BEGINNINGS: dict[str, Callable[[bytes], bytes]] = {
    "behind rows": lambda rows: rows,
    "first": lambda rows: rows[:0] + b"the" + b" 0.5" * 100_000,
    "header": lambda rows: b"400000 50\n" + b"the" + b" 0.5" * 100_000,
}


@needs_proc
@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("output", [None, "out.txt", "out.safetensors"])
def test_a_line_of_600_mb_takes_little_memory(
    tmp_path: Path, small: Path, beginning: str, output: str | None
) -> None:
    end = [] if output is None else ["-o", tmp_path / output]
    path = prolonged(tmp_path / "long.txt", BEGINNINGS[beginning](small.read_bytes()))
    code, message, peak = measured("misp", path, "-q", "--no-cache", *end)
    assert code == 1
    assert f"{path}: line " in message
    assert "bytes long" in message
    assert message.count("\n") == 1
    assert peak - usual_peak(output) < ALLOWED
    assert output is None or not (tmp_path / output).exists()


TABLES: dict[str, tuple[str, bytes, list[str]]] = {
    "text": ("t.txt", b"She sings.\n", ["rewrite", "swap", "IN", "-o", "OUT.txt"]),
    "tsv": ("t.tsv", b"id\ttext\n1\tShe sings.\n", ["rewrite", "swap", "IN", "-o", "OUT.tsv"]),
    "csv": ("t.csv", b"id,text\n1,She sings.\n", ["rewrite", "swap", "IN", "-o", "OUT.csv"]),
    "jsonl": ("t.jsonl", b'{"text": "She sings."}\n', ["rewrite", "swap", "IN", "-o", "OUT.jsonl"]),
    "predictions": (
        "p.csv",
        b"label,predicted,group\n1,1,F\n0,1,F\n0,0,F\n1,1,M\n0,0,M\n0,0,M\n1,0,M\n",
        ["fairness", "IN", "--draws", "0"],
    ),
    "results": (
        "r.csv",
        b"name,a,b\nx,1,2\ny,2,1\nz,3,5\nu,4,4\n",
        ["compare", "IN"],
    ),
}


@needs_proc
@pytest.mark.parametrize("kind", TABLES)
def test_a_record_of_600_mb_takes_little_memory(tmp_path: Path, kind: str) -> None:
    name, rows, command = TABLES[kind]
    (tmp_path / name).write_bytes(rows)
    (tmp_path / "long").mkdir()
    results = []
    for path in (tmp_path / name, prolonged(tmp_path / "long" / name, rows)):
        places = {"IN": path, **{part: path.parent / part for part in command if "OUT" in part}}
        results.append(measured(*(places.get(part, part) for part in command)))
    (code, message, usual), (refused, why, peak) = results
    assert code == 0, message
    assert refused == 1
    assert "is over 64,000,000 bytes long" in why
    assert why.count("\n") == 1
    assert peak - usual < ALLOWED
    assert not list((tmp_path / "long").glob("OUT*"))


BOMBS = {
    "one line": b"a" * 1000,
    "spaces": b" " * 1000,
    "empty lines": b"\n" * 1000,
    "lines of spaces": b" " * 99 + b"\n",
}


@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize("bomb", BOMBS)
def test_what_a_small_archive_unpacks_to_is_refused_early(
    tmp_path: Path, small: Path, bomb: str, skip_bad: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 300 MB that stand behind the rows few are read."""
    from wordbias.formats.source import Source

    path = tmp_path / "bomb.txt.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(small.read_bytes())
        for _ in range(30):
            file.write(BOMBS[bomb] * (10_000_000 // len(BOMBS[bomb])))
    read, chunks = [0], Source.chunks

    def counting(*arguments: object) -> object:
        for chunk in chunks(*arguments):  # type: ignore[arg-type]
            read[0] += len(chunk)
            yield chunk

    monkeypatch.setattr(Source, "chunks", counting)
    with pytest.raises(WordbiasError, match=r"bytes long|empty lines"):
        load(path, cache=False, skip_bad=skip_bad)
    assert read[0] < 2 << 20


def test_a_word_has_an_end(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(b"a 1 2\n" + b"x" * 65_537 + b" 3 4\n" + b"y" * 65_536 + b" 5 6\n")
    with pytest.raises(WordbiasError, match="line 2: its word is 65,537 bytes long"):
        load(path, cache=False)
    assert load(path, cache=False, skip_bad=True).words == ["a", "y" * 65_536]


@pytest.mark.parametrize("dim", [2_000, 40_000])
def test_a_line_may_be_as_long_as_64_first_rows(tmp_path: Path, dim: int) -> None:
    path = tmp_path / "v.txt"
    row = b" 0.5" * dim
    longest = max(1 << 20, 64 * (1 + len(row)))
    padded = b" 0." + b"5" * (longest - 1 - len(row) + 1)
    assert len(b"b" + row[4:] + padded) == longest
    path.write_bytes(b"a" + row + b"\nb" + row[4:] + padded + b"\n")
    assert load(path, cache=False).vectors.shape == (2, dim)
    path.write_bytes(b"a" + row + b"\nb" + row[4:] + padded + b"5\n")
    with pytest.raises(WordbiasError, match=f"line 2: is over {longest:,} bytes long"):
        load(path, cache=False)


@pytest.mark.parametrize("header", [b"", b"2 1000000\n"])
def test_a_million_values_are_read(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "v.txt"
    rows = [b"a" + b" 0.5" * 999_999 + b" 2.5\n", b"b" + b" 1.5" * 1_000_000 + b"\n"]
    path.write_bytes(header + b"".join(rows))
    loaded = load(path, cache=False)
    assert loaded.vectors.shape == (2, 1_000_000)
    assert loaded.vectors[0, [0, -2, -1]].tolist() == [0.5, 0.5, 2.5]


def test_more_values_than_any_embedding_has_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes((b"a" + b" 5" * 1_100_000 + b"\n") * 2)
    with pytest.raises(WordbiasError, match="line 1 has 1100000 values"):
        load(path, cache=False)
