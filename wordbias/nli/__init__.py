"""Natural language inference (NLI): decomposable attention, and marked attribute bias.

``wordbias.nli.DecomposableAttention`` needs torch (extra `torch`); scoring with a trained model
does not.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordbias.nli.model import DecomposableAttention as DecomposableAttention

__all__ = ["DecomposableAttention"]


def __getattr__(name: str) -> Any:
    """Import torch and the model on first use."""
    if name == "DecomposableAttention":
        from wordbias.nli.model import DecomposableAttention

        return DecomposableAttention
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
