"""Fine-tuning of an encoder: what it learns, checkpoints, and resuming."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_encoders
from quick_cases import first_quick
from small_bios import encoder_folder, small_bios

from wordbias.biographies.data import Biographies
from wordbias.biographies.plan import Recipe
from wordbias.errors import WordbiasError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from wordbias.biographies.classifier import (  # noqa: E402
    TextExamples,
    fine_tune,
    predict,
)
from wordbias.biographies.encoding import (  # noqa: E402
    EncodingSettings,
    LiveEncoder,
)
from wordbias.classifier_training import Task  # noqa: E402

RECIPE = Recipe(epochs=3, batch=8, rate=3e-3)
SETTINGS = EncodingSettings(max_tokens=20, device="cpu")


@pytest.fixture(scope="module")
def bios() -> Biographies:
    return small_bios()


def state(model: Any) -> dict[str, Any]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.slow
@pytest.mark.parametrize("family", first_quick(["bert", "roberta", "distilbert"]))
@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_six_texts_are_memorised_and_vectors_give_the_same_predictions(
    tmp_path: Path, bios: Biographies, family: str, pooling: str
) -> None:
    """Six texts of three classes; and predictions from vectors are those of the whole model."""
    reading = replace(SETTINGS, pooling=pooling)
    encoder = reading.load(encoder_folder(tmp_path / family, family=family))
    before = state(encoder.model)
    few = bios.take([int(np.flatnonzero(bios.labels == i % 3)[i]) for i in range(6)])
    recipe = replace(RECIPE, epochs=40, batch=6, rate=1e-2)
    fitted = fine_tune(encoder, few, few, recipe, reading)
    assert fitted.accuracy == 1
    assert not same(before, state(encoder.model))
    vectors = LiveEncoder(encoder, reading).vectors([bios]).of(bios)
    predictions = predict(fitted.head, vectors)
    assert np.array_equal(predictions[_rows(bios, few)], few.labels)
    whole = TextExamples(encoder, fitted.head, reading, bios)
    with torch.inference_mode():
        logits = torch.cat([whole.batch(np.array([i]))[0] for i in range(len(bios))])
    top = logits.sort(dim=1).values
    clear = (top[:, -1] - top[:, -2] > 1e-4).numpy()  # batches round otherwise
    assert clear.mean() > 0.9
    assert np.array_equal(logits.argmax(1).numpy()[clear], predictions[clear])


def _rows(bios: Biographies, few: Biographies) -> list[int]:
    return [bios.texts.index(text) for text in few.texts]


def test_the_vector_is_the_first_token_of_the_last_layer(folder: str, bios: Biographies) -> None:
    """Against transformers alone, text by text."""
    encoder = SETTINGS.load(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    vectors = LiveEncoder(encoder, SETTINGS).vectors([bios]).of(bios)
    for text, vector in list(zip(bios.texts, vectors, strict=True))[:20]:
        given = tokenizer(text, truncation=True, max_length=20, return_tensors="pt")
        with torch.inference_mode():
            expected = model(**given).last_hidden_state[0, 0].numpy()
        assert np.allclose(vector, expected, atol=1e-5)


@pytest.mark.slow
def test_an_interruption_changes_nothing(
    tmp_path: Path, folder: str, bios: Biographies, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dropout and the order of batches are those of the epoch, whenever it is trained."""
    checkpoint = tmp_path / "checkpoint"

    def tuned(**options: Any) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        encoder = SETTINGS.load(folder)
        fitted = fine_tune(encoder, bios, bios, RECIPE, SETTINGS, **options)
        return fitted, state(encoder.model), state(fitted.head)

    fitted, model, head = tuned()
    inner, calls = Task.losses, []

    def stopping(task: Task, epoch: int) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return inner(task, epoch)

    monkeypatch.setattr(Task, "losses", stopping)
    with pytest.raises(KeyboardInterrupt):
        tuned(checkpoint=checkpoint, about={"a": 1})
    assert checkpoint.exists()
    resumed, model_again, head_again = tuned(checkpoint=checkpoint, about={"a": 1})
    assert len(calls) == 4
    assert resumed[1:] == fitted[1:]
    assert same(model, model_again)
    assert same(head, head_again)
    with pytest.raises(WordbiasError, match="is of another training: its a is 1, not 2"):
        tuned(checkpoint=checkpoint, about={"a": 2})


@pytest.mark.slow
def test_seeds(folder: str, bios: Biographies) -> None:
    heads = []
    for seed in (0, 0, 1):
        encoder = SETTINGS.load(folder)
        recipe = replace(RECIPE, epochs=1, seed=seed)
        heads.append(state(fine_tune(encoder, bios, bios, recipe, SETTINGS).head))
    assert same(heads[0], heads[1])
    assert not same(heads[0], heads[2])


@pytest.mark.slow
def test_bfloat16_is_of_products_only(folder: str, bios: Biographies) -> None:
    """Its 8 bits of precision show in the vectors; parameters are float32 before and after."""
    half = replace(SETTINGS, half=True)
    encoder = half.load(folder)
    exact = LiveEncoder(SETTINGS.load(folder), SETTINGS).vectors([bios]).of(bios)
    rough = LiveEncoder(encoder, half).vectors([bios]).of(bios)
    scale = np.abs(exact).max()
    assert rough.dtype == np.float32
    assert 0 < np.abs(rough - exact).max() < scale / 4
    assert np.abs(rough - exact).mean() > scale * 2.0**-20
    fine_tune(encoder, bios, bios, replace(RECIPE, epochs=1), half)
    assert {parameter.dtype for parameter in encoder.model.parameters()} == {torch.float32}
    assert half.to_dict()["precision"] == "bfloat16"


def test_bad_input(folder: str, bios: Biographies, tmp_path: Path) -> None:
    encoder = SETTINGS.load(folder)
    with pytest.raises(WordbiasError, match="no biography is left to train on"):
        fine_tune(encoder, bios.take([]), bios, RECIPE, SETTINGS)
    with pytest.raises(WordbiasError, match="lower the learning rate"):
        fine_tune(encoder, bios, bios, replace(RECIPE, rate=1e30, plain=True), SETTINGS)
    long = replace(SETTINGS, max_tokens=100)
    with pytest.raises(WordbiasError, match="reads at most 64 tokens, got a length of 100"):
        fine_tune(SETTINGS.load(folder), bios, bios, RECIPE, long)
    with pytest.raises(WordbiasError, match="no such folder"):
        SETTINGS.load(str(tmp_path / "none"))
    with pytest.raises(WordbiasError, match="pooling 'lst'"):
        LiveEncoder(SETTINGS.load(folder), replace(SETTINGS, pooling="lst")).vectors([bios])


def test_tokenizer_of_the_tests_knows_the_words(folder: str, bios: Biographies) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert tiny_encoders.words_of(bios.texts[0])
    assert tokenizer.unk_token_id not in tokenizer(bios.texts[0])["input_ids"]
