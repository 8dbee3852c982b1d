"""Measure social bias in language representations, remove it, and show whether that helped.

Importing this package loads nothing heavy: every public name below is imported when it is first
used (PEP 562).
"""

import importlib

TYPE_CHECKING = False  # as typing has it, which takes time to load

__version__ = "0.1.0"

if TYPE_CHECKING:
    from typing import Any

    from wordbias.embedding import Embedding as Embedding
    from wordbias.errors import WordbiasError as WordbiasError
    from wordbias.methods.misp import misp as misp
    from wordbias.subspace import Subspace as Subspace
    from wordbias.wordlists import Attribute as Attribute

_HOME = {
    "Attribute": "wordbias.wordlists",
    "Embedding": "wordbias.embedding",
    "Subspace": "wordbias.subspace",
    "WordbiasError": "wordbias.errors",
    "misp": "wordbias.methods.misp",
}
_PACKAGES = (
    "formats",
    "measures",
    "methods",
    "nli",
    "outcomes",
    "probes",
    "word_tasks",
    "wordlists",
)

__all__ = ["Attribute", "Embedding", "Subspace", "WordbiasError", "__version__", "misp"]


def __getattr__(name: str) -> "Any":
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"wordbias.{name}")
    raise AttributeError(f"module 'wordbias' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES])
