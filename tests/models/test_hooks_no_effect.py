"""Interventions that nothing reads are refused, with the settings that would change something."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tiny_encoders import build, make_tokenizer, save, words_of

from wordbias.contextual.fitting import fit_adapter
from wordbias.errors import WordbiasError
from wordbias.models.adapters import Adapter
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import Settings, encode
from wordbias.models.hooks import Intervention, applied
from wordbias.models.sentence_pairs import sentence_pairs
from wordbias.models.sites import Site
from wordbias.subspace import Subspace

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXTS = ("The nurse left.", "She is a surgeon.", "He said it.")
MEAN = Settings((3,), "mean", special_tokens="seen")


def add_modules(folder: Path, pooling: str) -> None:
    names = ("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{name}"}
        for i, (name, path) in enumerate(names)
    ]
    (folder / "1_Pooling").mkdir()
    config = {"word_embedding_dimension": 16, "pooling_mode": pooling}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))
    (folder / "modules.json").write_text(json.dumps(modules))


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that writes a BERT with a pooler; of sentence-transformers if so pooled."""
    tokenizer = make_tokenizer(words_of(*(text for pair in sentence_pairs() for text in pair)))
    folders: dict[str, Path] = {}

    def write(pooling: str = "") -> Path:
        if pooling not in folders:
            path = tmp_path_factory.mktemp("models") / (pooling or "plain")
            save(build("bert", "Model", vocabulary=len(tokenizer)), tokenizer, path)
            if pooling:
                add_modules(path, pooling)
            folders[pooling] = path
        return folders[pooling]

    return write


def fitted(encoder: Encoder) -> Adapter:
    return fit_adapter(encoder.model, encoder.tokenizer, sentence_pairs())


def load(folder: Path) -> Encoder:
    return Encoder.load(folder, device="cpu")


@pytest.mark.parametrize("setting", ["SENT-0", "SENT-1", "L12-110", "cls@3", "sent-debias"])
def test_vectors_that_an_intervention_does_not_change_are_refused(
    make: Callable[..., Path], setting: str
) -> None:
    encoder = load(make())
    adapter = fitted(encoder)
    steps = (
        [Intervention(Site("sentence"), adapter.subspaces[Site("sentence")], True)]
        if setting == "sent-debias"
        else adapter.interventions(setting)
    )
    with applied(encoder.model, steps), pytest.raises(WordbiasError) as caught:
        encode(encoder, TEXTS, settings=MEAN)
    message = str(caught.value)
    assert "change no vector: layers 3, pooled as mean, special tokens seen" in message
    assert (
        "settings that would: L11-…, attn-…, or sites such as tokens@L and attention@L" in message
    )


def test_vectors_that_it_changes_are_given(make: Callable[..., Path]) -> None:
    encoder = load(make())
    adapter = fitted(encoder)
    plain = encode(encoder, TEXTS, settings=MEAN)
    for setting in ("L11-11101", "attn-01101", "tokens@2", "attention@2"):
        with applied(encoder.model, adapter.interventions(setting)):
            vectors = encode(encoder, TEXTS, settings=MEAN)
        assert np.abs(vectors - plain).max() > 1e-4, setting
    with applied(encoder.model, adapter.interventions("L12-110")):  # the first token is read
        first = encode(encoder, TEXTS, settings=Settings((3,), "first"))
    assert np.abs(first - encode(encoder, TEXTS, settings=Settings((3,)))).max() > 1e-4
    with applied(encoder.model, []):
        np.testing.assert_array_equal(encode(encoder, TEXTS, settings=MEAN), plain)
    np.testing.assert_array_equal(encode(encoder, TEXTS, settings=MEAN), plain)


def test_layers_below_an_intervention_are_refused(make: Callable[..., Path]) -> None:
    encoder = load(make())
    steps = fitted(encoder).interventions("tokens@2")
    with (
        applied(encoder.model, steps),
        pytest.raises(WordbiasError, match=r"tokens@2 change no vector: layers 0, 1,.*to layer 1,"),
    ):
        encode(encoder, TEXTS, settings=Settings((0, 1)))
    with applied(encoder.model, steps):
        assert encode(encoder, TEXTS, settings=Settings((0, 2))).shape[0] == 2


@pytest.mark.parametrize(("pooling", "l12"), [("mean", True), ("cls", True), ("lasttoken", False)])
def test_a_sentence_transformers_model_has_no_reader_of_its_pooler(
    make: Callable[..., Path], pooling: str, l12: bool
) -> None:
    """Also where the library itself computes, from the same folder."""
    encoder = load(make(pooling))
    adapter = fitted(encoder)
    with (
        pytest.raises(WordbiasError, match=r"change no output.*settings that would: .*L11-…, attn"),
        applied(encoder.model, adapter.interventions("SENT-0")),
    ):
        pass
    plain = encode(encoder, TEXTS)[-1]
    if l12:
        with applied(encoder.model, adapter.interventions("L12-110")):
            vectors = encode(encoder, TEXTS)[-1]
        assert np.abs(vectors - plain).max() > 1e-4
    else:
        with (
            pytest.raises(WordbiasError, match=r"at cls@3, sentence change no output"),
            applied(encoder.model, adapter.interventions("L12-110")),
        ):
            pass
    with applied(encoder.model, adapter.interventions("L11-11101")):
        assert np.abs(encode(encoder, TEXTS)[-1] - plain).max() > 1e-4


def test_a_model_with_a_head_reads_its_sentence(make: Callable[..., Path]) -> None:
    """The same folder's encoder under a classifier: its pooler is read by the head."""
    from wordbias.models.model_like import silent

    with silent(transformers):
        model = transformers.AutoModelForSequenceClassification.from_pretrained(make("mean")).eval()
    step = Intervention(Site("sentence"), Subspace.from_direction(np.arange(16.0)), True)
    inputs = {"input_ids": torch.tensor([[2, 7, 3]])}
    with torch.no_grad():
        before = model(**inputs).logits
        with applied(model, [step]):
            assert not torch.equal(model(**inputs).logits, before)


def test_weights_of_zero_remove_nothing() -> None:
    model = build("bert")
    nothing = Subspace(np.eye(16)[:1], np.zeros(1))
    with (
        pytest.raises(WordbiasError, match=r"at cls@3 remove nothing, for their weights are 0"),
        applied(model, [Intervention(Site("cls", 3), nothing)]),
    ):
        pass
    with applied(model, [Intervention(Site("cls", 3), nothing, True)]):
        pass
