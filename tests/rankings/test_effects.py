"""What a changed name does to lists, beside a change that means nothing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray
from quick_cases import first_quick
from scipy.stats import binom

from wordbias.arrays import unit
from wordbias.functions.retrieval_inputs import Vectors
from wordbias.rankings.counterfactuals import GIVEN, NAME, SAME, Versions
from wordbias.rankings.effects import (
    EXPOSURE,
    EXPOSURE_RATIO,
    IMPACT,
    OVERLAP,
    RBO,
    SELECTION,
    SHIFT,
    Lists,
    Ranked,
    change_rows,
    exposure_rows,
)
from wordbias.rankings.ranking import blocks_of
from wordbias.results import Row
from wordbias.verdicts import MOVES, decide

KINDS = (GIVEN, NAME, SAME)
Float32 = NDArray[np.float32]


def _unit(x: NDArray[np.float64]) -> Float32:
    return unit(x.astype(np.float32))


def _changed(
    rng: np.random.Generator, of_documents: bool, shared: bool, shift: float = 0.0
) -> tuple[list[Ranked], Versions, Lists]:
    """Draw vectors of texts, and move each by its name, further by that of another group."""
    n, documents, draws, d = 10, 30, 2, 6
    changed = rng.normal(size=(documents if of_documents else n, d))
    other = rng.normal(size=(n if of_documents else documents, d))
    m = len(changed)
    sets = (np.arange(draws * m) % (9 if shared else draws * m)).reshape(draws, m)
    names = 0.3 * rng.normal(size=(2, draws * m, d))  # by set: of the other group, of the same
    names[0] *= 1 + shift
    by_draw: list[Mapping[str, Float32]] = [
        {
            GIVEN: _unit(changed),
            NAME: _unit(changed + names[0, drawn]),
            SAME: _unit(changed + names[1, drawn]),
        }
        for drawn in sets
    ]
    queries, docs = (other, changed) if of_documents else (changed, other)
    places = np.arange(m)
    vectors = Vectors(
        _unit(queries), blocks_of(_unit(docs)), documents, by_draw, places if of_documents else None
    )
    texts: Mapping[str, list[str]] = {kind: [""] * m for kind in KINDS}
    none = np.zeros(m, np.intp)
    versions = Versions(KINDS, [texts] * draws, places, sets, none, none[None], ("a", "b"))
    return vectors.ranked(KINDS, 15), versions, Lists(3, 15)


def _p(rng: np.random.Generator, of_documents: bool, shared: bool, shift: float = 0.0) -> list[Row]:
    ranked, versions, lists = _changed(rng, of_documents, shared, shift)
    rows = change_rows(
        "drawn", ranked, lists, versions, of_documents=of_documents, draws=40, seed=0
    )
    return [row for row in rows if row.details["set"] == NAME]


@pytest.mark.parametrize(
    ("of_documents", "shared", "times"),
    first_quick([(False, False, 20), (False, False, 400), (False, True, 200), (True, True, 50)]),
)
def test_p_is_uniform_where_names_of_both_groups_are_drawn_alike(
    of_documents: bool, shared: bool, times: int
) -> None:
    rng = np.random.default_rng(0)
    p_values: dict[str, list[float]] = {}
    for _ in range(times):
        for row in _p(rng, of_documents, shared):
            p_values.setdefault(row.measure, []).append(row.details["p"])
    assert set(p_values) == {OVERLAP, RBO, SHIFT}
    for measure, values in p_values.items():
        p = np.array(values)
        for level in (0.05, 0.2, 0.5):
            # valid: at most as many as the level says, but for one time in a million
            assert (p <= level).sum() <= binom.ppf(1 - 1e-6, times, level), (measure, level)
        if measure == RBO:  # it has next to no ties, so that no p is too large either
            for level in (0.2, 0.5):
                assert (p <= level).sum() >= binom.ppf(1e-6, times, 0.9 * level), level


@pytest.mark.parametrize(
    ("of_documents", "shared"), first_quick([(False, False), (False, True), (True, False)])
)
def test_a_name_that_moves_texts_further_is_found(of_documents: bool, shared: bool) -> None:
    rows = _p(np.random.default_rng(1), of_documents, shared, shift=8.0)
    by_measure = {row.measure: row for row in rows}
    row = by_measure[RBO]
    assert row.details["p"] < 0.05
    assert row.details["excess_high"] < 0
    assert decide(MOVES, row.to_dict()).verdict == "beyond"
    assert by_measure[SHIFT].details["excess"] > 0


def test_the_rows_are_means_of_the_lists_measured_one_by_one() -> None:
    ranked, versions, lists = _changed(np.random.default_rng(2), False, False)
    rows = change_rows("drawn", ranked, lists, versions, of_documents=False, draws=10, seed=0)
    shares = {}
    for kind in (NAME, SAME):
        several = []
        for draw in ranked:
            for pool, first, second in zip(
                draw.ids, draw.ranks[GIVEN], draw.ranks[kind], strict=True
            ):
                a, b = ({*pool[ranks <= 3].tolist()} for ranks in (first, second))
                several.append(len(a & b) / 3)
        shares[kind] = float(np.mean(several))
    by_set = {row.details["set"]: row for row in rows if row.measure == OVERLAP}
    assert {kind: row.value for kind, row in by_set.items()} == pytest.approx(shares)
    assert by_set[NAME].details["excess"] == pytest.approx(shares[NAME] - shares[SAME])
    assert "excess" not in by_set[SAME].details


def test_too_few_texts_cannot_tell() -> None:
    ranked, versions, lists = _changed(np.random.default_rng(3), False, False, shift=50.0)
    shortened = [Ranked(draw.ids[:3], {k: r[:3] for k, r in draw.ranks.items()}) for draw in ranked]
    few = Versions(
        KINDS, versions.texts, np.arange(3), versions.sets[:, :3], versions.codes[:3],
        versions.others, versions.groups,
    )  # fmt: skip
    rows = change_rows("drawn", shortened, lists, few, of_documents=False, draws=40, seed=0)
    row = next(row for row in rows if row.details["set"] == NAME)
    assert row.details["units"] == 3
    assert decide(MOVES, row.to_dict()).verdict == "cannot tell"


# groups of documents


def _groups(kinds: tuple[str, ...], rng: np.random.Generator) -> list[Row]:
    ranked, _, lists = _changed(rng, True, False)
    given = np.arange(30) % 2
    codes = {GIVEN: given, NAME: 1 - given}
    return exposure_rows("drawn", ranked, lists, ("a", "b"), [codes] * 2, kinds, draws=40, seed=0)


def test_exposures_and_selections_sum_to_those_of_the_first_ranks() -> None:
    rows = _groups((GIVEN,), np.random.default_rng(4))
    sums = {
        measure: sum(15 * float(row.value or 0) for row in rows if row.measure == measure)
        for measure in (EXPOSURE, SELECTION)
    }
    assert sums[SELECTION] == pytest.approx(3)
    assert sums[EXPOSURE] == pytest.approx(1 + 1 / np.log2(3) + 1 / 2)
    for measure, ratio in ((EXPOSURE, EXPOSURE_RATIO), (SELECTION, IMPACT)):
        a, b = (float(row.value or 0) for row in rows if row.measure == measure)
        (ratio_row,) = (row for row in rows if row.measure == ratio)
        assert ratio_row.value == pytest.approx(min(a, b) / max(a, b))
        assert ratio_row.details["low"] <= ratio_row.value <= ratio_row.details["high"]


def test_groups_that_are_selected_alike_have_an_interval() -> None:
    """Two groups are compared, whatever order the queries are summed in."""
    rng = np.random.default_rng(7)
    code = np.array([0, 1] * 5)
    first = np.array([rng.permutation(10) + 1 for _ in range(20)])
    ranks = np.concatenate([first, first[:, np.arange(10) ^ 1]])  # with exchanged groups
    ids = np.tile(np.arange(10), (40, 1))
    for order in (np.arange(40), rng.permutation(40), rng.permutation(40)):
        ranked = [Ranked(ids, {GIVEN: ranks[order]})]
        rows = exposure_rows(
            "drawn", ranked, Lists(3, 10), ("a", "b"), [{GIVEN: code}], (GIVEN,), draws=500, seed=0
        )
        (ratio,) = (row for row in rows if row.measure == IMPACT)
        assert ratio.value == pytest.approx(1)
        assert sorted(ratio.details["groups"]) == ["a", "b"]
        assert ratio.details["low"] < 0.9
        assert ratio.details["high"] > 1.1


def test_each_document_stands_once_in_each_group_if_names_are_changed() -> None:
    """Where the name moves nothing, both groups get the same, whatever their texts are."""
    ranked, _, lists = _changed(np.random.default_rng(5), True, False)
    still = [
        Ranked(draw.ids, {GIVEN: draw.ranks[GIVEN], NAME: draw.ranks[GIVEN]}) for draw in ranked
    ]
    given = (np.arange(30) < 8).astype(np.intp)
    codes = {GIVEN: given, NAME: 1 - given}
    rows = exposure_rows(
        "drawn", still, lists, ("a", "b"), [codes] * 2, (GIVEN, NAME), draws=40, seed=0
    )
    ratios = [row for row in rows if row.measure in (EXPOSURE_RATIO, IMPACT)]
    assert [row.value for row in ratios] == pytest.approx([1, 1])
    assert [row.details["p"] for row in ratios] == [1, 1]


@pytest.mark.slow
def test_p_of_a_ratio_is_valid_where_groups_mean_nothing() -> None:
    rng, times = np.random.default_rng(6), 60
    p = np.array(
        [row.details["p"] for _ in range(times) for row in _groups((GIVEN,), rng)
         if row.measure == EXPOSURE_RATIO]
    )  # fmt: skip
    for level in (0.05, 0.2, 0.5):
        assert (p <= level).sum() <= binom.ppf(1 - 1e-6, times, level)
