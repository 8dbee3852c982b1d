"""Groups of words, two or more: the built-in attributes, a choice of two, files, and mistakes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest

from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.wordlists import (
    ATTRIBUTES,
    Attribute,
    WordGroups,
    WordSets,
    candidates,
    load_attribute,
    notes_on_language,
    resolve,
)

LANGUAGES = ("gender-de", "gender-fr", "gender-es", "gender-it")
FRUIT = """
source = "a test"
specific = ["fruit"]
[groups]
apples = ["apple", "cox"]
pears = ["pear", "quince"]
plums = ["plum", "damson"]
figs = ["fig", "sycamore"]
[sets]
definitional = [["apple", "pear", "plum"], ["cider", "perry"]]
equalise = [["red", "green", "blue", "purple"]]
wider = [["apple", "pear", "plum", "fig"], ["pie", "tart", "cake", "roll"]]
specific = ["orchard"]
"""


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_built_in_attributes_are_named_as_their_files(name: str) -> None:
    groups = WordGroups.load(name)
    assert groups.name == name
    assert len(groups.groups) >= 2
    assert groups.source
    assert min(map(len, groups.members)) >= (4 if name == "pronouns" else 15)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_no_two_groups_share_a_spelling(name: str) -> None:
    """Not even by what the look-up may make of a word."""
    spelled = [
        candidates(word.lower() for word in words) for words in WordGroups.load(name).members
    ]
    for spellings, others in combinations(spelled, 2):
        assert not spellings & others


@pytest.mark.parametrize("name", ["age", "religion", "gender", *LANGUAGES])
def test_sets_and_pairs_have_their_words_on_the_side_of_their_group(name: str) -> None:
    """No word of one group stands in the place of another."""
    groups = WordGroups.load(name)
    members = [{word.lower() for word in words} for words in groups.members]
    for words in (*groups.definitional, *groups.equalise, *groups.wider):
        assert len(words) <= len(groups.groups)
        for place, word in enumerate(words):
            others = set().union(*(m for i, m in enumerate(members) if i != place))
            assert word.lower() not in others


@pytest.mark.parametrize("name", ["age", "religion", "ethnicity"])
def test_the_sample_has_enough_of_every_english_group(name: str) -> None:
    """At least the five words below which an interval is hardly worth reading."""
    sample, groups = Embedding.sample(), WordGroups.load(name)
    for words in groups.members:
        assert len(resolve(words, sample).found) >= 5


def test_words_of_a_religion_are_kept_by_definition() -> None:
    religion = WordGroups.load("religion")
    missing = {word for words in religion.members for word in words} - religion.specific
    assert not missing


def test_names_of_an_ethnicity_are_no_words_that_say_it() -> None:
    ethnicity = WordGroups.load("ethnicity")
    names = {word.lower() for words in ethnicity.members for word in words}
    assert not names & ethnicity.specific
    assert ethnicity.definitional == ()


def test_the_names_are_no_published_list() -> None:
    import tomllib
    from importlib.resources import files

    text = (files("wordbias.wordlists") / "weat.toml").read_text("utf-8")
    published = [{name.lower() for name in words} for words in tomllib.loads(text)["sets"].values()]
    for words in WordGroups.load("ethnicity").members:
        ours = {word.lower() for word in words}
        assert not any(theirs <= ours or ours <= theirs for theirs in published)


def test_german_nouns_have_capitals() -> None:
    german = Attribute.load("gender-de")
    assert german.groups == ("female", "male")
    assert german.direction == ("Frau", "Mann")
    adjectives = {("weiblich", "männlich")}
    for pair in {*german.pairs, *german.equalise} - adjectives:
        assert all(word[0].isupper() and word[1:].islower() for word in pair)
    ambiguous = {"sie", "ihr", "sein", "junge"}
    assert not ambiguous & {w.lower() for p in (*german.pairs, *german.equalise) for w in p}


@pytest.mark.parametrize(
    ("name", "of_both"),
    [
        ("gender-fr", "il elle lui leur son sa ses ils héroïne médecin infirmière"),
        ("gender-es", "su sus suyo suya padres hijos hermanos abuelos tíos primo prima médico"),
        ("gender-it", "lei lui suo sua nipote figli fratelli nonni zii loro medico infermiera"),
    ],
)
def test_no_pair_has_words_that_stand_for_both_or_agree_with_something_else(
    name: str, of_both: str
) -> None:
    attribute = Attribute.load(name)
    assert attribute.groups == ("female", "male")
    assert attribute.direction == attribute.pairs[0]
    pairs = (*attribute.pairs, *attribute.equalise)
    words = [word for pair in pairs for word in pair]
    assert len(set(words)) == len(words)
    assert not set(of_both.split()) & set(words)
    assert [len(members) for members in attribute.members] == [50, 50]
    assert not {word.lower() for words in attribute.members for word in words} & set(words)


def test_languages_with_grammatical_gender_say_so_in_any_order_of_the_groups() -> None:
    gendered = {name for name in ATTRIBUTES if WordGroups.load(name).grammatical_gender}
    assert gendered == set(LANGUAGES)
    for name in LANGUAGES:
        (line,) = notes_on_language(Attribute.load(f"{name}:male,female"))
        assert line.startswith(f"{name}: nouns of this language have a grammatical gender")
    assert notes_on_language(Attribute.load()) == []


def test_a_file_of_ones_own_can_say_so(write: Callable[..., Path]) -> None:
    groups = '[groups]\na = ["x", "y"]\nb = ["u", "v"]\n'
    path = write(f"grammatical_gender = true\n{groups}", "own.toml")
    assert notes_on_language(load_attribute(path))
    with pytest.raises(WordbiasError, match=r"grammatical_gender: expected true or false"):
        load_attribute(write(f'grammatical_gender = "yes"\n{groups}', "own.toml"))


def test_a_file_of_many_groups_is_read_in_full(write: Callable[..., Path]) -> None:
    fruit = load_attribute(write(FRUIT, "fruit.toml"))
    assert isinstance(fruit, WordGroups)
    assert (fruit.name, fruit.source, fruit.direction) == ("fruit", "a test", None)
    assert fruit.groups == ("apples", "pears", "plums", "figs")
    assert fruit.members[3] == ("fig", "sycamore")
    assert fruit.definitional == (("apple", "pear", "plum"), ("cider", "perry"))
    assert {"fruit", "orchard", "perry", "roll", "purple"} <= fruit.specific


def test_two_are_chosen_in_the_order_named(write: Callable[..., Path]) -> None:
    two = Attribute.load(f"{write(FRUIT, 'fruit.toml')}:plums, apples")
    assert two.name == "fruit plums/apples"
    assert two.groups == ("plums", "apples")
    assert two.members == (("plum", "damson"), ("apple", "cox"))
    assert two.pairs == (("plum", "apple"), ("cake", "pie"))  # no pair twice; cider has no plum
    assert two.equalise == (("blue", "red"),)
    assert two.direction == ("plum", "apple")
    assert two.specific == WordGroups.load(write(FRUIT, "fruit.toml")).specific


def test_three_of_four_are_groups_still(write: Callable[..., Path]) -> None:
    three = load_attribute(f"{write(FRUIT, 'fruit.toml')}:figs,pears,apples")
    assert isinstance(three, WordGroups)
    assert three.groups == ("figs", "pears", "apples")
    assert three.definitional == (("fig", "pear", "apple"), ("roll", "tart", "pie"))


def test_every_two() -> None:
    religion = WordGroups.load("religion")
    pairs = [two.groups for two in religion.two_by_two()]
    assert pairs == list(combinations(religion.groups, 2))


def test_two_groups_are_an_attribute() -> None:
    age = load_attribute("age")
    assert isinstance(age, Attribute)
    assert age == Attribute.load("age") == Attribute.of(WordGroups.load("age"))


def test_turned_round_the_pairs_are_too() -> None:
    gender, turned = Attribute.load(), Attribute.load("gender:male,female")
    assert turned.name == "gender"
    assert turned.members == gender.members[::-1]
    assert turned.pairs == tuple((b, a) for a, b in gender.pairs)
    assert turned.equalise == tuple((b, a) for a, b in gender.equalise)
    assert turned.direction == ("he", "she")


def test_sets_of_groups_are_what_multi_hard_takes() -> None:
    religion = WordGroups.load("religion")
    sets = WordSets.of(religion)
    assert (sets.definitional, sets.specific) == (religion.definitional, religion.specific)
    assert WordSets.load("religion") == WordSets.load() == sets


def test_pairs_without_any_to_equalise_are_equalised_themselves() -> None:
    two = Attribute.load("religion:christian,hindu")
    assert two.equalise == ()
    assert WordSets.of(two).equalise == two.pairs


def test_a_built_in_name_comes_before_a_file_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("age").write_text('[groups]\nnew = ["a", "b"]\nworn = ["c", "d"]')
    Path("mine").write_text('[groups]\nnew = ["a", "b"]\nworn = ["c", "d"]')
    assert Attribute.load("age").groups == ("young", "old")
    assert Attribute.load("./age").groups == ("new", "worn")
    assert Attribute.load(Path("age")).groups == ("new", "worn")
    assert Attribute.load("mine").groups == ("new", "worn")


def test_a_file_with_a_colon_in_its_name_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        Path("a:b,c").write_text('[groups]\nnew = ["a", "b"]\nworn = ["c", "d"]')
    except OSError:
        pytest.skip("this file system takes no colon in a name")
    assert Attribute.load("a:b,c").groups == ("new", "worn")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("relgion", r"attribute 'relgion': expected one of gender, gender-de, gender-fr, "),
        ("relgion:a,b", r"attribute 'relgion': expected"),
        ("none.toml", r"none\.toml: no such file"),
        ("folder/none", r"none: no such file"),
        ("religion", r"exactly two groups, found 5 \(jewish, .*religion:jewish,christian.*mhd"),
        ("religion:jewish,x", r"religion: no group 'x'; its groups are jewish, christian, "),
        ("religion:jewish,jewish", r"two different groups, found jewish, jewish"),
        ("religion:jewish", r"two different groups, found jewish"),
        ("religion:hindu,jewish,muslim", r"found 3 \(hindu, jewish, muslim\)"),
        ("age:young,", r"age: no group ''"),
    ],
)
def test_unknown_lists_are_refused(asked: str, message: str) -> None:
    with pytest.raises(WordbiasError, match=message) as caught:
        Attribute.load(asked)
    assert "\n" not in str(caught.value)


GROUPS = '[groups]\na = ["r", "s"]\nb = ["t", "u"]\nc = ["v", "w"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GROUPS + '[pairs]\ndefinitional = [["r", "t"]]', r"3 groups have \[sets\] in place of"),
        (GROUPS + '[sets]\nequalise = [["r", "t", "v", "x"]]', r"of 3 groups at most, found 4 \(r"),
        (GROUPS + '[sets]\nwider = [["r"]]', r"\[sets\] wider: .*two different words in a set"),
        (GROUPS + "[sets]\nwider = 1", r"\[sets\] wider: expected a list of sets, found a number"),
        (GROUPS + '[sets]\nmore = [["r", "t"]]', r"\[sets\]: unknown key 'more'"),
        ('direction = ["r", "t"]\n' + GROUPS, r"3 groups have no one direction; remove it"),
        (GROUPS.replace('"w"', '"R"'), r"found 'R' in both; remove it from one"),
        (GROUPS.replace('"w"', '"v"'), r"\[groups\] c: .*two different words, found 1"),
    ],
)
def test_a_mistake_in_a_file_is_named(write: Callable[..., Path], text: str, message: str) -> None:
    path = write(text, "fruit.toml")
    with pytest.raises(WordbiasError, match=message) as caught:
        WordGroups.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


# Word sets


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
