"""Changes of an audit and their intervals: paired bootstraps, computed again word by word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.cluster import KMeans

from wordbias import Embedding, Row
from wordbias.draws import change_keys, drawn
from wordbias.measures.panel import Panel, make_panels
from wordbias.measures.sembias import SemBias
from wordbias.methods.methods import fit_methods, parse_columns
from wordbias.methods.settings import METHODS as KNOWN
from wordbias.methods.words import listed_words
from wordbias.pages.audit import Audited, measure_stages, with_changes
from wordbias.pages.stages import PARTS, Column, Compared, Plan
from wordbias.settings import read_chain
from wordbias.word_tasks.sets import AnalogySet, SimilaritySet
from wordbias.wordlists import Attribute, load_queries

Array = np.ndarray[Any, np.dtype[Any]]
SEED = 3
METHODS = "hard misp,leace"
MEASURED = ("midb", "direct-bias", "clustering", "recoverability", "sembias", "weat", "quality")


@pytest.fixture(scope="module")
def panel() -> Panel:
    sample, attribute = Embedding.sample(), Attribute.load()
    queries = [word for query in load_queries() for word in sorted(query.candidates())]
    listed = [*sorted(listed_words(attribute)), *queries]
    small = sample.subset([*sample.words[:9000], *listed])
    return make_panels([small], None, attribute, seed=SEED)[0]


@pytest.fixture(scope="module")
def stages(panel: Panel) -> dict[str, Embedding]:
    """The embedding before and at each column, with fits of our own."""
    embeddings = {"before": panel.embedding}
    for label in parse_columns(METHODS):
        chain = read_chain(label, KNOWN)
        embeddings[label] = fit_methods(chain, panel.embedding, panel.attribute, seed=SEED)[1]
    return embeddings


@pytest.fixture(scope="module")
def plan(panel: Panel) -> Plan:
    rng = np.random.default_rng(0)
    words = [str(word) for word in rng.choice(panel.vocabulary, 40)]
    pairs = tuple(zip(words[:20], words[20:], strict=True))
    scores = tuple(rng.normal(size=20).tolist())
    questions = tuple(
        (("king", "queen"), *zip(rng.choice(words, 3), rng.choice(words, 3), strict=True))
        for _ in range(60)
    )
    capitals = ("france paris germany berlin", "italy rome japan tokyo", "king queen man woman",
                "big bigger small smaller", "walk walking go going")  # fmt: skip
    analogies = tuple(tuple(line.split()) for line in capitals)
    return Plan(
        tuple({*PARTS} - {*MEASURED}),
        sembias=SemBias(questions),
        sets=(
            SimilaritySet("pairs", pairs, scores),
            AnalogySet("google", analogies, ("all",) * len(analogies)),
        ),
        chance=False,
    )


@pytest.fixture(scope="module")
def found(panel: Panel, plan: Plan) -> Audited:
    columns = [Column(label, chain) for label, chain in parse_columns(METHODS).items()]
    return measure_stages([Compared(panel, columns)], plan)


def row_of(found: Audited, measure: str, stage: str, **about: Any) -> Row:
    (row,) = [
        row
        for row in found.rows
        if row.measure == measure and row.details["stage"] == stage
        if about.items() <= row.details.items()
    ]
    return row


def check(row: Row, before: Array, after: Array) -> None:
    """Compare the change of a row with paired bootstrap values of our own."""
    expected = np.percentile(after - before, [2.5, 97.5])
    got = [row.details["change_low"], row.details["change_high"]]
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-9)


def draws(n: int) -> Array:
    return np.random.default_rng(SEED).integers(n, size=(1000, n))


def direct_bias(panel: Panel, embedding: Embedding) -> Array:
    x = embedding.take(panel.vocabulary).astype(float)
    g = embedding["she"].astype(float) - embedding["he"]
    return np.abs(x @ g / np.linalg.norm(x, axis=1) / np.linalg.norm(g))


def midb(panel: Panel, embedding: Embedding) -> Array:
    """MIDB of each word along the PCA, not centred, of all differences of names."""
    first, second = (
        embedding.take([w for w in names if w in embedding]).astype(float)
        if all(name in embedding for name in names)
        else embedding.take([n for n in map(str.lower, names) if n in embedding]).astype(float)
        for names in panel.attribute.members
    )
    differences = (first[:, None] - second[None]).reshape(-1, embedding.dim)
    _, s, g = np.linalg.svd(differences, full_matrices=False)
    a = s**2 / (s**2).sum()
    signed = embedding.take(panel.vocabulary).astype(float) @ g[:4].T * a[:4]
    return np.sqrt((signed**2).sum(1))


@pytest.mark.slow
def test_direct_bias_is_paired_by_word(
    panel: Panel, stages: dict[str, Embedding], found: Audited
) -> None:
    rows = draws(len(panel.vocabulary))
    values = {label: direct_bias(panel, embedding) for label, embedding in stages.items()}
    for label in parse_columns(METHODS):
        row = row_of(found, "direct-bias", label)
        assert row.details["change"] == pytest.approx(
            values[label].mean() - values["before"].mean()
        )
        check(row, *(values[stage][rows].mean(1) for stage in ("before", label)))
        width = row.details["change_high"] - row.details["change_low"]
        assert width < row.details["high"] - row.details["low"] + 0.01


@pytest.mark.slow
def test_midb_is_paired_by_word_along_axes_of_each_stage(
    panel: Panel, stages: dict[str, Embedding], found: Audited
) -> None:
    rows = draws(len(panel.vocabulary))
    values = {label: midb(panel, embedding) for label, embedding in stages.items()}
    for label in parse_columns(METHODS):
        row = row_of(found, "midb-rms", label)
        assert row.value == pytest.approx(np.sqrt((values[label] ** 2).mean()), rel=1e-4)
        before, after = (np.sqrt((values[stage][rows] ** 2).mean(1)) for stage in ("before", label))
        got = [row.details["change_low"], row.details["change_high"]]
        np.testing.assert_allclose(got, np.percentile(after - before, [2.5, 97.5]), rtol=2e-3)


@pytest.mark.slow
def test_clustering_is_paired_by_word(
    panel: Panel, stages: dict[str, Embedding], found: Audited
) -> None:
    chosen = panel.most_biased(1500)
    rows = draws(1500)
    values = {}
    for label, embedding in stages.items():
        x = embedding.take(panel.vocabulary)[chosen.rows]
        of_seeds = []
        for seed in range(SEED, SEED + 10):
            cluster = KMeans(2, n_init=10, random_state=seed).fit_predict(x)
            share = (chosen.labels == cluster)[rows].mean(1)
            of_seeds.append(np.maximum(share, 1 - share))
        values[label] = np.mean(of_seeds, axis=0)
    for label in parse_columns(METHODS):
        check(row_of(found, "clustering-accuracy", label), values["before"], values[label])


@pytest.mark.slow
def test_similarity_is_paired_by_pair_and_analogies_by_question(
    stages: dict[str, Embedding], plan: Plan, found: Audited
) -> None:
    similarity, analogy = plan.sets
    assert isinstance(similarity, SimilaritySet)
    values, right = {}, {}
    for label, embedding in stages.items():
        x = embedding.vectors / np.linalg.norm(
            embedding.vectors.astype(float), axis=1, keepdims=True
        )
        cosine = np.array(
            [x[embedding.index[a]] @ x[embedding.index[b]] for a, b in similarity.pairs]
        )
        scores = np.array(similarity.scores)
        values[label] = np.array(
            [spearmanr(cosine[rows], scores[rows]).statistic for rows in draws(len(cosine))]
        )
        answers = []
        for a, b, c, d in analogy.questions:  # type: ignore[union-attr]
            score = x @ (x[embedding.index[b]] - x[embedding.index[a]] + x[embedding.index[c]])
            score[[embedding.index[word] for word in (a, b, c)]] = -np.inf
            answers.append(embedding.words[int(score.argmax())] == d)
        right[label] = np.array(answers)[draws(len(answers))].mean(1)
    for label in parse_columns(METHODS):
        check(row_of(found, "similarity", label), values["before"], values[label])
        row = row_of(found, "analogy", label, set="google")
        check(row, right["before"], right[label])


@pytest.mark.slow
def test_every_measure_with_an_interval_has_one_of_its_change(found: Audited) -> None:
    measured = {"midb-abs", "direct-bias", "clustering-v", "recoverability-mlp", "weat",
                "sembias-definition", "similarity", "analogy"}  # fmt: skip
    rows = [row for row in found.rows if "column" in row.details and row.value is not None]
    assert measured <= {row.measure for row in rows}
    for row in rows:
        if row.measure in measured:
            low, high = row.details["change_low"], row.details["change_high"]
            assert low <= row.details["change"] <= high or row.measure == "weat"


@pytest.fixture
def row() -> Callable[..., Row]:
    def made(value: float | None, stage: str, samples: Any = None, **about: Any) -> Row:
        column = {} if stage == "before" else {"column": "method"}
        values = None if samples is None else np.array(samples, float)
        return Row("e", "m", value, {"stage": stage, **column, **about}, drawn(values, "words"))

    return made


def test_a_row_changes_from_the_row_of_its_own_setting(row: Callable[..., Row]) -> None:
    before = [row(1.0, "before", setting="a"), row(5.0, "before", setting="b")]
    later = [row(2.0, "x", setting="b"), row(2.0, "x", setting="a"), row(2.0, "x", setting="c")]
    changed = with_changes([*before, *later])
    assert [changed_row.details.get("change") for changed_row in changed] == [
        None,
        None,
        -3,
        1,
        None,
    ]
    assert all("change_low" not in changed_row.details for changed_row in changed)


def test_an_undefined_value_has_no_change(row: Callable[..., Row]) -> None:
    for old, new in ((None, 1.0), (1.0, None)):
        (_, last) = with_changes([row(old, "before", [1, 2]), row(new, "x", [1, 2])])
        assert "change" not in last.details


def test_the_interval_is_of_the_differences_of_pairs() -> None:
    def ends(before: Any, after: Any) -> tuple[Any, Any]:
        rows = [Row("x", "m", 1.0, {}, drawn(samples, "words")) for samples in (before, after)]
        change = change_keys(*rows)
        return change.get("change_low"), change.get("change_high")

    before, after = np.arange(1001.0), np.arange(1001.0) + 7
    assert ends(before, after) == (7, 7)
    assert ends(before, after[::-1]) != (7, 7)
    after[:900] = np.nan
    assert ends(before, after) == (7, 7)
    for other in (None, after[:5], np.full(1001, np.nan)):
        assert ends(before, other) == (None, None)


@pytest.mark.slow
def test_what_did_not_change_has_the_change_0(panel: Panel, plan: Plan) -> None:
    """Draws are alike, so that the interval of no change is a point."""
    same = Column("same", embedding=panel.embedding)
    rows = measure_stages([Compared(panel, [same])], plan).rows
    changed = [row.details for row in rows if "change" in row.details]
    assert len(changed) > 20
    assert {details["change"] for details in changed} == {0}
    ends = {
        (details["change_low"], details["change_high"])
        for details in changed
        if "change_low" in details
    }
    assert ends == {(0, 0)}
