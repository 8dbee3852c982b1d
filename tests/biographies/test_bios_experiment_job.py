"""Measures of a job: against the functions that they are computed by, and against definitions."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_bios import small_bios

from wordbias.biographies.data import Biographies
from wordbias.biographies.experiment import conditional_entropy, gap_rows, gender_rows
from wordbias.columns import Column
from wordbias.models.representations import Representations
from wordbias.outcomes.balance import copies
from wordbias.outcomes.confusion import Confusion
from wordbias.outcomes.fairness import fairness_rows
from wordbias.outcomes.metrics import Settings
from wordbias.probes.ceat.measure import Settings as CeatSettings
from wordbias.probes.ceat.measure import ceat
from wordbias.probes.mdl import FRACTIONS, needed, online_code
from wordbias.results import Row
from wordbias.retraining.measuring import LEAST_BLOCKS, Run, usable_fractions, word_rows
from wordbias.wordlists.queries import load_queries

HERE = Run("subsample", "own", 3)
(CAREER,) = (query for query in load_queries() if query.name == "weat6")
Codes = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=40)


def gender_vectors(bios: Biographies, seed: int = 0, share: float = 1.0) -> Any:
    """Return vectors whose first dimension is the gender."""
    x = np.random.default_rng(seed).standard_normal((len(bios), 6)).astype(np.float32)
    x[:, 0] += share * 4 * bios.genders
    return x


def people(n: int, seed: int = 0) -> Biographies:
    """Return people of two classes, `n` women and men of each."""
    rng = np.random.default_rng(seed)
    rows = [(label, gender) for label in "ab" for gender in "FM" for _ in range(n)]
    rows = [rows[i] for i in rng.permutation(len(rows))]
    labels, genders = zip(*rows, strict=True)
    return Biographies.of("people", map(str, range(len(rows))), labels, genders)


def by_set(rows: list[Row], measure: str = "compression") -> dict[str, Row]:
    return {row.details["set"]: row for row in rows if row.measure == measure}


@given(Codes)
def test_conditional_entropy(pairs: list[tuple[int, int]]) -> None:
    """Σ_y P(y) H(z | y), from counts."""
    total = 0.0
    for label in {y for y, _ in pairs}:
        counts = Counter(z for y, z in pairs if y == label)
        n = sum(counts.values())
        total -= sum(c * math.log2(c / n) for c in counts.values())
    labels, genders = (np.array(column) for column in zip(*pairs, strict=True))
    assert conditional_entropy(labels, genders) == pytest.approx(total / len(pairs), abs=1e-12)


@given(st.integers(0, 400))
def test_usable_fractions_are_the_longest_end_of_the_published(n: int) -> None:
    published = FRACTIONS["published"]
    fractions = usable_fractions(n)
    ends = [published[i:] for i in range(len(published) - LEAST_BLOCKS + 1)]
    assert fractions == next((end for end in ends if needed(end) <= n), ())
    assert (fractions == published) == (n >= 100)


def test_over_all_people_the_values_are_those_of_the_online_code() -> None:
    bios = people(60)
    x = gender_vectors(bios)
    rows = gender_rows(HERE, bios, x)
    code = online_code(x, bios.genders, seed=3)
    whole = {row.measure: row for row in rows if row.details["set"] == "all"}
    assert {name: row.value for name, row in whole.items()} == {
        "compression": code.compression,
        "compression-as-published": code.compression_as_published,
        "codelength": code.codelength,
        "uniform-codelength": code.uniform,
        "probe-accuracy": code.accuracy,
    }
    about = whole["compression"].details
    assert (about["stage"], about["view"], about["seed"]) == ("representation", "own", 3)
    assert (about["n"], about["neutral"], about["better"]) == (240, 1, "lower")
    assert about["control"] == pytest.approx(1)  # as many women as men of each class
    published = whole["compression-as-published"].details["neutral"]
    assert published == pytest.approx(1 / (4 / 240 + (1 - 4 / 240) * math.log(2)))


def test_vectors_of_the_occupation_alone_compress_to_the_control() -> None:
    """Vectors that tell the class and nothing else compress to the control at best."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 600)
    genders = (rng.random(1200) < np.where(labels == 0, 0.9, 0.1)).astype(int)
    bios = Biographies.of("x", map(str, labels), map(str, labels), np.array(["F", "M"])[genders])
    x = np.eye(2, dtype=np.float32)[labels]
    rows = by_set(gender_rows(HERE, bios, x))
    share = [genders[labels == i].mean() for i in (0, 1)]
    entropy = np.mean([-(p * math.log2(p) + (1 - p) * math.log2(1 - p)) for p in share])
    control = rows["all"].details["control"]
    assert control == pytest.approx(1 / entropy)
    assert 1.5 < rows["all"].value <= control
    assert all(rows[name].value <= 1.02 for name in ("0", "1"))  # nothing is left within a class


def test_within_an_occupation_as_many_women_as_men() -> None:
    bios = small_bios()
    x = gender_vectors(bios)
    rows = by_set(gender_rows(HERE, bios, x))
    assert list(rows) == ["all", "dancer", "nurse", "surgeon"]
    counts = bios.counts()
    for i, name in enumerate(bios.classes):
        assert rows[name].details["n"] == 2 * counts[i].min()
    balanced = np.flatnonzero(copies(bios.labels, bios.genders, "subsample", 3))
    own = balanced[bios.labels[balanced] == 0]
    fractions = usable_fractions(len(own))
    assert fractions != FRACTIONS["published"]
    code = online_code(x[own], bios.genders[own], seed=3, fractions=fractions)
    assert rows["dancer"].value == code.compression
    assert "control" not in rows["dancer"].details


def test_over_all_people_can_be_balanced_too() -> None:
    bios = small_bios()
    rows = by_set(gender_rows(HERE, bios, gender_vectors(bios), balanced=True))
    assert rows["all"].details["n"] == 2 * bios.counts().min(1).sum()
    assert rows["all"].details["control"] == pytest.approx(1)


def test_undefined_within_an_occupation() -> None:
    bios = people(60)
    only = bios.take(np.flatnonzero((bios.labels == 0) | (bios.genders == 1)))
    rows = gender_rows(HERE, only, gender_vectors(only))
    lost = [row for row in rows if row.details["set"] == "b"]
    assert len(lost) == 5
    assert {row.value for row in lost} == {None}
    assert lost[0].details["reason"] == "0 biographies are too few for a code of 5 blocks"
    men = only.take(np.flatnonzero(only.genders == 1))
    rows = gender_rows(HERE, men, gender_vectors(men))
    assert "undefined" in by_set(rows)["all"].details["reason"]
    assert "needs two classes at least" in by_set(rows)["all"].details["reason"]


def words(seed: int = 0) -> Representations:
    rng = np.random.default_rng(seed)
    named = [word for _, stimuli in (*CAREER.targets, *CAREER.attributes) for word in stimuli]
    cells = [word for word in named for _ in range(3)]
    x = rng.standard_normal((1, len(cells), 6)).astype(np.float32)
    return Representations(x, (2,), {"word": Column.of(cells)}, name="words")


def test_words_have_the_values_of_ceat() -> None:
    contexts = words()
    (row,) = word_rows(HERE, contexts, CAREER, 50, "a file")
    (expected,) = ceat(contexts, [CAREER], CeatSettings(50, seed=3))
    assert row.value == expected.value
    assert row.details["p"] == expected.details["p"]
    assert (row.subject, row.measure, row.details["stage"]) == (
        "subsample",
        "ceat",
        "representation",
    )
    assert row.details["seed"] == 3


def test_words_without_sentences_are_undefined() -> None:
    (row,) = word_rows(HERE, "no sentence has any", CAREER, 50, "the test part")
    assert row.value is None
    assert row.details["reason"] == "undefined: no sentence has any"
    few = Representations(
        np.ones((1, 2, 3), np.float32), (0,), {"word": Column.of(["Amy", "John"])}, name="few"
    )
    (row,) = word_rows(HERE, few, CAREER, 50, "the test part")
    assert row.value is None
    assert "weat6" in row.details["reason"]


@settings(max_examples=30)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 2, st.integers(0, 1)), min_size=6, max_size=40))
def test_gaps_are_those_of_fairness(cells: list[tuple[int, int, int]]) -> None:
    cells = [*cells, (0, 0, 0), (1, 1, 1), (2, 2, 0)]
    names = ("9", "10", "11")  # sorted as text they are in another order than as numbers
    gold, named, group = zip(*cells, strict=True)
    bios = Biographies.of("x", map(str, range(len(cells))), [names[i] for i in gold],
                          ["FM"[z] for z in group])  # fmt: skip
    assert bios.classes == ("10", "11", "9")
    places = np.array([bios.classes.index(names[i]) for i in named])
    known = {"9": 0.9, "10": 0.3, "11": 0.5}
    shares = np.array([known[name] for name in bios.classes])
    rows = gap_rows(HERE, "after", bios, places, shares)
    confusion = Confusion.of([names[i] for i in gold], [names[i] for i in named],
                             ["FM"[z] for z in group], order=("F", "M"), classes=names)  # fmt: skip
    expected = fairness_rows(
        confusion,
        "subsample",
        Settings(draws=0),
        shares=np.array([known[name] for name in confusion.classes]),
    )
    assert [(r.measure, r.details["set"], r.value) for r in rows] == [
        (r.measure, r.details["set"], r.value) for r in expected
    ]
    assert {row.details["stage"] for row in rows} == {"after"}
    assert {row.details["seed"] for row in rows} == {3}
