import dataclasses

import pytest

from wordbias.errors import WordbiasError
from wordbias.wordlists import Attribute, common_names

AGE = """
name = "age"
direction = ["youth", "age"]
specific = ["teenager", "pensioner"]
source = "a test"
[groups]
young = ["young", "youth"]
old = ["old", "aged", "old"]
[pairs]
definitional = [["young", "old"], ["youth", "age"]]
equalise = [["boyish", "elderly"]]
"""
GROUPS = '[groups]\nyoung = ["young", "youth"]\nold = ["old", "aged"]\n'


def test_gender_is_built_in():
    gender = Attribute.load()
    assert gender.name == "gender"
    assert gender.groups == ("female", "male")
    assert gender.members == common_names()
    assert gender.direction == ("she", "he")
    assert gender.source


def test_gender_pairs():
    gender = Attribute.load()
    assert len(gender.pairs) == 10
    assert 45 <= len(gender.equalise) <= 60
    words = [word for pair in gender.pairs + gender.equalise for word in pair]
    assert len(set(words)) == len(words)
    assert all(word == word.lower() for word in words)
    assert {"she", "woman", "mother", "queen", "wife"} <= {first for first, _ in gender.pairs} | {
        first for first, _ in gender.equalise
    }


def test_gender_is_read_once_and_frozen():
    gender = Attribute.load()
    assert Attribute.load() is gender
    with pytest.raises(dataclasses.FrozenInstanceError):
        gender.name = "sex"  # type: ignore[misc]


def test_a_users_file_is_read_in_full(write):
    age = Attribute.load(str(write(AGE)))
    assert age == Attribute(
        name="age",
        groups=("young", "old"),
        members=(("young", "youth"), ("old", "aged")),
        pairs=(("young", "old"), ("youth", "age")),
        equalise=(("boyish", "elderly"),),
        direction=("youth", "age"),
        specific=frozenset(
            ["teenager", "pensioner", "young", "old", "youth", "age", "boyish", "elderly"]
        ),
        source="a test",
        unlisted=frozenset(["young", "old", "youth", "age", "boyish", "elderly"]),
    )


def test_everything_but_the_groups_may_be_left_out(write):
    path = write('[groups]\nb = ["x", "y"]\na = ["u", "v"]', "size.toml")
    size = Attribute.load(path)
    assert (size.name, size.source) == ("size", str(path))
    assert size.groups == ("b", "a")
    assert (size.pairs, size.equalise, size.direction) == ((), (), None)
    assert size.specific == frozenset()


def test_direction_is_the_first_definitional_pair_by_default(write):
    text = GROUPS + '[pairs]\ndefinitional = [["young", "old"], ["new", "worn"]]'
    assert Attribute.load(write(text)).direction == ("young", "old")


def test_a_byte_order_mark_and_windows_line_ends_are_read(write):
    path = write(b"\xef\xbb\xbf" + AGE.replace("\n", "\r\n").encode())
    assert Attribute.load(path).name == "age"


def test_lists_may_be_in_another_file(write):
    write('old = ["old", "aged"]\nmore = ["elderly", "old"]\n[deep]\nyoung = ["a", "b"]', "x.toml")
    write('old = ["old", "aged"]\nmore = ["elderly", "old"]', "y.toml")
    age = Attribute.load(
        write('specific = "y.toml#*"\n[groups]\nyoung = "x.toml#deep.young"\nold = "x.toml#old"')
    )
    assert age.members == (("a", "b"), ("old", "aged"))
    assert age.specific == {"old", "aged", "elderly"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = \n", r"not valid TOML: .*line 1"),
        (b'name = "\xff"', r"not UTF-8 \(at byte 8\); save the file as UTF-8"),
        ("", r"\[groups\]: expected two groups or more, found 0 \(none\)"),
        ('[groups]\na = ["x", "y"]', r"two groups or more, found 1 \(a\); write"),
        (GROUPS + 'new = ["a", "b"]', r"exactly two groups, found 3 \(young, old, new\)"),
        ("groups = 3", r"\[groups\]: expected a table, found a number"),
        ('[groups]\na = "x"\nb = ["y", "z"]', r"\[groups\] a: .*list of words, found the text 'x'"),
        ('[groups]\na = ["x", 1]\nb = ["y", "z"]', r"\[groups\] a: .*found a number; .*quotes"),
        ('[groups]\na = ["x"]\nb = ["y", "z"]', r"\[groups\] a: .*two different words, found 1"),
        ('[groups]\na = ["x", "x"]\nb = ["y", "z"]', r"\[groups\] a: .*two different .*found 1"),
        ('[groups]\na = ["x", " "]\nb = ["y", "z"]', r"\[groups\] a: .*an empty word; remove it"),
        ('[groups]\na = ["x", "w"]\nb = ["W", "z"]', r"\[groups\]: .*found 'W' in both; remove"),
        (GROUPS + "[pairs]\ndefinitional = 1", r"\[pairs\] definitional: expected a list of pairs"),
        (GROUPS + '[pairs]\nequalise = [["a"]]', r"\[pairs\] equalise: .*two .*the list \['a'\]"),
        (GROUPS + '[pairs]\nequalise = [["a", "a"]]', r"equalise: .*pair of two different words"),
        (GROUPS + '[pairs]\nequalise = [["a", "b", "c"]]', r"equalise: .*pair of two different"),
        (GROUPS + '[pairs]\nequalise = [["a", ""]]', r"\[pairs\] equalise: .*an empty word"),
        (GROUPS + '[pairs]\nequalise = ["ab"]', r"equalise: .*pair .*found the text 'ab'"),
        (GROUPS + '[pairs]\nequalize = [["a", "b"]]', r"unknown key 'equalize'; .*equalise"),
        ("direction = 'she'\n" + GROUPS, r"direction: expected a pair .*found the text 'she'"),
        ("specific = 'she'\n" + GROUPS, r"specific: expected a list of words, found the text"),
        ("specific = 'no.toml#x'\n" + GROUPS, r"no\.toml: no such file"),
        ("specific = 'age.toml#no.x'\n" + GROUPS, r"age\.toml: no\.x: .*found nothing"),
        ("unmarked = 'she'\n" + GROUPS, r"unmarked: expected a list of words, found the text"),
        ("unmarked = ['it']\n" + GROUPS, r"unmarked: unknown key 'it'"),
        (GROUPS + "[cases]\nit = ['it']", r"\[cases\]: unknown key 'it'"),
        (GROUPS + "[cases]\nyoung = 'it'", r"\[cases\] young: expected a list of words"),
        (GROUPS + "[cases]\nyoung = ['a', 'b']", r"\[cases\] young: expected 3 words, subject, ob"),
        (GROUPS + "[cases]\nyoung = ['a', 'b', 'b']", r"\[cases\] old: expected 3 words.*found 0"),
        (
            GROUPS + "[cases]\nyoung = ['a', 'b', 'c']\nold = ['d', 'B', 'e']",
            r"\[cases\] object: expected groups without a common word, found 'B' in both; remove",
        ),
        ("name = 3\n" + GROUPS, r"name: expected a text, found a number; write name = "),
        ("name = ''\n" + GROUPS, r"name: expected a text, found the text ''"),
        ("names = 'x'\n" + GROUPS, r"unknown key 'names'; expected one of name, .*: rename"),
    ],
)
def test_a_mistake_is_named_in_one_line(write, text, message):
    path = write(text)
    with pytest.raises(WordbiasError, match=message) as caught:
        Attribute.load(path)
    assert "\n" not in str(caught.value)
    assert str(path.parent) in str(caught.value)


def test_a_missing_file_and_a_folder_have_different_messages(tmp_path):
    with pytest.raises(WordbiasError, match=r"none\.toml: no such file; check the path"):
        Attribute.load(tmp_path / "none.toml")
    with pytest.raises(WordbiasError, match="expected a file, found a folder"):
        Attribute.load(tmp_path)
