"""What loads, tokenises, encodes and hooks models: encoders, decoders, sentence-transformers."""

from typing import TYPE_CHECKING, Any

from wordbias.first_use import on_first_use

if TYPE_CHECKING:
    from wordbias.models.adapters import Adapter as Adapter
    from wordbias.models.adapters import load_adapter as load_adapter
    from wordbias.models.encoder import Encoder as Encoder
    from wordbias.models.encoding import encode as encode
    from wordbias.models.encoding import encode_spans as encode_spans
    from wordbias.models.folding import fold as fold
    from wordbias.models.hooks import Intervention as Intervention
    from wordbias.models.hooks import applied as applied
    from wordbias.models.representations import Representations as Representations
    from wordbias.models.representations import load_representations as load_representations
    from wordbias.models.representations import save_representations as save_representations
    from wordbias.models.settings import Settings as Settings
    from wordbias.models.settings import all_settings as all_settings
    from wordbias.models.sites import Site as Site

_HOME = {
    "Adapter": "adapters",
    "Encoder": "encoder",
    "Intervention": "hooks",
    "Representations": "representations",
    "Settings": "settings",
    "Site": "sites",
    "all_settings": "settings",
    "applied": "hooks",
    "encode": "encoding",
    "encode_spans": "encoding",
    "fold": "folding",
    "load_adapter": "adapters",
    "load_representations": "representations",
    "save_representations": "representations",
}
__all__ = [
    "Adapter",
    "Encoder",
    "Intervention",
    "Representations",
    "Settings",
    "Site",
    "all_settings",
    "applied",
    "encode",
    "encode_spans",
    "fold",
    "load_adapter",
    "load_representations",
    "save_representations",
]


def __getattr__(name: str) -> Any:
    return on_first_use(__name__, _HOME, name)


def __dir__() -> list[str]:
    return __all__
