"""Sets of words over several groups: the built-in ones, files, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from wordbias.errors import WordbiasError
from wordbias.wordlists import Attribute, WordSets


def test_religion_is_built_in() -> None:
    sets = WordSets.load()
    assert sets.name == "religion"
    assert {len(words) for words in (*sets.definitional, *sets.equalise)} == {3}
    assert {"judaism", "christianity", "islam", "jewish", "ramadan"} <= sets.specific


def test_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "age.toml"
    file.write_text('[sets]\ndefinitional = [["young", "old"], ["a", "b", "c"]]\nspecific = ["x"]')
    sets = WordSets.load(file)
    assert sets.name == "age"
    assert sets.definitional == (("young", "old"), ("a", "b", "c"))
    assert sets.equalise == ()
    assert sets.specific == {"young", "old", "a", "b", "c", "x"}


def test_pairs_are_sets_of_two() -> None:
    gender = Attribute.load()
    sets = WordSets.of(gender)
    assert (sets.definitional, sets.equalise) == (gender.pairs, gender.equalise)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected definitional sets, found none"),
        ("[sets]\ndefinitional = 3", "expected a list of sets, found a number"),
        ('[sets]\ndefinitional = [["one"]]', "at least two different words in a set, found one"),
        ('[sets]\ndefinitional = [["a", "a"]]', "at least two different words"),
        ("[sets]\ndefinitional = [3]", "expected a list of words, found a number"),
        ('[sets]\ndefinition = [["a", "b"]]', "unknown key 'definition'"),
        ('[groups]\na = ["b"]', "expected definitional sets, found none"),
        ('[pairs]\ndefinitional = [["a", "b"]]', "unknown key 'pairs'"),
        ("[sets", "not valid TOML"),
        ('name = 3\n[sets]\ndefinitional = [["a", "b"]]', "expected a text, found a number"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "sets.toml"
    file.write_text(text)
    with pytest.raises(WordbiasError, match=said) as caught:
        WordSets.load(file)
    assert str(file) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="no such file"):
        WordSets.load(tmp_path / "none.toml")
