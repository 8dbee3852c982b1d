"""Representations from any encoder, and probes of them: MDL online codes, accuracy and CEAT.

The names below are imported when they are first used. CEAT is the package `wordbias.probes.ceat`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordbias.probes.accuracy import probe_accuracy as probe_accuracy
    from wordbias.probes.encoder import Encoder as Encoder
    from wordbias.probes.encoding import encode as encode
    from wordbias.probes.encoding import encode_spans as encode_spans
    from wordbias.probes.mdl import online_code as online_code
    from wordbias.probes.mdl import online_codes as online_codes
    from wordbias.probes.representations import Representations as Representations
    from wordbias.probes.representations import load_representations as load_representations
    from wordbias.probes.representations import save_representations as save_representations

_HOME = {
    "Encoder": "encoder",
    "Representations": "representations",
    "encode": "encoding",
    "encode_spans": "encoding",
    "load_representations": "representations",
    "online_code": "mdl",
    "online_codes": "mdl",
    "probe_accuracy": "accuracy",
    "save_representations": "representations",
}
__all__ = [
    "Encoder",
    "Representations",
    "encode",
    "encode_spans",
    "load_representations",
    "online_code",
    "online_codes",
    "probe_accuracy",
    "save_representations",
]


def __getattr__(name: str) -> Any:
    """Import a public name's module on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
