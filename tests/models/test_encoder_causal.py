"""Causal models: a token sees only those before it, so that the last one is a text's vector."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from encoder_folders import tokenizer_of
from tiny_encoders import FAMILIES, save

from wordbias import WordbiasError
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import Settings, encode, encode_spans

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.usefixtures("one_thread")

CAUSAL = ("gpt2", "llama", "qwen2")
TEXTS = (
    "A nurse",
    "A surgeon spoke to the microbiologist about her patient.",
    "He",
    "A nurse asked",
)
SHAPE = {
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
}
NONE = {"bos_token_id": None, "eos_token_id": None}
Run = Callable[..., Any]


@pytest.fixture(scope="module", params=CAUSAL)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a tiny causal model without tokens of its own at either end, as GPT-2 is."""
    tokenizer = tokenizer_of("bert")
    tokenizer.backend_tokenizer.post_processor = None
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    shape = {"n_embd": 16, "n_layer": 3, "n_head": 4} if request.param == "gpt2" else SHAPE
    config = transformers.AutoConfig.for_model(
        request.param, vocab_size=len(tokenizer), initializer_range=0.5, **NONE, **shape
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
    path: Path = tmp_path_factory.mktemp("causal") / str(request.param)
    save(model, tokenizer, path)
    return path


@pytest.fixture
def encoder(folder: Path) -> Encoder:
    return Encoder.load(folder, device="cpu")


def last_tokens(encoder: Encoder) -> Any:
    """Return what the last token of each text is in every layer, one text at a time."""
    vectors = []
    for text in TEXTS:
        ids = torch.tensor([encoder.tokenizer(text)["input_ids"]])
        with torch.no_grad():
            states = encoder.model(input_ids=ids, output_hidden_states=True).hidden_states
        vectors.append(torch.stack([state[0, -1] for state in states]))
    return torch.stack(vectors, 1).numpy()


@pytest.mark.parametrize("side", ["left", "right"])
def test_by_default_a_text_is_its_last_token(encoder: Encoder, side: str) -> None:
    """A batch and single texts differ by nothing but the rounding of vectors to float32.

    The weights are float64 here. In float32 the two add in different orders, and an entry can have
    the error of its whole vector, whose length is up to 70: five rounding errors (2⁻²⁴) of that are
    2e-5, however small the entry is. In float64 the difference is below 1e-12, and rounding the
    result to float32 changes an entry by at most 2⁻²⁴ of it; the bound is twice that.
    """
    encoder.tokenizer.padding_side = side
    encoder.model.double()
    vectors = encode(encoder, TEXTS)
    np.testing.assert_allclose(vectors, last_tokens(encoder), rtol=2**-23, atol=1e-12)
    assert len(np.unique(vectors[-1].round(4), axis=0)) == len(TEXTS)
    named = encode(encoder, TEXTS, settings=Settings(pooling="last"))
    np.testing.assert_array_equal(vectors, named)


def test_the_first_token_is_refused_with_the_reason(encoder: Encoder) -> None:
    assert encoder.causal
    with pytest.raises(WordbiasError, match=r"first token has read no other.*--pooling=last"):
        encode(encoder, TEXTS, settings=Settings(pooling="first"))


def test_untrained_models_are_causal_too(folder: Path) -> None:
    assert Encoder.load(folder, device="cpu", random_init=0).causal


def test_mean_and_words_are_as_of_other_models(encoder: Encoder) -> None:
    assert encode(encoder, TEXTS, settings=Settings(pooling="mean")).shape == (4, 4, 16)
    word = encode_spans(encoder, ["A nurse"], [(2, 7)], subword="last")
    np.testing.assert_allclose(word, encode(encoder, ["A nurse"]), atol=2e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_encoders_are_not_causal(encoder_folder: Callable[[str], Path], family: str) -> None:
    encoder = Encoder.load(encoder_folder(family), device="cpu")
    assert not encoder.causal
    first = encode(encoder, ["A nurse"], settings=Settings(pooling="first"))
    np.testing.assert_array_equal(encode(encoder, ["A nurse"]), first)
    assert encode(encoder, ["A nurse"], settings=Settings(pooling="last")).shape == first.shape


def test_the_command_says_last_and_refuses_first(cli: Run, folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "texts.txt"
    data.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    out = tmp_path / "out.safetensors"
    done = cli("encode", folder, data, "-o", out, "--format", "json", "-q")
    assert done.code == 0, done.err
    assert json.loads(done.out)["inputs"]["model"]["pooling"] == "last"
    done = cli("encode", folder, data, "-o", tmp_path / "no.safetensors", "--pooling", "first")
    assert done.code == 1
    assert "first token has read no other" in done.err
    assert not (tmp_path / "no.safetensors").exists()


@pytest.mark.parametrize("folder", ["llama"], indirect=True)
def test_a_folder_of_sentence_transformers_is_followed(folder: Path, tmp_path: Path) -> None:
    """Its last token, through Normalize, with the padding on the left as such models have it."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    encoder = Encoder.load(folder, device="cpu")
    encoder.tokenizer.padding_side = "left"
    path = tmp_path / "sentences"
    save(encoder.model, encoder.tokenizer, path)
    (path / "1_Pooling").mkdir()
    pooled = {"word_embedding_dimension": 16, "pooling_mode_lasttoken": True}
    pooled["pooling_mode_mean_tokens"] = False
    (path / "1_Pooling" / "config.json").write_text(json.dumps(pooled))
    names = ("Transformer", "Pooling", "Normalize")
    places = ("", "1_Pooling", "2_Normalize")
    (path / "modules.json").write_text(
        json.dumps(
            [
                {
                    "idx": i,
                    "name": str(i),
                    "path": place,
                    "type": f"sentence_transformers.models.{n}",
                }
                for i, (n, place) in enumerate(zip(names, places, strict=True))
            ]
        )
    )
    vectors = encode(Encoder.load(path, device="cpu"), TEXTS)[-1]
    model = sentence_transformers.SentenceTransformer(str(path), device="cpu")
    np.testing.assert_allclose(vectors, model.encode(list(TEXTS)), atol=2e-5)
    bare = replace(Encoder.load(path, device="cpu"), sentence=None)
    assert np.abs(encode(bare, TEXTS)[-1] - vectors).max() > 0.1
