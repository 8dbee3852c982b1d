"""The figures of docs/study.md are those of the models' rows, computed anew with scipy."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import cache
from math import ceil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

ROOT = Path(__file__).resolve().parents[2]
STUDY = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
SAID = " ".join(STUDY.split()).replace("−", "-")  # the minus sign
ARMS = ("glove", "misp", "misp-published", "mhd-published", "hard", "inlp", "glove.null")
E, D = "mab-error", "mab-distance"
SEEDS = 12
Values = dict[tuple[str, str, str, str], NDArray[np.float64]]


@cache
def values(folder: str = "study-50d") -> Values:
    """Read each value of the models of an arm, by measure, setting, group and arm."""
    found: dict[tuple[str, str, str, str], dict[int, float]] = defaultdict(dict)
    for path in (ROOT / "benchmarks" / folder).glob("*.rows.json"):
        model = json.loads(path.read_text(encoding="utf-8"))
        arm = "glove.null" if ".null-" in path.name else path.name.partition(".")[0]
        for row in model["rows"]:
            about = row["measure"], row.get("setting", row["set"]), row.get("group", "")
            found[(*about, arm)][model["about"]["seed"]] = row["value"]
    return {key: np.array([by[seed] for seed in sorted(by)]) for key, by in found.items()}


def table(first: str) -> dict[str, list[str]]:
    """Return the cells of the first table that has this heading, by arm."""
    _, _, text = STUDY.partition(first)
    lines = text[: text.index("\n\n")].splitlines()[2:]
    return {(cells := [c.strip() for c in line.split("|")[1:-1]])[0]: cells[1:] for line in lines}


def short(value: float, digits: int = 3) -> str:
    return re.sub(r"^(-?)0\.", r"\1.", f"{value:.{digits}f}")


def mean_and_spread(x: NDArray[np.float64]) -> str:
    return f"{short(x.mean())} ± {short(x.std(ddof=1))}"


def sign_flips(d: NDArray[np.float64]) -> float:
    """Return the exact two-sided p of the mean over all signs."""
    return float(stats.permutation_test((d,), np.mean, permutation_type="samples").pvalue)


def holm(ps: list[float]) -> list[float]:
    """Return p after Holm's correction, as defined: the largest of the smaller ones, each times
    the number of those that are not smaller."""
    return [min(1.0, max(q * sum(r >= q for r in ps) for q in ps if q <= p)) for p in ps]


def interval(d: NDArray[np.float64]) -> tuple[float, float]:
    low, high = stats.ttest_1samp(d, 0).confidence_interval(0.95)
    return float(low), float(high)


def test_every_arm_has_a_model_of_every_seed() -> None:
    files = list((ROOT / "benchmarks" / "study-50d").glob("*.rows.json"))
    assert len(files) == len(ARMS) * SEEDS
    assert {arm for *_, arm in values()} == set(ARMS)
    assert {len(x) for x in values().values()} == {SEEDS}


def test_the_tables_of_means() -> None:
    accuracy = "snli-accuracy"
    first = table("| | SNLI dev | SNLI test |")
    second = table("| | occupations *E* |")
    columns = [(accuracy, "dev"), (accuracy, "test")]
    columns += [(measure, setting) for setting in ("nouns", "pronouns") for measure in (E, D)]
    others = [(measure, setting) for setting in ("occupations", "names") for measure in (E, D)]
    assert list(first) == list(second) == list(ARMS)
    for arm in ARMS:
        for shown, asked in ((first, columns), (second, others)):
            made = [mean_and_spread(values()[measure, name, "", arm]) for measure, name in asked]
            assert shown[arm] == made, arm


def test_table_1_of_the_nouns() -> None:
    shown = table("| | M: N | E | C |")
    classes = ("mab-neutral", "mab-entailment", "mab-contradiction")
    for arm in ARMS:
        means = [
            short(values()[measure, "nouns", group, arm].mean())
            for group in ("male", "female")
            for measure in classes
        ]
        assert shown[arm] == means, arm


def test_the_outcome() -> None:
    """Each number of the first table of the command, and its reading."""
    e = {arm: values()[E, "nouns", "", arm] for arm in ARMS}
    arms, null = ARMS[1:], "glove.null"
    corrected = dict(
        zip(arms, holm([sign_flips(e[arm] - e["glove"]) for arm in arms]), strict=True)
    )
    beside = holm([sign_flips(e[arm] - e[null]) for arm in arms[:-1]])
    against = dict(zip(arms, beside, strict=False))
    shown = table("| | *E* change |")
    assert list(shown) == list(arms)
    for arm in arms:
        d = e[arm] - e["glove"]
        low, high = map(short, interval(d))
        expected = [short(d.mean()), f"{low} … {high}", short(corrected[arm], 4)]
        if arm != null:
            expected += [short((e[arm] - e[null]).mean()), short(against[arm], 4)]
        assert [cell.replace("−", "-") for cell in shown[arm][: len(expected)]] == expected
        said = shown[arm][-1]
        if corrected[arm] < 0.05:
            assert said.startswith("lower" if d.mean() < 0 else "higher")
            beyond = d.mean() > 0 or against[arm] < 0.05
            assert ("not shown" in said) != beyond
        else:
            excluded = abs(d.mean()) + stats.t.ppf(0.95, SEEDS - 1) * stats.sem(d)
            share = ceil(100 * excluded / e["glove"].mean())
            assert said == f"not shown, {share} % or more excluded"
    assert f"changes *E* of the nouns from {short(e['glove'].mean())} by" in SAID


@pytest.mark.parametrize(
    ("arm", "measure", "setting"),
    [
        ("inlp", E, "pronouns"),
        ("inlp", E, "names"),
        ("inlp", D, "nouns"),
        ("inlp", D, "pronouns"),
        ("inlp", D, "names"),
        ("hard", D, "names"),
    ],
)
def test_a_quoted_interval(arm: str, measure: str, setting: str) -> None:
    d = values()[measure, setting, "", arm] - values()[measure, setting, "", "glove"]
    low, high = interval(d)
    quoted = f"({d.mean():+.3f}, {low:.3f} to {high:.3f})".replace("0.", ".")
    assert quoted in SAID


def test_no_other_difference_stays_below_05() -> None:
    settings = ("nouns", "pronouns", "occupations", "names")
    for measure, outcome, expected in (
        (E, "nouns", {("inlp", "pronouns"), ("inlp", "names")}),
        (D, "", {("inlp", "nouns"), ("inlp", "pronouns"), ("inlp", "names"), ("hard", "names")}),
    ):
        tests = [(arm, one) for one in settings if one != outcome for arm in ARMS[1:]]
        of = values()
        found = [
            sign_flips(of[measure, one, "", arm] - of[measure, one, "", "glove"])
            for arm, one in tests
        ]
        below = {key for key, p in zip(tests, holm(found), strict=True) if p < 0.05}
        assert below == expected
        assert f"{len(tests)} " + ("tests of *E*" if measure == E else "of *d*") in SAID


def test_shares_of_e() -> None:
    e = {arm: values()[E, "nouns", "", arm] for arm in ("glove", "hard", "inlp")}
    base = e["glove"].mean()
    for arm, said in (
        ("hard", "by {:.1f} % ({:.1f} to {:.1f} %;"),
        ("inlp", "by {:.0f} %** ({:.0f} to {:.0f} %;"),
    ):
        d = e[arm] - e["glove"]
        ends = sorted(abs(100 * end / base) for end in interval(d))
        assert said.format(abs(100 * d.mean() / base), *ends) in SAID


def test_the_check_by_the_best_epoch() -> None:
    of = values("study-50d-best")
    arms = ARMS[1:-1]
    shown = table("| | *E* change | 95 % | p, Holm over 5 |")
    base = of[E, "nouns", "", "glove"]
    apart = {arm: of[E, "nouns", "", arm] - base for arm in arms}
    assert {len(d) for d in apart.values()} == {10}
    for (arm, d), p in zip(apart.items(), holm([*map(sign_flips, apart.values())]), strict=True):
        low, high = map(short, interval(d))
        made = [short(d.mean()), f"{low} … {high}", short(p, 4)]
        assert [cell.replace("−", "-") for cell in shown[arm]] == made
    excluded = [
        ceil(100 * (abs(d.mean()) + stats.t.ppf(0.95, 9) * stats.sem(d)) / base.mean())
        for d in (apart["misp-published"], apart["misp"])
    ]
    assert "MISP of {} % or more is excluded ({} % of the default)".format(*excluded) in SAID
    assert f"26 % (here {short(0.26 * base.mean())}) lies within its interval" in SAID
    assert interval(apart["hard"])[0] < -0.26 * base.mean()


def test_what_twelve_seeds_find() -> None:
    of = values()
    apart = [of[E, "nouns", "", arm] - of[E, "nouns", "", "glove"] for arm in ARMS[1:]]
    spread = float(np.sqrt(np.mean([d.var(ddof=1) for d in apart])))
    base = of[E, "nouns", "", "glove"].mean()
    assert f"deviation of {short(spread)} ({len(apart) * (SEEDS - 1)} degrees of freedom)" in SAID
    assert f"here {short(0.26 * base)}" in SAID
    by_arm = sorted(zip((short(d.std(ddof=1)) for d in apart), ARMS[1:], strict=True))
    (least, one), (most, other) = by_arm[0], by_arm[-1]
    assert f"by arm it is {least} (`{one}`) to {most} (`{other}`)" in SAID

    def power(effect: float, n: int) -> float:
        noncentral = stats.nct(n - 1, effect * np.sqrt(n) / spread)
        limit = stats.t.ppf(0.975, n - 1)
        return float(noncentral.sf(limit) + noncentral.cdf(-limit))

    assert power(0.26 * base, SEEDS) > 0.99
    needed = [
        next(n for n in range(2, 99) if power(share * base, n) >= 0.8)
        for share in (0.26, 0.15, 0.10)
    ]
    assert f"| models of each embedding | {' | '.join(map(str, needed))} |" in SAID


def test_the_interval_of_the_two_seeds() -> None:
    """Unpaired, with one standard deviation pooled over the six embeddings."""
    text = STUDY[STUDY.index("## Earlier: two seeds") :]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text[text.index("| | SNLI dev") :].split("\n\n")[0].splitlines()[2:]
    ]
    spreads = [float(row[3].split("±")[1]) for row in rows]
    half = stats.t.ppf(0.975, len(rows)) * np.sqrt(np.mean(np.square(spreads)))
    assert f"± {short(half)} was the interval" in SAID
