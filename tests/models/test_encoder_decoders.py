"""Vectors of decoders of every family, against plain transformers, one text at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tiny_decoders import FAMILIES, build_decoder, byte_tokenizer, word_tokenizer  # noqa: E402
from tiny_encoders import save  # noqa: E402

from wordbias import WordbiasError  # noqa: E402
from wordbias.models.encoder import Encoder  # noqa: E402
from wordbias.models.encoding import EncodingJob, Settings, encode, encode_spans  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
TEXTS = (
    "A nurse",
    "The surgeon spoke to the microbiologist about her patient, and nobody asked.",
    "He",
    "A nurse asked",
)
LETTERS = ("She nursed.", "He", "The electrician left the house.")


def load(family: str, tokenizer: Any, **options: Any) -> Encoder:
    """Return a tiny decoder in float64, so that batches differ only where vectors are rounded.

    Gemma2 has to be in float32: beyond its window, padding would give it what is no number.
    """
    model = build_decoder(family, len(tokenizer), **options)
    return Encoder.load((model if family == "gemma2" else model.double(), tokenizer))


def assert_equal(found: Any, wanted: Any, encoder: Encoder, what: object = "") -> None:
    """Compare vectors, shape ``(…, d)``, up to rounding to float32 and a mean in it.

    A mean of n tokens has n rounding errors (2⁻²⁴) of the longest vector; here n is at most 64.
    """
    length = np.linalg.norm(wanted, axis=-1).max()
    error = np.linalg.norm(found - wanted, axis=-1).max() / length
    bound = 2**-18 if encoder.precision == "float64" else 2**-15
    assert error <= bound, (what, error)


def plain(encoder: Encoder, text: str) -> tuple[Any, list[int]]:
    """Return the hidden states of one text as transformers gives them, and its tokens."""
    ids = encoder.tokenizer(text)["input_ids"]
    with torch.no_grad():
        computed = encoder.model(input_ids=torch.tensor([ids]), output_hidden_states=True)
    return torch.stack(computed.hidden_states)[:, 0].numpy(), ids


@pytest.mark.parametrize("front", [False, True], ids=["no BOS", "BOS"])
@pytest.mark.parametrize("family", FAMILIES)
def test_texts_are_as_transformers_gives_them(family: str, front: bool) -> None:
    """The last token, and means without and with BOS, in batches that are padded."""
    encoder = load(family, word_tokenizer(*TEXTS, front=front))
    assert encoder.causal
    assert encoder.tokenizer.pad_token is None
    states, ids = zip(*(plain(encoder, text) for text in TEXTS), strict=True)
    assert {tokens[0] for tokens in ids} == {encoder.tokenizer.bos_token_id} or not front
    own = int(front)
    for settings, expected in (
        (Settings(), [state[:, -1] for state in states]),
        (Settings(pooling="last"), [state[:, -1] for state in states]),
        (Settings(pooling="mean"), [state[:, own:].mean(1) for state in states]),
        (
            Settings(pooling="mean", special_tokens="counted"),
            [state.mean(1) for state in states],
        ),
    ):
        vectors = encode(encoder, TEXTS, settings=settings)
        wanted = np.stack(expected, 1)
        assert_equal(vectors, wanted, encoder, settings)
    bare = encode(encoder, TEXTS, settings=Settings(special_tokens="none"))
    assert np.array_equal(bare, encode(encoder, TEXTS)) is not front


@pytest.mark.parametrize("family", FAMILIES)
def test_the_vector_of_a_word_is_that_of_its_last_token(family: str) -> None:
    """A byte is a token here: only the last one has read the whole word."""
    encoder = load(family, byte_tokenizer())
    start, end = LETTERS[2].index("electrician"), LETTERS[2].index(" left")
    states, _ = plain(encoder, LETTERS[2])
    texts, spans = [LETTERS[0], LETTERS[2]], [(0, 3), (start, end)]
    for subword, expected in (
        (None, states[:, end - 1]),
        ("last", states[:, end - 1]),
        ("first", states[:, start]),
        ("mean", states[:, start:end].mean(1)),
    ):
        vectors = encode_spans(encoder, texts, spans, subword=subword)[:, 1]
        assert_equal(vectors, expected, encoder, subword)


def test_the_first_token_of_a_word_does_not_tell_which_word_it_is() -> None:
    """Electrician and electorate begin alike, with the mean they still have most in common."""
    encoder = load("llama", byte_tokenizer())
    texts, spans = ["An electrician", "An electorate"], [(3, 14), (3, 13)]
    first = encode_spans(encoder, texts, spans, subword="first")
    np.testing.assert_array_equal(first[:, 0], first[:, 1])
    default = encode_spans(encoder, texts, spans)
    assert np.abs(default[1:, 0] - default[1:, 1]).min(axis=1).max() > 1e-3


@pytest.mark.parametrize("family", FAMILIES)
def test_bfloat16_is_as_transformers_gives_it(family: str, tmp_path: Path) -> None:
    """Equal up to a few roundings to 8 bits: of texts of one length not even the batch differs."""
    tokenizer = byte_tokenizer()
    save(build_decoder(family, len(tokenizer)), tokenizer, tmp_path)
    encoder = Encoder.load(tmp_path, device="cpu", precision="bfloat16")
    assert encoder.causal
    vectors = encode(encoder, LETTERS)
    model = transformers.AutoModel.from_pretrained(tmp_path, dtype=torch.bfloat16)
    for i, text in enumerate(LETTERS):
        with torch.no_grad():
            ids = torch.tensor([tokenizer(text)["input_ids"]])
            states = model(input_ids=ids, output_hidden_states=True).hidden_states
        wanted = torch.stack(states)[:, 0, -1].float().numpy()
        error = np.linalg.norm(vectors[:, i] - wanted, axis=1)
        assert (error <= 2**-4 * np.linalg.norm(wanted, axis=1)).all(), (text, error)


def test_segments_are_not_passed_to_a_causal_model() -> None:
    """GPT-2 would add the embedding of token 0 to every token."""
    encoder = load("gpt2", byte_tokenizer())
    encoder.tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    states, _ = plain(encoder, LETTERS[0])
    vectors = encode(encoder, LETTERS[:1])[:, 0]
    assert_equal(vectors, states[:, -1], encoder)


# what is too long


@pytest.mark.parametrize("family", ["gpt2", "llama", "gpt_neox"])
def test_a_text_that_is_too_long_is_cut_and_counted(family: str) -> None:
    """To the 64 tokens that the model was made for, of a table of positions or not."""
    encoder = load(family, byte_tokenizer())
    assert encoder.limit == encoder.max_length == 64
    long = LETTERS[2] * 5
    job = EncodingJob.of(encoder, [long, "He"])
    assert job.truncated == 1
    assert_equal(job.vectors()[:, 0], encode(encoder, [long[:64]])[:, 0], encoder)
    with pytest.raises(WordbiasError, match=r"reads at most 64 tokens, got a length of 65"):
        encode(encoder, [long], settings=Settings(max_length=65))


def test_damaged_weights_are_refused() -> None:
    tokenizer = byte_tokenizer()
    model = build_decoder("llama", len(tokenizer))
    with torch.no_grad():
        model.model.layers[1].mlp.down_proj.weight[0, 0] = float("nan")
    encoder = Encoder.load((model, tokenizer))
    with pytest.raises(WordbiasError, match="gives vectors that are no numbers"):
        encode(encoder, LETTERS, settings=Settings(pooling="last"))


# a real decoder


def test_smollm2_as_transformers_gives_it(shared_data: Path) -> None:
    """The real decoder where the data have it, in float32, within its rounding."""
    folder = shared_data / "smollm2"
    if not folder.is_dir():
        pytest.skip("needs the folder smollm2 among the data")
    encoder = Encoder.load(folder, device="cpu")
    vectors = encode(encoder, TEXTS)
    for i, text in enumerate(TEXTS):
        states, _ = plain(encoder, text)
        error = np.linalg.norm(vectors[:, i] - states[:, -1], axis=1)
        assert (error <= 1e-4 * np.linalg.norm(states[:, -1], axis=1)).all()
