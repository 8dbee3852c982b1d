"""GN-GloVe vectors are split; ordinary vectors are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from quick_cases import examples
from sklearn.metrics import roc_auc_score

from wordbias import Attribute, Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Chain, Fitted
from wordbias.methods.gn_glove import SEPARATION, LastCoordinate, fit, separation, split
from wordbias.methods.storage import Origin, load_chain, save_chain
from wordbias.methods.transform import turns
from wordbias.results import Row


def _with_coordinate(embedding: Embedding, values: Any) -> Embedding:
    wider = np.concatenate([embedding.vectors, np.asarray(values)[:, None]], 1)
    return Embedding(embedding.words, wider, "gn")


@pytest.fixture(scope="module")
def gendered(sample: Embedding) -> Embedding:
    """What GN-GloVe has by its definition: words of one group at 1, of the other at −1."""
    gender = Attribute.load()
    pairs = [*gender.pairs, *gender.equalise]
    values = np.random.default_rng(0).normal(0, 0.1, len(sample))
    for side, place in zip(zip(*pairs, strict=True), (-1.0, 1.0), strict=True):
        values[sample.rows(side)[0]] = place
    return _with_coordinate(sample, values)


def _row(fitted: Fitted, measure: str, **details: Any) -> Row:
    (row,) = (
        row
        for row in fitted.found
        if row.measure == measure and details.items() <= row.details.items()
    )
    return row


# The split


def test_the_last_coordinate_is_set_to_zero(gendered: Embedding) -> None:
    fitted = fit(gendered)
    neutral = fitted(gendered)
    np.testing.assert_array_equal(neutral.vectors[:, :-1], gendered.vectors[:, :-1])
    assert not neutral.vectors[:, -1].any()
    assert (neutral.name, neutral.words) == ("gn.gn-glove", gendered.words)
    assert turns(gendered.vectors, neutral.vectors)
    assert not fitted.exempt
    assert not len(fitted.replaced)


def test_the_last_coordinate_is_dropped(gendered: Embedding, sample: Embedding) -> None:
    neutral = fit(gendered, drop_last=True)(gendered)
    np.testing.assert_array_equal(neutral.vectors, sample.vectors)


def test_both_ways_have_the_same_inner_products(gendered: Embedding) -> None:
    zeroed, dropped = (
        fit(gendered, drop_last=drop)(gendered).vectors[:50].astype(float) for drop in (False, True)
    )
    np.testing.assert_allclose(zeroed @ zeroed.T, dropped @ dropped.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("drop", [False, True])
def test_it_is_stored(gendered: Embedding, tmp_path: Path, drop: bool) -> None:
    fitted = fit(gendered, drop_last=drop)
    save_chain(tmp_path / "gn", Chain((fitted,)), Origin.of(gendered))
    loaded = load_chain(tmp_path / "gn")[0].parts[0]
    assert loaded.steps == fitted.steps
    np.testing.assert_array_equal(loaded(gendered).vectors, fitted(gendered).vectors)


def test_split_and_join(gendered: Embedding, sample: Embedding) -> None:
    neutral, w_g = split(gendered)
    assert neutral.name == "gn.w_a"
    assert neutral.words == gendered.words
    np.testing.assert_array_equal(neutral.vectors, sample.vectors)
    np.testing.assert_array_equal(w_g, gendered.vectors[:, -1])
    np.testing.assert_array_equal(np.column_stack([neutral.vectors, w_g]), gendered.vectors)
    assert w_g.dtype == np.float32


def test_the_parts_share_no_memory_with_the_vectors(gendered: Embedding) -> None:
    before = gendered.vectors.copy()
    w_g = split(gendered)[1]
    w_g += 1
    np.testing.assert_array_equal(gendered.vectors, before)


@settings(max_examples=examples(60), deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(0, 3), st.integers(1, 3), st.just(4))), st.booleans()
)
def test_rows_of_any_shape(x: Any, drop: bool) -> None:
    before = x.copy()
    mapped = LastCoordinate(drop, 4)(x)
    assert mapped.shape == (*x.shape[:-1], 3 if drop else 4)
    np.testing.assert_array_equal(mapped[..., :3], x[..., :3])
    if not drop:
        assert not mapped[..., 3].any()
    mapped += 1
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("drop", [False, True])
def test_the_type_is_kept(dtype: Any, drop: bool) -> None:
    assert LastCoordinate(drop, 3)(np.ones(3, dtype)).dtype == dtype


def test_applying_twice_is_applying_once() -> None:
    step, x = LastCoordinate(False, 5), np.random.default_rng(0).normal(size=(4, 5))
    np.testing.assert_array_equal(step(step(x)), step(x))


# The check


@settings(max_examples=examples(60), deadline=None)
@given(
    arrays(np.int64, st.integers(1, 9), elements=st.integers(-3, 3)),
    arrays(np.int64, st.integers(1, 9), elements=st.integers(-3, 3)),
)
def test_the_area_under_the_curve(first: Any, second: Any) -> None:
    labels = np.repeat([1, 0], [len(first), len(second)])
    area = roc_auc_score(labels, np.concatenate([first, second]))
    auc = separation(first, second)
    assert auc == pytest.approx(max(area, 1 - area), abs=1e-12)
    assert 0.5 <= auc <= 1
    assert separation(second, first) == pytest.approx(auc, abs=1e-12)


def test_eight_pairs_pass_by_chance_once_in_200_times() -> None:
    """Over all ways in which two groups of eight can lie, ties aside."""
    order = np.arange(16)
    choices = np.array(list(combinations(range(16), 8)))
    inside = np.zeros((len(choices), 16), bool)
    np.put_along_axis(inside, choices, True, 1)
    rank_sum = np.where(inside, order + 1, 0).sum(1)
    area = (rank_sum - 8 * 9 / 2) / 64
    passed = np.maximum(area, 1 - area) >= SEPARATION
    assert passed.mean() <= 1 / 200
    for row in (0, 5000, len(choices) - 1):  # the areas are those of `separation`
        auc = separation(order[inside[row]], order[~inside[row]])
        assert auc == pytest.approx(max(area[row], 1 - area[row]), abs=1e-12)


def test_ordinary_vectors_are_refused(sample: Embedding) -> None:
    refusal = r"sample: the last coordinate tells .* area of 0\.\d{3} .*no GN-GloVe vectors"
    with pytest.raises(WordbiasError, match=refusal):
        fit(sample)


@pytest.mark.slow
def test_no_coordinate_of_ordinary_vectors_passes(sample: Embedding) -> None:
    """Whichever of the 100 coordinates stands last."""
    refused = 0
    for k in range(sample.dim):
        turned = sample.with_vectors(np.roll(sample.vectors, k, axis=1))
        with pytest.raises(WordbiasError, match="no GN-GloVe vectors"):
            fit(turned)
        refused += 1
    assert refused == 100


def test_vectors_that_were_split_already_are_refused(gendered: Embedding) -> None:
    with pytest.raises(WordbiasError, match=r"area of 0\.500 .*removed already"):
        fit(fit(gendered)(gendered))
    with pytest.raises(WordbiasError, match="no GN-GloVe vectors"):
        fit(split(gendered)[0])


def test_the_sign_does_not_matter(gendered: Embedding) -> None:
    vectors = gendered.vectors.copy()
    vectors[:, -1] *= -1
    assert _row(fit(gendered.with_vectors(vectors)), "separation-auc").value == 1


def test_unchecked_vectors_are_split_with_a_warning(sample: Embedding) -> None:
    fitted = fit(sample, check=False)
    assert fitted.warnings == ("whether these are GN-GloVe vectors was not checked",)
    value = _row(fitted, "separation-auc").value
    assert value is not None
    assert 0.5 <= value < SEPARATION


@pytest.fixture
def few(gendered: Embedding) -> Embedding:
    """Seven of the pairs only."""
    pairs = [pair for pair in Attribute.load().equalise if pair[0] in gendered][:7]
    return gendered.subset([*(word for pair in pairs for word in pair), "house", "river"])


def test_too_few_pairs(few: Embedding) -> None:
    refusal = r"gn: undefined: 7 of the \d+ pairs of gender found, at least 8 needed; .*check=False"
    with pytest.raises(WordbiasError, match=refusal):
        fit(few)
    row = _row(fit(few, check=False), "separation-auc")
    assert row.value is None
    assert row.details["reason"].startswith("undefined: 7 of")


def test_an_attribute_without_pairs(gendered: Embedding) -> None:
    bare = Attribute("age", ("young", "old"), (("young",), ("old",)))
    with pytest.raises(WordbiasError, match="0 of the 0 pairs of age found"):
        fit(gendered, bare)


def test_another_attribute(sample: Embedding) -> None:
    first = ["young", "new", "high", "modern", "recent", "early", "little", "small"]
    second = ["old", "used", "low", "ancient", "past", "late", "big", "large"]
    pairs = tuple(zip(first, second, strict=True))
    age = Attribute("age", ("young", "old"), (("young",), ("old",)), pairs)
    values = np.zeros(len(sample))
    values[sample.rows(first)[0]], values[sample.rows(second)[0]] = 0.5, -2.0
    fitted = fit(_with_coordinate(sample, values), age)
    assert _row(fitted, "gendered-coordinate", group="young").value == 0.5
    assert _row(fitted, "gendered-coordinate", group="old").value == -2


def test_a_word_of_several_pairs_counts_once(sample: Embedding) -> None:
    second = ["old", "used", "low", "ancient", "past", "late", "big", "large"]
    pairs = tuple(
        (first, word) for word in second for first in ("young", "new")[: 1 + (word < "b")]
    )
    age = Attribute("age", ("young", "old"), (("young",), ("old",)), pairs)
    values = np.zeros(len(sample))
    values[sample.rows(["young", "new"])[0]], values[sample.rows(second)[0]] = (1, 2), -1
    row = _row(fit(_with_coordinate(sample, values), age), "gendered-coordinate", group="young")
    assert (row.value, row.details["n"]) == (1.5, 2)


def test_published_word_lists(sample: Embedding, shared_data: Path) -> None:
    """The 222 + 222 words that GN-GloVe itself is trained with."""
    lists = [
        (shared_data / "gn_glove" / f"{group}_word_file.txt").read_text("utf-8").split()
        for group in ("female", "male")
    ]
    pairs = tuple((f, m) for f, m in zip(*lists, strict=False) if f in sample and m in sample)
    gender = Attribute("gender", ("female", "male"), (("she",), ("he",)), pairs)
    with pytest.raises(WordbiasError, match="no GN-GloVe vectors"):
        fit(sample, gender)


# What was found, and bad input


def test_rows(gendered: Embedding) -> None:
    fitted = fit(gendered)
    row = _row(fitted, "separation-auc")
    assert row.value == 1
    assert row.details["neutral"] == 0.5
    gender = Attribute.load()
    firsts = {pair[0] for pair in (*gender.pairs, *gender.equalise) if pair[0] in gendered}
    female = _row(fitted, "gendered-coordinate", group="female")
    assert (female.value, female.details["n"]) == (-1, len(firsts))
    assert _row(fitted, "gendered-coordinate", group="male").value == 1
    x = gendered.vectors.astype(float)
    share = (x[:, -1] ** 2).sum() / (x**2).sum()
    assert _row(fitted, "gendered-share").value == pytest.approx(share, rel=1e-9)
    rows = [row.to_dict() for row in fitted.found]
    assert json.loads(json.dumps(rows)) == rows
    assert dict(fitted.settings) == {"drop_last": False, "check": True}
    assert fitted.warnings == ()


@pytest.mark.parametrize("use", [fit, split])
def test_one_coordinate(use: Callable[[Embedding], Any]) -> None:
    with pytest.raises(WordbiasError, match="vectors of 1 values are too short for GN-GloVe"):
        use(Embedding(["she", "he"], [[1.0], [-1.0]]))


@pytest.mark.parametrize("use", [fit, split])
def test_no_embedding(use: Callable[[Any], Any]) -> None:
    with pytest.raises(WordbiasError, match="expected an Embedding, got ndarray"):
        use(np.eye(3))


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_vector_that_is_not_finite(gendered: Embedding, value: float, check: bool) -> None:
    vectors = gendered.vectors.copy()
    vectors[9000, 3] = value
    with pytest.raises(
        WordbiasError, match=f"the vector of {gendered.words[9000]!r} is not finite"
    ):
        fit(gendered.with_vectors(vectors), check=check)


def test_constant_and_zero_vectors(gendered: Embedding) -> None:
    with pytest.raises(WordbiasError, match=r"area of 0\.500"):
        fit(gendered.with_vectors(np.ones(gendered.vectors.shape)))
    with pytest.raises(WordbiasError, match="every vector is zero"):
        fit(gendered.with_vectors(np.zeros(gendered.vectors.shape)))


@pytest.mark.parametrize("drop", [False, True])
def test_a_wrong_width(drop: bool) -> None:
    step = LastCoordinate(drop, 5)
    for shape in ((4,), (2, 6)):
        with pytest.raises(WordbiasError, match="expected rows of 5 values"):
            step(np.zeros(shape))
