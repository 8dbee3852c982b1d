"""Concept scrubbing: equal means in every layer, and the same maps as by whole passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_decoders import WITH_SITES, build_decoder, word_tokenizer
from tiny_encoders import build

from wordbias.contextual import scrubbing
from wordbias.contextual.adapters import Adapter
from wordbias.contextual.families import base_of, layer_count
from wordbias.contextual.hooks import Intervention, applied, recording
from wordbias.contextual.scrubbing import (
    EXPLAINED,
    explained,
    label_rows,
    mapped,
    scrub,
    scrub_pairs,
)
from wordbias.contextual.sentence_pairs import SentencePair
from wordbias.contextual.sites import Site, sites
from wordbias.contextual.tokenising import batches
from wordbias.errors import WordbiasError
from wordbias.methods.leace import erase
from wordbias.methods.moments import Moments

torch = pytest.importorskip("torch")
WORDS = [f"w{i}" for i in range(40)]
LAYERS = 3


def labelled(classes: int = 2, n: int = 48) -> tuple[list[str], list[str]]:
    """Return texts of words that some classes use more often, of different lengths."""
    rng = np.random.default_rng(0)
    codes = [i % classes for i in range(n)]
    texts = [
        " ".join(rng.choice(WORDS[5 * code : 5 * code + 25], rng.integers(2, 12))) for code in codes
    ]
    return texts, [f"class {code}" for code in codes]


TEXTS, LABELS = labelled()
TOKENIZER = word_tokenizer(*WORDS)


def model_of(family: str, **options: Any) -> Any:
    layers = "n_layer" if family == "gpt2" else "num_hidden_layers"
    return build_decoder(family, len(TOKENIZER), **{layers: LAYERS, **options})


def values_at(model: Any, site: Site, texts: list[str] = TEXTS, size: int = 64) -> list[Any]:
    """Return the vectors of all tokens of each text at a site, by one pass as the model is."""
    tokens = [{"input_ids": TOKENIZER(text)["input_ids"]} for text in texts]
    found: list[Any] = [None] * len(texts)
    with torch.inference_mode(), recording(model, [site]) as values:
        for places, inputs in batches(tokens, size, 0):
            model(**inputs)
            for place, x, mask in zip(
                places, values[site], inputs["attention_mask"].bool(), strict=True
            ):
                found[place] = x[mask].double().numpy()
    return found


def gap(rows: list[Any], labels: list[str]) -> float:
    """Return the largest difference of two classes' means, relative to the largest value."""
    means = [
        np.concatenate([x for x, label in zip(rows, labels, strict=True) if label == one]).mean(0)
        for one in sorted(set(labels))
    ]
    return float(np.ptp(means, axis=0).max() / max(np.abs(x).max() for x in rows))


ROUNDING = 64 * float(np.finfo(np.float32).eps)


@pytest.mark.parametrize("family", WITH_SITES)
def test_the_means_are_equal_in_every_layer_of_an_ordinary_pass(family: str) -> None:
    model = model_of(family)
    adapter = scrub(model, TOKENIZER, TEXTS, LABELS, batch=7)
    assert adapter.chosen == "tokens@1..3"
    every = sites("tokens@all", LAYERS)
    before = {site: gap(values_at(model, site), LABELS) for site in every}
    with adapter.on(model):
        after = {site: gap(values_at(model, site), LABELS) for site in every}
    assert min(before.values()) > 100 * ROUNDING
    assert max(after.values()) <= ROUNDING


@pytest.mark.parametrize("family", WITH_SITES)
def test_layers_computed_once_are_whole_passes_with_the_removals_so_far(family: str) -> None:
    """Windows, positions and types of layers are those of the model, also in padded batches."""
    model = model_of(family)
    wanted = sites("input@1,attention-output@2,mlp-output@2,tokens@2,mlp-output@3,tokens@3", LAYERS)
    adapter = scrub(model, TOKENIZER, TEXTS, LABELS, wanted=wanted, batch=5)
    codes = np.array([label == "class 1" for label in LABELS], int)
    done: list[Intervention] = []
    for site in adapter.sites:
        with applied(model, done) if done else torch.no_grad():
            rows = values_at(model, site)
        labels = np.repeat(codes, [len(x) for x in rows])
        naive = erase([Moments.of_codes(np.concatenate(rows), labels, ("0", "1"))])
        x = np.concatenate(rows)
        found = adapter.intervention(site).what
        scale = np.abs(x).max()
        assert np.abs(found(x) - naive(x)).max() <= 1e-3 * scale, site  # rounding, whitened
        done.append(adapter.intervention(site))


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "deberta-v2", "modernbert"])
def test_encoders_are_scrubbed_as_well(family: str, tokenizer: Any) -> None:
    words = [word for word in tokenizer.get_vocab() if word.isalpha()][:60]
    rng = np.random.default_rng(1)
    texts = [
        " ".join(rng.choice(words[:40] if i % 2 else words[20:], rng.integers(3, 9)))
        for i in range(40)
    ]
    labels = ["a" if i % 2 else "b" for i in range(40)]
    model = build(family, vocab_size=len(tokenizer))
    adapter = scrub(model, tokenizer, texts, labels, batch=9)
    tokens = [dict(tokenizer(text)) for text in texts]
    for one in tokens:
        one.pop("attention_mask")
    means = {}
    with torch.inference_mode(), applied(model, adapter.interventions()):
        for site in adapter.sites:
            with recording(model, [site]) as values:
                rows: list[Any] = [None] * len(texts)
                for places, inputs in batches(tokens, 16, tokenizer.pad_token_id):
                    model(**inputs)
                    for place, x, m in zip(
                        places, values[site], inputs["attention_mask"].bool(), strict=True
                    ):
                        rows[place] = x[m].double().numpy()
            means[site] = gap(rows, labels)
    assert len(means) == layer_count(model)
    assert max(means.values()) <= ROUNDING


@pytest.mark.parametrize("tokens", ["last", "mean"])
def test_one_vector_a_text(tokens: str) -> None:
    model = model_of("llama")
    adapter = scrub(model, TOKENIZER, TEXTS, LABELS, tokens=tokens)
    with adapter.on(model):
        for site in adapter.sites:
            rows = [
                x[-1:] if tokens == "last" else x.mean(0, keepdims=True)
                for x in values_at(model, site)
            ]
            assert gap(rows, LABELS) <= ROUNDING
    assert {one["vectors"] for one in adapter.facts["sites"].values()} == {len(TEXTS)}


def test_three_classes_and_hard_projections() -> None:
    texts, labels = labelled(3)
    model = model_of("qwen2")
    adapter = scrub(model, TOKENIZER, texts, labels, method="hard")
    assert [str(one) for one in adapter.interventions("tokens@1")] == ["tokens@1: 2 of 16, hard"]
    with adapter.on(model):
        for site in adapter.sites:
            assert gap(values_at(model, site, texts), labels) <= ROUNDING


@pytest.mark.parametrize("method", ["mhd", "misp"])
def test_components_leave_less(method: str) -> None:
    model = model_of("llama")
    adapter = scrub(model, TOKENIZER, TEXTS, LABELS, method=method, dims=2)
    for site, one in adapter.facts["sites"].items():
        assert 0 < one["after"] <= one["before"] * (1 + 1e-9) < 1, site
    assert all(it.what.dims == 2 and it.hard == (method == "mhd") for it in adapter.interventions())


def test_simultaneous_fits_are_of_the_unmodified_model() -> None:
    model = model_of("mistral")
    wanted = sites("attention-output@all,tokens@all", LAYERS)
    adapter = scrub(model, TOKENIZER, TEXTS, LABELS, wanted=wanted, sequential=False, batch=9)
    codes = np.array([label == "class 1" for label in LABELS], int)
    for site in adapter.sites:
        rows = values_at(model, site)
        x, labels = np.concatenate(rows), np.repeat(codes, [len(one) for one in rows])
        naive = erase([Moments.of_codes(x, labels, ("0", "1"))])
        found = adapter.intervention(site).what
        assert np.abs(found(x) - naive(x)).max() <= 1e-3 * np.abs(x).max(), site
    with adapter.on(model):  # with all of them on, later layers differ again
        assert gap(values_at(model, Site("tokens", 2)), LABELS) < 1
        inner = [values_at(model, Site("attention-output", layer)) for layer in (2, 3)]
    assert max(gap(rows, LABELS) for rows in inner) > 10 * ROUNDING


def test_states_go_through_a_file_if_they_are_large(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = model_of("gemma2").to(torch.bfloat16)
    inside = scrub(model, TOKENIZER, TEXTS, LABELS)
    monkeypatch.setattr(scrubbing, "IN_MEMORY", 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    through = scrub(model, TOKENIZER, TEXTS, LABELS)
    for one, other in zip(inside.interventions(), through.interventions(), strict=True):
        assert one.content == other.content
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10}))
    with pytest.raises(WordbiasError, match=r"states of all tokens take 0\.0 GB there, and 0\.0"):
        scrub(model, TOKENIZER, TEXTS, LABELS)
    assert list(tmp_path.iterdir()) == []


def test_the_model_is_as_it_was_also_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of("llama").train()
    before = {name: set(vars(module)) for name, module in model.named_modules()}
    hooks = [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()]
    scrub(model, TOKENIZER, TEXTS, LABELS)
    monkeypatch.setattr(scrubbing, "erase", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        scrub(model, TOKENIZER, TEXTS, LABELS)
    assert model.training
    assert {name: set(vars(module)) for name, module in model.named_modules()} == before
    assert [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()] == hooks


def test_the_batch_does_not_matter() -> None:
    model = model_of("phi")
    one, other = (scrub(model, TOKENIZER, TEXTS, LABELS, batch=size) for size in (1, 48))
    x = np.random.default_rng(0).normal(size=(9, 16))
    for a, b in zip(one.interventions(), other.interventions(), strict=True):
        np.testing.assert_allclose(a.what(x), b.what(x), rtol=0, atol=1e-3)


@pytest.mark.parametrize("family", WITH_SITES)
def test_generate_is_the_same_with_and_without_cache(family: str, tmp_path: Path) -> None:
    model = model_of(family)
    scrub(model, TOKENIZER, TEXTS, LABELS).save(tmp_path / "a")
    adapter = Adapter.load(tmp_path / "a")
    ids = torch.tensor([TOKENIZER("w1 w9 w30 w2 w2 w7 w8")["input_ids"]])
    given = {"attention_mask": torch.ones_like(ids), "pad_token_id": 0, "do_sample": False}
    plain = model.generate(ids, max_new_tokens=8, **given)
    with adapter.on(model):
        cached = model.generate(ids, max_new_tokens=8, use_cache=True, **given)
        whole = model.generate(ids, max_new_tokens=8, use_cache=False, **given)
    assert torch.equal(cached, whole)
    assert torch.equal(model.generate(ids, max_new_tokens=8, **given), plain)
    # on the base model alone it is the same adapter
    with adapter.on(base_of(model)):
        pass


def test_pairs_are_two_classes() -> None:
    pairs = [SentencePair(f"w1 {a} w{i}", f"w1 {b} w{i}") for i, (a, b) in
             enumerate([("w2", "w3"), ("w4", "w5"), ("w6", "w7"), ("w2 w2", "w3")], 8)]  # fmt: skip
    model = model_of("llama")
    adapter = scrub_pairs(model, TOKENIZER, pairs, tokens="word")
    assert adapter.facts["left_out"] == 1
    assert adapter.facts["classes"] == {"first": 3, "second": 3}
    with adapter.on(model):
        for site in adapter.sites:
            sides = [values_at(model, site, [pair[side] for pair in pairs[:3]]) for side in (0, 1)]
            rows = [x[1:2] for side in sides for x in side]
            assert gap(rows, ["a"] * 3 + ["b"] * 3) <= ROUNDING
    assert scrub_pairs(model, TOKENIZER, pairs).facts["left_out"] == 0
    with pytest.raises(WordbiasError, match=r"usable pairs of sentences: 1, at least two"):
        scrub_pairs(model, TOKENIZER, pairs[2:], tokens="word")


def test_what_is_explained_is_the_r_squared_of_least_squares() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, 4000)
    x = rng.normal(size=(4000, 6)) @ rng.normal(size=(6, 6)) + codes[:, None] * rng.normal(size=6)
    moments = Moments.of_codes(x, codes, ("a", "b"))
    design = np.column_stack([x, np.ones(len(x))])
    left = codes - design @ np.linalg.lstsq(design, codes, rcond=None)[0]
    assert explained(moments) == pytest.approx(1 - left.var() / codes.var(), abs=1e-9)
    step = erase([moments])
    after = Moments.of_codes(step(x), codes, ("a", "b"))
    np.testing.assert_allclose(mapped(moments, step).means, after.means, atol=1e-10)
    np.testing.assert_allclose(mapped(moments, step).within, after.within, atol=1e-7)
    assert explained(after) == 0


def test_rows_and_parts_of_a_fit() -> None:
    model = model_of("llama")
    adapter = scrub(model, TOKENIZER, TEXTS, LABELS, name="gender")
    rows = label_rows(adapter, "tiny")
    assert [row.details["site"] for row in rows[::2]] == ["tokens@1", "tokens@2", "tokens@3"]
    assert {row.measure for row in rows} == {EXPLAINED}
    assert [row.value for row in rows[1::2]] == [0, 0, 0]
    assert all(row.value > 0.01 for row in rows[::2])
    assert adapter.partly() == adapter.partly("tokens@1") == adapter.partly("tokens@1..2") == ""
    said = adapter.partly("tokens@2..3")
    assert said.startswith("tokens@2..3: is a part of removals that were fitted one after another")
    assert "without tokens@1" in said
    together = scrub(model, TOKENIZER, TEXTS, LABELS, sequential=False)
    assert together.partly("tokens@3") == ""
    assert "Removals of gender by leace" in adapter._repr_html_()


def test_bad_input(tokenizer: Any) -> None:
    model = model_of("llama")

    def fit(texts: Any = TEXTS, labels: Any = LABELS, **options: Any) -> Adapter:
        return scrub(model, TOKENIZER, texts, labels, **options)

    with pytest.raises(WordbiasError, match="48 texts are of one class, 'a': expected two"):
        fit(labels=["a"] * 48)
    with pytest.raises(WordbiasError, match="48 texts, but 2 labels; give one for each"):
        fit(labels=["a", "b"])
    with pytest.raises(WordbiasError, match="text 1: has no token to read; leave it out"):
        fit(texts=["", *TEXTS[1:]])
    with pytest.raises(WordbiasError, match="method 'inlp': expected one of leace, hard, mhd"):
        fit(method="inlp")
    with pytest.raises(WordbiasError, match="tokens 'first': expected one of all, last, mean"):
        fit(tokens="first")
    with pytest.raises(WordbiasError, match="tokens word: compares the sentences of a pair"):
        fit(tokens="word")
    with pytest.raises(WordbiasError, match="site query@1: removals are fitted to labels at input"):
        fit(wanted=[Site("query", 1)])
    with pytest.raises(WordbiasError, match="cls@1: LlamaForCausalLM is a decoder"):
        fit(wanted=[Site("cls", 1)])
    with pytest.raises(WordbiasError, match="sites tokens@1 and input@2: are the same vectors"):
        fit(wanted=[Site("tokens", 1), Site("input", 2)])
    with pytest.raises(WordbiasError, match=r"site tokens@1: the classes of \d+ vectors do not di"):
        fit(texts=["w1 w2", "w1 w2"], labels=["a", "b"])
    with pytest.raises(WordbiasError, match="its layers share their weights"):
        scrub(build("albert"), tokenizer, ["a", "b"], ["a", "b"])
    adapter = fit()
    with adapter.on(model), pytest.raises(WordbiasError, match="interventions are applied to it"):
        fit()
    with torch.no_grad():
        model.model.layers[1].mlp.down_proj.weight.fill_(float("nan"))
    with pytest.raises(WordbiasError, match="site tokens@2: the model puts out no numbers; its"):
        fit()


def test_texts_that_are_too_long_are_cut_and_counted() -> None:
    short = word_tokenizer(*WORDS, model_max_length=5)
    adapter = scrub(model_of("llama"), short, TEXTS, LABELS)
    longer = sum(len(text.split()) > 5 for text in TEXTS)
    assert 0 < adapter.facts["cut"] == longer < len(TEXTS)
