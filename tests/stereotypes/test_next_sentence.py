from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.errors import WordbiasError
from wordbias.stereotypes.next_sentence import NextSentence, Sentences, next_place

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tiny_heads import folder, model  # noqa: E402

PAIRS = [
    Sentences("The woman sat.", "She slept."),
    Sentences("The man sat in the car and the dog slept.", "He cooked a very hot meal."),
    Sentences("Tea is hot.", "Ice melted and the nurse was kind."),
    Sentences("The woman sat.", "She slept."),
    Sentences("Unheard words", "zzz"),
]
NAMES = {0: "is_next", 1: "not_next"}


def one_by_one(name: str, kind: str, place: int) -> np.ndarray:
    """Score each pair by itself, without padding, straight from the logits."""
    head = getattr(transformers, kind).from_pretrained(name).eval()
    tokenise = transformers.AutoTokenizer.from_pretrained(name)
    probabilities = []
    with torch.no_grad():
        for context, following in PAIRS:
            inputs = tokenise(context, following, return_tensors="pt")
            logits = head(**inputs).logits[0].double()
            probabilities.append((logits[place].exp() / logits.exp().sum()).item())
    return np.array(probabilities)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return folder(tmp_path_factory.mktemp("nsp"), model("bert", "NextSentencePrediction"))


@pytest.mark.parametrize("batch", [1, 2, 64])
def test_probabilities_are_those_of_pairs_one_by_one(bert: str, batch: int) -> None:
    probabilities = NextSentence.load(bert).probabilities(PAIRS, batch)
    expected = one_by_one(bert, "BertForNextSentencePrediction", 0)
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-5)  # float32 weights
    assert probabilities[0] == probabilities[3]
    assert np.ptp(expected) > 1e-2  # else padding and segments could be anything


def test_the_first_output_of_berts_own_head_is_next(bert: str) -> None:
    assert NextSentence.load(bert).place == 0
    first, second = (NextSentence.load(bert, next_label=x).probabilities(PAIRS) for x in "01")
    np.testing.assert_allclose(first + second, 1, atol=1e-12)


def test_a_config_that_says_otherwise_is_believed(tmp_path: Path) -> None:
    head = model("bert", "NextSentencePrediction", id2label={0: "not_next", 1: "is_next"})
    assert NextSentence.load(folder(tmp_path, head)).place == 1


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "deberta-v2", "mpnet"])
def test_a_classifier_with_two_labels_counts(tmp_path: Path, family: str) -> None:
    classifier = model(family, "SequenceClassification", id2label={0: "not_next", 1: "is_next"})
    scorer = NextSentence.load(folder(tmp_path, classifier))
    assert scorer.place == 1
    expected = one_by_one(scorer.name, type(classifier).__name__, 1)
    np.testing.assert_allclose(scorer.probabilities(PAIRS), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        (["isNext", "notNext"], 0),
        (["NOT_NEXT", "NEXT"], 1),
        (["random", "LABEL_1"], 1),
        (["next sentence", "random sentence"], 0),
    ],
)
def test_labels_that_tell(labels: list[str], place: int) -> None:
    assert next_place(dict(enumerate(labels)), None, "m", None) == place


@pytest.mark.parametrize("labels", [["LABEL_0", "LABEL_1"], ["a", "b"], ["next", "next"]])
def test_labels_that_do_not_tell(labels: list[str]) -> None:
    with pytest.raises(WordbiasError, match=r"m: its labels .* do not tell .* next_label="):
        next_place(dict(enumerate(labels)), None, "m", None)
    assert next_place(dict(enumerate(labels)), None, "m", 0) == 0


def test_a_label_is_given_by_name_or_number() -> None:
    assert next_place(NAMES, "not_next", "m", None) == 1
    assert next_place(NAMES, "1", "m", None) == 1
    with pytest.raises(WordbiasError, match="next_label='no': m has the labels is_next, not_next"):
        next_place(NAMES, "no", "m", None)


@pytest.mark.parametrize(
    ("purpose", "options", "reason"),
    [
        ("SequenceClassification", {"num_labels": 3}, "it has 3 labels"),
        ("MaskedLM", {}, "it lacks classifier"),
    ],
)
def test_a_model_without_such_a_head(
    tmp_path: Path, purpose: str, options: dict[str, Any], reason: str
) -> None:
    name = folder(tmp_path, model("bert", purpose, **options))
    expected = r"has no trained next-sentence head \(it lacks .*\) and is no two-way classifier "
    with pytest.raises(WordbiasError, match=expected) as error:
        NextSentence.load(name)
    assert reason in str(error.value)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="no such folder"):
        NextSentence.load(tmp_path / "none")


def test_a_pair_that_is_too_long(bert: str) -> None:
    long = Sentences("the dog " * 20, "slept")
    with pytest.raises(WordbiasError, match=r"reads at most 40 tokens; a pair has 44: 'the dog"):
        NextSentence.load(bert).probabilities([PAIRS[0], long])


def test_damaged_weights(bert: str) -> None:
    scorer = NextSentence.load(bert)
    with torch.no_grad():
        next(scorer.model.parameters()).fill_(float("nan"))
    with pytest.raises(WordbiasError, match="predicts what is no number; its weights are damaged"):
        scorer.probabilities(PAIRS)


def test_a_device_that_is_not_there(bert: str) -> None:
    with pytest.raises(WordbiasError, match="device 'no'"):
        NextSentence.load(bert, device="no")
