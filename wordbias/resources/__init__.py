"""Published data: the catalogue, the data folder, and the download."""

from typing import TYPE_CHECKING, Any

from wordbias.first_use import on_first_use
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
# downloading needs numpy, and shell completion works without
_HOME = dict.fromkeys(("FetchOptions", "Fetched", "fetch"), "fetching")


def __getattr__(name: str) -> Any:
    return on_first_use(__name__, _HOME, name)
