"""Published data that can be fetched: what there is, where it is kept, how it gets there."""

from wordbias.resources.catalogue import Resource, catalogue, choose
from wordbias.resources.fetching import Fetched, fetch
from wordbias.resources.obtaining import Ways
from wordbias.resources.storage import folder, located, state

__all__ = [
    "Fetched",
    "Resource",
    "Ways",
    "catalogue",
    "choose",
    "fetch",
    "folder",
    "located",
    "state",
]
