"""Sites of decoders: what is recorded and removed there is what plain hooks of torch give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from decoder_values import (
    KINDS,
    SITES,
    by_hand,
    decoder,
    final_norm,
    heads_of,
    interventions,
    layer_of,
    orthonormal,
    place_of,
    plain_hooks,
    rounding,
    subspace_at,
    texts,
    width_of,
)
from hypothesis import given
from hypothesis import strategies as st
from tiny_decoders import WITH_SITES, build_decoder

from wordbias.errors import WordbiasError
from wordbias.models.families import FAMILIES, PARTS, base_of, is_decoder, layer_count
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.hooks import Intervention, applied, recording
from wordbias.models.sites import Site, first_layer, locate, sites

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

PARALLEL = ("gpt_neox", "phi")
"""Families whose MLP reads what the attention reads, not what it has written."""


@pytest.fixture(params=WITH_SITES)
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def recorded(model: Any, **inputs: Any) -> tuple[dict[Site, Any], Any]:
    with torch.no_grad(), recording(model, SITES) as seen:
        out = model(**inputs, output_hidden_states=True, use_cache=True)
    return dict(seen), out


# Values


def test_values_are_those_of_plain_hooks(family: str) -> None:
    model, ids = decoder(family), texts()
    seen, _ = recorded(model, input_ids=ids)
    hooked: dict[Site, Any] = {}
    with (
        torch.no_grad(),
        plain_hooks(
            family, model, {site: lambda x, site=site: hooked.setdefault(site, x) for site in SITES}
        ),
    ):
        model(input_ids=ids)
    for site in SITES:
        expected = hooked[site].flatten(-2) if site.kind in PARTS else hooked[site]
        assert torch.equal(seen[site], expected), site
        assert seen[site].shape == (2, 5, width_of(family, site.kind))
        assert locate(model, site).heads == (
            heads_of(family, site.kind) if site.kind in PARTS else 1
        )


def test_tokens_are_the_hidden_states_of_transformers(family: str) -> None:
    model = decoder(family)
    seen, out = recorded(model, input_ids=texts())
    assert layer_count(model) == len(out.hidden_states) - 1 == 2
    for layer in (1, 2):
        assert torch.equal(seen[Site("tokens", layer)], out.hidden_states[layer])
        assert torch.equal(seen[Site("input", layer)], out.hidden_states[layer - 1])


def test_a_layer_adds_its_outputs_to_its_input(family: str) -> None:
    """The residual stream after each layer, of the last one as it enters the final norm."""
    model = decoder(family)
    after: list[Any] = []
    handle = final_norm(family, model).register_forward_pre_hook(
        lambda _, args: after.append(args[0])
    )
    seen, _ = recorded(model, input_ids=texts())
    handle.remove()
    for layer, left in ((1, seen[Site("tokens", 1)]), (2, after[0])):
        parts = [seen[Site(kind, layer)] for kind in ("input", "attention-output", "mlp-output")]
        torch.testing.assert_close(sum(parts), left, rtol=0, atol=rounding(left))


def test_gpt_neox_with_one_output_after_the_other() -> None:
    """Its config says whether the MLP reads what the attention has written."""
    model = build_decoder("gpt_neox", 40, use_parallel_residual=False).double()
    with torch.no_grad():
        parallel = decoder("gpt_neox")(input_ids=texts()).logits
    seen, out = recorded(model, input_ids=texts())
    parts = [seen[Site(kind, 1)] for kind in ("input", "attention-output", "mlp-output")]
    left = seen[Site("tokens", 1)]
    torch.testing.assert_close(sum(parts), left, rtol=0, atol=rounding(left))
    assert not torch.allclose(out.logits, parallel)


def test_the_mlp_follows_the_attention(family: str) -> None:
    """What the norm before the MLP reads tells the two outputs apart."""
    model = decoder(family)
    if family == "phi":
        pytest.skip("its MLP has no norm of its own")
    name = {"gpt2": "ln_2", "gemma2": "pre_feedforward_layernorm"}
    name["gemma3_text"] = name["gemma2"]
    norm = layer_of(family, model, 1).get_submodule(name.get(family, "post_attention_layernorm"))
    read: list[Any] = []
    handle = norm.register_forward_pre_hook(lambda _, args: read.append(args[0]))
    seen, _ = recorded(model, input_ids=texts())
    handle.remove()
    expected = seen[Site("input", 1)]
    if family not in PARALLEL:
        expected = expected + seen[Site("attention-output", 1)]
    torch.testing.assert_close(read[0], expected, rtol=0, atol=rounding(expected))


def test_keys_and_values_are_those_of_the_cache(family: str) -> None:
    """Values are stored as the map puts them out; keys turned by their position, which keeps their
    length, except where a norm comes first."""
    model = decoder(family)
    seen, out = recorded(model, input_ids=texts())
    for layer, stored in enumerate(out.past_key_values.layers, 1):
        heads = heads_of(family, "key")
        key, value = (
            seen[Site(part, layer)].unflatten(-1, (heads, -1)).transpose(1, 2)
            for part in ("key", "value")
        )
        assert torch.equal(value, stored.values)
        if family == "gpt2":  # has no rotation
            assert torch.equal(key, stored.keys)
        elif family not in ("qwen3", "gemma3_text"):
            eps = torch.finfo(torch.float32).eps  # sines and cosines are in float32
            torch.testing.assert_close(
                key.norm(dim=-1), stored.keys.norm(dim=-1), rtol=2 * eps, atol=0
            )


def test_the_base_model_has_the_same_sites(family: str) -> None:
    model, ids = decoder(family), texts()
    base = base_of(model)
    assert base is not model
    assert base_of(base) is base
    assert is_decoder(base)
    seen, _ = recorded(model, input_ids=ids)
    with torch.no_grad(), recording(base, SITES) as states:
        base(input_ids=ids)
    for site in SITES:
        assert torch.equal(seen[site], states[site]), site
    mine = Fingerprint.of(model)
    assert (mine.layers, mine.width, mine.heads) == (2, 16, 4)
    assert mine.encoder_difference(Fingerprint.of(base)) == ""
    assert mine.difference(Fingerprint.of(build_decoder(family, 40, seed=1))) != ""


def test_decoders_are_told_from_encoders() -> None:
    assert {name for name in FAMILIES if is_decoder(name)} == set(WITH_SITES)
    assert is_decoder(FAMILIES["gpt2"])
    assert not is_decoder(FAMILIES["bert"])
    with pytest.raises(WordbiasError, match="models of type 'bloom' are not known here"):
        is_decoder(build_decoder("bloom", 40))


@pytest.mark.parametrize("site", ["cls@2", "sentence", "cls@9"])
def test_sites_of_encoders_are_refused(site: str) -> None:
    with pytest.raises(
        WordbiasError,
        match=rf"^site {site}: LlamaForCausalLM is a decoder; it has input@L, attention-output@L, "
        r"mlp-output@L, tokens@L and attention@L \(or query@L, key@L, value@L\) for the layers 1 "
        "to 2$",
    ):
        locate(decoder("llama"), Site.parse(site))


def test_a_layer_that_it_lacks() -> None:
    with pytest.raises(WordbiasError, match="input@3: LlamaForCausalLM has the layers 1 to 2"):
        locate(decoder("llama"), Site("input", 3))


# Removals


def test_the_first_layer_that_a_removal_changes(family: str) -> None:
    """Of the hidden states those before it are as they were, itself and later ones are not."""
    model, ids = decoder(family), texts()
    before = recorded(model, input_ids=ids)[1].hidden_states
    for site in SITES:
        with applied(model, [Intervention(site, subspace_at(family, site), True)]):
            after = recorded(model, input_ids=ids)[1].hidden_states
        same = [torch.equal(a, b) for a, b in zip(before, after, strict=True)]
        first = first_layer([site], 2)
        assert same == [True] * first + [False] * (3 - first), site


@pytest.mark.each_once("hard")
@pytest.mark.parametrize("hard", [True, False])
def test_a_removal_is_that_of_plain_hooks(family: str, hard: bool) -> None:
    model, ids = decoder(family), texts()
    with torch.no_grad():
        before = model(input_ids=ids).logits
        every = dict(zip(SITES, interventions(family, SITES, hard), strict=True))
        hands = {site: by_hand(family, site, 10 * i, hard) for i, site in enumerate(SITES)}
        for wanted in [[site] for site in SITES] + [list(SITES)]:
            with applied(model, [every[site] for site in wanted]):
                logits = model(input_ids=ids).logits
            with plain_hooks(family, model, {site: hands[site] for site in wanted}):
                expected = model(input_ids=ids).logits
            torch.testing.assert_close(logits, expected, rtol=0, atol=rounding(expected))
            assert not torch.allclose(logits, before, 0, 1e-6), wanted
        assert torch.equal(model(input_ids=ids).logits, before)


def can_be_padded(family: str) -> Any:
    """Return a model that can be padded: Gemma 2 has its softmax in float32, which makes minus
    infinity of the mask of a model in float64, and no number of a row of it."""
    return build_decoder(family, 40) if family == "gemma2" else decoder(family)


def test_generating_is_the_same_with_and_without_the_cache(family: str) -> None:
    """Two prompts of unequal length, padded on the left, as `generate` wants them."""
    model, ids = can_be_padded(family), texts(2, 9)
    mask = torch.tensor([[1] * 9, [0] * 4 + [1] * 5])
    ids = ids * mask

    def generated(cache: bool, **inputs: Any) -> tuple[Any, Any]:
        out = model.generate(
            **inputs,
            max_new_tokens=6,
            do_sample=False,
            use_cache=cache,
            pad_token_id=0,
            output_logits=True,
            return_dict_in_generate=True,
        )
        return out.sequences[:, -6:], torch.stack(out.logits, 1)

    plain = generated(True, input_ids=ids, attention_mask=mask)
    with applied(model, interventions(family, SITES, True)):
        tokens, logits = generated(True, input_ids=ids, attention_mask=mask)
        uncached, same = generated(False, input_ids=ids, attention_mask=mask)
        alone = generated(True, input_ids=ids[1:, 4:], attention_mask=mask[1:, 4:])
        whole = model(input_ids=torch.cat([ids[:1], tokens[:1]], 1)).logits[:, 8:-1].float()
    assert torch.equal(tokens, uncached)
    torch.testing.assert_close(same, logits, rtol=0, atol=rounding(logits))
    assert torch.equal(tokens[1:], alone[0])
    torch.testing.assert_close(alone[1], logits[1:], rtol=0, atol=rounding(logits))
    torch.testing.assert_close(whole, logits[:1], rtol=0, atol=rounding(logits))
    assert not torch.allclose(plain[1][:, 0], logits[:, 0], 0, 1e-6)


@pytest.mark.each_once("left")
@pytest.mark.parametrize("left", [True, False])
def test_padding_changes_nothing_on_either_side(family: str, left: bool) -> None:
    model, ids = can_be_padded(family), texts(1, 5)
    pad, ones = torch.zeros(1, 3, dtype=torch.int64), torch.ones(1, 5, dtype=torch.int64)
    order = slice(None, None, -1 if not left else 1)
    padded = torch.cat([pad, ids][order], 1)
    mask = torch.cat([pad, ones][order], 1)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    tokens = slice(3, None) if left else slice(5)
    with applied(model, interventions(family, SITES, True)):
        seen, out = recorded(model, input_ids=ids)
        states, wide = recorded(
            model, input_ids=padded, attention_mask=mask, position_ids=positions
        )
    expected = out.logits
    torch.testing.assert_close(wide.logits[:, tokens], expected, rtol=0, atol=rounding(expected))
    for site in SITES:
        torch.testing.assert_close(
            states[site][:, tokens], seen[site], rtol=0, atol=rounding(seen[site])
        )


def test_half_precision_is_projected_in_float32(family: str) -> None:
    """Rounding to bfloat16 moves a value by 2^-8 of itself at most, and nothing else does."""
    model, ids = build_decoder(family, 40).to(torch.bfloat16), texts()
    plain, _ = recorded(model, input_ids=ids)
    for i, site in enumerate(SITES):
        subspace = subspace_at(family, site, 10 * i)
        with applied(model, [Intervention(site, subspace, True)]):
            rounded = recorded(model, input_ids=ids)[0][site]
        expected = subspace.remove(plain[site].double().numpy(), True)
        assert rounded.dtype == torch.bfloat16
        least = 1e-5 * float(plain[site].float().norm(dim=-1).max())  # of float32
        off = np.abs(rounded.double().numpy() - expected)
        assert (off <= 2**-8 * np.abs(expected) + least).all(), site


# Theorem


@given(st.integers(1, 4), st.integers(0, 2**31), st.data())
def test_what_nothing_writes_is_nowhere_in_the_stream(
    k: int, seed: int, data: st.DataObject
) -> None:
    """The residual stream is a sum: of what enters layer 1 and of what the layers add. It holds in
    every family, up to the final norm, whose output has the component again."""
    family = data.draw(st.sampled_from(WITH_SITES))
    model, ids = decoder(family), texts(seed=seed)
    subspace = orthonormal(k, 16, seed)
    wanted = sites("input@1,attention-output@all,mlp-output@all", 2)
    streams: list[Any] = []
    watched = [layer_of(family, model, layer) for layer in (1, 2)] + [final_norm(family, model)]
    with applied(model, [Intervention(site, subspace, True) for site in wanted]):
        handles = [
            module.register_forward_pre_hook(lambda _, args: streams.append(args[0]))
            for module in watched
        ]
        with torch.no_grad():
            last = model(input_ids=ids, output_hidden_states=True).hidden_states[-1]
        for handle in handles:
            handle.remove()
    assert len(streams) == 3
    for x in streams:
        assert float(subspace.like(x).coordinates(x).abs().max()) <= rounding(x)
    assert float(subspace.like(last).coordinates(last).abs().max()) > rounding(last)


def test_a_place_in_every_kind_of_call() -> None:
    """A layer may get its input by name, as callers outside of transformers do."""
    model = decoder("llama")
    layer = layer_of("llama", model, 1)
    site = Site("input", 1)
    x = torch.randn(1, 3, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    positions = torch.arange(3)[None]
    turns = model.model.rotary_emb(x, positions)
    with torch.no_grad(), recording(model, [site]) as seen:
        layer(hidden_states=x, position_embeddings=turns)
        assert torch.equal(seen[site], x)
    removal = Intervention(site, subspace_at("llama", site), True)
    expected = by_hand("llama", site, 0, True)(x)
    with torch.no_grad(), applied(model, [removal]):
        hooked = layer(hidden_states=x, position_embeddings=turns)
    with torch.no_grad():
        unhooked = layer(expected, position_embeddings=turns)
    torch.testing.assert_close(hooked, unhooked, rtol=0, atol=rounding(unhooked))


def test_kinds_are_in_the_order_of_a_layer() -> None:
    from wordbias.models.adapters import depth

    expected = [Site(kind, layer) for layer in (1, 2) for kind in KINDS]
    assert sorted(SITES, key=depth) == expected
    module, entering, _ = place_of("llama", decoder("llama"), Site("input", 1))
    place = locate(decoder("llama"), Site("input", 1))
    assert (place.module, place.entering) == (module, entering)
