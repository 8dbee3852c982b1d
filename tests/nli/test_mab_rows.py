"""The rows of marked attribute bias, against the numbers computed from the pairs themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wordbias import WordbiasError
from wordbias.nli.mab import BIAS, MEANS, Settings, distance_test, mab_rows, word_rows
from wordbias.nli.test_sets import MARKED, TestSet, build
from wordbias.results import Row
from wordbias.wordlists import Attribute

Key = tuple[Any, ...]


def small(name: str) -> TestSet:
    test = build(name)
    return replace(test, templates=test.templates[::50])


def drawn(test: TestSet, seed: int = 0) -> NDArray[np.float32]:
    p: NDArray[np.float32] = (
        np.random.default_rng(seed).dirichlet((2, 1, 1), len(test)).astype(np.float32)
    )
    return p


def by_key(rows: list[Row], *keys: str) -> dict[Key, Row]:
    rows_by_key = {(row.measure, *(row.details.get(key) for key in keys)): row for row in rows}
    assert len(rows_by_key) == len(rows)
    return rows_by_key


def grouped(test: TestSet, p: NDArray[np.float32]) -> dict[Key, list[NDArray[np.float64]]]:
    """Sort the probabilities by the kind and gender that the rows of the CSV say."""
    gender = {filler.word: filler.group for filler in test.hypotheses}
    groups: dict[Key, list[NDArray[np.float64]]] = {}
    for row, vector in zip(test.rows(), p.astype(np.float64), strict=True):
        key = (f"{row[1].removeprefix('person-')}s", gender[row[3]])
        groups.setdefault(key, []).append(vector)
    return groups


@pytest.mark.parametrize("name", MARKED)
def test_the_numbers_are_those_of_the_pairs(name: str) -> None:
    test = small(name)
    p = drawn(test)
    rows = by_key(mab_rows(test, p, "system", Settings(draws=50)), "setting", "group")
    groups = grouped(test, p)
    settings = list(dict.fromkeys(kind for kind, _ in groups))
    assert len(rows) == len(settings) * (2 * len(MEANS) + len(BIAS))
    for kind in settings:
        means = {side: np.mean(groups[kind, side], axis=0) for side in ("male", "female")}
        for side, mean in means.items():
            for measure, value in zip(MEANS, mean, strict=True):
                row = rows[measure, kind, side]
                assert row.value == pytest.approx(value)
                assert row.details["n"] == len(groups[kind, side])
        ideal = np.array([1, 0, 0])
        per_pair = [np.linalg.norm(x - ideal) for side in means for x in groups[kind, side]]
        expected = {
            "mab-distance": np.linalg.norm(means["male"] - means["female"]),
            "mab-error": np.mean([np.linalg.norm(mean - ideal) for mean in means.values()]),
            "mab-error-per-pair": np.mean(per_pair),
        }
        for measure, number in expected.items():
            row = rows[measure, kind, None]
            assert row.value == pytest.approx(number)
            assert row.details["n"] == len(per_pair)
            assert row.details["low"] < row.details["high"]


def test_nouns_and_pronouns_have_rows_of_their_own() -> None:
    """Pronouns that differ wholly leave the nouns' numbers alone."""
    test = small("explicit")
    p = np.tile(np.float32([1, 0, 0]), (len(test), 1)).reshape(8, -1, 3)
    p[[filler.word == "He" for filler in test.hypotheses]] = [0, 1, 0]
    rows = by_key(mab_rows(test, p.reshape(-1, 3), "system"), "setting", "group")
    assert rows["mab-distance", "nouns", None].value == 0
    assert rows["mab-distance", "pronouns", None].value == pytest.approx(sqrt(2))
    assert rows["mab-error", "pronouns", None].value == pytest.approx(sqrt(2) / 2)
    assert rows["mab-entailment", "pronouns", "male"].value == 1
    assert rows["mab-neutral", "pronouns", "female"].value == 1


@pytest.mark.parametrize("name", MARKED)
def test_rows_have_details(name: str) -> None:
    test = small(name)
    rows = mab_rows(test, drawn(test), "system")
    groups = [row.details["group"] for row in rows if row.measure == "mab-neutral"]
    assert groups == ["male", "female"] * (len(groups) // 2)  # as the tables print them
    ideals = {"mab-neutral": (1, "higher")}
    for row in rows:
        assert row.subject == "system"
        assert row.details["set"] == name
        assert row.details["units"] == len(test.templates)
        assert (row.details["neutral"], row.details["better"]) == ideals.get(
            row.measure, (0, "lower")
        )
        assert ("low" in row.details) is (row.measure in BIAS)


def test_only_names_and_occupations_are_tested_and_only_their_distance() -> None:
    for name in MARKED:
        test = small(name)
        tested = [row for row in mab_rows(test, drawn(test), "system") if "p" in row.details]
        assert [row.measure for row in tested] == ["mab-distance"] * (name != "explicit")


@pytest.mark.parametrize("strict", [False, True])
def test_p_is_that_of_the_means_of_the_words(strict: bool) -> None:
    test = small("occupations")
    p = drawn(test)
    words: dict[str, list[NDArray[np.float32]]] = {}
    for row, vector in zip(test.rows(), p, strict=True):
        words.setdefault(row[3], []).append(vector)
    means = np.array([np.mean(x, axis=0, dtype=np.float64) for x in words.values()])
    settings = Settings(draws=300, strict=strict, seed=4)
    rows = by_key(mab_rows(test, p, "system", settings), "group")
    details = rows["mab-distance", None].details
    expected = distance_test(means, 16, np.random.default_rng(4), draws=300, strict=strict)
    method = "sampled, as published" if strict else "sampled"
    assert (details["p"], details["partitions"], details["method"]) == (expected.p, 300, method)


def test_a_difference_between_the_groups_is_found_and_none_is_not() -> None:
    test = small("names")
    male = np.array([filler.group == "male" for filler in test.hypotheses])
    p = drawn(test).reshape(len(male), -1, 3)
    alike = by_key(mab_rows(test, p.reshape(-1, 3), "s"), "group")["mab-distance", None].details
    p[male] = 0.9 * p[male] + np.float32([0, 0.1, 0])
    apart = by_key(mab_rows(test, p.reshape(-1, 3), "s"), "group")["mab-distance", None].details
    assert apart["p"] == 1 / 10_001
    assert apart["partitions"] == 10_000
    assert alike["p"] > 1 / 10_001


@pytest.mark.parametrize("name", ["explicit", "names"])
def test_the_seed_decides(name: str) -> None:
    test = small(name)
    p = drawn(test)
    first, two, other = (
        [row.to_dict() for row in mab_rows(test, p, "s", Settings(500, seed=seed))]
        for seed in (0, 0, 1)
    )
    assert first == two != other


def test_rows_of_single_words() -> None:
    test = small("explicit")
    p = drawn(test)
    rows = by_key(word_rows(test, p, "system"), "word")
    assert len(rows) == 8 * 5
    for i, filler in enumerate(test.hypotheses):
        own = p.reshape(8, -1, 3)[i].astype(np.float64)
        mean = own.mean(0)
        expected = dict(zip(MEANS, mean, strict=True))
        expected["mab-error"] = np.linalg.norm(mean - [1, 0, 0])
        expected["mab-error-per-pair"] = np.linalg.norm(own - [1, 0, 0], axis=1).mean()
        for measure, value in expected.items():
            row = rows[measure, filler.word]
            assert row.value == pytest.approx(value)
            assert row.details["group"] == filler.group
            assert row.details["n"] == len(test.templates)


@pytest.mark.parametrize("measured", [mab_rows, word_rows])
def test_sets_of_several_premises_are_refused(measured: Callable[..., list[Row]]) -> None:
    test = small("parity")
    with pytest.raises(WordbiasError, match="parity: its premises are about 164 words; marked"):
        measured(test, drawn(test), "system")


@pytest.mark.parametrize("measured", [mab_rows, word_rows])
def test_too_few_predictions_are_refused(measured: Callable[..., list[Row]]) -> None:
    test = small("explicit")
    with pytest.raises(WordbiasError, match=r"one row a pair, got \(319, 3\)"):
        measured(test, drawn(test)[1:], "system")


def test_they_are_entailed_and_no_distance_to_he_is_neutral() -> None:
    test = build("explicit", attribute=Attribute.load("pronouns:they,he"))
    right = np.tile(np.array([[0, 1, 0], [1, 0, 0]], np.float32), (1, len(test.templates)))
    p = right.reshape(-1, 3)
    rows = by_key(mab_rows(test, p, "system"), "group")
    assert rows[BIAS[0], None].value is None
    assert "right answers of the two groups differ" in rows[BIAS[0], None].details["reason"]
    assert [rows[measure, None].value for measure in BIAS[1:]] == [0, 0]
    assert [row.value for row in word_rows(test, p, "system") if row.measure in BIAS] == [0] * 4
    same = build("explicit", attribute=Attribute.load("pronouns:they,xe"))
    entailed = np.tile(np.array([0, 1, 0], np.float32), (len(same), 1))
    assert [row.value for row in mab_rows(same, entailed, "system") if row.measure in BIAS] == [
        0
    ] * 3
