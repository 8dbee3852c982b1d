"""Removal of a subspace: the step that MISP, MHD and most other methods end in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.transform import transformed
from wordbias.subspace import Subspace


@dataclass(frozen=True)
class Projection:
    """Removal of a subspace: soft by its weights (MISP), or hard (MHD).

    Works on numpy arrays and torch tensors of any float type; the result has the type, device
    and shape of its argument.
    """

    kind: ClassVar[str] = "projection"
    subspace: Subspace
    hard: bool = False

    @property
    def name(self) -> str:
        """``misp``, or ``mhd`` if hard."""
        return "mhd" if self.hard else "misp"

    def __call__(self, x: Any) -> Any:
        """Return ``x``, rows of shape ``(…, d)`` or an `Embedding`, with the subspace removed."""
        if isinstance(x, Embedding):
            return transformed(x, self)
        x = np.asarray(x) if isinstance(x, (list, tuple)) else x
        if x.shape[-1:] != self.subspace.basis.shape[1:]:
            raise WordbiasError(
                f"expected rows of {self.subspace.basis.shape[1]} values, got shape {x.shape}"
            )
        return self.subspace.like(x).remove(x, self.hard)
