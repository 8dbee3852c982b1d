"""Queries: WEAT's own, a user's TOML, WEFE's JSON, and everything that can be wrong with them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wordbias.errors import WordbiasError
from wordbias.wordlists.queries import Query, choose_query, load_queries

GOOD = """
[sets]
math = ["math", "Algebra"]
arts = ["poetry", "art", "dance"]
male = ["he", "his"]
female = ["she", "her"]
[queries.mine]
targets = ["math", "arts"]
attributes = ["male", "female"]
source = "me"
"""
WEFE = {
    "target_sets": [["she", "woman"], ["he", "man"]],
    "attribute_sets": [["math", "algebra"], ["poetry", "art"]],
    "target_sets_names": ["Female terms", "Male terms"],
    "attribute_sets_names": ["Science", "Arts"],
    "query_name": "Female terms and Male terms wrt Science and Arts",
    "template": [2, 2],
}
SIZES = {
    "weat1": (25, 25, 25, 25),
    "weat2": (25, 25, 25, 25),
    "weat3": (32, 32, 25, 25),
    "weat4": (16, 16, 25, 25),
    "weat5": (16, 16, 8, 8),
    "weat6": (8, 8, 8, 8),
    "weat7": (8, 8, 8, 8),
    "weat8": (8, 8, 8, 8),
    "weat9": (6, 6, 7, 7),
    "weat10": (8, 8, 8, 8),
}


@pytest.fixture
def toml(tmp_path: Path) -> Any:
    def write(text: str = GOOD, name: str = "q.toml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def _words(query: Query) -> list[tuple[str, ...]]:
    return [words for _, words in (*query.targets, *query.attributes)]


def test_the_ten_queries_have_the_sizes_of_table_1() -> None:
    sizes = {query.name: tuple(map(len, _words(query))) for query in load_queries()}
    assert sizes == SIZES
    assert list(sizes) == list(SIZES)
    assert all("Caliskan et al. 2017, table 1" in query.source for query in load_queries())


def _lower(words: Any) -> set[str]:
    return {word.lower() for word in words}


def test_the_words_are_those_of_the_published_copy(shared_data: Path) -> None:
    """All deviations are listed here and in the file's head."""
    published = json.loads((shared_data / "weat" / "weat.json").read_text(encoding="utf-8"))
    ours = {query.name: query for query in load_queries()}
    pairs = {
        "weat1": "Flowers_Insects_Pleasant_Unpleasant",
        "weat2": "MusicalInstruments_Weapons_Pleasant_Unpleasant",
        "weat3": "EuropeanAmerican_AfricanAmerican_Pleasant_Unpleasant",
        "weat4": "EuropeanAmerican_AfricanAmerican_Pleasant_Unpleasant_2",
        "weat6": "Male_Female_Career_Family",
        "weat7": "Math_Arts_Male_Female",
        "weat8": "Science_Arts_Male_Female",
    }
    differ = {}
    for name, key in pairs.items():
        theirs = [published[key][published[key][f"{k}_key"]] for k in "XYAB"]
        for i, (mine, other) in enumerate(zip(_words(ours[name]), theirs, strict=True)):
            if _lower(mine) != _lower(other):
                differ[name, "XYAB"[i]] = (
                    _lower(mine) - _lower(other),
                    len(_lower(other) - _lower(mine)),
                )
    assert differ == {
        ("weat3", "X"): (set(), 18),  # names the paper excludes
        ("weat3", "Y"): ({"tyree"}, 19),  # the same, and the misprint "tvree"
        ("weat4", "X"): (set(), 2),
        ("weat4", "Y"): (set(), 2),
        ("weat4", "A"): (set(), 2),  # joined to the words of weat5
        ("weat4", "B"): (set(), 7),
    }
    joined = published["EuropeanAmerican_AfricanAmerican_Pleasant_Unpleasant_2"]
    five = ours["weat5"]
    assert _words(five)[2] == tuple(joined["Pleasant"][25:])
    assert set(_words(five)[3]) == set(joined["Unpleasant"][25:])
    assert five.targets == ours["weat4"].targets


def test_a_users_file(toml: Any) -> None:
    (query,) = load_queries(toml())
    assert query == Query(
        "mine",
        (("math", ("math", "Algebra")), ("arts", ("poetry", "art", "dance"))),
        (("male", ("he", "his")), ("female", ("she", "her"))),
        "me",
    )
    assert query.names == ("math", "arts", "male", "female")


def test_a_query_of_named_sets(toml: Any) -> None:
    (query,) = load_queries(toml(), targets=["male", "female"], attributes=["math", "arts"])
    assert query.name == "male/female × math/arts"
    (own,) = load_queries(targets=["male", "female"], attributes=["math", "arts"])
    assert _words(own)[0][0] == "male"


def test_wefes_word_sets(toml: Any) -> None:
    sets = {"male_terms": ["he", "him"], "female_terms": ["she"], "a": ["x"], "b": ["y", "y"]}
    path = toml(json.dumps(sets), "sets.json")
    (query,) = load_queries(path, targets=["male_terms", "female_terms"], attributes=["a", "b"])
    assert _words(query) == [("he", "him"), ("she",), ("x",), ("y",)]
    with pytest.raises(WordbiasError, match=r"only sets of words; name two with --targets A,B"):
        load_queries(path)


@pytest.mark.parametrize("many", [False, True])
def test_wefes_queries(toml: Any, many: bool) -> None:
    path = toml(json.dumps([WEFE] if many else WEFE), "wefe.json")
    (query,) = load_queries(path)
    assert query.name == WEFE["query_name"]
    assert query.names == ("Female terms", "Male terms", "Science", "Arts")
    assert _words(query)[0] == ("she", "woman")


def test_wefes_query_without_names(toml: Any) -> None:
    bare = {key: WEFE[key] for key in ("target_sets", "attribute_sets")}
    (query,) = load_queries(toml(json.dumps(bare), "wefe.json"))
    assert query.names == ("target_set 0", "target_set 1", "attribute_set 0", "attribute_set 1")
    assert query.name == "target_set 0/target_set 1 × attribute_set 0/attribute_set 1"


def test_one_or_all_are_chosen() -> None:
    queries = load_queries()
    assert choose_query(queries, "all") == queries
    assert [query.name for query in choose_query(queries, "weat10")] == ["weat10"]
    with pytest.raises(WordbiasError, match=r"query 'weat11': expected one of weat1, .*, or all"):
        choose_query(queries, "weat11")


def test_words_are_found_in_another_case_and_reported() -> None:
    (query,) = choose_query(load_queries(), "weat8")
    vocabulary = {form.lower() for form in query.candidates()} - {"nasa", "uncle"}
    resolved = query.find(vocabulary)
    assert resolved.details() == {
        "set": "weat8",
        "about": "gender",
        "n": {"science": 7, "arts_8": 8, "male_kin": 7, "female_kin": 8},
        "missing": {"science": ["NASA"], "male_kin": ["uncle"]},
        "case": {"as written": 28, "lower-cased": 2},
    }
    assert resolved.pairs is not None
    assert resolved.pairs.missing == (("NASA", "novel"),)


def test_sets_of_different_length_have_no_pairs(toml: Any) -> None:
    (query,) = load_queries(toml())
    assert query.find(query.candidates()).pairs is None


def test_candidates_are_every_spelling(toml: Any) -> None:
    (query,) = load_queries(toml())
    assert {"math", "Math", "algebra", "Algebra", "she", "She"} <= query.candidates()


def test_fewer_than_two_words_are_refused_with_the_numbers(toml: Any) -> None:
    (query,) = load_queries(toml())
    message = (
        r"^glove: mine: arts: 1 of 3 words found \(at least 2 needed\): first missing: poetry, "
        r"dance; give words this embedding has with --query FILE; those of WEAT are English$"
    )
    with pytest.raises(WordbiasError, match=message):
        query.find({"math", "algebra", "art", "he", "his", "she", "her"}, "glove")


BAD_TOML = {
    "not toml": ("[sets", "not valid TOML"),
    "unknown table": (GOOD + "[set]\n", "unknown key 'set'; expected one of sets, queries"),
    "unknown key": (GOOD.replace("source", "sauce"), r"\[queries.mine\]: unknown key 'sauce'"),
    "no queries": (GOOD[: GOOD.index("[queries")], "expected queries, found only sets of words"),
    "empty": ("", "expected queries"),
    "sets is a list": ("sets = [1]", r"\[sets\]: expected a table, found the list \[1\]"),
    "queries is a text": ('queries = "a"', r"\[queries\]: expected a table, found the text 'a'"),
    "query is a list": ("[queries]\na = [1]", r"\[queries.a\]: expected a table"),
    "set is a text": (GOOD.replace('["he", "his"]', '"he"'), "male: expected a list of words"),
    "number in a set": (GOOD.replace('"he", ', "1, "), "male: expected a list of words"),
    "empty word": (GOOD.replace('"he", ', '" ", '), "male: expected words, found an empty word"),
    "one target": (GOOD.replace('["math", "arts"]', '["math"]'), "targets: expected the names of"),
    "no targets": (GOOD.replace('targets = ["math", "arts"]\n', ""), "targets: expected the names"),
    "targets a text": (GOOD.replace('["math", "arts"]', '"math"'), "targets: expected a list"),
    "set unknown": (
        GOOD.replace('["math", "arts"]', '["maths", "arts"]'),
        r"targets: no set 'maths' in .*; it has math, arts, male, female: correct the name",
    ),
    "same set twice": (
        GOOD.replace('["male", "female"]', '["math", "male"]'),
        "mine: expected four different sets, found math, arts, math, male",
    ),
    "common word": (
        GOOD.replace('["she", "her"]', '["she", "He"]'),
        "expected sets without a common word, found 'He' in both male and female; remove it",
    ),
    "source a number": (GOOD.replace('"me"', "3"), "source: expected a text, found a number"),
}


@pytest.mark.parametrize(("text", "message"), BAD_TOML.values(), ids=BAD_TOML)
def test_bad_toml_is_refused_in_one_line(toml: Any, text: str, message: str) -> None:
    with pytest.raises(WordbiasError, match=message) as caught:
        load_queries(toml(text))
    assert "\n" not in str(caught.value)
    assert "q.toml" in str(caught.value)


BAD_JSON: dict[str, tuple[Any, str]] = {
    "a number": (3, "query 1: expected a table, found a number"),
    "a list of texts": (["a"], "query 1: expected a table, found the text 'a'"),
    "word list a text": ({"a": "b"}, "a: expected a list of words, found the text 'b'"),
    "one target set": ({**WEFE, "target_sets": [["a"]]}, "target_sets: expected two lists"),
    "no attribute sets": ({"target_sets": [["a"], ["b"]]}, "attribute_sets: expected two lists"),
    "three": ({**WEFE, "target_sets": [["a"], ["b"], ["c"]]}, "expected two lists of words"),
    "one name": ({**WEFE, "target_sets_names": ["a"]}, "target_sets_names: expected the names"),
    "name a number": ({**WEFE, "target_sets_names": [1, 2]}, "target_sets_names: expected a list"),
    "words numbers": ({**WEFE, "target_sets": [[1], [2]]}, "Female terms: expected a list of"),
    "unknown key": ({**WEFE, "targets": []}, "unknown key 'targets'"),
    "name not a text": ({**WEFE, "query_name": 3}, "query_name: expected a text"),
    "twice": ([WEFE, WEFE], "two queries 'Female terms and .*'; rename one"),
    "empty list": ([], "expected queries"),
    "null": (None, "query 1: target_sets: expected two lists of words, found nothing"),
}


@pytest.mark.parametrize(("value", "message"), BAD_JSON.values(), ids=BAD_JSON)
def test_bad_json_is_refused_in_one_line(toml: Any, value: Any, message: str) -> None:
    path = toml(json.dumps(value), "q.json")
    with pytest.raises(WordbiasError, match=message) as caught:
        load_queries(path)
    assert "\n" not in str(caught.value)
    assert "q.json" in str(caught.value)


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"a": [1}', ""])
def test_what_is_no_json_is_refused_in_one_line(toml: Any, text: str) -> None:
    with pytest.raises(WordbiasError, match="not ") as caught:
        load_queries(toml(text, "q.json"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["q.toml", "q.json"])
def test_a_file_that_is_not_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(WordbiasError, match="no such file"):
        load_queries(tmp_path / name)


def test_targets_need_attributes() -> None:
    with pytest.raises(WordbiasError, match=r"--attributes: expected the names of two"):
        load_queries(targets=["math", "arts"])
    with pytest.raises(WordbiasError, match=r"--targets: no set 'maths' in .*weat.toml"):
        load_queries(targets=["maths", "arts"], attributes=["male", "female"])


@pytest.mark.parametrize(
    ("asked", "places"),
    [("1,2", [1, 2]), ("weat7, 1", [7, 1]), ("6-8,7", [6, 7, 8]), ("3,all", list(range(1, 11)))],
)
def test_queries_by_number_and_comma(asked: str, places: list[int]) -> None:
    queries = choose_query(load_queries(), asked)
    assert [query.name for query in queries] == [f"weat{place}" for place in places]


@pytest.mark.parametrize("asked", ["1,11", "0", "3-1", "1-", "-", "", ",", "²", "9" * 5_000])
def test_a_number_without_a_query(asked: str) -> None:
    with pytest.raises(WordbiasError, match=r"query '.*': expected one of weat1, .*, or all"):
        choose_query(load_queries(), asked)


def test_a_query_goes_by_its_own_name_first(toml: Any) -> None:
    (loaded,) = load_queries(toml())
    named = [replace(loaded, name=name) for name in ("1", "a,b", "weat1")]
    for typed, expected in (("1", "1"), ("a,b", "a,b"), ("weat1", "weat1")):
        assert [query.name for query in choose_query(named, typed)] == [expected]
