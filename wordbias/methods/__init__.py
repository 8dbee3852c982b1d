"""Methods of debiasing, one a module, whose ``fit(embedding, …)`` returns a fitted method."""

from importlib import import_module
from typing import Any

from wordbias.methods.fitted import Chain as Chain
from wordbias.methods.fitted import Fitted as Fitted
from wordbias.methods.methods import debias as debias
from wordbias.methods.methods import fit_chain as fit_chain
from wordbias.methods.settings import METHODS as METHODS
from wordbias.methods.storage import Origin as Origin
from wordbias.methods.storage import load_chain as load_chain
from wordbias.methods.storage import save_chain as save_chain
from wordbias.methods.transform import Transform as Transform
from wordbias.methods.transform import transform_rows as transform_rows
from wordbias.methods.transform import transformed as transformed

_MODULES = tuple(name.replace("-", "_") for name in METHODS)

__all__ = [
    "METHODS",
    "Chain",
    "Fitted",
    "Origin",
    "Transform",
    "debias",
    "fit_chain",
    "load_chain",
    "save_chain",
    "transform_rows",
    "transformed",
]


def __getattr__(name: str) -> Any:
    """Import the module of a method on first use."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
