"""How `wb.mab_study` joins its arms, computed again from the rows of its models with scipy.

Models are small and trained on a dozen pairs; what is checked is what is made of their E and d:
means over seeds, differences seed by seed to the first embedding, to random removals and to MISP of
redrawn names, their t intervals, sign-flip p, Holm's correction, excluded and detectable effects,
and the power that the heading states.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import product
from math import ceil, log2, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins
from numpy.typing import NDArray
from scipy import stats

import wordbias as wb

pytest.importorskip("torch")

pytestmark = pytest.mark.slow

Array = NDArray[np.float64]
Row = dict[str, Any]
EXACT = 1e-9  # float64 over sums of six values
SEEDS = [0, 1, 2, 3, 4, 5]
NULL, LISTS = "sample.null", "sample.misp-lists"
LABELS = ("neutral", "entailment", "contradiction")
KEYS = {
    "of a model": "seed",
    "over models": "seeds",
    "set": ("set", "setting"),
    "spread": "sd",
    "other arm": "original",
    "interval": ("low", "high"),
    "p": "p",
    "Holm": "p_holm",
    "number of tests": "tests",
    "excluded": "excluded",
    "detectable": "detectable",
    "outcome": "outcome",
    "pairs": "n",
}
"""Keys of a row: the one place where the test knows how they are spelled."""
DIFFERENCES = {
    f"{measure}-{kind}": (measure, other)
    for measure in ("mab-error", "mab-distance")
    for kind, other in {
        "change": "sample",
        "against-null": NULL,
        "against-lists": LISTS,
    }.items()
}
"""Measures of differences: the measure that differs, and the arm that it is compared with."""


@pytest.fixture(scope="module", params=[None, "nouns"], ids=["no outcome", "outcome"])
def outcome(request: pytest.FixtureRequest) -> str | None:
    return None if request.param is None else str(request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def report(outcome: str | None, folder: Path) -> wb.Report:
    """Train six models of four embeddings once, and join them with and without an outcome."""
    sample = stand_ins.small().renamed("sample")
    noise = np.random.default_rng(0).normal(size=sample.vectors.shape)
    other = sample.with_vectors(sample.vectors + noise, "other")
    words = ("person", "dog", "man", "woman")
    pairs = [
        (LABELS[i % 3], "A man is eating an apple.", f"A {word} is eating.")
        for i, word in enumerate(words * 6)
    ]
    with pytest.MonkeyPatch.context() as patch:
        stand_ins.few_premises(patch)
        return wb.mab_study(
            [sample, other],
            train=pairs,
            dev=pairs,
            output=folder,
            seed=SEEDS,
            epochs=1,
            null=len(SEEDS),
            seed_lists=len(SEEDS),
            only=["direct-bias"],
            set="explicit",
            outcome=outcome,
        )


@pytest.fixture(scope="module")
def rows(report: wb.Report) -> list[Row]:
    report_rows: list[Row] = report.to_dict()["rows"]
    return report_rows


def _key(row: Row) -> tuple[str, ...]:
    return (row["measure"], *(row[key] for key in KEYS["set"]))


def _values(rows: list[Row]) -> dict[tuple[str, ...], Array]:
    """Return the values of the seeds, by measure, set, setting and arm."""
    by_seed: dict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    for row in rows:
        if KEYS["of a model"] in row and row["measure"] in ("mab-error", "mab-distance"):
            by_seed[*_key(row), row["subject"]][row[KEYS["of a model"]]] = row["value"]
    return {key: np.array([by[seed] for seed in SEEDS]) for key, by in by_seed.items()}


def _sign_flips(d: Array) -> float:
    sums = np.array([np.dot(signs, d) for signs in product((-1, 1), repeat=len(d))])
    return float(np.mean(np.abs(sums) >= abs(d.sum()) - 1e-12 * np.abs(d).sum()))


def _holm(p: float, ps: list[float]) -> float:
    """Return the largest of the smaller p, each times the number of those that are not smaller."""
    return min(1.0, max(q * sum(r >= q for r in ps) for q in ps if q <= p))


def _power(effect: float, spread: float, n: int, level: float) -> float:
    """Return the power of the two-sided t test: both tails of the noncentral t distribution."""
    shift, critical = effect * sqrt(n) / spread, stats.t.ppf(1 - level / 2, n - 1)
    return float(stats.nct.sf(critical, n - 1, shift) + stats.nct.cdf(-critical, n - 1, shift))


def test_means_over_seeds(rows: list[Row]) -> None:
    values, compared = _values(rows), 0
    for row in rows:
        if KEYS["over models"] in row and row["measure"] in ("mab-error", "mab-distance"):
            own = values[*_key(row), row["subject"]]
            assert row["value"] == pytest.approx(own.mean(), abs=EXACT)
            assert row[KEYS["spread"]] == pytest.approx(own.std(ddof=1), abs=EXACT)
            compared += 1
    assert compared == 2 * 2 * 4  # E and d, nouns and pronouns, four arms


def test_differences_seed_by_seed(rows: list[Row], outcome: str | None) -> None:
    values = _values(rows)
    differences = [row for row in rows if row["measure"] in DIFFERENCES]
    arms = [
        (row["subject"], row[KEYS["other arm"]])
        for row in differences
        if _key(row)
        == ("mab-error-" + row["measure"].removeprefix("mab-error-"), "explicit", "nouns")
    ]
    every = [(arm, "sample") for arm in ("other", NULL, LISTS)]
    assert sorted(arms) == sorted([*every, ("other", NULL), (LISTS, NULL), ("other", LISTS)])
    for row in differences:
        measure, other = DIFFERENCES[row["measure"]]
        about = (measure, *_key(row)[1:])
        d = values[*about, row["subject"]] - values[*about, other]
        n, test = len(d), stats.ttest_1samp(d, 0)
        assert row[KEYS["other arm"]] == other
        assert row[KEYS["pairs"]] == n == len(SEEDS)
        assert row["value"] == pytest.approx(d.mean(), abs=EXACT)
        ends = [row[key] for key in KEYS["interval"]]
        assert ends == pytest.approx(test.confidence_interval(0.95), abs=EXACT)
        assert row[KEYS["spread"]] == pytest.approx(d.std(ddof=1), abs=EXACT)
        assert row[KEYS["p"]] == _sign_flips(d)
        far = np.abs(test.confidence_interval(0.9)).max()
        assert row[KEYS["excluded"]] == pytest.approx(far, abs=EXACT)
        power = _power(row[KEYS["detectable"]], d.std(ddof=1), n, 0.05)
        assert power == pytest.approx(0.8, abs=1e-6)  # what a root finder leaves
        of_outcome = outcome is not None and about == ("mab-error", "explicit", outcome)
        assert bool(row.get(KEYS["outcome"])) == of_outcome
        together = [
            difference[KEYS["p"]]
            for difference in differences
            if difference["measure"] == row["measure"]
            and difference.get(KEYS["outcome"]) == row.get(KEYS["outcome"])
        ]
        assert row[KEYS["number of tests"]] == len(together)
        assert row[KEYS["Holm"]] == pytest.approx(_holm(row[KEYS["p"]], together), abs=EXACT)


def test_the_power_that_is_stated(report: wb.Report, rows: list[Row], outcome: str | None) -> None:
    values = _values(rows)
    of_nouns = [row for row in rows if _key_of_change(row, "nouns")]
    tests = 3 if outcome else 2 * 3  # arms, times the settings that are corrected together
    assert len(of_nouns) == 3
    base = values["mab-error", "explicit", "nouns", "sample"]
    variances = [
        (values["mab-error", "explicit", "nouns", row["subject"]] - base).var(ddof=1)
        for row in of_nouns
    ]
    spread, error, n = sqrt(np.mean(variances)), base.mean(), len(SEEDS)
    fewest = ceil(log2(2 * tests / 0.05))
    power = 0.0 if n < fewest else _power(0.26 * error, spread, n, 0.05 / tests)
    needed = []
    for share in (0.26, 0.15, 0.10):
        pairs = 2
        while _power(share * error, spread, pairs, 0.05 / tests) < 0.8:
            pairs += 1
        needed.append(max(pairs, fewest))
    heading = " ".join(" ".join(report.heading).split())
    assert f"takes {fewest} seeds; until" in heading  # six seeds are too few for so many tests
    match = re.search(
        r"\(([\d.]+), the paper's effect of MISP\) with power ([\d.]+), after Holm over (\d+) "
        r"tests?\. Power \.8 takes (\d+) seeds, for 15 % (\d+), for 10 % (\d+)\. .* standard "
        r"deviation of ([\d.]+) \((\d+) degrees",
        heading,
    )
    assert match is not None, heading
    effect, said_power, count, *seeds, deviation, degrees = map(float, match.groups())
    assert effect == pytest.approx(0.26 * error, abs=0.0005)
    assert said_power == pytest.approx(power, abs=0.0005)
    assert (count, seeds, degrees) == (tests, needed, 3 * (n - 1))
    assert deviation == pytest.approx(spread, abs=0.0005)


def _key_of_change(row: Row, setting: str) -> bool:
    return row["measure"] == "mab-error-change" and row[KEYS["set"][1]] == setting
