"""Folding: the weights do what the hooks did, and what cannot be folded is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tiny_encoders import FAMILIES, LAYERS, build

from wordbias.errors import WordbiasError
from wordbias.models.families import FAMILIES as TABLE
from wordbias.models.families import PARTS
from wordbias.models.folding import fold
from wordbias.models.hooks import Intervention, applied, of_heads
from wordbias.models.sites import Site, sites
from wordbias.subspace import Subspace

torch = pytest.importorskip("torch")

FOLDABLE = sites("sentence,cls@-1,attention@1,attention@-1")
HEADS = [(family, purpose) for family in FAMILIES for purpose in TABLE[family].heads]


def subspace_for(site: Site, seed: int = 0) -> Subspace:
    rng = np.random.default_rng(seed)

    def one(k: int, d: int) -> Subspace:
        return Subspace(np.linalg.qr(rng.normal(size=(d, k)))[0].T, rng.uniform(0.2, 0.9, k))

    return of_heads([one(1, 4) for _ in range(4)]) if site.kind in PARTS else one(2, 16)


def logits(model: Any, inputs: dict[str, Any], purpose: str = "") -> Any:
    if purpose == "MultipleChoice":
        inputs = {name: x[:, None] for name, x in inputs.items()}
    with torch.no_grad():
        out = model(**inputs)
    return next(out[name] for name in out if "logits" in name and "prediction" not in name)


def bound(x: Any) -> float:
    """Allow for the rounding of some hundred float64 operations on values of this size."""
    return 1e-12 * max(1.0, float(x.abs().max()))


@pytest.mark.each_once("hard")
@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize(("family", "purpose"), HEADS)
def test_folding_equals_hooking(
    family: str, purpose: str, hard: bool, inputs: dict[str, Any]
) -> None:
    model = build(family, purpose).double()
    wanted = [Intervention(site, subspace_for(site, i), hard) for i, site in enumerate(FOLDABLE)]
    for chosen in [[it] for it in wanted] + [wanted]:
        with applied(model, chosen):
            expected = logits(model, inputs, purpose)
        folded = fold(model, chosen)
        with applied(folded.model, [it for it, _ in folded.left]):
            scores = logits(folded.model, inputs, purpose)
        torch.testing.assert_close(scores, expected, rtol=0, atol=bound(expected))
        assert not torch.allclose(expected, logits(model, inputs, purpose), 0, 1e-6)
    assert len(folded.folded) + len(folded.left) == len(wanted)
    if family != "albert" and purpose != "PreTraining":
        assert folded.left == ()


def test_the_model_itself_is_not_changed(classifier: Any, inputs: dict[str, Any]) -> None:
    before = {name: x.clone() for name, x in classifier.state_dict().items()}
    fold(classifier, [Intervention(site, subspace_for(site), True) for site in FOLDABLE])
    for name, x in classifier.state_dict().items():
        assert torch.equal(before[name], x), name


def test_two_at_one_site_are_folded_in_their_order(inputs: dict[str, Any]) -> None:
    model = build("bert").double()
    for site in FOLDABLE[:3]:
        chosen = [Intervention(site, subspace_for(site, seed), True) for seed in (1, 2)]
        with applied(model, chosen):
            expected = logits(model, inputs)
        with applied(model, chosen[::-1]):
            reversed_order = logits(model, inputs)
        scores = logits(fold(model, chosen).model, inputs)
        torch.testing.assert_close(scores, expected, rtol=0, atol=bound(expected))
        if site.kind not in PARTS:
            assert not torch.allclose(expected, reversed_order, 0, 1e-6)


def test_a_linear_map_without_a_bias(inputs: dict[str, Any]) -> None:
    model = build("bert").double()
    model.bert.encoder.layer[0].attention.self.key.bias = None
    intervention = Intervention(Site("key", 1), subspace_for(Site("key", 1)))
    with applied(model, [intervention]):
        expected = logits(model, inputs)
    scores = logits(fold(model, [intervention]).model, inputs)
    torch.testing.assert_close(scores, expected, rtol=0, atol=bound(expected))


def test_weights_keep_their_type() -> None:
    model = build("bert").to(torch.bfloat16)
    folded = fold(model, [Intervention(site, subspace_for(site)) for site in FOLDABLE]).model
    assert {x.dtype for x in folded.parameters()} == {torch.bfloat16}


@pytest.mark.parametrize(
    ("family", "purpose", "site", "why"),
    [
        ("bert", "SequenceClassification", "tokens@3", "residual connection"),
        ("bert", "SequenceClassification", "cls@2", "only behind the last layer, 3"),
        ("bert", "PreTraining", "cls@3", "a second head that reads the token"),
        ("albert", "PreTraining", "cls@3", "a second head that reads the token"),
        ("bert", "Model", "sentence", "BertModel has no head"),
        ("roberta", "MaskedLM", "cls@3", "RobertaForMaskedLM has no head"),
        ("albert", "SequenceClassification", "value@1", "its weights are those of 3 layers"),
    ],
)
def test_what_cannot_be_folded_is_left_with_its_reason(
    family: str, purpose: str, site: str, why: str
) -> None:
    model = build(family, purpose)
    intervention = Intervention(Site.parse(site), subspace_for(Site.parse(site)))
    folded = fold(model, [intervention])
    assert folded.folded == ()
    [(left, reason)] = folded.left
    assert left is intervention
    assert why in reason
    for before, after in zip(model.parameters(), folded.model.parameters(), strict=True):
        assert torch.equal(before, after)


def test_cls_waits_for_a_hook_that_is_to_follow_it(inputs: dict[str, Any]) -> None:
    model = build("bert").double()
    cls, tokens = Site("cls", LAYERS), Site("tokens", -1)
    chosen = [Intervention(site, subspace_for(site, i)) for i, site in enumerate((cls, tokens))]
    for order, left in ((chosen, 2), (chosen[::-1], 1)):
        folded = fold(model, order)
        assert len(folded.left) == left
        with applied(model, order):
            expected = logits(model, inputs)
        with applied(folded.model, [it for it, _ in folded.left]):
            scores = logits(folded.model, inputs)
        torch.testing.assert_close(scores, expected, rtol=0, atol=bound(expected))


def test_albert_of_one_layer_can_be_folded(inputs: dict[str, Any]) -> None:
    model = build("albert", num_hidden_layers=1).double()
    wanted = [Intervention(site, subspace_for(site)) for site in FOLDABLE]
    with applied(model, wanted):
        expected = logits(model, inputs)
    folded = fold(model, wanted)
    assert folded.left == ()
    torch.testing.assert_close(logits(folded.model, inputs), expected, rtol=0, atol=bound(expected))


def test_what_does_not_fit_is_refused() -> None:
    model = build("bert")
    with pytest.raises(WordbiasError, match="layers 1 to 3"):
        fold(model, [Intervention(Site("cls", 4), subspace_for(Site("cls", 4)))])
    with pytest.raises(WordbiasError, match="vectors of 16 values"):
        fold(model, [Intervention(Site("sentence"), Subspace.from_direction(np.ones(3)))])
