"""What `wordbias encode` does with an encoder without layers."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from wordbias.calls import note, refuse_given
from wordbias.errors import WordbiasError
from wordbias.formats import is_static_model
from wordbias.formats.rows.writing import is_row_suffix
from wordbias.formats.static_models import refuse_loaded_static
from wordbias.functions.inputs import path_of
from wordbias.models.representations import (
    Representations,
    check_same,
    load_representations,
    save_representations,
    stored_provenance,
)
from wordbias.models.static_texts import StaticEncoder
from wordbias.models.text_encoders import AnsweringEncoder, EncoderLike, open_output_encoder
from wordbias.models.texts import Texts
from wordbias.resources.models import model_folder
from wordbias.store import refuse_other

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
"""Arguments of `wordbias.encode` that mean nothing for an encoder without layers."""


def static_folder(model: object) -> str | None:
    """Return the folder of a static model, or its address; None for another model."""
    refuse_loaded_static(model)
    folder = path_of(model)
    if folder is None or not is_static_model(model_folder(folder)):
        return None
    what = f"{folder} is a static model, whose vector of a text is the mean of its tokens'"
    refuse_given(_OF_ENCODERS, f"is for encoders; {what}")
    return folder


def output_encoder(model: EncoderLike, device: str | None) -> AnsweringEncoder | None:
    """Open an encoder that shows the vectors of texts alone; None for another model."""
    encoder = open_output_encoder(model, device=device)
    if encoder is not None:
        given = (*_OF_ENCODERS, "max_length")
        named = [option for option in given if option != "device" or encoder.elsewhere]
        refuse_given(named, f"is for models whose layers can be read; {encoder.where} is none")
        for line in encoder.notes:
            note(line)
    return encoder


Encoded = tuple[Representations, dict[str, Any], dict[str, Any], float]
"""Vectors of texts, facts of the model and of the texts, and the seconds."""


def encode_output(encoder: AnsweringEncoder, texts: Texts, output: str | None) -> Encoded:
    """Encode texts with an encoder that shows the vectors of texts alone."""
    # A file that is complete is not asked for again, if answers are kept under a name.
    settings = {
        "layers": (0,), "pooling": None, "max_length": None, "prompt": "", "modules": (),
    }  # fmt: skip
    about = {
        **encoder.about,
        **settings,
        "texts": Path(texts.name).name,
        "texts_sha256": texts.sha256(),
        "truncated": 0,
    }
    start = time.perf_counter()
    if output is not None and not is_row_suffix(output) and Path(output).exists():
        if encoder.kept is None:
            raise WordbiasError(
                f"{output}: is there already, and {encoder.where} has no name by which its vectors "
                "could be known; remove the file, or give {'NAME': function}"
            )
        refuse_other(Path(output), stored_provenance(Path(output)), about, "run")
        vectors = load_representations(output).vectors
    else:
        vectors = encoder.encode(texts.texts)[None]
    representations = Representations(vectors, (0,), texts.columns, about, encoder.name)
    return _written(representations, texts, output, {**encoder.about, **settings}, start)


def encode_static(
    folder: str, texts: Texts, output: str | None, max_length: int | None, skip_bad: bool
) -> Encoded:
    """Encode texts with a static model."""
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
    representations = Representations(vectors, (0,), given.columns, about, name)
    of_model = {"path": folder, "sha256": about["weights_sha256"], **settings}
    return _written(representations, given, output, of_model, start)


def _written(
    representations: Representations,
    texts: Texts,
    output: str | None,
    of_model: Mapping[str, Any],
    start: float,
) -> Encoded:
    """Write vectors, unless the same file is there; return them with the facts."""
    as_rows = output is not None and is_row_suffix(output)
    done = output is not None and not as_rows and Path(output).exists()
    about = representations.about
    if output is not None and as_rows:
        save_representations(representations, output)
    elif output is not None:
        if done:
            check_same(Path(output), representations)
        else:
            save_representations(representations, output)
        representations = load_representations(output)
    seconds = time.perf_counter() - start
    encoded, before = (0, len(texts)) if done else (len(texts), 0)
    facts = facts_of(texts, len(set(texts.texts)), about, encoded, before)
    return representations, {**of_model, "dim": representations.dim}, facts, seconds


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
