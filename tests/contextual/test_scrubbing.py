"""Concept scrubbing: equal means in every layer, also while texts are generated, and its report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_decoders import WITH_SITES, build_decoder, word_tokenizer

import wordbias as wb
from wordbias.contextual.scrubbing import scrub
from wordbias.models.adapter_tables import EXPLAINED, scrubbing_rows
from wordbias.models.adapters import part_of_sequence
from wordbias.models.families import base_of
from wordbias.models.hooks import recording
from wordbias.models.sites import Site, sites
from wordbias.models.token_batches import batches

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
    vectors: list[Any] = [None] * len(texts)
    with torch.inference_mode(), recording(model, [site]) as values:
        for places, inputs in batches(tokens, size, 0):
            model(**inputs)
            for place, x, mask in zip(
                places, values[site], inputs["attention_mask"].bool(), strict=True
            ):
                vectors[place] = x[mask].double().numpy()
    return vectors


def gap(rows: list[Any], labels: list[str]) -> float:
    """Return the largest difference of two classes' means, relative to the largest value."""
    means = [
        np.concatenate([x for x, label in zip(rows, labels, strict=True) if label == name]).mean(0)
        for name in sorted(set(labels))
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


def test_three_classes_and_hard_projections() -> None:
    texts, labels = labelled(3)
    model = model_of("qwen2")
    adapter = scrub(model, TOKENIZER, texts, labels, method="hard")
    assert [str(removal) for removal in adapter.interventions("tokens@1")] == [
        "tokens@1: 2 of 16, hard"
    ]
    with adapter.on(model):
        for site in adapter.sites:
            assert gap(values_at(model, site, texts), labels) <= ROUNDING


@pytest.mark.parametrize("method", ["mhd", "misp"])
def test_components_leave_less(method: str) -> None:
    model = model_of("llama")
    adapter = scrub(model, TOKENIZER, TEXTS, LABELS, method=method, settings={"dims": 2})
    for site, shares in adapter.facts["sites"].items():
        assert 0 < shares["after"] <= shares["before"] * (1 + 1e-9) < 1, site
    assert all(it.what.dims == 2 and it.hard == (method == "mhd") for it in adapter.interventions())


@pytest.mark.parametrize("family", WITH_SITES)
def test_generate_is_the_same_with_and_without_cache(family: str, tmp_path: Path) -> None:
    model = model_of(family)
    scrub(model, TOKENIZER, TEXTS, LABELS).save(tmp_path / "a")
    adapter = wb.load(tmp_path / "a")
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


def test_rows_and_parts_of_a_fit() -> None:
    model = model_of("llama")
    adapter = scrub(model, TOKENIZER, TEXTS, LABELS, name="gender")
    rows = scrubbing_rows(adapter, "tiny")
    assert [row.details["site"] for row in rows[::2]] == ["tokens@1", "tokens@2", "tokens@3"]
    assert {row.measure for row in rows} == {EXPLAINED}
    assert [row.value for row in rows[1::2]] == [0, 0, 0]
    assert all(row.value > 0.01 for row in rows[::2])
    assert (
        part_of_sequence(adapter)
        == part_of_sequence(adapter, "tokens@1")
        == part_of_sequence(adapter, "tokens@1..2")
        == ""
    )
    message = part_of_sequence(adapter, "tokens@2..3")
    assert message.startswith(
        "tokens@2..3: is a part of removals that were fitted one after another"
    )
    assert "without tokens@1" in message
    together = scrub(model, TOKENIZER, TEXTS, LABELS, sequential=False)
    assert part_of_sequence(together, "tokens@3") == ""
    assert part_of_sequence(adapter, "L12-110") == "", "which the adapter has not"
    assert "share of gender that a linear map" in adapter._repr_html_()
