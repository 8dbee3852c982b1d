"""What bias is measured along: a subspace and two directions, taken from one embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.blocks import unit
from wordbias.measures.direct_bias import UNDEFINED_BELOW, difference_direction, direct_bias
from wordbias.measures.midb import midb
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, resolve, resolve_pairs

_ALONE = ", and direct bias is taken along nothing else, whatever the direction of other measures"


class Value(NamedTuple):
    """A measured value, or the reason why it is undefined."""

    value: float | None
    reason: str = ""


@dataclass(frozen=True)
class Lens:
    """Fitted on one embedding; bias can be measured along it in that or in another.

    Attributes
    ----------
    subspace, unit_subspace
        Fitted on the groups' vectors as they are, and on unit length; None with `subspace_reason`.
    direction, pair_component
        The difference of the attribute's axis pair (she − he), and the first principal component
        of its definitional pairs; None with `direction_reason`, `pair_reason`.
    """

    subspace: Subspace | None = None
    unit_subspace: Subspace | None = None
    subspace_reason: str = ""
    direction: NDArray[np.float64] | None = None
    direction_reason: str = ""
    pair_component: NDArray[np.float64] | None = None
    pair_reason: str = ""

    def measure(self, vectors: NDArray[np.float32]) -> dict[str, Value]:
        """Measure MIDB and direct bias of vectors, shape ``(n, d)``, along this lens."""
        values = self._midb(vectors)
        for name, along, reason in (
            ("direct-bias", self.direction, self.direction_reason),
            ("direct-bias-pca", self.pair_component, self.pair_reason),
        ):
            undefined = Value(None, reason)
            values[name] = undefined if along is None else Value(direct_bias(vectors, along))
        return values

    def _midb(self, vectors: NDArray[np.float32]) -> dict[str, Value]:
        if self.subspace is None or self.unit_subspace is None:
            undefined = Value(None, self.subspace_reason)
            return dict.fromkeys(("midb", "midb-abs", "midb-rms", "midb-unit"), undefined)
        raw = midb(vectors, self.subspace)
        return {
            "midb": Value(raw.signed),
            "midb-abs": Value(raw.absolute),
            "midb-rms": Value(raw.rms),
            "midb-unit": Value(midb(unit(vectors), self.unit_subspace).signed),
        }


def fit_lens(
    embedding: Embedding, attribute: Attribute, *, dims: int = 4, center: bool = False
) -> Lens:
    """Fit everything that bias is measured along; what cannot be fitted gets a reason."""
    first, second = (embedding.take(resolve(words, embedding).found) for words in attribute.members)
    direction, direction_reason = axis(embedding, attribute)
    component, pair_reason = pair_component(embedding, attribute)
    direction_reason += _ALONE if attribute.direction is None else ""
    pair_reason += _ALONE if not attribute.pairs else ""
    try:
        subspace = Subspace.from_groups(first, second, dims, center=center)
        on_unit = Subspace.from_groups(unit(first), unit(second), dims, center=center)
    except WordbiasError as error:
        subspace, on_unit, subspace_reason = None, None, f"undefined: {error}"
    else:
        subspace_reason = ""
    return Lens(
        subspace, on_unit, subspace_reason, direction, direction_reason, component, pair_reason
    )


def axis(embedding: Embedding, attribute: Attribute) -> tuple[NDArray[np.float64] | None, str]:
    """Difference vector of the attribute's axis pair, or None and the reason."""
    if attribute.direction is None:
        return None, f"undefined: the attribute {attribute.name} has no pairs"
    a, b = attribute.direction
    found = resolve_pairs([(a, b)], embedding).found
    if not found:
        return None, f"undefined: {embedding.name} lacks one of {a}, {b}"
    x, y = embedding.take(found[0])
    vector, reason = difference_direction(x, y, found[0])
    return (None, reason) if reason else (vector, "")


def pair_component(
    embedding: Embedding, attribute: Attribute
) -> tuple[NDArray[np.float64] | None, str]:
    """First principal component of the definitional pairs, or None and the reason."""
    if not attribute.pairs:
        return None, f"undefined: the attribute {attribute.name} has no pairs"
    pairs = resolve_pairs(attribute.pairs, embedding).found
    if not pairs:
        return None, f"undefined: {embedding.name} has no definitional pair of {attribute.name}"
    first, second = (embedding.take(words).astype(float) for words in zip(*pairs, strict=True))
    gap = np.linalg.norm(first - second, axis=1).mean()
    size = np.linalg.norm(np.concatenate([first, second]), axis=1).mean()
    if gap < UNDEFINED_BELOW * size or gap == 0:
        return None, (
            f"undefined: definitional pairs differ by {gap / size if size else 0:.3f} of their "
            f"mean length, below {UNDEFINED_BELOW}"
        )
    return Subspace.from_pairs(first, second).basis[0], ""
