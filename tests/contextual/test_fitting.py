"""Fitting: against sentences read one by one, with every step written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quick_cases import first_quick
from tiny_encoders import FAMILIES, LAYERS, NORMS, build, make_tokenizer

from wordbias.contextual import sent_debias
from wordbias.contextual.fitting import (
    Recipe,
    compressed,
    encode_pairs,
    first_component,
    fit_adapter,
    stability,
)
from wordbias.errors import WordbiasError
from wordbias.methods.pairs import subspace_of_pairs
from wordbias.models.families import PARTS
from wordbias.models.hooks import applied
from wordbias.models.sentence_pairs import SentencePair, sentence_pairs
from wordbias.models.sites import Site, locate, locate_layer, sites
from wordbias.subspace import Subspace

torch = pytest.importorskip("torch")

EVEN = [
    SentencePair("she is here", "he is here"),
    SentencePair("the woman sang", "the man sang"),
    SentencePair("a girl sat by the door", "a boy sat by the door"),
    SentencePair("my mother and her sister", "my father and his brother"),
    SentencePair("we met her", "we met him"),
    SentencePair("the queen left the old house", "the king left the old house"),
]
UNEVEN = SentencePair("the actress left", "the actor left")
SAME = SentencePair("zyx left", "xyz left")
WORDS = sorted({w for p in EVEN for s in p for w in s.split()} | {"actor", "act", "##ress"})


@pytest.fixture(scope="module")
def small() -> Any:
    return make_tokenizer(WORDS)


def model_for(family: str, tokenizer: Any, **options: Any) -> Any:
    return build(family, vocabulary=len(tokenizer), **options)


def states(model: Any, tokenizer: Any, text: str) -> Any:
    with torch.no_grad():
        read = tokenizer(text, return_tensors="pt", return_token_type_ids=False)
        return [h[0] for h in model(**read, output_hidden_states=True).hidden_states]


def components(differences: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """PCA of ± half the differences, whose mean is zero: eigenvectors of DᵀD."""
    d = differences / 2
    values, vectors = np.linalg.eigh(np.concatenate([d, -d]).T @ np.concatenate([d, -d]))
    return vectors[:, ::-1][:, :k].T, values[::-1][:k] / values.sum()


def assert_same(found: Subspace, differences: Any, k: int) -> None:
    basis, shares = components(np.asarray(differences, np.float64), k)
    np.testing.assert_allclose(found.weights, shares, atol=1e-4)
    cosines = np.abs(np.einsum("kd,kd->k", found.basis, basis))
    np.testing.assert_allclose(cosines, 1, atol=1e-4)


def test_sites_are_fitted_to_what_the_plain_model_computes(family: str, small: Any) -> None:
    model = model_for(family, small)
    adapter = fit_adapter(model, small, EVEN, batch=4)
    read = [[states(model, small, text) for text in pair] for pair in EVEN]
    cls = [(a[-1][0] - b[-1][0]).numpy() for a, b in read]
    assert_same(adapter.subspaces[Site("cls", LAYERS)], cls, 2)
    tokens = [(a[-2] - b[-2]).mean(0).numpy() for a, b in read]
    assert_same(adapter.subspaces[Site("tokens", LAYERS - 1)], tokens, 2)
    for part in PARTS:
        place = locate(model, Site(part, LAYERS - 1))
        layer = locate_layer(model, Site(part, LAYERS - 1)).module
        norm = layer.get_submodule(NORMS[family]) if family in NORMS else torch.nn.Identity()
        with torch.no_grad():
            before = [[place.module(norm(x[-3])) for x in pair] for pair in read]
            d = torch.stack([(a - b).mean(0) for a, b in before])[:, place.values]
        fitted = adapter.subspaces[Site(part, LAYERS - 1)]
        assert fitted.basis.shape == (4, 16)
        for head in range(4):
            block = slice(4 * head, 4 * head + 4)
            head_fit = Subspace(
                fitted.basis[head : head + 1, block], fitted.weights[head : head + 1]
            )
            assert_same(head_fit, d[:, block], 1)
            assert not fitted.basis[head].any() or not np.delete(fitted.basis[head], block).any()


@pytest.mark.parametrize("tokens", ["mean", "word", "cls"])
def test_which_tokens_the_vectors_are_of(tokens: str, small: Any) -> None:
    model = model_for("bert", small)
    adapter = fit_adapter(model, small, EVEN, Recipe(tokens), wanted=sites("tokens@1"))
    rows = []
    for first, second in EVEN:
        a, b = (states(model, small, text)[1].numpy() for text in (first, second))
        ids = [small(text)["input_ids"] for text in (first, second)]
        chosen = {
            "mean": list(range(len(a))),
            "word": [i for i, (x, y) in enumerate(zip(*ids, strict=True)) if x != y],
            "cls": [0],
        }[tokens]
        rows.append((a - b)[chosen].mean(0))
    assert_same(adapter.subspaces[Site("tokens", 1)], rows, 2)


@pytest.mark.parametrize("family", first_quick(FAMILIES))
def test_the_sentence_is_what_enters_the_last_linear_layer(family: str, small: Any) -> None:
    """Only logits are looked at: without g they move as the difference of sentences says."""
    model = model_for(family, small).double()
    adapter = fit_adapter(model, small, EVEN)
    subspace = adapter.subspaces[Site("sentence")]
    final = locate(model, Site("sentence")).module
    d = []
    for pair in EVEN:
        read = [small(text, return_tensors="pt", return_token_type_ids=False) for text in pair]
        with torch.no_grad():
            a, b = (model(**x).logits[0] for x in read)
        d.append((a - b).numpy())
    seen: list[Any] = []
    handle = final.register_forward_pre_hook(lambda _, args: seen.append(args[0][0].detach()))
    for pair in EVEN:
        for text in pair:
            model(**small(text, return_tensors="pt", return_token_type_ids=False))
    handle.remove()
    rows = np.array([(seen[2 * i] - seen[2 * i + 1]).numpy() for i in range(len(EVEN))])
    np.testing.assert_allclose(rows @ final.weight.detach().numpy().T, np.array(d), atol=1e-9)
    assert_same(subspace, rows, 2)


def test_all_sites_take_one_pass(small: Any) -> None:
    model = model_for("bert", small)
    calls: list[int] = []
    model.register_forward_pre_hook(lambda *_: calls.append(1))
    fit_adapter(model, small, EVEN, batch=4)
    assert len(calls) == math.ceil(2 * len(EVEN) / 4)


@pytest.mark.parametrize("family", first_quick(FAMILIES))
def test_batches_and_their_padding_do_not_matter(family: str, small: Any) -> None:
    model = model_for(family, small)
    one_by_one, all_at_once = (fit_adapter(model, small, EVEN, batch=size) for size in (1, 64))
    for site, subspace in one_by_one.subspaces.items():
        other = all_at_once.subspaces[site]
        np.testing.assert_allclose(subspace.weights, other.weights, atol=1e-4)
        np.testing.assert_allclose(subspace.basis, other.basis, atol=1e-3)


def test_the_model_is_left_as_it_was(small: Any) -> None:
    model = model_for("bert", small).train()
    before = {name: x.clone() for name, x in model.state_dict().items()}
    fit_adapter(model, small, EVEN)
    assert model.training
    assert all(torch.equal(before[name], x) for name, x in model.state_dict().items())
    hooks = [m._forward_hooks or m._forward_pre_hooks for m in model.modules()]
    assert not any(hooks)


def test_dropout_is_off_and_twice_gives_the_same(small: Any) -> None:
    model = model_for("bert", small, hidden_dropout_prob=0.5).train()
    first, two = fit_adapter(model, small, EVEN), fit_adapter(model, small, EVEN)
    for site, subspace in first.subspaces.items():
        np.testing.assert_array_equal(subspace.basis, two.subspaces[site].basis)
    assert first.facts == two.facts


def test_uneven_pairs_are_reported_and_left_out_where_tokens_align(small: Any) -> None:
    model = model_for("bert", small)
    mixed = [UNEVEN, *EVEN, SAME]
    adapter = fit_adapter(model, small, mixed)
    assert adapter.facts["left_out"] == [
        {"pair": list(UNEVEN), "tokens": [6, 5]},
        {"pair": list(SAME), "tokens": None},
    ]
    n = {name: about["pairs"] for name, about in adapter.facts["sites"].items()}
    assert n == {
        "query@2": 6, "key@2": 6, "value@2": 6, "tokens@2": 6, "cls@3": 7, "sentence": 7,
    }  # fmt: skip
    plain = fit_adapter(model, small, EVEN)
    tokens = Site("tokens", 2)
    np.testing.assert_allclose(
        adapter.subspaces[tokens].basis, plain.subspaces[tokens].basis, atol=1e-3
    )
    by_cls = fit_adapter(model, small, mixed, Recipe("cls"))
    assert {about["pairs"] for about in by_cls.facts["sites"].values()} == {7}


def test_too_few_pairs(small: Any) -> None:
    model = model_for("bert", small)
    with pytest.raises(
        WordbiasError,
        match=r"site tokens@2: usable pairs of sentences: 1, .*the actress left.*"
        r"with 6 and 5 tokens.*--pairs",
    ):
        fit_adapter(model, small, [UNEVEN, EVEN[0]], wanted=sites("tokens@-2"))
    with pytest.raises(
        WordbiasError, match=r"usable pairs of sentences: 0, .*the same tokens to the tokenizer: 1"
    ):
        fit_adapter(model, small, [SAME])


def test_a_model_that_is_being_intervened_in(small: Any) -> None:
    model = model_for("bert", small)
    plain = fit_adapter(model, small, EVEN)
    with applied(model, plain.interventions("SENT-0")), applied(model, []):
        with pytest.raises(WordbiasError, match="so fit outside the block"):
            fit_adapter(model, small, EVEN)
        with pytest.raises(WordbiasError, match="so fit outside the block"):
            sent_debias.fit_sent_debias(model, small, [EVEN])
    refitted = fit_adapter(model, small, EVEN)
    for site, subspace in plain.subspaces.items():
        np.testing.assert_array_equal(subspace.basis, refitted.subspaces[site].basis)


def test_more_components_than_pairs_span(small: Any) -> None:
    model = model_for("bert", small)
    with pytest.raises(WordbiasError, match=r"site cls@3: 5 components cannot be fitted: 4 diff"):
        fit_adapter(model, small, EVEN[:4], Recipe(dims=5), wanted=sites("cls@-1"))


def test_a_site_or_a_choice_that_does_not_exist(small: Any) -> None:
    model = model_for("bert", small)
    with pytest.raises(WordbiasError, match="layers 1 to 3"):
        fit_adapter(model, small, EVEN, wanted=sites("cls@4"))
    with pytest.raises(WordbiasError, match="tokens 'first': expected one of mean, word, cls, l"):
        fit_adapter(model, small, EVEN, Recipe("first"))


def test_damaged_weights_are_named(small: Any) -> None:
    model = model_for("bert", small)
    with torch.no_grad():
        model.bert.encoder.layer[1].output.dense.weight.fill_(float("nan"))
    with pytest.raises(WordbiasError, match=r"site tokens@2: .*its weights are damaged"):
        fit_adapter(model, small, EVEN, wanted=sites("tokens@2"))


def test_sentences_longer_than_the_model_reads_are_cut(small: Any) -> None:
    for family in ("bert", "roberta", "deberta-v2"):
        model = model_for(family, small, max_position_embeddings=12)
        long = [SentencePair(a + " the" * 30, b + " the" * 30) for a, b in EVEN]
        assert fit_adapter(model, small, long).facts["sites"]["sentence"]["pairs"] == len(EVEN)


def test_one_sided_is_pca_of_the_differences() -> None:
    pca = pytest.importorskip("sklearn.decomposition").PCA(2)
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 30, 6)).astype(np.float32)
    first += np.array([9, 0, 0, 0, 0, 0], np.float32)
    fitted = subspace_of_pairs(first, second, 2, one_sided=True)
    pca.fit(first.astype(float) - second)
    np.testing.assert_allclose(np.abs(fitted.basis @ pca.components_.T), np.eye(2), atol=1e-6)
    np.testing.assert_allclose(fitted.weights, pca.explained_variance_ratio_, atol=1e-6)
    shift = np.eye(6)[0]
    assert (
        abs(subspace_of_pairs(first, second, 1).basis[0] @ shift) > 0.99
    )  # what centring takes away
    assert abs(fitted.basis[0] @ shift) < 0.9


def test_vectors_of_length_one_as_sent_debias_takes_them(small: Any) -> None:
    """At the attention each head is brought to length one by itself."""
    model = model_for("bert", small)
    wanted = sites("cls@2,attention@2")
    adapter = fit_adapter(model, small, EVEN, Recipe("cls", unit=True), wanted=wanted)
    read = [[states(model, small, text) for text in pair] for pair in EVEN]

    def to_unit(x: Any) -> Any:
        return x / torch.linalg.vector_norm(x, dim=-1, keepdim=True)

    cls = [(to_unit(a[2][0]) - to_unit(b[2][0])).numpy() for a, b in read]
    assert_same(adapter.subspaces[Site("cls", 2)], cls, 2)
    linear = locate(model, Site("query", 2)).module
    fitted = adapter.subspaces[Site("query", 2)]
    with torch.no_grad():
        heads = [[to_unit(linear(x[1][0]).view(4, 4)) for x in pair] for pair in read]
    d = torch.stack([a - b for a, b in heads]).numpy()
    for head in range(4):
        block = slice(4 * head, 4 * head + 4)
        head_fit = Subspace(fitted.basis[head : head + 1, block], fitted.weights[head : head + 1])
        assert_same(head_fit, d[:, head], 1)
    plain = fit_adapter(model, small, EVEN, Recipe("cls"), wanted=wanted)
    assert not np.allclose(plain.subspaces[Site("cls", 2)].weights,
                           adapter.subspaces[Site("cls", 2)].weights)  # fmt: skip
    assert (plain.facts["unit"], adapter.facts["unit"]) == (False, True)


@pytest.mark.parametrize("family", first_quick(FAMILIES))
def test_the_built_in_pairs_fit_a_model_of_every_family(family: str, tokenizer: Any) -> None:
    adapter = fit_adapter(model_for(family, tokenizer), tokenizer, sentence_pairs())
    assert adapter.facts["left_out"] == []
    assert {about["pairs"] for about in adapter.facts["sites"].values()} == {len(sentence_pairs())}


def test_stability_is_what_resampling_gives() -> None:
    rng = np.random.default_rng(3)
    d = rng.normal(size=(12, 30)) + 0.5
    estimate = stability(d, centre=False, seed=7, draws=50)
    twin = np.random.default_rng(7)
    whole = np.linalg.svd(d)[2][0]
    cosines = [abs(np.linalg.svd(d[twin.integers(12, size=12)])[2][0] @ whole) for _ in range(50)]
    assert estimate.mean == pytest.approx(np.mean(cosines), abs=1e-9)
    assert estimate.low == pytest.approx(np.quantile(cosines, 0.025), abs=1e-9)
    assert estimate.high == pytest.approx(np.quantile(cosines, 0.975), abs=1e-9)


@given(st.integers(2, 8), st.integers(2, 8), st.integers(0, 99))
def test_one_direction_is_steady(n: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.outer(rng.uniform(0.5, 2, n), rng.normal(size=d))
    assert stability(rows, centre=False, seed=seed, draws=5).low == pytest.approx(1, abs=1e-9)


@given(st.integers(2, 6), st.integers(2, 12), st.booleans(), st.integers(0, 99))
def test_compressed_rows_have_the_same_inner_products(
    n: int, d: int, centre: bool, seed: int
) -> None:
    rows = np.random.default_rng(seed).normal(size=(n, d))
    small = compressed(rows)
    assert small.shape == (n, min(n, d))
    np.testing.assert_allclose(small @ small.T, rows @ rows.T, atol=1e-10)
    first = np.linalg.svd(rows - rows.mean(0) * centre)[1][0]
    centred = small - small.mean(0) * centre
    assert np.linalg.norm(centred @ first_component(small, centre)) == pytest.approx(first)


def test_pairs_are_sorted_by_what_the_tokenizer_makes_of_them() -> None:
    tokenizer = make_tokenizer(["she", "he", "left", "act", "##ress", "actor"])
    model = build("bert", vocabulary=len(tokenizer))
    pairs = [
        SentencePair("foo left", "bar left"),
        SentencePair("actress left", "actor left"),
        SentencePair("she left", "he left"),
    ]
    read = encode_pairs(model, tokenizer, pairs)
    assert read.pairs == tuple(pairs[1:])
    assert read.same == (pairs[0],)
    assert read.uneven == (0,)
    assert read.even() == [1]
    assert read.lengths(0) == (5, 4)
