"""Vectors of texts: equal to a loop over one text at a time, whatever the family and the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from encoder_folders import TEXTS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tiny_encoders import FAMILIES

from wordbias import WordbiasError
from wordbias.models import tokenising
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import EncodingJob, Settings, encode, encode_spans
from wordbias.models.tokenising import batched, find_word

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.usefixtures("one_thread")

FLOAT32 = 2e-5
"""Room for float32 sums in another order: some hundred roundings of 6e-8 of numbers of about 2."""
WORDS = ("surgeon", "nurse", "New York", "", "électricienne", "nurse", "surgeon", "x")
SPANS = [find_word(text, word) or (0, 0) for text, word in zip(TEXTS, WORDS, strict=True)]
WITH_WORD = [i for i, word in enumerate(WORDS) if word]


Loaded = Callable[[str], Encoder]


@pytest.fixture(scope="module")
def loaded(encoder_folder: Callable[[str], Path]) -> Loaded:
    """Load the encoder of a family, which is not to be changed."""
    return cache(lambda family: Encoder.load(encoder_folder(family), device="cpu"))


@pytest.fixture(params=FAMILIES)
def encoder(request: pytest.FixtureRequest, loaded: Loaded) -> Encoder:
    return loaded(request.param)


@pytest.fixture
def bert(loaded: Loaded) -> Encoder:
    return loaded("bert")


def alone(
    encoder: Encoder, text: str, length: int, special: bool = True
) -> tuple[NDArray[np.float64], list[tuple[int, int]], list[int]]:
    """Return one text's hidden states (L, T, d), offsets and special tokens, without padding."""
    tokenised = encoder.tokenizer(
        text,
        truncation=True,
        max_length=length,
        add_special_tokens=special,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        return_tensors="pt",
    )
    offsets = [tuple(pair) for pair in tokenised.pop("offset_mapping")[0].tolist()]
    added = tokenised.pop("special_tokens_mask")[0].tolist()
    with torch.no_grad():
        states = encoder.model(**tokenised, output_hidden_states=True).hidden_states
    return torch.cat(states).double().numpy(), offsets, added


def reference(
    encoder: Encoder, texts: Sequence[str], spans: Sequence[Any], some: Settings
) -> NDArray[np.float64]:
    """Pool by the definitions, text by text and token by token; shape (L, n, d)."""
    out = []
    for text, (start, end) in zip(texts, spans, strict=True):
        length = some.max_length or encoder.max_length
        states, offsets, added = alone(encoder, text, length, some.special_tokens != "none")
        tokens = range(len(offsets))
        if some.pooling in (None, "first"):
            chosen = [0]
        elif some.pooling == "mean":
            own = [t for t in tokens if not added[t]]
            chosen = list(tokens) if some.special_tokens == "counted" or not own else own
        else:
            characters = set(range(start, end))
            own = [t for t in tokens if characters & set(range(*offsets[t])) and not added[t]]
            chosen = list(range(own[0], own[-1] + 1))  # what a space in it became is in between
            chosen = {"mean": chosen, "first": chosen[:1], "last": chosen[-1:]}[
                some.subword or "mean"
            ]
        out.append(sum(states[:, t] for t in chosen) / len(chosen))
    return np.stack(out, axis=1)


def assert_rounded(found: Any, expected: Any) -> None:
    """Check equality but for rounding, which grows with the values."""
    rounding = FLOAT32 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=rounding)


@pytest.mark.each_once("pooling")
@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_a_batch_does_not_change_the_vectors_of_its_texts(encoder: Encoder, pooling: str) -> None:
    options = Settings(pooling=pooling)
    vectors = encode(encoder, TEXTS, settings=options)
    assert vectors.dtype == np.float32
    assert vectors.shape == (4, len(TEXTS), 16)
    expected = reference(encoder, TEXTS, SPANS, options)
    assert_rounded(vectors, expected)
    differ = np.abs(vectors[-1, 0] - vectors[-1, 1]).max()
    assert differ > 100 * FLOAT32  # or nothing was compared


@pytest.mark.each_once("subword")
@pytest.mark.parametrize("subword", ["mean", "first", "last"])
def test_a_batch_does_not_change_the_vectors_of_words(encoder: Encoder, subword: str) -> None:
    texts, spans = ([x[i] for i in WITH_WORD] for x in (TEXTS, SPANS))
    vectors = encode_spans(encoder, texts, spans, subword=subword, max_length=20)
    options = Settings(pooling="word", subword=subword, max_length=20)
    assert_rounded(vectors, reference(encoder, texts, spans, options))


def test_a_word_of_several_tokens_has_a_first_a_last_and_a_mean(bert: Encoder) -> None:
    text = "A microbiologist"
    pieces = bert.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert len(pieces) > 2
    first, mean, last = (
        encode_spans(bert, [text], [(2, len(text))], subword=subword)[:, 0]
        for subword in ("first", "mean", "last")
    )
    gaps = [np.abs(mean - vector).max() for vector in (first, last)]
    assert min(gaps) > 100 * FLOAT32


@pytest.mark.each_once("special")
@pytest.mark.parametrize("special", ["seen", "counted", "none"])
def test_special_tokens_are_seen_counted_or_left_out(encoder: Encoder, special: str) -> None:
    texts = [text for text in TEXTS if text]  # with none, an empty text has no token
    options = Settings(pooling="mean", special_tokens=special)
    expected = reference(encoder, texts, [(0, 0)] * len(texts), options)
    assert_rounded(encode(encoder, texts, settings=options), expected)


def test_the_model_does_not_see_special_tokens_where_a_word_is_to_be_without(
    encoder: Encoder,
) -> None:
    texts, spans = [TEXTS[0]], [SPANS[0]]
    options = Settings(pooling="word", special_tokens="none")
    vectors = encode_spans(encoder, texts, spans, special_tokens=False)
    assert_rounded(vectors, reference(encoder, texts, spans, options))
    seen = encode_spans(encoder, texts, spans)
    assert np.abs(vectors[-1] - seen[-1]).max() > 100 * FLOAT32


@pytest.mark.parametrize("layers", [(0,), (3,), (2, 0), (1, 1, 3)])
def test_chosen_layers_equal_those_of_all_layers(bert: Encoder, layers: tuple[int, ...]) -> None:
    every = encode(bert, TEXTS)
    once = list(dict.fromkeys(layers))
    np.testing.assert_array_equal(encode(bert, TEXTS, settings=Settings(layers)), every[once])


def test_layer_0_does_not_depend_on_other_tokens(bert: Encoder) -> None:
    """The first token of the input embeddings is the same for every text; a later layer's not."""
    vectors = encode(bert, TEXTS[:3])
    assert np.ptp(vectors[0], axis=0).max() == 0
    assert np.ptp(vectors[1], axis=0).max() > 100 * FLOAT32


@pytest.mark.each_once("tokens")
@pytest.mark.parametrize("tokens", [1, 50, 10_000])
def test_batches_do_not_matter(encoder: Encoder, tokens: int) -> None:
    options = Settings(pooling="mean")
    expected = reference(encoder, TEXTS, SPANS, options)
    assert_rounded(encode(encoder, TEXTS, settings=options, batch_tokens=tokens), expected)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(order=st.permutations(range(len(TEXTS))), repeat=st.integers(1, 3))
def test_order_and_repetition_of_texts_do_not_matter(
    bert: Encoder, order: list[int], repeat: int
) -> None:
    vectors = encode(bert, [TEXTS[i] for i in order] * repeat)
    expected = np.tile(encode(bert, TEXTS)[:, order], (1, repeat, 1))
    np.testing.assert_array_equal(vectors, expected)


def test_equal_texts_are_encoded_once(bert: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    true = Encoder.hidden_states

    def spy(self: Encoder, inputs: dict[str, Any]) -> Any:
        nonlocal seen
        seen += len(inputs["input_ids"])
        return true(self, inputs)

    monkeypatch.setattr(Encoder, "hidden_states", spy)
    encode(bert, ["a nurse", "x", "a nurse", "a nurse"])
    assert seen == 2
    encode_spans(bert, ["a nurse"] * 3, [(0, 1), (2, 7), (0, 1)])
    assert seen == 4  # two words of one text are two


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=60),
    budget=st.integers(1, 200),
)
def test_batches_hold_every_text_once_within_the_budget(lengths: list[int], budget: int) -> None:
    sizes = np.array(lengths)
    order = np.argsort(-sizes, kind="stable")
    batches = list(batched(order, sizes, budget))
    np.testing.assert_array_equal(np.concatenate(batches), order)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * sizes[batch].max() <= budget
    padded = [sizes[batch].max() for batch in batches]
    assert padded == sorted(padded, reverse=True)


def test_padding_is_what_the_batches_leave_of_it(bert: Encoder) -> None:
    """Texts of one length make batches without padding."""
    seen = []
    true = bert.model.forward

    def spy(**inputs: Any) -> Any:
        seen.append(float(inputs["attention_mask"].float().mean()))
        return true(**inputs)

    bert.model.forward = spy
    encode(bert, [f"{'nurse ' * (1 + i % 4)}{i}" for i in range(40)], batch_tokens=70)
    assert np.mean(seen) > 0.9
    assert 0 < min(seen) <= max(seen) == 1


def test_texts_that_were_cut_are_counted(encoder: Encoder) -> None:
    long = " ".join(["surgeon"] * 60)
    whole = {text: len(encoder.tokenizer(text)["input_ids"]) for text in (*TEXTS, long)}
    texts = [*TEXTS, long, long]
    for length in (5, encoder.max_length, max(whole[text] for text in TEXTS)):
        if encoder.limit is not None and length > encoder.limit:
            continue
        job = EncodingJob.of(encoder, texts, settings=Settings(max_length=length))
        assert job.truncated == sum(whole[text] > length for text in texts)
        assert job.tokens.lengths.max() <= length
    assert np.isfinite(encode(encoder, texts)).all()


def test_a_cut_text_is_the_same_as_what_is_left_of_it(bert: Encoder) -> None:
    long = "she said " * 50
    short = "she said she said she said"
    options = Settings(pooling="mean", max_length=len(bert.tokenizer(short)["input_ids"]))
    np.testing.assert_array_equal(
        encode(bert, [long], settings=options), encode(bert, [short], settings=options)
    )


def test_words_that_were_cut_off_are_refused(bert: Encoder) -> None:
    texts = ["nurse", "nurse " * 40 + "surgeon"]
    spans = [(0, 5), (240, 247)]
    job = EncodingJob.of(bert, texts, spans, Settings(pooling="word"))
    assert job.lost() == {1: "is cut off with the end of its text"}
    with pytest.raises(WordbiasError, match="text 2: its word is cut off"):
        encode_spans(bert, texts, spans)
    with pytest.raises(WordbiasError, match="text 1: its word has no token"):
        encode_spans(bert, ["a  b"], [(1, 2)])


def test_a_word_of_which_a_part_was_cut_off_is_lost(bert: Encoder) -> None:
    text = "a microbiologist  "
    whole = bert.tokenizer(text)["input_ids"]
    job = EncodingJob.of(
        bert, [text], [(2, 16)], Settings(pooling="word", max_length=len(whole) - 1)
    )
    assert job.lost() == {0: "is cut off with the end of its text"}
    assert EncodingJob.of(bert, [text], [(2, 16)], Settings(pooling="word")).lost() == {}
    assert EncodingJob.of(bert, [text], [(2, 18)], Settings(pooling="word")).lost() == {}


def test_texts_are_tokenised_in_parts(bert: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    options = Settings(pooling="word", max_length=9)
    whole = EncodingJob.of(bert, TEXTS, SPANS, options)
    assert len(whole.lost()) > 1
    monkeypatch.setattr(tokenising, "TEXTS_TOGETHER", 3)
    parts = EncodingJob.of(bert, TEXTS, SPANS, options)
    assert parts.lost() == whole.lost()
    assert parts.truncated == whole.truncated > 0
    for name in ("ids", "special", "types", "starts", "cut", "ranges"):
        np.testing.assert_array_equal(getattr(parts.tokens, name), getattr(whole.tokens, name))


def test_segments_are_those_of_the_tokenizer(bert: Encoder) -> None:
    """XLNet's tokenizer, for one, gives its last token a segment of its own."""
    from tokenizers import processors

    before = encode(bert, TEXTS)
    ids = {name: bert.tokenizer.convert_tokens_to_ids(name) for name in ("[CLS]", "[SEP]")}
    bert.tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:1 $A:1 [SEP]:1", special_tokens=list(ids.items())
    )
    vectors = encode(bert, TEXTS)
    assert_rounded(vectors, reference(bert, TEXTS, SPANS, Settings()))
    assert np.abs(vectors - before).max() > 100 * FLOAT32


@pytest.mark.parametrize(
    ("texts", "spans", "some", "message"),
    [
        ([], None, Settings(), "there is no text"),
        (["a"], None, Settings((4,)), r"no layer 4; it has layers 0 \(input embeddings\) to 3"),
        (["a"], None, Settings((-1,)), "no layer -1"),
        (["a"], None, Settings(()), "no layer given"),
        (["a"], None, Settings(pooling="word"), "needs a span"),
        (["a"], [(0, 1)], Settings(), "needs a span"),
        (["a"], None, Settings(max_length=25), "reads at most 24 tokens, got a length of 25"),
        (["a"], None, Settings(max_length=2), "cut to 2 tokens have none of their own"),
        (["a", ""], None, Settings(special_tokens="none"), "text 2 has no token at all"),
        (["a", "b"], [(0, 1)], Settings(pooling="word"), "a span for each of 2 texts, got 1"),
    ],
)
def test_texts_and_spans_that_do_not_fit_are_refused(
    bert: Encoder, texts: list[str], spans: Any, some: Settings, message: str
) -> None:
    with pytest.raises(WordbiasError, match=message):
        encode(bert, texts, spans, some)


@pytest.mark.parametrize("name", ["pooling", "subword", "special_tokens"])
def test_unknown_settings_are_refused(name: str) -> None:
    with pytest.raises(WordbiasError, match=f"{name} 'max': expected one of"):
        Settings(**{name: "max"})  # type: ignore[arg-type]


def test_damaged_weights_are_refused(bert: Encoder) -> None:
    with torch.no_grad():
        bert.model.embeddings.word_embeddings.weight[:] = float("nan")
    with pytest.raises(WordbiasError, match="vectors that are no numbers; its weights are damaged"):
        encode(bert, ["a"])


@pytest.mark.slow
def test_a_slow_tokenizer_gives_texts_but_no_words(bert: Encoder) -> None:
    slow = replace(bert, tokenizer=transformers.CanineTokenizer(model_max_length=10))
    job = EncodingJob.of(slow, ["abc", "a text too long"])
    assert job.tokens.lengths.tolist() == [5, 10]
    assert job.truncated == 1
    with pytest.raises(WordbiasError, match="its tokenizer is a slow one"):
        EncodingJob.of(slow, ["abc"], [(0, 1)], Settings(pooling="word"))
