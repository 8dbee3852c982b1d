"""Models of transformers, from a folder or the hub: loaded quietly, and refused in one line."""

from wordbias.pretrained.computing import (
    PURPOSE,
    evaluating,
    first_line,
    need_transformers,
    silent,
    to_device,
)
from wordbias.pretrained.loading import Loaded, check_padding, load_pretrained, load_untrained
from wordbias.pretrained.weights import weights_sha256

__all__ = [
    "PURPOSE",
    "Loaded",
    "check_padding",
    "evaluating",
    "first_line",
    "load_pretrained",
    "load_untrained",
    "need_transformers",
    "silent",
    "to_device",
    "weights_sha256",
]
