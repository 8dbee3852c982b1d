"""Heads: what a model makes of the last layer's vector at position 0, by family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from wordbias.contextual.families import Head, base_of, head_of
from wordbias.errors import WordbiasError

Reading = Callable[[Any, Tensor], Tensor]


def _pooled(model: Any, x: Tensor) -> Tensor:
    found: Tensor = base_of(model).pooler(x[:, None])
    return found


def _context_pooled(model: Any, x: Tensor) -> Tensor:
    found: Tensor = model.pooler(x[:, None])
    return found


def _albert_pooled(model: Any, x: Tensor) -> Tensor:
    base = base_of(model)
    found: Tensor = base.pooler_activation(base.pooler(x))
    return found


def _rectified(model: Any, x: Tensor) -> Tensor:
    return torch.relu(model.pre_classifier(x))


def _dense(activation: Callable[[Tensor], Tensor]) -> Reading:
    def read(model: Any, x: Tensor) -> Tensor:
        head = model.classifier
        return activation(head.dense(head.dropout(x)))

    return read


_READINGS: dict[str, Reading] = {
    "bert": _pooled,
    "roberta": _dense(torch.tanh),
    "xlm-roberta": _dense(torch.tanh),
    "electra": _dense(nn.functional.gelu),
    "distilbert": _rectified,
    "deberta-v2": _context_pooled,
    "mpnet": _dense(torch.tanh),
    "albert": _albert_pooled,
}
_PURPOSES = ("NextSentencePrediction", "SequenceClassification")


def sentence_of(model: Any, x: Tensor) -> Tensor:
    """Return the vector that enters the final linear layer.

    Parameters
    ----------
    model
        A classifier of sentences, or BERT for the next sentence.
    x
        What the last layer puts out at position 0, shape ``(n, d)``.
    """
    return _READINGS[model.config.model_type](model, x)


def final_of(model: Any) -> nn.Module:
    """Return the final linear layer."""
    final: nn.Module = model.get_submodule(_head(model).final)
    return final


def logits_of(model: Any, x: Tensor) -> Tensor:
    """Return what the model puts out for vectors at position 0; dropout as the model's is."""
    dropout = getattr(model, "dropout", None) or getattr(
        getattr(model, "classifier", None), "dropout", None
    )
    sentence = sentence_of(model, x)
    found: Tensor = final_of(model)(sentence if dropout is None else dropout(sentence))
    return found


def check_head(model: Any) -> None:
    """Refuse a model whose head is not known to read position 0 alone.

    Raises
    ------
    WordbiasError
        If it is none of the supported kinds.
    """
    _head(model)


def _head(model: Any) -> Head:
    head, name = head_of(model), type(model).__name__
    if head is None or not name.endswith(tuple(f"For{purpose}" for purpose in _PURPOSES)):
        raise WordbiasError(
            f"{name}: expected a model with a head for {' or '.join(_PURPOSES)}, which reads the "
            "first token alone"
        )
    return head
