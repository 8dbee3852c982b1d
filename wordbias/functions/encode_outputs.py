"""What `wordbias encode` does with the folder of a static model."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from wordbias.calls import refuse_given
from wordbias.formats import is_static_model
from wordbias.formats.rows.writing import is_row_suffix
from wordbias.formats.static_models import refuse_loaded_static
from wordbias.functions.inputs import path_of
from wordbias.models.model_like import ModelLike
from wordbias.models.representations import (
    Representations,
    check_same,
    load_representations,
    save_representations,
)
from wordbias.models.static_texts import StaticEncoder
from wordbias.models.texts import Texts
from wordbias.resources.models import model_folder

_OF_ENCODERS = (
    "layers",
    "pooling",
    "subword",
    "special_tokens",
    "prompt",
    "template",
    "word_column",
    "span_columns",
    "adapter",
    "setting",
    "device",
    "precision",
    "random_init",
    "batch_tokens",
)
"""Arguments of `wordbias.encode` that mean nothing for a static model."""


def static_folder(model: ModelLike) -> str | None:
    """Return the folder of a static model, or its address; None for another model.

    Raises
    ------
    WordbiasError
        If it is a static model that is loaded, or an argument is given that is for
        encoders only.
    """
    refuse_loaded_static(model)
    folder = path_of(model)
    if folder is None or not is_static_model(model_folder(folder)):
        return None
    what = f"{folder} is a static model, whose vector of a text is the mean of its tokens'"
    refuse_given(_OF_ENCODERS, f"is for encoders; {what}")
    return folder


def encode_static(
    folder: str, texts: Texts, output: str | None, max_length: int | None, skip_bad: bool
) -> tuple[Representations, dict[str, Any], dict[str, Any], float]:
    """Encode texts with a static model; return facts of it and of the texts, and the seconds.

    Raises
    ------
    WordbiasError
        If a text has no known token, unless it is to be dropped, or the file is there and is of
        something else.
    """
    encoder = StaticEncoder.load(model_folder(folder), max_length)
    start = time.perf_counter()
    tokens, truncated = encoder.tokenise(texts.texts)
    lost = {
        i: "has no token that the model knows, and so no vector"
        for i, ids in enumerate(tokens)
        if not len(ids)
    }
    given = texts.without(lost, skip_bad)
    settings = {
        "layers": (0,),
        "pooling": "mean",
        "max_length": encoder.max_length,
        "prompt": "",
        "modules": encoder.modules,
    }
    about = {
        "model": folder,
        "weights_sha256": encoder.model.sha256(),
        **settings,
        "texts": Path(given.name).name,
        "texts_sha256": given.sha256(),
        "truncated": truncated,
        "versions": {"tokenizers": version("tokenizers")},
    }
    name = Path(os.path.abspath(folder)).name
    vectors = encoder.vectors([ids for ids in tokens if len(ids)])[None]
    found = Representations(vectors, (0,), given.columns, about, name)
    as_rows = output is not None and is_row_suffix(output)
    done = output is not None and not as_rows and Path(output).exists()
    if output is not None and as_rows:
        save_representations(found, output)
    elif output is not None:
        if done:
            check_same(Path(output), found)
        else:
            save_representations(found, output)
        found = load_representations(output)
    seconds = time.perf_counter() - start
    encoded, before = (0, len(given)) if done else (len(given), 0)
    return (
        found,
        {"path": folder, "sha256": about["weights_sha256"], **settings, "dim": found.dim},
        facts_of(given, len(set(given.texts)), about, encoded, before),
        seconds,
    )


def facts_of(
    texts: Texts, distinct: int, about: Mapping[str, Any], encoded: int, before: int
) -> dict[str, Any]:
    """Return facts of encoded texts: how many were encoded now and before, dropped and cut."""
    return {
        "sha256": about["texts_sha256"],
        "texts": len(texts),
        "distinct": distinct,
        "columns": {key: len(column.values) for key, column in texts.columns.items()},
        "dropped": texts.dropped,
        "truncated": about["truncated"],
        "encoded": encoded,
        "before": before,
    }
