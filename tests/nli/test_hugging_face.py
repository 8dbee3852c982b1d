"""Hugging Face classifiers, tiny and untrained: labels, batches, and refused models."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias import WordbiasError, errors
from wordbias.nli.hugging_face import Classifier, label_order
from wordbias.nli.pairs import tokenise
from wordbias.nli.test_sets import Pair, TestSet, build

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.usefixtures("one_thread")

NAMES = ("neutral", "entailment", "contradiction")
FLOAT32 = 1e-5
"""Room for float32 sums in another order, which padding and batches bring about."""


def make(folder: Path, labels: tuple[str, ...], head: bool = True, seed: int = 0) -> str:
    """Save a tiny BERT and its tokenizer."""
    test = build("explicit")
    words = sorted({token.lower() for pair in test for text in pair for token in tokenise(text)})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    folder.mkdir(parents=True)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=40,
        initializer_range=0.5,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    torch.manual_seed(seed)
    kind = transformers.BertForSequenceClassification if head else transformers.BertModel
    transformers.utils.logging.disable_progress_bar()
    kind(config).save_pretrained(folder)
    tokens = {word: i for i, word in enumerate(vocabulary)}
    transformers.BertTokenizer(vocab=tokens).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make(tmp_path_factory.mktemp("hf") / "tiny", ("ENTAILMENT", "neutral", "contradict"))


@pytest.fixture(scope="module")
def classifier(folder: str) -> Classifier:
    return Classifier.load(folder, device="cpu")


@pytest.fixture(scope="module")
def small() -> TestSet:
    test = build("explicit")
    return replace(test, templates=test.templates[::400])


def test_a_batch_does_not_change_the_predictions_of_its_pairs(
    folder: str, classifier: Classifier, small: TestSet
) -> None:
    """The model's own outputs, pair by pair, in the order its config has."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    expected = []
    for premise, hypothesis in small:
        sides = (premise.replace(" .", "."), hypothesis.replace(" .", "."))
        with torch.no_grad():
            logits = model(**tokenizer(*sides, return_tensors="pt")).logits[0]
        e, n, c = np.exp(logits.numpy() - logits.max().item())
        expected.append(np.array([n, e, c]) / (n + e + c))
    scores = classifier.score_set(small)
    assert scores.shape == (len(small), 3)
    np.testing.assert_allclose(scores, expected, atol=FLOAT32)
    assert np.ptp(scores, axis=0).min() > 100 * FLOAT32  # the pairs do differ


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_batches_do_not_matter(classifier: Classifier, small: TestSet, batch: int) -> None:
    expected = classifier.score_set(small)
    np.testing.assert_allclose(classifier.score_set(small, batch), expected, atol=FLOAT32)


def test_pairs_of_like_length_are_predicted_together(
    classifier: Classifier,
) -> None:
    pairs = [Pair("A man ran . " * k, "He ran .") for k in (1, 3, 1, 3, 1, 3)]
    masks: list[Any] = []
    handle = classifier.model.register_forward_pre_hook(
        lambda model, arguments, inputs: masks.append(inputs["attention_mask"]), with_kwargs=True
    )
    try:
        probabilities = classifier.probabilities(pairs, batch=3)
    finally:
        handle.remove()
    assert [len(mask) for mask in masks] == [3, 3]
    assert all(mask.all() for mask in masks)  # nothing is padded
    assert masks[0].shape[1] < masks[1].shape[1]
    np.testing.assert_allclose(probabilities[::2], probabilities[[0, 0, 0]], atol=FLOAT32)
    np.testing.assert_allclose(probabilities[1::2], probabilities[[1, 1, 1]], atol=FLOAT32)
    assert np.abs(probabilities[0] - probabilities[1]).max() > 100 * FLOAT32


def test_sentences_are_written_as_people_write_them(
    classifier: Classifier, small: TestSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Pair] = []
    monkeypatch.setattr(Classifier, "probabilities", lambda self, pairs, *rest: seen.extend(pairs))
    classifier.score_set(small)
    assert len(seen) == len(small)
    for (premise, hypothesis), pair in zip(seen, small, strict=True):
        assert (f"{premise[:-1]} .", f"{hypothesis[:-1]} .") == pair


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_of_the_outputs_does_not_matter(
    folder: str, classifier: Classifier, small: TestSet, order: tuple[int, ...]
) -> None:
    """A model with its outputs and their names exchanged says the same."""
    moved = Classifier.load(folder, device="cpu")
    names = [moved.model.config.id2label[i] for i in order]
    with torch.no_grad():
        for parameter in (moved.model.classifier.weight, moved.model.classifier.bias):
            parameter.copy_(parameter[list(order)].clone())
    places = label_order(dict(enumerate(names)), None, "moved")
    scores = replace(moved, places=places).score_set(small)
    np.testing.assert_allclose(scores, classifier.score_set(small), atol=FLOAT32)


def test_labels_can_be_given(folder: str, classifier: Classifier, tmp_path: Path) -> None:
    names = ("LABEL_0", "LABEL_1", "LABEL_2")
    nameless = make(tmp_path / "nameless", names)
    with pytest.raises(WordbiasError) as caught:
        Classifier.load(nameless, device="cpu")
    message = str(caught.value)
    assert "a label order that cannot be determined (LABEL_0, LABEL_1, LABEL_2)" in message
    assert "--label-order=neutral,entailment,contradiction" in message
    given = Classifier.load(nameless, labels=["contradiction", "neutral", "entail"], device="cpu")
    assert given.places == (1, 2, 0)
    assert given.labels() == {1: "neutral", 2: "entailment", 0: "contradiction"}
    assert classifier.labels() == {1: "neutral", 0: "entailment", 2: "contradiction"}
    wins = Classifier.load(folder, labels=NAMES, device="cpu")
    assert wins.places == (0, 1, 2)


@pytest.mark.parametrize(
    ("own", "given", "message"),
    [
        (("yes", "no"), None, r"m: has 2 labels \(yes, no\), expected three: neutral, "),
        (("entailment", "not_entailment"), list(NAMES), "m: has 2 labels"),
        (NAMES, ["neutral", "entailment"], "--label-order=neutral,entailment: expected neutral, "),
        (NAMES, ["neutral", "neutral", "entailment"], "--label-order=neutral,neutral,"),
        (("a", "b", "c"), None, r"cannot be determined \(a, b, c\)"),
    ],
)
def test_labels_that_cannot_be_used(
    own: tuple[str, ...], given: list[str] | None, message: str
) -> None:
    with pytest.raises(WordbiasError, match=message):
        label_order(dict(enumerate(own)), given, "m")


def test_a_model_without_a_trained_classifier_is_refused(tmp_path: Path) -> None:
    """Its head would be drawn at random, and transformers would only mention it."""
    headless = make(tmp_path / "headless", NAMES, head=False)
    with pytest.raises(WordbiasError, match=r"is no trained classifier: it lacks classifier\.bias"):
        Classifier.load(headless)


def test_damaged_weights_are_refused(folder: str, small: TestSet) -> None:
    damaged = Classifier.load(folder, device="cpu")
    with torch.no_grad():
        damaged.model.classifier.bias[0] = float("nan")
    with pytest.raises(WordbiasError, match="no number; its weights are damaged"):
        damaged.score_set(small)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="no such folder"):
        Classifier.load(tmp_path / "gone")
    with pytest.raises(WordbiasError, match="is a folder without a config"):
        Classifier.load(tmp_path)


def test_an_unknown_device_is_refused(folder: str) -> None:
    with pytest.raises(WordbiasError, match=r"device 'abacus': torch cannot .*; use cpu"):
        Classifier.load(folder, device="abacus")


def test_loading_prints_nothing_and_does_not_change_the_log_level(
    folder: str, capfd: pytest.CaptureFixture[str]
) -> None:
    logging = transformers.utils.logging
    logging.set_verbosity_info()
    logging.enable_progress_bar()
    try:
        Classifier.load(folder, device="cpu")
        assert logging.get_verbosity() == logging.INFO
        assert logging.is_progress_bar_enabled()
    finally:
        logging.set_verbosity_warning()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_a_missing_package_is_named(
    folder: str, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    true = errors.importlib.import_module

    def without(name: str, *rest: Any) -> Any:
        if name == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return true(name, *rest)

    monkeypatch.setattr(errors.importlib, "import_module", without)
    with pytest.raises(WordbiasError, match=rf"needs {package}; .* .wordbias\[contextual\]."):
        Classifier.load(folder)
