"""Test sets about other groups than women and men, and words that an embedding lacks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from wordbias import Embedding, WordbiasError
from wordbias.data import nli_sample_path
from wordbias.nli.files import Model
from wordbias.nli.mab import mab_rows
from wordbias.nli.scoring import score_set
from wordbias.nli.test_sets import MARKED, build, marked_sets, missing_fillers, with_known_words
from wordbias.wordlists import Attribute, Templates

FAITHS = Attribute.load("religion:christian,muslim")
PREMISES = 1_968


def of_groups(text: str, tmp_path: Path) -> Attribute:
    path = tmp_path / "pets.toml"
    path.write_text(f'[groups]\ncats = ["cat", "kitten"]\ndogs = ["dog", "puppy"]\n{text}')
    return Attribute.load(path)


def test_every_noun_of_both_groups_is_in_every_template() -> None:
    test = build("explicit", attribute=FAITHS)
    nouns = FAITHS.subjects["nouns"]
    assert len(test) == PREMISES * sum(map(len, nouns))
    assert Counter(filler.group for filler in test.hypotheses) == {
        "christian": len(nouns[0]),
        "muslim": len(nouns[1]),
    }
    assert (test.groups, test.attribute) == (("christian", "muslim"), "religion christian/muslim")
    starts = {pair.hypothesis.split(" ")[1] for pair in test}
    assert starts == {"Christian", "Muslim"}
    assert {pair.premise.split(" ")[1] for pair in test} == {"person"}


def test_articles_are_right_and_names_have_none() -> None:
    asian = Attribute.load("ethnicity:asian,white")
    first = next(iter(build("explicit", attribute=asian)))
    assert first.hypothesis.startswith("An Asian person ")
    name = build("names", attribute=asian).hypotheses[0]
    assert next(iter(build("names", attribute=asian))).hypothesis.startswith(f"{name.word} ")


@pytest.mark.slow
@pytest.mark.parametrize("name", MARKED)
def test_gender_as_an_attribute_gives_the_same_pairs(name: str) -> None:
    turned = build(name, attribute=Attribute.load("gender:male,female"))
    assert list(turned) == list(build(name))
    assert set(build(name, attribute=Attribute.load())) == set(turned)


def test_parity_takes_the_first_of_each_group_and_dev_all() -> None:
    age = Attribute.load("age")
    words = [filler.word for filler in build("parity", attribute=age).hypotheses]
    assert words == ["young person", "old person"]
    pair = next(iter(build("parity", attribute=age)))
    assert pair.hypothesis.startswith("The young person ")
    occupations = len(Templates.load().occupations)
    nouns = sum(map(len, age.subjects["nouns"]))
    assert len(build("dev", attribute=age)) == occupations * nouns * PREMISES


def test_fillers_come_from_the_file_of_an_attribute(tmp_path: Path) -> None:
    pets = of_groups('[subjects.names]\ncats = ["Tom"]\ndogs = ["Rex", "Bello"]', tmp_path)
    assert marked_sets(pets) == ("names",)
    assert [filler.word for filler in build("names", attribute=pets).hypotheses] == [
        "Tom",
        "Rex",
        "Bello",
    ]
    assert [filler.word for filler in build("parity", attribute=pets).hypotheses] == ["Tom", "Rex"]
    with pytest.raises(
        WordbiasError, match=r"explicit is about nouns or pronouns, and .* pets has "
    ):
        build("explicit", attribute=pets)


def test_without_words_for_sentences_the_remedy_is_named(tmp_path: Path) -> None:
    for attribute in (Attribute.load("gender-de"), of_groups("", tmp_path)):
        with pytest.raises(WordbiasError, match=rf"{attribute.name} does not say .*subjects.nouns"):
            marked_sets(attribute)
        with pytest.raises(WordbiasError, match=r"\[subjects.nouns\]"):
            build("parity", attribute=attribute)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[subjects.verbs]\ncats = ["a"]', r"\[subjects\]: unknown key 'verbs'; .* nouns, pron"),
        ('[subjects.nouns]\ncats = ["a"]', r"\[subjects\] nouns: expected words of dogs, found no"),
        ('[subjects.nouns]\ncats = ["a"]\nmice = ["b"]', r"nouns: unknown key 'mice'; .* cats, do"),
        ('[subjects.nouns]\ncats = ["a"]\ndogs = ["b", "a"]', r"nouns: 'a' is in two groups; rem"),
        ('[subjects.nouns]\ncats = 1\ndogs = ["b"]', r"nouns cats: expected a list of words, foun"),
        ("[subjects]\nnouns = 3", r"\[subjects\] nouns: expected a table, found a number"),
        ('[subjects.nouns]\ncats = "no.toml#x"\ndogs = ["b"]', r"no\.toml: no such file"),
    ],
)
def test_errors_in_an_attribute_file_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=message):
        of_groups(text, tmp_path)


def test_words_that_vectors_lack_are_left_out_of_both_groups_numbers() -> None:
    model, sample = Model.load(nli_sample_path()), Embedding.sample()
    names = Attribute.load("ethnicity:white,black")
    whole = build("names", attribute=names)
    part = with_known_words(sample, whole)
    lacking = {filler.word for filler in whole.hypotheses if filler.word.lower() not in sample}
    assert set(missing_fillers(sample, whole)) == lacking != set()
    assert {filler.word for filler in part.hypotheses} == {
        filler.word for filler in whole.hypotheses
    } - lacking
    with pytest.raises(WordbiasError, match=r"lacks \d+ of \d+ words that the set names"):
        score_set(model, sample, whole)


def test_a_group_without_known_words_is_refused() -> None:
    odd = Attribute(
        "odd", ("a", "b"), (("x",), ("y",)), subjects={"names": (("Xqzzy",), ("Mary",))}
    )
    with pytest.raises(WordbiasError, match="sample lacks every name of a that the set names asks"):
        with_known_words(Embedding.sample(), build("names", attribute=odd))


def test_rows_name_the_groups_and_the_attribute() -> None:
    test = build("explicit", attribute=FAITHS)
    p = np.random.default_rng(0).dirichlet((2, 1, 1), len(test)).astype(np.float32)
    rows = mab_rows(test, p, "system")
    assert {row.details["attribute"] for row in rows} == {"religion christian/muslim"}
    groups = dict.fromkeys(row.details["group"] for row in rows if "group" in row.details)
    assert tuple(groups) == test.groups
    half = p.reshape(2, -1, 3).astype(np.float64).mean(1)
    (distance,) = (row.value for row in rows if row.measure == "mab-distance")
    assert distance == pytest.approx(np.linalg.norm(half[0] - half[1]))
