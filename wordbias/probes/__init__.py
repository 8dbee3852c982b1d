"""Representations out of any encoder, and what probes find in them: MDL online codes and CEAT.

The names below are imported when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordbias.probes.accuracy import probe_accuracy as probe_accuracy
    from wordbias.probes.ceat import ceat as ceat
    from wordbias.probes.encoder import Encoder as Encoder
    from wordbias.probes.encoding import encode as encode
    from wordbias.probes.encoding import encode_spans as encode_spans
    from wordbias.probes.online import online_code as online_code
    from wordbias.probes.online import online_codes as online_codes
    from wordbias.probes.representations import Representations as Representations
    from wordbias.probes.representations import load_representations as load_representations
    from wordbias.probes.representations import save_representations as save_representations

_HOME = {
    "Encoder": "encoder",
    "Representations": "representations",
    "ceat": "in_context",
    "encode": "encoding",
    "encode_spans": "encoding",
    "load_representations": "storage",
    "online_code": "online",
    "online_codes": "online",
    "probe_accuracy": "accuracy",
    "save_representations": "storage",
}
__all__ = [
    "Encoder",
    "Representations",
    "ceat",
    "encode",
    "encode_spans",
    "load_representations",
    "online_code",
    "online_codes",
    "probe_accuracy",
    "save_representations",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
