"""Lines of tables and of JSON lines: read as they are, and refused where they do not end."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples

import wordbias as wb
from wordbias import text_files
from wordbias.columns import read_labels
from wordbias.errors import WordbiasError
from wordbias.formats.tables import read_lines
from wordbias.nli.pairs import load_pairs
from wordbias.outcomes.records import RecordFile
from wordbias.rows import read_source
from wordbias.text_files import bounded_lines, read_bounded, set_longest_line
from wordbias.word_tasks.sets import read_lines as read_test_set
from wordbias.wordlists import wordlist


@pytest.fixture(autouse=True)
def _usual_limit() -> Iterator[None]:
    yield
    set_longest_line(None)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "HELD", 8)
    monkeypatch.setattr(text_files, "STEP", 3)


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(st.binary(max_size=40)), st.integers(1, 20), st.integers(1, 20))
def test_lines_are_those_that_python_reads(parts: list[bytes], held: int, step: int) -> None:
    data = b"\n".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_files, "HELD", held)
        patch.setattr(text_files, "STEP", step)
        assert list(bounded_lines(io.BytesIO(data), "x")) == list(io.BytesIO(data))


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("end", [b"", b"\n", b"\nx"])
@pytest.mark.parametrize("length", [1, 7, 8, 9, 10, 11, 12, 30])
def test_the_limit_is_the_length_without_the_line_feed(length: int, end: bytes) -> None:
    data = b"a\n" + b"b" * length + end
    set_longest_line(length)
    assert list(bounded_lines(io.BytesIO(data), "x")) == list(io.BytesIO(data))
    set_longest_line(length - 1)
    if length > 1:
        with pytest.raises(WordbiasError, match=f"x: line 2: is over {length - 1} bytes long"):
            list(bounded_lines(io.BytesIO(data), "x"))


@pytest.mark.parametrize("opener", [gzip.open, bz2.open, lzma.open, open])
@pytest.mark.usefixtures("small_steps")
def test_compressed_files_are_read_the_same(tmp_path: Path, opener: Callable[..., Any]) -> None:
    data = b"short\n" + b"l" * 100 + b"\nend"
    with opener(tmp_path / "x", "wb") as file:
        file.write(data)
    with opener(tmp_path / "x", "rb") as file:
        assert list(bounded_lines(file, "x")) == list(io.BytesIO(data))
    assert read_bounded(tmp_path / "x", opener) == data


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.usefixtures("small_steps")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    data = b"short\n" + b"l" * 100 + b"\nend"
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(data,))
    writer.start()
    assert read_bounded(tmp_path / "pipe") == data
    writer.join()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_without_a_writer_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # private: seconds that a test would wait
    monkeypatch.setattr(text_files, "WAIT", 0.1)
    os.mkfifo(pipe := tmp_path / "labels.txt")
    rows, threads = np.eye(6) + np.arange(6)[:, None], threading.active_count()
    for call in (
        lambda: wb.erase(rows, pipe),
        lambda: wb.measure(groups=pipe),
        lambda: wb.report(pipe),
        lambda: list(read_lines(pipe)),
        lambda: load_pairs(pipe),
    ):
        with pytest.raises(WordbiasError, match="is a pipe to which nothing has been written"):
            call()
    assert threading.active_count() == threads
    for call in (lambda: wb.erase(pipe, rows), lambda: wb.load(pipe)):
        with pytest.raises(WordbiasError, match="is not a regular file, and is read more"):
            call()


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs devices")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_device_is_refused(device: str) -> None:
    with pytest.raises(WordbiasError, match=f"^{device}: is a device, which may have no end"):
        read_bounded(device)


READERS: dict[str, Callable[[Path], Any]] = {
    "a.txt": lambda path: list(read_lines(path)),
    "b.txt.gz": lambda path: list(read_lines(path)),
    "a.tsv": lambda path: list(read_lines(path)),
    "a.csv": lambda path: list(read_lines(path)),
    "a.jsonl": lambda path: list(read_lines(path)),
    "c.txt": lambda path: list(RecordFile.open(path)),
    "d.jsonl": lambda path: list(RecordFile.open(path, text="a")),
    "pairs.txt": load_pairs,
    "pairs.jsonl": load_pairs,
    "labels.txt": read_labels,
    "set.txt": read_test_set,
    "rows.json": read_source,
    "rows.csv": read_source,
    "words.txt": lambda path: wordlist(str(path)),
}


@pytest.mark.parametrize("name", READERS)
def test_every_reader_refuses_a_line_that_does_not_end(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    data = b'{"a": "' + b"x" * 20_000
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    set_longest_line(10_000)
    with pytest.raises(WordbiasError) as caught:
        READERS[name](path)
    assert str(caught.value).startswith(f"{path}: line 1: is over 10,000 bytes long")
    assert "--longest-line" in str(caught.value)


def test_a_record_of_many_lines_has_a_limit_too(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('text\nfine\n"' + "x\n" * 6_000 + '"\n')
    assert len(list(RecordFile.open(path))) == 2
    set_longest_line(10_000)
    with pytest.raises(WordbiasError, match=r"a\.csv: line 3: is over 10,000 bytes long"):
        list(RecordFile.open(path))


def test_quotation_marks_in_a_long_record_take_linear_time(tmp_path: Path) -> None:
    """Each of its lines is looked at once: what is open behind it depends on it alone."""
    path = tmp_path / "a.csv"
    path.write_text('text\n"' + '""\n' * 50_000 + '"\n')
    seen: list[int] = []
    file = RecordFile.open(path)
    opened = file.form.opened

    def counting(line: str, before: bool) -> bool:
        seen.append(len(line))
        return opened(line, before)

    file.form.opened = counting  # type: ignore[method-assign]
    (record,) = file
    assert record["text"] == '"\n' * 50_000
    assert sum(seen) == path.stat().st_size


def test_the_option_raises_the_limit_and_lasts_for_one_call(tmp_path: Path, cli: Any) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("she " * 1_000 + "\n")
    command = ["rewrite", "swap", path, "-o", out]
    done = cli(*command, "--longest-line", "3KB")
    assert done.code == 1
    assert f"{path}: line 1: is over 3,000 bytes long" in done.err
    assert not out.exists()
    assert cli(*command, "--longest-line", "5KB").code == 0
    out.unlink()
    assert cli(*command).code == 0, "64 MB again"
    assert cli(*command, "--longest-line", "much").code == 2
