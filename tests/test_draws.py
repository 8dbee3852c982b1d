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
    interval = by_bootstrap(np.array([*values, np.nan]), "premises")
    assert interval == {"low": low, "high": high, "interval": "bootstrap", "unit": "premises"}


@given(st.integers(1, 500), st.data())
def test_wilsons_interval_is_scipys(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n))
    interval = by_wilson(right / n, n, "rows")
    ends = stats.binomtest(right, n).proportion_ci(method="wilson")
    assert (interval["low"], interval["high"]) == pytest.approx(tuple(ends), abs=1e-9)
    assert (interval["interval"], interval["unit"]) == ("Wilson", "rows")


@given(st.lists(FLOATS, min_size=2, max_size=20).filter(lambda x: np.ptp(x) > 1e-6))
def test_the_interval_over_seeds_is_scipys(values: list[float]) -> None:
    interval = by_student(values, "seeds")
    ends = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    assert (interval["low"], interval["high"]) == pytest.approx(ends, rel=1e-9, abs=1e-9)
    assert seed_keys(values) | interval == seed_keys(values)


def test_an_interval_is_cut_to_the_values_that_there_are() -> None:
    interval = by_normal(0.99, 0.1, "rows", within=(0, 1))
    assert (interval["low"], interval["high"]) == (pytest.approx(0.99 - 0.1959964), 1)


def test_units_that_are_all_alike_have_wilsons_interval() -> None:
    assert of_share(1.0, np.ones(9), 4, "templates") == by_wilson(1.0, 4, "templates")
    assert of_share(0.5, np.array([0.4, 0.6]), 4, "templates")["interval"] == "bootstrap"


def test_one_seed_says_nothing() -> None:
    assert seed_keys([0.3]) == by_student([0.3], "seeds") == {}


# chance and random removals


@given(st.lists(FLOATS, min_size=1, max_size=20), FLOATS)
def test_beyond_chance_is_outside_the_range(draws: list[float], value: float) -> None:
    chance = chance_keys(value, [*draws, np.nan], "neutral")
    assert chance["chance_draws"] == len(draws)
    assert chance["beyond_chance"] == (not min(draws) <= value <= max(draws))
    assert chance_keys(value, draws, "lower")["beyond_chance"] == (value > max(draws))
    assert "beyond_chance" not in chance_keys(None, draws, "lower")


@given(st.lists(FLOATS, min_size=2, max_size=30), FLOATS)
def test_the_p_of_a_change_counts_random_changes_of_its_size(
    draws: list[float], change: float
) -> None:
    null = null_keys("null", 0.0, change, np.array(draws))
    least = abs(change) * (1 - 1e-12)
    larger = sum(abs(draw) >= least for draw in draws)
    assert null["null_p"] == (1 + larger) / (1 + len(draws))
    assert null["null_less"] == len(draws) - larger


# changes


@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=2, max_size=50))
def test_a_change_is_paired_draw_by_draw(pairs: list[tuple[float, float]]) -> None:
    before, after = np.array(pairs).T
    change = change_keys(row(1.0, before, items="x"), row(3.0, after, items="x"))
    low, high = np.percentile(after - before, [2.5, 97.5])
    assert change == {"change": 2.0, "change_low": low, "change_high": high}


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
    rows = [row(0.5, sample, "pairs", "x") for sample in values]
    stored = json.loads(json.dumps(stored_draws(rows)))
    restored = with_draws([Row.from_dict(measured.to_dict()) for measured in rows], stored)
    for original, other in zip(rows, restored, strict=True):
        assert original == other
        draws, known = original.draws["sample"], other.draws["sample"]
        assert (draws.unit, draws.items) == (known.unit, known.items)
        np.testing.assert_array_equal(known.values, np.float32(draws.values))


@pytest.mark.parametrize(
    "found", [None, 3, [{}], [{"row": 9, "kind": "sample"}], [{"values": "é"}]]
)
def test_damaged_draws_are_left_out(found: Any) -> None:
    assert with_draws([row(1.0)], found)[0].draws == {}


def test_old_keys_have_the_names_of_today() -> None:
    old = {"value": 1.0, "spread": 0.1, "lists": 5, "lists_low": 0.2, "resampled": "pairs"}
    details = renamed({**old, "difference": 0.3})
    assert details["change"] == 0.3
    assert (details["sd"], details["lists_draws"], details["unit"]) == (0.1, 5, "pairs")
    assert renamed({"difference": "F − M"}) == {"difference": "F − M"}


# the keys of rows


def _golden_rows() -> Iterator[dict[str, Any]]:
    def within(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict) and {"subject", "measure", "value"} <= value.keys():
            yield value
        elif isinstance(value, (dict, list)):
            for child in value.values() if isinstance(value, dict) else value:
                yield from within(child)

    for path in sorted(GOLDEN.glob("*.json")):
        yield from within(json.loads(path.read_text("utf-8")))


def test_every_interval_says_its_kind_and_its_unit() -> None:
    records = [record for record in _golden_rows() if record.get("low") is not None]
    assert len(records) > 500
    assert [
        record["measure"] for record in records if not ("interval" in record and "unit" in record)
    ] == []


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
    assert {key for record in _golden_rows() for key in record} <= known


# wordbias changes


@pytest.fixture(scope="module")
def reports() -> list[wb.Report]:
    sample = wb.Embedding.sample()
    few = sample.subset([*sample.words[:3000], *sorted(listed_words(wb.Attribute.load()))])
    clean = wb.debias(few, "misp")
    return [
        wb.measure(embedding, only=["midb", "same"], chance=False) for embedding in (few, clean)
    ]


def test_changes_of_reports_and_of_their_files(reports: list[wb.Report], tmp_path: Path) -> None:
    paths = [tmp_path / "old.json", tmp_path / "new.json"]
    for report, path in zip(reports, paths, strict=True):
        report.save(path)
    changes = wb.changes(*reports)
    assert len(changes.rows) == len(reports[0].rows)
    for change, before, after in zip(changes, *reports, strict=True):
        assert change.details["change"] == (after.value or 0) - (before.value or 0)
        draws = [of.draws["sample"].values for of in (before, after)]
        ends = np.percentile(draws[1] - draws[0], [2.5, 97.5])
        assert (change.details["change_low"], change.details["change_high"]) == pytest.approx(ends)
        assert change.details["paired"] == "words"
    from_files = wb.changes(*paths)
    for change, other in zip(changes, from_files, strict=True):
        assert other.details["change_low"] == pytest.approx(change.details["change_low"], abs=1e-6)
    assert not from_files.notes


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "html"])
def test_a_row_survives_files(reports: list[wb.Report], tmp_path: Path, suffix: str) -> None:
    """Numbers, texts and truths come back from each; mappings and lists not from CSV."""
    path = tmp_path / f"r.{suffix}"
    reports[0].save(path)
    rows = wb.report(path).rows if suffix == "html" else read_rows(path)
    assert len(rows) == len(reports[0].rows)
    for saved, other in zip(reports[0], rows, strict=True):
        plain = [key for key, value in saved.details.items() if not isinstance(value, (dict, list))]
        assert other.details | {key: saved.details[key] for key in plain} == other.details
        assert (saved.subject, saved.measure, saved.value) == (
            other.subject,
            other.measure,
            other.value,
        )
        if suffix != "csv":
            assert saved == other


def test_without_draws_changes_are_independent_and_say_so(
    reports: list[wb.Report], tmp_path: Path
) -> None:
    path = tmp_path / "new.csv"
    reports[1].save(path)
    assert [loaded.value for loaded in read_rows(path)] == pytest.approx(
        [saved.value for saved in reports[1]]
    )
    independent = wb.changes(reports[0], path)
    assert {change.details["paired"] for change in independent} == {"independent"}
    assert "do not" in independent.notes[0]
    paired = wb.changes(*reports)
    for paired_row, other in zip(paired, independent, strict=True):
        width = [of.details["change_high"] - of.details["change_low"] for of in (paired_row, other)]
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
