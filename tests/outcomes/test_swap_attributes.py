"""Swapping and scrubbing along another attribute than gender."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordbias as wb
from wordbias import WordbiasError
from wordbias.wordlists import Attribute
from wordbias.wordlists.rewriting import identifying_words, swaps_of

Run = Callable[..., Any]
FAITHS = "religion:christian,muslim"
AGE = Attribute.load("age")
SWAPPED = "Her Muslim imam, his CHURCH and young elders; mosques and Churchill."
TEXT = "Her Christian priest, his MOSQUE and young elders; churches and Churchill."


def test_words_become_their_counterparts_in_their_case() -> None:
    swapped = wb.rewrite("swap", [TEXT], groups=FAITHS)
    assert swapped.texts == [SWAPPED]
    assert swapped.report["words-changed"][0].value == 4
    assert wb.rewrite("swap", ["Young elders"], groups="age").texts == ["Old youngsters"]


@given(st.lists(st.sampled_from(sorted(swaps_of(AGE).words)), max_size=8))
def test_swapping_twice_gives_the_text_back(words: list[str]) -> None:
    known = swaps_of(AGE)
    text = " ".join(word for word in words if word not in known.one_way)
    once = wb.rewrite("swap", [text], groups=AGE).texts
    assert wb.rewrite("swap", once, groups=AGE).texts == [text]


def test_a_word_of_several_pairs_goes_with_its_first_counterpart() -> None:
    other = Attribute("x", ("a", "b"), (("p", "q"), ("r", "s")), pairs=(("p", "r"), ("p", "s")))
    known = swaps_of(other)
    assert known.words == {"p": "r", "r": "p", "s": "p"}
    assert known.one_way == {"s"}


def test_without_pairs_nothing_can_be_swapped() -> None:
    with pytest.raises(WordbiasError, match=r"ethnicity asian/black has no pairs .*\[pairs\]"):
        wb.rewrite("swap", [TEXT], groups="ethnicity:asian,black")


def test_the_words_that_say_a_group_are_its_members_and_what_is_specific() -> None:
    words = identifying_words(AGE)
    assert {"young", "pensioners", "childhood", "grandma"} <= words
    names = identifying_words(Attribute.load("ethnicity:white,black"))
    assert "tyrone" in names
    assert all(word == word.lower() for word in names)


def rewritten(cli: Run, tmp_path: Path, method: str, *options: str) -> str:
    data, output = tmp_path / "texts.txt", tmp_path / f"{method}.txt"
    data.write_text(TEXT + "\n")
    done = cli("rewrite", method, data, "-o", output, *options)
    assert done.code == 0, done.err
    return output.read_text().rstrip("\n")


def test_the_command_takes_an_attribute(cli: Run, tmp_path: Path) -> None:
    assert rewritten(cli, tmp_path, "swap", "--groups", FAITHS) == SWAPPED
    scrubbed = rewritten(cli, tmp_path, "scrub", "--groups", FAITHS)
    assert scrubbed == "Her _ _, his _ and young elders; _ and Churchill."


def test_gender_by_name_is_the_default(cli: Run, tmp_path: Path) -> None:
    for method in ("swap", "scrub"):
        plain = rewritten(cli, tmp_path, method)
        assert rewritten(cli, tmp_path, method, "--groups", "gender") == plain


@pytest.mark.parametrize(
    ("method", "options", "code", "message"),
    [
        ("swap", ("--groups", "ethnicity:white,black"), 1, "has no pairs of words to swap"),
        ("swap:first-names", ("--groups", "age"), 2, "swap:first-names are about gender"),
        ("scrub:as-published", ("--groups", "age"), 2, "scrub:as-published and"),
        ("anonymise:spacy=m", ("--groups", "age"), 2, "--groups is for scrub and sw"),
        ("swap", ("--groups", "religion"), 1, "choose two of them, --groups=religion:jewish"),
    ],
)
def test_what_makes_no_sense_is_refused(
    method: str, options: tuple[str, ...], code: int, message: str, cli: Run, tmp_path: Path
) -> None:
    (tmp_path / "texts.txt").write_text(TEXT)
    output = tmp_path / "out.txt"
    done = cli("rewrite", method, tmp_path / "texts.txt", "-o", output, *options)
    assert done.code == code
    assert message in done.err
    assert not output.exists()
