"""The families of measures, picked by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wordbias import Attribute, Embedding
from wordbias.errors import WordbiasError
from wordbias.measures import recoverability
from wordbias.measures.evaluate import evaluate
from wordbias.measures.midb import MIDB
from wordbias.measures.panel import Panel
from wordbias.measures.registry import STANDARD
from wordbias.measures.sembias import SemBias

PAIRS = (("she", "he"), ("her", "his"))
GENDER = Attribute("gender", ("f", "m"), (tuple("abcd"), tuple("efgh")), PAIRS, direction=PAIRS[0])
QUESTIONS = SemBias(((("he", "she"), ("w1", "w2"), ("w3", "w4"), ("w5", "w6")),) * 3)
MEASURES = {
    "midb": list(MIDB),
    "direct-bias": ["direct-bias", "direct-bias-pca"],
    "clustering": ["clustering-accuracy", "clustering-v"],
    "recoverability": [f"recoverability-{name}" for name in recoverability.CLASSIFIERS],
    "sembias": ["sembias-definition", "sembias-none", "sembias-stereotype"] * 2,
    "gipe": ["gipe"] * 3,
}


@pytest.fixture
def panel(monkeypatch: pytest.MonkeyPatch) -> Panel:
    """A small embedding, and measures that are content with few words."""
    monkeypatch.setattr(recoverability.recoverability_rows, "__defaults__", (40,))
    words = [*"abcdefgh", "she", "he", "her", "his", *(f"w{i}" for i in range(80))]
    vectors = np.random.default_rng(0).normal(size=(len(words), 6))
    emb = Embedding(words, vectors, "small")
    small = {"clustered": (20,), "neighbours": 5}
    return Panel(emb, emb, words[12:], GENDER, dims=2, sembias=QUESTIONS, **small)


pytestmark = [
    pytest.mark.filterwarnings("ignore:Stochastic Optimizer. Maximum iterations"),
    pytest.mark.usefixtures("one_thread"),
]


@pytest.mark.parametrize("family", STANDARD)
def test_a_family_has_its_measures(panel: Panel, family: str) -> None:
    rows = evaluate(panel, [family])
    assert [row.measure for row in rows] == MEASURES[family]
    assert all(row.value is not None for row in rows)


def test_everything_is_the_families_in_order(panel: Panel) -> None:
    rows = evaluate(panel)
    assert [row.measure for row in rows] == [
        name for family in STANDARD for name in MEASURES[family]
    ]
    picked = evaluate(panel, ["gipe", "midb"])
    assert [row.measure for row in picked] == MEASURES["midb"] + MEASURES["gipe"]
    by_name = {(row.measure, row.details.get("setting")): row for row in rows}
    for row in picked:
        assert row == by_name[row.measure, row.details.get("setting")]


def test_no_families_give_no_rows(panel: Panel) -> None:
    assert evaluate(panel, []) == []


@pytest.mark.parametrize("only", [["rnd"], ["midb", "MIDB"], [""]])
def test_an_unknown_family_is_refused(panel: Panel, only: Any) -> None:
    with pytest.raises(WordbiasError, match=f"measure '{only[-1]}': expected one of midb, direct"):
        evaluate(panel, only)


def test_every_row_says_how_it_is_to_be_read(panel: Panel) -> None:
    """A value with its interval, its ideal, what it is over; or a reason."""
    for row in evaluate(panel):
        details = row.details
        assert details["low"] <= row.value <= details["high"]  # type: ignore[operator]
        assert details["better"] in ("lower", "higher", "neutral")
        assert details["n"] > 0
        if not row.measure.startswith("sembias"):  # whose neutral value nobody defines
            assert details["neutral"] in (0, 0.5)
        if row.measure.startswith(("clustering", "recoverability", "gipe")):
            assert (details["original"], details["direction"]) == ("self", "she−he")
    for row in evaluate(Panel(panel.embedding, panel.embedding, ["w1"], GENDER, dims=9)):
        assert (row.value is None) == ("reason" in row.details)


def test_the_weight_of_isolated_words_reaches_gipe(panel: Panel) -> None:
    weighed, left_out = (
        evaluate(replace(panel, isolated=weight), ["gipe"]) for weight in (1.0, 0.0)
    )
    assert {row.details["isolated"] for row in weighed} == {1}
    assert {row.details["isolated"] for row in left_out} == {0}


def test_without_pairs_every_measure_gives_a_reason(panel: Panel) -> None:
    bare = Attribute("age", ("f", "m"), GENDER.members)
    rows = evaluate(Panel(panel.embedding, panel.embedding, panel.vocabulary, bare, dims=2))
    assert [row.measure for row in rows if row.value is not None] == MEASURES["midb"]
    undefined = [row for row in rows if row.value is None]
    assert len(undefined) == 2 + 2 + 4 + 3 + 3
    assert all(row.details["reason"].startswith("undefined: ") for row in undefined)
