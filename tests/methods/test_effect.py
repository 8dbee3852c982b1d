"""The effect of a debiasing, recomputed by hand on a small embedding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from wordbias import Attribute, Embedding
from wordbias.measures.midb import MIDB
from wordbias.measures.word_lists import Redraw, redraws
from wordbias.methods.beside_null import Removals, with_null
from wordbias.methods.effect import (
    Effect,
    Study,
    change_of,
    changes,
    effect,
    over_lists,
    study,
    with_lists,
)
from wordbias.methods.fitted import Chain
from wordbias.methods.misp import fit
from wordbias.methods.null import random_chains
from wordbias.methods.transform import Projection
from wordbias.results import Row
from wordbias.subspace import Subspace, reweighted

Matrix = NDArray[np.float64]
FIRST = [f"f{i}" for i in range(6)]
SECOND = [f"m{i}" for i in range(5)]
NEUTRAL = [f"w{i}" for i in range(25)]
PAIRS = (("she", "he"), ("her", "his"), ("woman", "man"))
ALONG = (*MIDB, "direct-bias", "direct-bias-pca")
CENTER = [True, False]
ROUNDING = 1e3 * np.finfo(float).eps  # sums of fewer than 1000 terms in float64


@pytest.fixture
def attribute() -> Attribute:
    return Attribute("gender", ("f", "m"), (tuple(FIRST), tuple(SECOND)), PAIRS, direction=PAIRS[0])


@pytest.fixture
def before() -> Embedding:
    words = [*FIRST, *SECOND, *NEUTRAL, *(word for pair in PAIRS for word in pair)]
    rng = np.random.default_rng(5)
    spread = np.linspace(2, 0.5, 8)
    vectors = rng.normal(size=(len(words), 8)) * spread + rng.normal(size=8)
    return Embedding(words, vectors, "small")


@pytest.fixture(params=CENTER, ids=["centred", "uncentred"])
def centre(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def after(before: Embedding, attribute: Attribute, centre: bool) -> Embedding:
    return fit(before, attribute, dims=3, centre=centre)(before)


@pytest.fixture
def measured(before: Embedding, after: Embedding, attribute: Attribute, centre: bool) -> Effect:
    return effect(before, after, NEUTRAL, attribute, dims=3, centre=centre)


def _by_hand(
    fitted_on: Embedding,
    measured_on: Embedding,
    centre: bool,
    *,
    dims: int = 3,
    lists: Attribute | None = None,
) -> dict[str, float]:
    """Every value along the directions, in plain loops over words and materialised differences."""
    names = (FIRST, SECOND) if lists is None else [list(group) for group in lists.members]

    def vectors(emb: Embedding, words: list[str], unit: bool = False) -> Matrix:
        rows = [emb[word].astype(float) for word in words]
        return np.array([row / np.linalg.norm(row) if unit else row for row in rows])

    def principal(unit: bool) -> tuple[Matrix, Matrix]:
        f, m = (vectors(fitted_on, group, unit) for group in names)
        rows = np.array([a - b for a in f for b in m])
        delta = rows.mean(0)
        rows = rows - delta if centre else rows
        values, g = np.linalg.eigh(rows.T @ rows)
        g = g[:, ::-1].T[:dims]
        return g * np.sign(g @ delta)[:, None], values[::-1][:dims] / values.sum()

    def weighted(unit: bool) -> Matrix:
        g, a = principal(unit)
        x = vectors(measured_on, NEUTRAL, unit)
        return np.array([[a[i] * (g[i] @ w) for i in range(dims)] for w in x])

    def mean_cosine(direction: Matrix) -> float:
        x = vectors(measured_on, NEUTRAL, unit=True)
        return float(np.mean([abs(w @ direction) / np.linalg.norm(direction) for w in x]))

    halves = np.array([(fitted_on[a].astype(float) - fitted_on[b]) / 2 for a, b in PAIRS])
    plain, on_unit = weighted(unit=False), weighted(unit=True)
    return {
        "midb": plain.sum(1).mean(),
        "midb-abs": np.abs(plain.sum(1)).mean(),
        "midb-rms": np.sqrt((plain**2).sum(1).mean()),
        "midb-unit": on_unit.sum(1).mean(),
        "midb-unit-abs": np.abs(on_unit.sum(1)).mean(),
        "midb-unit-rms": np.sqrt((on_unit**2).sum(1).mean()),
        "direct-bias": mean_cosine(fitted_on["she"].astype(float) - fitted_on["he"]),
        "direct-bias-pca": mean_cosine(np.linalg.eigh(halves.T @ halves)[1][:, -1]),
    }


def _values(rows: list[Row], **details: str) -> dict[str, float | None]:
    return {
        row.measure: row.value
        for row in rows
        if row.measure in ALONG
        and {key: row.details.get(key) for key in ("stage", "reference")}
        == {"stage": None, "reference": None} | details
    }


def _assert_equal(got: dict[str, float | None], expected: dict[str, float], slack: float) -> None:
    assert list(got) == list(ALONG)
    for name, value in expected.items():
        # these are measured on vectors of unit length that are rounded to float32
        bound = 8 * 2**-24 if name.startswith("midb-unit") else slack
        assert got[name] == pytest.approx(value, abs=bound, rel=0), name


def test_before(before: Embedding, centre: bool, measured: Effect) -> None:
    got = _values(measured.rows, stage="before")
    _assert_equal(got, _by_hand(before, before, centre), ROUNDING)


def test_after_along_directions_fitted_before(
    before: Embedding, after: Embedding, centre: bool, measured: Effect
) -> None:
    got = _values(measured.rows, stage="after", reference="before")
    _assert_equal(got, _by_hand(before, after, centre), ROUNDING)


def test_after_along_new_directions(after: Embedding, centre: bool, measured: Effect) -> None:
    got = _values(measured.rows, stage="after", reference="self")
    _assert_equal(got, _by_hand(after, after, centre), ROUNDING)


def test_the_two_references_differ(measured: Effect) -> None:
    frozen = _values(measured.rows, stage="after", reference="before")
    anew = _values(measured.rows, stage="after", reference="self")
    assert all(frozen[name] != anew[name] for name in ("midb", "midb-rms", "direct-bias-pca"))


def test_every_row_has_its_keys(measured: Effect) -> None:
    common = {"subject", "measure", "value", "stage", "neutral", "better", "n"}
    for row in measured.rows:
        record = row.to_dict()
        extra = set(record) - common - {"centred", "length_ratio"}
        assert ("centred" in record) == row.measure.startswith("midb")
        assert common <= set(record)
        if row.measure == "neighbours-preserved":
            assert extra == {"setting"}
        elif row.measure == "displacement":
            assert extra <= {"word"}
        elif record["stage"] == "before":
            assert extra == set()
        else:
            assert extra == {"reference"}
        assert record["subject"] == "small"
        assert record["n"] == (1 if "word" in extra else 25)
    assert len(measured.rows) == 3 * 8 + 2 + 10


@pytest.mark.parametrize(
    ("measure", "neutral", "better"),
    [
        ("midb", 0, "neutral"),
        ("midb-abs", 0, "lower"),
        ("midb-rms", 0, "lower"),
        ("midb-unit", 0, "neutral"),
        ("direct-bias", 0, "lower"),
        ("direct-bias-pca", 0, "lower"),
        ("displacement", 0, "lower"),
        ("neighbours-preserved", 1, "higher"),
    ],
)
def test_every_measure_has_a_neutral_value_and_a_direction(
    measured: Effect, measure: str, neutral: float, better: str
) -> None:
    rows = [row for row in measured.rows if row.measure == measure]
    assert rows
    assert {(row.details["neutral"], row.details["better"]) for row in rows} == {(neutral, better)}


def test_displacement_is_the_mean_and_the_most_moved_words_come_first(
    before: Embedding, after: Embedding, measured: Effect
) -> None:
    moved = {
        word: float(
            np.linalg.norm(after[word].astype(float) - before[word])
            / np.linalg.norm(before[word].astype(float))
        )
        for word in NEUTRAL
    }
    whole, *words = (row for row in measured.rows if row.measure == "displacement")
    assert whole.value == pytest.approx(np.mean(list(moved.values())), rel=ROUNDING)
    ranked = sorted(moved, key=moved.__getitem__, reverse=True)[:10]
    assert words == measured.most_moved
    assert [row.details["word"] for row in words] == ranked
    for row in words:
        assert row.value == pytest.approx(moved[row.details["word"]], rel=ROUNDING)


def test_neighbours_are_counted_among_the_vocabulary(
    before: Embedding, after: Embedding, measured: Effect
) -> None:
    def nearest(emb: Embedding, word: str) -> set[str]:
        def cosine(other: str) -> float:
            a, b = emb[word].astype(float), emb[other].astype(float)
            return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

        return set(sorted((w for w in NEUTRAL if w != word), key=cosine, reverse=True)[:10])

    row = next(row for row in measured.rows if row.measure == "neighbours-preserved")
    shares = [len(nearest(before, word) & nearest(after, word)) / 10 for word in NEUTRAL]
    assert row.details["setting"] == "k=10"
    assert row.value == pytest.approx(np.mean(shares), rel=ROUNDING)


def test_an_unchanged_embedding_has_no_effect(before: Embedding, attribute: Attribute) -> None:
    rows = effect(before, before, NEUTRAL, attribute, dims=3).rows
    stages = [
        _values(rows, stage="before"),
        _values(rows, stage="after", reference="before"),
        _values(rows, stage="after", reference="self"),
    ]
    assert stages[0] == stages[1] == stages[2]
    rest = {(row.measure, row.value) for row in rows if row.measure not in ALONG}
    assert rest == {("displacement", 0), ("neighbours-preserved", 1)}


def test_the_order_of_the_vocabulary_does_not_matter(
    before: Embedding, after: Embedding, attribute: Attribute, centre: bool, measured: Effect
) -> None:
    reordered = effect(before, after, NEUTRAL[::-1], attribute, dims=3, centre=centre)
    for row, other in zip(measured.rows, reordered.rows, strict=True):
        assert row.value == pytest.approx(other.value, rel=ROUNDING)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_permuted_and_mirrored_space_has_the_same_values(
    before: Embedding,
    after: Embedding,
    attribute: Attribute,
    centre: bool,
    measured: Effect,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    order, signs = rng.permutation(8), rng.choice([-1, 1], 8)  # a rotation without rounding

    def turn(emb: Embedding) -> Embedding:
        return emb.with_vectors(emb.vectors[:, order] * signs)

    turned = effect(turn(before), turn(after), NEUTRAL, attribute, dims=3, centre=centre)
    for row, other in zip(measured.rows, turned.rows, strict=True):
        bound = 8 * 2**-24 if row.measure == "midb-unit" else ROUNDING
        assert row.value == pytest.approx(other.value, abs=bound, rel=0)


@pytest.fixture
def reasons(before: Embedding, attribute: Attribute) -> Callable[..., dict[str, str]]:
    def find(after: Embedding, attribute: Attribute = attribute) -> dict[str, str]:
        rows = effect(before, after, NEUTRAL, attribute, dims=3).rows
        assert all((row.value is None) == ("reason" in row.details) for row in rows)
        anew = [row for row in rows if row.details.get("reference") == "self"]
        assert [row.measure for row in anew] == list(ALONG)
        return {row.measure: row.details["reason"] for row in anew if row.value is None}

    return find


def test_direct_bias_is_undefined_where_she_equals_he(
    before: Embedding, reasons: Callable[..., dict[str, str]]
) -> None:
    vectors = before.vectors.copy()
    vectors[before.index["he"]] = vectors[before.index["she"]]
    undefined = reasons(before.with_vectors(vectors))
    assert undefined == {
        "direct-bias": "undefined: ‖she − he‖ is 0.000 of their mean length, below 0.1"
    }


def test_everything_is_undefined_where_all_vectors_are_zero(
    before: Embedding, reasons: Callable[..., dict[str, str]]
) -> None:
    undefined = reasons(before.with_vectors(np.zeros_like(before.vectors)))
    assert set(undefined) == set(ALONG)
    assert all(reason.startswith("undefined: ") for reason in undefined.values())


def test_an_attribute_without_pairs_still_has_midb(
    before: Embedding, reasons: Callable[..., dict[str, str]]
) -> None:
    bare = Attribute("age", ("f", "m"), (tuple(FIRST), tuple(SECOND)))
    undefined = reasons(before, bare)
    assert set(undefined) == {"direct-bias", "direct-bias-pca"}
    assert undefined["direct-bias"].startswith("undefined: the attribute age has no pairs")
    assert "the attribute age has no pairs" in undefined["direct-bias-pca"]


def test_one_neutral_word_has_no_neighbours(before: Embedding, attribute: Attribute) -> None:
    rows = effect(before, before, ["w0"], attribute, dims=3).rows
    last = rows[-1]
    assert (last.measure, last.value) == ("neighbours-preserved", None)
    assert last.details["reason"] == "undefined: the vocabulary has a single word"


def test_directions_projected_out_whole_are_not_fitted_anew_on_rounding(
    before: Embedding,
) -> None:
    """Two groups of two words span two dimensions; without them only float32 noise is left."""
    few = Attribute("few", ("f", "m"), (tuple(FIRST[:2]), tuple(SECOND[:2])), PAIRS, (), PAIRS[0])
    after = fit(before, few, dims=2, hard=True)(before)
    rows = effect(before, after, NEUTRAL, few, dims=2).rows
    anew = [row for row in rows if row.details.get("reference") == "self"]
    assert {row.measure for row in anew if row.value is None} == set(MIDB)


def test_changes_are_after_less_before_or_less_no_change(measured: Effect) -> None:
    differences = changes(measured.rows)
    before = _values(measured.rows, stage="before")
    for reference in ("before", "self"):
        after = _values(measured.rows, stage="after", reference=reference)
        for name in ALONG:
            was, now = before[name], after[name]
            assert was is not None
            assert now is not None
            assert differences.pop((name, reference)) == now - was
    whole = {row.measure: row.value for row in measured.rows if "word" not in row.details}
    preserved = whole["neighbours-preserved"]
    assert preserved is not None
    assert differences == {
        ("displacement", ""): whole["displacement"],
        ("neighbours-preserved", ""): preserved - 1,
    }


@pytest.mark.parametrize("hard", [False, True])
def test_random_removals_are_measured_as_the_fitted_one_is(
    before: Embedding, attribute: Attribute, hard: bool
) -> None:
    report = study(before, NEUTRAL, attribute, dims=3, hard=hard, null=4, seed=7)
    alone = study(before, NEUTRAL, attribute, dims=3, hard=hard, seed=7)
    assert [row.value for row in report.rows] == [row.value for row in alone.rows]
    assert not any("null" in row.details for row in alone.rows)
    for draw, removal in enumerate(random_chains(Chain((report.projection,)), range(4), seed=7)):
        after = removal(before)
        expected = changes(effect(before, after, NEUTRAL, attribute, dims=3, seed=7).rows)
        null = {
            change_of(r): r.draws["null"].values[draw] for r in report.rows if "null" in r.draws
        }
        assert null == expected
    with_draws = {
        (row.measure, row.details.get("reference")) for row in report.rows if "null" in row.details
    }
    assert with_draws == {(name, of) for name in ALONG for of in ("before", "self")} | {
        ("displacement", None),
        ("neighbours-preserved", None),
    }


def _beside(rows: list[Row], others: list[dict[tuple[str, str], float]]) -> list[Row]:
    """Put rows beside random removals whose changes are given."""
    removals = Removals({"null": [Chain(())] * len(others)}, {}, {})
    return with_null(rows, removals, changes(rows), others, change_of)


@pytest.mark.parametrize("seed", range(4))
def test_removals_that_keep_as_many_neighbours_are_ties(seed: int) -> None:
    """Other words lose them, so that the same shares are added in another order."""
    rng = np.random.default_rng(seed)
    shares = rng.binomial(10, 0.96, 1000) / 10
    about = {"neutral": 1.0, "better": "higher", "stage": "after"}
    rows = [Row("a", "neighbours-preserved", float(shares.mean()), about)]
    drawn = np.array([rng.permutation(shares).mean() - 1.0 for _ in range(100)])
    assert len({*drawn}) > 1  # by rounding
    key = ("neighbours-preserved", "")
    row = _beside(rows, [{key: change} for change in drawn])[0]
    assert (row.details["null_less"], row.details["null_p"]) == (0, 1)


@given(
    drawn=st.lists(st.integers(-5, 5).map(lambda i: i / 4), min_size=1, max_size=30),
    real=st.integers(-5, 5).map(lambda i: i / 4),
)
def test_p_is_the_rank_of_the_change_among_all_removals(drawn: list[float], real: float) -> None:
    """With ties, which count against the fitted removal."""
    about = {"neutral": 0.0, "better": "lower"}
    rows = [
        Row("a", "direct-bias", 0.25, {**about, "stage": "before"}),
        Row("a", "direct-bias", 0.25 + real, {**about, "stage": "after", "reference": "before"}),
        Row("a", "midb", None, {**about, "stage": "after", "reference": "before", "reason": "x"}),
        Row("a", "displacement", 1.0, {**about, "stage": "after", "word": "nurse"}),
    ]
    keys = [("direct-bias", "before"), ("midb", "before"), ("displacement", "")]
    ranked = _beside(rows, [dict.fromkeys(keys, change) for change in drawn])
    assert [row for row in ranked if "null" in row.details] == [ranked[1]]
    details = ranked[1].details
    everything = [real, *drawn]
    as_large = [abs(change) >= abs(real) for change in everything]
    assert details["null_p"] == pytest.approx(np.mean(as_large))
    assert (details["change"], details["null_draws"]) == (real, len(drawn))
    assert details["null_less"] == len(everything) - sum(as_large)
    assert details["null"] == pytest.approx(np.mean(drawn))
    middle = {end: value for end, value in details.items() if end in ("null_low", "null_high")}
    low, high = np.percentile(drawn, [2.5, 97.5])
    expected = {"null_low": low, "null_high": high} if len(drawn) > 1 else {}
    assert middle == pytest.approx(expected)


def _with_copies(
    base: Embedding, attribute: Attribute, drawn: Redraw, left_out: bool = False
) -> tuple[Embedding, Attribute]:
    """Return an embedding with a word of its own for each drawn word, and the lists of these."""
    words, vectors = list(base.words), list(base.vectors)

    def copy(word: str) -> str:
        words.append(f"{word}.{len(words)}")
        vectors.append(base[word])
        return words[-1]

    def chosen(names: tuple[str, ...], places: NDArray[np.intp]) -> list[str]:
        return [n for i, n in enumerate(names) if i not in places] if left_out else [
            names[i] for i in places
        ]  # fmt: skip

    first, second = (
        tuple(map(copy, chosen(names, places)))
        for names, places in zip(attribute.members, drawn.words, strict=True)
    )
    pairs = tuple((copy(a), copy(b)) for a, b in (attribute.pairs[i] for i in drawn.pairs))
    assert drawn.axis is not None
    a, b = attribute.pairs[drawn.axis]
    lists = Attribute("gender", ("f", "m"), (first, second), pairs, direction=(copy(a), copy(b)))
    return Embedding(words, np.array(vectors), base.name), lists


@pytest.mark.parametrize("hard", [False, True])
def test_a_redraw_of_the_lists_is_a_run_with_lists_of_copied_words(
    before: Embedding, attribute: Attribute, centre: bool, hard: bool
) -> None:
    """A second implementation: fitted to and measured with the words that were drawn."""
    names = tuple(tuple(f"{side}{i}" for i in range(20)) for side in "ab")
    attribute = replace(attribute, members=names)
    shifted = before.vectors[:40] + np.repeat([[1.0], [-1.0]], 20, axis=0)
    words, vectors = [*before.words, *names[0], *names[1]], [*before.vectors, *shifted]
    many = Embedding(words, np.array(vectors), "many")

    weights = "variance" if hard else "0.9,0.4"
    options: dict[str, Any] = {"dims": 2, "centre": centre}

    def run(embedding: Embedding, lists: Attribute, draws: int = 0) -> Study:
        more = {**options, "weights": weights, "hard": hard, "lists": draws}
        return study(embedding, NEUTRAL, lists, **more)

    def removal(subspace: Subspace) -> Projection:
        return Projection(reweighted(subspace, weights), hard)

    redrawn = over_lists(many, NEUTRAL, attribute, removal, 3, **options)
    rows, alone = (run(many, attribute, draws).rows for draws in (3, 0))
    assert [row.value for row in rows] == [row.value for row in alone]
    checked = set()
    for i, drawn in enumerate(redraws(attribute, 3)):
        by_hand = run(*_with_copies(many, attribute, drawn))
        for row in by_hand.measured.rows:
            if "word" not in row.details:
                key = row.measure, row.details["stage"], row.details.get("reference", "")
                assert redrawn[key][i] == pytest.approx(row.value, rel=1e-5, abs=1e-6)
                checked.add(key)
        others, unseen = _with_copies(many, attribute, drawn, left_out=True)
        for stage, embedding in (("before", others), ("after", by_hand.projection(others))):
            along = _by_hand(others, embedding, centre, dims=2, lists=unseen)
            for name in MIDB:
                # after: vectors that are rounded to float32, less what is removed of them
                got = redrawn[name, stage, "left-out"][i]
                assert got == pytest.approx(along[name], abs=1e-6, rel=0)
                checked.add((name, stage, "left-out"))
    assert checked == set(redrawn)
    for row in rows:
        if "lists" in row.draws:
            key = row.measure, row.details["stage"], row.details.get("reference", "")
            np.testing.assert_array_equal(row.draws["lists"].values, redrawn[key])


def test_intervals_over_word_lists_are_percentiles_over_the_redraws(
    before: Embedding, attribute: Attribute
) -> None:
    report = study(before, NEUTRAL, attribute, dims=2, lists=7, null=2)
    own = ("lists", "change_lists", "unseen")
    assert [
        {k: v for k, v in row.details.items() if not k.startswith(own)} for row in report.rows
    ] == [row.details for row in study(before, NEUTRAL, attribute, dims=2, null=2).rows]
    fitted = partial(Projection, hard=False)
    lists = over_lists(before, NEUTRAL, attribute, fitted, 7, dims=2)
    over = {key: values for key, values in lists.items() if key[2] != "left-out"}
    rows = {
        (row.measure, row.details["stage"], row.details.get("reference", "")): row
        for row in report.rows
        if "lists_draws" in row.details
    }
    assert set(rows) == set(over)
    for (measure, stage, reference), row in rows.items():
        about, values = row.details, over[measure, stage, reference]
        assert about["lists_draws"] == np.isfinite(values).sum()
        assert about["lists"] == pytest.approx(np.nanmean(values))
        ends = np.nanpercentile(values, [2.5, 97.5])
        assert (about["lists_low"], about["lists_high"]) == pytest.approx(tuple(ends))
        assert ("change" in about) == (stage == "after")
        if stage == "before":
            continue
        change = values - over.get((measure, "before", ""), about["neutral"])
        ends = np.nanpercentile(change, [2.5, 97.5])
        assert (about["change_lists_low"], about["change_lists_high"]) == pytest.approx(tuple(ends))
        assert ("unseen_change" in about) == (measure in MIDB and reference == "before")
        if "unseen_change" in about:
            start, end = (lists[measure, s, "left-out"] for s in ("before", "after"))
            assert about["unseen_change"] == pytest.approx(np.nanmean(end - start))
            assert about["unseen_before"] == pytest.approx(np.nanmean(start))
            ends = np.nanpercentile(end - start, [2.5, 97.5])
            assert about["unseen_low"] == pytest.approx(ends[0])
            assert about["unseen_high"] == pytest.approx(ends[1])


def test_a_redraw_without_a_value_is_not_counted() -> None:
    about = {"neutral": 0.0, "better": "lower"}
    rows = [
        Row("a", "midb-rms", 0.5, {**about, "stage": "before"}),
        Row("a", "midb-rms", 0.25, {**about, "stage": "after", "reference": "before"}),
        Row("a", "midb", None, {**about, "stage": "before", "reason": "x"}),
        Row("a", "direct-bias", 0.5, {**about, "stage": "before"}),
        Row("a", "direct-bias-pca", None, {**about, "stage": "before", "reason": "x"}),
        Row("a", "direct-bias-pca", 0.5, {**about, "stage": "after", "reference": "self"}),
    ]
    nan = np.nan
    lists = {
        ("midb-rms", "before", ""): np.array([0.5, nan, 1.0]),
        ("midb-rms", "after", "before"): np.array([0.25, nan, 0.25]),
        ("midb", "before", ""): np.array([nan, nan, nan]),
        ("direct-bias", "before", ""): np.array([nan, nan, nan]),
        ("direct-bias-pca", "after", "self"): np.array([0.5, 0.25, nan]),
    }
    before, after, *others, refitted = with_lists(rows, lists, "lists of one call")
    assert (before.details["lists_draws"], after.details["lists_draws"]) == (2, 2)
    assert others == rows[2:-1]
    assert refitted.details["lists_draws"] == 2
    assert "change" not in refitted.details  # there is no value before
    assert after.details["change"] == -0.25
    assert after.details["change_lists_low"] == pytest.approx(-0.75 + 0.025 * 0.5)
