"""What `wb.bios` says beside random changes, computed again from its runs with scipy and numpy.

A small study of synthetic biographies: the last layer alone is trained, under six seeds, on data as
they are, balanced, scrubbed, and changed at random as much. What is checked is what is made of the
runs: means over seeds, differences seed by seed to no debiasing and to the random change, their t
intervals and sign-flip p, excluded effects, and Holm's correction.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_encoders
from numpy.typing import NDArray
from scipy import stats

import wordbias as wb
from wordbias.biographies.synthetic import synthetic

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

Array = NDArray[np.float64]
Row = dict[str, Any]
Place = tuple[str, str, str, str, str]
EXACT = 1e-9  # float64 over sums of six values
SEEDS = range(6)
STRATEGIES = ("none", "subsample", "scrub")
KEYS = {
    "seed": "seed",
    "stage": "stage",
    "view": "view",
    "set": "set",
    "summary": "unit",
    "sd": "sd",
    "number of seeds": "n",
    "random change": "null",
    "correction": "correction",
}
TESTED = ("p", "pairs", "change", "change_low", "change_high", "excluded")
"""Keys of a row: the one place where the test knows how they are spelled. Those of tests stand
twice, with `null_` before them for the random change."""
RANDOM = {"": "none", "null_": "random-{}"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("bios")
    words = sorted(set(tiny_encoders.words_of(*synthetic().texts)))
    model = tiny_encoders.build("bert", "Model", vocabulary=len(words) + 5)
    tiny_encoders.save(model, tiny_encoders.make_tokenizer(words), directory / "bert")
    return directory


@pytest.fixture(scope="module", params=[False, True], ids=["uncorrected", "holm"])
def holm(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def rows(folder: Path, holm: bool) -> list[Row]:
    """Run the study once, and sum it up with and without correction."""
    report = wb.bios(
        data=synthetic().take(range(150)),
        model=folder / "bert",
        strategies=STRATEGIES,
        random_changes=True,
        seed=list(SEEDS),
        head_only=True,
        epochs=1,
        retrain_epochs=1,
        max_length=24,
        draws=10,
        baselines=False,
        output=folder / "study",
        holm=holm,
    )
    report_rows: list[Row] = report.to_dict()["rows"]
    return report_rows


def _place(row: Row) -> Place:
    part = "all" if row["measure"] == "ceat" else row.get(KEYS["set"], "all")
    return (row["subject"], row["measure"], part, row[KEYS["stage"]], row.get(KEYS["view"], "own"))


def _summaries(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.get(KEYS["summary"]) == "seeds"]


def _columns(rows: list[Row]) -> dict[Place, Array]:
    """Return the values of the seeds, nan where one has none; of compression also two others."""
    columns: dict[Place, Array] = defaultdict(lambda: np.full(len(SEEDS), np.nan))
    bits: dict[tuple[Place, int], list[tuple[int, float]]] = defaultdict(list)
    for row in rows:
        if KEYS["seed"] not in row:
            continue
        place, seed = _place(row), row[KEYS["seed"]]
        columns[place][seed] = np.nan if row["value"] is None else row["value"]
        if row["measure"] == "compression" and place[2] != "all" and row["value"]:
            bits[(*place[:2], "within", *place[3:]), seed].append((row["n"], row["value"]))
        if row["measure"] == "compression" and row.get("control") is not None:
            columns[*place[:2], "control", *place[3:]][seed] = row["control"]
    for (place, seed), parts in bits.items():  # the labels of all classes by the bits of all codes
        columns[place][seed] = sum(n for n, _ in parts) / sum(n / value for n, value in parts)
    for place in [place for place in columns if place[1:4] == ("tpr-gap", "sum", "before")]:
        after = columns[*place[:3], "after", place[4]]
        columns[*place[:3], "restored", place[4]] = after - columns[place]
    return columns


def _sign_flips(d: Array) -> float:
    sums = np.array([np.dot(signs, d) for signs in product((-1, 1), repeat=len(d))])
    return float(np.mean(np.abs(sums) >= abs(d.sum()) - 1e-12 * np.abs(d).sum()))


def _expected(d: Array) -> dict[str, Any]:
    """Return what differences over seeds say; p only of six or more."""
    known = d[np.isfinite(d)]
    n, expected = len(known), {"pairs": int(np.isfinite(d).sum()), "p": None}
    if n:
        expected["change"] = known.mean()
    if n > 1:
        half = stats.sem(known) * stats.t.ppf([0.975, 0.95], n - 1)
        expected["change_low"] = known.mean() - half[0]
        expected["change_high"] = known.mean() + half[0]
        expected["excluded"] = abs(known.mean()) + half[1]
    if n >= 6:
        expected["p"] = _sign_flips(known)
    return expected


def _holm(p: float, ps: list[float]) -> float:
    """Return the largest of the smaller p, each times the number of those that are not smaller."""
    return min(1.0, max(q * sum(r >= q - 1e-12 for r in ps) for q in ps if q <= p + 1e-12))


def test_the_random_change_of_each_strategy_was_run(rows: list[Row]) -> None:
    subjects = dict.fromkeys(row["subject"] for row in rows if KEYS["seed"] in row)
    assert list(subjects) == [*STRATEGIES, "random-subsample", "random-scrub"]


def _differences(columns: dict[Place, Array], place: Place, base: Place) -> Array:
    """Subtract seed by seed; of sums of absolute gaps class by class, where both have a gap."""
    plain = columns[place] - columns[base]
    if place[2] != "sum":
        return plain
    totals = ("all", "sum", "pearson")
    classes = {at[2] for at in columns if (at[:2], at[3:]) == (place[:2], place[3:])} - {*totals}
    gaps = [
        np.abs(columns[*place[:2], name, *place[3:]]) - np.abs(columns[*base[:2], name, *base[3:]])
        for name in sorted(classes)
    ]
    return np.where(np.isfinite(plain), np.nansum(gaps, axis=0), np.nan)


def _tests(rows: list[Row], holm: bool) -> dict[tuple[Place, str], dict[str, Any]]:
    """Return what each test against no debiasing, and against the random change, should say."""
    columns, expected = _columns(rows), dict[tuple[Place, str], dict[str, Any]]()
    for place, (prefix, name) in product(map(_place, _summaries(rows)), RANDOM.items()):
        values, other = columns[place], name.format(place[0])
        if place[3] == "restored":
            expected |= {} if prefix else {(place, prefix): _expected(values)}
            continue
        base = (other, *place[1:4], "own" if other == "none" else place[4])
        if place[0] != "none" and base in columns and np.isfinite(values).any():
            expected[place, prefix] = _expected(_differences(columns, place, base))
    uncorrected = {key: outcome["p"] for key, outcome in expected.items()}
    for (place, prefix), test in expected.items() if holm else ():
        together = [
            p
            for (other, kind), p in uncorrected.items()
            if (other[3:], kind) == (place[3:], prefix) and p is not None
        ]
        test["p"] = None if test["p"] is None else _holm(test["p"], together)
    return expected


def test_means_over_seeds(rows: list[Row]) -> None:
    columns = _columns(rows)
    for row in _summaries(rows):
        values = columns[_place(row)]
        known = values[np.isfinite(values)]
        assert row[KEYS["number of seeds"]] == len(known)
        if len(known):
            assert row["value"] == pytest.approx(known.mean(), abs=EXACT)
        if len(known) > 1:
            assert row[KEYS["sd"]] == pytest.approx(known.std(ddof=1), abs=EXACT)


@pytest.mark.parametrize("prefix", list(RANDOM))
def test_differences_seed_by_seed(rows: list[Row], holm: bool, prefix: str) -> None:
    expected, compared = _tests(rows, holm), 0
    for row in _summaries(rows):
        wanted = expected.get((_place(row), prefix))
        assert (f"{prefix}{TESTED[0]}" in row) == (wanted is not None)
        for key in TESTED if wanted else ():
            got = row.get(f"{prefix}{key}")
            assert got == pytest.approx(wanted.get(key), abs=EXACT), (_place(row), key)
            compared += got is not None
        if wanted and prefix:
            assert row[KEYS["random change"]] == f"random-{row['subject']}"
        assert row.get(KEYS["correction"]) == ("holm" if holm and TESTED[0] in row else None)
    assert compared > 6 * 30  # ten gaps and accuracy, before and after, and what vectors tell
