"""Versions of texts that differ in a name, of another group or of the same."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

import wordbias as wb
from wordbias.rankings.counterfactuals import (
    GIVEN,
    NAME,
    SAME,
    SPACE,
    WORDS,
    NameSets,
    Versions,
    names_by_group,
    versions_of,
)

NAMES, _ = names_by_group(None)
GROUP = {name: group for group, words in NAMES.items() for name in words}


def _lengths(names: Sequence[str]) -> list[int]:
    return [len(name) for name in names]


def _versions(texts: Sequence[str], draws: int = 2, **more: bool) -> Versions:
    sets = NameSets.of(NAMES, _lengths, 0)
    return versions_of(
        texts, NAMES, sets, draws=draws, gendered=more.get("gendered", True), seed=0,
        where=lambda i: f"texts: row {i + 1}",
    )  # fmt: skip


def test_no_name_is_in_two_sets_and_those_of_a_set_are_as_long() -> None:
    sets = NameSets.of(NAMES, _lengths, 0)
    used = [name for pairs in sets.sets for pair in pairs for name in pair]
    assert len(used) == len(set(used)) > 400
    for name_pairs in sets.sets:
        assert len({len(name) for pair in name_pairs for name in pair}) == 1
        assert [{GROUP[name] for name in pair} for pair in name_pairs] == [{"female"}, {"male"}]
    odd, even = sets.part(True), sets.part(False)
    assert len(odd) + len(even) == len(sets)


def test_the_names_of_a_set_stand_beside_each_other_in_the_list() -> None:
    order = {name: i for words in NAMES.values() for i, name in enumerate(words)}
    for pairs in NameSets.of(NAMES, lambda names: [1] * len(names), 0).sets:
        places = [order[name] for pair in pairs for name in pair]
        assert max(places) - min(places) == 1


def test_who_is_first_is_drawn_in_each_group() -> None:
    order = {name: i for words in NAMES.values() for i, name in enumerate(words)}
    firsts = [
        order[a] < order[b] for pairs in NameSets.of(NAMES, _lengths, 3).sets for a, b in pairs
    ]
    low, high = (
        len(firsts) / 2 - 5 * len(firsts) ** 0.5 / 2,
        len(firsts) / 2 + 5 * len(firsts) ** 0.5 / 2,
    )
    assert low < sum(firsts) < high


def test_the_name_is_changed_wherever_it_stands_and_nothing_else() -> None:
    text = "CV of Olivia. Olivia's father knows that she is a nurse; Oliviana is not her."
    (by_kind, *_) = _versions([text]).texts
    assert by_kind[GIVEN] == [text]
    new, same = (by_kind[kind][0].split(".")[0].removeprefix("CV of ") for kind in (NAME, SAME))
    assert (GROUP[new], GROUP[same]) == ("male", "female")
    assert by_kind[NAME] == [re.sub(r"\bOlivia\b", new, text)]
    assert by_kind[SAME] == [re.sub(r"\bOlivia\b", same, text)]
    words = f"CV of {new}. {new}'s mother knows that he is a nurse; Oliviana is not him."
    assert by_kind[WORDS] == [words]
    assert by_kind[SPACE] == [text.replace(" ", "  ")]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Anne-Marie and Anne", "Anne-Marie"),
        ("Anne-Louise knows Mary Ann", "Mary Ann"),
        ("Marie-Anne knows O'Neil\u2019s son", "O'Neil"),
        ("the Anne-led group", "Anne"),
        ("Annex, ANNE and नीरा", "नीरा"),
    ],
)
def test_names_of_several_parts_are_found_as_a_whole(text: str, name: str) -> None:
    names = {"a": ["Anne", "Anne-Marie", "Mary Ann", "नीरा"], "b": ["O'Neil", "R\\1", "Tom", "Bo"]}
    sets = NameSets.of(names, lambda words: [1] * len(words), 0)
    (by_kind,) = versions_of([text], names, sets, draws=1, gendered=False, seed=0, where=str).texts
    form = re.compile(re.escape(text).replace(re.escape(name), "(.+)", 1))
    for kind in (NAME, SAME):
        assert form.fullmatch(by_kind[kind][0])[1] in {*names["a"], *names["b"]} - {name}  # type: ignore[index]


def test_without_gendered_words_there_is_no_version_of_them() -> None:
    assert WORDS not in _versions(["Olivia applies", "James applies"]).kinds
    assert WORDS not in _versions(["Olivia and her father"], gendered=False).kinds


def test_a_template_gets_the_pronouns_of_the_group_of_its_name() -> None:
    pronouns = {"female": ("She", "her", "her"), "male": ("He", "his", "him")}
    texts = ["{name} writes. {Pronoun} likes {possessive} work, and work likes {object}."] * 8
    versions = _versions(texts, draws=3)
    form = re.compile(r"(\w+) writes\. (\w+) likes (\w+) work, and work likes (\w+)\.")
    for r, by_kind in enumerate(versions.texts):
        for j in range(len(texts)):
            own, other = (
                versions.groups[int(g)] for g in (versions.codes[j], versions.others[r, j])
            )
            assert own != other
            for kind, name_of, words_of in (
                (GIVEN, own, own), (SAME, own, own), (NAME, other, own), (WORDS, other, other),
            ):  # fmt: skip
                name, *words = form.fullmatch(by_kind[kind][j]).groups()  # type: ignore[union-attr]
                assert GROUP[name] == name_of
                assert tuple(words) == pronouns[words_of]


def test_each_set_is_used_once_while_there_are_enough() -> None:
    sets = len(NameSets.of(NAMES, _lengths, 0))
    few = _versions(["{name}"] * 20, draws=3)
    assert few.is_distinct
    assert few.sets.shape == (3, 20)
    half = _versions(["{name}"] * (sets // 2 + 1), draws=3)
    assert half.is_distinct
    assert len(half.sets) == 1
    many = _versions(["{name}"] * (sets + 1), draws=3)
    assert not many.is_distinct
    assert many.sets.shape == (3, sets + 1)


def test_texts_without_a_name_have_no_versions() -> None:
    versions = _versions(["A clerk", "James is a clerk", "", "Emma is one"])
    assert versions.places.tolist() == [1, 3]
    assert versions.codes.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["A clerk", "the cook"], "texts: row 1 and the others: no text has a first name of"),
        (["{name} works", "The cook"], "texts: row 2: has no {name}"),
        (["{pronoun} works"], "texts: row 1: has no {name}"),
    ],
)
def test_texts_that_cannot_be_changed_are_refused(texts: list[str], message: str) -> None:
    with pytest.raises(wb.WordbiasError, match=re.escape(message)):
        _versions(texts)


def test_groups_without_pronouns_have_none_in_a_template() -> None:
    names, is_gender = names_by_group("ethnicity:white,black")
    assert not is_gender
    sets = NameSets.of(names, _lengths, 0)
    with pytest.raises(wb.WordbiasError, match=r"has \{pronoun\}, and the groups white"):
        versions_of(
            ["{name} and {pronoun}"], names, sets, draws=1, gendered=False, seed=0, where=str
        )


def test_names_of_scripts_without_upper_case_are_names() -> None:
    groups = {"a": ["नीरा", "मीरा"], "b": ["राम", "श्याम"]}
    assert names_by_group(groups) == (
        {group: tuple(names) for group, names in groups.items()},
        False,
    )


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("age", "is no first name; name groups of first names such as ethnicity"),
        ({"a": ["Emma"], "b": ["Liam", "Noah"]}, "group a has 1 name; expected two or more"),
        ({"a": ["Emma", "Ava"]}, "expected two groups"),
    ],
)
def test_groups_without_enough_names_are_refused(groups: object, message: str) -> None:
    with pytest.raises(wb.WordbiasError, match=message):
        names_by_group(groups)  # type: ignore[arg-type]


def test_names_that_match_in_no_length_are_refused() -> None:
    names = {"a": ["Ann", "Eve"], "b": ["Thomas", "George"]}
    with pytest.raises(wb.WordbiasError, match="no two names of each have the same number"):
        NameSets.of(names, _lengths, 0)
    with pytest.raises(wb.WordbiasError, match="expected first names of two groups, found those"):
        NameSets.of({"a": ["Ann", "Eve"]}, _lengths, 0)


def test_more_than_two_groups_change_to_each_of_the_others() -> None:
    names, _ = names_by_group("ethnicity")
    sets = NameSets.of(names, lambda words: [1] * len(words), 0)
    versions = versions_of(
        ["{name}"] * 200, names, sets, draws=1, gendered=False, seed=0, where=str
    )
    assert (versions.others[0] != versions.codes).all()
    assert len({*zip(versions.codes.tolist(), versions.others[0].tolist(), strict=True)}) == 12
    assert np.unique(versions.codes).tolist() == [0, 1, 2, 3]
