"""Adapters fitted to pairs that were drawn again: each is a fit to a list with these pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_encoders import build, make_tokenizer, words_of

import wordbias as wb
from wordbias.contextual.fitting import Recipe, fit_adapter, fit_adapters
from wordbias.contextual.sent_debias import counterfactuals, fit_sent_debias, fit_with_baseline
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.project import _further_files, project
from wordbias.models.adapters import Adapter
from wordbias.models.sentence_pairs import SentencePair, redrawn_pairs, sentence_pairs

pytest.importorskip("torch")
PAIRS = sentence_pairs()
LINES = ["She met her aunt.", "The boy slept.", "His wife is a queen.", "He saw the woman."]


@pytest.fixture(scope="module")
def source() -> tuple[Any, Any]:
    texts = [text for pair in PAIRS for text in pair]
    tokenizer = make_tokenizer(words_of(*texts, *LINES))
    return build("bert", vocabulary=len(tokenizer)), tokenizer


def assert_same_fit(one: Adapter, other: Adapter) -> None:
    """One forward pass in other batches: equal up to float32."""
    assert one.sites == other.sites
    for site, subspace in one.subspaces.items():
        np.testing.assert_allclose(subspace.weights, other.subspaces[site].weights, atol=1e-5)
        along = np.abs(np.einsum("kd,kd->k", subspace.basis, other.subspaces[site].basis))
        np.testing.assert_allclose(along, np.ones(len(along)), atol=1e-4)


def test_pairs_are_drawn_with_replacement_as_many_as_listed() -> None:
    drawn = redrawn_pairs(PAIRS, 60, seed=4)
    assert redrawn_pairs(PAIRS, 3, seed=4) == drawn[:3]
    assert redrawn_pairs(PAIRS, 3, seed=5) != drawn[:3]
    assert {len(redraw) for redraw in drawn} == {len(PAIRS)}
    assert {pair for redraw in drawn for pair in redraw} == set(PAIRS)
    # 1 / e of the pairs are absent from a redraw, on average
    absent = np.mean([1 - len(set(redraw)) / len(PAIRS) for redraw in drawn])
    assert absent == pytest.approx((1 - 1 / len(PAIRS)) ** len(PAIRS), abs=0.05)


@pytest.mark.parametrize("recipe", [Recipe(), Recipe("word", one_sided=True, unit=True)])
def test_a_redraw_is_a_fit_to_the_drawn_pairs(source: tuple[Any, Any], recipe: Recipe) -> None:
    """Each of them a second time through the model, pairs of one length and others."""
    uneven = SentencePair("The woman met her aunt .", "The man slept .")
    pairs = [*PAIRS[:12], uneven]
    lists = redrawn_pairs(pairs, 3)
    assert any(uneven in redraw for redraw in lists)
    whole, *adapters = fit_adapters(*source, [pairs, *lists], recipe)
    assert_same_fit(whole, fit_adapter(*source, pairs, recipe))
    for i, (adapter, drawn) in enumerate(zip(adapters, lists, strict=True), 1):
        expected = fit_adapter(*source, drawn, recipe)
        assert_same_fit(adapter, expected)
        assert adapter.facts["redraw"] == i
        assert adapter.facts["left_out"] == expected.facts["left_out"]
        assert "stability" not in adapter.facts["sites"]["sentence"]


def test_the_baseline_is_fitted_to_redraws_of_the_text_s_pairs(source: tuple[Any, Any]) -> None:
    recipe = Recipe(seed=2)
    whole, *adapters = fit_with_baseline(*source, recipe, text=LINES, draws=2)
    of_text = counterfactuals(LINES, seed=2)
    for adapter, drawn in zip(adapters, redrawn_pairs(of_text, 2, 2), strict=True):
        (expected,) = fit_sent_debias(*source, [drawn])
        assert adapter.sent_debias is not None
        assert whole.sent_debias is not None
        assert abs(adapter.sent_debias.basis[0] @ expected.basis[0]) == pytest.approx(1, abs=1e-4)
        assert not np.allclose(adapter.sent_debias.weights, whole.sent_debias.weights, atol=1e-6)


def test_a_redraw_of_too_few_pairs_is_named(source: tuple[Any, Any]) -> None:
    with pytest.raises(WordbiasError, match=r"^redraw \d of the pairs: site .*components"):
        fit_with_baseline(*source, Recipe(), pairs=PAIRS[:2], draws=9)


@pytest.mark.slow
def test_project_writes_them_beside_the_adapter(source: tuple[Any, Any], tmp_path: Path) -> None:
    fitted = project(
        source, output=tmp_path / "a.adapter", seed_lists=2, null=1, seed=3, setting="L12-110"
    )
    names = ["a.adapter", "a.lists1.adapter", "a.lists2.adapter", "a.null.adapter"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert_same_fit(wb.load(tmp_path / names[0]), fitted)
    for name, drawn in zip(names[1:3], redrawn_pairs(PAIRS, 2, 3), strict=True):
        read = wb.load(tmp_path / name)
        assert_same_fit(read, fit_adapter(*source, drawn))
        assert str(read.chosen) == "L12-110"
    closing = " ".join(fitted.report.closing)
    assert "a.lists2.adapter, fitted to the pairs drawn again, with replacement" in closing
    assert _further_files("lists", "nli.adapter", 1) == ["nli.lists.adapter"]


def test_what_would_write_nothing_is_refused(source: tuple[Any, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="seed_lists= writes more adapters next to output="):
        project(source, seed_lists=1)
    with pytest.raises(
        UsageError, match='methods="leace" is fitted to tokens: give methods="mhd-pairs'
    ):
        project(source, output=tmp_path / "a", seed_lists=2, methods="leace")
    (tmp_path / "a.lists").write_text("she left\the left\n")
    with pytest.raises(Exception, match=r"a\.lists: is both pairs= and seed_lists=, file 1"):
        project(source, output=tmp_path / "a", pairs=tmp_path / "a.lists", seed_lists=1)
    assert [path.name for path in tmp_path.iterdir()] == ["a.lists"]
