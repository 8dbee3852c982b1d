"""Published data that can be fetched: what there is, where it is kept, how it gets there."""

from typing import TYPE_CHECKING, Any

from wordbias.resources.catalogue import Resource, catalogue, choose
from wordbias.resources.storage import folder, located, state

if TYPE_CHECKING:
    from wordbias.resources.fetching import Fetched, FetchOptions, fetch

__all__ = [
    "FetchOptions",
    "Fetched",
    "Resource",
    "catalogue",
    "choose",
    "fetch",
    "folder",
    "located",
    "state",
]


def __getattr__(name: str) -> Any:
    """Load what fetches, and numpy with it, when it is asked for: names are completed without."""
    if name in ("Fetched", "fetch"):
        from wordbias.resources import fetching

        return getattr(fetching, name)
    if name == "FetchOptions":
        from wordbias.resources.fetching import FetchOptions

        return FetchOptions
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
