"""The figures of docs/study.md and its tables are those of the models' rows, computed anew."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations
from math import ceil, sqrt
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.spatial.distance import pdist

from wordbias.wordlists.templates import Templates

ROOT = Path(__file__).resolve().parents[2]
PAGE, TABLES, PROTOCOL = (
    (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in ("study.md", "study/tables.md", "study/protocol.md")
)
STUDY = PAGE + TABLES + PROTOCOL
SAID = " ".join(STUDY.split()).replace("−", "-")  # the minus sign
E, D = "mab-error", "mab-distance"
ACCURACY = "snli-accuracy", "test"
SEEDS = 12
BASE, NULL = "glove", "glove.null"
Values = dict[tuple[str, str, str, str], NDArray[np.float64]]


@dataclass(frozen=True)
class Study:
    """A study of the page: the folder of its rows, its section, its arms after GloVe, its sets."""

    folder: str
    heading: str
    arms: tuple[str, ...]  # the random removals last
    sets: tuple[str, ...]
    seeds: int = SEEDS

    @property
    def every_arm(self) -> tuple[str, ...]:
        return BASE, *self.arms

    def differences(
        self, measure: str, setting: str, base: str = BASE
    ) -> dict[str, NDArray[np.float64]]:
        """Return the differences from an arm by seed."""
        of = values(self.folder)
        return {
            arm: of[measure, setting, "", arm] - of[measure, setting, "", base]
            for arm in self.arms
            if arm != base
        }

    def table(self, first: str) -> dict[str, list[str]]:
        """Return the cells of the section's first table with this heading, by arm."""
        _, _, text = STUDY[STUDY.index(self.heading) :].partition(first)
        lines = text[: text.index("\n\n")].splitlines()[2:]
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
        return {cells[0]: cells[1:] for cells in rows}


GLOVE = Study(
    "study-50d",
    "## GloVe 6B 50d, twelve seeds",
    ("misp", "misp-published", "mhd-published", "hard", "inlp", NULL),
    ("nouns", "pronouns", "occupations", "names"),
)
GN = Study(
    "study-gn",
    "## GloVe and GN-GloVe trained anew for each seed",
    ("gn", "wa", "misp", "misp-published", "mhd", NULL),
    ("nouns", "pronouns"),
)
CARD = Study(
    "study-card",
    "## GloVe 6B 50d on the words of Dev et al., new seeds",
    ("misp-published", "hard", NULL),
    ("nouns", "pronouns"),
    seeds=20,
)
each_study = pytest.mark.parametrize("study", [GLOVE, GN, CARD], ids=lambda study: study.folder)


@cache
def values(folder: str) -> Values:
    """Read each value of the models of an arm, by measure, setting, group and arm."""
    by_seed: dict[tuple[str, str, str, str], dict[int, float]] = defaultdict(dict)
    for path in (ROOT / "benchmarks" / folder).glob("*.rows.json"):
        model = json.loads(path.read_text(encoding="utf-8"))
        arm = NULL if ".null-" in path.name else re.split(r"((?<=[a-z])\d+)?\.seed", path.name)[0]
        for row in model["rows"]:
            if row["value"] is None:  # a set that the vectors lack words of
                continue
            about = row["measure"], row.get("setting", row["set"]), row.get("group", "")
            by_seed[(*about, arm)][model["about"]["seed"]] = row["value"]
    return {key: np.array([by[seed] for seed in sorted(by)]) for key, by in by_seed.items()}


def short(value: float, digits: int = 3) -> str:
    return re.sub(r"^(-?)0\.", r"\1.", f"{value:.{digits}f}")


def mean_and_spread(x: NDArray[np.float64]) -> str:
    return f"{short(x.mean())} ± {short(x.std(ddof=1))}"


def sign_flips(d: NDArray[np.float64]) -> float:
    """Return the exact two-sided p of the mean over all signs."""
    sums = np.zeros(1)
    for difference in d:
        sums = np.concatenate([sums + difference, sums - difference])
    return float(np.mean(np.abs(sums) >= (1 - 1e-9) * abs(d.sum())))


def holm(ps: list[float]) -> list[float]:
    """Return p after Holm's correction, as defined: the largest of the smaller ones, each times
    the number of those that are not smaller."""
    return [min(1.0, max(q * sum(r >= q for r in ps) for q in ps if q <= p)) for p in ps]


def interval(d: NDArray[np.float64], level: float = 0.95) -> tuple[float, float]:
    low, high = stats.ttest_1samp(d, 0).confidence_interval(level)
    return float(low), float(high)


def excluded(d: NDArray[np.float64], base: float) -> int:
    """Return the least effect that two one-sided t tests exclude, in percent of a base."""
    half = float(stats.t.ppf(0.95, len(d) - 1) * stats.sem(d))
    return ceil(100 * (abs(float(d.mean())) + half) / base)


def test_all_signs_are_counted_as_scipy_does() -> None:
    for d in GLOVE.differences(E, "nouns").values():
        test = stats.permutation_test((d,), np.mean, permutation_type="samples")
        assert sign_flips(d) == pytest.approx(test.pvalue, rel=1e-12)


def test_the_answers_of_the_page_stand_in_the_tables() -> None:
    heading = "| vectors | removal | *E* change | 95 % | p, Holm | reading |"
    lines = PAGE.partition(heading)[2].partition("\n\n")[0].splitlines()[2:]
    first = "| | *E* change | 95 % | p, Holm | to random"
    tables = {
        "GloVe": GLOVE.table(first),
        "w_a": GN.table("| | *E* change from wa |"),
        "GloVe, new seeds": CARD.table(first),
    }
    assert len(lines) == 10
    for line in lines:
        vectors, arm, *figures = (cell.strip() for cell in line.split("|")[1:-1])
        cells = tables[vectors][arm]
        assert figures == [*cells[:3], cells[-1]], arm


@each_study
def test_every_arm_has_a_model_of_every_seed(study: Study) -> None:
    files = list((ROOT / "benchmarks" / study.folder).glob("*.rows.json"))
    assert len(files) == len(study.every_arm) * study.seeds
    of = values(study.folder)
    assert {arm for *_, arm in of} == set(study.every_arm)
    assert {setting for measure, setting, _, _ in of if measure == E} == set(study.sets)
    assert {len(x) for x in of.values()} == {study.seeds}


@each_study
def test_the_tables_of_means(study: Study) -> None:
    accuracy, of = "snli-accuracy", values(study.folder)
    columns = [(measure, setting) for setting in study.sets for measure in (E, D)]
    tables = {"| | SNLI dev | SNLI test |": [(accuracy, "dev"), (accuracy, "test"), *columns[:4]]}
    if columns[4:]:
        tables[f"| | {study.sets[2]} *E* |"] = columns[4:]
    for heading, pairs in tables.items():
        table = study.table(heading)
        assert list(table) == list(study.every_arm)
        for arm, cells in table.items():
            assert cells == [mean_and_spread(of[measure, name, "", arm]) for measure, name in pairs]


@pytest.mark.parametrize(
    ("study", "setting", "heading"),
    [
        (GLOVE, "nouns", "| | M: N | E | C |"),
        (GN, "nouns", "| | M: N | E | C |"),
        (GN, "pronouns", "| | he: N | E | C |"),
    ],
)
def test_table_1(study: Study, setting: str, heading: str) -> None:
    table = study.table(heading)
    assert list(table) == list(study.every_arm)
    classes = ("mab-neutral", "mab-entailment", "mab-contradiction")
    for arm, cells in table.items():
        assert cells == [
            short(values(study.folder)[measure, setting, group, arm].mean())
            for group in ("male", "female")
            for measure in classes
        ], arm


@each_study
def test_the_outcome(study: Study) -> None:
    """Each number of the first table of the command, and its reading."""
    base = values(study.folder)[E, "nouns", "", BASE].mean()
    apart = study.differences(E, "nouns")
    corrected = dict(zip(apart, holm([*map(sign_flips, apart.values())]), strict=True))
    from_null = study.differences(E, "nouns", NULL)
    against = dict(zip(from_null, holm([*map(sign_flips, from_null.values())]), strict=True))
    table = study.table("| | *E* change |")
    assert list(table) == list(study.arms)
    for arm, d in apart.items():
        low, high = map(short, interval(d))
        expected = [short(d.mean()), f"{low} … {high}", short(corrected[arm], 4)]
        if arm != NULL:
            expected += [short(from_null[arm].mean()), short(against[arm], 4)]
        assert [cell.replace("−", "-") for cell in table[arm][: len(expected)]] == expected
        reading = table[arm][-1]
        if corrected[arm] < 0.05:
            assert reading.startswith("lower" if d.mean() < 0 else "higher")
            beyond = d.mean() > 0 or against[arm] < 0.05
            assert ("not shown" in reading) != beyond
        else:
            assert reading == f"not shown, {excluded(d, base)} % or more excluded"
    assert f"*E* of the nouns from {short(base)} by" in SAID or f"GloVe's {short(base)}" in SAID


@pytest.mark.parametrize(
    ("study", "arm", "measure", "setting"),
    [
        (GLOVE, "inlp", E, "pronouns"),
        (GLOVE, "inlp", E, "names"),
        (GLOVE, "inlp", D, "nouns"),
        (GLOVE, "inlp", D, "pronouns"),
        (GLOVE, "inlp", D, "names"),
        (GLOVE, "hard", D, "names"),
        (GN, "gn", E, "pronouns"),
        (GN, "wa", E, "pronouns"),
        (GN, "gn", D, "nouns"),
        (CARD, "hard", D, "nouns"),
        (CARD, "hard", D, "pronouns"),
    ],
)
def test_a_quoted_interval(study: Study, arm: str, measure: str, setting: str) -> None:
    d = study.differences(measure, setting)[arm]
    low, high = interval(d)
    quoted = f"({d.mean():+.3f}, {low:.3f} to {high:.3f})".replace("0.", ".")
    assert quoted in SAID


BELOW = {  # what the page says of the tests beside the outcome
    (GLOVE, E): {("inlp", "pronouns"), ("inlp", "names")},
    (GLOVE, D): {
        *(("inlp", name) for name in GLOVE.sets if name != "occupations"),
        ("hard", "names"),
    },
    (GN, E): {(arm, "pronouns") for arm in GN.arms[:4]},
    (GN, D): {*((arm, "pronouns") for arm in GN.arms[:4]), ("gn", "nouns")},
    (CARD, E): set(),
    (CARD, D): {("hard", "nouns"), ("hard", "pronouns")},
}
ONLY_FROM_NULL = {(GLOVE, E): {("inlp", "occupations")}, (CARD, E): {("hard", "pronouns")}}
NOT_FROM_NULL = {(GN, D): {("gn", "nouns")}}


@pytest.mark.parametrize("measure", [E, D])
@each_study
def test_no_other_difference_stays_below_05(study: Study, measure: str) -> None:
    sets = study.sets if measure == D else study.sets[1:]

    def found(base: str) -> tuple[int, set[tuple[str, str]]]:
        tests = {
            (arm, name): sign_flips(d)
            for name in sets
            for arm, d in study.differences(measure, name, base).items()
        }
        corrected = zip(tests, holm([*tests.values()]), strict=True)
        return len(tests), {key for key, p in corrected if p < 0.05}

    about = study, measure
    tests, below = found(BASE)
    assert below == BELOW[about]
    letter = "E" if measure == E else "d"
    assert re.search(rf"\b{tests} (tests )?of \*{letter}\*", SAID)
    tests, below = found(NULL)
    assert below == (BELOW[about] | ONLY_FROM_NULL.get(about, set())) - NOT_FROM_NULL.get(
        about, set()
    )


def test_shares_of_e() -> None:
    base = values("study-50d")[E, "nouns", "", BASE].mean()
    for arm, phrase in (
        ("hard", "by {:.1f} % ({:.1f} to {:.1f} %;"),
        ("inlp", "by {:.0f} %** ({:.0f} to {:.0f} %;"),
    ):
        d = GLOVE.differences(E, "nouns")[arm]
        ends = sorted(abs(100 * end / base) for end in interval(d))
        assert phrase.format(abs(100 * d.mean() / base), *ends) in SAID


def check_differences(
    study: Study, heading: str, apart: dict[str, NDArray[np.float64]], seeds: int
) -> None:
    """Check a table of differences, with Holm's correction over its arms."""
    assert {len(d) for d in apart.values()} == {seeds}
    table = study.table(heading)
    assert list(table) == list(apart)
    for (arm, d), p in zip(apart.items(), holm([*map(sign_flips, apart.values())]), strict=True):
        low, high = map(short, interval(d))
        expected = [short(d.mean()), f"{low} … {high}", short(p, 4)]
        assert [cell.replace("−", "-") for cell in table[arm][:3]] == expected


def test_the_check_by_the_best_epoch() -> None:
    best = replace(GLOVE, folder="study-50d-best", arms=GLOVE.arms[:-1])
    base = values(best.folder)[E, "nouns", "", BASE].mean()
    apart = best.differences(E, "nouns")
    check_differences(best, "| | *E* change | 95 % | p, Holm over 5 |", apart, 10)
    shares = [excluded(apart[arm], base) for arm in ("misp-published", "misp")]
    assert "MISP of {} % or more is excluded ({} % of the default)".format(*shares) in SAID
    assert f"26 % (here {short(0.26 * base)}) lies within its interval" in SAID
    assert interval(apart["hard"])[0] < -0.26 * base


def test_gn_glove_by_the_best_epoch() -> None:
    best = replace(GN, folder="study-gn-best")
    apart = best.differences(E, "nouns")
    check_differences(best, "| | *E* change | 95 % | p, Holm over 6 |", apart, SEEDS)
    from_wa = replace(best, arms=OF_WA).differences(E, "nouns", "wa")
    corrected = holm([*map(sign_flips, from_wa.values())])
    (low, high), (lower, higher) = map(interval, from_wa.values())
    means = [short(d.mean()) for d in from_wa.values()]
    phrase = f"by {means[0]} here ({low:.3f} to {high:.3f}; p {corrected[0]:.3f} after Holm"
    assert f"MISP changes *E* {phrase}".replace("0.", ".") in SAID
    phrase = f"and as published by {means[1]} ({lower:.3f} to {higher:+.3f})".replace("0.", ".")
    assert phrase in SAID
    base = values(best.folder)[E, "nouns", "", "wa"].mean()
    shares = [excluded(d, base) for d in from_wa.values()]
    assert "Effects of {} % and {} % or more are excluded".format(*shares) in SAID


OF_WA = ("misp", "misp-published")


def test_misp_from_wa() -> None:
    apart = replace(GN, arms=OF_WA).differences(E, "nouns", "wa")
    check_differences(GN, "| | *E* change from wa | 95 % | p, Holm over 2 |", apart, SEEDS)
    base = values(GN.folder)[E, "nouns", "", "wa"].mean()
    table = GN.table("| | *E* change from wa |")
    for arm, d in apart.items():
        assert table[arm][-1] == f"not shown, {excluded(d, base)} % or more excluded"
    assert f"It is {short(base)} with w_a" in SAID


def pooled(apart: dict[str, NDArray[np.float64]]) -> tuple[float, int]:
    """Return the standard deviation of the differences and its degrees of freedom."""
    spread = float(np.sqrt(np.mean([d.var(ddof=1) for d in apart.values()])))
    return spread, sum(len(d) - 1 for d in apart.values())


def power(effect: float, spread: float, n: int, tests: int) -> float:
    """Return the power of a t test at the p that Holm's correction asks of the smallest."""
    limit = stats.t.ppf(1 - 0.025 / tests, n - 1)
    return float(stats.ncf.sf(limit**2, 1, n - 1, n * (effect / spread) ** 2))  # F is t squared


def needed(base: float, spread: float, tests: int) -> list[int]:
    """Return the seeds that find each share of a base with power .8, and have such a p."""
    possible = [n for n in range(2, 99) if 2 / 2**n <= 0.05 / tests]
    return [
        next(n for n in possible if power(share * base, spread, n, tests) >= 0.8)
        for share in (0.26, 0.15, 0.10)
    ]


def test_what_twelve_seeds_find() -> None:
    apart = GLOVE.differences(E, "nouns")
    spread, freedom = pooled(apart)
    base = values("study-50d")[E, "nouns", "", BASE].mean()
    assert f"deviation of {short(spread)} ({freedom} degrees of freedom, effectively fewer" in SAID
    assert f"here {short(0.26 * base)}" in SAID
    by_arm = sorted((short(d.std(ddof=1)), arm) for arm, d in apart.items())
    (least, least_arm), (most, other) = by_arm[0], by_arm[-1]
    assert f"by arm it is {least} (`{least_arm}`) to {most} (`{other}`)" in SAID
    assert power(0.26 * base, spread, SEEDS, len(apart)) > 0.99
    numbers = " | ".join(map(str, needed(base, spread, len(apart))))
    assert f"| models of each embedding | {numbers} |" in SAID


def test_what_twelve_trainings_of_gn_glove_find() -> None:
    apart = GN.differences(E, "nouns")
    spread, freedom = pooled(apart)
    base = values(GN.folder)[E, "nouns", "", BASE].mean()
    by_arm = sorted(short(d.std(ddof=1)) for d in apart.values())
    phrase = f"{freedom} degrees of freedom; by arm {by_arm[0]} to {by_arm[-1]}"
    assert f"deviation of {short(spread)} ({phrase})" in SAID
    assert f"here {short(0.26 * base)}" in SAID
    assert power(0.26 * base, spread, SEEDS, len(apart)) > 0.99
    sentence = "takes {} models of each embedding, for 15 % {}, for 10 % {}"
    assert sentence.format(*needed(base, spread, len(apart))) in SAID
    spread, freedom = pooled(replace(GN, arms=OF_WA).differences(E, "nouns", "wa"))
    base = values(GN.folder)[E, "nouns", "", "wa"].mean()
    phrase = (
        f"have one of {short(spread)} ({freedom} degrees of freedom): seven models of each find"
    )
    assert f"{phrase} 10 % with power .8 at .05/2" in SAID
    assert needed(base, spread, len(OF_WA))[-1] == 7


def test_what_the_third_study_says() -> None:
    apart, of = CARD.differences(E, "nouns"), values(CARD.folder)
    spread, freedom = pooled(apart)
    base = of[E, "nouns", "", BASE].mean()
    assert f"Of GloVe's {short(base)} the paper's 26 % is excluded for both" in SAID
    for arm in ("misp-published", "hard"):
        assert APART / base < fall(apart[arm], base) / 100 < 0.26
    assert f"deviation of {short(spread)} ({freedom} degrees of freedom). Power .8" in SAID
    sentence = "takes {} models of each embedding for 26 %, for 15 % {}, for 10 % {}."
    assert sentence.format(*needed(base, spread, len(apart))) in SAID
    tests = CARD.differences(E, "pronouns"), CARD.differences(E, "pronouns", NULL)
    ps = [dict(zip(test, holm([*map(sign_flips, test.values())]), strict=True)) for test in tests]
    phrase = f"({signed(tests[1]['hard'])}; p {short(ps[1]['hard'])}), but not shown to be higher"
    assert f"{phrase} than with GloVe (p {short(ps[0]['hard'], 2)})" in SAID
    p = holm([*map(sign_flips, apart.values())])[list(apart).index("hard")]
    assert f"do not show a fall: {short(apart['hard'].mean())} (p {short(p, 2)})." in SAID


def test_the_words_of_the_sentences() -> None:
    """GloVe's models of the third study on both lists, and those of the first."""
    folders = f"{CARD.folder}-built-in", CARD.folder
    ours, theirs = (values(folder)[E, "nouns", "", BASE] for folder in folders)
    first = values(GLOVE.folder)[E, "nouns", "", BASE]
    correlation = short(np.corrcoef(ours, theirs)[0, 1], 2)
    phrase = f"have an *E* of {mean_and_spread(ours)} (correlation by seed {correlation})"
    assert f"{phrase}. The twelve of that study" in SAID
    assert f"have, trained on CPUs, {mean_and_spread(first)}." in SAID
    assert len(ours) == len(theirs) == CARD.seeds


def test_models_read_what_they_would_of_whole_files() -> None:
    """The tables of vectors of both studies are the same, draw by draw."""
    vectors: list[dict[str, str]] = []
    for study in (GLOVE, CARD):
        abouts = [
            json.loads(path.read_text(encoding="utf-8"))["about"]
            for path in (ROOT / "benchmarks" / study.folder).glob("*.rows.json")
        ]
        vectors.append({about["embedding"]["name"]: about["vectors"] for about in abouts})
        words = {about["embedding"]["words"] for about in abouts}
    assert f"Vectors were cut to {words.pop():,} words" in SAID
    both = vectors[0].keys() & vectors[1].keys()
    assert len(both) == 3 + SEEDS
    assert all(vectors[0][name] == vectors[1][name] for name in both)


def fall(d: NDArray[np.float64], base: float, places: int = 0) -> float:
    """Return the share of a base, in percent, from which on a fall is excluded (t test at .05)."""
    low = interval(d, 0.9)[0]
    share = ceil(10**places * max(0.0, -100 * low / base)) / 10**places
    return share if places else int(share)


def test_the_falls_that_are_excluded() -> None:
    of, apart = values(GN.folder), GN.differences(E, "nouns")
    falls = {arm: fall(d, of[E, "nouns", "", BASE].mean()) for arm, d in apart.items()}
    phrase = f"A fall (one-sided) of {max(falls.values())} % or more is excluded for every arm"
    assert phrase in SAID
    assert f"and a fall (one-sided) of {max(falls['gn'], falls['wa'])} % or more" in SAID
    from_wa = replace(GN, arms=OF_WA).differences(E, "nouns", "wa")
    base = of[E, "nouns", "", "wa"].mean()
    shares = [fall(d, base, places=2) for d in from_wa.values()]
    phrase = "from {:.2f} % on with the default, and from {:.2f} % on with MISP as published"
    assert phrase.format(*shares) in SAID


def test_the_excluded_shares_of_d() -> None:
    of: dict[str, tuple[str, int]] = {}
    apart: dict[str, NDArray[np.float64]] = {}
    for setting in GLOVE.sets:
        d = apart[setting] = GLOVE.differences(D, setting)["misp-published"]
        low, high = interval(d, 0.9)
        base = values(GLOVE.folder)[D, setting, "", BASE].mean()
        of[setting] = short(max(-low, high)), excluded(d, base)
    phrase = "nouns of {} or more is excluded ({} %). For the names it is {} ({} %), for"
    assert phrase.format(*of["nouns"], *of["names"]) in SAID
    assert "the occupations {} ({} % of a small".format(*of["occupations"]) in SAID
    means = [
        values(GLOVE.folder)[D, "pronouns", "", arm].mean() for arm in ("misp-published", BASE)
    ]
    phrase = (
        f"*d* is {short(means[0])}, before {short(means[1])} ({signed(apart['pronouns'])}): only "
    )
    assert phrase + "{} ({} %) is excluded".format(*of["pronouns"]) in SAID
    assert max(of, key=lambda name: of[name][0]) == "pronouns"


def signed(d: NDArray[np.float64]) -> str:
    low, high = (f"{end:+.3f}" if end < 0 else f"{end:.3f}" for end in interval(d))
    return f"{d.mean():+.3f}, {low} to {high}".replace("0.", ".")


def test_what_changes_for_the_pronouns() -> None:
    of = values(GN.folder)
    neutral = {
        group: of["mab-neutral", "pronouns", group, "wa"]
        - of["mab-neutral", "pronouns", group, BASE]
        for group in ("female", "male")
    }
    she, he, between = (
        f"{d.mean():.3f}{suffix} ({interval(d)[0]:.3f} to {interval(d)[1]:.3f})".replace("0.", ".")
        for d, suffix in (
            (neutral["female"], ' higher than with GloVe for "She …"'),
            (neutral["male"], ' higher for "He …"'),
            (neutral["female"] - neutral["male"], ""),
        )
    )
    assert f"is {she}, {he}. The two changes differ by {between}." in SAID
    from_gn = replace(GN, arms=("wa", "misp-published")).differences(D, "pronouns", "gn")
    p = short(sign_flips(from_gn["misp-published"]))
    phrase = "with w_a by {}, with MISP as published by {}; p {}, uncorrected)"
    numbers = ["{} ({}".format(*signed(d).split(", ", 1)) for d in from_gn.values()]
    assert phrase.format(numbers[0] + ")", numbers[1], p) in SAID
    assert f"*E* {signed(replace(GN, arms=('wa',)).differences(E, 'pronouns', 'gn')['wa'])}" in SAID
    of_wa = [*map(signed, replace(GN, arms=OF_WA).differences(E, "pronouns", "wa").values())]
    assert "MISP of w_a ({}; as published {})".format(*of_wa) in SAID
    best = replace(GN, folder="study-gn-best", arms=GN.arms[:4])
    ends = []
    for measure in (E, D):
        means = sorted(d.mean() for d in best.differences(measure, "pronouns").values())
        ends.append(f"{short(means[0])} to {short(means[-1])}")
    assert "(*E* {}, *d* {})".format(*ends) in SAID
    d = best.differences(E, "pronouns", "wa")["misp"]
    ends = [short(abs(end)) for end in reversed(interval(d))]
    phrase = f"an *E* {short(-d.mean())} lower than w_a ({ends[0]} to {ends[1]}; "
    assert phrase + f"p {short(sign_flips(d))}, uncorrected)" in SAID
    numbers = [short(of[E, "pronouns", "", arm].mean()) for arm in (BASE, "gn", "wa")]
    assert "*E* falls from {} to {} and {}".format(*numbers) in SAID
    numbers = [short(of[D, "pronouns", "", arm].mean()) for arm in (BASE, "gn", "wa")]
    assert "*d* rises from {} to {} and {}".format(*numbers) in SAID


@each_study
def test_the_accuracies_that_fall(study: Study) -> None:
    apart = {
        (arm, part): d
        for part in ("dev", "test")
        for arm, d in study.differences("snli-accuracy", part).items()
    }
    corrected = dict(zip(apart, holm([*map(sign_flips, apart.values())]), strict=True))
    below = {key: p for key, p in corrected.items() if p < 0.05}
    if study is GLOVE:
        assert set(below) == {("inlp", "dev"), ("inlp", "test")}
        assert f"(p {short(max(below.values()))}, corrected over twelve" in SAID
    elif study is CARD:
        assert not below
    else:
        mhd = below.pop(("mhd", "dev"))
        assert set(below) == {(arm, part) for arm in ("wa", *OF_WA) for part in ("dev", "test")}
        assert f"So it is with MHD on dev (p {short(mhd)})" in SAID
        ends = " to ".join(short(end(below.values())) for end in (min, max))
        assert f"The p are {ends}, corrected over twelve" in SAID
        means = [-apart[key].mean() for key in below]
        least, most = (short(end(means)) for end in (min, max))
        assert f"is {least} to {most} lower with w_a and both kinds of MISP" in SAID


def test_midb_of_the_first_study_is_negative() -> None:
    """In the page's table, from which the sentence on its sign follows."""
    measures = GLOVE.table("| | MIDB of unit vectors |")
    assert all(cells[0].startswith("−") for cells in measures.values())


def test_the_fall_that_misp_excludes() -> None:
    """Where the 90 % interval leaves the paper's fall out, of the outcome and by the best epoch."""
    lows = {
        (folder, arm): interval(
            replace(study, folder=folder, arms=OF_WA).differences(E, "nouns", base)[arm], 0.9
        )[0]
        for study, base in ((GLOVE, BASE), (GN, "wa"))
        for folder in (study.folder, f"{study.folder}-best")
        for arm in OF_WA
    }
    assert {key for key, low in lows.items() if low > -APART} == {
        ("study-gn", arm) for arm in OF_WA
    }
    phrase = "end at {} (as published) and {} (default) on w_a. On GloVe they end at {} and {}."
    arms = [(folder, arm) for folder in ("study-gn", "study-50d") for arm in reversed(OF_WA)]
    assert phrase.format(*(short(lows[key]) for key in arms)) in SAID


def test_a_fall_by_the_share_of_the_paper() -> None:
    """Excluded for every arm; by the best epoch for all but hard debiasing."""
    not_excluded = set()
    for study in (GLOVE, GN):
        for folder in (study.folder, f"{study.folder}-best"):
            arms = study.arms[:-1] if folder == "study-50d-best" else study.arms
            base = values(folder)[E, "nouns", "", BASE].mean()
            apart = replace(study, folder=folder, arms=arms).differences(E, "nouns")
            not_excluded |= {(folder, arm) for arm, d in apart.items() if fall(d, base, 2) > 26}
    assert not_excluded == {("study-50d-best", "hard")}


def test_p_before_the_correction() -> None:
    p = sign_flips(GLOVE.differences(E, "nouns")["misp-published"])
    assert f"p .074, uncorrected {short(p)})" in SAID
    p = sign_flips(GLOVE.differences(E, "nouns", NULL)["hard"])
    assert f"p .15, uncorrected {short(p)})" in SAID


def test_what_inlp_changes() -> None:
    of = values(GLOVE.folder)
    for group, phrase in (("female", ""), ("male", "no change is shown: ")):
        new, old = (of["mab-entailment", "nouns", group, arm] for arm in ("inlp", BASE))
        phrase += f"{short(new.mean(), 2)}, before {short(old.mean(), 2)} ({signed(new - old)})"
        assert phrase in SAID
    accuracies = [short(of["snli-accuracy", "dev", "", arm].mean()) for arm in (BASE, "inlp")]
    assert "falls too, from {} to {}.".format(*accuracies) in SAID


def test_what_misp_leaves() -> None:
    """The measures that the answers name are those of the table of measures."""
    table = GLOVE.table("| | MIDB of unit vectors |")
    pairs = (table[BASE], table["misp-published"])
    midb, direct, gipe = ([cells[column] for cells in pairs] for column in (0, 1, 5))
    phrase = "direct bias ({}, then {}), MIDB ({}, {}) and GIPE ({}, {})"
    assert phrase.format(*direct, *midb, *gipe).replace("−", "-") in SAID
    table = GN.table("| | MIDB of unit vectors |")
    assert {table[arm][1] for arm in ("wa", *OF_WA)} == {".039"}
    midb = [table[arm][0] for arm in ("wa", *reversed(OF_WA))]
    assert "MIDB falls from {} to {} (as published) and {}.".format(*midb) in SAID


def test_what_carries_the_correlations_of_recoverability() -> None:
    """All arms but hard debiasing have 1.000 without INLP, so that any value of it gives this r."""
    of = values(GLOVE.folder)
    arms = [arm for arm in GLOVE.every_arm if arm != "inlp"]
    table = GLOVE.table("| | MIDB of unit vectors |")
    errors = [of[E, "nouns", "", arm].mean() for arm in arms]
    for column in (3, 4):
        read = [float(table[arm][column]) for arm in arms]
        assert [arm for arm, value in zip(arms, read, strict=True) if value < 1] == ["hard"]
        r = stats.pearsonr(read, errors).statistic
        assert f"Without INLP they turn positive ({short(r, 2)}), by `hard` alone" in SAID


def test_the_error_without_an_answer() -> None:
    third = np.full(3, 1 / 3)
    assert (
        f"and {short(float(np.linalg.norm(third - [1, 0, 0])))} if each answer has a third" in SAID
    )


def test_the_scale_of_the_study() -> None:
    """The question: dimensions, pairs, accuracy and E of the arms of both studies."""
    opening = SAID[: SAID.index(" ## Answer")]
    accuracies, errors = {}, []
    for study, arms in ((GLOVE, (BASE,)), (GN, (BASE, "gn", "wa"))):
        of = values(study.folder)
        each = [of["snli-accuracy", "dev", "", arm].mean() for arm in study.every_arm]
        accuracies[study.folder] = each
        errors += [of[E, "nouns", "", arm].mean() for arm in arms]
        for path in (ROOT / "benchmarks" / study.folder).glob("*.rows.json"):
            about = json.loads(path.read_text(encoding="utf-8"))["about"]
            dim, pairs = about["embedding"]["dim"], about["data"]["train"]["pairs"]
            assert f"word vectors of {dim} dimensions, {pairs:,} training pairs" in opening
    first, second = (short(np.mean(each), 2) for each in accuracies.values())
    assert f"{first} (GloVe 6B) or {second} (vectors trained here)" in opening
    assert (
        f"*E* is {short(min(errors), 2)} to {short(max(errors), 2)} with GloVe and GN-GloVe"
        in opening
    )
    every = [value for each in accuracies.values() for value in each]
    assert f"accuracy is {short(min(every))} to {short(max(every))} by arm" in SAID


def test_the_table_and_the_lists_of_the_paper(shared_data: Path) -> None:
    text = (shared_data / "published" / "paper1_table6.csv").read_text(encoding="utf-8")
    sixth = {line.split(",")[0]: float(line.split(",")[-1]) for line in text.splitlines()[1:]}
    text = (shared_data / "published" / "paper1_table1.csv").read_text(encoding="utf-8")
    first = {
        line.split(",")[0]: float(line.split(",")[-1])
        for line in text.splitlines()
        if ",nouns," in line
    }
    arms = "GN-GloVe", "GN-GloVe(w_a)"
    changes = [100 * (table[arm] / table["GloVe"] - 1) for table in (sixth, first) for arm in arms]
    sentence = (
        "The paper has {:+.0f} % and {:+.0f} % by its Table 6, {:+.0f} % and {:+.0f} % by Table 1."
    )
    assert sentence.format(*changes) in SAID
    ends = [short(sixth[arm], 2) for arm in reversed(arms)]
    assert "; the paper has {} to {}.".format(*ends) in SAID
    assert f"from {short(sixth['GN-GloVe(w_a)'])} to .1107: by .038, or 26 %." in SAID
    assert (round(0.149 - 0.1107, 3), round(100 * (1 - 0.1107 / 0.149))) == (0.038, 26)
    ours, theirs = Templates.load(), Templates.load(shared_data / "dev2020")
    counted = []
    for named in (
        lambda templates: templates.verbs,
        lambda templates: {**templates.objects, "": templates.people},
    ):
        mine, other = (
            {word for words in named(templates).values() for word in words}
            for templates in (ours, theirs)
        )
        counted += [len(mine & other), len(mine)]
    assert "{} of its {} verbs and {} of its {} objects are in".format(*counted) in SAID


APART = 0.038  # the fall of the paper, from E .149 to .1107
APPENDIX_C = (
    *(0.1574, 0.2331, 0.1919, 0.1330, 0.1487, 0.1273, 0.1565, 0.2289, 0.1963, 0.1639, 0.1287),
    *(0.1951, 0.1694, 0.2813, 0.1602, 0.2110, 0.1732, 0.1945, 0.1764, 0.1879, 0.1363, 0.1241),
    0.1435,
)  # E of the 23 models with permuted weights, as the paper prints them


def beyond(spread: float) -> float:
    """Return the probability that normal noise of this standard deviation is beyond the fall."""
    return 2 * float(stats.norm.sf(APART / spread))


def test_what_one_model_of_each_can_say() -> None:
    table = GLOVE.table("| | power for .038, twelve seeds |")
    limits: list[str] = []
    for name, study, arm, arms in (("GloVe", GLOVE, BASE, GLOVE.arms), ("w_a", GN, "wa", OF_WA)):
        apart = replace(study, arms=arms).differences(E, "nouns", arm)
        spread, _ = pooled(apart)
        alike = values(study.folder)[E, "nouns", "", arm]
        deviation = float(alike.std(ddof=1))
        pairs = pdist(alike[:, None])
        chances = [
            power(APART, spread, SEEDS, len(arms)),
            beyond(spread),
            beyond(deviation * sqrt(2)),
        ]
        counted = f"{np.sum(pairs > APART)} of {len(pairs)}"
        assert table[name] == [*(short(value, 2) for value in chances), counted]
        variances = (SEEDS - 1) * deviation**2 / stats.chi2.ppf([0.975, 0.025], SEEDS - 1)
        limits += [short(deviation), *(short(beyond(sqrt(2 * v)), 2) for v in variances)]
    sentence = (
        "same arm, {0} and {3}, from which follow 95 % limits of {1} to {2} and of {4} to {5}."
    )
    assert sentence.format(*limits) in SAID
    powers, same, different = zip(*(table[name][:3] for name in ("GloVe", "w_a")), strict=True)
    assert "power to find it was {} on GloVe and {} on w_a".format(*powers) in SAID
    each, alone = [], 0.0
    for study, arm in ((GLOVE, BASE), (GN, "wa")):
        apart = replace(study, arms=OF_WA).differences(E, "nouns", arm)
        each += [short(beyond(float(d.std(ddof=1))), 2) for d in apart.values()]
        if study is GLOVE:
            alone = power(APART, float(apart["misp-published"].std(ddof=1)), SEEDS, len(GLOVE.arms))
    assert "is {} (default) and {} (as published) on GloVe, {} and {} on w_a.".format(*each) in SAID
    by = "by the spread of MISP as published alone, and"
    assert f"On GloVe it is {short(alone, 2)} {by} that of the first" in SAID
    single = []
    for study, arm, arms in ((GLOVE, BASE, GLOVE.arms[:-1]), (GN, "wa", OF_WA)):
        best = replace(study, folder=f"{study.folder}-best", arms=arms)
        single.append(short(beyond(pooled(best.differences(E, "nouns", arm))[0]), 2))
    assert f"it is {each[1]} on GloVe {by} {single[0]} and {single[1]} for single" in SAID
    assert "best on dev, it is {} (five arms) and {} (MISP).".format(*single) in SAID
    assert "with probability {} on GloVe and {} on w_a".format(*same) in SAID
    assert "if they share a seed, else {} and {}.".format(*different) in SAID
    ends = (short(end(APPENDIX_C)) for end in (min, max))
    sentence = (
        "has {} more, with MISP's weights in other orders: their *E* is {} to {}, with a standard"
    )
    assert sentence.format(len(APPENDIX_C), *ends) in SAID
    assert f"deviation of {short(np.std(APPENDIX_C, ddof=1))}. How much of that" in SAID
    text = " ".join((ROOT / "docs/papers/dawkins-2021.md").read_text(encoding="utf-8").split())
    assert "with probability {} (GloVe) and {} (w_a)".format(*same) in text


def test_the_weights_in_every_order() -> None:
    permuted = replace(
        GLOVE, folder="study-50d-permuted", heading="## MISP's weights in every order"
    )
    of = values(permuted.folder)
    table = permuted.table("| | right order |")
    assert list(table) == list(GLOVE.sets)
    orders = ["".join(order) for order in permutations("1234")]
    for setting, cells in table.items():
        right, *others = (float(of[E, setting, "", f"glove.perm-{order}"][0]) for order in orders)
        rank = 1 + sum(other <= right for other in others)
        ends = f"{short(min(others))} … {short(max(others))}"
        spread = mean_and_spread(np.array(others))
        assert cells == [short(right), spread, ends, str(rank), short(rank / 24, 2)]
    accuracies = [x[0] for (measure, name, *_), x in of.items() if (measure, name) == ACCURACY]
    assert f"accuracy is {short(min(accuracies))} to {short(max(accuracies))}" in SAID
    assert f"GloVe's own has *E* {short(of[E, 'nouns', '', BASE][0])}" in SAID
    spread = values(GLOVE.folder)[E, "nouns", "", BASE].std(ddof=1)
    assert f"twelve models of GloVe have a standard deviation of {short(spread)}" in SAID
