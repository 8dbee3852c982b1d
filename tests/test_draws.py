"""Draws of values: what intervals, chance levels and changes are made of, and the keys of rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import wordbias as wb
from wordbias.draws import (
    by_bootstrap,
    by_normal,
    by_student,
    by_wilson,
    chance_keys,
    change_keys,
    drawn,
    items_of,
    null_keys,
    of_share,
    seed_keys,
    stored_draws,
    with_draws,
    with_items,
)
from wordbias.measures.registry import ROW_KEYS
from wordbias.methods.words import listed_words
from wordbias.results import Row
from wordbias.rows import read_rows, renamed

GOLDEN = Path(__file__).parent / "golden" / "expected"
FLOATS = st.floats(-1e3, 1e3)


def row(value: float | None, samples: Any = None, unit: str = "words", items: str = "") -> Row:
    values = None if samples is None else np.asarray(samples, float)
    return Row("a", "m", value, by_bootstrap(values, unit), drawn(values, unit, items))


# intervals


@given(st.lists(FLOATS, min_size=2, max_size=50))
def test_the_interval_of_draws_is_their_middle_and_says_what_was_drawn(values: list[float]) -> None:
    low, high = np.percentile(values, [2.5, 97.5])
    found = by_bootstrap(np.array([*values, np.nan]), "premises")
    assert found == {"low": low, "high": high, "interval": "bootstrap", "unit": "premises"}


@given(st.integers(1, 500), st.data())
def test_wilsons_interval_is_scipys(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n))
    found = by_wilson(right / n, n, "rows")
    ends = stats.binomtest(right, n).proportion_ci(method="wilson")
    assert (found["low"], found["high"]) == pytest.approx(tuple(ends), abs=1e-9)
    assert (found["interval"], found["unit"]) == ("Wilson", "rows")


@given(st.lists(FLOATS, min_size=2, max_size=20).filter(lambda x: np.ptp(x) > 1e-6))
def test_the_interval_over_seeds_is_scipys(values: list[float]) -> None:
    found = by_student(values, "seeds")
    ends = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    assert (found["low"], found["high"]) == pytest.approx(ends, rel=1e-9, abs=1e-9)
    assert seed_keys(values) | found == seed_keys(values)


def test_an_interval_is_cut_to_the_values_that_there_are() -> None:
    found = by_normal(0.99, 0.1, "rows", within=(0, 1))
    assert (found["low"], found["high"]) == (pytest.approx(0.99 - 0.1959964), 1)


def test_units_that_are_all_alike_have_wilsons_interval() -> None:
    assert of_share(1.0, np.ones(9), 4, "templates") == by_wilson(1.0, 4, "templates")
    assert of_share(0.5, np.array([0.4, 0.6]), 4, "templates")["interval"] == "bootstrap"


def test_one_seed_says_nothing() -> None:
    assert seed_keys([0.3]) == by_student([0.3], "seeds") == {}


# chance and random removals


@given(st.lists(FLOATS, min_size=1, max_size=20), FLOATS)
def test_beyond_chance_is_outside_the_range(draws: list[float], value: float) -> None:
    found = chance_keys(value, [*draws, np.nan], "neutral")
    assert found["chance_draws"] == len(draws)
    assert found["beyond_chance"] == (not min(draws) <= value <= max(draws))
    assert chance_keys(value, draws, "lower")["beyond_chance"] == (value > max(draws))
    assert "beyond_chance" not in chance_keys(None, draws, "lower")


@given(st.lists(FLOATS, min_size=2, max_size=30), FLOATS)
def test_the_p_of_a_change_counts_random_changes_of_its_size(
    draws: list[float], change: float
) -> None:
    found = null_keys("null", 0.0, change, np.array(draws))
    least = abs(change) * (1 - 1e-12)
    larger = sum(abs(one) >= least for one in draws)
    assert found["null_p"] == (1 + larger) / (1 + len(draws))
    assert found["null_less"] == len(draws) - larger


# changes


@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=2, max_size=50))
def test_a_change_is_paired_draw_by_draw(pairs: list[tuple[float, float]]) -> None:
    before, after = np.array(pairs).T
    found = change_keys(row(1.0, before, items="x"), row(3.0, after, items="x"))
    low, high = np.percentile(after - before, [2.5, 97.5])
    assert found == {"change": 2.0, "change_low": low, "change_high": high}


@pytest.mark.parametrize(
    ("unit", "items"), [("pairs", "x"), ("words", "y")], ids=["another unit", "other items"]
)
def test_draws_of_other_things_are_not_paired(unit: str, items: str) -> None:
    """A design in pairs cannot be compared as if its sentences were independent."""
    before, after = row(1.0, [0.5, 1.5], items="x"), row(3.0, [2.0, 4.0], unit, items)
    assert change_keys(before, after) == {"change": 2.0}
    known = change_keys(before, after, independent=True)
    assert known["change_low"] < 2 < known["change_high"]


def test_draws_of_items_that_are_not_known_are_paired_only_within_one_call() -> None:
    before, after = row(1.0, [0.5, 1.5]), row(3.0, [2.0, 4.0])
    assert "change_low" in change_keys(before, after)
    assert "change_low" not in change_keys(before, after, certain=True)
    (named,) = with_items([before], "data", 0)
    assert named.draws["sample"].items == items_of("data", 0)
    assert with_items([named], "other")[0].draws["sample"].items == items_of("data", 0)


def test_items_are_known_by_their_words_order_and_seed() -> None:
    same = items_of(("a", "b"), 0)
    assert same == items_of(("a", "b"), 0)
    others = [items_of(("b", "a"), 0), items_of(("a", "b"), 1), items_of(("a, b",), 0)]
    assert len({same, *others, items_of(np.arange(2), 0)}) == 5


# files


@given(st.lists(st.lists(FLOATS, min_size=1, max_size=9), min_size=1, max_size=4))
def test_draws_come_back_from_json_in_single_precision(values: list[list[float]]) -> None:
    rows = [row(0.5, one, "pairs", "x") for one in values]
    found = json.loads(json.dumps(stored_draws(rows)))
    again = with_draws([Row.from_dict(one.to_dict()) for one in rows], found)
    for one, other in zip(rows, again, strict=True):
        assert one == other
        draws, known = one.draws["sample"], other.draws["sample"]
        assert (draws.unit, draws.items) == (known.unit, known.items)
        np.testing.assert_array_equal(known.values, np.float32(draws.values))


@pytest.mark.parametrize(
    "found", [None, 3, [{}], [{"row": 9, "kind": "sample"}], [{"values": "é"}]]
)
def test_damaged_draws_are_left_out(found: Any) -> None:
    assert with_draws([row(1.0)], found)[0].draws == {}


def test_old_keys_have_the_names_of_today() -> None:
    old = {"value": 1.0, "spread": 0.1, "lists": 5, "lists_low": 0.2, "resampled": "pairs"}
    found = renamed({**old, "difference": 0.3})
    assert found["change"] == 0.3
    assert (found["sd"], found["lists_draws"], found["unit"]) == (0.1, 5, "pairs")
    assert renamed({"difference": "F − M"}) == {"difference": "F − M"}


# the keys of rows


def _golden_rows() -> Iterator[dict[str, Any]]:
    def within(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict) and {"subject", "measure", "value"} <= value.keys():
            yield value
        elif isinstance(value, (dict, list)):
            for one in value.values() if isinstance(value, dict) else value:
                yield from within(one)

    for path in sorted(GOLDEN.glob("*.json")):
        yield from within(json.loads(path.read_text("utf-8")))


def test_every_interval_says_its_kind_and_its_unit() -> None:
    found = [one for one in _golden_rows() if one.get("low") is not None]
    assert len(found) > 500
    assert [one["measure"] for one in found if not ("interval" in one and "unit" in one)] == []


def test_every_key_of_a_row_is_described() -> None:
    known = {key for part in ROW_KEYS.values() for key in part}
    ends = (
        "low",
        "high",
        "draws",
        "p",
        "less",
        "mean",
        "sd",
        "above_0",
        "values",
        "chance",
        "driver",
        "before",
        "change",
        "directions",
    )
    known |= {f"{kind}_{end}" for kind in ROW_KEYS["kinds"] for end in ends}
    assert {key for one in _golden_rows() for key in one} <= known


# wordbias changes


@pytest.fixture(scope="module")
def reports() -> list[wb.Report]:
    sample = wb.Embedding.sample()
    few = sample.subset([*sample.words[:3000], *sorted(listed_words(wb.Attribute.load()))])
    clean = wb.debias(few, "misp")
    return [wb.measure(one, only=["midb", "same"], chance=False) for one in (few, clean)]


def test_changes_of_reports_and_of_their_files(reports: list[wb.Report], tmp_path: Path) -> None:
    paths = [tmp_path / "old.json", tmp_path / "new.json"]
    for report, path in zip(reports, paths, strict=True):
        report.save(path)
    found = wb.changes(*reports)
    assert len(found.rows) == len(reports[0].rows)
    for one, before, after in zip(found, *reports, strict=True):
        assert one.details["change"] == (after.value or 0) - (before.value or 0)
        draws = [of.draws["sample"].values for of in (before, after)]
        ends = np.percentile(draws[1] - draws[0], [2.5, 97.5])
        assert (one.details["change_low"], one.details["change_high"]) == pytest.approx(ends)
        assert one.details["paired"] == "words"
    again = wb.changes(*paths)
    for one, other in zip(found, again, strict=True):
        assert other.details["change_low"] == pytest.approx(one.details["change_low"], abs=1e-6)
    assert not again.notes


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "html"])
def test_a_row_survives_files(reports: list[wb.Report], tmp_path: Path, suffix: str) -> None:
    """Numbers, texts and truths come back from each; mappings and lists not from CSV."""
    path = tmp_path / f"r.{suffix}"
    reports[0].save(path)
    found = wb.report(path).rows if suffix == "html" else read_rows(path)
    assert len(found) == len(reports[0].rows)
    for one, other in zip(reports[0], found, strict=True):
        plain = [key for key, value in one.details.items() if not isinstance(value, (dict, list))]
        assert other.details | {key: one.details[key] for key in plain} == other.details
        assert (one.subject, one.measure, one.value) == (other.subject, other.measure, other.value)
        if suffix != "csv":
            assert one == other


def test_without_draws_changes_are_independent_and_say_so(
    reports: list[wb.Report], tmp_path: Path
) -> None:
    path = tmp_path / "new.csv"
    reports[1].save(path)
    assert [one.value for one in read_rows(path)] == pytest.approx(
        [one.value for one in reports[1]]
    )
    found = wb.changes(reports[0], path)
    assert {one.details["paired"] for one in found} == {"independent"}
    assert "do not" in found.notes[0]
    paired = wb.changes(*reports)
    for one, other in zip(paired, found, strict=True):
        width = [of.details["change_high"] - of.details["change_low"] for of in (one, other)]
        assert width[0] < width[1]


def test_nothing_in_common_is_refused(reports: list[wb.Report]) -> None:
    other = wb.Report(rows=[Row("b", "weat", 1.0)])
    with pytest.raises(wb.WordbiasError, match="the results have no value in common"):
        wb.changes(reports[0], other)


def test_values_of_several_seeds_are_paired_by_the_seed() -> None:
    d = np.array([0.3, 0.1, 0.4, 0.2, 0.5, 0.3])
    old = [Row("a", "mab-error", 1.0, {"seed": i}) for i in range(6)]
    new = [Row("b", "mab-error", 1.0 + x, {"seed": i}) for i, x in enumerate(d)]
    mean, *_ = wb.changes(wb.Report(rows=old), wb.Report(rows=new)).rows
    assert mean.details["paired"] == "seeds"
    assert mean.details["change"] == pytest.approx(d.mean())
    assert mean.details["p"] == pytest.approx(2 / 64)
    ends = stats.t.interval(0.95, 5, d.mean(), stats.sem(d))
    assert (mean.details["change_low"], mean.details["change_high"]) == pytest.approx(ends)
