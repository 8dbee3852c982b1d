"""`wordbias.weat` as Python calls it: queries, sets of words, groups and embeddings as objects."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias import Embedding, WordbiasError
from wordbias.errors import UsageError
from wordbias.functions.weat import weat
from wordbias.measures.associations import MEASURES
from wordbias.wordlists import Query, load_queries, load_two_sets

Run = Callable[..., Any]

MALE, FEMALE = ["he", "man"], ["she", "woman"]
MATH, ART = ["math", "physics"], ["art", "poetry"]
MINE = Query(
    "mine",
    (("m", tuple(MALE)), ("f", tuple(FEMALE))),
    (("s", tuple(MATH)), ("a", tuple(ART))),
    about="gender",
)


@pytest.fixture(scope="module")
def few() -> Embedding:
    sample = Embedding.sample()
    queries = {word for query in load_queries() for word in query.candidates()}
    return sample.subset([word for word in sample.words if word in queries]).renamed("few")


@pytest.fixture(scope="module")
def file(few: Embedding, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weat") / "few.safetensors"
    few.save(path)
    return path


def _rows(cli: Run, *arguments: object) -> Any:
    done = cli("weat", "--format", "json", "--draws", 50, "-q", *arguments)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_rows_are_those_of_the_command(cli: Run, few: Embedding, file: Path) -> None:
    printed = _rows(cli, file, "--query", "weat6,weat7", "--only", "weat,mac", "--holm")
    for given in (file, str(file), few, (list(few.words), few.vectors)):
        report = weat(given, query=["weat6", "weat7"], only=("weat", "mac"), holm=True, draws=50)
        rows = json.loads(json.dumps(report.to_dict()["rows"]))
        name = rows[0]["subject"]
        assert name == ("embedding" if isinstance(given, tuple) else "few")
        assert [{**row, "subject": "few"} for row in rows] == printed["rows"]


@pytest.mark.parametrize(
    "given",
    [
        {"query": MINE},
        {
            "query": {
                "name": "mine",
                "about": "gender",
                "targets": {"m": MALE, "f": FEMALE},
                "attributes": {"s": MATH, "a": np.array(ART)},
            }
        },
    ],
)
def test_a_query_brings_its_words(few: Embedding, given: dict[str, Any]) -> None:
    (row,) = weat(few, **given)
    assert row.details["n"] == {"m": 2, "f": 2, "s": 2, "a": 2}
    assert (row.details["set"], row.details["about"]) == ("mine", "gender")
    assert row.value == weat(few, query=MINE).rows[0].value


def test_two_sets_are_names_words_by_name_or_two_lists(few: Embedding) -> None:
    (named,) = weat(few, targets=["male", "female"], attributes="math,arts")
    assert named.details["set"] == "male/female × math/arts"
    (mixed,) = weat(few, targets={"m": MALE, "f": FEMALE}, attributes=["math", "arts"])
    (bare,) = weat(few, query={"targets": [MALE, FEMALE], "attributes": ["math", "arts"]})
    assert mixed.details["set"] == "m/f × math/arts"
    assert bare.details["set"] == "X/Y × math/arts"
    assert mixed.value == bare.value != named.value


def test_the_table_names_all_four_sets_once(few: Embedding) -> None:
    (table,) = weat(few, query=7).tables
    assert table.cells[0][:2] == ["weat7", "math/arts × male/female"]
    (own,) = weat(few, targets="male,female", attributes="math,arts").tables
    assert own.columns[0] == "query"
    assert "words" not in own.columns
    assert own.cells[0][0] == "male/female × math/arts"


def test_groups_are_a_name_or_words(few: Embedding) -> None:
    groups = {"he": MALE, "she": FEMALE, "arts": ART}
    report = weat(few, groups=groups, attributes={"s": MATH, "p": ["poetry", "dance"]})
    assert [row.details["set"] for row in report] == ["he/she", "he/arts", "she/arts"]
    assert report.heading == ["Attribute he/she/arts: he, she, arts; A = s, B = p."]
    (_, pleasant), (_, unpleasant) = load_two_sets(["pleasant", "unpleasant"])
    by_words = weat(
        few, groups="gender", attributes={"pleasant": pleasant, "unpleasant": unpleasant}
    )
    assert by_words.rows == weat(few, groups="gender", attributes="pleasant,unpleasant").rows


def test_embeddings_without_names_stand_beside_each_other(few: Embedding) -> None:
    whole, two = (list(few.words), few.vectors), (list(few.words), few.vectors[:, ::2])
    report = weat([whole, two], query="weat7")
    assert [row.subject for row in report] == ["embedding", "embedding (2)"]
    assert list(report.inputs) == ["embedding", "embedding (2)"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"query": MINE, "targets": "male,female"}, "take no targets= and no attributes="),
        ({"groups": "gender"}, "groups= needs attributes=A,B"),
        (
            {"groups": "gender", "attributes": "math,arts", "query": "1"},
            "take no targets= and no query=",
        ),
        ({"query": {"targets": [MALE, FEMALE]}}, "attributes=: expected the names of two"),
        ({"query": {"target": [MALE, FEMALE]}}, "query: unknown key 'target'"),
        ({"targets": {"m": "he"}, "attributes": "math,arts"}, "targets=: expected two sets"),
        ({"targets": {"m": "he", "f": FEMALE}, "attributes": "math,arts"}, "targets=: m: expected"),
        ({"targets": [MALE, MALE], "attributes": "math,arts"}, "without a common word"),
        ({"targets": [MALE, MALE], "attributes": [FEMALE, FEMALE]}, "query: X/Y × A/B: expected"),
        (
            {"query": {"targets": [MALE, MALE], "attributes": ["math", "arts"]}},
            "query: X/Y × math/arts: expected sets",
        ),
        ({"ddof": 2}, "ddof=0 or 1"),
        ({"only": ["wiet"]}, "measure 'wiet'"),
    ],
)
def test_errors_name_arguments_of_python(few: Embedding, given: dict[str, Any], said: str) -> None:
    with pytest.raises(WordbiasError) as error:
        weat(few, **given)
    assert said in str(error.value)
    assert isinstance(error.value, UsageError) == any(
        phrase in said for phrase in ("take no", "needs", "wiet")
    )


def test_the_help_names_all_measures() -> None:
    assert f"some of {','.join(MEASURES)}." in (weat.__doc__ or "")


TOML = """[sets]
x = ["he", "man"]
y = ["she", "woman"]
[queries.first]
targets = ["x", "y"]
attributes = ["x", "y"]
"""


def test_words_are_typed_as_they_are_given_in_python(
    cli: Run, few: Embedding, file: Path, tmp_path: Path
) -> None:
    (expected,) = weat(few, {"targets": [MALE, FEMALE], "attributes": ["career", "family"]})
    (tmp_path / "women.txt").write_text("she\n\nwoman\n")
    women = str(tmp_path / "women.txt")
    texts: list[Any] = [["he,man", "she, woman"], ["he,man", women], [MALE, FEMALE]]
    for two in texts:
        (row,) = weat(few, targets=two, attributes=["career", "family"])
        assert row.value == expected.value
    for second in ("she,woman", women):
        sides = ("--targets", "he,man", "--targets", second)
        for attributes in (["career,family"], ["career", "--attributes", "family"]):
            (typed,) = _rows(cli, file, *sides, "--attributes", *attributes)["rows"]
            assert typed["value"] == expected.value


def test_sets_of_which_it_is_not_clear_what_they_are_say_how_to_give_words(cli: Run) -> None:
    done = cli("weat", "--targets", "he,she", "--attributes", "career,family")
    assert "--targets: no set 'he' in" in done.err
    assert done.err.endswith("--targets twice: --targets he,him --targets she,her\n")
    done = cli("weat", "--targets", "he,him,she", "--attributes", "career,family")
    assert "expected the names of two different sets, found 3" in done.err


def test_a_query_is_a_file_or_one_of_a_file(few: Embedding, tmp_path: Path) -> None:
    two = TOML.replace('attributes = ["x", "y"]', 'attributes = ["a", "b"]')
    two = two.replace("[queries", 'a = ["math", "physics"]\nb = ["art", "poetry"]\n[queries')
    two += two[two.index("[queries") :].replace("first", "second")
    path = tmp_path / "mine.toml"
    path.write_text(two)
    for given in (path, str(path)):
        assert [row.details["set"] for row in weat(few, given)] == ["first", "second"]
    assert [row.details["set"] for row in weat(few, f"{path}::second")] == ["second"]
    several = weat(few, [f"{path}::first", "weat6", 7, MINE])
    assert [row.details["set"] for row in several] == ["first", "weat6", "weat7", "mine"]
    (own,) = weat(few, path, targets="a,b", attributes="x,y")
    assert own.details["set"] == "a/b × x/y"
    with pytest.raises(WordbiasError, match="query 'third': expected one of first, second"):
        weat(few, f"{path}::third")


def test_a_language_without_sets_says_so() -> None:
    words = ["Anna", "Maria", "Paul", "Peter", "Mann", "Frau", "er", "sie", "Vater", "Mutter"]
    vectors = np.random.default_rng(0).normal(size=(len(words), 5))
    with pytest.raises(WordbiasError, match="gender-de has no sets of attribute words"):
        weat((words, vectors), groups="gender-de", attributes="career,family")
    with pytest.raises(WordbiasError, match="those of WEAT are English"):
        weat((words, vectors))
