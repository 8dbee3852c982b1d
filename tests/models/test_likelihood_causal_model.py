"""Log-likelihoods of texts: those of a plain loop, whatever the batch, family or tokenizer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_decoders import FAMILIES, build_decoder, word_tokenizer  # noqa: E402
from tiny_encoders import build, make_tokenizer, save  # noqa: E402

from wordbias.errors import WordbiasError  # noqa: E402
from wordbias.models import causal_model  # noqa: E402
from wordbias.models.causal_model import CausalModel, Tokens  # noqa: E402
from wordbias.models.loading import is_causal  # noqa: E402
from wordbias.stereotypes.masked_model import MaskedModel  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

TEXTS = [
    "The nurse slept .",
    "She",
    "The nurse and the man saw the cup and slept in the old car .",
    "He saw her .",
    "The nurse slept .",
]
PAIRS = [
    ("The nurse saw the man .", " She slept in the car"),
    ("The nurse saw the man .", " He"),
    ("The nurse saw the man .", " The old man slept"),
    ("The man saw the nurse .", " He"),
    ("The man saw the nurse .", " She slept"),
    ("The old car", " slept"),
    ("", "She slept ."),
]
WORDS = " ".join([*TEXTS, *(f"{a} {b}" for a, b in PAIRS)])


def decoder(family: str = "llama", tokenizer: Any = None, **options: Any) -> CausalModel:
    tokenizer = tokenizer or word_tokenizer(WORDS)
    return CausalModel.load((build_decoder(family, len(tokenizer)), tokenizer), **options)


def plainly(model: CausalModel, ids: tuple[int, ...], given: int) -> float:
    """Compute the log-likelihood of one text by itself, with torch's own functions."""
    with torch.inference_mode():
        logits = model.model(input_ids=torch.tensor([ids])).logits[0].double()
    log_p = torch.nn.functional.log_softmax(logits, dim=-1)
    return float(sum(log_p[i - 1, ids[i]] for i in range(given, len(ids))))


def loop(model: CausalModel, tokens: list[Tokens]) -> list[float]:
    return [plainly(model, text.ids, text.given) for text in tokens]


@pytest.mark.parametrize("family", FAMILIES)
def test_batches_and_shared_contexts_are_a_loop_of_single_texts(family: str) -> None:
    model = decoder(family)
    tokens = model.texts(TEXTS) + model.continuations(PAIRS)
    scores = model.score(tokens)
    np.testing.assert_allclose(scores.total, loop(model, tokens), rtol=1e-5, atol=1e-5)
    assert scores.tokens.tolist() == [len(text.ids) - text.given for text in tokens]
    np.testing.assert_allclose(scores.per_token, scores.total / scores.tokens, rtol=0)
    assert scores.cut == 0
    assert scores.total[0] == scores.total[4]


def test_contexts_that_are_shared_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = decoder()
    read: list[tuple[int, int]] = []
    forward = model.model.forward

    def counted(*args: Any, **kwargs: Any) -> Any:
        read.append(tuple(kwargs["input_ids"].shape))
        return forward(*args, **kwargs)

    monkeypatch.setattr(model.model, "forward", counted)
    model.score_continuations(PAIRS[:3])
    assert read == [(1, 6), (2, 4)]


def test_a_text_is_scored_after_bos_and_has_no_other_special_token() -> None:
    for front in (False, True):
        model = decoder(tokenizer=word_tokenizer(WORDS, front=front))
        (text,) = model.texts(["She slept ."])
        assert (text.ids[0], text.given) == (model.tokenizer.bos_token_id, 1)
        assert model.tokenizer.convert_ids_to_tokens(text.ids) == ["<s>", "She", "slept", "."]
        assert model.texts(["<s> She slept ."])[0] == text


def test_a_context_has_the_special_tokens_that_the_tokenizer_writes() -> None:
    for front in (False, True):
        model = decoder(tokenizer=word_tokenizer(WORDS, front=front))
        (text,) = model.continuations([("The nurse ", "slept .")])
        spelled = model.tokenizer.convert_ids_to_tokens(text.ids)
        assert spelled == ["<s>"] * front + ["The", "nurse", "slept", "."]
        assert text.given == 2 + front


def test_without_bos_the_first_token_is_not_scored() -> None:
    tokenizer = word_tokenizer(WORDS, bos="")
    model = decoder(tokenizer=tokenizer, bos=False)
    (text,) = model.texts(["She slept ."])
    assert (len(text.ids), text.given) == (3, 1)
    with pytest.raises(WordbiasError, match=r"no token to score in 'She' but its first, which"):
        model.texts(["She"])
    with pytest.raises(WordbiasError, match=r"neither a BOS nor an EOS token.*--no-bos"):
        decoder(tokenizer=tokenizer)


def test_eos_stands_in_for_bos() -> None:
    tokenizer = word_tokenizer(WORDS, bos="", eos_token="</s>")
    model = decoder(tokenizer=tokenizer)
    (text,) = model.texts(["She slept ."])
    assert text.ids[0] == tokenizer.eos_token_id


def test_neither_side_nor_token_of_padding_changes_a_score() -> None:
    model = decoder()
    expected = model.score_texts(TEXTS).total
    tokenizer = word_tokenizer(WORDS, pad_token="<s>")
    tokenizer.padding_side = "left"
    totals = replace(model, tokenizer=tokenizer).score_texts(TEXTS).total
    assert totals.tolist() == expected.tolist()


words = st.lists(st.sampled_from(sorted(set(WORDS.split()))), min_size=1, max_size=12)


@pytest.mark.slow
@settings(max_examples=25)
@given(texts=st.lists(words.map(" ".join), min_size=1, max_size=7), data=st.data())
def test_order_and_company_change_no_score(texts: list[str], data: st.DataObject) -> None:
    model = decoder()
    expected = [model.score_texts([text]).total[0] for text in texts]
    order = data.draw(st.permutations(range(len(texts))))
    totals = model.score_texts([texts[i] for i in order]).total
    np.testing.assert_allclose(totals, [expected[i] for i in order], rtol=1e-5)


def test_probabilities_of_all_continuations_add_up_to_one() -> None:
    model = decoder()
    given_ids = (model.start, 3, 4)
    every = [Tokens((*given_ids, token), 3) for token in range(len(model.tokenizer))]
    assert np.exp(model.score(every).total).sum() == pytest.approx(1, abs=1e-5)


def test_a_text_is_as_likely_as_its_parts() -> None:
    """The chain rule: log p(ab) = log p(a) + log p(b | a)."""
    model = decoder("gpt2")
    (whole,) = model.texts(["The nurse saw the man ."])
    for middle in range(2, len(whole.ids)):
        parts = [Tokens(whole.ids[:middle], 1), Tokens(whole.ids, middle)]
        total = model.score([whole, *parts]).total
        assert total[0] == pytest.approx(total[1] + total[2], rel=1e-5)


def test_small_batches_of_logits_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = decoder()
    expected = model.score_texts(TEXTS).total
    shared = model.score_continuations(PAIRS).total
    monkeypatch.setattr(causal_model, "BUDGET", 1)
    monkeypatch.setattr(causal_model, "_TOGETHER", 2)
    np.testing.assert_allclose(model.score_texts(TEXTS).total, expected, rtol=1e-5)
    np.testing.assert_allclose(model.score_continuations(PAIRS).total, shared, rtol=1e-5)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_is_summed_in_full(precision: str) -> None:
    model = decoder()
    half = CausalModel.load(
        (
            build_decoder("llama", len(model.tokenizer)).to(getattr(torch, precision)),
            model.tokenizer,
        )
    )
    tokens = half.texts(TEXTS[2:3])
    with torch.inference_mode():
        logits = half.model(input_ids=torch.tensor([tokens[0].ids[:-1]])).logits[0].float()
    expected = logits.log_softmax(-1)[range(len(logits)), list(tokens[0].ids[1:])].double().sum()
    assert half.score(tokens).total[0] == pytest.approx(float(expected), abs=1e-5)
    assert half.precision == precision


def test_logarithms_are_taken_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the same logits scipy gives the same to rounding in float64, also of unlikely words."""
    model = decoder()
    with torch.no_grad():
        model.model.get_output_embeddings().weight.mul_(50)
    logits: list[Any] = []
    forward = model.model.forward

    def recorded(*args: Any, **kwargs: Any) -> Any:
        computed = forward(*args, **kwargs)
        logits.append(computed.logits.numpy().astype(float))
        return computed

    monkeypatch.setattr(model.model, "forward", recorded)
    monkeypatch.setattr(causal_model, "_IN_FLOAT64", 100, raising=False)
    (text,) = model.texts(TEXTS[2:3])
    (total,) = model.score([text]).total
    scored = list(text.ids[text.given :])
    log_p = log_softmax(logits.pop()[0, -len(scored) :], axis=-1)
    assert total == pytest.approx(log_p[np.arange(len(scored)), scored].sum(), rel=1e-12)
    assert total < -100

    answers = model.continuations([(PAIRS[0][0], word) for word in (" He", " She", " slept")])
    totals = model.score(answers).total
    (log_p,) = log_softmax(logits.pop()[:, -1], axis=-1)
    assert totals == pytest.approx(log_p[[answer.ids[-1] for answer in answers]], rel=1e-12)


def test_a_long_context_is_cut_at_its_beginning_and_counted() -> None:
    model = decoder(max_length=5)
    tokens = model.continuations(PAIRS)
    scores = model.score(tokens)
    assert scores.cut == sum(len(text.ids) > 6 for text in tokens) > 0
    endings = [text.ids[-6:] for text in tokens]
    expected = [
        plainly(model, ids, len(ids) - (len(text.ids) - text.given))
        for ids, text in zip(endings, tokens, strict=True)
    ]
    np.testing.assert_allclose(scores.total, expected, rtol=1e-5)


def test_a_text_that_is_longer_than_the_model_reads_is_refused() -> None:
    with pytest.raises(
        WordbiasError, match=r"reads at most 5 tokens; a text to score has 15: 'The"
    ):
        decoder(max_length=5).score_texts(TEXTS)
    model = decoder("gpt2")
    assert model.limit == 64
    assert model.score_texts(["The " * 64]).tokens.tolist() == [64]
    with pytest.raises(WordbiasError, match=r"reads at most 64 tokens; a text to score has 65"):
        model.score_texts(["The " * 65])


def test_what_is_no_number_is_refused() -> None:
    tokenizer = word_tokenizer(WORDS)
    model = build_decoder("llama", len(tokenizer))
    with torch.no_grad():
        model.lm_head.weight[3] = float("nan")
    loaded = CausalModel.load((model, tokenizer))
    with pytest.raises(WordbiasError, match=r"predicts what is no number; its weights are damaged"):
        loaded.score_texts(TEXTS)


def test_an_encoder_is_refused(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(["the", "nurse", "slept"])
    for family in ("bert", "roberta"):
        folder = tmp_path / family
        save(build(family, "MaskedLM", vocabulary=len(tokenizer)), tokenizer, folder)
        with pytest.raises(WordbiasError, match=r"is an encoder .*give a de"):
            CausalModel.load(str(folder))


def test_a_decoder_is_refused_where_an_encoder_is_needed(tmp_path: Path) -> None:
    tokenizer = word_tokenizer(WORDS)
    save(build_decoder("llama", len(tokenizer)), tokenizer, tmp_path)
    with pytest.raises(WordbiasError, match=r"no masked-language head .*, or a decoder") as caught:
        MaskedModel.load(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_decoder_without_its_head_is_refused(tmp_path: Path) -> None:
    tokenizer = word_tokenizer(WORDS)
    model = build_decoder("llama", len(tokenizer), tie_word_embeddings=False)
    save(model.model, tokenizer, tmp_path)
    with pytest.raises(
        WordbiasError, match=r"no trained language-modelling head \(it lacks lm_head"
    ):
        CausalModel.load(str(tmp_path))


def test_a_continuation_without_a_token_is_refused() -> None:
    with pytest.raises(WordbiasError, match=r"the continuation ' ' has no token of its own after"):
        decoder().continuations([("The nurse", " ")])


def test_a_model_is_causal_by_its_config_and_its_head(tmp_path: Path) -> None:
    tokenizer = word_tokenizer(WORDS)
    size = len(tokenizer)
    for model, expected in (
        (build_decoder("llama", size), True),
        (build_decoder("gpt2", size), True),
        (build("bert", "MaskedLM", vocabulary=size), False),
        (build("bert", "NextSentencePrediction", vocabulary=size), False),
        (build("bert", "MaskedLM", vocabulary=size, is_decoder=True), True),
    ):
        assert is_causal((model, tokenizer)) is expected
        folder = tmp_path / type(model).__name__ / str(expected)
        save(model, tokenizer, folder)
        assert is_causal(str(folder)) is expected
    with pytest.raises(WordbiasError, match="no such folder"):
        is_causal(str(tmp_path / "none"))
