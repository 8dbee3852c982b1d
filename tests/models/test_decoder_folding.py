"""Folding in decoders: the weights compute what the hooks did, also in a folder read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from decoder_values import (
    NORMED_OUTPUTS,
    VOCABULARY,
    by_hand,
    decoder,
    erasure_at,
    interventions,
    layer_of,
    plain_hooks,
    rounding,
    subspace_at,
    texts,
)
from tiny_decoders import WITH_SITES, build_decoder, word_tokenizer

from wordbias.errors import WordbiasError
from wordbias.methods.leace import Erasure
from wordbias.models.adapters import Adapter
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.folding import export, fold, reasons_against
from wordbias.models.hooks import Intervention, applied
from wordbias.models.sites import Site, sites
from wordbias.subspace import Subspace

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

STREAM = sites("attention-output@all,mlp-output@all", 2)
EVERYWHERE = sites("input@1,attention@all,tokens@2", 2)
"""Sites that can be folded in every family."""


@pytest.fixture(params=WITH_SITES)
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def foldable(family: str) -> tuple[Site, ...]:
    return EVERYWHERE if family in NORMED_OUTPUTS else (*EVERYWHERE, *STREAM)


def logits(model: Any) -> Any:
    with torch.no_grad():
        return model(input_ids=texts()).logits


def biased(family: str) -> Any:
    """Return a decoder in which every linear map has a bias, as some families have."""
    model = build_decoder(family, VOCABULARY).double()
    for module in model.modules():
        if isinstance(module, torch.nn.Linear) and module.bias is None:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(module.out_features)
                module.bias = torch.nn.Parameter(torch.randn(module.out_features).double())
    return model


@pytest.mark.each_once("tied")
@pytest.mark.each_once("hard", "tied")
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("hard", [True, False])
def test_folding_equals_hooking(family: str, hard: bool, tied: bool) -> None:
    model = build_decoder(family, VOCABULARY, tie_word_embeddings=tied).double()
    same = model.get_output_embeddings().weight is model.get_input_embeddings().weight
    assert same == tied
    every = interventions(family, foldable(family), hard)
    before = logits(model)
    for chosen in [[it] for it in every] + [every]:
        with applied(model, chosen):
            expected = logits(model)
        folded = fold(model, chosen)
        assert (folded.folded, folded.left) == (tuple(chosen), ())
        scores = logits(folded.model)
        torch.testing.assert_close(scores, expected, rtol=0, atol=rounding(expected))
        assert not torch.allclose(expected, before, 0, 1e-6)
    assert torch.equal(logits(model), before)
    assert model.config.tie_word_embeddings == tied
    assert not folded.model.config.tie_word_embeddings


def test_an_affine_map_goes_into_a_bias(family: str) -> None:
    model = biased(family)
    for i, site in enumerate(foldable(family)):
        steps = [
            Intervention(site, erasure_at(family, site, i)),
            Intervention(site, subspace_at(family, site, i)),
            Intervention(site, erasure_at(family, site, i + 99)),
        ]
        with applied(model, steps):
            expected = logits(model)
        with applied(model, steps[::-1]):
            assert not torch.allclose(expected, logits(model), 0, 1e-6), site
        folded = fold(model, steps)
        assert folded.left == ()
        torch.testing.assert_close(
            logits(folded.model), expected, rtol=0, atol=rounding(expected), msg=str(site)
        )


def test_without_a_bias_an_affine_map_is_left(family: str) -> None:
    """It also keeps back the linear ones at its site, whose order would change."""
    model = decoder(family)
    for site in foldable(family):
        steps = [
            Intervention(site, erasure_at(family, site)),
            Intervention(site, subspace_at(family, site), True),
        ]
        folded = fold(model, steps)
        with applied(model, steps):
            expected = logits(model)
        with applied(folded.model, [it for it, _ in folded.left]):
            scores = logits(folded.model)
        torch.testing.assert_close(scores, expected, rtol=0, atol=rounding(expected))
        assert len(folded.left) in (0, 2)
        assert {reason for _, reason in folded.left} <= {NO_BIAS}
        if site == Site("input", 1) or (family in ("gpt2", "phi") and site.kind != "tokens"):
            assert folded.left == ()
        if family in ("llama", "phi3") and site != Site("input", 1):
            assert len(folded.left) == 2


NO_BIAS = "the removal adds a constant, and the linear map that it goes into has no bias"


def test_an_affine_map_without_a_constant_needs_no_bias() -> None:
    site = Site("mlp-output", 1)
    erasure = erasure_at("llama", site)
    [it] = fold(
        decoder("llama"), [Intervention(site, Erasure(erasure.left, erasure.right, np.zeros(16)))]
    ).folded
    assert it.site == site


def test_a_constant_in_scaled_embeddings_of_half_precision() -> None:
    """What is off is the rounding of a row, and of it times the scale."""
    model = build_decoder("gemma2", VOCABULARY, hidden_size=24).to(torch.bfloat16)
    site = Site("input", 1)
    rng = np.random.default_rng(0)
    erasure = Erasure(rng.normal(size=(24, 1)), rng.normal(size=(1, 24)), rng.normal(size=24))
    table, ids = model.get_input_embeddings(), texts()
    scale = float(torch.tensor(24**0.5).to(torch.bfloat16))  # transformers rounds it too
    with torch.no_grad():
        expected = erasure(table.weight[ids].double().numpy() * scale)
        embedded = fold(model, [Intervention(site, erasure)]).model.get_input_embeddings()(ids)
    half = 2.0**-8  # what rounding to bfloat16 moves a value by at most
    off = np.abs(embedded.double().numpy() - expected)
    assert (off <= ((1 + half) ** 2 - 1) * np.abs(expected)).all()


def test_weights_keep_their_type_and_memory_of_their_own(family: str) -> None:
    model = build_decoder(family, VOCABULARY, tie_word_embeddings=True).to(torch.bfloat16)
    before = {name: x.clone() for name, x in model.state_dict().items()}
    folded = fold(model, interventions(family, foldable(family), True)).model
    assert {x.dtype for x in folded.parameters()} == {torch.bfloat16}
    assert all(x.is_contiguous() for x in folded.parameters())
    for name, x in model.state_dict().items():
        assert torch.equal(before[name], x), name
    assert not {x.data_ptr() for x in model.parameters()} & {
        x.data_ptr() for x in folded.parameters()
    }


@pytest.mark.each_once("tied")
@pytest.mark.parametrize("tied", [True, False])
def test_an_exported_folder_computes_the_same(family: str, tied: bool, tmp_path: Path) -> None:
    model = build_decoder(family, VOCABULARY, tie_word_embeddings=tied).double()
    steps = interventions(family, (*foldable(family), Site("tokens", 1)), True)
    folded = fold(model, steps)
    assert [it.site for it, _ in folded.left] == [Site("tokens", 1)]
    export(folded, word_tokenizer("a text"), tmp_path / "made", "these sites")
    loaded, about = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "made", dtype="auto", output_loading_info=True
    )
    assert not any(about[name] for name in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert type(loaded) is type(model)
    with plain_hooks(
        family,
        model,
        {
            it.site: by_hand(family, it.site, 10 * i, True)
            for i, it in enumerate(steps)
            if it.site != Site("tokens", 1)
        },
    ):
        expected = logits(model)
    torch.testing.assert_close(logits(loaded.eval()), expected, rtol=0, atol=rounding(expected))
    stored = json.loads((tmp_path / "made" / "wordbias.json").read_text())
    assert stored["setting"] == "these sites"
    assert stored["folded"] == [str(it) for it in folded.folded]
    assert list(stored["not_folded"]) == [str(steps[-1])]


def test_an_adapter_is_folded_into_a_decoder() -> None:
    model = decoder("gpt_neox")
    site = Site("mlp-output", 1)
    adapter = Adapter({site: subspace_at("gpt_neox", site)}, Fingerprint.of(model))
    with adapter.on(model, "mlp-output@1"):
        expected = logits(model)
    scores = logits(adapter.fold(model, "mlp-output@1"))
    torch.testing.assert_close(scores, expected, rtol=0, atol=rounding(expected))


def test_a_subspace_that_is_folded_into_all_that_write_is_in_no_layer() -> None:
    """The stream of the folded model, without a hook on it, has nothing along the subspace."""
    model = decoder("llama")
    subspace = subspace_at("llama", Site("input", 1))
    wanted = sites("input@1,attention-output@all,mlp-output@all", 2)
    folded = fold(model, [Intervention(site, subspace, True) for site in wanted]).model
    with torch.no_grad():
        states = folded(input_ids=texts(), output_hidden_states=True).hidden_states
    for x in states[:-1]:
        assert float(subspace.like(x).coordinates(x).abs().max()) <= rounding(x)


# Reasons against folding

INSTEAD = (
    "the residual stream also goes past every linear map of the layers; a subspace that is removed "
    "at input@1, attention-output@all and mlp-output@all is in none of their inputs, and that can "
    "be folded"
)


@pytest.mark.parametrize(
    ("family", "site", "why"),
    [
        ("llama", "tokens@1", INSTEAD),
        ("llama", "input@2", INSTEAD),
        ("gemma2", "tokens@1", "the residual stream also goes past every linear map of the layers"),
        ("gemma2", "attention-output@1", "a norm follows the linear map that computes it"),
        ("gemma3_text", "mlp-output@2", "a norm follows the linear map that computes it"),
    ],
)
def test_what_cannot_be_folded_has_its_reason(family: str, site: str, why: str) -> None:
    model, at = decoder(family), Site.parse(site)
    it = Intervention(at, subspace_at(family, at), True)
    folded = fold(model, [it])
    assert (folded.folded, folded.left) == ((), ((it, why),))
    assert reasons_against(model, [at]) == [why]
    assert torch.equal(logits(folded.model), logits(model))


def test_reasons_are_known_before_anything_is_fitted() -> None:
    model = decoder("llama")
    wanted = sites("input@1,value@1,mlp-output@-1,tokens@-1")
    assert reasons_against(model, wanted) == [""] * 4
    assert reasons_against(model, wanted, wanted) == ["", NO_BIAS, NO_BIAS, NO_BIAS]


def test_a_head_that_is_none_of_language() -> None:
    why = "LlamaModel has no language-modelling head that alone reads it"
    assert reasons_against(decoder("llama").model, [Site("tokens", -1)]) == [why]
    config = decoder("gpt2").config
    double = transformers.GPT2DoubleHeadsModel(config).double().eval()
    site, ids = Site("input", 1), texts()
    why = "GPT2DoubleHeadsModel has no language-modelling head that alone reads it"
    assert reasons_against(double, [Site("tokens", 2)]) == [why]
    step = [Intervention(site, subspace_at("gpt2", site), True)]
    with torch.no_grad(), applied(double, step):
        expected = double(input_ids=ids).logits
    with torch.no_grad():  # its tied head keeps the old rows
        scores = fold(double, step).model(input_ids=ids).logits
    torch.testing.assert_close(scores, expected, rtol=0, atol=rounding(expected))


def test_sites_with_the_same_reason_are_named_together() -> None:
    model = decoder("llama")
    wanted = sites("input@2,tokens@1,mlp-output@1,attention-output@2", 2)
    adapter = Adapter({site: subspace_at("llama", site) for site in wanted}, Fingerprint.of(model))
    with pytest.raises(WordbiasError) as refused:
        adapter.fold(model, ",".join(map(str, wanted)))
    message = str(refused.value)
    assert f"cannot be folded into the weights: tokens@1, input@2: {INSTEAD}; use on(" in message
    assert message.count(INSTEAD) == 1
    with pytest.raises(WordbiasError) as refused:
        export(fold(model, []), None, "made", "tokens@1..2")
    assert str(refused.value).startswith("made: not written, for nothing of tokens@1..2 can be")


def test_quantised_weights_are_not_folded_into() -> None:
    model = build_decoder("llama", VOCABULARY)
    linear = layer_of("llama", model, 1).mlp.down_proj
    linear.weight = torch.nn.Parameter(linear.weight.data.to(torch.int8), requires_grad=False)
    site = Site("mlp-output", 1)
    assert reasons_against(model, [site]) == ["its weights are quantised, int8"]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(WordbiasError, match="has vectors of 8 values there, the subspace is of 16"):
        fold(decoder("llama"), [Intervention(Site("key", 1), Subspace.from_direction(np.ones(16)))])
