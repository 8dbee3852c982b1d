"""Sites: how they are written, counted, and found in a model."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_encoders import FAMILIES, LAYERS, build

from wordbias.errors import WordbiasError
from wordbias.models.families import PARTS
from wordbias.models.sites import KINDS, Site, attention, locate, locate_all, sites, written

LAYERED = [kind for kind in KINDS if kind not in ("sentence", "embedding")]


@pytest.mark.parametrize(
    "text", ["sentence", "cls@12", "tokens@-2", "query@1", "value@3", "attention-output@2"]
)
def test_a_site_reads_back(text: str) -> None:
    assert str(Site.parse(text)) == text


def test_attention_is_query_key_and_value() -> None:
    assert sites("attention@2") == attention(2)
    assert [site.kind for site in attention(2)] == list(PARTS)
    assert sites(" cls@1, attention@-2 ,query@-2") == (Site("cls", 1), *attention(-2))


def test_a_minus_may_be_typeset() -> None:
    assert Site.parse("cls@−1") == Site("cls", -1)


@pytest.mark.parametrize(
    "text", ["", "cls", "sentence@3", "cls@0", "word@1", "cls@x", "attention", "mlp-output", "all"]
)
def test_what_is_no_site_is_refused(text: str) -> None:
    with pytest.raises(WordbiasError, match=r"expected (one|some) of sentence, embedding, cls@L"):
        sites(text)


def test_ranges_stand_for_their_layers() -> None:
    assert sites("tokens@3..5") == tuple(Site("tokens", layer) for layer in (3, 4, 5))
    assert sites("attention@1..2") == (*attention(1), *attention(2))
    assert sites("mlp-output@all", 3) == tuple(Site("mlp-output", layer) for layer in (1, 2, 3))
    assert sites("tokens@-2..−1, tokens@-1,tokens@4", 4) == (Site("tokens", 3), Site("tokens", 4))
    assert sites("tokens@2..-1", 3) == sites("tokens@2,tokens@3")
    assert sites("sentence,cls@-1", 3) == (Site("sentence"), Site("cls", 3))


@pytest.mark.parametrize(
    "text",
    [
        "tokens@1..3",
        "input@1,mlp-output@1..2,tokens@2",
        "tokens@3,tokens@5,sentence",
        "attention@1",
        "attention@2..3,cls@3",
        "query@1..2,value@1",
        "cls@-1",
    ],
)
def test_sites_are_written_as_ranges(text: str) -> None:
    assert written(sites(text)) == text.replace(",", ", ")


@given(st.sets(st.builds(Site, st.sampled_from(LAYERED), st.integers(1, 9)), min_size=1))
def test_what_is_written_reads_back(wanted: set[Site]) -> None:
    assert set(sites(written(wanted))) == wanted


@pytest.mark.parametrize(
    ("text", "layers", "why"),
    [
        ("tokens@all", None, "'tokens@all': the number of layers is not known here"),
        ("tokens@2..-1", None, "the number of layers is not known here"),
        ("tokens@5..3", None, "expected the first layer and then the last"),
        ("tokens@0..3", None, "layers count from 1"),
        ("tokens@1..999999999", None, "expected the first layer and then the last"),
        ("tokens@-1..1", 3, "expected the first layer and then the last"),
        ("tokens@2..4", 3, "tokens@4: the model has the layers 1 to 3"),
        ("tokens@4", 3, "tokens@4: the model has the layers 1 to 3"),
        ("sentence@all", 3, "site sentence@1: expected one of"),
        ("tokens@3..", 3, "site 'tokens@3..': expected one of"),
    ],
)
def test_a_range_that_is_none(text: str, layers: int | None, why: str) -> None:
    with pytest.raises(WordbiasError, match=re.escape(why)):
        sites(text, layers)


def test_layers_count_from_one_and_from_the_end(classifier: Any) -> None:
    for layer in range(1, LAYERS + 1):
        site = Site("cls", layer - LAYERS - 1).within(classifier)
        assert site == Site("cls", layer) == Site("cls", layer).within(classifier)


@pytest.mark.parametrize("layer", [LAYERS + 1, -LAYERS - 1])
def test_a_layer_that_the_model_lacks(classifier: Any, layer: int) -> None:
    name = type(classifier).__name__
    with pytest.raises(WordbiasError, match=rf"cls@{layer}: {name} has the layers 1 to {LAYERS}"):
        locate(classifier, Site("cls", layer))


def test_every_family_has_every_site(classifier: Any) -> None:
    wanted = [Site("sentence"), *sites("cls@1,tokens@2,attention@3,attention@-1")]
    for place in locate_all(classifier, wanted):
        assert place.width == 16
        assert place.first == (place.site.kind == "cls")
        assert place.heads == (4 if place.site.kind in PARTS else 1)


@pytest.mark.parametrize("kind", ["input", "attention-output", "mlp-output"])
def test_an_encoder_has_no_site_of_the_residual_stream(kind: str) -> None:
    with pytest.raises(
        WordbiasError,
        match=rf"^site {kind}@1: BertForSequenceClassification is an encoder; it has sentence, "
        r"cls@L, tokens@L and attention@L \(or query@L, key@L, value@L\) for the layers 1 to 3$",
    ):
        locate(build("bert"), Site(kind, 1))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_without_a_vector_of_the_sentence(family: str) -> None:
    model = build(family, "MaskedLM")
    with pytest.raises(WordbiasError, match=r"neither a classification head nor a pooler; it has"):
        locate(model, Site("sentence"))
    assert locate(model, Site("tokens", -1)).width == 16


def test_a_family_that_is_not_known() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.BloomConfig(n_layer=1, n_head=1, hidden_size=8, vocab_size=20)
    with pytest.raises(WordbiasError, match="models of type 'bloom' are not known here; known are"):
        locate(transformers.BloomModel(config), Site("cls", 1))


def test_a_layer_of_albert_with_two_attentions() -> None:
    model = build("albert", inner_group_num=2)
    with pytest.raises(WordbiasError, match="has 2 attentions here"):
        locate(model, Site("key", 1))
    assert locate(model, Site("cls", 1)).width == 16
