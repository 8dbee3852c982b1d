"""`wordbias.cache` as a user of Python calls it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wordbias as wb
from wordbias import WordbiasError
from wordbias.functions.cache import cache

Run = Callable[..., Any]


@pytest.fixture
def filled(tmp_path: Path) -> str:
    path = tmp_path / "a.txt"
    path.write_text("she 1 0\nhe 0 1\n")
    wb.load(path)
    return str(path)


def test_it_lists_limits_and_clears(cli: Run, filled: str) -> None:
    report = cache()
    assert [row.subject for row in report] == [filled]
    assert str(report) + "\n" == cli("cache").out
    assert cache(max_size="5GB").heading[0].endswith("of 5,000 MB")
    assert cache(max_size=3_000_000).heading[0].endswith("of 3 MB")
    assert cli("cache").out.startswith("1 entry, 0.0 of 3 MB")
    done = cache(clear=True)
    assert done.heading[0].startswith("removed 1 entry")
    assert len(done) == 0


@pytest.mark.parametrize("limit", ["5", "much", -1, 2.5, True])
def test_a_limit_is_a_size(limit: Any) -> None:
    with pytest.raises(WordbiasError, match="expected"):
        cache(max_size=limit)


def test_a_size_on_the_command_line_has_a_unit(cli: Run) -> None:
    done = cli("cache", "--max-size", "5")
    assert done.code == 2
    assert "Invalid value for '--max-size': '5': expected a size with its unit" in done.err
