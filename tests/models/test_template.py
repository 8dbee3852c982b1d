"""Templates: a text around each text, of which spans, means and truncation take account."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias import WordbiasError
from wordbias.models.template import CHAT, Template, check_template

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from encoder_folders import make_encoder  # noqa: E402
from tiny_decoders import build_decoder, byte_tokenizer  # noqa: E402

from wordbias.models.encoder import Encoder  # noqa: E402
from wordbias.models.encoding import EncodingJob, Settings, encode  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
TEXTS = ("She is a nurse.", "He wrote {code} and drank coffee.", "Ärztin 🙂", "x")
AROUND = "A text about a person: {}\nThe profession is"
CHAT_TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<s>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def decoder(**shape: Any) -> Encoder:
    """Return a tiny Llama that reads bytes, in float64."""
    tokenizer = byte_tokenizer()
    model = build_decoder("llama", len(tokenizer), max_position_embeddings=512, **shape).double()
    return Encoder.load((model, tokenizer))


@pytest.fixture(scope="module")
def llama() -> Encoder:
    return decoder()


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    folder = make_encoder("bert", tmp_path_factory.mktemp("template") / "bert")
    return Encoder.load(folder, device="cpu")


# the template itself


@given(st.text(), st.text())
def test_a_template_is_what_stands_before_and_after(before: str, after: str) -> None:
    whole = f"{before}{{}}{after}"
    if whole.count("{}") != 1:
        with pytest.raises(WordbiasError):
            Template.parse(whole)
        return
    template = Template.parse(whole)
    assert (template.before, template.after, str(template)) == (before, after, whole)


@pytest.mark.parametrize(
    ("given", "problem"),
    [("", "has no {}"), ("A text", "has no {}"), ("{} {}", "has 2 {}"), ("{text}", "has no {}")],
)
def test_what_is_no_template_is_refused(given: str, problem: str) -> None:
    with pytest.raises(WordbiasError, match=problem):
        check_template(given)


def test_other_braces_are_as_they_are_written() -> None:
    check_template(CHAT)
    check_template(None)
    assert Template.parse('{"a": {0} {}}') == Template('{"a": {0} ', "}")


# vectors


@pytest.mark.parametrize("pooling", ["last", "mean"])
@pytest.mark.parametrize("template", [AROUND, "{} was there", "Once {}", "{{}}"])
def test_a_text_in_a_template_is_the_text_written_out(
    llama: Encoder, template: str, pooling: str
) -> None:
    """All tokens count with `counted`: the vectors are those of the texts written out."""
    how = Settings(pooling=pooling, special_tokens="counted")
    written = [str(Template.parse(template)).replace("{}", text, 1) for text in TEXTS]
    vectors = encode(llama, TEXTS, settings=Settings(**{**vars(how), "template": template}))
    np.testing.assert_array_equal(vectors, encode(llama, written, settings=how))
    assert np.abs(vectors - encode(llama, TEXTS, settings=how)).max() > 1e-3


def test_a_template_of_nothing_else_is_none(llama: Encoder) -> None:
    alone = EncodingJob.of(llama, TEXTS, settings=Settings(template="{}"))
    assert alone.settings == EncodingJob.of(llama, TEXTS).settings
    assert "template" not in alone.settings.to_dict()


@settings(max_examples=20, deadline=None)
@given(
    st.text("ab é{}", max_size=9).filter(lambda text: "{}" not in text),
    st.text("ab é{}", max_size=9).filter(lambda text: "{}" not in text),
    st.text("abé ", min_size=1, max_size=9),
    st.data(),
)
def test_spans_and_means_are_of_the_text_alone(
    llama: Encoder, before: str, after: str, text: str, data: st.DataObject
) -> None:
    """A byte is a token: those of the text follow the bytes that stand before it."""
    if (before + after).count("{}") or f"{before}{{}}{after}".count("{}") != 1:
        return
    start = data.draw(st.integers(0, len(text) - 1))
    span = start, data.draw(st.integers(start + 1, len(text)))
    template = f"{before}{{}}{after}"

    def states() -> Any:
        ids = llama.tokenizer(before + text + after, add_special_tokens=False)["input_ids"]
        return llama.hidden_states({"input_ids": np.array([ids])})[-1][0].numpy()

    first = len(before.encode())
    mean = states()[first : first + len(text.encode())].mean(0)
    chosen = Settings((llama.layers,), "mean", template=template)
    bound = 2**-20 * np.abs(states()).max()  # a float32 mean of at most 27 tokens
    np.testing.assert_allclose(encode(llama, [text], settings=chosen)[0, 0], mean, 0, bound)
    first += len(text[: span[0]].encode())
    last = first + len(text[slice(*span)].encode()) - 1
    chosen = Settings((llama.layers,), "word", template=template)
    word = encode(llama, [text], [span], chosen)[0, 0]
    np.testing.assert_allclose(word, states()[last], 0, bound)


def test_an_encoder_reads_its_special_tokens_around_the_template(bert: Encoder) -> None:
    template, text = "He said {} there", "the surgeon"
    ids = bert.tokenizer(template.replace("{}", text))["input_ids"]
    states = bert.hidden_states({"input_ids": np.array([ids])})[-1][0].numpy()
    own = bert.tokenizer(text, add_special_tokens=False)["input_ids"]
    at = next(i for i in range(len(ids)) if ids[i : i + len(own)] == own)
    for pooling, expected in (
        ("first", states[0]),
        ("last", states[-1]),
        ("mean", states[at : at + len(own)].mean(0)),
    ):
        how = Settings((bert.layers,), pooling, template=template)
        vector = encode(bert, [text], settings=how)[0, 0]
        np.testing.assert_allclose(vector, expected, atol=2e-6, err_msg=pooling)


# texts that are too long


@pytest.mark.parametrize("limit", [49, 50, 60, 200])
def test_the_text_is_cut_and_the_template_is_not(llama: Encoder, limit: int) -> None:
    """A byte is a token, and the template has 41 of them: that many bytes less are left."""
    long = "ab" * 300
    job = EncodingJob.of(llama, [long, "a"], settings=Settings(max_length=limit, template=AROUND))
    assert job.truncated == 1
    read = job.tokens.ids[job.tokens.starts[0] : job.tokens.starts[1]]
    size = limit - len(AROUND.replace("{}", ""))
    assert llama.tokenizer.decode(read) == AROUND.replace("{}", long[:size])


def test_a_text_cut_between_the_bytes_of_a_letter_has_a_token_less(llama: Encoder) -> None:
    size = len(b"a: {}.") - 2
    given = Settings(max_length=size + 5, template="a: {}.")
    job = EncodingJob.of(llama, ["éééé"], settings=given)
    assert llama.tokenizer.decode(job.tokens.ids) == "a: éé."


def test_a_template_that_leaves_no_room_is_refused(llama: Encoder) -> None:
    given = Settings(max_length=40, template=AROUND)
    with pytest.raises(WordbiasError, match=r"template alone has 41 tokens.*cut to 40.*shorten"):
        encode(llama, ["a"], settings=given)


def test_a_word_that_is_cut_off_is_lost(llama: Encoder) -> None:
    texts, spans = ["nurse " * 10, "nurse " * 10], [(0, 5), (54, 59)]
    given = Settings(pooling="word", max_length=30, template="A: {} B")
    job = EncodingJob.of(llama, texts, spans, given)
    assert job.lost() == {1: "is cut off with the end of its text"}


# chat templates


def test_chat_is_what_the_tokenizer_writes() -> None:
    encoder = decoder()
    encoder.tokenizer.chat_template = CHAT_TEMPLATE
    job = EncodingJob.of(encoder, TEXTS, settings=Settings(template=CHAT))
    for i, text in enumerate(TEXTS):
        message = [{"role": "user", "content": text}]
        expected = encoder.tokenizer.apply_chat_template(
            message, add_generation_prompt=True, return_dict=False
        )
        place = job.texts[i]
        assert job.tokens.ids[slice(*job.tokens.starts[place : place + 2])].tolist() == expected
    assert job.settings.to_dict()["template"] == "<|user|>{}<s><|assistant|>"
    assert job.settings.to_dict()["chat"] is True


def test_chat_needs_a_chat_template_that_shows_the_message() -> None:
    encoder = decoder()
    with pytest.raises(WordbiasError, match=r"no chat template.*instruct"):
        encode(encoder, TEXTS, settings=Settings(template=CHAT))
    for broken, problem in (
        ("{{ raise_exception('no system role') }}", "fails: no system role"),
        ("Hello", "does not show the message"),
        ("{{ messages[0]['content'] }} {{ messages[0]['content'] }}", "does not show the message"),
    ):
        encoder.tokenizer.chat_template = broken
        with pytest.raises(WordbiasError, match=problem):
            encode(encoder, TEXTS, settings=Settings(template=CHAT))
    encoder.tokenizer.chat_template = CHAT_TEMPLATE
    with pytest.raises(WordbiasError, match="writes special tokens itself"):
        encode(encoder, TEXTS, settings=Settings(template=CHAT, special_tokens="none"))


def test_a_slow_tokenizer_is_refused(llama: Encoder) -> None:
    class Slow:
        is_fast = False

    slow = Encoder(**{**vars(llama), "tokenizer": Slow()})
    with pytest.raises(WordbiasError, match="words and templates need a fast one"):
        encode(slow, TEXTS, settings=Settings(max_length=20, template=AROUND))


def test_sentence_models_keep_their_prompt_before_the_template(tmp_path: Path) -> None:
    """The library computes the same from the texts written out."""
    from sentence_models import TEXTS as KNOWN
    from sentence_models import encoded, sentence_folder

    prompts = {"prompts": {"about": "The surgeon said"}, "default_prompt_name": "about"}
    folder = sentence_folder(tmp_path / "model", "Normalize", **prompts)
    encoder = Encoder.load(folder, device="cpu")
    vectors = encode(encoder, KNOWN[:3], settings=Settings(template=" She {} nobody"))
    written = [f" She {text} nobody" for text in KNOWN[:3]]
    np.testing.assert_allclose(vectors[-1], encoded(folder, written), atol=2e-5)
    assert np.abs(encode(encoder, written)[-1] - vectors[-1]).max() < 1e-6
    other = encode(encoder, KNOWN[:3])[-1]
    assert np.abs(other - vectors[-1]).max() > 1e-3
