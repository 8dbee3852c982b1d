"""What every command has as options, Python sets once for the process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import wordbias as wb
from wordbias import devices, progress, text_files


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    text_files.set_longest_line(None)
    progress.set_quiet(False)


def test_each_setting_is_set_without_the_others_and_stays() -> None:
    wb.set_config(threads=1)
    found = wb.set_config(quiet=True)
    assert found == {"threads": 1, "longest_line": text_files.LONGEST, "quiet": True}
    assert devices.threads() == 1
    with progress.progress("work", 3) as bar:
        assert type(bar).__module__ == "wordbias.progress"  # tqdm's is not made


@pytest.mark.parametrize("longest", [1_000, "1KB"])
def test_a_line_that_is_too_long_is_refused(tmp_path: Path, longest: int | str) -> None:
    path = tmp_path / "texts.tsv"
    path.write_text("text\n" + "she " * 300 + "\n", encoding="utf-8")
    wb.rewrite("scrub", path, output=tmp_path / "fine.tsv")
    wb.set_config(longest_line=longest)
    with pytest.raises(wb.WordbiasError, match=r"1,?000"):
        wb.rewrite("scrub", path, output=tmp_path / "out.tsv")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"threads": 0}, "^threads=: expected a whole number from 1 on, got 0"),
        ({"longest_line": "many"}, "expected a size with its unit"),
        ({"quiet": "no"}, "^quiet=: expected True or False"),
    ],
)
def test_what_is_no_setting_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(wb.WordbiasError, match=said):
        wb.set_config(**given)  # type: ignore[arg-type]
