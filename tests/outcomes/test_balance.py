"""Balancing: as many of each group in each class, nobody invented, the rest untouched."""

from __future__ import annotations

from collections import Counter
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordbias as wb
from wordbias import Report, WordbiasError
from wordbias.functions.rewrite import Rewritten
from wordbias.outcomes.balance import copies

CODES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=60)


def tables(cells: list[tuple[int, int]], taken: np.ndarray) -> tuple[Counter, Counter]:
    before = Counter(cells)
    after = Counter(
        cell for cell, n in zip(cells, taken.tolist(), strict=True) for _ in repeat(None, n)
    )
    return before, after


@given(CODES, st.integers(0, 5))
def test_subsampling_leaves_the_smallest_groups_size(
    cells: list[tuple[int, int]], seed: int
) -> None:
    classes, groups = np.array(cells).T
    taken = copies(classes, groups, "subsample", seed)
    before, after = tables(cells, taken)
    known = set(groups.tolist())
    assert set(taken.tolist()) <= {0, 1}
    for label in set(classes.tolist()):
        smallest = min(before[label, group] for group in known)
        assert [after[label, group] for group in known] == [smallest] * len(known)


@given(CODES, st.integers(0, 5))
def test_oversampling_fills_up_to_the_largest(cells: list[tuple[int, int]], seed: int) -> None:
    classes, groups = np.array(cells).T
    taken = copies(classes, groups, "oversample", seed)
    before, after = tables(cells, taken)
    assert taken.min() >= 1
    for label, group in before:
        largest = max(before[label, other] for other in range(3))
        assert after[label, group] == largest
        if before[label, group] == largest:
            rows = (classes == label) & (groups == group)
            assert set(taken[rows].tolist()) == {1}


def test_every_example_is_as_likely_and_seeds_decide() -> None:
    """Of 4 and 2, each of the 4 is kept half of the time: 400 draws, five standard deviations."""
    classes, groups = np.zeros(6, int), np.array([0, 0, 0, 0, 1, 1])
    subsampled = sum(copies(classes, groups, "subsample", seed) for seed in range(400))
    assert np.abs(subsampled[:4] - 200).max() < 5 * np.sqrt(400 / 4)
    assert subsampled[4:].tolist() == [400, 400]
    drawn = sum(copies(classes, groups, "oversample", seed) for seed in range(400))
    assert np.abs(drawn[4:] - 800).max() < 5 * np.sqrt(800 / 4)
    taken = copies(classes, groups, "subsample", 7)
    assert (taken == copies(classes, groups, "subsample", 7)).all()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = ["train\tnurse\tF\ta", "train\tnurse\tF\tb", "test\tnurse\tF\tc", "train\tnurse\tM\td"]
    rows += ["train\tsurgeon\tM\te", "train\tsurgeon\tF\tf", "train\tdentist\tM\tg"]
    path = tmp_path / "in.tsv"
    path.write_text("split\tjob\tg\ttext\n" + "\n".join(rows))
    return path


def balanced(method: str, data: Any, **options: Any) -> Rewritten:
    return wb.rewrite(f"{method}:labels=job:sensitive=g", data, **options)


def cells_of(report: Report) -> list[list[tuple[Any, Any]]]:
    """Return how many rows each group of each class had and has."""
    pairs = [(row.details["before"], row.value) for row in report["rows-in-cell"]]
    return [pairs[i : i + 2] for i in range(0, len(pairs), 2)]


def test_other_rows_stay(file: Path) -> None:
    done = balanced("subsample", file, where={"split": "train"})
    assert "".join(done.texts) in ("acdef", "bcdef")
    assert cells_of(done.report) == [[(0, 0), (1, 0)], [(2, 1), (1, 1)], [(1, 1), (1, 1)]]
    assert done.report.notes[0].startswith("dentist has no F;")
    (added,) = done.report["rows-added"]
    assert (added.details["n"], added.value) == (6, -2)


def test_oversampled_rows_follow_each_other(file: Path) -> None:
    done = balanced("oversample", file)
    assert "".join(done.texts) == "abcdddefg"
    assert cells_of(done.report) == [[(0, 0), (1, 1)], [(3, 3), (1, 3)], [(1, 1), (1, 1)]]
    assert done.report["rows-added"][0].value == 2


def test_where_classes_are_balanced_no_row_is_added(tmp_path: Path) -> None:
    path = tmp_path / "even.tsv"
    path.write_text("text\tc\tg\na\tnurse\tF\nb\tnurse\tM\n", encoding="utf-8")
    done = wb.rewrite("oversample:labels=c:sensitive=g", path)
    assert [row.value for row in done.report["rows-added"]] == [0]
    assert done.report.tables[0].cells == [["oversample", "2", "0", "0"]]


def test_a_group_with_one_value_only(file: Path) -> None:
    with pytest.raises(WordbiasError, match=r"column 'g': expected two groups.*only 'F'"):
        balanced("subsample", file, where={"split": "test"})
    with pytest.raises(WordbiasError, match=r"among the texts of .*where.*, found no record"):
        balanced("subsample", file, where={"split": "dev"})


@settings(deadline=None, max_examples=20)
@given(cells=CODES)
def test_what_is_written_is_what_was_counted(
    cells: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("balance")
    path, out = folder / "in.csv", folder / "out.csv"
    cells = [*cells, (0, 0), (0, 1)]
    path.write_text("text,job,g\n" + "".join(f"{i},{c},{g}\n" for i, (c, g) in enumerate(cells)))
    done = balanced("oversample", path, shuffle=True, seed=1, output=out)
    rows = done.report["rows-in-cell"]
    counts = Counter(tuple(line.split(",")[1:]) for line in out.read_text().splitlines()[1:])
    assert len(done) == sum(row.value or 0 for row in rows) == counts.total()
    for row in rows:
        assert counts[row.details["set"], row.details["group"]] == row.value


class Counting(np.ndarray):
    """An array that counts how many numbers are read in whatever is done with it."""

    read = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        Counting.read += sum(np.size(array) for array in inputs)
        plain = [np.asarray(array) if isinstance(array, Counting) else array for array in inputs]
        computed = getattr(ufunc, method)(*plain, **options)
        return computed.view(Counting) if isinstance(computed, np.ndarray) else computed

    def __array_function__(self, function: Any, types: Any, given: Any, options: Any) -> Any:
        plain = [
            np.asarray(argument) if isinstance(argument, Counting) else argument
            for argument in given
        ]
        Counting.read += sum(np.size(array) for array in plain if isinstance(array, np.ndarray))
        return function(*plain, **options)


@pytest.mark.parametrize("how", ["subsample", "oversample"])
def test_classes_are_found_without_reading_all_examples(how: Any) -> None:
    def read(kinds: int) -> int:
        rng = np.random.default_rng(0)
        codes = [rng.integers(most, size=2_000).view(Counting) for most in (kinds, 2)]
        Counting.read = 0
        copies(*codes, how)
        return Counting.read

    assert read(400) <= read(20) + 2 * 400
