"""Published data: the catalogue, the data folder, and the download."""

from typing import TYPE_CHECKING, Any

from wordbias.resources.catalogue import Resource, catalogue, choose
from wordbias.resources.storage import available, folder, located

if TYPE_CHECKING:
    from wordbias.resources.fetching import Fetched, FetchOptions, fetch

__all__ = [
    "FetchOptions",
    "Fetched",
    "Resource",
    "available",
    "catalogue",
    "choose",
    "fetch",
    "folder",
    "located",
]


def __getattr__(name: str) -> Any:
    """Import the downloading, which needs numpy, on first use: shell completion works without."""
    if name in ("FetchOptions", "Fetched", "fetch"):
        from wordbias.resources import fetching

        return getattr(fetching, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
