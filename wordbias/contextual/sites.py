"""Sites: where in an encoder a subspace is removed, and how such a place is written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from wordbias.contextual.families import PARTS, layer_count
from wordbias.errors import WordbiasError

ATTENTION = "attention"
KINDS = ("sentence", "cls", "tokens", *PARTS)
_WRITTEN = re.compile(r"([a-z]+)(?:@([-−]?\d+))?")


@dataclass(frozen=True, order=True)
class Site:
    """A place in an encoder.

    Attributes
    ----------
    kind
        ``sentence``, the vector that enters the final linear layer; ``cls`` and ``tokens``, what a
        layer puts out at position 0 and everywhere; ``query``, ``key`` and ``value``, these three
        of all heads of a layer.
    layer
        1 is the first, −1 the last; None for the sentence.
    """

    kind: str
    layer: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise WordbiasError(f"site {self.kind!r}: expected one of {_expected()}")
        if (self.kind == "sentence") != (self.layer is None) or self.layer == 0:
            raise WordbiasError(f"site {self}: expected one of {_expected()}; layers count from 1")

    def __str__(self) -> str:
        return self.kind if self.layer is None else f"{self.kind}@{self.layer}"

    @classmethod
    def parse(cls, text: str) -> Site:
        """Read a site that is one place, such as ``sentence``, ``cls@12`` or ``value@-2``.

        Raises
        ------
        WordbiasError
            If it is none; also for ``attention@L``, which is three (see `sites`).
        """
        match = _WRITTEN.fullmatch(text.strip())
        if match is None or match[1] not in KINDS:
            raise WordbiasError(f"site {text!r}: expected one of {_expected()}")
        layer = None if match[2] is None else int(match[2].replace("−", "-"))
        return cls(match[1], layer)

    def within(self, model: Any) -> Site:
        """Return the same site with its layer counted from 1.

        Raises
        ------
        WordbiasError
            If the model has no such layer; the message says which it has.
        """
        return self.counted(layer_count(model), type(model).__name__)

    def counted(self, layers: int, name: str = "the model") -> Site:
        """Return the same site in a model of so many layers; see `within`."""
        if self.layer is None:
            return self
        absolute = self.layer if self.layer > 0 else layers + 1 + self.layer
        if not 1 <= absolute <= layers:
            raise WordbiasError(
                f"site {self}: {name} has the layers 1 to {layers} (or -{layers} to -1)"
            )
        return Site(self.kind, absolute)


def sites(text: str) -> tuple[Site, ...]:
    """Read sites separated by commas; ``attention@L`` stands for query, key and value there."""
    found: list[Site] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        kind, at, layer = part.partition("@")
        parts = PARTS if kind == ATTENTION else (kind,)
        found += [Site.parse(f"{name}{at}{layer}") for name in parts]
    if not found:
        raise WordbiasError(f"sites {text!r}: expected some of {_expected()}")
    return tuple(dict.fromkeys(found))


def attention(layer: int) -> tuple[Site, ...]:
    """Return the three sites of a layer's attention."""
    return tuple(Site(part, layer) for part in PARTS)


def layers_kept(wanted: Any, model: Any) -> int:
    """Return how many of the first layers put out, before any removal, what they did without.

    Their outputs can be computed once and kept: removal at the output of a layer, ``cls@L`` and
    ``tokens@L``, begins behind it, in its attention inside it, at the sentence behind the last.

    Parameters
    ----------
    wanted
        Sites, or things with a `site`.
    """
    n = layer_count(model)
    kept = [n]
    for item in wanted:
        site = getattr(item, "site", item).within(model)
        if site.layer is not None:
            kept.append(site.layer - (site.kind in PARTS))
    return min(kept)


def _expected() -> str:
    return "sentence, cls@L, tokens@L, attention@L (or query@L, key@L, value@L)"
