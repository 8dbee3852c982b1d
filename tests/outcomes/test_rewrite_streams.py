"""Streams of records: all of them, in order or in any, with a part in memory."""

from __future__ import annotations

import gzip
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordbias as wb
from wordbias.outcomes.records import RecordFile
from wordbias.outcomes.rewrite import Tally, TextStage, rewrite, shuffled


@settings(deadline=None)
@given(lines=st.lists(st.text(max_size=5), max_size=30), seed=st.integers(0, 9))
def test_the_order_is_that_of_random_numbers(lines: list[str], seed: int) -> None:
    """Written from the definition: sort by a number drawn for each line."""
    keys = np.random.default_rng(seed).random(len(lines))
    expected = [lines[i] for i in np.argsort(keys, kind="stable")]
    assert list(shuffled(lines, seed)) == expected
    assert list(shuffled(lines, seed, buckets=1)) == expected
    assert list(shuffled(lines, seed, buckets=7)) == expected


def test_every_order_is_about_as_likely() -> None:
    """Chi-squared with 5 degrees of freedom: 20.5 is exceeded with probability 0.001."""
    orders = Counter("".join(shuffled("abc", seed)) for seed in range(600))
    assert len(orders) == 6
    assert sum((count - 100) ** 2 / 100 for count in orders.values()) < 20.5


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "in.tsv"
    path.write_text(
        "split\tg\ttext\ntrain\tF\tshe\ntest\tF\ther eyes\ntrain\tM\tno word\ntest\tM\thim"
    )
    return path


def test_other_rows_do_not_change(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    report = wb.rewrite("scrub", file, where={"split": "train"}, output=out).report
    assert report["rows-written"][0].value == 4
    assert out.read_text() == file.read_text().replace("she", "_")
    (changed,) = report["rows-changed"]
    assert (changed.value, changed.details["n"]) == (1, 2)


def test_originals_then_the_swapped_ones(file: Path, tmp_path: Path) -> None:
    """Rows in which nothing changes are doubled too; a last line without an end gets one."""
    out = tmp_path / "out.tsv"
    done = wb.rewrite(
        wb.Swap(keep_original=True, values={"g": {"F": "M"}}),
        file,
        where={"split": "train"},
        output=out,
    )
    assert len(done) == 6
    assert out.read_text() == file.read_text() + "\ntrain\tM\the\ntrain\tF\tno word\n"
    assert done.report["rows-added"][0].value == 2


def test_methods_are_applied_in_order(file: Path) -> None:
    """The mask of one method is a word of the other."""
    orders = ("swap,scrub:mask=he", "scrub:mask=he,swap")
    texts = [wb.rewrite(order, file).texts for order in orders]
    assert texts == [["he", "he eyes", "no word", "he"], ["she", "she eyes", "no word", "she"]]


def test_shuffled_output_keeps_its_header(file: Path, tmp_path: Path) -> None:
    plain, out, second = (tmp_path / f"{name}.tsv" for name in ("plain", "out", "again"))
    wb.rewrite("scrub", file, output=plain)
    for path in (out, second):
        wb.rewrite("scrub", file, shuffle=True, seed=3, output=path)
    lines, before = out.read_text().splitlines(), plain.read_text().splitlines()
    assert lines[0] == before[0]
    assert sorted(lines[1:]) == sorted(before[1:])
    assert second.read_bytes() == out.read_bytes()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """A file four times as long takes no more; what is read at once is half a megabyte."""

    def peak(rows: int) -> int:
        path = tmp_path / "in.tsv.gz"
        path.write_bytes(
            gzip.compress(b"text\n" + (b"she is what everybody was; " * 40 + b"\n") * rows)
        )
        file = RecordFile.open(path)
        stage = TextStage(lambda text, cells: (text.upper(), ["all"]), file, Tally("upper"))
        tracemalloc.start()
        rewrite(file, str(tmp_path / "out.tsv"), [stage])
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return memory

    peak(1_500)  # the first call fills caches
    assert peak(24_000) < 1.2 * peak(6_000)


def test_an_error_leaves_the_old_output(tmp_path: Path) -> None:
    path, out = tmp_path / "in.tsv", tmp_path / "out.tsv"
    path.write_text("text\tg\nhe\tM\nshe\n")
    out.write_text("old")
    with pytest.raises(wb.WordbiasError, match="line 3"):
        wb.rewrite("scrub", path, output=out)
    assert out.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
