"""The table of families: each module it names is what it says, in a model that computes."""

from __future__ import annotations

from typing import Any

import pytest
from tiny_encoders import FAMILIES, LAYERS, NORMS, ROTARY, build

from wordbias.models.families import FAMILIES as TABLE
from wordbias.models.families import PARTS, family_of, head_of, layer_count
from wordbias.models.hooks import recording
from wordbias.models.sites import Site, locate

torch = pytest.importorskip("torch")

HEADS = [(family, purpose) for family in FAMILIES for purpose in TABLE[family].heads]
POOLED = [family for family in FAMILIES if TABLE[family].pooled]


def _run(model: Any, inputs: dict[str, Any], purpose: str) -> Any:
    if purpose == "MultipleChoice":
        inputs = {name: x[:, None] for name, x in inputs.items()}
    with torch.no_grad():
        return model(**inputs)


def test_all_families_of_the_tests_are_supported() -> None:
    assert set(FAMILIES) <= set(TABLE)


@pytest.mark.parametrize(("family", "purpose"), HEADS)
def test_the_final_layer_gives_the_logits(
    family: str, purpose: str, inputs: dict[str, Any]
) -> None:
    model = build(family, purpose)
    head = head_of(model)
    assert head is not None
    final = model.get_submodule(head.final)
    with recording(model, [Site("sentence")]) as seen:
        out = _run(model, inputs, purpose)
    logits = {"PreTraining": ("seq_relationship_logits", "sop_logits")}.get(purpose, ("logits",))
    scores = next(out[name] for name in logits if name in out)
    assert torch.equal(final(seen[Site("sentence")]).reshape(scores.shape), scores)


@pytest.mark.parametrize(("family", "purpose"), HEADS)
def test_the_dense_layer_reads_position_zero_of_the_last_layer(
    family: str, purpose: str, inputs: dict[str, Any]
) -> None:
    model = build(family, purpose)
    head = head_of(model)
    assert head is not None
    read: list[Any] = []
    model.get_submodule(head.dense).register_forward_pre_hook(lambda _, args: read.append(args[0]))
    with recording(model, [Site("cls", -1)]) as seen:
        _run(model, inputs, purpose)
    assert len(read) == 1
    assert torch.equal(read[0], seen[Site("cls", -1)])


@pytest.mark.parametrize("family", POOLED)
def test_without_a_head_the_sentence_is_what_the_pooler_puts_out(
    family: str, inputs: dict[str, Any]
) -> None:
    model = build(family, "Model")
    with recording(model, [Site("sentence")]) as seen:
        out = _run(model, inputs, "Model")
    assert torch.equal(seen[Site("sentence")], out.pooler_output)


def test_layers_are_the_hidden_states(classifier: Any, inputs: dict[str, Any]) -> None:
    wanted = [Site("tokens", layer) for layer in range(1, LAYERS + 1)]
    with torch.no_grad(), recording(classifier, wanted) as seen:
        states = classifier(**inputs, output_hidden_states=True).hidden_states
    assert layer_count(classifier) == len(states) - 1 == LAYERS
    for site in wanted:
        assert torch.equal(seen[site], states[site.layer]), site


def test_query_key_and_value_are_linear_maps_of_the_layer_below(
    family: str, classifier: Any, inputs: dict[str, Any]
) -> None:
    below = Site("tokens", 1)
    for part in PARTS:
        site = Site(part, 2)
        place = locate(classifier, site)
        entered: list[Any] = []
        handle = place.module.register_forward_pre_hook(lambda _, args: entered.append(args[0]))  # noqa: B023
        with torch.no_grad(), recording(classifier, [site, below]) as seen:
            classifier(**inputs)
        handle.remove()
        x = entered[place.call or 0]
        assert torch.equal(x, seen[below]) == (family not in NORMS)
        recomputed = place.module(x)[..., place.values]
        assert torch.allclose(recomputed, seen[site], atol=1e-6)
        assert seen[site].shape[-1] == 16
    places = {
        (place.module, place.start)
        for place in (locate(classifier, Site(part, 2)) for part in PARTS)
    }
    assert len(places) == 3


@pytest.mark.parametrize("family", FAMILIES)
def test_names_of_query_key_and_value_are_not_swapped(family: str, inputs: dict[str, Any]) -> None:
    """Where all values are one, attention is idle; where all keys are one, the query is idle."""
    if family == "deberta-v2":
        pytest.skip("its keys also meet the positions, so that a query is never idle")
    for constant, idle in (("value", ("query", "key")), ("key", ("query",))):
        model = build(family)
        maps = {part: locate(model, Site(part, 2)) for part in PARTS}
        with torch.no_grad():
            for parameter in maps[constant].module.parameters():
                # one that is turned by its position is constant only where it is 0
                if parameter.ndim == 2 or family in ROTARY:
                    parameter[maps[constant].values] = 0
            before = model(**inputs).logits
            for part, place in maps.items():
                rows = place.module.weight[place.values]
                rows.mul_(3)
                same = torch.allclose(before, model(**inputs).logits, 0, 1e-4)
                rows.div_(3)
                assert same == (part in idle or part == constant), (constant, part)


def test_a_head_is_found_by_a_base_class() -> None:
    transformers = pytest.importorskip("transformers")

    class Mine(transformers.BertForSequenceClassification):  # type: ignore[misc, name-defined]
        pass

    model = build("bert")
    assert head_of(Mine(model.config)) == head_of(model)
    assert family_of(model) is TABLE["bert"]
    assert head_of(build("bert", "TokenClassification")) is None
