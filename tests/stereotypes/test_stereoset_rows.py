from __future__ import annotations

import random
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from wordbias.errors import WordbiasError
from wordbias.results import Row
from wordbias.stereotypes.gsss import Gsss, Item, Triple, gsss_rows, triple_records
from wordbias.stereotypes.next_sentence import Sentences
from wordbias.stereotypes.scores import Settings, extremes
from wordbias.stereotypes.stereoset import Cluster, parse_stereoset, stereoset_rows
from wordbias.text_files import read_text

SIDE = Sentences("A man sat.", "He slept.")
N = 60


def gsss(genders: str) -> Gsss:
    item = Item(SIDE, SIDE)
    triples = [Triple(str(i), gender, (item, item, item)) for i, gender in enumerate(genders)]
    return Gsss("x.csv", "0", triples)


@pytest.fixture
def p() -> np.ndarray:
    return np.random.default_rng(1).random((N, 3, 2))


def rows_of(p: np.ndarray, **options: object) -> dict[tuple[str, str], Row]:
    data = gsss("MF" * (len(p) // 2) + "M" * (len(p) % 2))
    rows = gsss_rows(data, p, "m", "original", Settings(**options))  # type: ignore[arg-type]
    return {(row.measure, row.details["subset"]): row for row in rows}


def by_hand(p: np.ndarray, k: int) -> dict[str, float]:
    s = sorted((a - b) - (a_ - b_) for (a, a_), (b, b_), _ in p)
    d = sorted(abs(c - c_) for _, _, (c, c_) in p)
    return {
        "strength": sum(s[-k:]) / k,
        "opposite-strength": -sum(s[:k]) / k,
        "distance": sum(d[-k:]) / k,
        "mean-strength": sum(s) / len(s),
        "ss": sum(a > b for (a, _), (b, _), _ in p) / len(p),
    }


def test_rows_are_those_by_hand_for_all_and_for_each_gender(p: np.ndarray) -> None:
    rows = rows_of(p)
    for subset, part, k in (("all", p, 6), ("M", p[::2], 3), ("F", p[1::2], 3)):
        for measure, value in by_hand(part, k).items():
            row = rows[measure, subset]
            assert row.value == pytest.approx(value, abs=1e-12)
            tail = row.measure in ("strength", "opposite-strength", "distance")
            assert row.details["n"] == (extremes(len(part)) if tail else len(part))
            assert row.details["version"] == "original"
    assert rows["strength", "all"].details["n"] == 6
    assert rows["ss", "all"].details["neutral"] == 0.5
    assert len(rows) == 15


def test_intervals_are_bootstrapped_over_triples_and_seeded(p: np.ndarray) -> None:
    rows = rows_of(p)
    assert rows == rows_of(p)
    assert rows != rows_of(p, seed=1)
    rng = np.random.default_rng(0)
    s = (p[:, 0] - p[:, 1]) @ [1, -1]
    drawn = s[rng.integers(N, size=(1000, N))]
    tails = np.sort(drawn, axis=1)[:, -6:].mean(1)
    low, high = np.percentile(tails, [2.5, 97.5])
    details = rows["strength", "all"].details
    assert (details["low"], details["high"]) == pytest.approx((low, high), abs=1e-12)


def test_the_same_triples_are_drawn_for_every_model(p: np.ndarray) -> None:
    """What differs by a constant differs so in its interval: comparisons are paired."""
    less = p.copy()
    less[:, 0, 0] = p[:, 0, 0] / 2 + 0.1
    more = less.copy()
    more[:, 0, 0] += 0.2
    a, b = (rows_of(x)["strength", "all"] for x in (less, more))
    for key in ("low", "high"):
        assert b.details[key] - a.details[key] == pytest.approx(0.2, abs=1e-12)


def test_options_change_what_they_name(p: np.ndarray) -> None:
    s = (p[:, 0] - p[:, 1]) @ [1, -1]
    absolute = rows_of(p, absolute=True)
    assert absolute["strength", "all"].value == pytest.approx(np.sort(np.abs(s))[-6:].mean())
    assert ("opposite-strength", "all") not in absolute
    whole = rows_of(p, share=1.0)
    assert whole["strength", "all"].value == pytest.approx(s.mean(), abs=1e-12)
    assert rows_of(p[:55], rounding="up")["strength", "all"].details["n"] == 6
    assert rows_of(p[:55], rounding="down")["strength", "all"].details["n"] == 5
    assert rows_of(p[:55])["strength", "all"].details["n"] == 6  # 5.5


def test_a_model_of_constant_answers_is_not_called_anti_stereotypical() -> None:
    same = np.full((10, 3, 2), 0.7)
    row = rows_of(same)["ss", "all"]
    assert (row.value, row.details["ties"]) == (0.5, 10)
    assert rows_of(same, as_published=True)["ss", "all"].value == 0


def test_a_file_about_one_gender_has_no_empty_subset(p: np.ndarray) -> None:
    rows = gsss_rows(gsss("F" * N), p, "m", "original", Settings())
    assert {row.details["subset"] for row in rows} == {"all", "F"}


def test_subsets_are_those_of_all_of_them(p: np.ndarray) -> None:
    data = gsss("MF" * (N // 2))
    every = gsss_rows(data, p, "m", "original", Settings())
    for subsets in (["all"], ["F", "M"]):
        wanted = [row for name in subsets for row in every if row.details["subset"] == name]
        assert gsss_rows(data, p, "m", "original", Settings(), subsets=subsets) == wanted
    with pytest.raises(WordbiasError, match="no subset 'X'; choose among all, "):
        gsss_rows(data, p, "m", "original", Settings(), subsets=["all", "X"])


def test_another_number_of_probabilities_is_refused(p: np.ndarray) -> None:
    with pytest.raises(WordbiasError, match="expected probabilities of 2 triples, got 60"):
        gsss_rows(gsss("MF"), p, "m", "original", Settings())


def test_records_hold_what_the_measures_are_made_of(p: np.ndarray) -> None:
    records = triple_records(gsss("MF" * (N // 2)), p, "repaired")
    assert [triple["context_id"] for triple in records] == [str(i) for i in range(N)]
    record = records[7]
    assert record["anti-stereotype swapped"] == p[7, 1, 1]
    assert record["unrelated original"] == p[7, 2, 0]
    assert record["d"] == pytest.approx(abs(p[7, 2, 0] - p[7, 2, 1]))
    assert record["version"] == "repaired"


def published_scores(clusters: list[Cluster], scores: np.ndarray) -> tuple[float, float, float]:
    """StereoSet's evaluation: shares of each term, averaged over terms; a tie is not preferred."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for cluster, (stereo, anti, unrelated) in zip(clusters, scores, strict=True):
        counts[cluster.target]["stereo"] += stereo > anti
        counts[cluster.target]["related"] += sum(score > unrelated for score in (stereo, anti))
        counts[cluster.target]["n"] += 1
    ss = np.mean([counter["stereo"] / counter["n"] for counter in counts.values()])
    lms = np.mean([counter["related"] / (2 * counter["n"]) for counter in counts.values()])
    return ss, lms, lms * min(ss, 1 - ss) / 0.5


def test_published_averages_over_the_terms_of_the_real_file(shared_data: Path) -> None:
    source = read_text(shared_data / "stereoset" / "dev_gender.json.gz")
    clusters = parse_stereoset(source).intersentence
    scores = np.random.default_rng(2).integers(0, 4, (len(clusters), 3)).astype(float)
    rows = stereoset_rows(clusters, scores, "m", "intersentence", Settings(as_published=True))
    expected = published_scores(list(clusters), scores)
    assert [row.value for row in rows] == pytest.approx(expected, abs=1e-12)
    assert [row.measure for row in rows] == ["ss", "lms", "icat"]
    plain = stereoset_rows(clusters, scores, "m", "intersentence", Settings())
    stereo, anti = scores[:, 0], scores[:, 1]
    assert plain[0].value == pytest.approx(((stereo > anti) + 0.5 * (stereo == anti)).mean())
    for row in (*rows, *plain):
        assert 0 <= row.details["low"] < row.details["high"] <= 1


def test_each_type_of_bias_has_its_rows() -> None:
    draw = random.Random(0)
    types = [draw.choice(["gender", "race"]) for _ in range(40)]
    clusters = [Cluster(str(i), "t", kind, "C.", ("a", "b", "c")) for i, kind in enumerate(types)]
    scores = np.random.default_rng(3).random((40, 3))
    rows = stereoset_rows(clusters, scores, "m", "intrasentence", Settings())
    by_subset = {(row.details["subset"], row.measure): row for row in rows}
    assert {subset for subset, _ in by_subset} == {"all", "gender", "race"}
    race = scores[[kind == "race" for kind in types]]
    assert by_subset["race", "ss"].value == pytest.approx((race[:, 0] > race[:, 1]).mean())
    assert by_subset["race", "ss"].details["n"] == len(race)
