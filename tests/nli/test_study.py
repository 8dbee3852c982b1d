"""The study: cached rows, means over seeds, correlations; the wrong weightings."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from wordbias import Embedding, __version__
from wordbias.errors import WordbiasError
from wordbias.nli.pairs import Pairs
from wordbias.nli.study import Plan, cached_rows, skipped
from wordbias.nli.study_means import (
    about_orders,
    correlations_with_error,
    intrinsic_rows,
    mean_errors,
    over_arms,
    over_seeds,
)
from wordbias.results import Row
from wordbias.wordlists import Templates


def _error(subject: str, value: float, seed: int, **details: object) -> Row:
    about = {"set": "explicit", "setting": "nouns", "neutral": 0, "better": "lower", **details}
    return Row(subject, "mab-error", value, {**about, "seed": seed})


def test_rows_are_averaged_over_seeds() -> None:
    rows = [_error("a", 0.1, 0), _error("a", 0.3, 1), _error("b", 0.5, 0)]
    rows.append(_error("a", 0.9, 0, setting="pronouns"))
    mean, other, pronouns = sorted(
        over_seeds(rows), key=lambda row: (row.details["setting"], row.subject)
    )
    assert mean.value == pytest.approx(0.2)
    assert (mean.details["seeds"], mean.details["sd"]) == (2, pytest.approx(np.sqrt(0.02)))
    assert (other.value, other.details["seeds"], other.details["sd"]) == (0.5, 1, None)
    assert pronouns.value == 0.9
    assert mean_errors([*rows, *over_seeds(rows)]) == {"a": mean.value, "b": 0.5}


def test_models_without_a_value_are_left_out_of_a_mean() -> None:
    """Vectors of one seed may lack words that those of another have."""
    lacking = Row("a", "mab-error", None, {**_error("a", 0, 1).details, "reason": "undefined: b"})
    (mean,) = over_seeds([lacking, _error("a", 0.1, 0), _error("a", 0.3, 2)])
    assert mean.value == pytest.approx(0.2)
    assert (mean.details["seeds"], "reason" in mean.details) == (2, False)
    (none,) = over_seeds([lacking])
    assert (none.value, none.details["reason"]) == (None, "undefined: b")


def _vectors(*names: str) -> list[Embedding]:
    return [Embedding(["a"], np.ones((1, 2)), name) for name in names]


def test_measures_of_an_arm_are_means_over_its_seeds() -> None:
    """In whatever order the rows of the seeds are; what one of them lacks has no value."""
    a0, a1, b = _vectors("a0", "a1", "b")
    arms = {"a": {0: a0, 1: a1, 2: a0}, "b": dict.fromkeys((0, 1, 2), b)}
    about = {"original": "o0", "low": 0.0, "high": 1.0}
    rows = {
        a0: [Row("a0", "x", 1.0, about), Row("a0", "y", 2.0, {"set": "s"})],
        a1: [Row("a1", "y", 5.0, {"set": "s"}), Row("a1", "x", 4.0, about), Row("a1", "z", 1.0)],
        b: [Row("b", "x", 7.0, about)],
    }
    x, y, z, own = over_arms(arms, arms, rows, (0, 1, 2))
    assert (x.subject, x.value) == ("a", pytest.approx((1 + 4 + 1) / 3))
    assert x.details == {
        "original": "a",
        "draws": 2,
        "sd": pytest.approx(np.std([1, 4], ddof=1)),
    }
    assert y.value == pytest.approx((2 + 5 + 2) / 3)
    assert (z.measure, z.value, z.details["reason"]) == ("z", None, "undefined: not for all seeds")
    assert own is rows[b][0]
    none = {**rows, a1: [Row("a1", "x", None, {"reason": "undefined: a1 lacks she"})]}
    x, y, _ = over_arms(arms, arms, none, (0, 1, 2))
    assert (x.value, x.details["reason"]) == (None, "undefined: a1 lacks she")


def test_error_is_correlated_with_every_measure() -> None:
    e = {"a": 0.1, "b": 0.4, "c": 0.2, "d": 0.9}
    rows = over_seeds([_error(name, value, 0) for name, value in e.items()])
    rows += [Row(name, "direct-bias", 2 * value + 1, {}) for name, value in e.items()]
    rows += [Row(name, "gipe", -value, {"setting": "θ=0.03"}) for name, value in e.items()]
    rows += [Row(name, "midb", None, {}) for name in e]
    rows += [Row(name, "sembias-none", value, {"set": "all"}) for name, value in e.items()]
    rows += [Row(name, "sembias-none", -value, {"set": "last 40"}) for name, value in e.items()]
    rows += [Row(name, "snli-accuracy", 0.7, {"set": "dev"}) for name in e]
    rows += [Row(name, "weat", value, {"set": "weat6"}) for name, value in e.items()]
    rows += [Row(name, "weat", -value, {"set": "weat7"}) for name, value in e.items()]
    by_measure = {row.details["x"]: row for row in correlations_with_error(rows, signed=True)}
    sembias = {"sembias-none (all)", "sembias-none (last 40)"}
    weat = {"weat (weat6)", "weat (weat7)"}
    assert set(by_measure) == {"direct-bias", "gipe (θ=0.03)", "midb"} | sembias | weat
    assert by_measure["weat (weat6)"].value == pytest.approx(1)
    assert by_measure["weat (weat7)"].value == pytest.approx(-1)
    assert by_measure["sembias-none (all)"].value == pytest.approx(1)
    assert by_measure["sembias-none (last 40)"].value == pytest.approx(-1)
    assert by_measure["direct-bias"].value == pytest.approx(1)
    assert by_measure["gipe (θ=0.03)"].value == pytest.approx(-1)
    assert by_measure["midb"].value is None
    assert "0 embeddings have both" in by_measure["midb"].details["reason"]
    assert {row.measure for row in intrinsic_rows(rows)} == {
        "direct-bias", "gipe", "midb", "sembias-none", "weat",
    }  # fmt: skip


def test_the_right_order_of_weights_is_ranked_by_its_error_among_all_orders() -> None:
    orders = ["".join(order) for order in permutations("1234")]
    rows = over_seeds(
        [_error(f"a.perm-{order}", i / 10, 0) for i, order in enumerate(orders, start=3)]
    )
    rows += over_seeds([_error("a", 0.0, 0), _error("b.perm-2134", 0.0, 0)])
    (note,) = about_orders(rows, "a")
    assert "24 orders: E of the right one is 0.300. 0 of the 23 others" in note
    assert "mean 1.500, 0.400 to 2.600" in note
    assert "probability 0.04" in note
    tied = [_error(f"c.perm-{order}", 2.5, 0) for order in orders]
    assert "probability 1.00" in about_orders(over_seeds(tied), "c")[0]
    assert about_orders(over_seeds(tied[1:]), "c") == about_orders(rows, "b") == []


def test_a_measure_with_a_sign_is_correlated_by_its_size_and_as_published_with_its_sign() -> None:
    e = {"a": 0.1, "b": 0.4, "c": 0.2, "d": 0.9}
    rows = over_seeds([_error(name, value, 0) for name, value in e.items()])
    about = {"neutral": 0, "better": "neutral"}
    rows += [Row(name, "midb-unit", -value, about) for name, value in e.items()]
    rows += [Row(name, "weat", value, {**about, "set": "weat6"}) for name, value in e.items()]
    rows.append(Row("e", "midb-unit", None, {"reason": "undefined: e lacks she"}))
    lower = {"neutral": 0.5, "better": "lower"}
    rows += [Row(name, "recoverability-mlp", -value, lower) for name, value in e.items()]

    def found(signed: bool) -> dict[str, float]:
        correlations = correlations_with_error(rows, signed=signed)
        return {row.details["x"]: round(row.value or 0, 9) for row in correlations}

    others = {"recoverability-mlp": -1}
    assert found(signed=False) == {"|midb-unit|": 1, "|weat (weat6)|": 1} | others
    assert found(signed=True) == {"midb-unit": -1, "weat (weat6)": 1} | others


def test_cached_rows_are_not_made_again(tmp_path: Path) -> None:
    calls = []

    def make() -> list[Row]:
        calls.append(1)
        return [Row("a", "x", 0.1 + 0.2, {"set": "s", "n": 3}), Row("a", "y", None, {})]

    path = tmp_path / "rows.json"
    first = cached_rows(path, {"seed": 0}, make)
    second = cached_rows(path, {"seed": 0}, make)
    assert [row.to_dict() for row in second] == [row.to_dict() for row in first]
    assert len(calls) == 1
    cached_rows(path, {"seed": 1}, make)
    assert len(calls) == 2
    assert json.loads(path.read_text())["about"] == {"seed": 1, "wordbias": __version__}


def test_embeddings_must_go_together(tmp_path: Path) -> None:
    none = Pairs([], [], np.zeros(0, np.int64))
    data = {"train": none, "dev": none}
    narrow, two = (Embedding(["a"], np.ones((1, d)), f"e{d}") for d in (2, 3))
    with pytest.raises(WordbiasError, match="embeddings of one dimension, found e2 2, e3 3"):
        Plan({"e2": {0: narrow}, "e3": {0: two}}, data, tmp_path)
    with pytest.raises(WordbiasError, match=r"found e2 2, e3 3$"):
        Plan({"e": {0: narrow, 1: narrow.renamed("f2"), 2: two}}, data, tmp_path)


def test_embeddings_that_lack_the_same_words_share_a_note(tmp_path: Path) -> None:
    none = Pairs([], [], np.zeros(0, np.int64))
    whole = Embedding.sample().renamed("whole")
    name = Templates.load().names[0][0]
    few = whole.subset([word for word in whole.words if word not in (name, name.lower())])
    arms = {arm: {0: few.renamed(arm)} for arm in ("b", "c")}
    by_seed = {0: whole, 1: few.renamed("d1")}
    data = {"train": none, "dev": none}
    plan = Plan({"whole": {0: whole}, **arms, "d": by_seed}, data, tmp_path, marked=("names",))
    lacks = f"lacks 1 of 65 words that the set names asks about ({name}): the set is skipped"
    assert skipped(plan) == [f"b, c, d1: each {lacks}"]
    plan = Plan({"whole": {0: whole}, "d": by_seed}, data, tmp_path, marked=("names",))
    assert skipped(plan) == [f"d1 {lacks}"]


def test_rows_of_another_version_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, calls = tmp_path / "rows.json", []

    def make() -> list[Row]:
        calls.append(1)
        return [Row("a", "b", 1.0, {})]

    cached_rows(path, {"seed": 0}, make)
    monkeypatch.setattr("wordbias.store.__version__", "0.0.9")
    cached_rows(path, {"seed": 0}, make)
    cached_rows(path, {"seed": 0}, make)
    assert len(calls) == 2
