"""The 74 settings: their names, their order, what they imply."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from wordbias import models
from wordbias.errors import WordbiasError
from wordbias.models.settings import LEVELS, Settings, all_settings


def test_there_are_74_different_ones() -> None:
    settings = all_settings()
    assert len(settings) == len({str(setting) for setting in settings}) == 74
    counts = [sum(setting.level == level for setting in settings) for level in LEVELS]
    assert counts == [2, 8, 32, 32]
    assert models.all_settings() == settings


def test_names_and_order_are_those_of_the_published_table(shared_data: Path) -> None:
    path = shared_data / "published" / "paper2_table7_clean.csv"
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    printed = [
        (row["level"], tuple(map(int, row["settings (n11 c11 n12 c12 np)"].split())))
        for row in rows
        if row["level"] not in ("Base", "Sent-debias")
    ]
    assert printed == [(setting.level, setting.numbers) for setting in all_settings()]


def test_a_name_reads_back() -> None:
    for setting in all_settings():
        assert Settings.parse(str(setting)) == setting
        assert Settings.of(setting.level, setting.numbers) == setting


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Layer 11 (0, 1, 1, 1, 0)", "L11-01110"),
        ("layer 12 (1, 0, 1)", "L12-101"),
        ("+ attn (1, 1, 0, 0, 1)", "attn-11001"),
        ("layer 11 + attn 11001", "attn-11001"),
        ("sent 1", "SENT-1"),
        ("L12:010", "L12-010"),
    ],
)
def test_names_as_the_paper_writes_them(text: str, name: str) -> None:
    assert Settings.parse(text).name == name


def test_numbers_are_named_as_in_the_text() -> None:
    setting = Settings(1, 0, 0, 1, 1)
    assert (setting.n11, setting.c11, setting.n12, setting.c12, setting.np) == (1, 0, 0, 1, 1)
    assert setting.name == "L11-10011"
    assert Settings(1, 0, 0, 1, 1, attention=True).name == "attn-10011"
    assert Settings(n12=1, c12=1).name == "L12-110"
    assert Settings(np=1).name == "SENT-1"


@pytest.mark.parametrize(
    "text", ["L11-0111", "L12-01110", "SENT-01", "L10-00000", "L11-01112", "", "attn", "base"]
)
def test_what_names_no_setting_is_refused(text: str) -> None:
    with pytest.raises(WordbiasError, match="expected SENT-p, L12-ncp, L11-ncncp or attn-ncncp"):
        Settings.parse(text)


def test_a_level_implies_the_later_ones() -> None:
    with pytest.raises(WordbiasError, match="implies all later ones"):
        Settings(n11=0, c11=0)
    with pytest.raises(WordbiasError, match="implies all later ones"):
        Settings(n12=0, c12=0, attention=True)
    with pytest.raises(WordbiasError, match="n12 and c12: give both or none"):
        Settings(n12=0)


@pytest.mark.parametrize("value", [2, -1, 0.5])
def test_numbers_are_zero_or_one(value: int) -> None:
    with pytest.raises(WordbiasError, match="setting c12: expected 0 or 1"):
        Settings(n12=0, c12=value)
    with pytest.raises(WordbiasError, match="setting np: expected 0 or 1"):
        Settings(np=value)
