"""Subspaces fitted one after another, against models with the earlier removals in their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tiny_encoders import LAYERS, build, make_tokenizer, words_of

pytest.importorskip("torch")

from wordbias.contextual.fitting import Recipe, encode_pairs, fit_adapter, observe, positions
from wordbias.contextual.sweep.sequential import fit_in_sequence
from wordbias.models.adapters import Adapter
from wordbias.models.folding import fold
from wordbias.models.hooks import applied
from wordbias.models.sentence_pairs import sentence_pairs
from wordbias.models.settings import all_settings
from wordbias.models.sites import Site
from wordbias.subspace import Subspace

PAIRS = sentence_pairs()[:30]
TOKENS, CLS, SENTENCE = Site("tokens", LAYERS - 1), Site("cls", LAYERS), Site("sentence")
Fitted = tuple[Any, Any, Adapter, dict[str, Adapter]]


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    tokenizer = make_tokenizer(words_of(*(text for pair in PAIRS for text in pair)))
    model = build("bert", vocabulary=len(tokenizer))
    recipe = Recipe()
    adapter = fit_adapter(model, tokenizer, PAIRS, recipe)
    return model, tokenizer, adapter, fit_in_sequence(model, tokenizer, PAIRS, recipe, adapter)


def same(first: Subspace, second: Subspace) -> bool:
    """Return whether two subspaces have the same directions, whatever their sign, and weights."""
    signs = np.abs(first.basis @ second.basis.T)
    apart = np.abs(first.weights - second.weights).max()
    return bool(np.allclose(signs, np.eye(first.dims), atol=1e-3) and apart < 1e-4)


@pytest.mark.slow
def test_every_setting_has_the_sites_that_it_needs(fitted: Fitted) -> None:
    _, _, adapter, own = fitted
    assert list(own) == [setting.name for setting in all_settings()]
    for name, own_adapter in own.items():
        steps, published = own_adapter.interventions(name), adapter.interventions(name)
        assert list(map(str, steps)) == list(map(str, published))
        assert own_adapter.facts["sequential"]
        first = published[0]
        np.testing.assert_array_equal(steps[0].what.basis, first.what.basis)


@pytest.mark.slow
def test_a_site_is_fitted_on_the_model_with_earlier_removals_in_its_weights(
    fitted: Fitted,
) -> None:
    model, tokenizer, adapter, own = fitted
    of_attention = own["attn-00110"]
    heads = [it for it in of_attention.interventions("attn-00110") if it.site.kind not in (
        "tokens", "cls", "sentence")]  # fmt: skip
    without = fold(model, heads).model
    alone = fit_adapter(without, tokenizer, PAIRS, wanted=[TOKENS])
    assert same(of_attention.subspaces[TOKENS], alone.subspaces[TOKENS])
    assert not same(of_attention.subspaces[TOKENS], adapter.subspaces[TOKENS])
    for name in ("L12-010", "L12-101"):  # two components hard, and one by its weight
        last = own[name]
        folded = fold(model, last.interventions(name)[:1]).model
        expected = fit_adapter(folded, tokenizer, PAIRS, wanted=[SENTENCE])
        assert same(last.subspaces[SENTENCE], expected.subspaces[SENTENCE])
        assert not same(last.subspaces[SENTENCE], adapter.subspaces[SENTENCE])


def test_what_hooks_leave_is_what_is_fitted(fitted: Fitted) -> None:
    """With its removal on, nothing of a hard component is left, and the next is what then is."""
    model, tokenizer, _, own = fitted
    own_adapter = own["L11-01010"]
    steps = own_adapter.interventions("L11-01010")
    encoded = encode_pairs(model, tokenizer, PAIRS)
    where, tokens = positions(encoded, "mean"), encoded.first + encoded.second
    with applied(model, steps[:1]):
        values = observe(model, tokenizer, tokens, where, [CLS])[CLS]
    n = len(encoded.pairs)
    expected = Subspace.from_pairs(values[:n], values[n:], 2)
    assert same(own_adapter.subspaces[CLS], expected)
