import csv
import tomllib
from collections import Counter
from importlib.resources import files

import pytest

from wordbias.wordlists import common_names, names, test_names


@pytest.fixture(scope="module")
def register(shared_data):
    counts = Counter()
    with (shared_data / "names" / "ssa_yob2020.txt").open(newline="") as file:
        for name, sex, births in csv.reader(file):
            counts[name, sex] = int(births)
    return counts


@pytest.fixture(scope="module")
def left_out():
    text = (files("wordbias.wordlists") / "names.toml").read_text("utf-8")
    return tomllib.loads(text)["left_out"]["homographs"]


def chosen():
    return [*common_names()[0], *test_names()[0]], [*common_names()[1], *test_names()[1]]


def test_sizes():
    assert [len(group) for group in common_names()] == [100, 100]
    assert [len(group) for group in test_names()] == [32, 32]
    assert len(names()) == 1250


def test_shares_are_those_of_the_register(register):
    expected = {
        name: round(register[name, "F"] / (register[name, "F"] + register[name, "M"]), 4)
        for name in names()
    }
    assert names() == expected


def test_the_names_are_the_most_frequent_of_the_register(register):
    total = Counter()
    for (name, _), births in register.items():
        total[name] += births
    ranked = sorted(total, key=lambda name: (-total[name], name))
    assert list(names()) == ranked[:1250]


def test_chosen_names_belong_to_one_sex():
    female, male = chosen()
    share = names()
    assert min(share[name] for name in female) >= 0.98
    assert max(share[name] for name in male) <= 0.02


def test_no_name_is_chosen_twice():
    female, male = chosen()
    everyone = [name.lower() for name in female + male]
    assert len(set(everyone)) == 264


def test_chosen_names_are_in_order_of_frequency(register):
    for sex, group in zip("FM", chosen(), strict=True):
        births = [register[name, sex] for name in group]
        assert births == sorted(births, reverse=True)


def test_no_homograph_is_chosen(left_out):
    female, male = chosen()
    assert not {*female, *male} & set(left_out)


@pytest.mark.parametrize(
    "name",
    [
        "Grace",
        "Mark",
        "Hunter",
        "Mason",
        "Will",
        "Faith",
        "Hope",
        "Autumn",
        "Violet",
        "Jordan",
        "Austin",
        "Chase",
        "Grant",
        "Lily",
        "Ivy",
        "Rose",
        "Dean",
        "Carter",
        "Cooper",
        "Parker",
        "Brooklyn",
        "Paris",
        "London",
        "Savannah",
        "Madison",
        "Jackson",
        "Lincoln",
        "June",
        "April",
        "Summer",
        "Charlotte",
        "Georgia",
        "Victoria",
        "King",
        "Prince",
        "Jack",
        "Frank",
        "Ray",
    ],
)
def test_a_known_homograph_is_left_out(name, left_out):
    if name in names():
        assert name in left_out
    assert not any(name in group for group in chosen())


def test_left_out_names_are_names_of_the_register_listed_once(left_out):
    assert set(left_out) <= set(names())
    assert left_out == sorted(set(left_out))


def test_names_are_capitalised():
    assert all(name == name.capitalize() for name in names())


def test_a_caller_cannot_spoil_the_shares():
    names().clear()
    assert names()["Olivia"] > 0.99
