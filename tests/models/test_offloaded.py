"""Models of which accelerate keeps weights elsewhere: measured the same, or refused in one line."""

from __future__ import annotations

from typing import Any

import pytest
from tiny_decoders import build_decoder, byte_tokenizer

import wordbias as wb
from wordbias.errors import WordbiasError

pytest.importorskip("torch")
accelerate = pytest.importorskip("accelerate")

PAIRS = [("She sleeps.", "He sleeps."), ("She went in.", "He went in.")]
SITE = {"sites": "attention-output@1", "setting": "attention-output@1", "pairs": PAIRS}


def model(*offloaded: str) -> Any:
    decoder = build_decoder("llama", len(byte_tokenizer()), max_position_embeddings=512)
    for path in offloaded:
        accelerate.cpu_offload(decoder.get_submodule(path), execution_device="cpu")
    return decoder


def test_likelihoods_of_a_partly_offloaded_model() -> None:
    offloaded, whole = (
        wb.likelihood((decoder, byte_tokenizer()), pairs=PAIRS).rows
        for decoder in (model("model.layers.1"), model())
    )
    assert [row.value for row in offloaded] == [row.value for row in whole]


@pytest.mark.parametrize(
    ("parts", "call"),
    [
        (("model.layers.1",), lambda given: wb.encode(given, ["She sleeps."])),
        (("model.layers.1",), lambda given: wb.project(given, **SITE)),
        (("model.layers.1",), lambda given: wb.project(given, methods="hard", **SITE)),
        (("",), lambda given: wb.likelihood(given, pairs=PAIRS)),
    ],
    ids=["encode", "project pairs", "project labels", "likelihood of an offloaded model"],
)
def test_weights_that_are_not_in_memory_are_refused(parts: tuple[str, ...], call: Any) -> None:
    with pytest.raises(WordbiasError, match=r"\d+ of its weights are offloaded, not in memory"):
        call((model(*parts), byte_tokenizer()))


def test_an_adapter_refuses_an_offloaded_model() -> None:
    tokenizer = byte_tokenizer()
    adapter = wb.project((model(), tokenizer), **SITE)  # type: ignore[arg-type]
    with pytest.raises(WordbiasError, match="weights are offloaded"), adapter.on(model("lm_head")):
        pass
