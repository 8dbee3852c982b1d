"""An encoder with a linear head of scikit-learn on its vectors of texts, as a classifier."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from wordbias.errors import WordbiasError
from wordbias.models.encoder import Encoder
from wordbias.models.families import FIRST, LAST, MEAN, Head, sentence_of, texts_of
from wordbias.models.loading import LoadedModel
from wordbias.models.model_like import ModelLike
from wordbias.models.sentence_transformers import SentenceModules

_POOLINGS = (FIRST, MEAN, LAST)


class EncoderWithHead(nn.Module):
    """Encoder, the modules of its sentence-transformers folder, and a linear head."""

    base_model_prefix: str = "encoder"
    encoder: Any
    classifier: nn.Linear
    config: Any
    name_or_path: str
    modules_behind: SentenceModules | None
    own_head: Head  # where the head reads, for `wordbias.models.families.head_of`

    def __init__(
        self, encoder: Any, modules: SentenceModules | None, reads: str, classifier: nn.Linear
    ) -> None:
        super().__init__()
        self.encoder, self.classifier = encoder, classifier
        self.config, self.name_or_path = copy.deepcopy(encoder.config), encoder.name_or_path
        self.modules_behind = modules
        alone = modules is None or not modules.steps
        self.own_head = Head("classifier", "classifier", alone, _vectors_behind, reads=reads)

    @property
    def device(self) -> Any:
        """Device of the encoder."""
        return self.encoder.device

    @property
    def dtype(self) -> Any:
        """Type of the encoder's weights."""
        return self.encoder.dtype

    def forward(self, **inputs: Tensor) -> SequenceClassifierOutput:
        """Return the logits of each class."""
        read = texts_of(self, self.encoder(**inputs)[0], inputs)
        return SequenceClassifierOutput(logits=self.classifier(sentence_of(self, read)))


def _vectors_behind(model: Any, x: Tensor) -> Tensor:
    if model.modules_behind is None:
        return x
    vectors: Tensor = model.modules_behind.apply(x.float().cpu()).to(x)
    return vectors


def load_with_head(source: ModelLike, head: Any, device: str | None) -> LoadedModel:
    """Put a linear head, such as a `LogisticRegression`, on the vectors of an encoder."""
    # They are those of its sentence-transformers folder; of another folder the means of all tokens.
    encoder = Encoder.load(source, device=device)
    modules, name = encoder.sentence, encoder.name
    pooling = (MEAN,) if modules is None else modules.pooling
    if len(pooling) > 1 or pooling[0] not in _POOLINGS:
        raise WordbiasError(
            f"{name}: its vectors of texts are pooled by {'+'.join(pooling)}; a head is put on "
            f"those pooled by {', '.join(_POOLINGS)}"
        )
    if modules is not None and modules.prompt:
        raise WordbiasError(
            f"{name}: puts the prompt {modules.prompt!r} before every text, which is not read "
            "here; give a folder without a default prompt"
        )
    weight, bias, classes = _weights(head)
    width = encoder.dim if modules is None else modules.width(encoder.dim)
    if weight.shape[1] != width:
        raise WordbiasError(
            f"{name}: its vectors have {width} values, the {type(head).__name__} is fitted to "
            f"{weight.shape[1]}; give one that is fitted to vectors of this encoder"
        )
    empty = nn.Linear(width, len(weight), device="meta", dtype=encoder.model.dtype)
    classifier = empty.to_empty(device=encoder.model.device)
    with torch.no_grad():
        classifier.weight.copy_(torch.from_numpy(weight))
        classifier.bias.copy_(torch.from_numpy(bias))
    model = EncoderWithHead(encoder.model, modules, pooling[0], classifier).eval()
    model.config.id2label = dict(enumerate(classes))
    model.config.problem_type = None  # that of a head which the encoder had before
    tokenizer = copy.deepcopy(encoder.tokenizer)
    tokenizer.model_max_length = encoder.max_length
    return LoadedModel(name, model, tokenizer, (), encoder.given, encoder.device, encoder.precision)


def _weights(head: Any) -> tuple[Any, Any, list[str]]:
    """Return the weights of a linear head, shape ``(classes, d)``, its bias and its classes."""
    # A regressor of one number, such as `Ridge`, has one output without a class.
    parts: Mapping[str, Any] = {
        name: getattr(head, name, None) for name in ("coef_", "intercept_", "classes_")
    }
    if parts["coef_"] is None or parts["intercept_"] is None:
        raise WordbiasError(
            f"{type(head).__name__}: expected a fitted linear model of scikit-learn, such as "
            "LogisticRegression, with coef_ and intercept_"
        )
    weight = np.atleast_2d(np.asarray(parts["coef_"], np.float64))
    bias = np.broadcast_to(np.asarray(parts["intercept_"], np.float64), len(weight))
    known = parts["classes_"]
    classes = ["number"] if known is None else [str(label) for label in known]
    if len(weight) == 1 and len(classes) == 2:  # the score of the second class
        weight, bias = np.stack([0 * weight[0], weight[0]]), np.array([0, bias[0]])
    if len(weight) != len(classes):
        raise WordbiasError(
            f"{type(head).__name__}: has {len(weight)} rows of weights for {len(classes)} classes; "
            "expected one for each, as of LogisticRegression"
        )
    return weight, np.array(bias), classes
