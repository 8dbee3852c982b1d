"""From outputs to Table 7, against the definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from wordbias.contextual.sweep.sweep import (
    inference_rows,
    stereoset_rows,
    with_setting,
)
from wordbias.contextual.table7 import entry
from wordbias.models.settings import all_settings
from wordbias.nli.scoring import softmax
from wordbias.nli.test_sets import TestSet, build
from wordbias.stereotypes.gsss import Gsss, Item, Triple
from wordbias.stereotypes.next_sentence import Sentences
from wordbias.stereotypes.scores import Settings
from wordbias.wordlists import Templates

NAMES = ["Base", "Sent-debias", *(setting.name for setting in all_settings()[::20])]
N = 30


@pytest.fixture
def gsss() -> Gsss:
    item = Item(Sentences("a", "b"), Sentences("c", "d"))
    triples = [Triple(str(i), "MF"[i % 2], (item, item, item)) for i in range(N)]
    return Gsss("made", "0", triples)


@pytest.fixture(scope="module")
def test() -> TestSet:
    return build("parity", Templates.load(), as_published=False)


def logits(n: int, labels: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, len(NAMES), labels)).astype(np.float32)


def test_softmax_is_that_of_scipy() -> None:
    from scipy.special import softmax as reference

    x = np.array([[700.0, 0.0], [-700.0, -701.0], [3.0, 3.0]])
    np.testing.assert_allclose(softmax(x), reference(x, axis=-1), rtol=1e-14)


def test_strength_and_distance_are_means_of_the_extreme_tenth(gsss: Gsss) -> None:
    x = logits(2 * N * 6, 2)
    versions = {"original": gsss, "repaired": gsss}
    is_next = softmax(x.astype(float))[..., 1]
    of_stereoset = stereoset_rows(versions, is_next, "bert", NAMES, Settings())
    p = 1 / (1 + np.exp(x[..., 0].astype(float) - x[..., 1]))  # place 1 is "is next"
    for k, name in enumerate(NAMES):
        for v, version in enumerate(("original", "repaired")):
            six = p[v * 6 * N : (v + 1) * 6 * N, k].reshape(N, 6)
            s = (six[:, 0] - six[:, 2]) - (six[:, 1] - six[:, 3])
            d = np.abs(six[:, 4] - six[:, 5])
            rows = {
                row.measure: row for row in of_stereoset[name] if row.details["version"] == version
            }
            assert set(rows) == {"ss", "strength", "opposite-strength", "distance"}
            assert rows["strength"].value == pytest.approx(np.sort(s)[-3:].mean(), abs=1e-12)
            assert rows["distance"].value == pytest.approx(np.sort(d)[-3:].mean(), abs=1e-12)
            assert {row.details["subset"] for row in rows.values()} == {"all"}


def inferred(test: TestSet) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    p = softmax(logits(len(test), 3, 1))
    right = np.random.default_rng(2).random((50, len(NAMES))) < 0.7
    return inference_rows(test, p, right, "bert-nli", NAMES), p, right


def test_a_line_of_the_table_is_made_of_its_rows(gsss: Gsss, test: TestSet) -> None:
    is_next = softmax(logits(N * 6, 2).astype(float))[..., 0]
    of_stereoset = stereoset_rows({"original": gsss}, is_next, "bert", NAMES, Settings())
    of_nli, p, right = inferred(test)
    shape = (len(test.premises), 2, len(test.templates), 3)
    for k, name in enumerate(NAMES):
        line = entry(name, [*of_stereoset[name], *of_nli[name]], "mean", "original")
        assert line.name == name
        mine = p[:, k].reshape(shape)
        assert line.accuracy == pytest.approx((mine.argmax(-1) == 0).mean())
        label = mine.astype(float).mean(2).argmax(-1)
        assert line.parity == pytest.approx((label[:, 0] == label[:, 1]).mean())
        assert line.fairness == line.accuracy * line.parity
        assert line.snli == right[:, k].mean()
        measured = {row.measure: row.value for row in of_nli[name]}
        assert measured["nli-fairness"] == pytest.approx(line.fairness)
        strict = entry(name, [*of_stereoset[name], *of_nli[name]], "strict", "original")
        assert strict.parity <= line.parity


def test_viability_compares_with_the_base(test: TestSet) -> None:
    of_nli, _, right = inferred(test)
    base = right[:, 0].mean()
    for k, name in enumerate(NAMES):
        (row,) = (row for row in of_nli[name] if row.measure == "snli-accuracy")
        assert row.details["viable"] == bool(right[:, k].mean() >= base - 0.05 - 1e-9)
        assert row.details["low"] <= row.value <= row.details["high"]


def test_rows_say_which_model_they_are_of(test: TestSet) -> None:
    of_nli, _, _ = inferred(test)
    levels = {
        name: {row.details["level"] for row in with_setting(name, rows)}
        for name, rows in of_nli.items()
    }
    assert levels["Base"] == {"Base"}
    assert levels["SENT-0"] == {"SENT"}
    assert levels["L11-01010"] == {"L11"}
    assert levels["attn-10010"] == {"attn"}
    assert all(
        row.details["setting"] == "SENT-0" for row in with_setting("SENT-0", of_nli["SENT-0"])
    )
