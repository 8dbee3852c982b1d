"""Removal of subspaces inside encoders while they compute, and measures of the result.

``wordbias.contextual.all_settings()`` lists the 74 published settings,
``wordbias.load(path)`` reads subspaces that ``wordbias project`` fitted,
``with adapter.on(model, setting):`` removes them.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordbias.contextual.adapters import Adapter as Adapter
    from wordbias.contextual.adapters import load_adapter as load_adapter
    from wordbias.contextual.fitting import fit_adapter as fit_adapter
    from wordbias.contextual.folding import fold as fold
    from wordbias.contextual.hooks import Intervention as Intervention
    from wordbias.contextual.hooks import applied as applied
    from wordbias.contextual.settings import Settings as Settings
    from wordbias.contextual.settings import all_settings as all_settings
    from wordbias.contextual.sites import Site as Site

_HOME = {
    "Adapter": "adapters",
    "Intervention": "hooks",
    "Settings": "settings",
    "Site": "sites",
    "all_settings": "settings",
    "applied": "hooks",
    "fit_adapter": "fitting",
    "fold": "folding",
    "load_adapter": "adapters",
}

__all__ = [
    "Adapter",
    "Intervention",
    "Settings",
    "Site",
    "all_settings",
    "applied",
    "fit_adapter",
    "fold",
    "load_adapter",
]


def __getattr__(name: str) -> Any:
    """Import the module of a public name on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = importlib.import_module(f"{__name__}.{_HOME[name]}")
    return getattr(home, name)
