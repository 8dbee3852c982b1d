"""SAME: the formula of the paper anew, its theorems, its interval and its chance level."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cosine

from wordbias import Attribute, Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.chance import draw_nulls
from wordbias.measures.evaluate import evaluate, evaluate_panels
from wordbias.measures.panel import Panel, make_panels
from wordbias.measures.same import MEASURES, difference_of, same_of_words
from wordbias.results import Row
from wordbias.statistics import SAMPLES
from wordbias.wordlists import load_queries, resolve_groups

ORIGINS = Attribute.load("ethnicity:white,black")


@pytest.fixture(scope="module")
def sample() -> Embedding:
    return Embedding.sample()


def panel_of(embedding: Embedding, attribute: Attribute, words: Any = None) -> Panel:
    (panel,) = make_panels([embedding], None, attribute, words)
    return panel


def values(panel: Panel) -> dict[str, Row]:
    return {row.measure: row for row in evaluate(panel, ["same"])}


def as_in_the_paper(targets: Any, first: Any, second: Any) -> tuple[float, float, float]:
    """Compute SAME, skew and stereotype of two groups word by word, from vectors of any length."""
    means = [np.mean([a / np.sqrt(a @ a) for a in group], axis=0) for group in (first, second)]
    bias = [1 - cosine(word, means[0] - means[1]) for word in targets]
    return float(np.mean(np.abs(bias))), float(np.mean(bias)), float(np.std(bias))


@pytest.mark.parametrize("attribute", [Attribute.load(), ORIGINS], ids=["gender", "ethnicity"])
def test_it_is_the_formula_of_the_paper(sample: Embedding, attribute: Attribute) -> None:
    panel = panel_of(sample, attribute, sample.words[300:3000])
    groups = [sample.take(group.found).astype(float) for group in resolve_groups(attribute, sample)]
    expected = as_in_the_paper(panel.vectors.astype(float), *groups)
    rows = values(panel)
    assert [rows[name].value for name in MEASURES] == pytest.approx(expected, rel=1e-7, abs=1e-9)
    assert rows["same"].details["n"] == len(panel.vocabulary)


def test_the_bias_of_a_word_is_the_association_of_weat_over_a_constant(sample: Embedding) -> None:
    """Mean cosine with A minus that with B is the bias times the length of the difference."""
    (query,) = (candidate for candidate in load_queries() if candidate.name == "weat6")
    x, _, a, b = (
        sample.take([word for word in words if word in sample]).astype(float)
        for _, words in (*query.targets, *query.attributes)
    )
    association = [
        np.mean([1 - cosine(word, vector) for vector in a])
        - np.mean([1 - cosine(word, vector) for vector in b])
        for word in x
    ]
    on_unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (a, b)]
    length = np.linalg.norm(on_unit[0].mean(0) - on_unit[1].mean(0))
    bias = same_of_words(x.astype(np.float32), difference_of(*on_unit))
    assert bias * length == pytest.approx(np.array(association), abs=1e-12)


def test_the_length_of_vectors_and_a_rotation_change_nothing(sample: Embedding) -> None:
    words = [*sample.words[:500], *(word.lower() for side in ORIGINS.members for word in side)]
    part, rng = sample.subset(words), np.random.default_rng(0)
    lengths = rng.uniform(0.5, 2, (len(part), 1))
    turned = np.linalg.qr(rng.normal(size=(part.dim, part.dim)))[0]
    moved = part.with_vectors((part.vectors.astype(float) * lengths) @ turned)
    before, after = values(panel_of(part, ORIGINS)), values(panel_of(moved, ORIGINS))
    for name in MEASURES:
        assert after[name].value == pytest.approx(before[name].value, abs=1e-6), name


def test_groups_in_the_other_order_change_only_the_sign_of_the_skew(sample: Embedding) -> None:
    rows = values(panel_of(sample, ORIGINS))
    other = values(panel_of(sample, Attribute.load("ethnicity:black,white")))
    assert other["same-skew"].value == pytest.approx(-(rows["same-skew"].value or 0), abs=1e-12)
    for name in ("same", "same-stereotype"):
        assert other[name].value == pytest.approx(rows[name].value, abs=1e-12)


def test_words_on_one_side_have_skew_and_words_on_both_stereotype() -> None:
    """A word that leans by .6 to one group has cosine .6, and a neutral one has none."""
    groups = {"a1": (1, 0), "a2": (2, 0), "b1": (-3, 0), "b2": (-1, 0)}
    words = {"left": (0.6, 0.8), "leant": (3.0, 4.0), "right": (-0.6, 0.8), "away": (0.0, 1.0)}
    emb = Embedding([*groups, *words], np.array([*groups.values(), *words.values()]), "e")
    attribute = Attribute("side", ("a", "b"), (("a1", "a2"), ("b1", "b2")))
    cases: dict[tuple[str, ...], tuple[float, float, float]] = {
        ("left", "leant"): (0.6, 0.6, 0),
        ("left", "right"): (0.6, 0, 0.6),
        ("away",): (0, 0, 0),
        ("left", "leant", "right", "right"): (0.6, 0, 0.6),
        ("left", "away"): (0.3, 0.3, 0.3),
    }
    for chosen, expected in cases.items():
        rows = values(Panel(emb, emb, chosen, attribute))
        assert [rows[name].value for name in MEASURES] == pytest.approx(expected, abs=1e-7), chosen


def test_the_interval_is_the_bootstrap_over_words(sample: Embedding) -> None:
    """The percentiles of the three values of words drawn again, computed sample by sample."""
    panel = panel_of(sample, ORIGINS, sample.words[300:420])
    groups = [sample.take(group.found).astype(float) for group in resolve_groups(ORIGINS, sample)]
    n = len(panel.vocabulary)
    means = [np.mean(x / np.linalg.norm(x, axis=1, keepdims=True), axis=0) for x in groups]
    bias = np.array([1 - cosine(x, means[0] - means[1]) for x in panel.vectors.astype(float)])
    drawn = bias[panel.rng().integers(n, size=(SAMPLES, n))]
    expected = {
        "same": np.abs(drawn).mean(axis=1),
        "same-skew": drawn.mean(axis=1),
        "same-stereotype": drawn.std(axis=1),
    }
    rows = values(panel)
    for name, of_samples in expected.items():
        interval = (rows[name].details["low"], rows[name].details["high"])
        assert interval == pytest.approx(np.percentile(of_samples, [2.5, 97.5]), rel=1e-5), name


def test_chance_is_the_measure_of_groups_that_do_not_differ(sample: Embedding) -> None:
    """Each draw is SAME along the difference of all words less their group's mean, dealt anew."""
    panel = panel_of(sample, ORIGINS, sample.words[300:700])
    rows = {row.measure: row.details for row in evaluate_panels([panel], ["same"])}
    groups = [sample.take(group.found).astype(float) for group in resolve_groups(ORIGINS, sample)]
    on_unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in groups]
    within = np.concatenate([x - x.mean(0) for x in on_unit])
    drawn = []
    for null in draw_nulls(panel):
        assert null.partition is not None
        first, second = (within[rows].mean(0) for rows in null.partition)
        bias = np.array([1 - cosine(x, first - second) for x in panel.vectors.astype(float)])
        drawn.append((np.abs(bias).mean(), bias.mean(), bias.std()))
    for name, of_draws in zip(MEASURES, np.transpose(drawn), strict=True):
        chances = [rows[name][key] for key in ("chance", "chance_low", "chance_high")]
        expected = [of_draws.mean(), of_draws.min(), of_draws.max()]
        assert chances == pytest.approx(expected, rel=1e-5, abs=1e-7), name


@pytest.mark.slow
def test_it_has_a_value_for_groups_without_pairs_and_direct_bias_has_none(
    cli: Callable[..., Any],
) -> None:
    done = cli(
        "measure", "--only", "same,direct-bias", "--groups", "ethnicity:white,black",
        "--format", "json", "--quiet",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    rows = {row["measure"]: row for row in json.loads(done.out)["rows"]}
    assert rows["direct-bias"]["value"] is None
    assert rows["same"]["beyond_chance"]
    assert rows["same"]["chance_high"] < rows["same"]["low"] < rows["same"]["value"] < 1


def test_groups_whose_means_are_equal_have_no_value() -> None:
    vectors = np.array([(1, 0), (0, 1), (2, 0), (0, 3), (1, 1)])
    emb = Embedding(["a1", "a2", "b1", "b2", "word"], vectors, "e")
    attribute = Attribute("side", ("a", "b"), (("a1", "a2"), ("b1", "b2")))
    rows = evaluate_panels([Panel(emb, emb, ("word",), attribute)], ["same"])
    assert [row.measure for row in rows] == [*MEASURES]
    for row in rows:
        assert (row.value, row.details) == (
            None,
            {"reason": "undefined: the means of the two groups are equal"},
        )


@pytest.mark.parametrize("length", [1e-3, 1, 1e3])
def test_groups_whose_means_are_equal_but_for_rounding_have_no_value(
    sample: Embedding, length: float
) -> None:
    """What a removal leaves in float32 has no direction: it turns with every rotation."""
    first, second = (group.found for group in resolve_groups(Attribute.load(), sample))
    vectors = np.float32(length) * sample.vectors
    own, other = (sample.rows(words)[0] for words in (first, second))
    vectors[other] = np.nextafter(vectors[own], np.float32(1e9))
    panel = panel_of(sample.with_vectors(vectors), Attribute.load(), sample.words[300:900])
    reason = "undefined: the means of the two groups are equal"
    assert [row.details.get("reason") for row in values(panel).values()] == [reason] * 3
    vectors[other] *= 1 + 0.01 * np.random.default_rng(0).normal(size=(len(other), 1))
    vectors[other, 0] += np.float32(0.01 * length)
    panel = panel_of(sample.with_vectors(vectors), Attribute.load(), sample.words[300:900])
    assert None not in [row.value for row in values(panel).values()]


def test_groups_that_an_embedding_does_not_have_are_a_reason(sample: Embedding) -> None:
    part = sample.subset(sample.words[:100])
    (row, *_) = evaluate(Panel(part, part, part.words, ORIGINS), ["same"])
    assert row.value is None
    with pytest.raises(WordbiasError) as refused:
        resolve_groups(ORIGINS, part)
    assert row.details["reason"] == f"undefined: {refused.value}"
