"""Intervals over word lists: each redraw equals a measurement with lists of doubled words."""

from __future__ import annotations

import numpy as np
import pytest
from quick_cases import first_quick

from wordbias import Attribute, Embedding
from wordbias.measures.chance import Null, key_of
from wordbias.measures.clustering import clustering
from wordbias.measures.evaluate import evaluate, evaluate_panels
from wordbias.measures.panel import Panel, make_panels
from wordbias.measures.registry import SELECTABLE
from wordbias.measures.word_lists import REDRAWN, redrawn, redraws, with_lists
from wordbias.methods import misp

FEW = ("midb", "direct-bias", "same")


@pytest.fixture(scope="module")
def sample() -> Embedding:
    return Embedding.sample()


@pytest.fixture(scope="module")
def given(sample: Embedding) -> list[str]:
    """Words that lean to both sides, enough for clustering."""
    return [word for word in sample.words[:4000] if word.isalpha()]


def _panel(embedding: Embedding, given: list[str], attribute: Attribute | None = None) -> Panel:
    (panel,) = make_panels([embedding], None, attribute or Attribute.load(), given)
    return panel


def _redraw(panel: Panel, draws: int) -> list[Null]:
    return redrawn(panel, redraws(panel.attribute, draws))


def _drawn_lists(null: Null) -> tuple[Embedding, Attribute]:
    """Return the embedding with a word of its own for each drawn vector, and lists of these."""
    base = null.panel.original
    vectors = [base.vectors]
    words = list(base.words)

    def add(rows: np.ndarray, name: str) -> tuple[str, ...]:
        names = tuple(f"{name}{i}drawn" for i in range(len(rows)))
        words.extend(names)
        vectors.append(rows.astype(np.float32))
        return names

    assert null.partition is not None
    assert null.pairs is not None
    assert null.axis is not None
    first, second = (
        add(null.within[rows], name) for name, rows in zip("ab", null.partition, strict=True)
    )
    pairs = tuple(zip(*(add(side, f"p{i}") for i, side in enumerate(null.pairs)), strict=True))
    (plus,), (minus,) = add(null.axis[None], "plus"), add(0 * null.axis[None], "minus")
    attribute = Attribute(
        "gender", ("female", "male"), (first, second), pairs, direction=(plus, minus)
    )
    return Embedding(words, np.concatenate(vectors), base.name), attribute


@pytest.mark.parametrize("families", [FEW, ("clustering",)])
def test_a_redraw_equals_a_measurement_with_the_drawn_lists(
    sample: Embedding,
    given: list[str],
    families: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second implementation: each drawn word becomes a word of the embedding."""
    for name in ("seeds", "n_init"):
        monkeypatch.setitem(clustering.__kwdefaults__, name, 2)  # type: ignore[arg-type]
    panel = _panel(sample, given)
    nulls = _redraw(panel, 2)
    rows = with_lists(evaluate(panel, families), [panel], families, 2)
    by_hand: dict[object, list[float]] = {}
    for null in nulls:
        embedding, attribute = _drawn_lists(null)
        for row in evaluate(Panel(embedding, embedding, given, attribute), families):
            assert row.value is not None
            by_hand.setdefault(key_of(row), []).append(row.value)
    assert {key_of(row) for row in rows} == set(by_hand)
    for row in rows:
        low, high = np.percentile(by_hand[key_of(row)], [2.5, 97.5])
        # the axis, a difference of float32 vectors, is rounded to float32 by hand
        assert row.details["lists_draws"] == 2
        assert row.details["lists_low"] == pytest.approx(low, rel=1e-5, abs=1e-6)
        assert row.details["lists_high"] == pytest.approx(high, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("family", ["same", *first_quick(["clustering", "gipe", "neighbour-bias"])])
def test_a_debiased_embedding_has_it_along_redraws_of_its_original(
    sample: Embedding, given: list[str], family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its values are those with the drawn lists in the original, in itself where SAME is taken."""
    for name in ("seeds", "n_init"):
        monkeypatch.setitem(clustering.__kwdefaults__, name, 2)  # type: ignore[arg-type]
    if family in ("gipe", "neighbour-bias"):  # these read all words for each of the given ones
        given = given[:400]
    clean = misp.fit(sample)(sample)
    panels = make_panels([sample, clean], sample, Attribute.load(), given)
    known = [row for panel in panels for row in evaluate(panel, [family])]
    rows = [row for row in with_lists(known, panels, [family], 2) if row.subject == clean.name]
    own = family == "same"
    by_hand: dict[object, list[float]] = {}
    for null in _redraw(_panel(clean if own else sample, given), 2):
        embedding, attribute = _drawn_lists(null)
        measured = Panel(embedding if own else clean, embedding, given, attribute)
        for row in evaluate(measured, [family]):
            assert row.value is not None
            by_hand.setdefault(key_of(row), []).append(row.value)
    assert rows
    for row in rows:
        low, high = np.percentile(by_hand[key_of(row)], [2.5, 97.5])
        assert row.details["lists_low"] == pytest.approx(low, rel=1e-5, abs=1e-6)
        assert row.details["lists_high"] == pytest.approx(high, rel=1e-5, abs=1e-6)
        assert row.details["change_from"] == "sample"
        assert row.details["change_lists_low"] <= row.details["change_lists_high"]


def test_words_and_pairs_are_drawn_with_replacement_as_many_as_listed(
    sample: Embedding, given: list[str]
) -> None:
    panel, attribute = _panel(sample, given), Attribute.load()
    nulls = _redraw(panel, 50)
    counts = np.zeros(200, int)
    vectors = [sample.take([name.lower() for name in names]) for names in attribute.members]
    np.testing.assert_array_equal(nulls[0].within, np.concatenate(vectors))
    for null in nulls:
        assert null.partition is not None
        first, second = null.partition
        assert (len(first), len(second)) == (100, 100)
        assert first.max() < 100 <= second.min()
        assert len(np.unique(first)) < 100
        counts += np.bincount(np.concatenate([first, second]), minlength=200)
    # 50 draws of each word on average; beyond 5 standard deviations of a binomial number
    assert np.abs(counts - 50).max() < 5 * np.sqrt(50)
    axes = {tuple(null.axis) for null in nulls if null.axis is not None}
    pairs = [(sample[a].astype(float) - sample[b]) for a, b in _found_pairs(sample)]
    assert axes <= {tuple(pair) for pair in pairs}
    assert len(axes) > len(pairs) / 2
    for few, many in zip(_redraw(panel, 3), nulls, strict=False):
        assert few.partition is not None
        assert many.partition is not None
        np.testing.assert_array_equal(few.partition[0], many.partition[0])
        np.testing.assert_array_equal(few.pairs, many.pairs)


def _found_pairs(sample: Embedding) -> list[tuple[str, str]]:
    return [(a.lower(), b.lower()) for a, b in Attribute.load().pairs if a.lower() in sample]


def test_embeddings_that_lack_words_get_the_same_redraws(
    sample: Embedding, given: list[str]
) -> None:
    attribute = Attribute.load()
    absent = {attribute.members[0][0].lower(), attribute.members[1][7].lower()}
    lacking = sample.subset([word for word in sample.words if word not in absent])
    assert len(sample) - len(lacking) == 2
    for null, other in zip(
        _redraw(_panel(sample, given), 5), _redraw(_panel(lacking, given), 5), strict=True
    ):
        assert null.partition is not None
        assert other.partition is not None
        for side, gone in enumerate((0, 107)):
            indices = null.partition[side][null.partition[side] != gone]
            np.testing.assert_array_equal(null.within[indices], other.within[other.partition[side]])
        np.testing.assert_array_equal(null.axis, other.axis)


@pytest.mark.slow
def test_the_difference_of_equal_embeddings_is_zero_over_all_lists(
    sample: Embedding, given: list[str]
) -> None:
    """And that of another is the interval of the differences, not of the values."""
    clean = misp.fit(sample)(sample)
    panels = make_panels([sample, sample.renamed("same"), clean], None, Attribute.load(), given)
    resampled = with_lists(evaluate_panels(panels, FEW, chance=False), panels, FEW, 30)
    rows = {(row.subject, row.measure): row for row in resampled}
    for (subject, measure), row in rows.items():
        about = row.details
        assert about["lists_draws"] == 30
        if subject == "sample":
            assert "change_from" not in about
            continue
        assert about["change_from"] == "sample"
        ends = about["change_lists_low"], about["change_lists_high"]
        first = rows["sample", measure]
        if subject == "same":
            assert (about["change"], ends) == (0, (0, 0))
        else:
            assert first.value is not None
            assert row.value is not None
            assert about["change"] == row.value - first.value
            assert ends[0] < ends[1]
    same = rows[clean.name, "same"].details  # names shift both values alike
    width = same["change_lists_high"] - same["change_lists_low"]
    assert width < same["lists_high"] - same["lists_low"]


def test_families_of_axes_have_redraws_and_weat_has_its_own_interval() -> None:
    assert set(SELECTABLE) - {*REDRAWN} == {"weat"}


def test_what_cannot_be_fitted_has_no_interval(sample: Embedding, given: list[str]) -> None:
    few = Attribute.load({"one": ["she", "mother", "daughter"], "two": ["he", "father", "zzz"]})
    panel = _panel(sample, given, few)
    rows = {
        row.measure: row
        for row in with_lists(evaluate(panel, FEW), [panel], FEW, 40)
    }  # fmt: skip
    assert rows["direct-bias"].value is None  # no pairs
    assert "lists_draws" not in rows["direct-bias"].details
    # words of one group are found in too few of the draws, or span too little
    assert 0 < rows["same"].details["lists_draws"] < 40
    none = Attribute.load({"one": ["zzz", "zzzz"], "two": ["he", "father"]})
    panel = _panel(sample, given, none)
    for row in with_lists(evaluate(panel, FEW), [panel], FEW, 3):
        assert row.value is None
        assert "lists_draws" not in row.details
