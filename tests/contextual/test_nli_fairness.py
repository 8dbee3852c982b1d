from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wordbias.contextual.nli_fairness import (
    PARITIES,
    Parity,
    Viability,
    by_occupation,
    fairness_rows,
    has_parity,
    is_neutral,
    is_viable,
    occupation_records,
    snli_row,
)
from wordbias.errors import WordbiasError
from wordbias.nli.test_sets import TestSet, build

N, E, C = np.eye(3)
SET = build("parity")


@st.composite
def predictions(draw: st.DrawFn) -> np.ndarray:
    """(N, E, C) of occupations × two words × templates, of few values so that some agree."""
    shape = (draw(st.integers(1, 6)), 2, draw(st.integers(1, 4)), 3)
    raw = draw(arrays(np.float64, shape, elements=st.sampled_from([0.1, 0.5, 2.0, 3.0])))
    return (raw / raw.sum(-1, keepdims=True)).astype(np.float32).astype(float)


def fairness(p: np.ndarray, kind: Parity = "mean") -> tuple[float, float, float]:
    """Return accuracy, parity and η of the rows about predictions of this shape."""
    occupations, _, templates, _ = p.shape
    test = replace(SET, premises=SET.premises[:occupations], templates=SET.templates[:templates])
    rows = fairness_rows(test, p.reshape(-1, 3).astype(np.float32), "m", parity=kind)
    accuracy, *parities, eta = (float(row.value or 0) for row in rows)
    return accuracy, parities[PARITIES.index(kind)], eta


@given(predictions())
def test_fairness_is_counted_by_hand(p: np.ndarray) -> None:
    neutral, mean, strict = 0, 0, 0
    for man, woman in p:
        neutral += sum(list(row).index(max(row)) == 0 for row in [*man, *woman])
        labels = [[list(row).index(max(row)) for row in side] for side in (man, woman)]
        strict += labels[0] == labels[1]
        mean += man.mean(0).argmax() == woman.mean(0).argmax()
    n = len(p)
    for kind, agree in zip(PARITIES, (mean, strict), strict=True):
        accuracy, parity, eta = fairness(p, kind)
        assert accuracy == pytest.approx(neutral / (n * 2 * p.shape[2]))
        assert parity == pytest.approx(agree / n)
        assert eta == pytest.approx(accuracy * parity)


@pytest.mark.slow
@given(predictions())
def test_who_is_called_first_does_not_matter(p: np.ndarray) -> None:
    for kind in PARITIES:
        assert fairness(p[:, ::-1], kind) == pytest.approx(fairness(p, kind))


@pytest.mark.slow
@given(predictions())
def test_without_gender_there_is_parity(p: np.ndarray) -> None:
    blind = np.repeat(p[:, :1], 2, axis=1)
    assert all(fairness(blind, kind)[1] == 1 for kind in PARITIES)


def test_the_two_kinds_of_parity_differ() -> None:
    """One odd template of three decides the strict kind only."""
    p = np.array([[[N, N, E], [N, N, N]]])
    assert has_parity(p, "mean")[0] == 1
    assert has_parity(p, "strict")[0] == 0
    assert fairness(p) == pytest.approx((5 / 6, 1.0, 5 / 6))


def test_a_fair_model_and_a_prejudiced_one() -> None:
    fair = np.broadcast_to(N, (4, 2, 5, 3))
    assert fairness(fair) == (1, 1, 1)
    prejudiced = np.stack([np.broadcast_to(x, (4, 5, 3)) for x in (E, C)], axis=1)
    assert fairness(prejudiced) == (0, 0, 0)
    indifferent = np.broadcast_to(C, (4, 2, 5, 3))  # parity alone would praise it
    assert fairness(indifferent) == (0, 1, 0)


@pytest.mark.parametrize(
    ("accuracy", "base", "relative", "viable"),
    [
        (0.8370, 0.8889, False, False),  # the paper's best of layer 11: 5.19 points
        (0.8370, 0.8889, True, False),  # 5.84 %
        (0.8387, 0.8889, False, False),
        (0.8389, 0.8889, False, True),
        (0.8450, 0.8889, True, True),
        (0.8440, 0.8889, True, False),
        (0.9, 0.8889, False, True),
    ],
)
def test_what_is_viable(accuracy: float, base: float, relative: bool, viable: bool) -> None:
    assert is_viable(accuracy, base, relative=relative) is viable


@pytest.fixture(scope="module")
def parity() -> TestSet:
    return SET


def test_the_set_of_the_paper(parity: TestSet) -> None:
    assert len(parity) == 10_824
    assert len(parity.premises) == 164


def test_rows_are_of_the_set_and_have_intervals(parity: TestSet) -> None:
    rng = np.random.default_rng(0)
    raw = rng.dirichlet([3, 1, 1], len(parity)).astype(np.float32)
    rows = fairness_rows(parity, raw, "m", parity="strict", seed=5)
    names = [(row.measure, row.details.get("parity")) for row in rows]
    assert names == [
        ("nli-accuracy", None),
        ("nli-parity", "mean"),
        ("nli-parity", "strict"),
        ("nli-fairness", "strict"),
    ]
    for row in rows:
        assert row.details["low"] <= row.value <= row.details["high"]
        assert (row.details["neutral"], row.details["better"]) == (1, "higher")
        assert (row.details["n"], row.details["units"], row.details["seed"]) == (
            10824,
            164,
            5,
        )
    assert rows == fairness_rows(parity, raw, "m", parity="strict", seed=5)


def test_the_arrangement_of_pairs_is_the_order_of_the_set(parity: TestSet) -> None:
    """Pairs about one occupation that a rule calls contradictions are found under its name."""
    hit = [
        first.startswith("The nurse ") and second.startswith("The man ") for first, second in parity
    ]
    p = np.where(np.array(hit)[:, None], C, N).astype(np.float32)
    records = {record["occupation"]: record for record in occupation_records(parity, p)}
    nurse = records.pop("nurse")
    assert nurse == {
        "occupation": "nurse",
        "neutral": 0.5,
        "man": "contradiction",
        "woman": "neutral",
        "parity mean": 0,
        "parity strict": 0,
    }
    assert {
        (record["neutral"], record["man"], record["parity strict"]) for record in records.values()
    } == {(1.0, "neutral", 1)}
    accuracy, mean, *_ = (row.value for row in fairness_rows(parity, p, "m"))
    assert mean == pytest.approx(163 / 164)
    assert accuracy == pytest.approx(1 - 33 / 10824)


def test_shapes_that_do_not_fit(parity: TestSet) -> None:
    with pytest.raises(WordbiasError, match=r"shape \(10824, 3\), got \(5, 3\)"):
        by_occupation(parity, np.zeros((5, 3), np.float32))
    with pytest.raises(WordbiasError, match="dev: parity compares two words, the set has 6"):
        by_occupation(build("dev"), np.zeros((5, 3), np.float32))
    with pytest.raises(WordbiasError, match=r"got \(4, 3, 1, 3\)"):
        is_neutral(np.zeros((4, 3, 1, 3)))
    with pytest.raises(WordbiasError, match="parity 'odd': expected one of mean, strict"):
        has_parity(np.zeros((4, 2, 1, 3)), "odd")  # type: ignore[arg-type]


def test_viability_is_given_only_beside_a_base_model() -> None:
    alone = snli_row(0.8, 100, "m")
    assert "viable" not in alone.details
    beside = snli_row(0.8, 100, "m", viability=Viability(0.84, 0.05, True))
    assert beside.details["viable"] is True
    assert snli_row(0.78, 100, "m", viability=Viability(0.84)).details["viable"] is False
