"""Bias by neighbours against the sentence of the paper, word by word (Gonen and Goldberg 2019)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from quick_cases import first_quick
from scipy.stats import pearsonr

import wordbias as wb
from wordbias import Attribute, Embedding, verdicts
from wordbias.measures.chance import Null, draw_nulls
from wordbias.measures.neighbour_bias import (
    chance_of_neighbour_bias,
    correlation_of,
    moments,
    neighbour_bias_rows,
)
from wordbias.measures.panel import Panel, make_panels
from wordbias.methods import hard
from wordbias.results import Row

K = 100


@pytest.fixture(scope="module")
def panels() -> list[Panel]:
    sample = Embedding.sample()
    part = sample.subset(sample.words[:3000])
    given = [word for word in part.words[:700] if word.isalpha()]
    return make_panels([part, hard.fit(part)(part)], part, Attribute.load(), given)


def _by_hand(panel: Panel, axis: np.ndarray) -> float:
    """Sort all cosines of each word, count the neighbours that leaned to the first group."""
    words = panel.embedding.words
    now, before = (
        {w: space[w].astype(float) for w in words} for space in (panel.embedding, panel.original)
    )
    for vectors in (now, before):
        for word, x in vectors.items():
            vectors[word] = x / np.linalg.norm(x)
    leans, shares, table = [], [], np.array(list(now.values()))
    for word in panel.vocabulary:
        others = [other for other in words if other != word]
        cosines = np.delete(table @ now[word], words.index(word))
        near = [others[i] for i in np.argsort(-cosines, kind="stable")[:K]]
        leans.append(before[word] @ axis)
        shares.append(sum(before[other] @ axis > 0 for other in near) / K)
    return float(pearsonr(leans, shares).statistic)


@pytest.mark.parametrize("place", first_quick([0, 1]))
def test_the_value_is_that_of_the_paper_word_by_word(panels: list[Panel], place: int) -> None:
    panel = panels[place]
    axis = panel.original["she"].astype(float) - panel.original["he"]
    (row,) = neighbour_bias_rows(panel)
    assert row.value is not None
    # float32 vectors turn no neighbour of these words, and their cosines by 1e-7
    assert row.value == pytest.approx(_by_hand(panel, axis / np.linalg.norm(axis)), abs=1e-6)
    assert row.details["low"] < row.value < row.details["high"]
    assert (row.details["k"], row.details["among"], row.details["unit"]) == (K, 3000, "words")


@pytest.mark.slow
def test_chance_is_the_value_along_the_other_axis(panels: list[Panel]) -> None:
    panel = panels[0]
    nulls = draw_nulls(panel, 3)
    (values,) = chance_of_neighbour_bias(panel, nulls).values()
    for null, value in zip(nulls, values, strict=True):
        assert null.direction is not None
        assert value == pytest.approx(_by_hand(panel, null.direction.defined().basis[0]), abs=1e-6)
    none: list[Null] = [replace(nulls[0], axis=None)]
    assert np.isnan(chance_of_neighbour_bias(panel, none)["neighbour-bias", ""]).all()


def test_resampled_values_are_correlations_of_the_words_drawn() -> None:
    rng = np.random.default_rng(0)
    pairs = rng.normal(size=(40, 2)) * (1e-3, 1) + (5, 0.5)
    drawn = rng.integers(40, size=40)
    expected = pearsonr(*pairs[drawn].T).statistic
    # squares of 40 values add up, less the square of a mean of their own size
    assert correlation_of(moments(pairs)[drawn].mean(0)) == pytest.approx(expected, abs=1e-13)
    assert np.isnan(correlation_of(moments(np.ones((4, 2))).mean(0)))


def test_lengths_and_rotations_change_nothing(panels: list[Panel]) -> None:
    panel, rng = panels[1], np.random.default_rng(1)
    turn = np.linalg.qr(rng.normal(size=(100, 100)))[0]
    lengths = rng.uniform(0.5, 2, (len(panel.embedding), 1))
    vectors = (lengths * panel.embedding.vectors @ turn).astype(np.float32)
    turned = Embedding(panel.embedding.words, vectors, "turned")
    (row,), (other,) = (
        neighbour_bias_rows(variant) for variant in (panel, replace(panel, embedding=turned))
    )
    assert other.value == pytest.approx(row.value, abs=1e-4)  # of 70,000 neighbours few may swap


def test_neighbours_that_know_nothing_of_the_original_have_no_correlation(
    panels: list[Panel],
) -> None:
    """Its standard deviation over assignments of the words is 1/√(n − 1)."""
    panel, rng = panels[0], np.random.default_rng(2)
    words = panel.embedding.words
    shuffled = panel.embedding.vectors[rng.permutation(len(words))]
    (row,) = neighbour_bias_rows(replace(panel, embedding=Embedding(words, shuffled, "shuffled")))
    assert row.value is not None
    assert abs(row.value) < 5 / np.sqrt(len(panel.vocabulary) - 1)


def test_what_has_no_value_says_why(panels: list[Panel]) -> None:
    sample = panels[0].embedding
    few = sample.subset(["she", "he", *(word for word in sample.words[:90] if len(word) > 3)])
    (row,) = neighbour_bias_rows(Panel(few, few, few.words[5:20], Attribute.load()))
    assert row.value is None
    assert row.details["reason"] == f"undefined: {len(few)} words are too few for 100 neighbours"
    no_axis = Attribute.load({"one": ["she", "her"], "two": ["he", "his"]})
    (row,) = neighbour_bias_rows(replace(panels[0], attribute=no_axis))
    assert row.value is None
    assert "has no pairs" in row.details["reason"]


@pytest.mark.slow
def test_everything_but_the_function_and_the_entry_is_of_the_pipeline(panels: list[Panel]) -> None:
    """Chance, removals at random, redrawn lists, seeds, paired changes, page and verdict."""
    before, name = panels[0].embedding, "neighbour-bias"
    clean = wb.debias(
        before, "hard:equalise=no", measure=True, only=[name], null=2, vocab=panels[0].vocabulary
    )
    last = clean.report[name][-1].details
    assert {"chance_low", "beyond_chance", "change", "null_p", "null_as_far_low"} <= last.keys()
    reports = [
        wb.measure(vectors, only=[name], original=before, vocab=panels[0].vocabulary, seed_lists=3)
        for vectors in (before, clean)
    ]
    assert reports[1][name][0].details["lists_draws"] == 3
    (change,) = wb.changes(*reports)[name]
    assert change.details["paired"] == "words"
    assert change.details["change_low"] < change.details["change"] < change.details["change_high"]
    page = wb.report(reports[1])
    assert "Gonen and Goldberg (2019)" in page.page()
    verdict = verdicts.change(*(report[name][0].to_dict() for report in reports))
    assert verdict in ("better", "no clear change", "hardly changed")

    def measured(embedding: Embedding, seed: int) -> list[Row]:
        given = {"original": before, "vocab": panels[0].vocabulary, "seed": seed}
        return wb.measure(embedding, only=[name], **given)[name]

    experiment = wb.Experiment({"before": before, "clean": clean}, measured, seeds=(0, 1))
    mean = experiment.run()[name][-1]
    assert (mean.subject, mean.details["seeds"]) == ("clean", 2)
    assert mean.details["change"] == pytest.approx(change.details["change"], abs=1e-12)
