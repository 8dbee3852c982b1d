"""Pretrained models of transformers, from a folder, the hub or the caller."""

from wordbias.pretrained.loading import (
    LoadedModel,
    check_padding,
    configured_length,
    load_pretrained,
    load_untrained,
    position_limit,
    usual_length,
    weights_sha256,
)
from wordbias.pretrained.model_like import (
    PURPOSE,
    ModelLike,
    evaluating,
    held_by,
    in_folder,
    model_and_tokenizer,
    name_of,
    need_transformers,
    silent,
    to_device,
    to_float64,
    transformer_of,
)

__all__ = [
    "PURPOSE",
    "LoadedModel",
    "ModelLike",
    "check_padding",
    "configured_length",
    "evaluating",
    "held_by",
    "in_folder",
    "load_pretrained",
    "load_untrained",
    "model_and_tokenizer",
    "name_of",
    "need_transformers",
    "position_limit",
    "silent",
    "to_device",
    "to_float64",
    "transformer_of",
    "usual_length",
    "weights_sha256",
]
