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

from wordbias.outcomes.records import RecordFile
from wordbias.outcomes.rewriting import AugmentStage, Tally, TextStage, rewrite
from wordbias.outcomes.scrubbing import Scrubber
from wordbias.outcomes.shuffling import shuffled
from wordbias.outcomes.swapping import Swapper


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
    found = Counter("".join(shuffled("abc", seed)) for seed in range(600))
    assert len(found) == 6
    assert sum((count - 100) ** 2 / 100 for count in found.values()) < 20.5


@pytest.fixture
def file(tmp_path: Path) -> RecordFile:
    path = tmp_path / "in.tsv"
    path.write_text(
        "split\tg\ttext\ntrain\tF\tshe\ntest\tF\ther eyes\ntrain\tM\tno word\ntest\tM\thim"
    )
    return RecordFile.open(path, columns=["split", "g"])


def test_other_rows_do_not_change(file: RecordFile, tmp_path: Path) -> None:
    stage = TextStage(Scrubber(), file, Tally("scrub"), {"split": ("train",)})
    out = tmp_path / "out.tsv"
    assert rewrite(file, str(out), [stage]) == 4
    assert out.read_text() == file.path.read_text().replace("she", "_")
    assert (stage.tally.rows, stage.tally.changed) == (2, 1)


def test_originals_then_the_swapped_ones(file: RecordFile, tmp_path: Path) -> None:
    """Rows in which nothing changes are doubled too; a last line without an end gets one."""
    values = {"g": {"F": "M", "M": "F"}}
    stage = TextStage(Swapper.built_in(), file, Tally("swap"), {"split": ("train",)}, values)
    out = tmp_path / "out.tsv"
    assert rewrite(file, str(out), [AugmentStage(stage)]) == 6
    added = "\ntrain\tM\the\ntrain\tF\tno word\n"
    assert out.read_text() == file.path.read_text() + added
    assert stage.tally.added == 2


def test_methods_are_applied_in_order(file: RecordFile, tmp_path: Path) -> None:
    swap = TextStage(Swapper.built_in(), file, Tally("swap"))
    scrub = TextStage(Scrubber(frozenset(("he", "his"))), file, Tally("scrub"))
    rewrite(file, str(tmp_path / "a.tsv"), [swap, scrub])
    rewrite(file, str(tmp_path / "b.tsv"), [scrub, swap])
    texts = [
        [line.split("\t")[2] for line in (tmp_path / name).read_text().splitlines()[1:]]
        for name in ("a.tsv", "b.tsv")
    ]
    assert texts == [["_", "_ eyes", "no word", "her"], ["he", "his eyes", "no word", "her"]]


def test_shuffled_output_keeps_its_header(file: RecordFile, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    rewrite(file, str(out), [], shuffle=3)
    lines, before = out.read_text().splitlines(), file.path.read_text().splitlines()
    assert lines[0] == before[0]
    assert sorted(lines[1:]) == sorted(before[1:])
    rewrite(file, str(tmp_path / "again.tsv"), [], shuffle=3)
    assert (tmp_path / "again.tsv").read_bytes() == out.read_bytes()


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
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(6_000) < 1.2 * peak(1_500)


def test_an_error_leaves_the_old_output(tmp_path: Path) -> None:
    path, out = tmp_path / "in.tsv", tmp_path / "out.tsv"
    path.write_text("text\tg\nhe\tM\nshe\n")
    out.write_text("old")
    file = RecordFile.open(path)
    with pytest.raises(ValueError, match="line 3"):
        rewrite(file, str(out), [TextStage(Scrubber(), file, Tally("scrub"))])
    assert out.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
