"""The rule for *her* and *his*: sentences by hand, and real texts that hold their own answers."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.outcomes.swap import has_no_noun

OBJECTS = [
    "I saw her.",
    "I told her that",
    "we like her",
    "give it to her and go",
    "made her laugh",
    "gave her two books",
    "gave her good advice",
    "took her home",
    "told her directly.",
    "beside her waving",
    "kept her safe.",
    "asked her, then left",
    "her",
    "I met her (again)",
]
POSSESSIVES = [
    "her book",
    "her two children",
    "his or her patients",
    "her/his patients",
    "her / his patients",
    "her in-depth knowledge",
    "her then husband",
    "her newly opened clinic",
    "at her home",
    "with her family.",
    "let her work speak",
    "her “favourite” song",
    "earned her Bachelor of Science",
    "made her famous sauce",
    "her only child",
    "near her building",
]


def alone(text: str) -> bool:
    match = re.search(r"\bher\b", text)
    assert match is not None
    return has_no_noun(text, *match.span())


@pytest.mark.parametrize("text", OBJECTS)
def test_objects(text: str) -> None:
    assert alone(text)
    assert alone(text.replace(" ", "\n"))


@pytest.mark.parametrize("text", POSSESSIVES)
def test_possessives(text: str) -> None:
    assert not alone(text)


@pytest.mark.parametrize("text", [*OBJECTS, *POSSESSIVES])
def test_the_case_does_not_matter(text: str) -> None:
    assert has_no_noun(text.upper(), *re.search(r"\bher\b", text).span()) == alone(text)  # type: ignore[union-attr]


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_has_an_answer(before: str, behind: str) -> None:
    text = f"{before} her {behind}"
    answer = has_no_noun(text, len(before) + 1, len(before) + 4)
    assert answer == has_no_noun(f"x. {text}", len(before) + 4, len(before) + 7) or len(before) > 36


def test_words_far_away_do_not_matter() -> None:
    assert alone("a " * 1_000 + "her." + " b" * 1_000)


def about_men(texts: Iterator[str]) -> Iterator[tuple[str, int, int, bool]]:
    """Make *her* of every *him* and *his*: what it was is the answer."""
    for text in texts:
        for match in re.finditer(r"\b(?:him|his)\b", text, re.IGNORECASE):
            start, end = match.span()
            yield text[:start] + "her" + text[end:], start, end, match[0].lower() == "him"


def biographies(data: Path) -> Iterator[str]:
    with gzip.open(data / "bios" / "bios_surgeon_nurse.tsv.gz", "rt", encoding="utf-8") as file:
        rows = (line.rstrip("\n").split("\t") for line in file)
        yield from (row[3] for row in rows if row[0] == "test")


def captions(data: Path) -> Iterator[str]:
    with gzip.open(data / "nli" / "snli_test.tsv.gz", "rt", encoding="utf-8") as file:
        yield from dict.fromkeys(cell for line in file for cell in line.rstrip("\n").split("\t"))


@pytest.mark.parametrize("texts", [biographies, captions])
def test_real_texts(texts: object, shared_data: Path) -> None:
    """Fewer than half the errors of always *his*, on texts the rule was not written on."""
    answers = list(about_men(texts(shared_data)))  # type: ignore[operator]
    wrong = sum(has_no_noun(*place) != answer for *place, answer in answers)  # type: ignore[arg-type]
    objects = sum(answer for *_, answer in answers)
    assert len(answers) > 500
    assert wrong < objects / 2
