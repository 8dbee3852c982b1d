"""Association measures over many groups: two by two as alone, all at once by their definitions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.associations import MEASURES, measure_groups, measure_queries
from wordbias.measures.weat import Settings
from wordbias.results import Row
from wordbias.wordlists import (
    Attribute,
    WordGroups,
    group_queries,
    load_attribute,
    load_two_sets,
    resolve,
)
from wordbias.wordlists.queries import Query

SETS = load_two_sets(["pleasant", "unpleasant"])
FEW = Settings(samples=2000)


def _plain(row: Row) -> dict[str, Any]:
    return {key: value for key, value in row.to_dict().items() if key != "set"}


@pytest.mark.parametrize("measure", ["weat", "rnd", "ect"])
def test_every_two_groups_are_a_query_of_their_own(sample: Embedding, measure: str) -> None:
    religion = WordGroups.load("religion")
    rows = measure_groups(sample, religion, SETS, [measure], FEW)
    k = len(religion.groups)
    assert len({row.details["set"] for row in rows}) == k * (k - 1) // 2
    query = Query(
        "by hand",
        (
            ("christian", religion.members[religion.groups.index("christian")]),
            ("hindu", religion.members[religion.groups.index("hindu")]),
        ),
        SETS,
        about="religion",
    )
    alone = measure_queries(sample, [query], [measure], FEW)
    ours = [row for row in rows if row.details["set"] == "christian/hindu"]
    assert [_plain(row) for row in ours] == [_plain(row) for row in alone]


@pytest.mark.parametrize("measure", ["weat", "rnd", "ect", "mac", "rnsb"])
def test_of_two_groups_it_is_what_a_query_of_two_gives(sample: Embedding, measure: str) -> None:
    age = Attribute.load("age")
    rows = measure_groups(sample, age, SETS, [measure], FEW)
    alone = measure_queries(sample, group_queries(age, SETS), [measure], FEW)
    for ours, theirs in zip(rows, alone, strict=True):
        assert ours.value == theirs.value
        for key in ("low", "high", "n", "missing", "p", "neutral", "better"):
            assert ours.details.get(key) == theirs.details.get(key)


def _units(embedding: Embedding, words: tuple[str, ...]) -> np.ndarray:
    x = embedding.take(resolve(words, embedding).found).astype(float)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_mac_is_the_mean_distance_of_a_group_to_the_sets(sample: Embedding) -> None:
    ethnicity = WordGroups.load("ethnicity")
    rows = measure_groups(sample, ethnicity, SETS, ["mac"])
    assert [row.details["words"] for row in rows] == list(ethnicity.groups)
    for row, words in zip(rows, ethnicity.members, strict=True):
        t = _units(sample, words)
        far = [np.mean([1 - float(a @ b) for a in t for b in _units(sample, w)]) for _, w in SETS]
        assert row.value == pytest.approx(np.mean(far), rel=1e-9)
        assert row.details["low"] <= row.value <= row.details["high"]


def test_rnsb_shares_the_negative_among_the_words_of_all_groups(sample: Embedding) -> None:
    from sklearn.linear_model import LogisticRegression

    religion = WordGroups.load("religion")
    (row,) = measure_groups(sample, religion, SETS, ["rnsb"])
    a, b = (_raw(sample, words) for _, words in SETS)
    model = LogisticRegression(max_iter=10_000).fit(
        np.concatenate([a, b]), np.repeat([0, 1], [len(a), len(b)])
    )
    targets = np.concatenate([_raw(sample, words) for words in religion.members])
    share = model.predict_proba(targets)[:, 1]
    share /= share.sum()
    expected = float((share * np.log(share * len(share))).sum())
    assert row.value == pytest.approx(expected, rel=1e-3)  # two solvers, each to its tolerance
    assert list(row.details["n"])[:5] == list(religion.groups)


def _raw(embedding: Embedding, words: tuple[str, ...]) -> np.ndarray:
    return embedding.take(resolve(words, embedding).found).astype(float)


def test_ripa_takes_the_pairs_of_the_attribute_not_the_order_of_its_words(
    sample: Embedding,
) -> None:
    """Groups of names of one length are not pairs for that."""
    two = Attribute.load("ethnicity:hispanic,asian")
    assert len(two.members[0]) == len(two.members[1])
    rows = measure_groups(sample, two, SETS, ["ripa"])
    assert [row.value for row in rows] == [None, None]
    assert "none of the pairs" in rows[0].details["reason"]
    rows = measure_groups(sample, Attribute.load("age"), SETS, ["ripa"])
    assert [row.details["units"] for row in rows] == [6, 6]


def test_a_group_without_words_is_named_and_the_others_measured(sample: Embedding) -> None:
    religion = WordGroups.load("religion")
    lost = replace(religion, members=(*religion.members[:-1], ("zzqa", "zzqb")))
    rows = measure_groups(sample, lost, SETS, ["weat", "mac", "rnsb"], FEW)
    undefined = [row for row in rows if row.value is None]
    assert {row.details["set"].split("/")[1] for row in undefined} == {"buddhist"}
    assert all("group" in r.details["reason"] or "zzqa" in r.details["reason"] for r in undefined)
    at_once = [row for row in rows if row.details["set"] == "religion"]
    assert len(at_once) == 4 + 1
    assert all(row.details["left_out"] == ["buddhist"] for row in at_once)
    assert at_once[0].details["missing"]["buddhist"] == ["zzqa", "zzqb"]


@pytest.mark.parametrize("measure", MEASURES)
def test_without_any_words_a_reason_is_given(measure: str) -> None:
    emb = Embedding(["a", "b", "c"], np.eye(3), "toy")
    with pytest.raises(WordbiasError, match=r"toy: .*at least 2 needed"):
        measure_groups(emb, load_attribute("religion"), SETS, [measure])


def test_all_but_one_group_missing_is_not_a_comparison(sample: Embedding) -> None:
    age = Attribute.load("age")
    lost = replace(age, members=(age.members[0], ("zzqa", "zzqb")))
    with pytest.raises(WordbiasError, match=r"sample: age: old: 0 of 2 words found"):
        measure_groups(sample, lost, SETS, ["mac"])


def test_a_group_is_no_attribute_set() -> None:
    gender = Attribute.load()
    sets = load_two_sets(["male", "pleasant"])
    with pytest.raises(WordbiasError, match="gender: male is a group and a set of attribute words"):
        group_queries(gender, sets)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "--attributes: expected the names of two different sets, found 0"),
        (["pleasant"], "found 1"),
        (["pleasant", "zz"], "--attributes: no set 'zz' in"),
        (["unpleasant", "unpleasant_bomb_evil"], "without a common word, found 'abuse' in both"),
    ],
)
def test_two_sets_are_named(names: list[str], message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        load_two_sets(names)


def test_an_unknown_measure_is_refused(sample: Embedding) -> None:
    with pytest.raises(WordbiasError, match="measure 'wat': expected one of weat"):
        measure_groups(sample, Attribute.load("age"), SETS, ["wat"])
