"""CEAT on representations: its rows, its words, what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wordbias.columns import Column
from wordbias.errors import WordbiasError
from wordbias.models.representations import Representations
from wordbias.probes.ceat import Contexts, Settings, associate, ceat
from wordbias.wordlists.queries import Query

QUERY = Query(
    "jobs",
    (("male", ("John", "Bill", "Mike")), ("female", ("Amy", "Ann"))),
    (("career", ("office", "salary")), ("family", ("home", "wedding", "cousins"))),
)
OTHER = Query("other", (("a", ("q", "r")), ("b", ("s", "t"))), QUERY.attributes)
WORDS = ("John", "Bill", "Amy", "Ann", "office", "salary", "home", "wedding", "bill")


def _found(seed: int = 0, layers: tuple[int, ...] = (0, 6), each: int = 12) -> Representations:
    """Contexts in no order; `Mike` and `cousins` have none, `Ann` has two."""
    rng = np.random.default_rng(seed)
    words = [word for word in WORDS for _ in range(2 if word == "Ann" else each)]
    rng.shuffle(words)
    column = Column.of(words)
    means = rng.standard_normal((len(layers), len(WORDS), 10))
    noise = rng.standard_normal((len(layers), len(words), 10))
    vectors = means[:, column.codes] + noise
    return Representations(vectors.astype(np.float32), layers, {"word": column}, {}, "mine")


def _of(found: Representations, layer: int, words: Mapping[str, Any]) -> Contexts:
    cells = found.column("word").cells()
    places = {word: [i for i, cell in enumerate(cells) if cell == word] for word in WORDS}
    return Contexts.of(
        [[found.layer(layer)[places[w]] for w in word_set] for word_set in words.values()]
    )


def test_a_row_for_each_query_and_layer_with_its_conventions() -> None:
    representations = _found()
    rows = ceat(representations, [QUERY], Settings(draws=2_000, seed=4))
    assert [row.details["layer"] for row in rows] == [0, 6]
    words = {
        "male": ("John", "Bill"),
        "female": ("Amy", "Ann"),
        "career": ("office", "salary"),
        "family": ("home", "wedding"),
    }
    for row in rows:
        result = associate(_of(representations, row.details["layer"], words), draws=2_000, seed=4)
        assert (row.subject, row.measure) == ("mine", "ceat")
        assert row.value == result.combined.effect
        assert row.details.items() >= result.details().items()
        about = dict(row.details)
        assert about["low"] < row.value < about["high"]
        assert about["n"] == {name: len(word_set) for name, word_set in words.items()}
        assert about["missing"] == {"male": ["Mike"], "family": ["cousins"]}
        assert about["sentences"] == {w: 2 if w == "Ann" else 12 for s in words.values() for w in s}
        assert (about["draws"], about["seed"]) == (2_000, 4)
        assert (about["neutral"], about["better"], about["set"]) == (0, "neutral", "jobs")
        assert 0 <= about["draws_above_0"] <= 1
        assert about["draws_low"] < about["draws_mean"] < about["draws_high"]


def test_rows_name_their_draws() -> None:
    (row,) = ceat(_found(), [QUERY], Settings(draws=1_001), layers=[6])
    about = dict(row.details)
    words = {"X": ("John", "Bill"), "Y": ("Amy", "Ann"), "A": ("office", "salary")}
    effects = associate(
        _of(_found(), 6, {**words, "B": ("home", "wedding")}), draws=1_001
    ).drawn.effects
    ordered = np.sort(effects)
    assert (about["draws_low"], about["draws_high"]) == pytest.approx((ordered[25], ordered[975]))
    assert about["draws_sd"] == pytest.approx(
        np.sqrt(((effects - effects.mean()) ** 2).sum() / 1e3)
    )
    assert about["draws_above_0"] == pytest.approx(sum(e > 0 for e in effects) / 1_001)


def test_published_variance_and_roles() -> None:
    representations = _found()
    usual, released, swapped = (
        ceat(representations, [QUERY], Settings(draws=500, variance=variance, swap=swap), [6])[0]
        for variance, swap in (
            ("standard-error", False),
            ("released", False),
            ("standard-error", True),
        )
    )
    assert released.details["draws_mean"] == usual.details["draws_mean"]
    assert released.value != usual.value
    assert released.details["se"] < usual.details["se"]
    assert list(swapped.details["n"]) == ["career", "family", "male", "female"]
    assert np.sign(swapped.value or 0) == np.sign(usual.value or 0)


def test_words_with_too_few_sentences_are_left_out_and_counted() -> None:
    query = replace(QUERY, targets=(QUERY.targets[0], ("female", ("Amy", "Ann", "home"))))
    (row,) = ceat(_found(), [query], Settings(draws=100, minimum=3), [6])
    assert row.details["sentences"]["Ann"] == 2
    assert row.details["missing"]["female"] == ["Ann"]
    with pytest.raises(WordbiasError, match="mine: jobs: female: 1 of 2 words found") as raised:
        ceat(_found(), [QUERY], Settings(minimum=3))
    assert "first missing: Ann; give more sentences" in str(raised.value)


def test_words_are_taken_only_as_they_are_spelled() -> None:
    column = Column.of(["bill", "John", "Amy", "Ann", "office", "salary", "home", "wedding"])
    representations = Representations(
        np.random.default_rng(0).standard_normal((1, 8, 4)).astype(np.float32),
        (1,),
        {"word": column},
    )
    with pytest.raises(WordbiasError, match="male: 1 of 3 words found"):
        ceat(representations, [QUERY])


def test_a_query_without_words_has_a_reason_and_the_others_a_value() -> None:
    first, second, third = ceat(_found(layers=(3,)), [OTHER, QUERY, OTHER], Settings(draws=50))
    assert first.value is third.value is None
    assert second.value is not None
    assert (
        "a: 0 of 2 words found (at least 2 needed): first missing: q, r" in first.details["reason"]
    )
    assert list(first.details) == ["set", "layer", "reason"]
    assert first.details["layer"] == 3
    with pytest.raises(WordbiasError, match="mine: other: a: 0 of 2 words found"):
        ceat(_found(), [OTHER])


def test_one_sentence_a_word_has_no_interval() -> None:
    representations = _found(each=1)
    column = Column.of(WORDS)
    single = Representations(
        representations.vectors[:, : len(WORDS)], representations.layers, {"word": column}
    )
    for row in ceat(single, [QUERY], Settings(draws=10)):
        assert row.value is not None
        assert row.details["low"] is None
        assert "every word has only one sentence" in row.details["reason"]


def test_targets_that_are_all_alike_have_no_value() -> None:
    representations = _found(layers=(0,))
    vectors = np.array(representations.vectors)
    vectors[:, np.isin(representations.column("word").cells(), ["John", "Bill", "Amy", "Ann"])] = 1
    (row,) = ceat(replace(representations, vectors=vectors), [QUERY], Settings(draws=20))
    assert row.value is None
    assert row.details["reason"] == "undefined: all target words are associated alike"
    assert row.details["n"]["male"] == 2


@pytest.mark.parametrize(("value", "message"), [(0, "is zero"), (np.nan, "no finite number")])
def test_zero_and_non_finite_vectors_are_refused(value: float, message: str) -> None:
    representations = _found()
    vectors = np.array(representations.vectors)
    vectors[1, representations.column("word").cells().index("Amy")] = value
    broken = replace(representations, vectors=vectors)
    assert ceat(broken, [QUERY], Settings(draws=20), [0])[0].value is not None
    with pytest.raises(WordbiasError, match=f"mine, layer 6: jobs: Amy: one of its .*{message}"):
        ceat(broken, [QUERY], Settings(draws=20))


def test_a_missing_column_and_a_missing_layer_are_refused() -> None:
    representations = _found()
    with pytest.raises(WordbiasError, match="mine: has no column 'word'"):
        ceat(replace(representations, columns={}), [QUERY])
    with pytest.raises(WordbiasError, match="no layer 3; it holds 0, 6"):
        ceat(representations, [QUERY], layers=[3])


def test_vectors_that_are_mapped_are_not_changed() -> None:
    representations = _found()
    representations.vectors.flags.writeable = False
    assert len(ceat(representations, [QUERY], Settings(draws=20))) == 2
