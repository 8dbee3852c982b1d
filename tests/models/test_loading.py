"""Models for interventions are loaded with the head that their folder has."""

from __future__ import annotations

from typing import Any

import pytest
from tiny_encoders import build, make_tokenizer, save

from wordbias.errors import WordbiasError
from wordbias.models.targets import HEADS, load_target

pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("purpose", "head", "loaded", "sentence"),
    [
        ("SequenceClassification", None, "BertForSequenceClassification", True),
        ("SequenceClassification", "none", "BertModel", True),
        ("MultipleChoice", None, "BertForMultipleChoice", True),
        ("NextSentencePrediction", None, "BertForNextSentencePrediction", True),
        ("MaskedLM", None, "BertForMaskedLM", False),
        ("MaskedLM", "none", "BertModel", False),
    ],
)
def test_which_head_is_loaded(
    tmp_path: Any, purpose: str, head: str | None, loaded: str, sentence: bool
) -> None:
    tokenizer = make_tokenizer(["she", "he"])
    save(build("bert", purpose, vocabulary=len(tokenizer)), tokenizer, tmp_path)
    target = load_target(str(tmp_path), "cpu", head)
    assert (type(target.model).__name__, target.sentence) == (loaded, sentence)
    assert ("sentence" in {site.kind for site in target.sites()}) == sentence
    assert not target.model.training
    assert head is None or head in HEADS


def test_a_head_whose_weights_are_not_there(tmp_path: Any) -> None:
    tokenizer = make_tokenizer(["she", "he"])
    save(build("roberta", "Model", vocabulary=len(tokenizer)), tokenizer, tmp_path)
    with pytest.raises(WordbiasError, match="without classifier"):
        load_target(str(tmp_path), "cpu", "classification")
    with pytest.raises(WordbiasError, match="without lm_head"):
        load_target(str(tmp_path), "cpu", "masked-lm")
    with pytest.raises(WordbiasError, match="device 'gpu9'"):
        load_target(str(tmp_path), "gpu9")
