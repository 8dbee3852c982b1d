"""Families with one map for query, key and value, a norm behind the last layer, or a mean head."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from swept_models import ALIKE, models_of, naive, swept
from test_folding import bound, subspace_for
from tiny_encoders import build

from wordbias.errors import WordbiasError
from wordbias.models.families import PARTS, first_token_head_of, logits_of
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.folding import fold, reasons_against
from wordbias.models.hooks import Intervention, applied, recording
from wordbias.models.sites import Site, locate, sites
from wordbias.subspace import Subspace

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

DEBERTA_V3 = {
    "conv_kernel_size": 0,
    "pos_att_type": "p2c|c2p",
    "position_buckets": 8,
    "max_relative_positions": -1,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "type_vocab_size": 0,
    "legacy": False,
}
"""What the config of microsoft/deberta-v3-base says, but for the sizes."""
LIKE = [
    ("deberta-v2", DEBERTA_V3),
    ("deberta-v2", {**DEBERTA_V3, "pos_att_type": ["c2p"], "share_att_key": False}),
    ("xlm-roberta", {}),
    ("modernbert", {"layer_types": ["sliding_attention"] * 2 + ["full_attention"]}),
    ("modernbert", {"norm_bias": True, "attention_bias": True, "mlp_bias": True}),
]


def less(x: Any, step: Intervention) -> Any:
    """Remove a subspace by hand, in the type of `x`."""
    g = torch.tensor(step.what.basis).to(x)
    weights = torch.ones(len(g)) if step.hard else torch.tensor(step.what.weights)
    return x - ((x @ g.T) * weights.to(x)) @ g


def step(text: str, seed: int = 0, hard: bool = True) -> Intervention:
    site = Site.parse(text)
    return Intervention(site, subspace_for(site, seed), hard)


def run(model: Any, inputs: dict[str, Any]) -> Any:
    with torch.no_grad():
        return model(**inputs, output_hidden_states=True)


def test_the_layers_of_modernbert_one_by_one(inputs: dict[str, Any]) -> None:
    """With the projections done between its modules by hand, in the attention inside the map."""
    model = build("modernbert").double()
    steps = {
        name: step(name, seed, hard)
        for name, seed, hard in (
            ("query@2", 1, True), ("key@2", 2, False), ("value@2", 3, True), ("tokens@2", 4, False),
            ("cls@3", 5, True), ("sentence", 6, True),
        )
    }  # fmt: skip
    with applied(model, steps.values()):
        logits = run(model, inputs).logits
    calls: list[dict[str, Any]] = []

    def keep(module: Any, args: Any, kwargs: dict[str, Any]) -> None:
        calls.append(kwargs)

    handles = [
        layer.register_forward_pre_hook(keep, with_kwargs=True) for layer in model.model.layers
    ]
    run(model, inputs)
    for handle in handles:
        handle.remove()
    first, second, _ = (kwargs["attention_mask"] for kwargs in calls)
    assert not torch.equal(first, second)  # of all tokens, then within a window
    with torch.no_grad():
        h = model.model.embeddings(inputs["input_ids"])
        h = model.model.layers[0](h, **calls[0])
        layer = model.model.layers[1]
        weight = layer.attn.Wqkv.weight.clone()
        for i, part in enumerate(PARTS):
            rows = slice(16 * i, 16 * (i + 1))
            layer.attn.Wqkv.weight[rows] = less(weight[rows].T, steps[f"{part}@2"]).T
        h = less(layer(h, **calls[1]), steps["tokens@2"])
        h = model.model.final_norm(model.model.layers[2](h, **calls[2]))[:, 0]
        h = model.head(less(h, steps["cls@3"]))
        expected = model.classifier(less(h, steps["sentence"]))
    torch.testing.assert_close(logits, expected, rtol=0, atol=bound(expected))


def test_a_hook_on_the_joined_map_by_hand(inputs: dict[str, Any]) -> None:
    model = build("modernbert")
    value = step("value@1")
    with applied(model, [value]):
        states = run(model, inputs).hidden_states[1]

    def remove(module: Any, args: Any, x: Any) -> Any:
        return torch.cat([x[..., :32], less(x[..., 32:], value)], -1)

    handle = model.model.layers[0].attn.Wqkv.register_forward_hook(remove)
    expected = run(model, inputs).hidden_states[1]
    handle.remove()
    torch.testing.assert_close(states, expected, rtol=0, atol=1e-5)
    assert not torch.allclose(states, run(model, inputs).hidden_states[1], 0, 1e-3)


@pytest.mark.parametrize(
    ("family", "pooling"),
    [("modernbert", "cls"), ("modernbert", "mean"), ("eurobert", "bos"), ("eurobert", "mean")],
)
def test_a_head_that_reads_a_mean(family: str, pooling: str, inputs: dict[str, Any]) -> None:
    """Its sentence vector is a site like any other; its CLS token is read with the others."""
    model = build(family, classifier_pooling=pooling).double()
    wanted = [step("value@2"), step("sentence", 1)]
    with applied(model, wanted):
        expected = run(model, inputs).logits
    with recording(model, [Site("sentence")]) as seen:
        plain = run(model, inputs)
    final = model.classifier
    assert torch.equal(final(seen[Site("sentence")]), plain.logits)
    folded = fold(model, wanted)
    assert folded.left == ()
    logits = run(folded.model, inputs).logits
    torch.testing.assert_close(logits, expected, rtol=0, atol=bound(expected))
    (reason,) = reasons_against(model, [Site("cls", 3)])
    first = plain.hidden_states[-1][:, 0]
    if pooling != "mean":
        assert reason == ""
        torch.testing.assert_close(logits_of(model, first), plain.logits, rtol=0, atol=1e-12)
        return
    assert reason == f"the head of this {type(model).__name__} reads a mean of the tokens"
    with pytest.raises(WordbiasError, match="reads the mean of the tokens, and here the first"):
        first_token_head_of(model)
    with applied(model, [step("cls@3")]):
        assert not torch.allclose(run(model, inputs).logits, plain.logits, 0, 1e-6)


def test_a_head_that_takes_the_mean_of_logits_has_no_sentence(inputs: dict[str, Any]) -> None:
    model = build("eurobert", classifier_pooling="late").double()
    with pytest.raises(WordbiasError, match=r"'late' in its config\): there is no vector of the"):
        locate(model, Site("sentence"))
    with pytest.raises(WordbiasError, match="one vector of the text has to be read"):
        first_token_head_of(model)
    steps = [step(f"{part}@2") for part in PARTS]
    with applied(model, steps):
        expected = run(model, inputs).logits
    logits = run(fold(model, steps).model, inputs).logits
    torch.testing.assert_close(logits, expected, rtol=0, atol=bound(expected))


def test_keys_of_eurobert_that_several_heads_share(inputs: dict[str, Any]) -> None:
    """As in its models of 610 million parameters and more."""
    model = build("eurobert", num_key_value_heads=2).double()
    places = [locate(model, Site(part, 2)) for part in PARTS]
    assert [(place.width, place.heads) for place in places] == [(16, 4), (8, 2), (8, 2)]
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 2)))[0].T
    removed = Subspace(basis, np.ones(2))
    steps = [Intervention(Site(part, 2), removed, True) for part in ("key", "value")]
    with applied(model, steps), recording(model, [Site("value", 2)]) as seen:
        expected = run(model, inputs).logits
    value = seen[Site("value", 2)]
    torch.testing.assert_close(
        value @ torch.tensor(basis).T,
        torch.zeros(*value.shape[:-1], 2).double(),
        rtol=0,
        atol=1e-12,
    )
    logits = run(fold(model, steps).model, inputs).logits
    torch.testing.assert_close(logits, expected, rtol=0, atol=bound(expected))


def test_without_a_head_modernbert_has_no_sentence(inputs: dict[str, Any]) -> None:
    model = build("modernbert", "Model")
    with pytest.raises(WordbiasError, match="neither a classification head nor a pooler; it has"):
        locate(model, Site("sentence"))
    with recording(model, [Site("tokens", -1)]) as seen:
        out = run(model, inputs)
    assert torch.equal(seen[Site("tokens", -1)], out.last_hidden_state)


@pytest.mark.parametrize(("family", "options"), LIKE)
def test_variants_of_known_families(
    family: str, options: dict[str, Any], inputs: dict[str, Any]
) -> None:
    model = build(family, **options).double()
    assert Fingerprint.of(model).layers == 3
    every = sites("sentence,cls@-1,tokens@1,attention@2")
    states = [Site("tokens", layer) for layer in (1, 2, 3)]
    with recording(model, [*every, *states]) as seen:
        plain = run(model, inputs)
    for site in states:
        assert torch.equal(seen[site], plain.hidden_states[site.layer or 0])
    for site in every:
        removal = Intervention(site, subspace_for(site), True)
        with applied(model, [removal]), recording(model, [site]) as after:
            changed = run(model, inputs)
        torch.testing.assert_close(after[site], less(seen[site], removal), rtol=0, atol=1e-10)
        own = site.within(model).layer or 4
        pairs = zip(plain.hidden_states, changed.hidden_states, strict=True)
        assert [torch.equal(x, y) for x, y in pairs] == [i < own for i in range(4)], site
    steps = [
        Intervention(site, subspace_for(site), False)
        for site in sites("sentence,cls@-1,attention@2")
    ]
    with applied(model, steps):
        expected = run(model, inputs).logits
    folded = fold(model, steps)
    assert folded.left == ()
    logits = run(folded.model, inputs).logits
    torch.testing.assert_close(logits, expected, rtol=0, atol=bound(expected))


@pytest.mark.parametrize(("family", "options"), LIKE[:1] + LIKE[3:])
def test_their_sweep_is_that_of_the_hooks(
    family: str, options: dict[str, Any], inputs: dict[str, Any]
) -> None:
    model = build(family, **options)
    models = models_of(model, 9)
    with torch.inference_mode():
        expected, sweep = (how(model, models, inputs) for how in (naive, swept))
    assert float((sweep - expected).abs().max()) <= ALIKE
    assert float((expected - expected[:1]).abs().max()) > 100 * ALIKE
