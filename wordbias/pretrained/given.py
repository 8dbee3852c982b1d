"""Models as functions take them: a folder, a name on the hub, or loaded by the caller."""

from __future__ import annotations

import os
from typing import Any, Protocol

from wordbias.errors import WordbiasError


class HoldsTransformer(Protocol):
    """A ``SentenceTransformer``."""

    tokenizer: Any

    @property
    def transformers_model(self) -> Any:
        """Return its transformers model."""


ModelLike = str | os.PathLike[str] | tuple[Any, Any] | HoldsTransformer
"""A folder, a name on the hub, a pair (model, tokenizer), or a ``SentenceTransformer``."""


def name_of(source: ModelLike) -> str:
    """Return what messages and results call a model; of a loaded one where it came from.

    Raises
    ------
    WordbiasError
        If it is no model.
    """
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    model, _ = model_and_tokenizer(source)
    return str(getattr(model, "name_or_path", "") or type(model).__name__)


def model_and_tokenizer(source: ModelLike) -> tuple[Any, Any]:
    """Return what a caller has loaded.

    Raises
    ------
    WordbiasError
        If it is something else.
    """
    model: Any = None
    tokenizer: Any = None
    if isinstance(source, (tuple, list)) and len(source) == 2:
        model, tokenizer = transformer_of(source[0]), source[1]
    elif not isinstance(source, (str, os.PathLike)):
        model, tokenizer = transformer_of(source), getattr(source, "tokenizer", None)
    if hasattr(model, "config") and callable(tokenizer):
        return model, tokenizer
    without = " without its tokenizer" if hasattr(source, "config") else ""
    raise WordbiasError(
        "expected a model: a folder, a name on the hub, a pair (model, tokenizer) of transformers "
        f"or a SentenceTransformer; got {type(source).__name__}{without}"
    )


def transformer_of(model: Any) -> Any:
    """Return the transformers model in a ``SentenceTransformer``, or the model itself."""
    if hasattr(model, "transformers_model"):
        return model.transformers_model
    return model[0].auto_model if hasattr(model, "_first_module") else model
