"""Heads: what a model makes of the last layer's vector at position 0."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from wordbias.contextual.families import FAMILIES, Head, Reading, head_of
from wordbias.errors import WordbiasError


def sentence_of(model: Any, x: Tensor) -> Tensor:
    """Return the vector that enters the final linear layer.

    Parameters
    ----------
    model
        A classifier of sentences, or BERT for the next sentence.
    x
        What the last layer puts out at position 0, shape ``(n, d)``.
    """
    return _read(model)[1](model, x)


def final_of(model: Any) -> nn.Module:
    """Return the final linear layer."""
    final: nn.Module = model.get_submodule(_read(model)[0].final)
    return final


def logits_of(model: Any, x: Tensor) -> Tensor:
    """Return what the model puts out for vectors at position 0; dropout as the model's is."""
    head, read = _read(model)
    sentence = read(model, x)
    if head.dropout:
        sentence = model.get_submodule(head.dropout)(sentence)
    found: Tensor = final_of(model)(sentence)
    return found


def check_head(model: Any) -> None:
    """Refuse a model whose head is not known to read position 0 alone.

    Raises
    ------
    WordbiasError
        If it is none of the supported kinds.
    """
    _read(model)


def _read(model: Any) -> tuple[Head, Reading]:
    """Return a model's head and what makes the vector that enters its final layer."""
    head = head_of(model)
    if head is None or head.sentence is None:
        every = [item for family in FAMILIES.values() for item in family.heads.items()]
        purposes = dict.fromkeys(purpose for purpose, one in every if one.sentence is not None)
        raise WordbiasError(
            f"{type(model).__name__}: expected a model with a head for {' or '.join(purposes)}, "
            "which reads the first token alone"
        )
    return head, head.sentence
