"""The marked-attribute test sets: sizes, order, articles, identities, files."""

from __future__ import annotations

import csv
import hashlib
import os
import re
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from wordbias import WordbiasError
from wordbias.nli.test_sets import COLUMNS, MARKED, SETS, TestSet, build
from wordbias.wordlists import Templates
from wordbias.wordlists.templates import Articles

SIZES = {
    "explicit": 15_744,
    "occupations": 62_976,
    "names": 125_952,
    "dev": 1_936_512,
    "parity": 10_824,
}
"""Dawkins (2021), sections 3.2, 3.3 and appendix; Dev et al. (2020); Dawkins et al. (2024)."""
NO_DEV = [name for name in SETS if name != "dev"]

# Words of the lists that a rule of thumb would take for plurals, and things no one can count.
SINGULAR = {"bus"}
MASS = {
    "bacon",
    "brass",
    "bread",
    "butter",
    "clothing",
    "furniture",
    "jewelry",
    "luggage",
    "meat",
    "milk",
    "pasta",
    "rice",
    "underwear",
}
LETTERS_SAID_WITH_A_VOWEL = "AEFHILMNORSX"


def article(word: str) -> str:
    """Say which article a word takes, by its sound: written from the rules of English spelling."""
    first = word.split(" ", maxsplit=1)[0]
    if first in MASS or (re.search("[^s]s$", first) and first not in SINGULAR):
        return ""
    if re.match(r"[A-Z]{2}|[A-Z]-|[A-Z]+\d", first):  # spelled out: S, U, V
        return "an" if first[0] in LETTERS_SAID_WITH_A_VOWEL else "a"
    first = first.lower()
    if re.match(r"eu|ew|onc?e$", first) or re.match(r"u[^aeiou](?=[aeiouy])", first):
        return "a"  # a European, a ewe, a one, a unit; but an umbrella, an usher
    if re.match(r"heir|hour|hono|hones|herb", first):
        return "an"
    return "an" if first[0] in "aeiou" else "a"


def listed(lists: Templates) -> Iterator[str]:
    """Yield all words that may stand behind an article."""
    for words in lists.objects.values():
        yield from words
    yield from lists.people
    yield from lists.occupations
    yield from lists.dev_words
    for pair in (lists.stereotypes, lists.nouns):
        yield from (*pair.male, *pair.female)


def doubtful(words: Iterable[str]) -> list[str]:
    """Return the words whose article is another than the one their sound asks for."""
    given = Articles.load()
    return [
        f"{given.before(word)!r}, expected {wanted!r}"
        for word in dict.fromkeys(words)
        if given.before(word) != (wanted := f"{article(word)} {word}".strip())
    ]


@pytest.fixture(scope="module", params=NO_DEV)
def built(request: pytest.FixtureRequest) -> TestSet:
    return build(request.param)


@pytest.mark.parametrize("name", SETS)
def test_sizes_are_the_published_ones(name: str) -> None:
    test = build(name)
    assert len(test) == SIZES[name]
    assert test.name == name


@pytest.mark.parametrize("name", SETS)
def test_the_published_lists_give_the_same_sizes(name: str, shared_data: Path) -> None:
    assert len(build(name, Templates.load(shared_data / "dev2020"))) == SIZES[name]


def test_the_length_is_the_number_of_rows(built: TestSet) -> None:
    assert sum(1 for _ in built) == sum(1 for _ in built.rows()) == len(built)


def test_no_identity_and_no_pair_occurs_twice(built: TestSet) -> None:
    assert len({row[0] for row in built.rows()}) == len(built)
    assert len(set(built)) == len(built)


def test_no_pair_of_dev_occurs_twice() -> None:
    """If no sentence occurs twice on a side, then no pair does."""
    test = build("dev")
    for side in (test.premises, test.hypotheses):
        sentences = [
            f"{test.subject(filler)} {test.predicate(template)}"
            for filler in side
            for template in test.templates
        ]
        assert len(set(sentences)) == len(sentences)


def test_both_genders_have_equally_many_pairs(built: TestSet) -> None:
    count = Counter(filler.group for filler in built.hypotheses)
    assert set(count) == {"male", "female"}
    assert count["male"] == count["female"] == len(built.hypotheses) // 2


def test_sentences_of_the_explicit_set() -> None:
    test = build("explicit")
    assert {filler.word for filler in test.hypotheses} == {
        "man", "guy", "gentleman", "woman", "girl", "lady", "He", "She"
    }  # fmt: skip
    assert len(test.templates) == len(set(test.templates)) == 1968
    kinds = Counter(row[1] for row in test.rows())
    assert kinds == {"person-noun": 6 * 1968, "person-pronoun": 2 * 1968}
    assert all(premise.startswith("A person ") for premise, _ in test)
    assert all(premise.endswith(" .") and hypothesis.endswith(" .") for premise, hypothesis in test)


def test_names_and_pronouns_take_no_article() -> None:
    for name in ("names", "explicit"):
        test = build(name)
        for filler in test.hypotheses:
            bare = filler.kind in ("name", "pronoun")
            assert (test.subject(filler) == filler.word) is bare


def test_premise_and_hypothesis_differ_only_in_their_subject(built: TestSet) -> None:
    fillers = [(first, second) for first in built.premises for second in built.hypotheses]
    step = len(built.templates)
    for i, (premise, hypothesis) in enumerate(built):
        first, second = (built.subject(filler) for filler in fillers[i // step])
        assert premise.removeprefix(first) == hypothesis.removeprefix(second)


def test_the_pairs_are_those_of_the_definition(shared_data: Path) -> None:
    """The published lists crossed as their paper says, written independently of ours."""
    folder = shared_data / "dev2020"

    def words(*parts: str) -> list[str]:
        text = folder.joinpath(*parts).read_text(encoding="utf-8")
        return [line.strip() for line in text.splitlines() if line.strip()]

    groups = ("clothes", "farm_animals", "food", "furniture", "household", "vehicles")
    things = {group: words("nouns", "objects", group) for group in groups}
    things["people"] = words("nouns", "people", "person_hyponyms") + words(
        "nouns", "people", "rulers"
    )
    crossing = {"commerce": groups, "interaction": ["people"], "driving": ["vehicles"]}
    crossing["eating"] = ["food"]
    an = {word: "an" if word[0].lower() in "aeiou" else "a" for x in things.values() for word in x}
    subjects = ["A man", "A guy", "A gentleman", "A woman", "A girl", "A lady", "He", "She"]
    expected = {
        (f"A person {verb} {an[thing]} {thing} .", f"{subject} {verb} {an[thing]} {thing} .")
        for kind, taken in crossing.items()
        for verb in words("verbs", f"{kind}_verbs")
        for group in taken
        for thing in things[group]
        for subject in subjects
    }
    test_set = build("explicit", Templates.load(folder), as_published=True)
    assert {tuple(pair) for pair in test_set} == expected


def test_articles_of_the_built_in_lists_are_right() -> None:
    assert doubtful(listed(Templates.load())) == []


def test_articles_of_the_published_lists_are_right(shared_data: Path) -> None:
    assert doubtful(listed(Templates.load(shared_data / "dev2020"))) == []


def test_every_exception_of_the_articles_is_one() -> None:
    """An exception that its first letter already says would hide a mistake."""
    given, by_letter = Articles.load(), Articles()
    for word in (*given.an, *given.a):
        assert given.before(word) != by_letter.before(word)
        assert given.before(word) == f"{article(word)} {word}"
    assert not given.an & given.a
    assert all(article(word) == "" for word in given.none)


def test_published_articles_go_by_the_first_letter(shared_data: Path) -> None:
    lists = Templates.load(shared_data / "dev2020")
    ours, published = (
        {premise for premise, _ in build("explicit", lists, as_published=flag)}
        for flag in (False, True)
    )
    assert "A person crashed a SUV ." in published - ours
    assert "A person crashed an SUV ." in ours - published
    assert "A person sold a headphones ." in published - ours
    assert "A person sold headphones ." in ours - published
    changed = {premise.split()[-2] for premise in published - ours}
    assert changed == {"SUV", "headphones", "brass"}  # the oddities that are known


def test_an_identity_is_the_hash_of_its_kind_and_its_sentences() -> None:
    for row in islice(build("occupations").rows(), 0, None, 5000):
        number, kind, _, _, _, premise, hypothesis = row
        assert number == hashlib.sha224(f"{kind}\t{premise}\t{hypothesis}".encode()).hexdigest()


def test_rows_describe_their_sentences(built: TestSet) -> None:
    groups = {template.verb: template.group for template in built.templates}
    for _, kind, first, second, group, premise, hypothesis in islice(built.rows(), 0, None, 997):
        assert first in premise.split()
        assert second in hypothesis.split()
        assert any(f" {verb} " in premise for verb in groups if groups[verb] == group)
        assert kind.count("-") == 1


@pytest.mark.slow
def test_the_order_does_not_depend_on_the_hash_seed() -> None:
    code = (
        "import hashlib; from wordbias.nli.test_sets import build\n"
        "print(hashlib.sha256(repr(list(build('explicit').rows())).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_parity_has_66_pairs_for_each_of_164_occupations() -> None:
    test = build("parity")
    assert Counter(row[2] for row in test.rows()).keys() == set(Templates.load().occupations)
    assert set(Counter(row[2] for row in test.rows()).values()) == {66}
    assert len(set(test.templates)) == 33
    assert {template.group for template in test.templates} >= {"commerce", "interaction", "eating"}
    assert all(premise.startswith("The ") for premise, _ in test)
    assert all(re.match("The (wo)?man ", hypothesis) for _, hypothesis in test)


def test_dev_crosses_every_occupation_with_six_words() -> None:
    test = build("dev")
    assert len(test.premises) == 164
    assert {filler.word: filler.group for filler in test.hypotheses} == {
        "man": "male", "gentleman": "male", "guy": "male",
        "woman": "female", "lady": "female", "girl": "female",
    }  # fmt: skip


def test_memory_does_not_grow_with_the_set() -> None:
    whole = replace(build("dev"), templates=build("dev").templates[:20])

    def peak(premises: int) -> int:
        part = replace(whole, premises=whole.premises[:premises])
        tracemalloc.start()
        for _ in part.rows():
            pass
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return memory

    peak(1)  # what is made once
    assert peak(100) < 2 * peak(1)


def test_a_file_holds_the_rows(tmp_path: Path) -> None:
    test = build("parity")
    path = tmp_path / "parity.csv"
    test.write(path)
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == COLUMNS
    assert [tuple(row) for row in rows] == list(test.rows())
    assert b"\r" not in path.read_bytes()


def test_a_word_with_a_comma_stays_one_word(tmp_path: Path) -> None:
    test = build("parity")
    strange = replace(test.premises[0], word='judge, "retired"')
    part = replace(test, premises=[strange], templates=test.templates[:1])
    part.write(tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["premise_filler_word"] == 'judge, "retired"'


def test_an_interrupted_file_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "explicit.csv"
    path.write_text("old", encoding="utf-8")
    true = TestSet.rows

    def interrupted(self: TestSet) -> Iterator[tuple[str, ...]]:
        yield from islice(true(self), 5000)
        raise KeyboardInterrupt

    monkeypatch.setattr(TestSet, "rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build("explicit").write(path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=r"gone/x\.csv: cannot be written, the folder"):
        build("parity").write(tmp_path / "gone" / "x.csv")


def test_an_unknown_set_is_refused() -> None:
    with pytest.raises(WordbiasError, match="test set 'all': expected one of explicit, "):
        build("all")


def test_a_gendered_word_of_no_known_gender_is_refused() -> None:
    lists = replace(Templates.load(), dev_words=("man", "person"))
    with pytest.raises(WordbiasError, match="which gender 'person' has; expected some of man, "):
        build("dev", lists)


def test_the_marked_sets_are_the_three() -> None:
    assert MARKED == ("explicit", "occupations", "names")
