"""Models as functions take them: a folder, a name on the hub, or loaded by the caller."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, cast

from wordbias.errors import WordbiasError
from wordbias.pretrained.computing import need_transformers, silent


class HoldsModel(Protocol):
    """A pipeline of transformers, a ``CrossEncoder``, or what looks like them."""

    model: Any
    tokenizer: Any


class HoldsTransformer(Protocol):
    """A ``SentenceTransformer``."""

    tokenizer: Any

    def __getitem__(self, place: int) -> Any:
        """Return a module."""


ModelLike = str | os.PathLike[str] | tuple[Any, Any] | HoldsModel | HoldsTransformer
"""A folder, a name on the hub, a pair (model, tokenizer), a pipeline, or a SentenceTransformer."""


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


def model_and_tokenizer(source: object) -> tuple[Any, Any]:
    """Return what a caller has loaded.

    Raises
    ------
    WordbiasError
        If it is something else.
    """
    model = tokenizer = None
    if isinstance(source, (tuple, list)) and len(source) == 2:
        model, tokenizer = transformer_of(source[0]), source[1]
    elif not isinstance(source, (str, os.PathLike)):
        model, tokenizer = transformer_of(source), getattr(source, "tokenizer", None)
        if model is source and tokenizer is not None:
            model = getattr(source, "model", None)
    if hasattr(model, "config") and callable(tokenizer):
        return model, tokenizer
    without = " without its tokenizer" if hasattr(source, "config") else ""
    raise WordbiasError(
        "expected a model: a folder, a name on the hub, a pair (model, tokenizer) of transformers, "
        f"a pipeline or a SentenceTransformer; got {type(source).__name__}{without}"
    )


def transformer_of(model: Any) -> Any:
    """Return the transformers model in a ``SentenceTransformer``, or the model itself."""
    if hasattr(model, "transformers_model"):
        return model.transformers_model
    return model[0].auto_model if hasattr(model, "_first_module") else model


@contextmanager
def in_folder(source: ModelLike) -> Iterator[str]:
    """Yield the folder or name of a model; one that is loaded is written to a temporary folder.

    Raises
    ------
    WordbiasError
        If it is no model.
    """
    if isinstance(source, (str, os.PathLike)):
        yield os.fspath(source)
        return
    pair = model_and_tokenizer(source)
    with tempfile.TemporaryDirectory(prefix="wordbias-") as made:
        with silent(need_transformers()):
            if hasattr(source, "encode"):  # a SentenceTransformer, with its other modules
                cast("Any", source).save_pretrained(made, create_model_card=False)
            else:
                for part in pair:
                    part.save_pretrained(made)
        yield made
