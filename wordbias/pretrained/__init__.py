"""Models of transformers, from a folder or the hub: loaded quietly, and refused in one line."""

from wordbias.pretrained.computing import (
    PURPOSE,
    evaluating,
    first_line,
    need_transformers,
    silent,
    to_device,
    to_float64,
)
from wordbias.pretrained.given import (
    ModelLike,
    model_and_tokenizer,
    name_of,
    transformer_of,
)
from wordbias.pretrained.loading import Loaded, check_padding, load_pretrained, load_untrained
from wordbias.pretrained.weights import weights_sha256

__all__ = [
    "PURPOSE",
    "Loaded",
    "ModelLike",
    "check_padding",
    "evaluating",
    "first_line",
    "load_pretrained",
    "load_untrained",
    "model_and_tokenizer",
    "name_of",
    "need_transformers",
    "silent",
    "to_device",
    "to_float64",
    "transformer_of",
    "weights_sha256",
]
