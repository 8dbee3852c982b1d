"""Natural language inference (NLI): decomposable attention, and marked attribute bias."""

from typing import TYPE_CHECKING, Any

from wordbias.first_use import on_first_use

if TYPE_CHECKING:
    from wordbias.nli.model import DecomposableAttention as DecomposableAttention

__all__ = ["DecomposableAttention"]


def __getattr__(name: str) -> Any:
    return on_first_use(__name__, {"DecomposableAttention": "model"}, name)
