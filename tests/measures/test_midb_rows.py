"""MIDB and direct bias of a panel: the functions they come from, and their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wordbias import Attribute, Embedding
from wordbias.arrays import unit
from wordbias.measures import direct_bias, midb
from wordbias.measures.lean import word_rows
from wordbias.measures.midb import DIRECT, MIDB, fit_directions, midb_rows
from wordbias.measures.panel import Panel
from wordbias.subspace import Subspace

PAIRS = (("she", "he"), ("her", "his"), ("woman", "man"))
GROUPS = (tuple("abcde"), tuple("fghij"))
GENDER = Attribute("gender", ("f", "m"), GROUPS, PAIRS, direction=PAIRS[0])
WORDS = [f"w{i}" for i in range(60)]


@pytest.fixture
def panel() -> Panel:
    words = [*"abcdefghij", *(w for pair in PAIRS for w in pair), *WORDS]
    vectors = np.random.default_rng(3).normal(size=(len(words), 6)) * 2
    emb = Embedding(words, vectors, "small")
    return Panel(emb, emb, WORDS, GENDER, dims=2)


def _by_name(panel: Panel) -> dict[str, Any]:
    return {row.measure: row for row in midb_rows(panel)}


@pytest.mark.parametrize("centre", [True, False])
def test_the_values_are_those_of_the_measures(panel: Panel, centre: bool) -> None:
    panel = Panel(panel.embedding, panel.embedding, WORDS, GENDER, dims=3, centre=centre)
    emb = panel.embedding
    f, m = (emb.take(group) for group in GROUPS)
    x = emb.take(WORDS)
    raw = midb(x, Subspace.from_groups(f, m, 3, centre=centre))
    on_unit = midb(unit(x), Subspace.from_groups(unit(f), unit(m), 3, centre=centre))
    halves = (emb.take(side).astype(float) for side in zip(*PAIRS, strict=True))
    expected = {
        "midb": raw.signed,
        "midb-abs": raw.absolute,
        "midb-rms": raw.rms,
        "midb-unit": on_unit.signed,
        "midb-unit-abs": on_unit.absolute,
        "midb-unit-rms": on_unit.rms,
        "direct-bias": direct_bias(x, emb["she"].astype(float) - emb["he"]),
        "direct-bias-pca": direct_bias(x, Subspace.from_pairs(*halves).basis[0]),
    }
    got = _by_name(panel)
    assert set(got) == set(expected) == {*MIDB, *DIRECT}
    for name, value in expected.items():
        assert got[name].value == pytest.approx(value, abs=1e-14), name


def test_rows_have_the_values_of_the_fitted_directions(panel: Panel) -> None:
    values = fit_directions(panel.embedding, GENDER, dims=2).measure(panel.vectors)
    for name, row in _by_name(panel).items():
        assert row.value == pytest.approx(values[name].value, abs=1e-14)


def test_the_interval_of_a_mean_is_that_of_the_normal_approximation(panel: Panel) -> None:
    """Within what 1,000 samples of 60 words allow: a tenth of the standard error a side."""
    rows = _by_name(panel)
    delta = panel.embedding["she"].astype(float) - panel.embedding["he"]
    x = panel.vectors.astype(float)
    cosines = np.abs(x @ delta) / np.linalg.norm(x, axis=1) / np.linalg.norm(delta)
    error = cosines.std() / np.sqrt(len(WORDS))
    row = rows["direct-bias"]
    assert row.details["low"] == pytest.approx(row.value - 1.96 * error, abs=0.25 * error)
    assert row.details["high"] == pytest.approx(row.value + 1.96 * error, abs=0.25 * error)
    for row in rows.values():
        assert row.details["low"] < row.value < row.details["high"]


def test_every_row_says_how_it_is_to_be_read(panel: Panel) -> None:
    for name, row in _by_name(panel).items():
        assert (row.details["n"], row.details["neutral"]) == (60, 0)
        signed = name in ("midb", "midb-unit")
        assert row.details["better"] == ("neutral" if signed else "lower")
        assert row.details["setting"] == ("c=1" if name in DIRECT else "d=2, not centred")
        assert row.details.get("centred") == (None if name in DIRECT else False)


def test_the_seed_moves_the_interval_only(panel: Panel) -> None:
    other = _by_name(Panel(panel.embedding, panel.embedding, WORDS, GENDER, dims=2, seed=1))
    for name, row in _by_name(panel).items():
        assert row.value == other[name].value
        assert row.details["low"] != other[name].details["low"]


def test_equal_she_and_he_make_direct_bias_undefined_and_not_midb(panel: Panel) -> None:
    vectors = panel.embedding.vectors.copy()
    vectors[panel.embedding.index["he"]] = vectors[panel.embedding.index["she"]]
    emb = panel.embedding.with_vectors(vectors)
    rows = _by_name(Panel(emb, emb, WORDS, GENDER, dims=2))
    assert [name for name, row in rows.items() if row.value is None] == ["direct-bias"]
    assert rows["direct-bias"].details["reason"].startswith("undefined: ‖she − he‖ is 0.000")


def test_groups_without_words_leave_direct_bias(panel: Panel) -> None:
    bare = Attribute("gender", ("f", "m"), (("a",), ("f",)), PAIRS, direction=PAIRS[0])
    rows = _by_name(Panel(panel.embedding, panel.embedding, WORDS, bare, dims=2))
    assert {name for name, row in rows.items() if row.value is None} == set(MIDB)
    assert all(rows[name].details["reason"].startswith("undefined: ") for name in MIDB)
    assert len(rows) == 8


def test_values_of_single_words_are_those_of_the_measures(panel: Panel) -> None:
    rows = word_rows(panel, ["w1", "w2", "w3", "she", "he"])
    emb = panel.embedding
    subspace = Subspace.from_groups(*(emb.take(group) for group in GROUPS), 2)
    delta = emb["she"].astype(float) - emb["he"]
    for row in (row for row in rows if row.measure in ("midb", "direct-bias")):
        x = emb[row.details["word"]].astype(float)
        raw = sum(subspace.weights[i] * subspace.basis[i] @ x for i in range(2))
        expected = {
            "midb": raw,
            "direct-bias": x @ delta / np.linalg.norm(x) / np.linalg.norm(delta),
        }[row.measure]
        assert row.value == pytest.approx(expected, abs=1e-13)
    assert len(rows) == 3 * 5 + 1


def test_a_word_of_no_length_leans_to_neither_group(panel: Panel) -> None:
    vectors = panel.embedding.vectors.copy()
    vectors[panel.embedding.index["w0"]] = 0
    emb = panel.embedding.with_vectors(vectors)
    lean, *others, _ = word_rows(Panel(emb, emb, WORDS, GENDER, dims=2), ["w0"])
    assert "towards" not in lean.details
    assert [row.value for row in others] == [0, 0]


def test_a_word_whose_measure_is_undefined_has_a_row_with_the_reason(panel: Panel) -> None:
    vectors = panel.embedding.vectors.copy()
    vectors[panel.embedding.index["he"]] = vectors[panel.embedding.index["she"]]
    emb = panel.embedding.with_vectors(vectors)
    rows = word_rows(Panel(emb, emb, WORDS, GENDER, dims=2), ["w0"])
    by_measure = {row.measure: row for row in rows}
    assert set(by_measure) == {"lean", "midb", "direct-bias", "lean-told"}
    assert by_measure["direct-bias"].value is None
    assert by_measure["direct-bias"].details["reason"].startswith("undefined: ")
